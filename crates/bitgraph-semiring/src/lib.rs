//! Scalars, monoids, semirings and element-wise operators: the algebra that every kernel of bitgraph is generic over.
//!
//! A [`Semiring`] is a zero-sized type that names the types of the matrix values, the vector values, the accumulator and
//! the output. Storage and accumulator are different types in the trait itself, so that half-precision storage never means
//! half-precision sums by accident. Nothing here allocates, and nothing here knows a format or a backend.
//!
//! Operators of all kinds are defined by a formula, of which both their Rust and their CUDA C++ form are made, so that a CPU and a GPU
//! cannot differ: [`semiring!`], [`monoid!`], [`binary_op!`], [`unary_op!`], [`select_op!`].
//!
//! ```
//! use bitgraph_semiring::{Plus, Semiring, semiring};
//!
//! semiring! {
//!     /// The semiring (plus, |a - x|), whose sums are formed in double precision.
//!     pub struct PlusDistance: f32, f32 => f64 => f32;
//!     add = Plus;
//!     multiply(a, x) { (a - x).abs() }
//! }
//! let total = PlusDistance::add(PlusDistance::multiply(1.0, 3.0), PlusDistance::multiply(2.0, 2.5));
//! assert_eq!(PlusDistance::finish(total), 2.5);
//! ```
//!
//! An element type of one's own takes a line: [`impl_scalar!`].

mod builtin;
mod device;
mod dtype;
mod formula;
mod monoid;
mod number;
mod operator;
mod scalar;
mod semiring;
mod transparent;

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
pub use scalar::{Float, Scalar, Wide};
pub use semiring::{Name, Over, Semiring};
pub use transparent::Transparent;
