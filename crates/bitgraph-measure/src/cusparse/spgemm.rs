//! The product of a matrix with itself by cuSPARSE.
//!
//! Invariant: the working memory is allocated before anything is timed; a product that does not fit has no peer.
#![allow(unsafe_code)]

use super::{BASE, Handle, INDEX, Lists, PLAIN, TYPE, at, check};
use crate::Clock;
use bitgraph_cuda::device::{Buffer, Device};
use bitgraph_cuda::{DeviceCsr, Offsets, Result};
use cudarc::cusparse::sys;
use std::ffi::c_void;
use std::ptr::null_mut;

const ALGORITHM: sys::cusparseSpGEMMAlg_t = sys::cusparseSpGEMMAlg_t::CUSPARSE_SPGEMM_DEFAULT;

/// `A A` in `f32` over CSR with values, by cuSPARSE's default algorithm: the pattern and the values of the result, which stay in the
/// library's working memory.
pub struct CusparseSpgemm {
    device: Device,
    handle: Handle,
    matrix: Lists,
    shape: (i64, i64),
    // What the descriptors point to.
    _lists: DeviceCsr,
    _values: Buffer<f32>,
    offsets: Buffer<u32>,
    estimation: Buffer<u8>,
    computation: Buffer<u8>,
}

/// The descriptors of one product.
struct Product {
    plan: sys::cusparseSpGEMMDescr_t,
    result: Lists,
}

impl Drop for Product {
    fn drop(&mut self) {
        // SAFETY: made once, used no more.
        let _ = unsafe { sys::cusparseSpGEMM_destroyDescr(self.plan) };
    }
}

impl CusparseSpgemm {
    /// Sets up the square of a pattern, its values all one; `None` without the library, on the host shim, with 64-bit offsets, or if the
    /// working memory does not fit.
    ///
    /// # Errors
    /// The library's.
    pub fn square(device: &Device, lists: &DeviceCsr) -> Result<Option<Self>> {
        let taken = matches!(lists.offsets, Offsets::U32(_)) && lists.nnz > 0 && lists.rows == lists.columns;
        let Some(handle) = Handle::open(device)?.filter(|_| taken) else { return Ok(None) };
        let values = device.upload(&vec![1f32; lists.nnz])?;
        let offsets = device.zeroed::<u32>(lists.rows + 1)?;
        // SAFETY: the library is there; the arrays have the stated sizes and live in this struct.
        let matrix = unsafe { Lists::new(lists, values.ptr().address(), TYPE)? };
        let nothing = device.alloc::<u8>(0)?;
        let mut spgemm = Self {
            device: device.clone(),
            handle,
            matrix,
            shape: (lists.rows as i64, lists.columns as i64),
            _lists: lists.clone(),
            _values: values,
            offsets,
            estimation: nothing.clone(),
            computation: nothing,
        };
        let product = spgemm.product()?;
        let bytes = spgemm.estimate(&product, 0, null_mut())?;
        let Ok(buffer) = device.alloc_for::<u8>(bytes.max(1), "cuSPARSE") else { return Ok(None) };
        spgemm.estimation = buffer;
        spgemm.estimate(&product, bytes, at(spgemm.estimation.ptr().address()))?;
        let bytes = spgemm.compute(&product, 0, null_mut())?;
        let Ok(buffer) = device.alloc_for::<u8>(bytes.max(1), "cuSPARSE") else { return Ok(None) };
        spgemm.computation = buffer;
        drop(product);
        Ok(Some(spgemm))
    }
    fn product(&self) -> Result<Product> {
        let (mut plan, mut result) = (null_mut(), null_mut());
        let offsets = at(self.offsets.ptr().address());
        // SAFETY: the offsets have a place for every row and one more; columns and values are not asked for.
        unsafe {
            check("cusparseSpGEMM_createDescr", sys::cusparseSpGEMM_createDescr(&raw mut plan))?;
            let (rows, columns) = self.shape;
            let status =
                sys::cusparseCreateCsr(&raw mut result, rows, columns, 0, offsets, null_mut(), null_mut(), INDEX, INDEX, BASE, TYPE);
            check("cusparseCreateCsr", status)?;
        }
        Ok(Product { plan, result: Lists(result) })
    }
    /// The first stage; without a buffer it tells how large one it needs.
    fn estimate(&self, product: &Product, bytes: usize, buffer: *mut c_void) -> Result<usize> {
        let (one, zero, mut size) = (1f32, 0f32, bytes);
        let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
        let (a, c, plan) = (self.matrix.0.cast_const(), product.result.0, product.plan);
        // SAFETY: the descriptors are alive, and the buffer has the stated size; scalars are read during the call.
        let status = unsafe {
            sys::cusparseSpGEMM_workEstimation(
                self.handle.0,
                PLAIN,
                PLAIN,
                alpha,
                a,
                a,
                beta,
                c,
                TYPE,
                ALGORITHM,
                plan,
                &raw mut size,
                buffer,
            )
        };
        check("cusparseSpGEMM_workEstimation", status)?;
        Ok(size)
    }
    /// The second stage, likewise.
    fn compute(&self, product: &Product, bytes: usize, buffer: *mut c_void) -> Result<usize> {
        let (one, zero, mut size) = (1f32, 0f32, bytes);
        let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
        let (a, c, plan) = (self.matrix.0.cast_const(), product.result.0, product.plan);
        // SAFETY: as above.
        let status = unsafe {
            sys::cusparseSpGEMM_compute(self.handle.0, PLAIN, PLAIN, alpha, a, a, beta, c, TYPE, ALGORITHM, plan, &raw mut size, buffer)
        };
        check("cusparseSpGEMM_compute", status)?;
        Ok(size)
    }
    /// Seconds of a product by the device's clock, both stages.
    ///
    /// # Errors
    /// The library's.
    pub fn seconds(&self, clock: &Clock) -> Result<f64> {
        let product = self.product()?;
        let timed = clock.whole(|| {
            // The size is asked for at each stage, as the library's interface wants it.
            let bytes = self.estimate(&product, 0, null_mut())?.min(self.estimation.len());
            self.estimate(&product, bytes, at(self.estimation.ptr().address()))?;
            let bytes = self.compute(&product, 0, null_mut())?.min(self.computation.len());
            self.compute(&product, bytes, at(self.computation.ptr().address())).map(drop)
        })?;
        self.device.synchronize()?;
        Ok(timed.seconds)
    }
}

impl Drop for CusparseSpgemm {
    fn drop(&mut self) {
        // Nothing may run when the descriptors go.
        let _ = self.device.synchronize();
    }
}
