//! Element-wise operators: small plain values, never closures, because a closure cannot cross to a device.
//!
//! Invariant: an operator is `Copy` plain data; a zero-sized one is the special case, thresholds and factors are fields.

use crate::{Any, DeviceOperator, Float, Land, Lor, Lxor, Max, Min, Monoid, Parameter, Parameters, Plus, Scalar, Times};
use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

/// What all operators share: plain data that can be copied to a device byte by byte.
pub trait Operator: Copy + Send + Sync + 'static {
    /// The name, as part of kernel symbols.
    const NAME: &'static str;
    /// The operator in CUDA C++, in terms of `a`, `b` and the fields `p0`, `p1`, ...; `None` if it runs on the CPU only.
    const DEVICE: Option<&'static str> = None;

    /// The fields that the expression calls `p0`, `p1`, ...
    fn parameters(&self) -> Parameters {
        [None; 4]
    }
    /// The operator as a device sees it.
    fn device(&self) -> DeviceOperator {
        DeviceOperator { name: Self::NAME, expression: Self::DEVICE, parameters: self.parameters() }
    }
}

/// The parameters of an operator with one field.
fn one<T: Scalar>(value: T) -> Parameters {
    [Some(Parameter::of(value)), None, None, None]
}

/// `c = op(a, b)`, for `ewise_add`, `ewise_mult` and accumulation.
pub trait BinaryOp<T: Scalar>: Operator {
    /// Applies the operator.
    fn apply(&self, a: T, b: T) -> T;
}

/// `c = op(a)`, for `apply`.
pub trait UnaryOp<T: Scalar>: Operator {
    /// The output type.
    type Out: Scalar;
    /// Applies the operator.
    fn apply(&self, a: T) -> Self::Out;
}

/// Whether to keep an entry, by its place and its value, for `select`.
pub trait SelectOp<T: Scalar>: Operator {
    /// Whether the entry at (`row`, `column`) stays. A vector's entry has column 0.
    fn keep(&self, row: u32, column: u32, value: T) -> bool;
}

macro_rules! monoid_operator {
    ($($name:ident $text:literal $device:literal)*) => { $(
        impl Operator for $name {
            const NAME: &'static str = $text;
            const DEVICE: Option<&'static str> = Some($device);
        }
        impl<T: Scalar> BinaryOp<T> for $name {
            #[inline(always)]
            fn apply(&self, a: T, b: T) -> T { <$name as Monoid<T>>::combine(a, b) }
        }
    )* };
}
monoid_operator!(Plus "plus" "a + b" Times "times" "a * b" Min "min" "bg_min(a, b)" Max "max" "bg_max(a, b)"
    Any "any" "a" Lor "lor" "a || b" Land "land" "a && b" Lxor "lxor" "(a != 0) != (b != 0)");

