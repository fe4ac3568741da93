//! cuSPARSE beside our own kernels: the same product on the same device, timed the same way. For benches only.
//!
//! Invariant: the library is probed first; where it is missing there is no peer and no error.
#![allow(unsafe_code)]

mod sddmm;
mod spgemm;
mod spmm;
mod spmv;

pub use sddmm::CusparseSddmm;
pub use spgemm::CusparseSpgemm;
pub use spmm::{CusparseSpmm, SPMM_ALGORITHMS};
pub use spmv::CusparseSpmv;

use bitgraph_cuda::device::Device;
use bitgraph_cuda::{DeviceCsr, Error, Offsets, Result};
use cudarc::cusparse::sys;
use std::ffi::c_void;
use std::ptr::null_mut;

const TYPE: sys::cudaDataType = sys::cudaDataType_t::CUDA_R_32F;
const INDEX: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
const BASE: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

fn check(call: &'static str, status: sys::cusparseStatus_t) -> Result<()> {
    match status {
        sys::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS => Ok(()),
        other => Err(Error::Driver { call, name: format!("{other:?}"), description: "from cuSPARSE".into() }),
    }
}

fn at(address: u64) -> *mut c_void {
    address as *mut c_void
}

/// The library's name of an element type of features.
fn type_of(name: &str) -> sys::cudaDataType {
    match name {
        "f16" => sys::cudaDataType_t::CUDA_R_16F,
        "bf16" => sys::cudaDataType_t::CUDA_R_16BF,
        _ => TYPE,
    }
}

/// Whether the library is there.
#[must_use]
pub fn is_present() -> bool {
    // SAFETY: loads the vendor's library.
    unsafe { sys::is_culib_present() }
}

/// The library, on a device's stream.
struct Handle(sys::cusparseHandle_t);

impl Handle {
    /// `None` without the library or on the host shim.
    fn open(device: &Device) -> Result<Option<Self>> {
        let Some(stream) = device.stream().raw()?.filter(|_| is_present()) else { return Ok(None) };
        let mut handle = null_mut();
        // SAFETY: the library is there.
        check("cusparseCreate", unsafe { sys::cusparseCreate(&raw mut handle) })?;
        let own = Self(handle);
        // SAFETY: as above; the stream is the device's.
        check("cusparseSetStream", unsafe { sys::cusparseSetStream(own.0, stream.cast()) })?;
        Ok(Some(own))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made once, used no more.
        let _ = unsafe { sys::cusparseDestroy(self.0) };
    }
}

/// The descriptor of a matrix of lists.
struct Lists(sys::cusparseSpMatDescr_t);

impl Lists {
    /// Of a pattern, with values at an address.
    ///
    /// # Safety
    /// The library is there, and the arrays live as long as the descriptor is used: as many values of this type as entries.
    unsafe fn new(lists: &DeviceCsr, values: u64, kind: sys::cudaDataType) -> Result<Self> {
        let width = match lists.offsets {
            Offsets::U32(_) => INDEX,
            Offsets::U64(_) => sys::cusparseIndexType_t::CUSPARSE_INDEX_64I,
        };
        let (rows, columns, nnz) = (lists.rows as i64, lists.columns as i64, lists.nnz as i64);
        let (offsets, indices) = (at(lists.offsets.address().address()), at(lists.indices.ptr().address()));
        let mut made = null_mut();
        // SAFETY: as the caller promises.
        let status =
            unsafe { sys::cusparseCreateCsr(&raw mut made, rows, columns, nnz, offsets, indices, at(values), width, INDEX, BASE, kind) };
        check("cusparseCreateCsr", status).map(|()| Self(made))
    }
}

impl Drop for Lists {
    fn drop(&mut self) {
        // SAFETY: made once, used no more.
        let _ = unsafe { sys::cusparseDestroySpMat(self.0.cast_const()) };
    }
}

/// The descriptor of a dense matrix, stored row after row.
struct Rows(sys::cusparseDnMatDescr_t);

impl Rows {
    /// Of an array at an address.
    ///
    /// # Safety
    /// The library is there, and the array lives as long as the descriptor is used: so many rows and columns of this type.
    unsafe fn new(rows: usize, columns: usize, address: u64, kind: sys::cudaDataType) -> Result<Self> {
        let (rows, columns) = (rows as i64, columns as i64);
        let order = sys::cusparseOrder_t::CUSPARSE_ORDER_ROW;
        let mut made = null_mut();
        // SAFETY: as the caller promises.
        let status = unsafe { sys::cusparseCreateDnMat(&raw mut made, rows, columns, columns, at(address), kind, order) };
        check("cusparseCreateDnMat", status).map(|()| Self(made))
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: made once, used no more.
        let _ = unsafe { sys::cusparseDestroyDnMat(self.0.cast_const()) };
    }
}

/// The descriptor of a dense vector of `f32`.
struct Entries(sys::cusparseDnVecDescr_t);

impl Entries {
    /// Of an array at an address.
    ///
    /// # Safety
    /// The library is there, and the array lives as long as the descriptor is used: so many `f32`.
    unsafe fn new(len: usize, address: u64) -> Result<Self> {
        let mut made = null_mut();
        // SAFETY: as the caller promises.
        let status = unsafe { sys::cusparseCreateDnVec(&raw mut made, len as i64, at(address), TYPE) };
        check("cusparseCreateDnVec", status).map(|()| Self(made))
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        // SAFETY: made once, used no more.
        let _ = unsafe { sys::cusparseDestroyDnVec(self.0.cast_const()) };
    }
}
