//! Weights as signs, and what stands for their derivatives.

use crate::sign::within;
use bitgraph_tensor::ops::{gemm, map, sum_columns};
use bitgraph_tensor::{Dense, TensorBackend};

/// A weight as its signs times the mean magnitude of each column.
pub(crate) struct BinaryWeight<B: TensorBackend> {
    /// -1 and 1.
    pub signs: Dense<B, f32>,
    /// The factors, of one row.
    pub means: Dense<B, f32>,
}

impl<B: TensorBackend> BinaryWeight<B> {
    /// Of a weight. O(elements).
    pub fn new(w: &Dense<B, f32>) -> Result<Self, B::Error> {
        let signs = map(w).sign().eval()?;
        let magnitudes = map(w).multiply(&signs).eval()?;
        let means = map(&sum_columns(&magnitudes)?).times(1.0 / w.nrows().max(1) as f64).eval()?;
        Ok(Self { signs, means })
    }
    /// The gradients of the weight and, where wanted, of the input from that of the product, by Bi-GCN's rule: the weight's own signs take
    /// part through its mean, and the input's gradient has no factor.
    #[allow(clippy::type_complexity)] // a pair
    pub fn backward(
        &self,
        (w, x): (&Dense<B, f32>, &Dense<B, f32>),
        dy: &Dense<B, f32>,
        wanted: bool,
    ) -> Result<(Dense<B, f32>, Option<Dense<B, f32>>), B::Error> {
        let raw = gemm(x, dy).transpose_a().eval()?;
        let signed = map(&raw).multiply(&self.signs).eval()?;
        let mean = map(&sum_columns(&signed)?).times(1.0 / w.nrows().max(1) as f64).eval()?;
        let through_mean = map(&self.signs).times_columns(&mean).eval()?;
        let dw = map(&within(w, 1.0)?).multiply(&raw).times_columns(&self.means).add(&through_mean).eval()?;
        let dx = if wanted { Some(gemm(dy, &self.signs).transpose_b().eval()?) } else { None };
        Ok((dw, dx))
    }
}
