//! The element types of dense matrices, and the types that sums and epilogues of them are formed in.
//!
//! Invariant: the list is closed, so that a match over [`Any`](crate::Any) is complete.

use crate::any::{Any, AnyMut, Out};
use crate::{Dense, Tensor};
use bitgraph_semiring::Scalar;
use bitgraph_sparse::Stored;
use half::{bf16, f16};

/// An element type of dense matrices: `f16`, `bf16`, `f32`, `f64`, `i8`, `u8`, `i16`, `i32`.
pub trait Element: Stored + sealed::Listed {
    /// What sums of it are formed in: `f32` for the half types, `i32` for the integers, the type itself otherwise. Sums of integers wrap.
    type Sum: Element;
    /// What scales, biases and epilogues of it are computed in: `f64` for `f64`, `f32` otherwise.
    type Real: Real;
    /// What a new result is stored as unless the caller says otherwise: the type itself, `i32` for the integers.
    type Output: Element;

    /// A matrix whose element type is known at run time only.
    fn erase<B: Tensor>(dense: Dense<B, Self>) -> Any<B>;
    /// The matrix, if it is of this type.
    fn recover<B: Tensor>(any: Any<B>) -> Option<Dense<B, Self>>;
    /// As [`Element::erase`], of what is written to.
    fn erase_mut<B: Tensor>(out: Out<'_, B, Self>) -> AnyMut<'_, B>;
}

/// The types of scales, biases and statistics: `f32` and `f64`.
pub trait Real: Element<Real = Self, Sum = Self, Output = Self> {
    /// The nearest value to `value`.
    fn of(value: f64) -> Self;
}
impl Real for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }
}
impl Real for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
}

mod sealed {
    /// Keeps the list of element types closed.
    pub trait Listed {}
}

macro_rules! element {
    ($($t:ident $variant:ident: $sum:ident $real:ident $output:ident;)*) => { $(
        impl sealed::Listed for $t {}
        impl Element for $t {
            type Sum = $sum;
            type Real = $real;
            type Output = $output;
            fn erase<B: Tensor>(dense: Dense<B, Self>) -> Any<B> {
                Any::$variant(dense)
            }
            fn recover<B: Tensor>(any: Any<B>) -> Option<Dense<B, Self>> {
                match any {
                    Any::$variant(dense) => Some(dense),
                    _ => None,
                }
            }
            fn erase_mut<B: Tensor>(out: Out<'_, B, Self>) -> AnyMut<'_, B> {
                AnyMut::$variant(out)
            }
        }
    )* };
}
element! {
    f16 F16: f32 f32 f16;
    bf16 Bf16: f32 f32 bf16;
    f32 F32: f32 f32 f32;
    f64 F64: f64 f64 f64;
    i8 I8: i32 f32 i32;
    u8 U8: i32 f32 i32;
    i16 I16: i32 f32 i32;
    i32 I32: i32 f32 i32;
}

/// Whether edge values of type `found` may weigh features of type `T`: those of the features' own type, of its sums, and of its epilogue.
pub(crate) fn weighs<T: Element>(found: bitgraph_semiring::DType) -> bool {
    [T::DTYPE, <T::Sum as Scalar>::DTYPE, <T::Real as Scalar>::DTYPE].contains(&found)
}
