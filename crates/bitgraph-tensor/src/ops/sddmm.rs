//! A value for each entry of a sparse matrix: products sampled at the entries, softmax over the entries of rows, and their gradients.

use super::operation::{Computation, Operation};
use super::spmm::{Edge, Reduce};
use crate::any::{Any, AnyMut, Reals};
use crate::backend::Sddmm;
use crate::epilogue::Activation;
use crate::error::{refused, same_shape};
use crate::{Dense, Element, Error, Tensor};
use bitgraph_backend::{Backend, Matrix};
use std::marker::PhantomData;

/// What is formed of row `i` of the left and row `j` of the right features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// The dot product of each head's block of columns: a value for each head.
    Dot,
    /// The sum, column by column: a value for each column. With one column a head it is the additive score of GAT.
    Add,
    /// The product, column by column.
    Multiply,
}

/// Entry `(i, j)` gets `f(factor * r(i) * e(i, j) * c(j) * (left(i) paired with right(j)))`.
pub struct SddmmOp<B: Tensor> {
    /// The matrix, whose entries are sampled.
    pub matrix: Matrix<B>,
    /// What is formed of two rows.
    pub pairing: Pairing,
    /// Heads of a dot product; the columns for the other pairings.
    pub heads: usize,
    /// A row for each row of the matrix.
    pub left: Any<B>,
    /// A row for each column of the matrix.
    pub right: Any<B>,
    /// The entries' values, with one column or one for each of the result.
    pub edge: Edge<B>,
    /// `r`, of one column.
    pub scale_rows: Option<Reals<B>>,
    /// `c`, of one column, an element for each column of the matrix.
    pub scale_columns: Option<Reals<B>>,
    /// A factor of all.
    pub factor: f64,
    /// `f`; nothing without.
    pub activation: Option<Activation>,
}

/// [`sddmm`] over features of element type `T`.
pub struct Sampled<B: Tensor, T: Element> {
    op: SddmmOp<B>,
    element: PhantomData<fn() -> T>,
}

/// The dot products of rows of `x` with rows of `y`, at the entries of the pattern of `a`: entries x heads, in the order of the matrix's CSR
/// form. The matrix's own values take no part; [`Operation::weighted`] multiplies by them. O(entries * columns).
///
/// A NaN or an infinity stays in the entries of its row or column; among their heads a backend may spread it.
///
/// # Gradients
/// Of a dot product: `dx = ` [`spmm`](super::spmm)`(a, y)` with edge values `de`, `dy` the same of the transposed matrix over `x`. Of a sum:
/// [`edge_reduce`] of `de`, and the same of the transposed matrix.
pub fn sddmm<B: Sddmm, T: Element>(a: &Matrix<B>, x: &Dense<B, T>, y: &Dense<B, T>) -> Operation<Sampled<B, T>> {
    Operation(Sampled {
        op: SddmmOp {
            matrix: a.clone(),
            pairing: Pairing::Dot,
            heads: 1,
            left: x.any(),
            right: y.any(),
            edge: Edge::One,
            scale_rows: None,
            scale_columns: None,
            factor: 1.0,
            activation: None,
        },
        element: PhantomData,
    })
}

impl<B: Sddmm, T: Element> Operation<Sampled<B, T>> {
    /// What is formed of two rows.
    pub fn pairing(mut self, pairing: Pairing) -> Self {
        self.0.op.pairing = pairing;
        if pairing != Pairing::Dot {
            self.0.op.heads = self.0.op.left.shape().1;
        }
        self
    }
    /// Cuts the columns into equal blocks, a dot product for each.
    pub fn heads(mut self, heads: usize) -> Self {
        self.0.op.heads = heads;
        self
    }
    /// `x(i) + y(j)`, column by column.
    pub fn u_add_v(self) -> Self {
        self.pairing(Pairing::Add)
    }
    /// Multiplies row `i` of `x` by `d(i)`, of one column.
    pub fn scale_rows(mut self, d: &Dense<B, T::Real>) -> Self {
        self.0.op.scale_rows = Some(Reals::new(d));
        self
    }
    /// Multiplies row `j` of `y` by `d(j)`, of one column.
    pub fn scale_columns(mut self, d: &Dense<B, T::Real>) -> Self {
        self.0.op.scale_columns = Some(Reals::new(d));
        self
    }
    /// Multiplies by the matrix's own values, if it has some.
    pub fn weighted(mut self) -> Self {
        self.0.op.edge = Edge::of(&self.0.op.matrix);
        self
    }
    /// Multiplies by values of the entries: of one column, or of one for each of the result.
    pub fn edge_values<V: Element>(mut self, e: &Dense<B, V>) -> Self {
        self.0.op.edge = Edge::Values(e.any());
        self
    }
    /// Multiplies by a number: `1 / sqrt(d)` of scaled dot products.
    pub fn factor(mut self, factor: f64) -> Self {
        self.0.op.factor *= factor;
        self
    }
    /// An activation of the result.
    pub fn activation(mut self, f: Activation) -> Self {
        self.0.op.activation = Some(f);
        self
    }
    /// The descriptor that a backend gets.
    #[must_use]
    pub fn descriptor(&self) -> &SddmmOp<B> {
        &self.0.op
    }
}

impl<B: Sddmm, T: Element> Computation for Sampled<B, T> {
    type Backend = B;
    type Real = T::Real;
    type Output = T::Output;
    const NAME: &'static str = "sddmm";

