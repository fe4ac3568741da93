//! Graph attention with several heads.

use super::heads::Joined;
use super::{Heads, SLOPE, ones, product_gradient};
use crate::constants::Constant;
use crate::{Before, Declare, End, Features, Float, Gradients, KnownGat, KnownLayer, Layer, ParameterId, Pass, Start};
use bitgraph_tensor::ops::{Attention, Operation, concat, gat, gemm, map};
use bitgraph_tensor::{Any, Dense, Real, TensorBackend};

/// Softmax of `leaky(l . h(i) + r . h(j))` over a node and its neighbours times `h = X W`, head by head, plus `b`. Source: Veličković et al.,
/// 2018.
#[derive(Clone, Copy, Debug)]
pub struct Gat {
    weight: ParameterId,
    left: ParameterId,
    right: ParameterId,
    joined: Joined,
    dropout: f64,
}

impl Gat {
    /// A layer of heads of a width; `dropout` is that of the softmax.
    pub fn new(declare: &mut Declare<'_>, (heads, width): (usize, usize), together: Heads, dropout: f64) -> Self {
        let (inputs, outputs) = (declare.columns(), heads * width);
        let weight = declare.parameter("weight", (inputs, outputs), Start::Glorot { inputs, outputs });
        let attention = Start::Glorot { inputs: heads, outputs: width };
        let left = declare.parameter("attention_left", (outputs, 1), attention);
        let right = declare.parameter("attention_right", (outputs, 1), attention);
        Self { weight, left, right, joined: Joined::new(declare, (heads, width), together), dropout }
    }
    /// 1 where a column belongs to a head: columns x heads.
    fn blocks<B: TensorBackend, T: Float>(&self, pass: &Pass<'_, B, T>) -> Result<Dense<B, T::Real>, B::Error> {
        let Joined { heads, width, .. } = self.joined;
        let belongs = |c: usize, h: usize| <T::Real as Real>::of(if c / width == h { 1.0 } else { 0.0 });
        pass.graph.constant(Constant::Blocks { heads, width }, (heads * width, heads), belongs)
    }
    /// An attention vector as a matrix of columns x heads that is zero outside of a head's block: the scores are a product with it.
    fn vector<B: TensorBackend, T: Float>(&self, pass: &Pass<'_, B, T>, id: ParameterId) -> Result<Dense<B, T>, B::Error> {
        map(&self.blocks(pass)?).times_rows(&pass.parameters.real(id)?).eval_as()
    }
    fn operation<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        h: &Dense<B, T>,
        left: &Dense<B, T::Real>,
        right: &Dense<B, T::Real>,
    ) -> Result<Operation<Attention<B, T>>, B::Error> {
        let op = gat(pass.graph.with_loops()?, left, right, h, SLOPE);
        Ok(match pass.dropout(self.dropout, 1) {
            Some(dropout) => op.attention_dropout(dropout),
            None => op,
        })
    }
}

/// What the backward pass of [`Gat`] needs.
pub struct GatKept<B: TensorBackend, T: Float> {
    h: Dense<B, T>,
    /// The attention vectors as matrices.
    vectors: [Dense<B, T>; 2],
    left: Dense<B, T::Real>,
    right: Dense<B, T::Real>,
    lse: Dense<B, T::Real>,
    result: Dense<B, T>,
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Gat {
    type Kept = GatKept<B, T>;

    fn columns(&self) -> usize {
        self.joined.columns()
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        let (wide, scores) = (2 * self.joined.wide() * size_of::<T>(), 3 * self.joined.heads * size_of::<T::Real>());
        nodes * (wide + scores) as u64
    }
    fn known(&self) -> Option<KnownLayer> {
        let Joined { heads, together, bias, .. } = self.joined;
        let parameters = [self.weight, self.left, self.right, bias];
        Some(KnownLayer::Gat(KnownGat { parameters, heads, averaged: together == Heads::Averaged, slope: SLOPE, dropout: self.dropout }))
    }
    fn work_bytes(&self, nodes: u64, entries: u64, inputs: u64) -> [u64; 2] {
        let [own, real, wide, heads] = [size_of::<T>(), size_of::<T::Real>(), self.joined.wide(), self.joined.heads].map(|n| n as u64);
        // The gradient of attention; then those of the product and of the scores, in either type.
        let attention = nodes * (wide * own + 3 * heads * real) + B::HELD_FOR_GRADIENTS * (entries + nodes) * heads * real;
        [0, attention.max(nodes * (2 * wide * own + 4 * heads * (own + real) + inputs * own))]
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.forward_to(pass, x, End::default())
    }
    fn forward_to(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        let h = x.times(&pass.parameters.weight(self.weight)?)?;
        let vectors = [self.vector(pass, self.left)?, self.vector(pass, self.right)?];
        let (left, right) = (gemm(&h, &vectors[0]).eval_as()?, gemm(&h, &vectors[1]).eval_as()?);
        let (result, lse) = self.operation(pass, &h, &left, &right)?.eval_for_training()?;
        let y = self.joined.join(pass, &result, None, end)?;
        Ok((y, GatKept { h, vectors, left, right, lse, result }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        kept: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        self.backward_to(pass, x, kept, dy, gradients, wanted.then_some(&Before::BARE))
    }
    fn backward_to(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        kept: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let spread = self.joined.spread(pass, dy, gradients)?;
        let GatKept { h, vectors: [first, second], left, right, lse, result } = kept;
        let d = self.operation(pass, &h, &left, &right)?.gradient_from(&result, &lse, &spread)?;
        let (blocks, ones) = (self.blocks(pass)?, ones::<B, T>(pass.graph, (self.joined.heads, 1))?);
        let mut dh = d.values;
        // The scores of GAT are of the real type.
        if let (Some(left), Some(right)) = (d.first.get::<T::Real>(), d.second.and_then(Any::get::<T::Real>)) {
            let heads = self.joined.heads;
            let scores = map(&concat(&[&left, &right])?).eval_as::<T>()?;
            let outside = gemm(&h, &scores).transpose_a().eval_as::<T::Real>()?;
            for (id, columns) in [(self.left, 0..heads), (self.right, heads..2 * heads)] {
                gemm(&map(&outside.columns(columns)?).multiply(&blocks).eval()?, &ones).into(gradients.slot(id)?)?;
            }
            dh = gemm(&scores, &concat(&[&first, &second])?).transpose_b().add(&dh).eval()?;
        }
        product_gradient(self.weight, x, &dh, pass.parameters, gradients, wanted)
    }
}
