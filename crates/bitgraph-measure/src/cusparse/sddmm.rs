//! Sampled dot products by cuSPARSE.
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

const ALGORITHM: sys::cusparseSDDMMAlg_t = sys::cusparseSDDMMAlg_t::CUSPARSE_SDDMM_ALG_DEFAULT;
const TRANSPOSED: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_TRANSPOSE;

/// The dot products of rows of two matrices at the entries of a pattern, stored as their type, sums of `f32`, by cuSPARSE's default
/// algorithm.
pub struct CusparseSddmm<T: Feature> {
    handle: sys::cusparseHandle_t,
    left: sys::cusparseConstDnMatDescr_t,
    right: sys::cusparseConstDnMatDescr_t,
    products: sys::cusparseSpMatDescr_t,
    workspace: Buffer<u8>,
    output: Buffer<T>,
    // What the descriptors point to.
    _lists: DeviceCsr,
    _features: [Buffer<T>; 2],
}

fn at(address: u64) -> *mut c_void {
    address as *mut c_void
}

impl<T: Feature> CusparseSddmm<T> {
    /// Sets up the products of `left` (rows x columns) and `right` (matrix columns x columns); `None` without the library, on the host shim,
    /// without entries, or if the library does not take the type.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(device: &Device, lists: &DeviceCsr, left: &Buffer<T>, right: &Buffer<T>, columns: usize) -> Result<Option<Self>> {
        let Some(stream) = device.stream().raw()? else { return Ok(None) };
        if !is_present() || lists.nnz == 0 {
            return Ok(None);
        }
        let kind = match T::NAME {
            "f16" => sys::cudaDataType_t::CUDA_R_16F,
            "bf16" => sys::cudaDataType_t::CUDA_R_16BF,
            _ => TYPE,
        };
        let width = match lists.offsets {
            Offsets::U32(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_32I,
            Offsets::U64(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_64I,
        };
        let index = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
        let base = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
        let order = sys::cusparseOrder_t::CUSPARSE_ORDER_ROW;
        let (rows, others, nnz, f) = (lists.rows as i64, lists.columns as i64, lists.nnz as i64, columns as i64);
        let output = device.zeroed::<T>(lists.nnz)?;
        let mut own = Self {
            handle: null_mut(),
            left: std::ptr::null(),
            right: std::ptr::null(),
            products: null_mut(),
            workspace: Buffer::default(),
            output,
            _lists: lists.clone(),
            _features: [left.clone(), right.clone()],
        };
        let (offsets, indices) = (at(lists.offsets.address().address()), at(lists.indices.ptr().address()));
        let values = at(own.output.ptr().address());
        let (x, y) = (at(left.ptr().address()).cast_const(), at(right.ptr().address()).cast_const());
        // SAFETY: the library is there; every descriptor points to arrays of the stated sizes that live in this struct.
        unsafe {
            check("cusparseCreate", sys::cusparseCreate(&raw mut own.handle))?;
            check("cusparseSetStream", sys::cusparseSetStream(own.handle, stream.cast()))?;
            check("cusparseCreateConstDnMat", sys::cusparseCreateConstDnMat(&raw mut own.left, rows, f, f, x, kind, order))?;
            check("cusparseCreateConstDnMat", sys::cusparseCreateConstDnMat(&raw mut own.right, others, f, f, y, kind, order))?;
            check(
                "cusparseCreateCsr",
                sys::cusparseCreateCsr(&raw mut own.products, rows, others, nnz, offsets, indices, values, width, index, base, kind),
            )?;
        }
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let mut size = 0usize;
        // SAFETY: as above; scalars are read during the call.
        let status = unsafe {
            sys::cusparseSDDMM_bufferSize(
                own.handle,
                PLAIN,
                TRANSPOSED,
                alpha,
                own.left,
                own.right,
                beta,
                own.products,
                TYPE,
                ALGORITHM,
                &raw mut size,
            )
        };
        if check("cusparseSDDMM_bufferSize", status).is_err() {
            return Ok(None);
        }
        own.workspace = device.alloc::<u8>(size.max(1))?;
        // SAFETY: as above; the workspace has the size asked for.
        let status = unsafe {
            let buffer = at(own.workspace.ptr().address());
            sys::cusparseSDDMM_preprocess(
                own.handle,
                PLAIN,
                TRANSPOSED,
                alpha,
                own.left,
                own.right,
                beta,
                own.products,
                TYPE,
                ALGORITHM,
                buffer,
            )
        };
        Ok((check("cusparseSDDMM_preprocess", status).is_ok() && own.launch().is_ok()).then_some(own))
    }
    /// Queues the products.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the descriptors are those of `new`; scalars are read during the call.
        let status = unsafe {
            let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
            let buffer = at(self.workspace.ptr().address());
            sys::cusparseSDDMM(self.handle, PLAIN, TRANSPOSED, alpha, self.left, self.right, beta, self.products, TYPE, ALGORITHM, buffer)
        };
        check("cusparseSDDMM", status)
    }
    /// Seconds of the products by the device's clock.
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

impl<T: Feature> Drop for CusparseSddmm<T> {
    fn drop(&mut self) {
        // SAFETY: made once in `new`, used no more; the library takes no null descriptor, and each is made after those before it.
        unsafe {
            if !self.left.is_null() {
                let _ = sys::cusparseDestroyDnMat(self.left);
            }
            if !self.right.is_null() {
                let _ = sys::cusparseDestroyDnMat(self.right);
            }
            if !self.products.is_null() {
                let _ = sys::cusparseDestroySpMat(self.products.cast_const());
            }
            if !self.handle.is_null() {
                let _ = sys::cusparseDestroy(self.handle);
            }
        }
    }
}
