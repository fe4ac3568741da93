//! Dense products of 8-bit whole numbers by cuBLASLt, beside products of bits. For benches only.
//!
//! Invariant: the library is probed first; where it is missing, or takes no such product, there is no peer and no error.
#![allow(unsafe_code)]

use crate::{Clock, Launches};
use bitgraph_cuda::device::{Buffer, Device};
use bitgraph_cuda::{Error, Result};
use cudarc::cublaslt::{result, sys};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Memory for intermediate results.
const WORKSPACE: usize = 32 << 20;

/// `y = a b^T` of `rows x length` and `columns x length` numbers of 8 bits, row after row, with sums of 32 bits, by the algorithm that the
/// library thinks is the fastest.
pub struct CublasInt8 {
    handle: sys::cublasLtHandle_t,
    product: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithm: Option<sys::cublasLtMatmulAlgo_t>,
    stream: *mut c_void,
    workspace: Buffer<u8>,
    a: Buffer<i8>,
    b: Buffer<i8>,
    output: Buffer<i32>,
}

fn failed(status: result::CublasError) -> Error {
    Error::Driver { call: "a product of 8-bit numbers", name: format!("{:?}", status.0), description: "from cuBLASLt".into() }
}

impl CublasInt8 {
    /// Sets up the product; `None` without the library, on the host shim, for sizes that the library does not take, and for arrays of other lengths.
    ///
    /// # Errors
    /// Out of memory, or the library's.
    pub fn new(device: &Device, a: &Buffer<i8>, b: &Buffer<i8>, [rows, columns, length]: [usize; 3]) -> Result<Option<Self>> {
        let Some(stream) = device.stream().raw()? else { return Ok(None) };
        // SAFETY: loads the vendor's library.
        let present = unsafe { sys::is_culib_present() };
        let fits = rows.checked_mul(length) == Some(a.len()) && columns.checked_mul(length) == Some(b.len());
        let (true, Some(elements)) = (present && fits, rows.checked_mul(columns)) else { return Ok(None) };
        let mut own = Self {
            handle: result::create_handle().map_err(failed)?,
            product: null_mut(),
            layouts: [null_mut(); 3],
            algorithm: None,
            stream: stream.cast(),
            workspace: device.alloc::<u8>(WORKSPACE)?,
            a: a.clone(),
            b: b.clone(),
            output: device.zeroed::<i32>(elements)?,
        };
        own.product =
            result::create_matmul_desc(sys::cublasComputeType_t::CUBLAS_COMPUTE_32I, sys::cudaDataType_t::CUDA_R_32I).map_err(failed)?;
        // The library stores by columns: our rows are its columns, and it forms the transpose of the product.
        let transposed = 1i32;
        // SAFETY: the description is alive, and the attribute takes a number of 32 bits.
        unsafe {
            let attribute = sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA;
            result::set_matmul_desc_attribute(own.product, attribute, (&raw const transposed).cast(), size_of::<i32>()).map_err(failed)?;
        }
        let (narrow, wide) = (sys::cudaDataType_t::CUDA_R_8I, sys::cudaDataType_t::CUDA_R_32I);
        let [n, d, k] = [rows as u64, columns as u64, length as u64];
        own.layouts[0] = result::create_matrix_layout(narrow, k, d, k as i64).map_err(failed)?;
        own.layouts[1] = result::create_matrix_layout(narrow, k, n, k as i64).map_err(failed)?;
        own.layouts[2] = result::create_matrix_layout(wide, d, n, d as i64).map_err(failed)?;
        let preference = result::create_matmul_pref().map_err(failed)?;
        let bytes = WORKSPACE as u64;
        let [first, second, out] = own.layouts;
        // SAFETY: all descriptions are alive; the preference is destroyed once.
        let found = unsafe {
            let attribute = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            let set = result::set_matmul_pref_attribute(preference, attribute, (&raw const bytes).cast(), size_of::<u64>());
            let found = set.and_then(|()| result::get_matmul_algo_heuristic(own.handle, own.product, first, second, out, out, preference));
            let _ = result::destroy_matmul_pref(preference);
            found
        };
        let Ok(found) = found else { return Ok(None) };
        own.algorithm = Some(found.algo);
        Ok(own.launch().is_ok().then_some(own))
    }
    /// Queues the product.
    ///
    /// # Errors
    /// The library's.
    pub fn launch(&self) -> Result<()> {
        let Some(algorithm) = &self.algorithm else { return Ok(()) };
        let (one, zero) = (1i32, 0i32);
        let at = |address: u64| address as *const c_void;
        let [first, second, out] = self.layouts;
        let y = self.output.ptr().address();
        // SAFETY: the descriptions are those of `new`, of arrays in this struct; the scalars are read during the call.
        unsafe {
            result::matmul(
                self.handle,
                self.product,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                at(self.b.ptr().address()),
                first,
                at(self.a.ptr().address()),
                second,
                at(y),
                out,
                y as *mut c_void,
                out,
                &raw const *algorithm,
                self.workspace.ptr().address() as *mut c_void,
                self.workspace.len(),
                self.stream.cast(),
            )
        }
        .map_err(failed)
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
    pub fn output(&self) -> &Buffer<i32> {
        &self.output
    }
}

impl Drop for CublasInt8 {
    fn drop(&mut self) {
        // SAFETY: each was made once in `new`, and is used no more; null where its making failed.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _ = result::destroy_matrix_layout(layout);
            }
            if !self.product.is_null() {
                let _ = result::destroy_matmul_desc(self.product);
            }
            let _ = result::destroy_handle(self.handle);
        }
    }
}
