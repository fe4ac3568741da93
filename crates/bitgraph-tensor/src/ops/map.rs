//! Dense matrices element by element: an epilogue without a product before it, and what is made of several matrices.

use super::operation::{Computation, Fusing, Operation};
use crate::any::{Any, AnyMut};
use crate::backend::DenseOps;
use crate::epilogue::Epilogue;
use crate::error::refused;
use crate::{Dense, Element, Error};
use std::marker::PhantomData;

/// Every element of `x` through the epilogue.
pub struct MapOp<B: crate::Tensor> {
    /// The matrix.
    pub x: Any<B>,
    /// What is done to its elements.
    pub epilogue: Epilogue<B>,
}

/// [`map`] over elements of type `T`.
pub struct Mapped<B: crate::Tensor, T: Element> {
    op: MapOp<B>,
    element: PhantomData<fn() -> T>,
}

/// The elements of `x`, through the steps that follow: `map(&x).add(&z).relu()`. Without steps it copies, and converts where the output is
/// of another type. O(elements).
///
/// # Gradients
/// Of a sum: `dy` for each summand. Of an activation: [`Operation::activation_gradient`] on `dy`. Of dropout: the same dropout on `dy`.
pub fn map<B: DenseOps, T: Element>(x: &Dense<B, T>) -> Operation<Mapped<B, T>> {
    Operation(Mapped { op: MapOp { x: x.any(), epilogue: Epilogue::default() }, element: PhantomData })
}

impl<B: DenseOps, T: Element> Computation for Mapped<B, T> {
    type Backend = B;
    type Real = T::Real;
    type Output = T;
    const NAME: &'static str = "map";

    fn backend(&self) -> &B {
        self.op.x.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        self.op.epilogue.check(Self::NAME, self.op.x.shape())?;
        Ok(self.op.x.shape())
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        f("the matrix", &self.op.x);
        self.op.epilogue.operands(f);
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), B::Error> {
        self.backend().map(&self.op, y)
    }
}
impl<B: DenseOps, T: Element> Fusing for Mapped<B, T> {
    fn epilogue(&mut self) -> &mut Epilogue<B> {
        &mut self.op.epilogue
    }
}

/// Matrices of equally many rows side by side, in a new matrix. O(elements). Its gradient: the columns of `dy`, by [`Dense::columns`].
///
/// # Errors
/// [`Error::Shape`] for another number of rows than the first one's; [`Error::Length`] without any matrix; out of memory.
pub fn concat<B: DenseOps, T: Element>(parts: &[&Dense<B, T>]) -> Result<Dense<B, T>, B::Error> {
    let Some(first) = parts.first() else {
        // Without a backend there is no error of its own; that of the contracts is every backend's.
        return Err(refused::<B>(Error::Length { what: "the parts of a matrix", expected: 1, found: 0 }));
    };
    let rows = first.nrows();
    let mut columns = 0usize;
    for part in parts {
        crate::error::same_shape("concat", "a part", (rows, part.ncols()), part.shape()).map_err(refused::<B>)?;
        columns = columns.saturating_add(part.ncols());
    }
    let mut y = Dense::zeros(first.backend(), rows, columns)?;
    let mut at = 0;
    for part in parts {
        map(part).into(y.columns_mut(at..at + part.ncols())?)?;
        at += part.ncols();
    }
    Ok(y)
}
