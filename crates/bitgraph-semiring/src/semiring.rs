//! The semiring contract.

use crate::{DeviceExpr, Monoid, Scalar};
use std::fmt::Debug;

/// A semiring: a zero-sized type that says how a row of a matrix meets a vector.
///
/// `y(i) = finish( add over j of multiply(A(i, j), x(j)) )`. For a pattern matrix, which stores no values, the product is
/// [`Semiring::multiply_pattern`]: every entry counts as the implicit 1.
///
/// A user defines one by implementing this trait; on the CPU it is monomorphised into the same kernels as the built-in
/// ones. [`Semiring::DEVICE`] carries the same formula for a GPU.
pub trait Semiring: Copy + Default + Debug + Send + Sync + 'static {
    /// The type of the matrix values.
    type A: Scalar;
    /// The type of the vector values, or of the second matrix.
    type X: Scalar;
    /// The type in which products are summed.
    type Acc: Scalar;
    /// The type of the result.
    type Out: Scalar;
    /// The additive monoid.
    type Add: Monoid<Self::Acc>;
    /// The name, as part of kernel symbols and error messages.
    const NAME: &'static str;
    /// The same formula in CUDA C++; `None` if the semiring runs on the CPU only.
    const DEVICE: Option<DeviceExpr> = None;
    /// Whether the product ignores the vector's value, so that a kernel need not load it.
    const IGNORES_X: bool = false;

    /// The product of a matrix value and a vector value.
    fn multiply(a: Self::A, x: Self::X) -> Self::Acc;
    /// The product with the implicit 1 of a pattern matrix.
    #[inline(always)]
    fn multiply_pattern(x: Self::X) -> Self::Acc {
        Self::multiply(Self::A::ONE, x)
    }
    /// From the accumulator to the output.
    fn finish(acc: Self::Acc) -> Self::Out;

    /// The additive identity.
    #[inline(always)]
    fn zero() -> Self::Acc {
        <Self::Add as Monoid<Self::Acc>>::identity()
    }
    /// The additive operation.
    #[inline(always)]
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        <Self::Add as Monoid<Self::Acc>>::combine(a, b)
    }
    /// Whether a sum may stop at `acc`.
    #[inline(always)]
    fn is_terminal(acc: Self::Acc) -> bool {
        <Self::Add as Monoid<Self::Acc>>::HAS_TERMINAL && <Self::Add as Monoid<Self::Acc>>::is_terminal(acc)
    }
}

/// What a semiring over vectors of `X` is called by: itself, or the bare name of a built-in one, `MinPlus`, which takes the vector's type.
pub trait Over<X>: Copy {
    /// The semiring.
    type Semiring: Semiring<X = X>;
}
impl<S: Semiring> Over<S::X> for S {
    type Semiring = S;
}

/// A built-in semiring before its type is known; `S` is that semiring over nothing.
#[derive(Clone, Copy, Debug)]
pub struct Name<S>(pub(crate) std::marker::PhantomData<fn() -> S>);
