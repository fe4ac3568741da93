//! Dense matrices whose element type is known at run time only: what the descriptors that a backend gets are made of.
//!
//! Invariant: one variant for each [`Element`]; [`with_dense!`](crate::with_dense) and [`with_out!`](crate::with_out) cover them all.

use crate::{Dense, Element, Tensor, Window};
use bitgraph_backend::same_type;
use bitgraph_semiring::{DType, Scalar};
use half::{bf16, f16};

/// What a backend writes to: an array that no other handle shares, and where in it. What the array holds outside the window stays.
pub struct Out<'a, B: Tensor, T: Element> {
    /// The array.
    pub array: &'a mut B::Array<T>,
    /// Where in it.
    pub window: Window,
}

/// Runs `$body` with `$dense` bound to the matrix of its own type.
#[macro_export]
macro_rules! with_dense {
    ($any:expr, $dense:ident => $body:expr) => {
        match $any {
            $crate::Any::F16($dense) => $body,
            $crate::Any::Bf16($dense) => $body,
            $crate::Any::F32($dense) => $body,
            $crate::Any::F64($dense) => $body,
            $crate::Any::I8($dense) => $body,
            $crate::Any::U8($dense) => $body,
            $crate::Any::I16($dense) => $body,
            $crate::Any::I32($dense) => $body,
        }
    };
}
/// Runs `$body` with `$out` bound to the output of its own type.
#[macro_export]
macro_rules! with_out {
    ($any:expr, $out:ident => $body:expr) => {
        match $any {
            $crate::AnyMut::F16($out) => $body,
            $crate::AnyMut::Bf16($out) => $body,
            $crate::AnyMut::F32($out) => $body,
            $crate::AnyMut::F64($out) => $body,
            $crate::AnyMut::I8($out) => $body,
            $crate::AnyMut::U8($out) => $body,
            $crate::AnyMut::I16($out) => $body,
            $crate::AnyMut::I32($out) => $body,
        }
    };
}

macro_rules! any {
    ($($variant:ident $t:ident,)*) => {
        /// A dense matrix of any element type.
        #[allow(missing_docs)]
        pub enum Any<B: Tensor> { $( $variant(Dense<B, $t>), )* }

        /// What is written to, of any element type.
        #[allow(missing_docs)]
        pub enum AnyMut<'a, B: Tensor> { $( $variant(Out<'a, B, $t>), )* }

        impl<B: Tensor> Clone for Any<B> {
            fn clone(&self) -> Self {
                match self { $( Self::$variant(dense) => Self::$variant(dense.clone()), )* }
            }
        }
        impl<B: Tensor> Any<B> {
            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                match self { $( Self::$variant(_) => <$t as Scalar>::DTYPE, )* }
            }
            /// Where its rows are.
            #[must_use]
            pub fn window(&self) -> Window {
                match self { $( Self::$variant(dense) => dense.window(), )* }
            }
            /// The backend.
            #[must_use]
            pub fn backend(&self) -> &B {
                match self { $( Self::$variant(dense) => dense.backend(), )* }
            }
            /// Whether a handle is of the same elements: of the same window of one array, to which nothing is written as long as both are there.
            #[must_use]
            pub fn is_same_as<T: Element>(&self, other: &Dense<B, T>) -> bool {
                match self { $( Self::$variant(dense) => dense.array_id() == other.array_id() && dense.window() == other.window(), )* }
            }
            /// Whether a matrix of another handle shares an element with it.
            pub(crate) fn overlaps(&self, array: *const (), window: &Window) -> bool {
                match self { $( Self::$variant(dense) => dense.array_id() == array && dense.window().overlaps(window), )* }
            }
        }
        impl<B: Tensor> AnyMut<'_, B> {
            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                match self { $( Self::$variant(_) => <$t as Scalar>::DTYPE, )* }
            }
            /// Where its rows are.
            #[must_use]
            pub fn window(&self) -> Window {
                match self { $( Self::$variant(out) => out.window, )* }
            }
        }
    };
}
any! {
    F16 f16,
    Bf16 bf16,
    F32 f32,
    F64 f64,
    I8 i8,
    U8 u8,
    I16 i16,
    I32 i32,
}

impl<B: Tensor> Any<B> {
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.window().shape()
    }
    /// The matrix as one of type `T`, if that is its type.
    #[must_use]
    pub fn get<T: Element>(self) -> Option<Dense<B, T>> {
        T::recover(self)
    }
}

/// A matrix of a real type: scales, biases and statistics.
pub enum Reals<B: Tensor> {
    /// Single precision.
    F32(Dense<B, f32>),
    /// Double precision.
    F64(Dense<B, f64>),
}

impl<B: Tensor> Reals<B> {
    /// A matrix of a real type that is known at compile time.
    pub(crate) fn new<R: crate::Real>(dense: &Dense<B, R>) -> Self {
        match same_type::<_, Dense<B, f64>>(dense.clone()) {
            Some(double) => Self::F64(double),
            None => match same_type(dense.clone()) {
                Some(single) => Self::F32(single),
                None => unreachable!("the real types are these two"),
            },
        }
    }
    /// As a matrix of any type.
    #[must_use]
    pub fn any(&self) -> Any<B> {
        match self {
            Self::F32(dense) => Any::F32(dense.clone()),
            Self::F64(dense) => Any::F64(dense.clone()),
        }
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::F32(dense) => dense.shape(),
            Self::F64(dense) => dense.shape(),
        }
    }
}
impl<B: Tensor> Clone for Reals<B> {
    fn clone(&self) -> Self {
        match self {
            Self::F32(dense) => Self::F32(dense.clone()),
            Self::F64(dense) => Self::F64(dense.clone()),
        }
    }
}
