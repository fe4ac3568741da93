//! The types of distances: those that searches work in, and those that a caller may ask for.
//!
//! Invariant: the largest value of a type means "not reached" in every one of them, before and after conversion.

use super::lanes::Lanes;
use bitgraph_backend::{Error, Result};
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{Buffer, Values, parallel, with_values};
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bitgraph_backend::Weight;

/// A type that distances can be returned in: `u32`, `u64`, `i32`, `i64`, `f32` or `f64`.
pub trait Distance: Scalar + private::Sealed {
    /// A finite distance that was summed in an integer type, if it fits below [`Scalar::largest`]; floats round.
    fn from_whole(distance: u64) -> Option<Self>;
    /// A finite distance that was summed in a float type; `None` for the integer types.
    fn from_real(distance: f64) -> Option<Self>;
}

mod private {
    pub trait Sealed {}
}

macro_rules! integer_distance {
    ($($t:ty)*) => { $(
        impl private::Sealed for $t {}
        impl Distance for $t {
            #[inline(always)]
            fn from_whole(distance: u64) -> Option<Self> {
                <$t>::try_from(distance).ok().filter(|&d| d != <$t>::MAX)
            }
            #[inline(always)]
            fn from_real(_: f64) -> Option<Self> {
                None
            }
        }
    )* };
}
integer_distance!(u32 u64 i32 i64);

macro_rules! float_distance {
    ($($t:ty)*) => { $(
        impl private::Sealed for $t {}
        impl Distance for $t {
            #[inline(always)]
            fn from_whole(distance: u64) -> Option<Self> {
                Some(distance as $t)
            }
            #[inline(always)]
            fn from_real(distance: f64) -> Option<Self> {
                Some(distance as $t)
            }
        }
    )* };
}
float_distance!(f32 f64);

/// The bucket of all distances that lie beyond it: buckets can be counted on from there.
const LAST_BUCKET: u64 = 1 << 62;

/// A type that searches work in: `u32`, `u64`, `f32` or `f64`.
pub(crate) trait Native: Scalar + Lanes {
    /// A distance that several threads lower; laid out as the distance.
    type Cell: Sync;
    /// Distances as such.
    fn cells(distances: &mut [Self]) -> &[Self::Cell];
    /// The distance in a cell.
    fn load(cell: &Self::Cell) -> Self;
    /// Makes a distance this one if it is smaller; whether it was. `alone` says that no other thread does so at the same time.
    fn lower(cell: &Self::Cell, distance: Self, alone: bool) -> bool;
    /// The sum; [`Scalar::largest`] where it does not fit.
    fn extend(self, weight: Self) -> Self;
    /// The bucket of this distance: non-decreasing in the distance, whatever `inverse` (of the width, positive) is.
    fn bucket(self, inverse: f64) -> u64;
    /// A distance that all distances of the buckets before this one are below, hardly above the smallest such.
    fn end(bucket: u64, inverse: f64) -> Self;
    /// A distance that none of this bucket or behind it is below, hardly below the largest such.
    fn begin(bucket: u64, inverse: f64) -> Self;
    /// A weight that is known to be representable, or rounded to this float type.
    fn weight<W: Weight>(w: W) -> Self;
    /// A finite distance in the type that the caller wants.
    fn convert<T: Distance>(self) -> Option<T>;
}

/// The cells of a type whose distances are ordered as the bits of them are, which those of numbers that are not negative are.
macro_rules! cell {
    ($bits:ty, $cell:ty, $to:expr, $from:expr) => {
        type Cell = $cell;
        #[allow(unsafe_code)]
        fn cells(distances: &mut [Self]) -> &[$cell] {
            // SAFETY: an atomic has the layout of its number, and the borrow is exclusive.
            unsafe { std::slice::from_raw_parts(distances.as_mut_ptr().cast(), distances.len()) }
        }
        #[inline(always)]
        fn load(cell: &$cell) -> Self {
            $from(cell.load(Ordering::Relaxed))
        }
        #[inline(always)]
        fn lower(cell: &$cell, distance: Self, alone: bool) -> bool {
            let distance: $bits = $to(distance);
            let mut known = cell.load(Ordering::Relaxed);
            while distance < known {
                if alone {
                    cell.store(distance, Ordering::Relaxed);
                    return true;
                }
                match cell.compare_exchange_weak(known, distance, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return true,
                    Err(now) => known = now,
                }
            }
            false
        }
    };
}

macro_rules! native_integer {
    ($($t:ty, $cell:ty;)*) => { $( impl Native for $t {
        cell!($t, $cell, |d| d, |d| d);
        #[inline(always)]
        fn extend(self, weight: Self) -> Self {
            self.saturating_add(weight)
        }
        #[inline(always)]
        fn bucket(self, inverse: f64) -> u64 {
            ((self as f64 * inverse) as u64).min(LAST_BUCKET)
        }
        fn end(bucket: u64, inverse: f64) -> Self {
            // A conversion ends at the largest.
            (bucket as f64 / inverse * (1.0 + 1e-9) + 1.0) as Self
        }
        fn begin(bucket: u64, inverse: f64) -> Self {
            (bucket as f64 / inverse * (1.0 - 1e-9) - 1.0) as Self
        }
        #[inline(always)]
        fn weight<W: Weight>(w: W) -> Self {
            w.whole().unwrap_or(0) as $t
        }
        #[inline(always)]
        fn convert<T: Distance>(self) -> Option<T> {
            T::from_whole(u64::from(self))
        }
    } )* };
}
native_integer!(u32, AtomicU32; u64, AtomicU64;);

