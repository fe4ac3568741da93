//! A sparse matrix times dense features by cuSPARSE.
//!
//! Invariant: the working memory is allocated and the plan made before anything is timed; what the library does not take has no peer.
#![allow(unsafe_code)]

use super::{PLAIN, TYPE, check, is_present};
use crate::{Clock, Launches};
use bitgraph_cuda::device::{Buffer, Device};
use bitgraph_cuda::tensor::forms::Feature;
use bitgraph_cuda::{DeviceCsr, Offsets, Result};
use cudarc::cusparse::sys;
use std::ffi::c_void;
use std::ptr::null_mut;

/// The algorithms for CSR and features stored row after row, as the library numbers them.
pub const SPMM_ALGORITHMS: [u32; 2] = [2, 3];

/// The product of a pattern, its values all one, with features, stored as their type, sums of `f32`.
pub struct CusparseSpmm<T: Feature> {
    handle: sys::cusparseHandle_t,
    matrix: sys::cusparseConstSpMatDescr_t,
    input: sys::cusparseConstDnMatDescr_t,
    product: sys::cusparseDnMatDescr_t,
    algorithm: sys::cusparseSpMMAlg_t,
    workspace: Buffer<u8>,
    output: Buffer<T>,
    // What the descriptors point to.
    _lists: DeviceCsr,
    _values: Buffer<T>,
    _features: Buffer<T>,
}

fn at(address: u64) -> *mut c_void {
    address as *mut c_void
}

impl<T: Feature> CusparseSpmm<T> {
    /// Sets up the product with `features` (matrix columns x `width`) by one of [`SPMM_ALGORITHMS`]; `None` without the library, on the host
    /// shim, without entries, or if the library does not take the type.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(device: &Device, lists: &DeviceCsr, features: &Buffer<T>, width: usize, algorithm: u32) -> Result<Option<Self>> {
        let Some(stream) = device.stream().raw()? else { return Ok(None) };
        if !is_present() || lists.nnz == 0 {
            return Ok(None);
        }
        let kind = match T::NAME {
            "f16" => sys::cudaDataType_t::CUDA_R_16F,
            "bf16" => sys::cudaDataType_t::CUDA_R_16BF,
            _ => TYPE,
        };
        let algorithm = match algorithm {
            3 => sys::cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG3,
            _ => sys::cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG2,
        };
        let offsets_are = match lists.offsets {
            Offsets::U32(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_32I,
            Offsets::U64(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_64I,
        };
        let index = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
        let base = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
        let order = sys::cusparseOrder_t::CUSPARSE_ORDER_ROW;
        let (rows, columns, nnz, f) = (lists.rows as i64, lists.columns as i64, lists.nnz as i64, width as i64);
        let values = device.upload(&vec![T::ONE; lists.nnz])?;
        let output = device.zeroed::<T>(lists.rows.saturating_mul(width))?;
        let mut own = Self {
            handle: null_mut(),
            matrix: std::ptr::null(),
            input: std::ptr::null(),
            product: null_mut(),
            algorithm,
            workspace: Buffer::default(),
            output,
            _lists: lists.clone(),
            _values: values.clone(),
            _features: features.clone(),
        };
        let (offsets, indices) = (at(lists.offsets.address().address()), at(lists.indices.ptr().address()));
        let (data, x, y) = (at(values.ptr().address()), at(features.ptr().address()), at(own.output.ptr().address()));
        let mut matrix: sys::cusparseSpMatDescr_t = null_mut();
        // SAFETY: the library is there; every descriptor points to arrays of the stated sizes that live in this struct.
        unsafe {
            check("cusparseCreate", sys::cusparseCreate(&raw mut own.handle))?;
            check("cusparseSetStream", sys::cusparseSetStream(own.handle, stream.cast()))?;
            check(
                "cusparseCreateConstDnMat",
                sys::cusparseCreateConstDnMat(&raw mut own.input, columns, f, f, x.cast_const(), kind, order),
            )?;
            check("cusparseCreateDnMat", sys::cusparseCreateDnMat(&raw mut own.product, rows, f, f, y, kind, order))?;
            check(
                "cusparseCreateCsr",
                sys::cusparseCreateCsr(&raw mut matrix, rows, columns, nnz, offsets, indices, data, offsets_are, index, base, kind),
            )?;
        }
        own.matrix = matrix.cast_const();
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let mut size = 0usize;
        // SAFETY: as above; scalars are read during the call.
        let status = unsafe {
            sys::cusparseSpMM_bufferSize(
                own.handle,
                PLAIN,
                PLAIN,
                alpha,
                own.matrix,
                own.input,
                beta,
                own.product,
                TYPE,
                algorithm,
                &raw mut size,
            )
        };
        if check("cusparseSpMM_bufferSize", status).is_err() {
            return Ok(None);
        }
        own.workspace = device.alloc::<u8>(size.max(1))?;
        // SAFETY: as above; the workspace has the size asked for.
        let status = unsafe {
            let buffer = at(own.workspace.ptr().address());
            sys::cusparseSpMM_preprocess(own.handle, PLAIN, PLAIN, alpha, own.matrix, own.input, beta, own.product, TYPE, algorithm, buffer)
        };
        Ok((check("cusparseSpMM_preprocess", status).is_ok() && own.launch().is_ok()).then_some(own))
    }
    /// Queues the product.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the descriptors are those of `new`; scalars are read during the call.
        let status = unsafe {
            let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
            let buffer = at(self.workspace.ptr().address());
            sys::cusparseSpMM(self.handle, PLAIN, PLAIN, alpha, self.matrix, self.input, beta, self.product, TYPE, self.algorithm, buffer)
        };
        check("cusparseSpMM", status)
    }
    /// Seconds of a product by the device's clock.
    ///
    /// # Errors
    /// The library's.
    pub fn seconds(&self, clock: &Clock, launches: Launches) -> Result<f64> {
        clock.seconds_of(launches, || self.launch())
    }
    /// The result.
    #[must_use]
    pub fn output(&self) -> &Buffer<T> {
        &self.output
    }
}

impl<T: Feature> Drop for CusparseSpmm<T> {
    fn drop(&mut self) {
        // SAFETY: made once in `new`, used no more; the library takes no null descriptor, and each is made after those before it.
        unsafe {
            if !self.input.is_null() {
                let _ = sys::cusparseDestroyDnMat(self.input);
            }
            if !self.product.is_null() {
                let _ = sys::cusparseDestroyDnMat(self.product.cast_const());
            }
            if !self.matrix.is_null() {
                let _ = sys::cusparseDestroySpMat(self.matrix);
            }
            if !self.handle.is_null() {
                let _ = sys::cusparseDestroy(self.handle);
            }
        }
    }
}
