//! Sparse matrix times dense features: how a row of features is read, what an edge does, how messages are reduced, and the epilogue.

use super::map::map;
use super::operation::{Computation, Fusing, Operation};
use crate::any::{Any, AnyMut, Reals};
use crate::backend::{DenseOps, Spmm};
use crate::element::weighs;
use crate::epilogue::Epilogue;
use crate::error::{refused, same_shape};
use crate::{Dense, Element, Error, Tensor};
use bitgraph_backend::{Backend, Matrix};
use bitgraph_semiring::Scalar;
use std::marker::PhantomData;

/// How a row of features is read.
pub enum Load<B: Tensor> {
    /// Elements of a dense matrix.
    Dense(Any<B>),
}

impl<B: Tensor> Load<B> {
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(x) => x.shape(),
        }
    }
}
impl<B: Tensor> Clone for Load<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Dense(x) => Self::Dense(x.clone()),
        }
    }
}

/// What an entry of the matrix multiplies features by.
pub enum Edge<B: Tensor> {
    /// 1: the matrix is a pattern.
    One,
    /// The matrix's own values.
    Own,
    /// A value for each entry and head: entries in the order of the matrix's CSR form x heads, whether or not it is seen transposed.
    Values(Any<B>),
}
impl<B: Tensor> Clone for Edge<B> {
    fn clone(&self) -> Self {
        match self {
            Self::One => Self::One,
            Self::Own => Self::Own,
            Self::Values(e) => Self::Values(e.clone()),
        }
    }
}
impl<B: Tensor> Edge<B> {
    /// What the entries of a matrix are without further ado.
    pub(crate) fn of(matrix: &Matrix<B>) -> Self {
        if matrix.dtype().is_some() { Self::Own } else { Self::One }
    }
    /// Checks the values against the features, of `columns` columns; the number of heads.
    pub(crate) fn check<T: Element>(&self, operation: &'static str, matrix: &Matrix<B>, columns: usize) -> Result<usize, Error> {
        let found = match self {
            Self::One => return Ok(1),
            Self::Own => matrix.dtype().unwrap_or(T::DTYPE),
            Self::Values(e) => e.dtype(),
        };
        if !weighs::<T>(found) {
            let allowed = format!("{}, {} or {}", T::DTYPE, <T::Sum as Scalar>::DTYPE, <T::Real as Scalar>::DTYPE);
            return Err(Error::Type { operation, operand: "the edge values", other: T::DTYPE, found, allowed });
        }
        let Self::Values(e) = self else { return Ok(1) };
        let (entries, heads) = e.shape();
        same_shape(operation, "the edge values", (matrix.nvals(), heads), (entries, heads))?;
        if heads == 0 || !columns.is_multiple_of(heads) {
            return Err(Error::Heads { operation, columns: columns as u64, heads: heads as u64 });
        }
        Ok(heads)
    }
}

/// How the messages of a row are reduced. A row without entries gives 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// Their sum.
    #[default]
    Sum,
    /// Their sum over their number.
    Mean,
    /// The maximum; a NaN loses against a number.
    Max,
    /// The minimum; a NaN loses against a number.
    Min,
}
impl Reduce {
    /// Whether it is a choice among messages, not a sum.
    #[must_use]
    pub const fn chooses(self) -> bool {
        matches!(self, Self::Max | Self::Min)
    }
}

/// What sums of half-precision features are formed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Accumulation {
    /// The wide type, [`Element::Sum`]: no degree overflows.
    #[default]
    Wide,
    /// The features' own half type, in batches of so many entries: each batch's sum is multiplied by the row scale (the mean's included)
    /// before it is added to the row's total, so that a row whose scaled sum is in range does not overflow. Source: HalfGNN, section 5.2.2.
    Discretised {
        /// Entries of a batch, 1 or more.
        batch: u32,
    },
}

/// How features may be rounded on their way into sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FeaturePrecision {
    /// Not at all.
    #[default]
    Stored,
    /// As tensor cores round `f32`: an element, times its column scale, may be off by 2^-11 of its size or 2^-17 of the largest size in its row
    /// of the features, whichever is more. An infinity or a NaN stays what it is. Allowed, not demanded: a backend takes it where it is faster,
    /// and sums are formed in `f32` all the same. Features of other types are taken as they are.
    Tf32,
}

