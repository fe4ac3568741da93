//! The element types of matrices and vectors, with the arithmetic that semirings need.
//!
//! Invariant: integer arithmetic wraps like the field's other implementations, except [`Scalar::plus_saturating`], which
//! keeps the extreme values absorbing so that an integer "infinity" survives a min-plus product.

use half::{bf16, f16};
use std::fmt::Debug;

/// The name of an element type at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl DType {
    /// Every element type, in the order of the container's type codes.
    pub const ALL: [DType; 13] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::Bf16,
        DType::F32,
        DType::F64,
    ];

    /// The short name, as in Rust: `bool`, `i32`, `f16`, `bf16`, ...
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// Bytes of one element in an array (a `bool` in a value array takes one byte; in a vector it takes one bit).
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::Bf16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 => 8,
        }
    }

    /// Whether the type is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// An element type. Implemented for `bool`, `i8..i64`, `u8..u64`, `f16`, `bf16`, `f32`, `f64`, and closed to others: a
/// backend stores vectors of scalars in ways of its own (a `bool` vector is packed bits).
pub trait Scalar: Copy + PartialEq + PartialOrd + Debug + Default + Send + Sync + 'static + private::Sealed {
    /// The type that sums and products of this type are formed in: `f32` for the half types, the type itself otherwise.
    type Accumulator: Scalar;
    /// The run-time name.
    const DTYPE: DType;
    /// The additive identity.
    const ZERO: Self;
    /// The multiplicative identity, and the value of an entry of a pattern matrix.
    const ONE: Self;
    /// The least value: negative infinity for floats.
    const LEAST: Self;
    /// The greatest value: positive infinity for floats.
    const GREATEST: Self;

    /// Sum (wrapping for integers, or for `bool`).
    #[must_use]
    fn plus(self, rhs: Self) -> Self;
    /// Sum in which [`Scalar::GREATEST`] and [`Scalar::LEAST`] absorb and integers saturate.
    #[must_use]
    fn plus_saturating(self, rhs: Self) -> Self;
    /// Difference (wrapping for integers, exclusive or for `bool`).
    #[must_use]
    fn minus(self, rhs: Self) -> Self;
    /// Product (wrapping for integers, and for `bool`).
    #[must_use]
    fn times(self, rhs: Self) -> Self;
    /// The smaller of both; a NaN loses against a number.
    #[must_use]
    fn least_of(self, rhs: Self) -> Self;
    /// The greater of both; a NaN loses against a number.
    #[must_use]
    fn greatest_of(self, rhs: Self) -> Self;
    /// The value as `f64`, rounded where it does not fit.
    fn to_f64(self) -> f64;
    /// The nearest value to `value`; integers saturate, NaN becomes zero for integers.
    fn from_f64(value: f64) -> Self;
    /// Into the accumulator type, exactly.
    fn widen(self) -> Self::Accumulator;
    /// Back from the accumulator type, rounded to nearest.
    fn narrow(acc: Self::Accumulator) -> Self;
    /// Whether the value is not zero (a NaN is not zero).
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

mod private {
    pub trait Sealed {}
}

macro_rules! integer {
    ($($t:ident $d:ident)*) => { $(
        impl private::Sealed for $t {}
        impl Scalar for $t {
            type Accumulator = $t;
            const DTYPE: DType = DType::$d;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = $t::MIN;
            const GREATEST: Self = $t::MAX;
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
            fn least_of(self, rhs: Self) -> Self { self.min(rhs) }
            #[inline(always)]
            fn greatest_of(self, rhs: Self) -> Self { self.max(rhs) }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn widen(self) -> Self { self }
            #[inline(always)]
            fn narrow(acc: Self) -> Self { acc }
        }
    )* };
}
integer!(i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);

macro_rules! float {
    ($($t:ident $d:ident $acc:ident, $to:expr, $from:expr, $widen:expr, $narrow:expr;)*) => { $(
        impl private::Sealed for $t {}
        impl Scalar for $t {
            type Accumulator = $acc;
            const DTYPE: DType = DType::$d;
            const ZERO: Self = <$t as half_consts::Consts>::ZERO;
            const ONE: Self = <$t as half_consts::Consts>::ONE;
            const LEAST: Self = $t::NEG_INFINITY;
            const GREATEST: Self = $t::INFINITY;
            #[inline(always)]
            fn plus(self, rhs: Self) -> Self { self + rhs }
            #[inline(always)]
            fn plus_saturating(self, rhs: Self) -> Self { self + rhs }
            #[inline(always)]
            fn minus(self, rhs: Self) -> Self { self - rhs }
            #[inline(always)]
            fn times(self, rhs: Self) -> Self { self * rhs }
            #[inline(always)]
            fn least_of(self, rhs: Self) -> Self { self.min(rhs) }
            #[inline(always)]
            fn greatest_of(self, rhs: Self) -> Self { self.max(rhs) }
            #[inline(always)]
            fn to_f64(self) -> f64 { $to(self) }
            #[inline(always)]
            fn from_f64(value: f64) -> Self { $from(value) }
            #[inline(always)]
            fn widen(self) -> $acc { $widen(self) }
            #[inline(always)]
            fn narrow(acc: $acc) -> Self { $narrow(acc) }
        }
    )* };
}

mod half_consts {
    use half::{bf16, f16};
    pub trait Consts {
        const ZERO: Self;
        const ONE: Self;
    }
    impl Consts for f16 {
        const ZERO: Self = f16::ZERO;
        const ONE: Self = f16::ONE;
    }
    impl Consts for bf16 {
        const ZERO: Self = bf16::ZERO;
        const ONE: Self = bf16::ONE;
    }
    impl Consts for f32 {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
    }
    impl Consts for f64 {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
    }
}

float! {
    f16 F16 f32, f16::to_f64, f16::from_f64, f16::to_f32, f16::from_f32;
    bf16 Bf16 f32, bf16::to_f64, bf16::from_f64, bf16::to_f32, bf16::from_f32;
    f32 F32 f32, f64::from, |v: f64| v as f32, |v| v, |v| v;
    f64 F64 f64, |v| v, |v| v, |v| v, |v| v;
}

impl private::Sealed for bool {}
impl Scalar for bool {
    type Accumulator = bool;
    const DTYPE: DType = DType::Bool;
    const ZERO: Self = false;
    const ONE: Self = true;
    const LEAST: Self = false;
    const GREATEST: Self = true;
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
    fn least_of(self, rhs: Self) -> Self {
        self & rhs
    }
    #[inline(always)]
    fn greatest_of(self, rhs: Self) -> Self {
        self | rhs
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }
    #[inline(always)]
    fn widen(self) -> bool {
        self
    }
    #[inline(always)]
    fn narrow(acc: bool) -> Self {
        acc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_infinity_absorbs() {
        assert_eq!(i32::GREATEST.plus_saturating(-5), i32::MAX);
        assert_eq!(u8::GREATEST.plus_saturating(1), 255);
        assert_eq!(200u8.plus_saturating(100), 255);
        assert_eq!(0u8.plus_saturating(7), 7);
        assert_eq!(i8::LEAST.plus_saturating(3), i8::MIN);
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
}