macro_rules! native_float {
    ($($t:ty, $bits:ty, $cell:ty;)*) => { $( impl Native for $t {
        cell!($bits, $cell, <$t>::to_bits, <$t>::from_bits);
        #[inline(always)]
        fn extend(self, weight: Self) -> Self {
            self + weight
        }
        #[inline(always)]
        fn bucket(self, inverse: f64) -> u64 {
            ((f64::from(self) * inverse) as u64).min(LAST_BUCKET)
        }
        fn end(bucket: u64, inverse: f64) -> Self {
            (bucket as f64 / inverse * (1.0 + 1e-6)) as Self
        }
        fn begin(bucket: u64, inverse: f64) -> Self {
            (bucket as f64 / inverse * (1.0 - 1e-6)) as Self
        }
        #[inline(always)]
        fn weight<W: Weight>(w: W) -> Self {
            w.to_f64() as $t
        }
        #[inline(always)]
        fn convert<T: Distance>(self) -> Option<T> {
            T::from_real(f64::from(self))
        }
    } )* };
}
native_float!(f32, u32, AtomicU32; f64, u64, AtomicU64;);

/// Weights in the type that distances are summed in; shared if they are of that type already.
pub(crate) fn native_weights<D: Native>(values: &Values) -> Buffer<D> {
    let any: &dyn Any = match values {
        Values::U32(b) => b,
        Values::U64(b) => b,
        Values::F32(b) => b,
        Values::F64(b) => b,
        _ => &(),
    };
    if let Some(same) = any.downcast_ref::<Buffer<D>>() {
        return same.clone();
    }
    with_values!(values, v => parallel::map(v, |&w| D::weight(w)).into())
}

/// Distances in the type that the caller wants; O(n), nothing where it is the native one.
///
/// # Errors
/// [`Error::Overflow`] if a distance does not fit; [`Error::Type`] for float distances asked for as integers.
pub(crate) fn convert<D: Native, T: Distance>(distances: Vec<D>) -> Result<Vec<T>> {
    if D::DTYPE.is_float() && !T::DTYPE.is_float() {
        return Err(Error::Type { operation: "sssp", expected: T::DTYPE, found: D::DTYPE });
    }
    let mut slot = Some(distances);
    let any: &mut dyn Any = &mut slot;
    if let Some(same) = any.downcast_mut::<Option<Vec<T>>>() {
        return Ok(same.take().unwrap_or_default());
    }
    let distances = slot.unwrap_or_default();
    let fits = AtomicBool::new(true);
    let converted = parallel::map(&distances, |&d| {
        let converted = if d == D::largest() { Some(T::largest()) } else { d.convert::<T>() };
        converted.unwrap_or_else(|| {
            fits.store(false, Ordering::Relaxed);
            T::largest()
        })
    });
    if fits.into_inner() { Ok(converted) } else { Err(Error::Overflow { what: "a distance", dtype: T::DTYPE }) }
}

/// The type that distances of `dtype` weights are summed in, where integers may need more than 32 bits.
pub(crate) fn native_type(dtype: DType, wide_floats: bool, bound: u128) -> DType {
    match dtype {
        DType::F64 => DType::F64,
        DType::F16 | DType::Bf16 | DType::F32 => {
            if wide_floats {
                DType::F64
            } else {
                DType::F32
            }
        }
        _ if bound < u128::from(u32::MAX) => DType::U32,
        _ => DType::U64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds<D: Native + std::fmt::Display>(distances: impl Iterator<Item = D>, inverse: f64) {
        for d in distances {
            let bucket = d.bucket(inverse);
            for (before, behind) in [(bucket + 1, bucket), (bucket + 7, bucket / 2)] {
                assert!(d < D::end(before, inverse), "{d} in bucket {bucket} reaches bucket {before}");
                assert!(d >= D::begin(behind, inverse), "{d} in bucket {bucket} is before bucket {behind}");
            }
        }
    }

    #[test]
    fn buckets_lie_between_their_bounds() {
        let many = || (1..4000u64).map(|i| i * i * 7919 % 50_000_017);
        for width in [0.3, 1.0, 4128.248, 1e6] {
            bounds(many().map(|d| d as u32), 1.0 / width);
            bounds(many().map(|d| d << 20), 1.0 / width);
            bounds(many().map(|d| d as f32 * 1e-3), 1.0 / width);
            bounds(many().map(|d| d as f64 / 3.0), 1.0 / width);
        }
        assert_eq!(u32::end(u64::MAX / 2, 1.0), u32::MAX);
        assert_eq!(u32::begin(0, 1.0), 0);
    }
}