/// Row `i` of the result is `r(i) * reduce over the entries (i, j) of (e(i, j) * c(j) * x(j))`, then the epilogue. With `own`, every row has
/// one more entry (i, i) of that value.
pub struct SpmmOp<B: Tensor> {
    /// The matrix.
    pub matrix: Matrix<B>,
    /// Whether its transpose is meant.
    pub transposed: bool,
    /// The features, a row for each column of the matrix as seen.
    pub features: Load<B>,
    /// The entries' values.
    pub edge: Edge<B>,
    /// Heads: the columns fall into as many equal blocks, each with edge values of its own; 1 without edge values.
    pub heads: usize,
    /// `r`, of one column.
    pub scale_rows: Option<Reals<B>>,
    /// `c`, of one column, an element for each column of the matrix as seen.
    pub scale_columns: Option<Reals<B>>,
    /// The value of one more entry on the diagonal of every row.
    pub own: Option<f64>,
    /// How messages are reduced.
    pub reduce: Reduce,
    /// What sums are formed in.
    pub accumulation: Accumulation,
    /// How features may be rounded.
    pub precision: FeaturePrecision,
    /// What is done to the elements before they are stored.
    pub epilogue: Epilogue<B>,
}
impl<B: Tensor> Clone for SpmmOp<B> {
    fn clone(&self) -> Self {
        Self {
            matrix: self.matrix.clone(),
            features: self.features.clone(),
            edge: self.edge.clone(),
            scale_rows: self.scale_rows.clone(),
            scale_columns: self.scale_columns.clone(),
            epilogue: self.epilogue.clone(),
            ..*self
        }
    }
}

impl<B: Tensor> SpmmOp<B> {
    /// Whether the sums are of whole numbers: integer features, and every factor of an entry an integer. The row scale, a mean's division and
    /// the epilogue come after the sum, in [`Element::Real`]. Integer features with other factors are summed in `f32`.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let Load::Dense(x) = &self.features;
        let whole_edge = match &self.edge {
            Edge::One => true,
            Edge::Own => self.matrix.dtype().is_none_or(|d| !d.is_float()),
            Edge::Values(e) => !e.dtype().is_float(),
        };
        let whole_own = self.own.is_none_or(|s| s.fract() == 0.0 && s.abs() <= f64::from(i32::MAX));
        !x.dtype().is_float() && whole_edge && whole_own && self.scale_columns.is_none()
    }
    /// Rows and columns of the matrix as seen.
    #[must_use]
    pub fn matrix_shape(&self) -> (usize, usize) {
        let (rows, columns) = self.matrix.shape();
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }
    /// Whether the transpose that is meant is the matrix itself: a pattern that is known to be symmetric.
    fn is_its_transpose(&self) -> bool {
        self.transposed && matches!(self.edge, Edge::One) && self.matrix.has_symmetric_pattern()
    }
}

/// [`spmm`] over features of element type `T`.
pub struct SparseDense<B: Tensor, T: Element> {
    op: SpmmOp<B>,
    element: PhantomData<fn() -> T>,
}

/// Sparse matrix times dense features: row `i` is the sum, over the entries (i, j), of row `j` of `x`, times the entry's value if the matrix
/// has values. O(entries * columns).
///
/// The result of element type `T` is rounded once, from sums in [`Element::Sum`]. A row's NaN and infinities stay in the rows that have an
/// entry for it.
///
/// # Gradients
/// With `y = R (E + s I) C x` (row scale, edge values, own, column scale) and `dy` the gradient before the epilogue:
/// `dx = C (E^T + s I) R dy`, by [`Operation::gradient`]; `de(i, j) = r(i) c(j) dy(i) . x(j)`, by [`sddmm`](super::sddmm) with the same
/// scales. A mean is a sum with `r(i)` over the number of entries. A maximum's gradient goes to the column that gave it:
/// [`Operation::eval_chosen`] and [`Operation::gradient_chosen`].
pub fn spmm<B: Spmm, T: Element>(a: &Matrix<B>, x: &Dense<B, T>) -> Operation<SparseDense<B, T>> {
    Operation(SparseDense::new(SpmmOp {
        matrix: a.clone(),
        transposed: false,
        features: Load::Dense(x.any()),
        edge: Edge::of(a),
        heads: 1,
        scale_rows: None,
        scale_columns: None,
        own: None,
        reduce: Reduce::Sum,
        accumulation: Accumulation::Wide,
        precision: FeaturePrecision::Stored,
        epilogue: Epilogue::default(),
    }))
}

impl<B: Tensor, T: Element> SparseDense<B, T> {
    fn new(op: SpmmOp<B>) -> Self {
        Self { op, element: PhantomData }
    }
}

