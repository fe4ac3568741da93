//! Graph convolutions over signs.

use super::sign::{BinaryWeight, through_sign};
use crate::{Declare, Features, Gradients, Layer, ParameterId, Pass, Start};
use bitgraph_tensor::ops::{BatchNormalised, batch_norm, batch_norm_backward, gemm, map, spmm, sum_columns};
use bitgraph_tensor::{Dense, TensorBackend};

/// What keeps the root of the normalisation away from zero.
pub(super) const EPSILON: f64 = 1e-5;

/// What a [`BinaryGcn`] makes of its input before it multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInput {
    /// Nothing: the input is signs, with factors or without.
    Ready,
    /// Signs times the mean magnitude of each row. The factor is in the forward pass alone: a gradient through it costs accuracy.
    Scaled,
}

/// `D^-1/2 (A + I) D^-1/2 (X sign(W) mean|W| + b)`, aggregated in floats: the layer of Bi-GCN, and the last one of BitGNN's `bin`.
/// Sources: Wang et al., Bi-GCN, 2021; BitGNN, 2023.
#[derive(Clone, Copy, Debug)]
pub struct BinaryGcn {
    weight: ParameterId,
    bias: ParameterId,
    outputs: usize,
    input: SignInput,
    dropout: f64,
}

/// A weight that starts with the variance `1 / inputs`, by a uniform distribution.
fn weight(declare: &mut Declare<'_>, outputs: usize) -> ParameterId {
    let inputs = declare.columns();
    // Glorot's bound is sqrt(6 / (a + b)), of variance 2 / (a + b).
    declare.parameter("weight", (inputs, outputs), Start::Glorot { inputs, outputs: inputs })
}

impl BinaryGcn {
    /// A layer of so many outputs, whose input after the signs has elements dropped in training.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, input: SignInput, dropout: f64) -> Self {
        let weight = weight(declare, outputs);
        Self { weight, bias: declare.parameter("bias", (1, outputs), Start::Constant(0.0)), outputs, input, dropout }
    }
}

/// What [`BinaryGcn`] keeps.
pub struct KeptProduct<B: TensorBackend> {
    signs: Dense<B, f32>,
    w: BinaryWeight<B>,
}

/// The signs of a matrix times the mean magnitude of each row.
fn scaled<B: TensorBackend>(x: &Dense<B, f32>) -> Result<Dense<B, f32>, B::Error> {
    let signs = map(x).sign().eval()?;
    let share = Dense::filled(x.backend(), x.ncols(), 1, 1.0 / x.ncols().max(1) as f32)?;
    let means = gemm(&map(x).multiply(&signs).eval()?, &share).eval()?;
    map(&signs).times_rows(&means).eval()
}

impl<B: TensorBackend> Layer<B, f32> for BinaryGcn {
    type Kept = KeptProduct<B>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let x = x.as_dense("a layer of signs")?;
        let mut signs = if self.input == SignInput::Scaled { scaled(x)? } else { x.clone() };
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            signs = map(&signs).dropout(dropout).eval()?;
        }
        let w = BinaryWeight::new(&pass.parameters.weight(self.weight)?)?;
        let h = gemm(&signs, &w.signs).times_columns(&w.means).bias(&pass.parameters.real(self.bias)?).eval()?;
        let d = pass.graph.degree_powers(-0.5)?;
        let y = spmm(pass.graph.adjacency(), &h).own(1.0).scale_rows(&d).scale_columns(&d).eval()?;
        Ok((y, KeptProduct { signs, w }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        x: &Features<B, f32>,
        KeptProduct { signs, w }: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let d = pass.graph.degree_powers(-0.5)?;
        let dh = spmm(pass.graph.adjacency(), dy).transpose().own(1.0).scale_rows(&d).scale_columns(&d).eval()?;
        gradients.set(self.bias, &sum_columns(&dh)?)?;
        let (dw, dx) = w.backward((&pass.parameters.weight(self.weight)?, &signs), &dh, wanted)?;
        gradients.set(self.weight, &dw)?;
        let Some(mut dx) = dx else { return Ok(None) };
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            dx = map(&dx).dropout(dropout).eval()?;
        }
        match self.input {
            SignInput::Ready => Ok(Some(dx)),
            SignInput::Scaled => Ok(Some(through_sign(x.as_dense("a layer of signs")?, &dx)?)),
        }
    }
}

/// `sign((A + I) sign(norm(X sign(W))))`: signs are aggregated as signs, and signs go out. `norm` is batch normalisation by the statistics of
/// all nodes, without a factor or summand. Source: BitGNN, 2023, `MM.FBB` and `BSpMM.BBB`.
#[derive(Clone, Copy, Debug)]
pub struct BinaryHidden {
    weight: ParameterId,
    outputs: usize,
}

impl BinaryHidden {
    /// A layer of so many outputs.
    pub fn new(declare: &mut Declare<'_>, outputs: usize) -> Self {
        Self { weight: weight(declare, outputs), outputs }
    }
}

/// What [`BinaryHidden`] keeps.
pub struct KeptHidden<B: TensorBackend> {
    w: BinaryWeight<B>,
    z: Dense<B, f32>,
    norm: BatchNormalised<B, f32>,
    sums: Dense<B, f32>,
}

impl<B: TensorBackend> Layer<B, f32> for BinaryHidden {
    type Kept = KeptHidden<B>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        3 * nodes * self.outputs as u64 * 4
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let w = BinaryWeight::new(&pass.parameters.weight(self.weight)?)?;
        let z = gemm(x.as_dense("a layer of signs")?, &w.signs).times_columns(&w.means).eval()?;
        let norm = batch_norm(&z, None, EPSILON)?;
        let signs = map(&norm.y).sign().eval()?;
        let d = pass.graph.degree_powers(-0.5)?;
        // The factor keeps its sign; it decides which sums are near enough to zero for a gradient to pass.
        let sums = spmm(pass.graph.adjacency(), &signs).own(1.0).scale_rows(&d).eval()?;
        Ok((map(&sums).sign().eval()?, KeptHidden { w, z, norm, sums }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        x: &Features<B, f32>,
        kept: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let da = through_sign(&kept.sums, dy)?;
        let d = pass.graph.degree_powers(-0.5)?;
        let ds = spmm(pass.graph.adjacency(), &da).transpose().own(1.0).scale_columns(&d).eval()?;
        let du = through_sign(&kept.norm.y, &ds)?;
        let (dz, _, _) = batch_norm_backward(&kept.z, &kept.norm, None, EPSILON, &du)?;
        let x = x.as_dense("a layer of signs")?;
        let (dw, dx) = kept.w.backward((&pass.parameters.weight(self.weight)?, x), &dz, wanted)?;
        gradients.set(self.weight, &dw)?;
        Ok(dx)
    }
}

impl BinaryHidden {
    pub(super) const fn weight(&self) -> ParameterId {
        self.weight
    }
}
impl BinaryGcn {
    pub(super) const fn weight_and_bias(&self) -> (ParameterId, ParameterId) {
        (self.weight, self.bias)
    }
}
