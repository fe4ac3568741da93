//! Scalars, monoids, semirings and element-wise operators: the algebra that every kernel of bitgraph is generic over.
//!
//! A [`Semiring`] is a zero-sized type that names the types of the matrix values, the vector values, the accumulator and
//! the output. Storage and accumulator are different types in the trait itself, so that half-precision storage never means
//! half-precision sums by accident. Nothing here allocates, and nothing here knows a format or a backend.
//!
//! ```
//! use bitgraph_semiring::{Monoid, Plus, Semiring};
//!
//! // The semiring (plus, |a - x|), defined in ten lines.
//! #[derive(Clone, Copy, Default, Debug)]
//! struct PlusDistance;
//! impl Semiring for PlusDistance {
//!     type A = f32;
//!     type X = f32;
//!     type Acc = f64;
//!     type Out = f64;
//!     type Add = Plus;
//!     const NAME: &'static str = "plus_distance";
//!     fn multiply(a: f32, x: f32) -> f64 { f64::from((a - x).abs()) }
//!     fn finish(acc: f64) -> f64 { acc }
//! }
//! let total = <Plus as Monoid<f64>>::combine(PlusDistance::multiply(1.0, 3.0), PlusDistance::multiply(2.0, 2.5));
//! assert_eq!(PlusDistance::finish(total), 2.5);
//! ```

mod builtin;
mod device;
mod monoid;
mod operator;
mod scalar;
mod semiring;

pub use builtin::{
    AnyPair, AnySecond, LorLand, MaxMin, MaxPlus, MaxTimes, MinFirst, MinPlus, MinSecond, MinTimes, PlusFirst, PlusPair, PlusSecond,
    PlusTimes,
};
pub use device::{DeviceExpr, DeviceOperator, Parameter, Parameters};
pub use monoid::{Any, Land, Lor, Lxor, Max, Min, Monoid, Plus, Times};
pub use operator::{
    Absolute, AdditiveInverse, BinaryOp, First, Identity, IfNonZero, Minus, NotEqual, OffDiagonal, One, Operator, Quotient, Scale, Second,
    SelectOp, Shift, Tril, Triu, UnaryOp, ValueAbove, ValueBelow, ValueNonZero,
};
pub use scalar::{DType, Float, Scalar};
pub use semiring::{Name, Over, Semiring};
