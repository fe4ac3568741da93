//! The element types of matrices and vectors, with the arithmetic that semirings need.
//!
//! Invariant: integer arithmetic wraps like the field's other implementations, except [`Scalar::plus_saturating`], which
//! keeps the extreme values absorbing so that an integer "infinity" survives a min-plus product.

mod transparent;

use crate::DType;
use half::{bf16, f16};
use num_traits::{AsPrimitive, Bounded};
use std::any::Any;
use std::fmt::Debug;
pub use transparent::Transparent;

/// An element type: `bool`, `i8..i64`, `u8..u64`, `f16`, `bf16`, `f32`, `f64`, and any type of a user's own that wraps one of these
/// ([`impl_scalar!`](crate::impl_scalar)).
pub trait Scalar: Transparent + Copy + PartialEq + PartialOrd + Debug + Default + Send + Sync + 'static {
    /// The type that sums and products of this type are formed in: `f32` for the half types, the type itself otherwise.
    type Accumulator: Scalar + From<Self>;
    /// The run-time name: of the type that is stored, for one of a user's own.
    const DTYPE: DType;
    /// Whether this is a built-in type, whose arithmetic a device has too. A formula over another one runs on the CPU alone.
    const BUILTIN: bool = false;
    /// The additive identity.
    const ZERO: Self;
    /// The multiplicative identity, and the value of an entry of a pattern matrix.
    const ONE: Self;
    /// The smallest value: negative infinity for floats.
    fn smallest() -> Self;
    /// The largest value: positive infinity for floats.
    fn largest() -> Self;

    /// Sum (wrapping for integers, or for `bool`).
    #[must_use]
    fn plus(self, rhs: Self) -> Self;
    /// Difference (wrapping for integers, exclusive or for `bool`).
    #[must_use]
    fn minus(self, rhs: Self) -> Self;
    /// Product (wrapping for integers, and for `bool`).
    #[must_use]
    fn times(self, rhs: Self) -> Self;
    /// Sum in which [`Scalar::largest`] and [`Scalar::smallest`] absorb and integers saturate.
    #[inline(always)]
    #[must_use]
    fn plus_saturating(self, rhs: Self) -> Self {
        let absorbing = |extreme: Self| self == extreme || rhs == extreme;
        if absorbing(Self::largest()) {
            Self::largest()
        } else if absorbing(Self::smallest()) {
            Self::smallest()
        } else {
            self.plus(rhs)
        }
    }
    /// The smaller of both; a NaN loses against a number.
    #[inline(always)]
    #[must_use]
    fn min_of(self, rhs: Self) -> Self {
        if rhs < self || self.partial_cmp(&self).is_none() { rhs } else { self }
    }
    /// The greater of both; a NaN loses against a number.
    #[inline(always)]
    #[must_use]
    fn max_of(self, rhs: Self) -> Self {
        if rhs > self || self.partial_cmp(&self).is_none() { rhs } else { self }
    }
    /// The value as the widest type of its kind, exactly.
    fn wide(self) -> Wide;
    /// The nearest value to `value`; integers saturate, NaN becomes zero for integers.
    fn nearest(value: Wide) -> Self;
    /// The value as `f64`, rounded where it does not fit.
    #[inline(always)]
    fn to_f64(self) -> f64 {
        match self.wide() {
            Wide::Signed(v) => v as f64,
            Wide::Unsigned(v) => v as f64,
            Wide::Float(v) => v,
        }
    }
    /// The nearest value to `value`; integers saturate, NaN becomes zero for integers.
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::nearest(Wide::Float(value))
    }
    /// The nearest value of another type; the same value for the same type.
    #[inline(always)]
    fn cast<U: Scalar>(self) -> U {
        let same: &dyn Any = &self;
        same.downcast_ref::<U>().copied().unwrap_or_else(|| U::nearest(self.wide()))
    }
    /// Into the accumulator type, exactly.
    #[inline(always)]
    fn widen(self) -> Self::Accumulator {
        self.into()
    }
    /// Back from the accumulator type, rounded to nearest.
    #[inline(always)]
    fn narrow(acc: Self::Accumulator) -> Self {
        acc.cast()
    }
    /// Whether the value is not zero (a NaN is not zero).
    #[inline(always)]
    fn is_non_zero(self) -> bool {
        self != Self::ZERO
    }
}

