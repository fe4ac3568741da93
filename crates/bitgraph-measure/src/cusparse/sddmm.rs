//! Sampled dot products by cuSPARSE.
//!
//! Invariant: the working memory is allocated and the plan made before anything is timed; what the library does not take has no peer.
#![allow(unsafe_code)]

use super::{Handle, Lists, PLAIN, Rows, TYPE, at, check, type_of};
use crate::{Clock, Launches};
use bitgraph_cuda::device::{Buffer, Device};
use bitgraph_cuda::tensor::forms::Feature;
use bitgraph_cuda::{DeviceCsr, Result};
use cudarc::cusparse::sys;
use std::ffi::c_void;

const ALGORITHM: sys::cusparseSDDMMAlg_t = sys::cusparseSDDMMAlg_t::CUSPARSE_SDDMM_ALG_DEFAULT;
const TRANSPOSED: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_TRANSPOSE;

/// The dot products of rows of two matrices at the entries of a pattern, stored as their type, sums of `f32`, by cuSPARSE's default
/// algorithm.
pub struct CusparseSddmm<T: Feature> {
    handle: Handle,
    left: Rows,
    right: Rows,
    products: Lists,
    workspace: Buffer<u8>,
    output: Buffer<T>,
    // What the descriptors point to.
    _lists: DeviceCsr,
    _features: [Buffer<T>; 2],
}

impl<T: Feature> CusparseSddmm<T> {
    /// Sets up the products of `left` (rows x columns) and `right` (matrix columns x columns); `None` without the library, on the host shim,
    /// without entries, or if the library does not take the type.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(device: &Device, lists: &DeviceCsr, left: &Buffer<T>, right: &Buffer<T>, columns: usize) -> Result<Option<Self>> {
        let Some(handle) = Handle::open(device)?.filter(|_| lists.nnz > 0) else { return Ok(None) };
        let kind = type_of(T::NAME);
        let output = device.zeroed::<T>(lists.nnz)?;
        let features = [left.clone(), right.clone()];
        // SAFETY: the library is there; the arrays have the stated sizes and live in this struct.
        let (left, right, products) = unsafe {
            (
                Rows::new(lists.rows, columns, left.ptr().address(), kind)?,
                Rows::new(lists.columns, columns, right.ptr().address(), kind)?,
                Lists::new(lists, output.ptr().address(), kind)?,
            )
        };
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let (h, x, y, p) = (handle.0, left.0.cast_const(), right.0.cast_const(), products.0);
        let mut size = 0usize;
        // SAFETY: the descriptors are alive; scalars are read during the call.
        let status = unsafe { sys::cusparseSDDMM_bufferSize(h, PLAIN, TRANSPOSED, alpha, x, y, beta, p, TYPE, ALGORITHM, &raw mut size) };
        if check("cusparseSDDMM_bufferSize", status).is_err() {
            return Ok(None);
        }
        let workspace = device.alloc::<u8>(size.max(1))?;
        let buffer = at(workspace.ptr().address());
        // SAFETY: as above; the workspace has the size asked for.
        let status = unsafe { sys::cusparseSDDMM_preprocess(h, PLAIN, TRANSPOSED, alpha, x, y, beta, p, TYPE, ALGORITHM, buffer) };
        let own = Self { handle, left, right, products, workspace, output, _lists: lists.clone(), _features: features };
        Ok((check("cusparseSDDMM_preprocess", status).is_ok() && own.launch().is_ok()).then_some(own))
    }
    /// Queues the products.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
        let (h, x, y, p) = (self.handle.0, self.left.0.cast_const(), self.right.0.cast_const(), self.products.0);
        let buffer = at(self.workspace.ptr().address());
        // SAFETY: the descriptors are those of `new`; scalars are read during the call.
        let status = unsafe { sys::cusparseSDDMM(h, PLAIN, TRANSPOSED, alpha, x, y, beta, p, TYPE, ALGORITHM, buffer) };
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