impl<B: Spmm, T: Element> Operation<SparseDense<B, T>> {
    /// Sees the matrix transposed: nothing is copied. Scales are those of the matrix as seen; edge values stay in the order of the matrix. Without
    /// values, a [symmetric pattern](Matrix::with_symmetric_pattern) is its own transpose, and none is made.
    pub fn transpose(mut self) -> Self {
        self.0.op.transposed = !self.0.op.transposed;
        self
    }
    /// Multiplies every message of row `i` by `d(i)`, of one column.
    pub fn scale_rows(mut self, d: &Dense<B, T::Real>) -> Self {
        self.0.op.scale_rows = Some(Reals::new(d));
        self
    }
    /// Multiplies row `j` of the features by `d(j)`, of one column.
    pub fn scale_columns(mut self, d: &Dense<B, T::Real>) -> Self {
        self.0.op.scale_columns = Some(Reals::new(d));
        self
    }
    /// The values of the entries, in place of the matrix's own: entries x heads, of the type of the features, of their sums or of the scales.
    pub fn edge_values<V: Element>(mut self, e: &Dense<B, V>) -> Self {
        self.0.op.edge = Edge::Values(e.any());
        self.0.op.heads = e.ncols();
        self
    }
    /// One more entry (i, i) of this value in every row: `A + I` in GCN, `1 + epsilon` in GIN. Sums and means of square matrices only.
    pub fn own(mut self, value: f64) -> Self {
        self.0.op.own = Some(value);
        self
    }
    /// How messages are reduced; by their sum otherwise.
    pub fn reduce(mut self, reduce: Reduce) -> Self {
        self.0.op.reduce = reduce;
        self
    }
    /// What sums of half-precision features are formed in; [`Accumulation::Wide`] otherwise.
    pub fn accumulation(mut self, accumulation: Accumulation) -> Self {
        self.0.op.accumulation = accumulation;
        self
    }
    /// How features may be rounded on their way into sums; not at all otherwise. The gradient's operation allows the same.
    pub fn feature_precision(mut self, precision: FeaturePrecision) -> Self {
        self.0.op.precision = precision;
        self
    }
    /// The descriptor that a backend gets.
    #[must_use]
    pub fn descriptor(&self) -> &SpmmOp<B> {
        &self.0.op
    }
    /// Of a maximum or minimum: the result, and for each element the column of the matrix that gave it, the smallest among equals; -1 for a
    /// row without entries.
    ///
    /// # Errors
    /// As [`Operation::into`]; [`Error::Combination`] for a sum; [`Error::Parameter`] for more columns than `i32` holds.
    #[allow(clippy::type_complexity)] // a pair of matrices
    pub fn eval_chosen(self) -> Result<(Dense<B, T::Output>, Dense<B, i32>), B::Error> {
        let (rows, columns) = self.0.check().map_err(refused::<B>)?;
        let op = &self.0.op;
        chooses(op).map_err(refused::<B>)?;
        let mut y = Dense::<B, T::Output>::zeros(op.matrix.backend(), rows, columns)?;
        let mut chosen = Dense::<B, i32>::filled(op.matrix.backend(), rows, columns, -1)?;
        op.matrix.backend().spmm(op, <T::Output as Element>::erase_mut(y.as_mut().open()?), Some(chosen.as_mut().open()?))?;
        Ok((y, chosen))
    }
    /// The gradient of the features from that of the result before the epilogue, for sums and means: an operation of its own.
    ///
    /// # Errors
    /// [`Error::Combination`] for a maximum or minimum; the backend's.
    pub fn gradient<U: Element<Real = T::Real>>(&self, dy: &Dense<B, U>) -> Result<Operation<SparseDense<B, U>>, B::Error>
    where
        B: DenseOps,
    {
        let op = &self.0.op;
        if op.reduce.chooses() {
            let why = "it has to be known which columns were chosen; take eval_chosen and gradient_chosen";
            return Err(refused::<B>(Error::Combination { operation: "spmm gradient", what: "a maximum or minimum", why }));
        }
        let mut scale_columns = op.scale_rows.clone();
        if op.reduce == Reduce::Mean {
            let inverse = inverse_counts::<B, T::Real>(op)?;
            scale_columns = Some(match scale_columns.map(|d| d.any()).and_then(Any::get::<T::Real>) {
                Some(d) => Reals::new(&map(&inverse).multiply(&d).eval()?),
                None => Reals::new(&inverse),
            });
        }
        Ok(Operation(SparseDense::new(SpmmOp {
            transposed: !op.transposed,
            features: Load::Dense(dy.any()),
            scale_rows: op.scale_columns.clone(),
            scale_columns,
            reduce: Reduce::Sum,
            accumulation: Accumulation::Wide,
            epilogue: Epilogue::default(),
            ..op.clone()
        })))
    }
    /// The gradient of the features of a maximum or minimum, from the columns that were chosen and the gradient of the result before the
    /// epilogue. Source: the subgradient that gives all to one of equal messages.
    ///
    /// # Errors
    /// As [`Operation::eval_chosen`].
    pub fn gradient_chosen<U: Element>(&self, chosen: &Dense<B, i32>, dy: &Dense<B, U>) -> Result<Dense<B, T::Output>, B::Error> {
        let shape = self.0.check().map_err(refused::<B>)?;
        let op = &self.0.op;
        chooses(op).map_err(refused::<B>)?;
        let name = "spmm gradient";
        same_shape(name, "the chosen columns", shape, chosen.shape()).map_err(refused::<B>)?;
        same_shape(name, "the gradient of the result", shape, dy.shape()).map_err(refused::<B>)?;
        let mut dx = Dense::<B, T::Output>::zeros(op.matrix.backend(), op.matrix_shape().1, shape.1)?;
        let out = <T::Output as Element>::erase_mut(dx.as_mut().open()?);
        op.matrix.backend().spmm_chosen_backward(op, chosen, &dy.any(), out)?;
        Ok(dx)
    }
}

