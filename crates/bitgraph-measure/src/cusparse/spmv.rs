//! A sparse matrix times a vector by cuSPARSE.
//!
//! Invariant: the working memory is allocated and the plan made before anything is timed.
#![allow(unsafe_code)]

use super::{Entries, Handle, Lists, PLAIN, TYPE, at, check};
use crate::{Clock, Launches};
use bitgraph_cuda::device::{Buffer, Device};
use bitgraph_cuda::{DeviceCsr, Result};
use cudarc::cusparse::sys;
use std::ffi::c_void;

const ALGORITHM: sys::cusparseSpMVAlg_t = sys::cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT;

/// `y = A x` in `f32` over CSR with values, by cuSPARSE's default algorithm.
pub struct CusparseSpmv {
    handle: Handle,
    matrix: Lists,
    x: Entries,
    y: Entries,
    workspace: Buffer<u8>,
    // What the descriptors point to.
    _lists: DeviceCsr,
    _values: Buffer<f32>,
    _input: Buffer<f32>,
    output: Buffer<f32>,
}

impl CusparseSpmv {
    /// Sets up the product of a pattern, its values all one, with a vector; `None` without the library, on the host shim, or without
    /// entries.
    ///
    /// # Errors
    /// Out of memory, or the library's.
    pub fn new(device: &Device, lists: &DeviceCsr, x: &[f32]) -> Result<Option<Self>> {
        let Some(handle) = Handle::open(device)?.filter(|_| lists.nnz > 0) else { return Ok(None) };
        let values = device.upload(&vec![1f32; lists.nnz])?;
        let (input, output) = (device.upload(x)?, device.zeroed::<f32>(lists.rows)?);
        // SAFETY: the library is there; the arrays have the stated sizes and live in this struct.
        let (matrix, x, y) = unsafe {
            (
                Lists::new(lists, values.ptr().address(), TYPE)?,
                Entries::new(lists.columns, input.ptr().address())?,
                Entries::new(lists.rows, output.ptr().address())?,
            )
        };
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let (a, u, w) = (matrix.0.cast_const(), x.0.cast_const(), y.0);
        let mut size = 0usize;
        // SAFETY: the descriptors are alive; scalars are read during the call.
        let status = unsafe { sys::cusparseSpMV_bufferSize(handle.0, PLAIN, alpha, a, u, beta, w, TYPE, ALGORITHM, &raw mut size) };
        check("cusparseSpMV_bufferSize", status)?;
        let workspace = device.alloc::<u8>(size.max(1))?;
        let buffer = at(workspace.ptr().address());
        // SAFETY: as above; the workspace has the size asked for.
        let status = unsafe { sys::cusparseSpMV_preprocess(handle.0, PLAIN, alpha, a, u, beta, w, TYPE, ALGORITHM, buffer) };
        check("cusparseSpMV_preprocess", status)?;
        Ok(Some(Self { handle, matrix, x, y, workspace, _lists: lists.clone(), _values: values, _input: input, output }))
    }
    /// Queues one product.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let (one, zero) = (1f32, 0f32);
        let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
        let (a, u, w) = (self.matrix.0.cast_const(), self.x.0.cast_const(), self.y.0);
        let buffer = at(self.workspace.ptr().address());
        // SAFETY: the descriptors are those of `new`; scalars are read during the call.
        let status = unsafe { sys::cusparseSpMV(self.handle.0, PLAIN, alpha, a, u, beta, w, TYPE, ALGORITHM, buffer) };
        check("cusparseSpMV", status)
    }
    /// Seconds of a product by the device's clock.
    ///
    /// # Errors
    /// The library's.
    pub fn seconds(&self, clock: &Clock, launches: Launches) -> Result<f64> {
        clock.seconds_of(launches, || self.launch())
    }
    /// The result on the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn result(&self) -> Result<Vec<f32>> {
        self.output.to_vec()
    }
}
