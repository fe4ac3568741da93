//! Attention over the entries of a sparse matrix: scores, softmax over the entries of a row, and the weighted sum of values, in one pass.

use super::operation::{Computation, Fusing, Operation};
use crate::any::{Any, AnyMut, Reals};
use crate::backend::Attend;
use crate::element::weighs;
use crate::epilogue::{Activation, Dropout, Epilogue};
use crate::error::{refused, same_shape};
use crate::{Dense, Element, Error, Tensor};
use bitgraph_backend::{Backend, Matrix};
use std::marker::PhantomData;

/// The score of entry (i, j) and head h. Blocks are the head's columns.
pub enum Score<B: Tensor> {
    /// `leaky(left(i, h) + right(j, h))`, each with a column for each head: GAT. Source: Veličković et al., 2018.
    Additive {
        /// A row for each row of the matrix.
        left: Reals<B>,
        /// A row for each column of the matrix.
        right: Reals<B>,
        /// The slope of LeakyReLU.
        slope: f64,
    },
    /// `vector . leaky(left(i) + right(j))` over the head's block: GATv2. Source: Brody, Alon, Yahav, 2022.
    AdditiveV2 {
        /// A row for each row of the matrix.
        left: Any<B>,
        /// A row for each column of the matrix, of the same type.
        right: Any<B>,
        /// Of one row, and the width of `left`.
        vector: Reals<B>,
        /// The slope of LeakyReLU.
        slope: f64,
    },
    /// `factor * query(i) . key(j)` over the head's block: dot-product attention.
    Dot {
        /// A row for each row of the matrix.
        query: Any<B>,
        /// A row for each column of the matrix, of the same type.
        key: Any<B>,
        /// The factor, `1 / sqrt(width of a head)`.
        factor: f64,
    },
    /// `beta * cos(query(i), key(j))` over the head's block, where a vector's norm is taken as 1e-12 or more: AGNN. Source: Thekumparampil et
    /// al., 2018.
    Cosine {
        /// A row for each row of the matrix.
        query: Any<B>,
        /// A row for each column of the matrix, of the same type.
        key: Any<B>,
        /// Of 1 x 1.
        beta: Reals<B>,
    },
    /// Scores that are there: entries x heads.
    Edge(Any<B>),
}

/// The norm of a vector in [`Score::Cosine`] is this or more.
pub const NORM_FLOOR: f64 = 1e-12;

impl<B: Tensor> Clone for Score<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Additive { left, right, slope } => Self::Additive { left: left.clone(), right: right.clone(), slope: *slope },
            Self::AdditiveV2 { left, right, vector, slope } => {
                Self::AdditiveV2 { left: left.clone(), right: right.clone(), vector: vector.clone(), slope: *slope }
            }
            Self::Dot { query, key, factor } => Self::Dot { query: query.clone(), key: key.clone(), factor: *factor },
            Self::Cosine { query, key, beta } => Self::Cosine { query: query.clone(), key: key.clone(), beta: beta.clone() },
            Self::Edge(scores) => Self::Edge(scores.clone()),
        }
    }
}

/// `y(i) = sum over the entries (i, j) of p(i, j) values(j)`, head by head, where `p` is the softmax of the scores over the entries of row
/// `i`, perhaps with dropout, then the epilogue. A row without entries gives 0.
pub struct AttentionOp<B: Tensor> {
    /// The matrix; its own values take no part.
    pub matrix: Matrix<B>,
    /// Heads: the columns of the values fall into as many equal blocks.
    pub heads: usize,
    /// The scores.
    pub score: Score<B>,
    /// A row for each column of the matrix.
    pub values: Any<B>,
    /// Dropout of the softmax, by the counter of the entry's position in CSR order and the head.
    pub dropout: Option<Dropout>,
    /// What is done to the elements before they are stored.
    pub epilogue: Epilogue<B>,
}

/// Where the gradients of attention go; those that are absent are not computed. Each is of the shape and type of its operand.
pub struct AttentionGradients<'a, B: Tensor> {
    /// Of the values.
    pub values: Option<AnyMut<'a, B>>,
    /// Of `left`, `query`, or the scores of entries.
    pub first: Option<AnyMut<'a, B>>,
    /// Of `right` or `key`.
    pub second: Option<AnyMut<'a, B>>,
    /// Of the vector of [`Score::AdditiveV2`] or the beta of [`Score::Cosine`].
    pub parameter: Option<AnyMut<'a, B>>,
}

