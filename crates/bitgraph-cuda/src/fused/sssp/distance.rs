//! The types of distances: those that kernels sum in, and those that a caller may ask for.
//!
//! Invariant: the greatest value of a type means "not reached" in every one of them, before and after conversion.

use crate::Result;
use bitgraph_backend::Error as Base;
use bitgraph_semiring::{DType, Scalar};
use bytemuck::Pod;

/// A type that distances can be returned in: `u32`, `u64`, `i32`, `i64`, `f32` or `f64`.
pub trait Distance: Scalar {
    /// A finite distance that was summed in an integer type, if it fits below [`Scalar::GREATEST`]; floats round.
    fn from_whole(distance: u64) -> Option<Self>;
    /// A finite distance that was summed in a float type; `None` for the integer types.
    fn from_real(distance: f64) -> Option<Self>;
}

macro_rules! integer_distance {
    ($($t:ty)*) => { $( impl Distance for $t {
        fn from_whole(distance: u64) -> Option<Self> {
            <$t>::try_from(distance).ok().filter(|&d| d != <$t>::MAX)
        }
        fn from_real(_: f64) -> Option<Self> {
            None
        }
    } )* };
}
integer_distance!(u32 u64 i32 i64);

macro_rules! float_distance {
    ($($t:ty)*) => { $( impl Distance for $t {
        fn from_whole(distance: u64) -> Option<Self> {
            Some(distance as $t)
        }
        fn from_real(distance: f64) -> Option<Self> {
            Some(distance as $t)
        }
    } )* };
}
float_distance!(f32 f64);

/// A type that kernels sum in: `u32`, `u64`, `f32` or `f64`.
pub(super) trait Native: Scalar + Pod {
    /// The ending of the kernels' names.
    const SUFFIX: &'static str;
    /// The width of a step as the bits that the kernels take; at least the least step of the type.
    fn delta_bits(delta: f64) -> u64;
    /// A finite distance in the type that the caller wants.
    fn convert<T: Distance>(self) -> Option<T>;
}

macro_rules! native {
    ($($t:ty, $suffix:literal, $delta:expr, $convert:ident, $wide:ty;)*) => { $( impl Native for $t {
        const SUFFIX: &'static str = $suffix;
        fn delta_bits(delta: f64) -> u64 {
            let bits: fn(f64) -> u64 = $delta;
            bits(delta)
        }
        fn convert<T: Distance>(self) -> Option<T> {
            T::$convert(<$wide>::from(self))
        }
    } )* };
}
native! {
    u32, "u32", |d| u64::from((d as u32).max(1)), from_whole, u64;
    u64, "u64", |d| (d as u64).max(1), from_whole, u64;
    f32, "f32", |d| u64::from((d as f32).max(f32::MIN_POSITIVE).to_bits()), from_real, f64;
    f64, "f64", |d| d.max(f64::MIN_POSITIVE).to_bits(), from_real, f64;
}

/// Distances in the type that the caller wants; what lies beyond the target counts as not reached. O(n).
///
/// # Errors
/// [`Base::Overflow`] if a distance does not fit; [`Base::Type`] for float distances asked for as integers.
pub(super) fn convert<D: Native, T: Distance>(distances: Vec<D>, target: Option<u32>) -> Result<Vec<T>> {
    if D::DTYPE.is_float() && !T::DTYPE.is_float() {
        return Err(Base::Type { operation: "sssp", expected: T::DTYPE, found: D::DTYPE }.into());
    }
    let end = target.map_or(D::GREATEST, |t| distances[t as usize]);
    let one = |d: D| if d == D::GREATEST || d > end { Some(T::GREATEST) } else { d.convert::<T>() };
    let converted: Option<Vec<T>> = distances.into_iter().map(one).collect();
    Ok(converted.ok_or(Base::Overflow { what: "a distance", dtype: T::DTYPE })?)
}

/// The type that float weights are summed in.
pub(super) fn float_type(dtype: DType, wide_sums: bool) -> DType {
    if dtype == DType::F64 || wide_sums { DType::F64 } else { DType::F32 }
}
