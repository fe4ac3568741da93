//! Sparse matrix of zeros and ones times features of few bits.

use super::bit_result::{BitComputation, filled, fits};
use super::operation::{Computation, Fusing, Operation};
use super::spmm::{Accumulation, Edge, FeaturePrecision, Load, Reduce, SpmmOp};
use crate::any::{Any, AnyMut, Reals};
use crate::bits::{BitOperand, BitOut, PlaneSteps, Planes, SignScales, Signs, width};
use crate::epilogue::{Epilogue, Step};
use crate::error::{refused, same_shape};
use crate::{Bits, Dense, Error, Tensor};
use bitgraph_backend::Matrix;
use bitgraph_bittensor::{BitLayout, Packing, Rounding, TileShape};

/// How the zeros and ones of an adjacency matrix meet signs, of which a bit of 0 is -1 (BitGNN, section 3.2.2). Over the entries of a row,
/// with `a` its ones and `b` the bits of a column of the features, all three give the same number; they differ in what they cost a kernel.
/// A backend may take another one than it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reconcile {
    /// The paper's first: +1 or -1 is added for each one of `a`, by its bit of `b`.
    Branch,
    /// The paper's second: `popc(a & b) - popc(a & !b)`.
    Difference,
    /// The paper's third: `2 popc(a & b) - popc(a)`, where `popc(a)` is the row's number of entries.
    #[default]
    Count,
}

impl Reconcile {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Branch, Self::Difference, Self::Count];

    /// The name in plans and in files of models.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Difference => "difference",
            Self::Count => "count",
        }
    }
}

/// Row `i` of the result is `r(i)` times the sum, over the entries (i, j), of `c(j)` times the values of row `j` of the features, then the
/// epilogue. With `own`, every row has one more entry (i, i).
///
/// Signs may have a scale for each row, and planes a step for each row, both of which belong to the sum; scales of columns are the epilogue's
/// first step.
pub struct BitSpmmOp<B: Tensor> {
    /// The matrix, a pattern.
    pub matrix: Matrix<B>,
    /// Whether its transpose is meant.
    pub transposed: bool,
    /// The features, a row for each column of the matrix as seen; bits are packed along rows.
    pub features: BitOperand<B>,
    /// `r`, of one column.
    pub scale_rows: Option<Reals<B>>,
    /// `c`, of one column, an element for each column of the matrix as seen.
    pub scale_columns: Option<Reals<B>>,
    /// Whether every row has one more entry, on the diagonal.
    pub own: bool,
    /// How 0/1 meets +-1.
    pub reconcile: Reconcile,
    /// What is done to the elements before they are stored.
    pub epilogue: Epilogue<B>,
}

impl<B: Tensor> BitSpmmOp<B> {
    /// Rows and columns of the matrix as seen.
    #[must_use]
    pub fn matrix_shape(&self) -> (usize, usize) {
        let (rows, columns) = self.matrix.shape();
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }
    /// The same sums of values: of these features in the place of the bits, and with this epilogue.
    #[must_use]
    pub fn over_values(&self, features: Any<B>, epilogue: Epilogue<B>) -> SpmmOp<B> {
        SpmmOp {
            matrix: self.matrix.clone(),
            transposed: self.transposed,
            features: Load::Dense(features),
            edge: Edge::One,
            heads: 1,
            scale_rows: self.scale_rows.clone(),
            scale_columns: self.scale_columns.clone(),
            own: self.own.then_some(1.0),
            reduce: Reduce::Sum,
            accumulation: Accumulation::Wide,
            precision: FeaturePrecision::Stored,
            epilogue,
        }
    }
    /// Whether sums are counts of bits, to which steps and scales are applied afterwards: the features are bits, and nothing but the row of
    /// the result and the column varies.
    #[must_use]
    pub fn is_counting(&self) -> bool {
        let varies = match &self.features {
            BitOperand::Dense(_) => true,
            BitOperand::Signs(x) => matches!(x.scales(), SignScales::Rows(_)),
            BitOperand::Planes(x) => matches!(x.steps(), PlaneSteps::Rows { .. }),
        };
        !varies && self.scale_columns.is_none()
    }
    /// Whether results are whole numbers, stored as they are: they are formed exactly, and wrap as `i32` where integers are stored.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_counting() && self.features.is_whole() && self.scale_rows.is_none() && self.epilogue.is_empty()
    }
}