/// The gradients of attention. Those that the score has no operand for are absent.
pub struct AttentionGradient<B: Tensor, T: Element> {
    /// Of the values.
    pub values: Dense<B, T>,
    /// Of `left`, `query`, or the scores of entries.
    pub first: Any<B>,
    /// Of `right` or `key`.
    pub second: Option<Any<B>>,
    /// Of the vector of GATv2 or the beta of AGNN.
    pub parameter: Option<Dense<B, T::Real>>,
}

/// [`attention`] over values of element type `T`.
pub struct Attention<B: Tensor, T: Element> {
    op: AttentionOp<B>,
    element: PhantomData<fn() -> T>,
}

/// Attention with scores of any kind; [`gat`], [`gat_v2`], [`agnn`] and [`dot_attention`] make the usual ones. No message and no score is
/// stored. O(entries * columns).
///
/// Scores, sums and what follows are of [`Element::Real`], and the result is rounded once. With additive scores over halves a backend may round
/// the weights of the values to halves, too, where it divides by the sum of the rounded ones: an element is then off by up to two units of the
/// half type of the sum of its terms' sizes. Its backward pass may spread a NaN or an infinity of `dy` over the gradients of up to eight
/// neighbouring rows of the values; the forward pass keeps both in the rows that have an entry for them.
///
/// # Gradients
/// [`Operation::eval_for_training`] keeps what [`Operation::gradient_of`] needs. With `p` the softmax, `k` the factor of dropout and `dy` the
/// gradient before the epilogue: `dvalues(j) = sum over i of p k dy(i)`; `dp = k dy(i) . values(j)`;
/// `ds(i, j) = p (dp - sum over the row of p dp)`. From there:
/// * additive: `dz = ds leaky'(z)`, `dleft(i)` the sum of `dz` over the row, `dright(j)` over the column;
/// * GATv2: with `z = left(i) + right(j)`, `dz = ds vector leaky'(z)`, summed likewise; `dvector` the sum of `ds leaky(z)`;
/// * dot product: `dquery(i) = factor` times the sum of `ds key(j)`, `dkey(j)` likewise of `ds query(i)`;
/// * cosine: with `q`, `k` of norm 1, `c = q . k`: `dquery(i) = beta / |query|` times the sum of `ds (k - c q)`, `dkey` likewise; `dbeta` the
///   sum of `ds c`. Where a norm is below the floor, that vector counts as `query / floor`, and the term with `c` is absent.
///
/// # Errors of the operation
/// [`Error::Shape`], [`Error::Heads`], [`Error::Type`] for score operands of another type than the values.
pub fn attention<B: Attend, T: Element>(a: &Matrix<B>, score: Score<B>, heads: usize, values: &Dense<B, T>) -> Operation<Attention<B, T>> {
    let op = AttentionOp { matrix: a.clone(), heads, score, values: values.any(), dropout: None, epilogue: Epilogue::default() };
    Operation(Attention { op, element: PhantomData })
}

/// GAT: `softmax of leaky(left(i) + right(j))`, `left` and `right` with a column for each head, which are what the features give with the two
/// halves of the attention vector.
pub fn gat<B: Attend, T: Element>(
    a: &Matrix<B>,
    left: &Dense<B, T::Real>,
    right: &Dense<B, T::Real>,
    values: &Dense<B, T>,
    slope: f64,
) -> Operation<Attention<B, T>> {
    attention(a, Score::Additive { left: Reals::new(left), right: Reals::new(right), slope }, left.ncols(), values)
}

/// GATv2: `softmax of vector . leaky(left(i) + right(j))`; the right features are the values.
pub fn gat_v2<B: Attend, T: Element>(
    a: &Matrix<B>,
    left: &Dense<B, T>,
    right: &Dense<B, T>,
    vector: &Dense<B, T::Real>,
    heads: usize,
    slope: f64,
) -> Operation<Attention<B, T>> {
    let score = Score::AdditiveV2 { left: left.any(), right: right.any(), vector: Reals::new(vector), slope };
    attention(a, score, heads, right)
}

/// AGNN: `softmax of beta cos(x(i), x(j))`, one head; the features are the values. The matrix is square, and `beta` of 1 x 1.
pub fn agnn<B: Attend, T: Element>(a: &Matrix<B>, x: &Dense<B, T>, beta: &Dense<B, T::Real>) -> Operation<Attention<B, T>> {
    attention(a, Score::Cosine { query: x.any(), key: x.any(), beta: Reals::new(beta) }, 1, x)
}

/// Dot-product attention: `softmax of query(i) . key(j) / sqrt(width of a head)`.
pub fn dot_attention<B: Attend, T: Element>(
    a: &Matrix<B>,
    query: &Dense<B, T>,
    key: &Dense<B, T>,
    values: &Dense<B, T>,
    heads: usize,
) -> Operation<Attention<B, T>> {
    let width = query.ncols() / heads.max(1);
    let factor = 1.0 / (width.max(1) as f64).sqrt();
    attention(a, Score::Dot { query: query.any(), key: key.any(), factor }, heads, values)
}

