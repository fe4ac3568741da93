//! Dense products by the vendor's library, cuBLASLt, where it is installed.
//!
//! # Invariants
//! The library is probed before anything is called, because the bindings stop the program where it is missing. Sums of `f32` are of `f32`,
//! not of fewer bits, and are added up in the type that they are formed in. An algorithm is chosen once for a shape, so that a product
//! gives the same bits every time.
#![allow(unsafe_code)]

use super::recorder::Pass;
use super::{Buffer, Device, lock};
use crate::{Error, Result};
use bitgraph_semiring::DType;
use cudarc::cublaslt::{result, sys};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// A side of a product, row by row, or the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Side {
    /// Where it is.
    pub address: u64,
    /// Elements from a row's beginning to the next one's.
    pub stride: u64,
    /// Whether its transpose is stored.
    pub transposed: bool,
}

/// `y = a b`, of `rows x length` and `length x columns`, plus `factor * c` of an addend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub rows: u64,
    pub columns: u64,
    pub length: u64,
    pub a: Side,
    pub b: Side,
    pub y: Side,
    /// `c`, of the result's type, and its factor; never transposed.
    pub addend: Option<(Side, f64)>,
    /// The type of both sides: f16, bf16, f32 or f64.
    pub input: DType,
    /// The type of the result: the same, or f32.
    pub output: DType,
}

impl Product {
    /// The addend, or the result in its place.
    fn added(&self) -> Side {
        self.addend.map_or(self.y, |(side, _)| side)
    }
}

/// The most memory that an algorithm may take for intermediate results.
const WORKSPACE: u64 = 32 << 20;
/// Sums that are formed in parts are added up in the type that they are formed in, not in that of the result.
const IN_COMPUTED_TYPE: u32 = 2;

type Attribute = sys::cublasLtMatmulPreferenceAttributes_t;

fn failed(call: &'static str, status: result::CublasError) -> Error {
    Error::Driver { call, name: format!("{:?}", status.0), description: "from cuBLASLt".into() }
}

/// What algorithms are chosen by: everything but where the operands are, of which the alignment counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    sizes: [u64; 3],
    strides: [u64; 4],
    alignments: [u32; 4],
    added: bool,
    transposed: [bool; 2],
    types: [DType; 2],
}

/// The library on a device.
pub(super) struct Blas {
    handle: sys::cublasLtHandle_t,
    /// Absent where the library has no algorithm.
    algorithms: Mutex<HashMap<Key, Option<Algorithm>>>,
}

#[derive(Clone, Copy)]
struct Algorithm {
    algorithm: sys::cublasLtMatmulAlgo_t,
    workspace: usize,
}

// SAFETY: the library's handle may be used from any thread, several at a time; an algorithm is plain data.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle is destroyed once. An error at the end of the process cannot be reported.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

impl Blas {
    /// The library, if it is installed and works; the device's context is current.
    fn open() -> Option<Self> {
        // SAFETY: loads the vendor's library.
        if !unsafe { sys::is_culib_present() } {
            return None;
        }
        Some(Self { handle: result::create_handle().ok()?, algorithms: Mutex::default() })
    }
}

fn data_type(dtype: DType) -> Option<sys::cudaDataType> {
    match dtype {
        DType::F16 => Some(sys::cudaDataType_t::CUDA_R_16F),
        DType::Bf16 => Some(sys::cudaDataType_t::CUDA_R_16BF),
        DType::F32 => Some(sys::cudaDataType_t::CUDA_R_32F),
        DType::F64 => Some(sys::cudaDataType_t::CUDA_R_64F),
        _ => None,
    }
}

/// The largest power of two that an address is a multiple of, up to what the library asks for.
fn alignment(address: u64) -> u32 {
    1 << address.trailing_zeros().min(8)
}

/// The description of a product; what it holds is given back when it goes.
struct Description {
    product: sys::cublasLtMatmulDesc_t,
    /// Of the library's first side, which is our second, of the other one, of what is added, and of the result.
    layouts: [sys::cublasLtMatrixLayout_t; 4],
}

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: each was made and is destroyed once; null where its making failed.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _ = result::destroy_matrix_layout(layout);
            }
            let _ = result::destroy_matmul_desc(self.product);
        }
    }
}