/// The floating-point scalars: what scores and other shares of a whole are.
pub trait Float: Scalar {}
impl Float for f16 {}
impl Float for bf16 {}
impl Float for f32 {}
impl Float for f64 {}

/// A value on its way from one element type to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wide {
    /// Of a signed type.
    Signed(i64),
    /// Of an unsigned type, or `bool`.
    Unsigned(u64),
    /// Of a floating-point type.
    Float(f64),
}

/// The nearest value of an integer type.
#[inline(always)]
fn nearest_integer<T>(value: Wide) -> T
where
    T: Bounded + TryFrom<i64> + TryFrom<u64> + Copy + 'static,
    f64: AsPrimitive<T>,
{
    match value {
        Wide::Signed(v) => T::try_from(v).unwrap_or_else(|_| if v < 0 { T::min_value() } else { T::max_value() }),
        Wide::Unsigned(v) => T::try_from(v).unwrap_or_else(|_| T::max_value()),
        Wide::Float(v) => v.as_(),
    }
}

macro_rules! integer {
    ($kind:ident $wide:ident: $($t:ident $d:ident)*) => { $(
        impl Scalar for $t {
            type Accumulator = $t;
            const DTYPE: DType = DType::$d;
            const BUILTIN: bool = true;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn smallest() -> Self { Bounded::min_value() }
            #[inline(always)]
            fn largest() -> Self { Bounded::max_value() }
            #[inline(always)]
            fn plus(self, rhs: Self) -> Self { self.wrapping_add(rhs) }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn plus_saturating(self, rhs: Self) -> Self {
                if self == $t::MAX || rhs == $t::MAX { return $t::MAX; }
                if $t::MIN < 0 && (self == $t::MIN || rhs == $t::MIN) { return $t::MIN; }
                self.saturating_add(rhs)
            }
            #[inline(always)]
            fn minus(self, rhs: Self) -> Self { self.wrapping_sub(rhs) }
            #[inline(always)]
            fn times(self, rhs: Self) -> Self { self.wrapping_mul(rhs) }
            #[inline(always)]
            fn min_of(self, rhs: Self) -> Self { self.min(rhs) }
            #[inline(always)]
            fn max_of(self, rhs: Self) -> Self { self.max(rhs) }
            #[inline(always)]
            fn wide(self) -> Wide { Wide::$kind($wide::from(self)) }
            #[inline(always)]
            fn nearest(value: Wide) -> Self { nearest_integer(value) }
        }
    )* };
}
integer!(Signed i64: i8 I8 i16 I16 i32 I32 i64 I64);
integer!(Unsigned u64: u8 U8 u16 U16 u32 U32 u64 U64);