impl<B: Attend, T: Element> Operation<Attention<B, T>> {
    /// Drops elements of the softmax at random.
    pub fn attention_dropout(mut self, dropout: Dropout) -> Self {
        self.0.op.dropout = Some(dropout);
        self
    }
    /// The descriptor that a backend gets.
    #[must_use]
    pub fn descriptor(&self) -> &AttentionOp<B> {
        &self.0.op
    }
    /// The result, and the logarithm of the sum of the exponentials of the scores, rows x heads, which the backward pass needs.
    ///
    /// # Errors
    /// As [`Operation::into`].
    #[allow(clippy::type_complexity)]
    pub fn eval_for_training(&self) -> Result<(Dense<B, T::Output>, Dense<B, T::Real>), B::Error> {
        let (rows, columns) = self.0.check().map_err(refused::<B>)?;
        let backend = self.0.backend();
        let (mut y, mut lse) =
            (Dense::<B, T::Output>::unwritten(backend, rows, columns)?, Dense::unwritten(backend, rows, self.0.op.heads)?);
        let out = <T::Output as Element>::erase_mut(y.as_mut().open()?);
        backend.attention(&self.0.op, out, Some(<T::Real as Element>::erase_mut(lse.as_mut().open()?)))?;
        Ok((y, lse))
    }
    /// All gradients, from what [`Operation::eval_for_training`] left and the gradient of the result before the epilogue.
    ///
    /// # Errors
    /// As [`Operation::into`]; [`Error::Shape`].
    pub fn gradient_of<U: Element<Real = T::Real>>(
        &self,
        lse: &Dense<B, T::Real>,
        dy: &Dense<B, U>,
    ) -> Result<AttentionGradient<B, T>, B::Error> {
        self.gradients(None, lse, dy)
    }
    /// As [`Operation::gradient_of`], from the result that [`Operation::eval_for_training`] left, too. Where there is no epilogue, the
    /// backward passes on CUDA need not form it again; else it makes no difference.
    ///
    /// # Errors
    /// As [`Operation::gradient_of`].
    pub fn gradient_from<U: Element<Real = T::Real>>(
        &self,
        result: &Dense<B, T::Output>,
        lse: &Dense<B, T::Real>,
        dy: &Dense<B, U>,
    ) -> Result<AttentionGradient<B, T>, B::Error> {
        let shape = self.0.check().map_err(refused::<B>)?;
        same_shape("attention gradient", "the result", shape, result.shape()).map_err(refused::<B>)?;
        // With an epilogue it is not what the softmax and the values gave.
        let result = self.0.op.epilogue.is_empty().then(|| result.any());
        self.gradients(result.as_ref(), lse, dy)
    }
    fn gradients<U: Element<Real = T::Real>>(
        &self,
        result: Option<&Any<B>>,
        lse: &Dense<B, T::Real>,
        dy: &Dense<B, U>,
    ) -> Result<AttentionGradient<B, T>, B::Error> {
        let shape = self.0.check().map_err(refused::<B>)?;
        let (name, op, backend) = ("attention gradient", &self.0.op, self.0.backend());
        same_shape(name, "the gradient of the result", shape, dy.shape()).map_err(refused::<B>)?;
        same_shape(name, "the sums of the softmax", (shape.0, op.heads), lse.shape()).map_err(refused::<B>)?;
        let (first, second, parameter) = match &op.score {
            Score::Additive { left, right, .. } => (left.any(), Some(right.any()), None),
            Score::AdditiveV2 { left, right, vector, .. } => (left.clone(), Some(right.clone()), Some(vector)),
            Score::Dot { query, key, .. } => (query.clone(), Some(key.clone()), None),
            Score::Cosine { query, key, beta } => (query.clone(), Some(key.clone()), Some(beta)),
            Score::Edge(scores) => (scores.clone(), None, None),
        };
        let new = |operand: &Any<B>| crate::with_dense!(operand, d => like(d));
        let mut values = Dense::<B, T>::unwritten(backend, op.values.shape().0, shape.1)?;
        let mut d_first = new(&first)?;
        let mut d_second = second.as_ref().map(new).transpose()?;
        let mut d_parameter = parameter.map(|d| Dense::<B, T::Real>::unwritten(backend, d.shape().0, d.shape().1)).transpose()?;
        backend.attention_backward(
            op,
            (&Reals::new(lse), result),
            &dy.any(),
            AttentionGradients {
                values: Some(T::erase_mut(values.as_mut().open()?)),
                first: Some(open(&mut d_first)?),
                second: d_second.as_mut().map(open).transpose()?,
                parameter: d_parameter.as_mut().map(|d| d.as_mut().open().map(<T::Real as Element>::erase_mut)).transpose()?,
            },
        )?;
        Ok(AttentionGradient { values, first: d_first, second: d_second, parameter: d_parameter })
    }
}