/// [`bit_spmm`].
pub struct BitSpmm<B: Tensor> {
    op: BitSpmmOp<B>,
}

/// A pattern times features that are signs, planes or dense floats: row `i` is the sum, over the entries (i, j), of the values of row `j` of
/// `x`, scales and steps included. O(entries * columns / 32 * planes) for bits.
///
/// Sums of bits are exact at every degree below 2^31. With dense features, scales of columns, or scales or steps for each row of the
/// features, sums are formed in `f32`.
///
/// [`Operation::eval`] gives `f32`, [`Operation::eval_as`] any type (`i32` and `i16` counts), [`Operation::eval_signs`],
/// [`Operation::eval_planes`] and [`Operation::eval_counts`] bits.
pub fn bit_spmm<B: Bits>(a: &Matrix<B>, x: impl Into<BitOperand<B>>) -> Operation<BitSpmm<B>> {
    let (mut features, mut epilogue) = (x.into(), Epilogue::default());
    if let BitOperand::Signs(x) = &mut features
        && let SignScales::Columns(d) = x.scales()
    {
        epilogue.0.push(Step::ScaleColumns(Reals::new(d)));
        *x = x.clone().without_scales();
    }
    Operation(BitSpmm {
        op: BitSpmmOp {
            matrix: a.clone(),
            transposed: false,
            features,
            scale_rows: None,
            scale_columns: None,
            own: false,
            reconcile: Reconcile::default(),
            epilogue,
        },
    })
}

impl<B: Bits> Operation<BitSpmm<B>> {
    /// Sees the matrix transposed: nothing is copied. Scales are those of the matrix as seen.
    pub fn transpose(mut self) -> Self {
        self.0.op.transposed = !self.0.op.transposed;
        self
    }
    /// Multiplies row `i` by `d(i)`, of one column, before the epilogue.
    pub fn scale_rows(mut self, d: &Dense<B, f32>) -> Self {
        self.0.op.scale_rows = Some(Reals::new(d));
        self
    }
    /// Multiplies row `j` of the features by `d(j)`, of one column. Sums are then of floats, not counts.
    pub fn scale_columns(mut self, d: &Dense<B, f32>) -> Self {
        self.0.op.scale_columns = Some(Reals::new(d));
        self
    }
    /// One more entry (i, i) in every row: `A + I`. Square matrices only.
    pub fn own(mut self) -> Self {
        self.0.op.own = true;
        self
    }
    /// How 0/1 meets +-1; [`Reconcile::Count`] otherwise.
    pub fn reconcile(mut self, how: Reconcile) -> Self {
        self.0.op.reconcile = how;
        self
    }
    /// The descriptor that a backend gets.
    #[must_use]
    pub fn descriptor(&self) -> &BitSpmmOp<B> {
        &self.0.op
    }
    /// The sums of signs as they are counted: codes of `bits` bits, the number of +1 among the messages of each row, which stand for the sums
    /// exactly by a step for each row, `2 (count - messages / 2)`. Packed along rows.
    ///
    /// # Errors
    /// As [`Operation::into`]; [`Error::Combination`] for features other than signs without scales, for scales and for steps;
    /// [`Error::Bits`] for a width outside 1 to 16; [`Error::Parameter`] for a row of more messages than codes of so many bits can count.
    pub fn eval_counts(self, bits: u32) -> Result<Planes<B>, B::Error> {
        width(bits).map_err(refused::<B>)?;
        let shape = self.0.check().map_err(refused::<B>)?;
        self.0.op.counts().map_err(refused::<B>)?;
        let (op, backend) = (&self.0.op, self.0.op.matrix.backend());
        let (words, layout) = filled(backend, shape, bits, |y| backend.bit_spmm(op, BitOut::Counts(y)))?;
        Planes::from_raw(words, layout, bits, Rounding::Nearest, op.count_steps()?).map_err(refused::<B>)
    }
    /// As [`Operation::eval_counts`], to planes that are there, whose steps are replaced.
    ///
    /// # Errors
    /// As [`Operation::eval_counts`] and [`Operation::into_signs`].
    pub fn into_counts(self, y: &mut Planes<B>) -> Result<(), B::Error> {
        fits(&self.0, y.shape(), y.layout(), y.words()).map_err(refused::<B>)?;
        let op = &self.0.op;
        op.counts().map_err(refused::<B>)?;
        let found = op.count_steps()?;
        let (codes, steps) = y.open()?;
        op.matrix.backend().bit_spmm(op, BitOut::Counts(codes))?;
        *steps = found;
        Ok(())
    }
}