macro_rules! binary {
    ($(#[$doc:meta])* $name:ident $text:literal $device:literal, $apply:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name;
        impl Operator for $name {
            const NAME: &'static str = $text;
            const DEVICE: Option<&'static str> = Some($device);
        }
        impl<T: Scalar> BinaryOp<T> for $name {
            #[inline(always)]
            fn apply(&self, a: T, b: T) -> T { let f: fn(T, T) -> T = $apply; f(a, b) }
        }
    };
}
binary!(/// The first operand.
    First "first" "a", |a, _| a);
binary!(/// The second operand: as an accumulator, the new value replaces the old one.
    Second "second" "b", |_, b| b);
binary!(/// The difference.
    Minus "minus" "a - b", |a, b| a.minus(b));
binary!(/// One where the operands differ, zero where they are equal.
    NotEqual "not_equal" "a != b", |a, b| if a == b { T::ZERO } else { T::ONE });

macro_rules! unary {
    ($(#[$doc:meta])* $name:ident $text:literal $device:literal, $apply:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name;
        impl Operator for $name {
            const NAME: &'static str = $text;
            const DEVICE: Option<&'static str> = Some($device);
        }
        impl<T: Scalar> UnaryOp<T> for $name {
            type Out = T;
            #[inline(always)]
            fn apply(&self, a: T) -> T { let f: fn(T) -> T = $apply; f(a) }
        }
    };
}
unary!(/// The operand itself.
    Identity "identity" "a", |a| a);
unary!(/// Zero minus the operand.
    AdditiveInverse "ainv" "-a", |a| T::ZERO.minus(a));
unary!(/// The magnitude.
    Absolute "abs" "a < 0 ? -a : a", |a| if a < T::ZERO { T::ZERO.minus(a) } else { a });
unary!(/// The constant one: the pattern of a matrix or vector.
    One "one" "1", |_| T::ONE);

/// Whether the operand is not zero, as `bool`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct IfNonZero;
impl Operator for IfNonZero {
    const NAME: &'static str = "if_non_zero";
    const DEVICE: Option<&'static str> = Some("a != 0");
}
impl<T: Scalar> UnaryOp<T> for IfNonZero {
    type Out = bool;
    #[inline(always)]
    fn apply(&self, a: T) -> bool {
        a.is_non_zero()
    }
}

/// The operand times a constant: damping.
#[derive(Clone, Copy, Default, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Scale<T>(pub T);
impl<T: Scalar> Operator for Scale<T> {
    const NAME: &'static str = "scale";
    const DEVICE: Option<&'static str> = Some("a * p0");
    fn parameters(&self) -> Parameters {
        one(self.0)
    }
}
impl<T: Scalar> UnaryOp<T> for Scale<T> {
    type Out = T;
    #[inline(always)]
    fn apply(&self, a: T) -> T {
        T::narrow(a.widen().times(self.0.widen()))
    }
}

/// The operand plus a constant: teleportation.
#[derive(Clone, Copy, Default, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Shift<T>(pub T);
impl<T: Scalar> Operator for Shift<T> {
    const NAME: &'static str = "shift";
    const DEVICE: Option<&'static str> = Some("a + p0");
    fn parameters(&self) -> Parameters {
        one(self.0)
    }
}
impl<T: Scalar> UnaryOp<T> for Shift<T> {
    type Out = T;
    #[inline(always)]
    fn apply(&self, a: T) -> T {
        T::narrow(a.widen().plus(self.0.widen()))
    }
}

/// A constant divided by the operand in double precision, as a float type: a share of it for each of so many.
#[derive(Clone, Copy, Debug)]
pub struct Quotient<T> {
    dividend: f64,
    result: PhantomData<fn() -> T>,
}
impl<T> Quotient<T> {
    /// With this dividend.
    #[must_use]
    pub const fn of(dividend: f64) -> Self {
        Self { dividend, result: PhantomData }
    }
}
impl<T: Float> Operator for Quotient<T> {
    const NAME: &'static str = "quotient";
    const DEVICE: Option<&'static str> = Some("p0 / (double)a");
    fn parameters(&self) -> Parameters {
        one(self.dividend)
    }
}
impl<T: Float, U: Scalar> UnaryOp<U> for Quotient<T> {
    type Out = T;
    #[inline(always)]
    fn apply(&self, a: U) -> T {
        T::from_f64(self.dividend / a.to_f64())
    }
}

macro_rules! select {
    ($(#[$doc:meta])* $name:ident $text:literal $device:literal, |$s:ident, $r:ident, $c:ident| $keep:expr, $($field:ident: $ft:ty)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name { $(/// The diagonal: 0 is the main one, positive ones are above it.
            pub $field: $ft)? }
        impl Operator for $name {
            const NAME: &'static str = $text;
            const DEVICE: Option<&'static str> = Some($device);
            $( fn parameters(&self) -> Parameters { one(self.$field) } )?
        }
        impl<T: Scalar> SelectOp<T> for $name {
            #[inline(always)]
            fn keep(&self, $r: u32, $c: u32, _value: T) -> bool { let $s = self; let _ = $s; $keep }
        }
    };
}
select!(/// On or below a diagonal: `column - row <= diagonal`.
    Tril "tril" "(long long)column - row <= p0", |s, r, c| i64::from(c) - i64::from(r) <= s.diagonal, diagonal: i64);
select!(/// On or above a diagonal: `column - row >= diagonal`.
    Triu "triu" "(long long)column - row >= p0", |s, r, c| i64::from(c) - i64::from(r) >= s.diagonal, diagonal: i64);
select!(/// Off the main diagonal: without loops.
    OffDiagonal "offdiag" "row != column", |s, r, c| r != c,);

/// Values that are not zero: drops explicit zeros.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ValueNonZero;
impl Operator for ValueNonZero {
    const NAME: &'static str = "value_non_zero";
    const DEVICE: Option<&'static str> = Some("a != 0");
}
impl<T: Scalar> SelectOp<T> for ValueNonZero {
    #[inline(always)]
    fn keep(&self, _: u32, _: u32, value: T) -> bool {
        value.is_non_zero()
    }
}

/// Values above a threshold.
#[derive(Clone, Copy, Default, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct ValueAbove<T>(pub T);
impl<T: Scalar> Operator for ValueAbove<T> {
    const NAME: &'static str = "value_above";
    const DEVICE: Option<&'static str> = Some("a > p0");
    fn parameters(&self) -> Parameters {
        one(self.0)
    }
}
impl<T: Scalar> SelectOp<T> for ValueAbove<T> {
    #[inline(always)]
    fn keep(&self, _: u32, _: u32, value: T) -> bool {
        value > self.0
    }
}

/// Values below a threshold.
#[derive(Clone, Copy, Default, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct ValueBelow<T>(pub T);
impl<T: Scalar> Operator for ValueBelow<T> {
    const NAME: &'static str = "value_below";
    const DEVICE: Option<&'static str> = Some("a < p0");
    fn parameters(&self) -> Parameters {
        one(self.0)
    }
}
impl<T: Scalar> SelectOp<T> for ValueBelow<T> {
    #[inline(always)]
    fn keep(&self, _: u32, _: u32, value: T) -> bool {
        value < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators() {
        assert_eq!(BinaryOp::<i32>::apply(&Minus, 3, 5), -2);
        assert_eq!(BinaryOp::<i32>::apply(&Second, 3, 5), 5);
        assert_eq!(UnaryOp::apply(&Scale(0.5f32), 8.0), 4.0);
        assert!(UnaryOp::<f32>::apply(&IfNonZero, f32::NAN));
        assert!(SelectOp::<bool>::keep(&Tril { diagonal: -1 }, 3, 2, true));
        assert!(!SelectOp::<bool>::keep(&Tril { diagonal: -1 }, 3, 3, true));
        assert!(!SelectOp::<bool>::keep(&OffDiagonal {}, 3, 3, true));
        assert!(SelectOp::keep(&ValueAbove(2u8), 0, 0, 3));
        assert!(SelectOp::keep(&ValueBelow(2u8), 0, 0, 1) && !SelectOp::keep(&ValueBelow(2u8), 0, 0, 2));
        assert_eq!(UnaryOp::<u64>::apply(&Quotient::<f32>::of(1.0), 4), 0.25);
    }
}
