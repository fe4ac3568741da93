//! The device form of an operator: the same formula in CUDA C++, compiled at run time by a GPU backend.
//!
//! The macros of this crate make it of the tokens that the Rust form is made of. One that is written by hand computes with values of C++'s
//! own types, and may call `bg_min`, `bg_max`, `bg_plus_saturating`, `bg_min_value()` and `bg_max_value()`, which are in the type of the
//! accumulator of a semiring, and of the operand otherwise. It must say what the Rust form says: a backend may take operators of
//! the same text for the same.

use crate::{DType, Scalar};
use std::any::Any;

/// CUDA C++ expressions of a semiring. Its addition is the monoid's own ([`Monoid::DEVICE`](crate::Monoid::DEVICE)).
///
/// A backend that runs on the CPU ignores it; a GPU backend refuses a semiring without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceExpr {
    /// The product, in terms of `a` (matrix value) and `x` (vector value). Example: `"a * x"`.
    pub multiply: &'static str,
    /// The product for a pattern matrix, in terms of `x` alone. Example: `"x"`.
    pub multiply_pattern: &'static str,
    /// The conversion from accumulator to output, in terms of `acc`. Example: `"acc"`.
    pub finish: &'static str,
}

/// CUDA C++ expressions of a monoid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMonoid {
    /// The operation, in terms of `a` and `b`. Example: `"a + b"`.
    pub combine: &'static str,
    /// The neutral element. Example: `"0"`.
    pub identity: &'static str,
    /// Whether nothing changes the value `a` any more; `None` if there is no such value. Example: `"a == bg_min_value()"`.
    pub terminal: Option<&'static str>,
}

/// A field of an operator on its way to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What the expression calls it; `None` for `p0`, `p1`, ... by its place.
    pub name: Option<&'static str>,
    /// Its type.
    pub dtype: DType,
    /// Its bytes, in the low ones.
    pub bits: u64,
}

impl Parameter {
    /// The parameter of a value.
    #[must_use]
    pub fn of<T: Scalar>(value: T) -> Self {
        let value = value.peel();
        let any: &dyn Any = &value;
        macro_rules! bits {
            ($($t:ty as |$v:ident| $bits:expr),*) => {
                $( if let Some($v) = any.downcast_ref::<$t>() { return Self { name: None, dtype: T::DTYPE, bits: $bits }; } )*
            };
        }
        bits!(bool as |v| u64::from(*v), u8 as |v| u64::from(*v), u16 as |v| u64::from(*v), u32 as |v| u64::from(*v), u64 as |v| *v);
        bits!(i8 as |v| u64::from(*v as u8), i16 as |v| u64::from(*v as u16), i32 as |v| u64::from(*v as u32), i64 as |v| *v as u64);
        bits!(half::f16 as |v| u64::from(v.to_bits()), half::bf16 as |v| u64::from(v.to_bits()));
        bits!(f32 as |v| u64::from(v.to_bits()), f64 as |v| v.to_bits());
        Self { name: None, dtype: T::DTYPE, bits: 0 }
    }
    /// The same under a name.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }
}

/// The fields of an operator, at most four.
pub type Parameters = [Option<Parameter>; 4];

/// The fields of an operator.
#[doc(hidden)]
#[must_use]
pub fn parameters<const N: usize>(fields: [Parameter; N]) -> Parameters {
    const { assert!(N <= 4, "an operator has at most four fields") };
    let mut all = [None; 4];
    all.iter_mut().zip(fields).for_each(|(slot, field)| *slot = Some(field));
    all
}

/// An operator as a device sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceOperator {
    /// Its name.
    pub name: &'static str,
    /// Its expression; `None` if it runs on the CPU only.
    pub expression: Option<&'static str>,
    /// Whether the expression was made of a formula, whose arithmetic is that of the built-in types.
    pub formula: bool,
    /// Its fields.
    pub parameters: Parameters,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_their_bits() {
        assert_eq!(Parameter::of(-1i64), Parameter { name: None, dtype: DType::I64, bits: u64::MAX });
        assert_eq!(Parameter::of(-1i8).bits, 0xff);
        assert_eq!(Parameter::of(1.0f32).bits, 0x3f80_0000);
        assert_eq!(Parameter::of(half::f16::ONE).bits, 0x3c00);
        assert_eq!(Parameter::of(true).bits, 1);
    }
}
