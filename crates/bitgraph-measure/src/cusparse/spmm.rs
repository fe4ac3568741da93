//! A sparse matrix times dense features by cuSPARSE.
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

/// The algorithms for CSR and features stored row after row, as the library numbers them.
pub const SPMM_ALGORITHMS: [u32; 2] = [2, 3];

/// The product of a pattern, its values all one, with features, stored as their type, sums of `f32`.
pub struct CusparseSpmm<T: Feature> {
    handle: Handle,
    matrix: Lists,
    input: Rows,
    product: Rows,
    algorithm: sys::cusparseSpMMAlg_t,
    workspace: Buffer<u8>,
    output: Buffer<T>,
    // What the descriptors point to.
    _lists: DeviceCsr,
    _values: Buffer<T>,
    _features: Buffer<T>,
}

impl<T: Feature> CusparseSpmm<T> {
    /// Sets up the product with `features` (matrix columns x `width`) by one of [`SPMM_ALGORITHMS`]; `None` without the library, on the host
    /// shim, without entries, or if the library does not take the type.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(device: &Device, lists: &DeviceCsr, features: &Buffer<T>, width: usize, algorithm: u32) -> Result<Option<Self>> {
        let Some(handle) = Handle::open(device)?.filter(|_| lists.nnz > 0) else { return Ok(None) };
        let kind = type_of(T::NAME);
        let algorithm = match algorithm {
            3 => sys::cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG3,
            _ => sys::cusparseSpMMAlg_t::CUSPARSE_SPMM_CSR_ALG2,
        };
        let values = device.upload(&vec![T::ONE; lists.nnz])?;
        let output = device.zeroed::<T>(lists.rows.saturating_mul(width))?;
        // SAFETY: the library is there; the arrays have the stated sizes and live in this struct.
        let (matrix, input, product) = unsafe {
            (
                Lists::new(lists, values.ptr().address(), kind)?,
                Rows::new(lists.columns, width, features.ptr().address(), kind)?,
                Rows::new(lists.rows, width, output.ptr().address(), kind)?,
            )
        };
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let (a, x, y) = (matrix.0.cast_const(), input.0.cast_const(), product.0);
        let mut size = 0usize;
        // SAFETY: the descriptors are alive; scalars are read during the call.
        let status = unsafe { sys::cusparseSpMM_bufferSize(handle.0, PLAIN, PLAIN, alpha, a, x, beta, y, TYPE, algorithm, &raw mut size) };
        if check("cusparseSpMM_bufferSize", status).is_err() {
            return Ok(None);
        }
        let workspace = device.alloc::<u8>(size.max(1))?;
        let buffer = at(workspace.ptr().address());
        // SAFETY: as above; the workspace has the size asked for.
        let status = unsafe { sys::cusparseSpMM_preprocess(handle.0, PLAIN, PLAIN, alpha, a, x, beta, y, TYPE, algorithm, buffer) };
        let (_lists, _values, _features) = (lists.clone(), values, features.clone());
        let own = Self { handle, matrix, input, product, algorithm, workspace, output, _lists, _values, _features };
        Ok((check("cusparseSpMM_preprocess", status).is_ok() && own.launch().is_ok()).then_some(own))
    }
    /// Queues the product.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
        let (a, x, y) = (self.matrix.0.cast_const(), self.input.0.cast_const(), self.product.0);
        let buffer = at(self.workspace.ptr().address());
        // SAFETY: the descriptors are those of `new`; scalars are read during the call.
        let status = unsafe { sys::cusparseSpMM(self.handle.0, PLAIN, PLAIN, alpha, a, x, beta, y, TYPE, self.algorithm, buffer) };
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