impl<B: Bits> BitSpmmOp<B> {
    /// Refuses sums that are not counts of signs.
    fn counts(&self) -> Result<(), Error> {
        if matches!(&self.features, BitOperand::Signs(_)) && self.is_whole() {
            return Ok(());
        }
        let why = "counts are of signs without scales, stored as they are";
        Err(Error::Combination { operation: BitSpmm::<B>::NAME, what: "counts of other messages", why })
    }
    /// What counts stand for: a step of 2 around half the messages of a row.
    fn count_steps(&self) -> Result<PlaneSteps<B>, B::Error> {
        let backend = self.matrix.backend();
        let zero = backend.half_messages(self)?;
        Ok(PlaneSteps::Rows { scale: Dense::filled(backend, self.matrix_shape().0, 1, 2.0)?, zero })
    }
    /// Half the number of messages of each row (n x 1), as the product with a column of ones gives it.
    pub(crate) fn half_messages(&self) -> Result<Dense<B, f32>, B::Error> {
        let (backend, columns) = (self.matrix.backend(), self.matrix_shape().1);
        let ones = BitLayout::new(columns, 1, Packing::Rows, TileShape::WORD).map_err(crate::bits::refused_bits::<B>)?;
        let ones = Signs::from_raw(Dense::filled(backend, ones.padded_lines(), ones.stride(), 1)?, ones).map_err(refused::<B>)?;
        let op = Self { features: BitOperand::Signs(ones), ..self.clone() };
        Operation(BitSpmm { op }).times(0.5).eval()
    }
}

impl<B: Tensor> Clone for BitSpmmOp<B> {
    fn clone(&self) -> Self {
        Self {
            matrix: self.matrix.clone(),
            transposed: self.transposed,
            features: self.features.clone(),
            scale_rows: self.scale_rows.clone(),
            scale_columns: self.scale_columns.clone(),
            own: self.own,
            reconcile: self.reconcile,
            epilogue: self.epilogue.clone(),
        }
    }
}

impl<B: Bits> Computation for BitSpmm<B> {
    type Backend = B;
    type Real = f32;
    type Output = f32;
    const NAME: &'static str = "bit_spmm";

    fn backend(&self) -> &B {
        self.op.matrix.backend()
    }
    fn check(&self) -> Result<(usize, usize), Error> {
        let (operation, op) = (Self::NAME, &self.op);
        let (rows, inner) = op.matrix_shape();
        let (found, columns) = op.features.shape();
        same_shape(operation, "the features", (inner, columns), (found, columns))?;
        op.features.check(operation, "the features", Packing::Rows)?;
        if op.matrix.dtype().is_some() {
            let why = "an entry is 1; take its pattern, and its weights as scales of rows and columns";
            return Err(Error::Combination { operation, what: "a matrix with values", why });
        }
        let scale =
            |operand, n: usize, d: &Option<Reals<B>>| d.as_ref().map_or(Ok(()), |d| same_shape(operation, operand, (n, 1), d.shape()));
        scale("the row scale", rows, &op.scale_rows)?;
        scale("the column scale", inner, &op.scale_columns)?;
        if op.own {
            same_shape(operation, "the matrix, for own,", (rows, rows), (rows, inner))?;
        }
        op.epilogue.check(operation, (rows, columns))?;
        Ok((rows, columns))
    }
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        self.op.features.arrays("the features", f);
        self.op.scale_rows.iter().for_each(|d| f("the row scale", &d.any()));
        self.op.scale_columns.iter().for_each(|d| f("the column scale", &d.any()));
        self.op.epilogue.operands(f);
    }
    fn run(&self, y: AnyMut<'_, B>) -> Result<(), B::Error> {
        self.run_bits(BitOut::Dense(y))
    }
}
impl<B: Bits> Fusing for BitSpmm<B> {
    fn epilogue(&mut self) -> &mut Epilogue<B> {
        &mut self.op.epilogue
    }
}
impl<B: Bits> BitComputation for BitSpmm<B> {
    fn run_bits(&self, y: BitOut<'_, B>) -> Result<(), B::Error> {
        self.backend().bit_spmm(&self.op, y)
    }
}