macro_rules! float {
    ($($t:ident $d:ident $acc:ident, $zero:expr, $one:expr;)*) => { $(
        impl Scalar for $t {
            type Accumulator = $acc;
            const DTYPE: DType = DType::$d;
            const BUILTIN: bool = true;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            #[inline(always)]
            fn smallest() -> Self { $t::NEG_INFINITY }
            #[inline(always)]
            fn largest() -> Self { $t::INFINITY }
            #[inline(always)]
            fn plus(self, rhs: Self) -> Self { self + rhs }
            #[inline(always)]
            fn plus_saturating(self, rhs: Self) -> Self { self + rhs }
            #[inline(always)]
            fn minus(self, rhs: Self) -> Self { self - rhs }
            #[inline(always)]
            fn times(self, rhs: Self) -> Self { self * rhs }
            #[inline(always)]
            fn min_of(self, rhs: Self) -> Self { self.min(rhs) }
            #[inline(always)]
            fn max_of(self, rhs: Self) -> Self { self.max(rhs) }
            #[inline(always)]
            fn wide(self) -> Wide { Wide::Float(self.into()) }
            #[inline(always)]
            fn nearest(value: Wide) -> Self {
                match value {
                    Wide::Signed(v) => v.as_(),
                    Wide::Unsigned(v) => v.as_(),
                    Wide::Float(v) => v.as_(),
                }
            }
        }
    )* };
}
float! {
    f16 F16 f32, f16::ZERO, f16::ONE;
    bf16 Bf16 f32, bf16::ZERO, bf16::ONE;
    f32 F32 f32, 0.0, 1.0;
    f64 F64 f64, 0.0, 1.0;
}

impl Scalar for bool {
    type Accumulator = bool;
    const DTYPE: DType = DType::Bool;
    const BUILTIN: bool = true;
    const ZERO: Self = false;
    const ONE: Self = true;
    #[inline(always)]
    fn smallest() -> Self {
        false
    }
    #[inline(always)]
    fn largest() -> Self {
        true
    }
    #[inline(always)]
    fn plus(self, rhs: Self) -> Self {
        self | rhs
    }
    #[inline(always)]
    fn plus_saturating(self, rhs: Self) -> Self {
        self | rhs
    }
    #[inline(always)]
    fn minus(self, rhs: Self) -> Self {
        self ^ rhs
    }
    #[inline(always)]
    fn times(self, rhs: Self) -> Self {
        self & rhs
    }
    #[inline(always)]
    fn min_of(self, rhs: Self) -> Self {
        self & rhs
    }
    #[inline(always)]
    fn max_of(self, rhs: Self) -> Self {
        self | rhs
    }
    #[inline(always)]
    fn wide(self) -> Wide {
        Wide::Unsigned(self.into())
    }
    #[inline(always)]
    fn nearest(value: Wide) -> Self {
        match value {
            Wide::Signed(v) => v != 0,
            Wide::Unsigned(v) => v != 0,
            Wide::Float(v) => v != 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_infinity_absorbs() {
        assert_eq!(i32::largest().plus_saturating(-5), i32::MAX);
        assert_eq!(u8::largest().plus_saturating(1), 255);
        assert_eq!(200u8.plus_saturating(100), 255);
        assert_eq!(0u8.plus_saturating(7), 7);
        assert_eq!(i8::smallest().plus_saturating(3), i8::MIN);
    }

    #[test]
    fn half_sums_are_wide() {
        fn sum<T: Scalar>(one: T, times: usize) -> f64 {
            let mut acc = T::Accumulator::ZERO;
            for _ in 0..times {
                acc = acc.plus(one.widen());
            }
            acc.to_f64()
        }
        assert_eq!(sum(f16::ONE, 100_000), 100_000.0);
        assert_eq!(sum(bf16::ONE, 100_000), 100_000.0);
    }

    #[test]
    fn casts_take_the_nearest_value() {
        assert_eq!(((-1i64).cast::<u8>(), 300u32.cast::<i8>(), (i64::MAX - 1).cast::<i64>()), (0, 127, i64::MAX - 1));
        assert_eq!((u64::MAX.cast::<i64>(), (-3i8).cast::<i64>(), 7u8.cast::<bool>()), (i64::MAX, -3, true));
        assert_eq!((2.9f64.cast::<i32>(), f32::NAN.cast::<u16>(), f64::INFINITY.cast::<i16>()), (2, 0, i16::MAX));
        assert_eq!((f16::from_f32(1.5).cast::<f64>(), 0.1f64.cast::<f32>(), true.cast::<f32>()), (1.5, 0.1, 1.0));
    }
}
