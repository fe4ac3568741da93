//! cuSPARSE beside our own kernels: the same product on the same device, timed the same way. For benches only.
//!
//! Invariant: the library is probed first; where it is missing there is no peer and no error.
#![allow(unsafe_code)]

mod sddmm;
mod spgemm;
mod spmm;

pub use sddmm::CusparseSddmm;
pub use spgemm::CusparseSpgemm;
pub use spmm::{CusparseSpmm, SPMM_ALGORITHMS};

use crate::{Clock, Launches};
use bitgraph_cuda::device::{Buffer, Device};
use bitgraph_cuda::{DeviceCsr, Error, Offsets, Result};
use cudarc::cusparse::sys;
use std::ffi::c_void;

/// `y = A x` in `f32` over CSR with values, by cuSPARSE's default algorithm.
pub struct CusparseSpmv {
    handle: sys::cusparseHandle_t,
    matrix: sys::cusparseConstSpMatDescr_t,
    x: sys::cusparseDnVecDescr_t,
    y: sys::cusparseDnVecDescr_t,
    workspace: Buffer<u8>,
    // What the descriptors point to.
    _lists: DeviceCsr,
    _values: Buffer<f32>,
    _input: Buffer<f32>,
    output: Buffer<f32>,
}

fn check(call: &'static str, status: sys::cusparseStatus_t) -> Result<()> {
    match status {
        sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS => Ok(()),
        other => Err(Error::Driver { call, name: format!("{other:?}"), description: "from cuSPARSE".into() }),
    }
}

/// Whether the library is there.
#[must_use]
pub fn is_present() -> bool {
    // SAFETY: loads the vendor's library.
    unsafe { sys::is_culib_present() }
}

const TYPE: sys::cudaDataType = sys::cudaDataType_t::CUDA_R_32F;
const ALGORITHM: sys::cusparseSpMVAlg_t = sys::cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT;
const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

impl CusparseSpmv {
    /// Sets up the product of a pattern, its values all one, with a vector; `None` without the library or on the host shim.
    ///
    /// # Errors
    /// Out of memory, or the library's.
    pub fn new(device: &Device, lists: &DeviceCsr, x: &[f32]) -> Result<Option<Self>> {
        let Some(stream) = device.stream().raw()? else { return Ok(None) };
        if !is_present() || lists.nnz == 0 {
            return Ok(None);
        }
        let values = device.upload(&vec![1f32; lists.nnz])?;
        let (input, output) = (device.upload(x)?, device.zeroed::<f32>(lists.rows)?);
        let (mut handle, mut matrix) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (mut dx, mut dy) = (std::ptr::null_mut(), std::ptr::null_mut());
        let width = match lists.offsets {
            Offsets::U32(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_32I,
            Offsets::U64(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_64I,
        };
        let at = |address: u64| address as *mut c_void;
        let (one, zero) = (1f32, 0f32);
        let mut size = 0usize;
        // SAFETY: the library is there; every descriptor points to arrays of the stated sizes that live in this struct.
        unsafe {
            check("cusparseCreate", sys::cusparseCreate(&raw mut handle))?;
            check("cusparseSetStream", sys::cusparseSetStream(handle, stream.cast()))?;
            let index = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
            let base = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
            let (rows, columns, nnz) = (lists.rows as i64, lists.columns as i64, lists.nnz as i64);
            let (offsets, indices) = (at(lists.offsets.address().address()), at(lists.indices.ptr().address()));
            let data = at(values.ptr().address());
            check(
                "cusparseCreateCsr",
                sys::cusparseCreateCsr(&raw mut matrix, rows, columns, nnz, offsets, indices, data, width, index, base, TYPE),
            )?;
            check("cusparseCreateDnVec", sys::cusparseCreateDnVec(&raw mut dx, columns, at(input.ptr().address()), TYPE))?;
            check("cusparseCreateDnVec", sys::cusparseCreateDnVec(&raw mut dy, rows, at(output.ptr().address()), TYPE))?;
            let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
            check(
                "cusparseSpMV_bufferSize",
                sys::cusparseSpMV_bufferSize(
                    handle,
                    PLAIN,
                    alpha,
                    matrix.cast_const(),
                    dx.cast_const(),
                    beta,
                    dy,
                    TYPE,
                    ALGORITHM,
                    &raw mut size,
                ),
            )?;
        }
        let workspace = device.alloc::<u8>(size.max(1))?;
        // SAFETY: as above; the workspace has the size asked for.
        unsafe {
            let (alpha, beta) = ((&raw const one).cast(), (&raw const zero).cast());
            let buffer = at(workspace.ptr().address());
            let status =
                sys::cusparseSpMV_preprocess(handle, PLAIN, alpha, matrix.cast_const(), dx.cast_const(), beta, dy, TYPE, ALGORITHM, buffer);
            check("cusparseSpMV_preprocess", status)?;
        }
        Ok(Some(Self {
            handle,
            matrix: matrix.cast_const(),
            x: dx,
            y: dy,
            workspace,
            _lists: lists.clone(),
            _values: values,
            _input: input,
            output,
        }))
    }
    /// Queues one product.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the descriptors are those of `new`; scalars are read during the call.
        let status = unsafe {
            sys::cusparseSpMV(
                self.handle,
                PLAIN,
                (&raw const one).cast(),
                self.matrix,
                self.x.cast_const(),
                (&raw const zero).cast(),
                self.y,
                TYPE,
                ALGORITHM,
                self.workspace.ptr().address() as *mut c_void,
            )
        };
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

impl Drop for CusparseSpmv {
    fn drop(&mut self) {
        // SAFETY: made once in `new`, used no more.
        unsafe {
            let _ = sys::cusparseDestroyDnVec(self.x.cast_const());
            let _ = sys::cusparseDestroyDnVec(self.y.cast_const());
            let _ = sys::cusparseDestroySpMat(self.matrix);
            let _ = sys::cusparseDestroy(self.handle);
        }
    }
}
