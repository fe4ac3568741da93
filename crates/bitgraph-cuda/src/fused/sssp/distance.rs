//! The types of distances: those that kernels sum in, and those that a caller may ask for.
//!
//! Invariant: the largest value of a type means "not reached" in every one of them, before and after conversion.

use super::weights::{MODULE, code};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::primitives::elementwise;
use bitgraph_backend::Error as Base;
use bitgraph_semiring::{DType, Scalar};
use bytemuck::Pod;

/// A type that distances can be returned in: `u32`, `u64`, `i32`, `i64`, `f32` or `f64`.
pub trait Distance: Scalar + Pod {}

macro_rules! distance {
    ($($t:ty)*) => { $( impl Distance for $t {} )* };
}
distance!(u32 u64 i32 i64 f32 f64);

parameters! {
    struct ResultParams = "graph/sssp_prepare.cu" "bg::ResultParams" {
        distances: DevicePtr<u8>,
        results: DevicePtr<u8>,
        lost: DevicePtr<u32>,
        nodes: u32,
        native: u32,
        dtype: u32,
        target: u32,
    }
}

/// A type that kernels sum in: `u32`, `u64`, `f32` or `f64`.
pub(super) trait Native: Scalar + Pod {
    /// The ending of the kernels' names.
    const SUFFIX: &'static str;
    /// The width of a step as the bits that the kernels take; at least the smallest step of the type.
    fn delta_bits(delta: f64) -> u64;
}

macro_rules! native {
    ($($t:ty, $suffix:literal, $delta:expr;)*) => { $( impl Native for $t {
        const SUFFIX: &'static str = $suffix;
        fn delta_bits(delta: f64) -> u64 {
            let bits: fn(f64) -> u64 = $delta;
            bits(delta)
        }
    } )* };
}
native! {
    u32, "u32", |d| u64::from((d as u32).max(1));
    u64, "u64", |d| (d as u64).max(1);
    f32, "f32", |d| u64::from((d as f32).max(f32::MIN_POSITIVE).to_bits());
    f64, "f64", |d| d.max(f64::MIN_POSITIVE).to_bits();
}

/// Distances on the host in the type that the caller wants, floats rounded; what lies beyond the target counts as not reached. O(n), on the
/// device.
///
/// # Errors
/// [`Base::Overflow`] if a distance does not fit below the largest value of the type; [`Base::Type`] for float distances asked for as
/// integers.
pub(super) fn download<D: Native, T: Distance>(device: &Device, distances: &Buffer<D>, target: Option<u32>) -> Result<Vec<T>> {
    let (native, wanted) = (D::DTYPE, T::DTYPE);
    if native.is_float() && !wanted.is_float() {
        return Err(Base::Type { operation: "sssp", expected: wanted, found: native }.into());
    }
    if native == wanted && target.is_none() {
        return distances.cast::<T>().to_vec();
    }
    let narrows = !wanted.is_float() && wanted != native && wanted.bytes() <= native.bytes();
    let results = device.alloc_for::<T>(distances.len(), "distances")?;
    let lost = if narrows { Some(device.zeroed::<u32>(1)?) } else { None };
    let p = ResultParams {
        distances: distances.ptr().cast(),
        results: results.ptr().cast(),
        lost: lost.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
        nodes: distances.len() as u32,
        native: code(native),
        dtype: code(wanted),
        target: target.unwrap_or(u32::MAX),
    };
    // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
    unsafe { elementwise(device, MODULE, "sssp_result", distances.len() as u64, &p) }?;
    if let Some(lost) = lost
        && lost.get(0)? != 0
    {
        return Err(Base::Overflow { what: "a distance", dtype: wanted }.into());
    }
    results.to_vec()
}

/// The type that float weights are summed in.
pub(super) fn float_type(dtype: DType, wide_sums: bool) -> DType {
    if dtype == DType::F64 || wide_sums { DType::F64 } else { DType::F32 }
}
