//! Layers of a graph network over codes of few bits, of many small graphs at once.
//!
//! Source: QGTC, 2022: its batched Cluster-GCN and GIN, whose levels are found by a shift and a clamp.

use super::epochs::Whole;
use super::loss::argmax_rows;
use super::{bit_gemm, bit_spmm};
use crate::bits::{BitOperand, PlaneSteps, Planes};
use crate::error::{refused, same_shape};
use crate::{Bits, Dense, DenseMut, Error, Quantise, Tensor, TensorBackend};
use bitgraph_backend::Matrix;
use bitgraph_bittensor::{Packing, Step};

/// A layer: what its sums over neighbours become, what they are multiplied by, and what that becomes.
pub struct BatchLayer<B: Tensor> {
    /// Levels of the sums.
    pub sums: Quantise,
    /// The weights, inputs x outputs, packed along columns.
    pub weights: Planes<B>,
    /// Levels of the products; of the last layer there are none, and every vertex gets the column of its largest product.
    pub products: Option<Quantise>,
}

/// Layers over graphs that are one behind the other in a matrix: `level(level(A X) W)`, layer by layer, then the class of every vertex. All
/// codes count as the whole numbers that they are, whatever steps they have.
pub struct BitBatchesOp<'a, B: Tensor> {
    /// The pattern, n x n; whoever hears from itself has an entry on the diagonal.
    pub matrix: &'a Matrix<B>,
    /// Vertices of a graph. Graphs do not reach each other, or the layers are no batch and are computed as one graph.
    pub vertices: usize,
    /// The codes, n x inputs, packed along rows.
    pub features: &'a Planes<B>,
    /// The layers, at least one.
    pub layers: &'a [BatchLayer<B>],
}

/// A [`BitBatchesOp`] that a backend has prepared: it holds whatever it reads, in the backend's own form.
pub trait Batched<B: Tensor>: Send + Sync {
    /// The class of every vertex, n x 1.
    ///
    /// # Errors
    /// Whatever goes wrong on the backend.
    fn run(&self, classes: DenseMut<'_, B, i32>) -> Result<(), B::Error>;
    /// Bytes of all that it holds.
    fn bytes(&self) -> u64;
}

/// How batches are computed.
enum Form<B: Tensor> {
    /// As one operation of the backend.
    Whole(Box<dyn Batched<B>>),
    /// Operation by operation, for this reason.
    Operations { matrix: Matrix<B>, features: Planes<B>, layers: Vec<BatchLayer<B>>, reason: String },
}

/// Batches that are ready to be computed. The numbers are whole and the same in every form.
pub struct BitBatches<B: Tensor> {
    form: Form<B>,
    backend: B,
    rows: usize,
}

/// Codes as the numbers that they are.
fn plain<B: Bits>(codes: &Planes<B>) -> Result<Planes<B>, B::Error> {
    codes.clone().with_steps(PlaneSteps::Tensor(Step::UNIT))
}

/// Prepares layers over batches. O(n * inputs), once.
///
/// # Errors
/// [`Error::Shape`] for operands that do not fit, [`Error::Bits`] for such that are packed the other way, [`Error::Parameter`] for levels that
/// are none, [`Error::Combination`] for products without levels before the last layer, or with levels in it; out of memory.
pub fn bit_batches<B: TensorBackend + Bits>(op: &BitBatchesOp<'_, B>) -> Result<BitBatches<B>, B::Error> {
    op.check().map_err(refused::<B>)?;
    let backend = op.matrix.backend().clone();
    let form = match backend.bit_batches(op)? {
        Whole::Done(whole) => Form::Whole(whole),
        Whole::Declined(reason) => {
            let layer = |l: &BatchLayer<B>| Ok(BatchLayer { weights: plain(&l.weights)?, ..*l });
            let layers = op.layers.iter().map(layer).collect::<Result<_, B::Error>>()?;
            Form::Operations { matrix: op.matrix.pattern(), features: plain(op.features)?, layers, reason }
        }
    };
    Ok(BitBatches { form, backend, rows: op.matrix.shape().0 })
}

impl<B: Tensor> BitBatchesOp<'_, B> {
    fn check(&self) -> Result<(), Error> {
        const NAME: &str = "bit_batches";
        let (rows, mut columns) = (self.matrix.shape().0, self.features.shape().1);
        same_shape(NAME, "the pattern", (rows, rows), self.matrix.shape())?;
        same_shape(NAME, "the features", (rows, columns), self.features.shape())?;
        BitOperand::from(self.features).check(NAME, "the features", Packing::Rows)?;
        if self.vertices == 0 || !rows.is_multiple_of(self.vertices) {
            let (parameter, found) = ("the number of vertices of a graph", self.vertices as f64);
            return Err(Error::Parameter { operation: NAME, parameter, found, allowed: "a divisor of the rows of the pattern" });
        }
        for (k, layer) in self.layers.iter().enumerate() {
            same_shape(NAME, "a weight", (columns, layer.weights.shape().1), layer.weights.shape())?;
            BitOperand::from(&layer.weights).check(NAME, "a weight", Packing::Columns)?;
            layer.sums.check(NAME)?;
            layer.products.iter().try_for_each(|q| q.check(NAME))?;
            if layer.products.is_none() != (k + 1 == self.layers.len()) {
                let what =
                    if layer.products.is_none() { "products without levels before the last layer" } else { "levels of the last products" };
                return Err(Error::Combination { operation: NAME, what, why: "levels lead to the next layer, and products to classes" });
            }
            columns = layer.weights.shape().1;
        }
        if self.layers.is_empty() {
            let (parameter, found) = ("the number of layers", 0.0);
            return Err(Error::Parameter { operation: NAME, parameter, found, allowed: "1 or more" });
        }
        Ok(())
    }
}