fn like<B: Tensor, U: Element>(d: &Dense<B, U>) -> Result<Any<B>, B::Error> {
    Ok(U::erase(Dense::<B, U>::unwritten(d.backend(), d.nrows(), d.ncols())?))
}

fn open<B: Tensor>(any: &mut Any<B>) -> Result<AnyMut<'_, B>, B::Error> {
    fn typed<B: Tensor, U: Element>(d: &mut Dense<B, U>) -> Result<AnyMut<'_, B>, B::Error> {
        d.as_mut().open().map(U::erase_mut)
    }
    crate::with_dense!(any, d => typed(d))
}

impl<B: Attend, T: Element> Computation for Attention<B, T> {
    type Backend = B;
    type Real = T::Real;
    type Output = T::Output;
    const NAME: &'static str = "attention";

    fn backend(&self) -> &B {
        self.op.matrix.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        let (operation, op) = (Self::NAME, &self.op);
        let ((rows, columns), (found, width)) = (op.matrix.shape(), op.values.shape());
        same_shape(operation, "the values", (columns, width), (found, width))?;
        let blocks = |width: usize| match op.heads > 0 && width.is_multiple_of(op.heads) {
            true => Ok(()),
            false => Err(Error::Heads { operation, columns: width as u64, heads: op.heads as u64 }),
        };
        blocks(width)?;
        let pair = |names: [&'static str; 2], left: &Any<B>, right: &Any<B>| {
            let width = left.shape().1;
            blocks(width)?;
            same_shape(operation, names[0], (rows, width), left.shape())?;
            same_shape(operation, names[1], (columns, width), right.shape())?;
            for (operand, found) in [(names[0], left.dtype()), (names[1], right.dtype())] {
                if found != T::DTYPE {
                    return Err(Error::Type { operation, operand, other: T::DTYPE, found, allowed: T::DTYPE.to_string() });
                }
            }
            Ok(())
        };
        match &op.score {
            Score::Additive { left, right, slope } => {
                same_shape(operation, "the left scores", (rows, op.heads), left.shape())?;
                same_shape(operation, "the right scores", (columns, op.heads), right.shape())?;
                Activation::LeakyRelu { slope: *slope }.check(operation)?;
            }
            Score::AdditiveV2 { left, right, vector, slope } => {
                pair(["the left features", "the right features"], left, right)?;
                same_shape(operation, "the attention vector", (1, left.shape().1), vector.shape())?;
                Activation::LeakyRelu { slope: *slope }.check(operation)?;
            }
            Score::Dot { query, key, .. } => pair(["the queries", "the keys"], query, key)?,
            Score::Cosine { query, key, beta } => {
                pair(["the queries", "the keys"], query, key)?;
                same_shape(operation, "beta", (1, 1), beta.shape())?;
            }
            Score::Edge(scores) => {
                same_shape(operation, "the scores", (op.matrix.nvals(), op.heads), scores.shape())?;
                if !weighs::<T>(scores.dtype()) {
                    let allowed = format!("{} or {}", T::DTYPE, <T::Real as bitgraph_semiring::Scalar>::DTYPE);
                    return Err(Error::Type { operation, operand: "the scores", other: T::DTYPE, found: scores.dtype(), allowed });
                }
            }
        }
        op.dropout.map_or(Ok(()), |d| d.check(operation))?;
        op.epilogue.check(operation, (rows, width))?;
        Ok((rows, width))
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        f("the values", &self.op.values);
        match &self.op.score {
            Score::Additive { left, right, .. } => {
                f("the left scores", &left.any());
                f("the right scores", &right.any());
            }
            Score::AdditiveV2 { left, right, vector, .. } => {
                f("the left features", left);
                f("the right features", right);
                f("the attention vector", &vector.any());
            }
            Score::Dot { query, key, .. } => {
                f("the queries", query);
                f("the keys", key);
            }
            Score::Cosine { query, key, beta } => {
                f("the queries", query);
                f("the keys", key);
                f("beta", &beta.any());
            }
            Score::Edge(scores) => f("the scores", scores),
        }
        self.op.epilogue.operands(f);
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), <B as Backend>::Error> {
        self.backend().attention(&self.op, y, None)
    }
}
impl<B: Attend, T: Element> Fusing for Attention<B, T> {
    fn epilogue(&mut self) -> &mut Epilogue<B> {
        &mut self.op.epilogue
    }
}
