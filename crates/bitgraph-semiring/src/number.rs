//! The numbers that formulas compute with: the arithmetic of [`Scalar`] behind Rust's own operators.
//!
//! Invariant: every operation gives what the struct `Num` of `kernels/common/semiring.cuh` gives (`exp`, `ln` and `ln_1p` within rounding).

use crate::Scalar;
use num_traits::Float;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// An operand of a formula: integers wrap, and divided by zero they are zero; `bool` adds by or, subtracts by exclusive or, multiplies by and.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number<T>(pub T);

/// What a literal of a formula may be: `1` or `0.5`, without a suffix.
pub trait Literal {
    /// The number.
    fn value(self) -> f64;
}
impl Literal for i32 {
    #[inline(always)]
    fn value(self) -> f64 {
        self.into()
    }
}
impl Literal for f64 {
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
}

impl<T: Scalar> Number<T> {
    /// The number of a value that `T` can hold, whatever it is.
    #[inline(always)]
    pub fn of(value: impl Into<T>) -> Self {
        Self(value.into())
    }
    /// The number that a literal stands for.
    #[inline(always)]
    pub fn literal(literal: impl Literal) -> Self {
        Self(T::from_f64(literal.value()))
    }
    /// What `MIN` stands for.
    #[inline(always)]
    #[must_use]
    pub fn smallest() -> Self {
        Self(T::smallest())
    }
    /// What `MAX` stands for.
    #[inline(always)]
    #[must_use]
    pub fn largest() -> Self {
        Self(T::largest())
    }
    /// The smaller of both; a NaN loses against a number.
    #[inline(always)]
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min_of(other.0))
    }
    /// The greater of both; a NaN loses against a number.
    #[inline(always)]
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max_of(other.0))
    }
    /// The magnitude.
    #[inline(always)]
    #[must_use]
    pub fn abs(self) -> Self {
        if self.0 < T::ZERO { -self } else { self }
    }
    /// The sum in which the smallest and the largest value absorb, and integers saturate.
    #[inline(always)]
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.plus_saturating(other.0))
    }
}

/// Of floating-point types.
impl<T: Scalar + Float> Number<T> {
    /// The square root.
    #[inline(always)]
    #[must_use]
    pub fn sqrt(self) -> Self {
        Self(Float::sqrt(self.0))
    }
    /// The exponential function.
    #[inline(always)]
    #[must_use]
    pub fn exp(self) -> Self {
        Self(Float::exp(self.0))
    }
    /// The natural logarithm.
    #[inline(always)]
    #[must_use]
    pub fn ln(self) -> Self {
        Self(Float::ln(self.0))
    }
    /// The natural logarithm of one more, exact near zero.
    #[inline(always)]
    #[must_use]
    pub fn ln_1p(self) -> Self {
        Self(Float::ln_1p(self.0))
    }
}

impl<T: Scalar> Add for Number<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.plus(other.0))
    }
}
impl<T: Scalar> Sub for Number<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0.minus(other.0))
    }
}
impl<T: Scalar> Mul for Number<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0.times(other.0))
    }
}
impl<T: Scalar> Neg for Number<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(T::ZERO.minus(self.0))
    }
}

macro_rules! divide {
    ($($t:ty: |$a:ident, $b:ident| $quotient:expr;)*) => { $(
        impl Div for Number<$t> {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                Self($quotient)
            }
        }
    )* };
    (integers $($t:ty)*) => { divide! { $($t: |a, b| if b == 0 { 0 } else { a.wrapping_div(b) };)* } };
}
divide!(integers i8 i16 i32 i64 u8 u16 u32 u64);
divide! { f32: |a, b| a / b; f64: |a, b| a / b; }

/// What a formula gives: a number, or whether something holds, which is one or zero.
pub trait Outcome<T> {
    /// The value.
    fn value(self) -> T;
}
impl<T: Scalar> Outcome<T> for Number<T> {
    #[inline(always)]
    fn value(self) -> T {
        self.0
    }
}
impl<T: Scalar> Outcome<T> for bool {
    #[inline(always)]
    fn value(self) -> T {
        if self { T::ONE } else { T::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_never_fail() {
        let n = Number::<i32>;
        assert_eq!((n(i32::MAX) + n(1), n(i32::MIN) / n(-1), n(7) / n(0)), (n(i32::MIN), n(i32::MIN), n(0)));
        assert_eq!((n(-3).abs(), -n(4), n(2).min(n(5)), n(i32::MAX).saturating_add(n(-1))), (n(3), n(-4), n(2), n(i32::MAX)));
        assert_eq!((Number(true) + Number(true), Number(true) - Number(true)), (Number(true), Number(false)));
        assert_eq!((Number::<u8>::literal(300), Number::<f64>::literal(0.5)), (Number(255), Number(0.5)));
    }
}
