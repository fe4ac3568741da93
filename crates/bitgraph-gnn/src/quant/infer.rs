//! Inference on bits.

use super::binary::{BinaryGcn, BinaryHidden, EPSILON};
use super::sign::BinaryWeight;
use crate::{Features, Graph, ParameterId, Parameters};
use bitgraph_tensor::bittensor::Packing;
use bitgraph_tensor::ops::{bit_gemm, bit_spmm, moments, spmm};
use bitgraph_tensor::{Bits, Dense, Signs, TensorBackend};

/// A trained model of `bin` as bits: signs of features, weights and activations, products by counts of bits. It gives the numbers of the
/// model's own inference in floats, element by element.
pub struct BinaryPlan<B: TensorBackend> {
    features: Signs<B>,
    first: Signs<B>,
    first_means: Dense<B, f32>,
    statistics: (Dense<B, f32>, Dense<B, f32>),
    second: Signs<B>,
    second_means: Dense<B, f32>,
    bias: Dense<B, f32>,
}

/// A weight's signs, and the factors of its columns.
#[allow(clippy::type_complexity)] // a pair
fn packed<B: TensorBackend + Bits>(parameters: &Parameters<B, f32>, id: ParameterId) -> Result<(Signs<B>, Dense<B, f32>), B::Error> {
    let w = BinaryWeight::new(&parameters.weight(id)?)?;
    Ok((w.signs.sign(Packing::Columns)?, w.means))
}

impl<B: TensorBackend + Bits> BinaryPlan<B> {
    /// From both layers, their parameters, and the signs of the features, of which the statistics of the whole graph are taken.
    ///
    /// # Errors
    /// Features that are not dense; out of memory.
    pub fn new(
        (hidden, last): (&BinaryHidden, &BinaryGcn),
        parameters: &Parameters<B, f32>,
        features: &Features<B, f32>,
    ) -> Result<Self, B::Error> {
        let features = features.as_dense("a layer of signs")?.sign(Packing::Rows)?;
        let (first, first_means) = packed(parameters, hidden.weight())?;
        let (weight, bias) = last.weight_and_bias();
        let (second, second_means) = packed(parameters, weight)?;
        let statistics = moments(&bit_gemm(&features, &first).times_columns(&first_means).eval()?)?;
        Ok(Self { features, first, first_means, statistics, second, second_means, bias: parameters.real(bias)? })
    }
    /// The logits.
    ///
    /// # Errors
    /// Out of memory.
    pub fn run(&self, graph: &Graph<B, f32>) -> Result<Dense<B, f32>, B::Error> {
        let (mean, variance) = &self.statistics;
        let product = bit_gemm(&self.features, &self.first).times_columns(&self.first_means);
        let signs = product.batch_norm((mean, variance), None, EPSILON).eval_signs()?;
        let active = bit_spmm(graph.adjacency(), &signs).own().eval_signs()?;
        let h = bit_gemm(&active, &self.second).times_columns(&self.second_means).bias(&self.bias).eval()?;
        let d = graph.degree_powers(-0.5)?;
        spmm(graph.adjacency(), &h).own(1.0).scale_rows(&d).scale_columns(&d).eval()
    }
    /// Bytes of all that is kept.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let dense = [&self.first_means, &self.statistics.0, &self.statistics.1, &self.second_means, &self.bias];
        self.features.bytes() + self.first.bytes() + self.second.bytes() + dense.iter().map(|d| d.bytes()).sum::<u64>()
    }
}