impl Description {
    /// The library stores by columns: our rows are its columns, so that it forms the transpose of the product, with the sides in the other
    /// order, and nothing is moved.
    fn new(p: &Product) -> std::result::Result<Option<Self>, result::CublasError> {
        let (Some(input), Some(output)) = (data_type(p.input), data_type(p.output)) else { return Ok(None) };
        let (compute, scale) = match p.input {
            DType::F64 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_64F, sys::cudaDataType_t::CUDA_R_64F),
            _ => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType_t::CUDA_R_32F),
        };
        let mut this = Self { product: result::create_matmul_desc(compute, scale)?, layouts: [std::ptr::null_mut(); 4] };
        let operations = [
            (sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed),
            (sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed),
        ];
        for (attribute, transposed) in operations {
            // `CUBLAS_OP_N` and `CUBLAS_OP_T`.
            let operation = i32::from(transposed);
            // SAFETY: the description is alive, and the attribute takes a number of 32 bits.
            unsafe { result::set_matmul_desc_attribute(this.product, attribute, (&raw const operation).cast(), size_of::<i32>()) }?;
        }
        let stored = |side: &Side, rows: u64, columns: u64| if side.transposed { (columns, rows) } else { (rows, columns) };
        let added = p.added();
        let result = |side| (side, output, p.rows, p.columns);
        let sides = [(&p.b, input, p.length, p.columns), (&p.a, input, p.rows, p.length), result(&added), result(&p.y)];
        for (layout, (side, dtype, rows, columns)) in this.layouts.iter_mut().zip(sides) {
            let (rows, columns) = stored(side, rows, columns);
            *layout = result::create_matrix_layout(dtype, columns, rows, side.stride as i64)?;
        }
        Ok(Some(this))
    }
    /// The algorithm that the library thinks is the fastest; none if it has none.
    fn algorithm(
        &self,
        handle: sys::cublasLtHandle_t,
        alignments: [u32; 4],
    ) -> std::result::Result<Option<Algorithm>, result::CublasError> {
        struct Preference(sys::cublasLtMatmulPreference_t);
        impl Drop for Preference {
            fn drop(&mut self) {
                // SAFETY: made once and destroyed once.
                let _ = unsafe { result::destroy_matmul_pref(self.0) };
            }
        }
        let preference = Preference(result::create_matmul_pref()?);
        // SAFETY: the preference is alive; the attributes take numbers of 64 and of 32 bits.
        unsafe {
            let bytes = WORKSPACE;
            let attribute = Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            result::set_matmul_pref_attribute(preference.0, attribute, (&raw const bytes).cast(), size_of::<u64>())?;
            let words = [
                (Attribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, IN_COMPUTED_TYPE),
                (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[0]),
                (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[1]),
                (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]),
                (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[3]),
            ];
            for (attribute, word) in words {
                result::set_matmul_pref_attribute(preference.0, attribute, (&raw const word).cast(), size_of::<u32>())?;
            }
        }
        let [a, b, c, y] = self.layouts;
        // SAFETY: all descriptions are alive.
        match unsafe { result::get_matmul_algo_heuristic(handle, self.product, a, b, c, y, preference.0) } {
            Ok(found) => Ok(Some(Algorithm { algorithm: found.algo, workspace: found.workspaceSize })),
            // Shapes, strides or alignments that no algorithm of the library takes.
            Err(e)
                if [sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED, sys::cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE].contains(&e.0) =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}

impl Device {
    /// Forms a product on the device's stream; returns before it is done. False, and nothing is done, where the library is not installed,
    /// or has no algorithm for the product, and on the host shim.
    ///
    /// # Safety
    /// The sides, the addend and the result are on this device, as large as the sizes and strides say, and stay until the product is done. The result
    /// shares no element with the others.
    ///
    /// # Errors
    /// The library's, or out of memory.
    pub(crate) unsafe fn product(&self, p: &Product) -> Result<bool> {
        let Some(stream) = self.stream().raw()? else { return Ok(false) };
        let Some(blas) = self.shared().blas.get_or_init(Blas::open) else { return Ok(false) };
        if p.length == 0 {
            return Ok(false);
        }
        let call = "multiplying dense matrices";
        let Some(description) = Description::new(p).map_err(|e| failed(call, e))? else { return Ok(false) };
        let added = p.added();
        let alignments = [p.b, p.a, added, p.y].map(|side| alignment(side.address));
        let key = Key {
            sizes: [p.rows, p.columns, p.length],
            strides: [p.a.stride, p.b.stride, added.stride, p.y.stride],
            alignments,
            added: p.addend.is_some(),
            transposed: [p.a.transposed, p.b.transposed],
            types: [p.input, p.output],
        };
        let known = lock(&blas.algorithms).get(&key).copied();
        let algorithm = match known {
            Some(algorithm) => algorithm,
            None => {
                let found = description.algorithm(blas.handle, alignments).map_err(|e| failed(call, e))?;
                lock(&blas.algorithms).insert(key, found);
                found
            }
        };
        let Some(Algorithm { algorithm, workspace }) = algorithm else { return Ok(false) };
        let workspace: Buffer<u8> = self.alloc_for(workspace, "a product of dense matrices")?;
        // One times the product; without an addend nothing of what is there.
        let factor = p.addend.map_or(0.0, |(_, factor)| factor);
        let (singles, doubles) = ([1f32, factor as f32], [1f64, factor]);
        let [alpha, beta]: [*const c_void; 2] = match p.input {
            DType::F64 => [(&raw const doubles[0]).cast(), (&raw const doubles[1]).cast()],
            _ => [(&raw const singles[0]).cast(), (&raw const singles[1]).cast()],
        };
        let [a, b, c, y] = description.layouts;
        let at = |side: &Side| side.address as *const c_void;
        let _pass = Pass::new();
        // SAFETY: the caller's promises; the scales are read before the call returns, and the workspace is released in the stream's order.
        let done = unsafe {
            result::matmul(
                blas.handle,
                description.product,
                alpha,
                beta,
                at(&p.b),
                a,
                at(&p.a),
                b,
                at(&added),
                c,
                p.y.address as *mut c_void,
                y,
                &raw const algorithm,
                workspace.ptr().address() as *mut c_void,
                workspace.len(),
                stream.cast(),
            )
        };
        done.map_err(|e| failed(call, e))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_powers_of_two() {
        assert_eq!([0x1000, 0x1010, 0x1002, 0x1001, 0].map(alignment), [256, 16, 2, 1, 256]);
    }

    #[test]
    fn types_of_the_library() {
        assert!([DType::F16, DType::Bf16, DType::F32, DType::F64].iter().all(|&d| data_type(d).is_some()));
        assert!([DType::I8, DType::I32, DType::Bool].iter().all(|&d| data_type(d).is_none()));
    }
}