impl<B: TensorBackend + Bits> BitBatches<B> {
    /// The class of every vertex, n x 1: the column of its largest product, the first of equal ones.
    ///
    /// # Errors
    /// Out of memory.
    pub fn run(&self) -> Result<Dense<B, i32>, B::Error> {
        match &self.form {
            Form::Whole(whole) => {
                let mut classes = Dense::unwritten(&self.backend, self.rows, 1)?;
                whole.run(classes.as_mut())?;
                Ok(classes)
            }
            Form::Operations { matrix, features, layers, .. } => operations(matrix, features, layers),
        }
    }
    /// As [`BitBatches::run`], to a matrix that is there.
    ///
    /// # Errors
    /// [`Error::Shape`]; out of memory.
    pub fn run_into(&self, classes: &mut Dense<B, i32>) -> Result<(), B::Error> {
        same_shape("bit_batches", "the classes", (self.rows, 1), classes.shape()).map_err(refused::<B>)?;
        match &self.form {
            Form::Whole(whole) => whole.run(classes.as_mut()),
            Form::Operations { .. } => {
                *classes = self.run()?;
                Ok(())
            }
        }
    }
    /// Why the layers are computed operation by operation; none where they are one operation of the backend.
    #[must_use]
    pub fn why_not_whole(&self) -> Option<&str> {
        match &self.form {
            Form::Whole(_) => None,
            Form::Operations { reason, .. } => Some(reason),
        }
    }
    /// Bytes of all that is kept, but for the pattern where that is the caller's.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.form {
            Form::Whole(whole) => whole.bytes(),
            Form::Operations { features, layers, .. } => features.bytes() + layers.iter().map(|l| l.weights.bytes()).sum::<u64>(),
        }
    }
}

/// The layers by the operations one by one.
fn operations<B: TensorBackend + Bits>(
    matrix: &Matrix<B>,
    features: &Planes<B>,
    layers: &[BatchLayer<B>],
) -> Result<Dense<B, i32>, B::Error> {
    let mut codes = features.clone();
    for layer in layers {
        let sums = plain(&bit_spmm(matrix, &codes).eval_planes(layer.sums)?)?;
        let products = bit_gemm(&sums, &layer.weights);
        match layer.products {
            Some(levels) => codes = plain(&products.eval_planes(levels)?)?,
            None => return argmax_rows(&products.eval_as::<i32>()?),
        }
    }
    // There is a layer without levels: the last one.
    Dense::filled(matrix.backend(), features.shape().0, 1, -1)
}
