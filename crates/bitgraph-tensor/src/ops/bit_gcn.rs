//! Inference of a graph convolution of two layers of signs as one operation, for backends that have it.

use crate::bits::Signs;
use crate::{Dense, DenseMut, Tensor};
use bitgraph_backend::Matrix;

/// What the first layer makes of its product.
pub enum BitGcnHidden<'a, B: Tensor> {
    /// BitGNN's `bin`: signs of the product, normalised by statistics of its columns (1 x hidden each), `(x - mean) / sqrt(variance + epsilon)`,
    /// are aggregated as signs, `(A + I) s`, and signs of the sums go on; sign(0) = +1.
    Signs {
        /// The mean of every column of the product.
        mean: &'a Dense<B, f32>,
        /// Its variance.
        variance: &'a Dense<B, f32>,
        /// What keeps the root away from zero.
        epsilon: f64,
    },
    /// Bi-GCN, BitGNN's `full`: `D (A + I) D (product + bias)` in floats; the signs of that and the mean magnitude of each row go on.
    Floats {
        /// The bias, 1 x hidden.
        bias: &'a Dense<B, f32>,
    },
}

/// `D (A + I) D (S2 W2 + b2)`, where `S2` is what `hidden` makes of `X W1`: two layers of a graph convolution over signs. Weights are signs
/// times a factor for each column; so are the features, times a factor for each row in Bi-GCN.
pub struct BitGcnOp<'a, B: Tensor> {
    /// `A`, without loops, n x n.
    pub adjacency: &'a Matrix<B>,
    /// The diagonal of `D`, n x 1.
    pub scales: &'a Dense<B, f32>,
    /// The signs of `X`, n x inputs, packed along rows, without scales.
    pub features: &'a Signs<B>,
    /// The factors of the rows of `X`, n x 1; 1 without.
    pub feature_scales: Option<&'a Dense<B, f32>>,
    /// The signs of `W1`, inputs x hidden, packed along columns, without scales.
    pub first: &'a Signs<B>,
    /// The factors of its columns, 1 x hidden.
    pub first_scales: &'a Dense<B, f32>,
    /// What becomes of the first product.
    pub hidden: BitGcnHidden<'a, B>,
    /// The signs of `W2`, hidden x classes, packed along columns, without scales.
    pub second: &'a Signs<B>,
    /// The factors of its columns, 1 x classes.
    pub second_scales: &'a Dense<B, f32>,
    /// `b2`, 1 x classes.
    pub bias: &'a Dense<B, f32>,
}

/// A [`BitGcnOp`] that a backend has prepared: it holds whatever it reads, in the backend's own form, and nothing of the operation's.
pub trait BitGcn<B: Tensor>: Send + Sync {
    /// The logits, n x classes: those of the operations one by one; sums of signs are exact.
    ///
    /// # Errors
    /// Whatever goes wrong on the backend.
    fn run(&self, logits: DenseMut<'_, B, f32>) -> Result<(), B::Error>;
    /// Bytes of all that it holds.
    fn bytes(&self) -> u64;
    /// The form in a few words: what is one launch, which widths, lists or bits of features.
    fn form(&self) -> String;
}

impl<B: Tensor> dyn BitGcn<B> {
    /// The logits in a new matrix of this shape.
    ///
    /// # Errors
    /// As [`BitGcn::run`], and out of memory.
    pub fn eval(&self, backend: &B, (nodes, classes): (usize, usize)) -> Result<Dense<B, f32>, B::Error> {
        let mut logits = Dense::unwritten(backend, nodes, classes)?;
        self.run(logits.as_mut())?;
        Ok(logits)
    }
}
