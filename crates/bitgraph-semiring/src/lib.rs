#![doc = include_str!("../README.md")]
//!
//! A type of one's own enters by a line: [`semiring!`], [`monoid!`], [`binary_op!`], [`unary_op!`] and [`select_op!`] define operators,
//! [`impl_scalar!`] an element type.

mod builtin;
mod device;
mod dtype;
mod formula;
mod monoid;
mod number;
mod operator;
mod scalar;
mod semiring;

pub use builtin::{
    AnyPair, AnySecond, LorLand, MaxMin, MaxPlus, MaxTimes, MinFirst, MinPlus, MinSecond, MinTimes, PlusFirst, PlusPair, PlusSecond,
    PlusTimes, builtin_name,
};
#[doc(hidden)]
pub use device::parameters;
pub use device::{DeviceExpr, DeviceMonoid, DeviceOperator, Parameter, Parameters};
pub use dtype::DType;
#[doc(hidden)]
pub use formula::{formula_of, mentions};
pub use monoid::{Any, Land, Lor, Lxor, Max, Min, Monoid, Plus, Times};
/// The crate whose traits a user's element type implements.
pub use num_traits;
pub use number::{Literal, Number, Outcome};
pub use operator::{
    Absolute, AdditiveInverse, BinaryOp, First, Identity, IfNonZero, Minus, NotEqual, OffDiagonal, One, Operator, Quotient, Scale, Second,
    SelectOp, Shift, Tril, Triu, UnaryOp, ValueAbove, ValueBelow, ValueNonZero,
};
pub use scalar::{Float, Scalar, Transparent, Wide};
pub use semiring::{Name, Over, Semiring};