    fn backend(&self) -> &B {
        self.op.matrix.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        let (operation, op) = (Self::NAME, &self.op);
        let ((rows, columns), width) = (op.matrix.shape(), op.left.shape().1);
        same_shape(operation, "the left features", (rows, width), op.left.shape())?;
        same_shape(operation, "the right features", (columns, width), op.right.shape())?;
        let whole = if op.pairing == Pairing::Dot { op.heads > 0 && width % op.heads == 0 } else { op.heads == width };
        if !whole {
            return Err(Error::Heads { operation, columns: width as u64, heads: op.heads as u64 });
        }
        let heads = op.edge.check::<T>(operation, &op.matrix, op.heads)?;
        if heads != 1 && heads != op.heads {
            return Err(Error::Heads { operation, columns: op.heads as u64, heads: heads as u64 });
        }
        let scale =
            |operand, n: usize, d: &Option<Reals<B>>| d.as_ref().map_or(Ok(()), |d| same_shape(operation, operand, (n, 1), d.shape()));
        scale("the row scale", rows, &op.scale_rows)?;
        scale("the column scale", columns, &op.scale_columns)?;
        op.activation.map_or(Ok(()), |f| f.check(operation))?;
        Ok((op.matrix.nvals(), op.heads))
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        f("the left features", &self.op.left);
        f("the right features", &self.op.right);
        if let Edge::Values(e) = &self.op.edge {
            f("the edge values", e);
        }
        self.op.scale_rows.iter().for_each(|d| f("the row scale", &d.any()));
        self.op.scale_columns.iter().for_each(|d| f("the column scale", &d.any()));
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), <B as Backend>::Error> {
        self.backend().sddmm(&self.op, y)
    }
}

/// The softmax of scores over the entries of each row, head by head: `exp(s(i, j) - max) / sum`. Scores and result: entries x heads. The
/// maximum is subtracted first, so that no exponential overflows. O(entries * heads).
///
/// # Errors
/// [`Error::Shape`] if there are not as many rows of scores as entries; the backend's.
pub fn edge_softmax<B: Sddmm, T: Element>(a: &Matrix<B>, scores: &Dense<B, T>) -> Result<Dense<B, T::Output>, B::Error> {
    let shape = edge_shape("edge_softmax", "the scores", a, scores).map_err(refused::<B>)?;
    let mut p = Dense::<B, T::Output>::zeros(a.backend(), shape.0, shape.1)?;
    a.backend().edge_softmax(a, &scores.any(), <T::Output as Element>::erase_mut(p.as_mut().open()?))?;
    Ok(p)
}

/// The gradient of the scores from the softmax `p` and the gradient of that: `ds = p (dp - sum over the row of p dp)`.
///
/// # Errors
/// As [`edge_softmax`].
pub fn edge_softmax_backward<B: Sddmm, T: Element>(
    a: &Matrix<B>,
    p: &Dense<B, T>,
    dp: &Dense<B, T>,
) -> Result<Dense<B, T::Output>, B::Error> {
    let name = "edge_softmax_backward";
    let shape = edge_shape(name, "the softmax", a, p).map_err(refused::<B>)?;
    same_shape(name, "the gradient of the softmax", shape, dp.shape()).map_err(refused::<B>)?;
    let mut ds = Dense::<B, T::Output>::zeros(a.backend(), shape.0, shape.1)?;
    a.backend().edge_softmax_backward(a, &p.any(), &dp.any(), <T::Output as Element>::erase_mut(ds.as_mut().open()?))?;
    Ok(ds)
}

fn edge_shape<B: Tensor, T: Element>(
    operation: &'static str,
    operand: &'static str,
    a: &Matrix<B>,
    e: &Dense<B, T>,
) -> Result<(usize, usize), Error> {
    same_shape(operation, operand, (a.nvals(), e.ncols()), e.shape())?;
    Ok(e.shape())
}

/// Row `i` of the result is the reduction of the edge values of the entries of row `i`.
pub struct EdgeReduceOp<B: Tensor> {
    /// The matrix.
    pub matrix: Matrix<B>,
    /// Whether the entries of columns are reduced.
    pub transposed: bool,
    /// The values: entries x columns.
    pub values: Any<B>,
    /// How.
    pub reduce: Reduce,
}

/// The values of the entries of each row reduced: rows x columns of `e`. With `transposed` it is the entries of each column of the matrix.
///
/// # Errors
/// [`Error::Shape`] if there are not as many rows of values as entries; the backend's.
pub fn edge_reduce<B: Sddmm, T: Element>(
    a: &Matrix<B>,
    transposed: bool,
    e: &Dense<B, T>,
    reduce: Reduce,
) -> Result<Dense<B, T::Output>, B::Error> {
    let (_, columns) = edge_shape("edge_reduce", "the edge values", a, e).map_err(refused::<B>)?;
    let rows = if transposed { a.shape().1 } else { a.shape().0 };
    let op = EdgeReduceOp { matrix: a.clone(), transposed, values: e.any(), reduce };
    let mut y = Dense::<B, T::Output>::zeros(a.backend(), rows, columns)?;
    a.backend().edge_reduce(&op, <T::Output as Element>::erase_mut(y.as_mut().open()?))?;
    Ok(y)
}
