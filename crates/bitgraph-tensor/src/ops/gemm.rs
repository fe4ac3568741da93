//! Dense products.

use super::operation::{Computation, Fusing, Operation};
use crate::any::{Any, AnyMut};
use crate::backend::{DenseOps, Gemm};
use crate::dense::Output;
use crate::epilogue::Epilogue;
use crate::error::same_shape;
use crate::{Dense, Element, Error, Tensor};
use std::marker::PhantomData;

/// `op(A) op(B)`, then the epilogue.
pub struct GemmOp<B: Tensor> {
    /// The first matrix.
    pub a: Any<B>,
    /// Whether its transpose is meant.
    pub transpose_a: bool,
    /// The second matrix, of the same element type.
    pub b: Any<B>,
    /// Whether its transpose is meant.
    pub transpose_b: bool,
    /// What is done to the elements before they are stored.
    pub epilogue: Epilogue<B>,
}

impl<B: Tensor> GemmOp<B> {
    /// Rows of the product, columns of the product, and the length of its sums.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize, usize) {
        let seen = |x: &Any<B>, transposed: bool| if transposed { (x.shape().1, x.shape().0) } else { x.shape() };
        let (a, b) = (seen(&self.a, self.transpose_a), seen(&self.b, self.transpose_b));
        (a.0, b.1, a.1)
    }
}

/// [`gemm`] over elements of type `T`.
pub struct DenseDense<B: Tensor, T: Element> {
    op: GemmOp<B>,
    element: PhantomData<fn() -> T>,
}

/// `A B`, with sums in [`Element::Sum`]. O(rows * columns * length).
///
/// # Gradients
/// With `y = A B` and `dy` the gradient before the epilogue: `dA = dy B^T`, `dB = A^T dy`, by the same operation with
/// [`Operation::transpose_b`] and [`Operation::transpose_a`]; of a bias, [`sum_columns`](super::sum_columns) of `dy`.
pub fn gemm<B: Gemm, T: Element>(a: &Dense<B, T>, b: &Dense<B, T>) -> Operation<DenseDense<B, T>> {
    let op = GemmOp { a: a.any(), transpose_a: false, b: b.any(), transpose_b: false, epilogue: Epilogue::default() };
    Operation(DenseDense { op, element: PhantomData })
}

impl<B: Gemm, T: Element> Operation<DenseDense<B, T>> {
    /// Sees the first matrix transposed: nothing is copied.
    pub fn transpose_a(mut self) -> Self {
        self.0.op.transpose_a = !self.0.op.transpose_a;
        self
    }
    /// Sees the second matrix transposed: nothing is copied.
    pub fn transpose_b(mut self) -> Self {
        self.0.op.transpose_b = !self.0.op.transpose_b;
        self
    }
    /// Whether [`Operation::into_with_sums`] is one pass over the second matrix.
    #[must_use]
    pub fn sums_columns(&self) -> bool {
        !self.0.op.transpose_b && self.0.backend().sums_with_gemm(&self.0.op)
    }
    /// [`Operation::into`] for a product whose second matrix is not seen transposed, and the sums of that matrix's columns as
    /// [`sum_columns`](super::sum_columns) gives them: the gradients of a weight and of a bias are of one matrix.
    ///
    /// # Errors
    /// As [`Operation::into`].
    pub fn into_with_sums<'a>(self, y: impl Output<'a, B>) -> Result<Dense<B, T::Real>, B::Error>
    where
        B: DenseOps + 'a,
    {
        self.check_output(&y)?;
        let (together, op) = (self.sums_columns(), self.0.op);
        let mut sums = Dense::<B, T::Real>::unwritten(op.a.backend(), 1, op.b.shape().1)?;
        let to = <T::Real as Element>::erase_mut(sums.as_mut().open()?);
        if together {
            op.a.backend().gemm_with_sums(&op, y.open()?, to)?;
        } else {
            op.a.backend().sum_columns(&op.b, to)?;
            op.a.backend().gemm(&op, y.open()?)?;
        }
        Ok(sums)
    }
    /// The descriptor that a backend gets.
    #[must_use]
    pub fn descriptor(&self) -> &GemmOp<B> {
        &self.0.op
    }
}

impl<B: Gemm, T: Element> Computation for DenseDense<B, T> {
    type Backend = B;
    type Real = T::Real;
    type Output = T::Output;
    const NAME: &'static str = "gemm";

    fn backend(&self) -> &B {
        self.op.a.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        let (rows, columns, length) = self.op.sizes();
        let expected = if self.op.transpose_b { (columns, length) } else { (length, columns) };
        same_shape(Self::NAME, "the second matrix", expected, self.op.b.shape())?;
        self.op.epilogue.check(Self::NAME, (rows, columns))?;
        Ok((rows, columns))
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        f("the first matrix", &self.op.a);
        f("the second matrix", &self.op.b);
        self.op.epilogue.operands(f);
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), B::Error> {
        self.backend().gemm(&self.op, y)
    }
}
impl<B: Gemm, T: Element> Fusing for DenseDense<B, T> {
    fn epilogue(&mut self) -> &mut Epilogue<B> {
        &mut self.op.epilogue
    }
}