/// One over the number of entries of each row of the matrix as seen, the entry of [`Operation::own`] included.
fn inverse_counts<B: Spmm, R: crate::Real>(op: &SpmmOp<B>) -> Result<Dense<B, R>, B::Error> {
    let mut inverse = Dense::<B, R>::zeros(op.matrix.backend(), op.matrix_shape().0, 1)?;
    let extra = u32::from(op.own.is_some());
    let transposed = op.transposed && !op.matrix.has_symmetric_pattern();
    op.matrix.backend().inverse_counts(&op.matrix, transposed, extra, R::erase_mut(inverse.as_mut().open()?))?;
    Ok(inverse)
}

fn chooses<B: Tensor>(op: &SpmmOp<B>) -> Result<(), Error> {
    let operation = "spmm";
    if !op.reduce.chooses() {
        return Err(Error::Combination { operation, what: "chosen columns of a sum", why: "a sum chooses none" });
    }
    let columns = op.matrix_shape().1;
    if columns > i32::MAX as usize {
        let found = columns as f64;
        return Err(Error::Parameter {
            operation,
            parameter: "the number of columns",
            found,
            allowed: "below 2^31 where columns are chosen",
        });
    }
    Ok(())
}

impl<B: Spmm, T: Element> Computation for SparseDense<B, T> {
    type Backend = B;
    type Real = T::Real;
    type Output = T::Output;
    const NAME: &'static str = "spmm";

    fn backend(&self) -> &B {
        self.op.matrix.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        let (operation, op) = (Self::NAME, &self.op);
        let (rows, inner) = op.matrix_shape();
        let (found, columns) = op.features.shape();
        same_shape(operation, "the features", (inner, columns), (found, columns))?;
        op.edge.check::<T>(operation, &op.matrix, columns)?;
        let scale =
            |operand, n: usize, d: &Option<Reals<B>>| d.as_ref().map_or(Ok(()), |d| same_shape(operation, operand, (n, 1), d.shape()));
        scale("the row scale", rows, &op.scale_rows)?;
        scale("the column scale", inner, &op.scale_columns)?;
        if op.own.is_some() {
            if op.reduce.chooses() {
                let why = "an entry on the diagonal could not be told from it; put it into the matrix";
                return Err(Error::Combination { operation, what: "own with a maximum or minimum", why });
            }
            same_shape(operation, "the matrix, for own,", (rows, rows), (rows, inner))?;
        }
        if let Accumulation::Discretised { batch } = op.accumulation {
            let half = matches!(T::DTYPE, bitgraph_semiring::DType::F16 | bitgraph_semiring::DType::Bf16);
            if !half || op.reduce.chooses() {
                let why = "it is for sums and means of f16 and bf16";
                return Err(Error::Combination { operation, what: "discretised sums", why });
            }
            if batch == 0 {
                return Err(Error::Parameter { operation, parameter: "the batch", found: 0.0, allowed: "1 or more" });
            }
        }
        op.epilogue.check(operation, (rows, columns))?;
        Ok((rows, columns))
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        let Load::Dense(x) = &self.op.features;
        f("the features", x);
        if let Edge::Values(e) = &self.op.edge {
            f("the edge values", e);
        }
        self.op.scale_rows.iter().for_each(|d| f("the row scale", &d.any()));
        self.op.scale_columns.iter().for_each(|d| f("the column scale", &d.any()));
        self.op.epilogue.operands(f);
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), <B as Backend>::Error> {
        if self.op.is_its_transpose() {
            // The same sums in the same order, over what there is.
            return self.backend().spmm(&SpmmOp { transposed: false, ..self.op.clone() }, y, None);
        }
        self.backend().spmm(&self.op, y, None)
    }
}
impl<B: Spmm, T: Element> Fusing for SparseDense<B, T> {
    fn epilogue(&mut self) -> &mut Epilogue<B> {
        &mut self.op.epilogue
    }
}
