//! Graph attention whose scores look at both ends before the nonlinearity, with several heads.

use super::heads::Joined;
use super::{Heads, SLOPE, product_gradient, summed, weight};
use crate::{Before, Declare, End, Features, Float, Gradients, Layer, ParameterId, Pass, Start};
use bitgraph_tensor::ops::{Attention, Operation, gat_v2, map};
use bitgraph_tensor::{Any, Dense, TensorBackend};

/// Softmax of `a . leaky(l(i) + r(j))` over a node and its neighbours times `r = X R`, head by head, plus `b`, with `l = X L`. Source: Brody,
/// Alon, Yahav, 2022.
#[derive(Clone, Copy, Debug)]
pub struct GatV2 {
    left: ParameterId,
    right: ParameterId,
    vector: ParameterId,
    joined: Joined,
    dropout: f64,
}

impl GatV2 {
    /// A layer of heads of a width; `dropout` is that of the softmax.
    pub fn new(declare: &mut Declare<'_>, (heads, width): (usize, usize), together: Heads, dropout: f64) -> Self {
        let (left, right) = (weight(declare, "weight_left", heads * width), weight(declare, "weight_right", heads * width));
        let vector = declare.parameter("attention", (1, heads * width), Start::Glorot { inputs: heads, outputs: width });
        Self { left, right, vector, joined: Joined::new(declare, (heads, width), together), dropout }
    }
    fn operation<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        left: &Dense<B, T>,
        right: &Dense<B, T>,
    ) -> Result<Operation<Attention<B, T>>, B::Error> {
        let op = gat_v2(pass.graph.with_loops()?, left, right, &pass.parameters.real(self.vector)?, self.joined.heads, SLOPE);
        Ok(match pass.dropout(self.dropout, 1) {
            Some(dropout) => op.attention_dropout(dropout),
            None => op,
        })
    }
}

/// What the backward pass of [`GatV2`] needs.
pub struct GatV2Kept<B: TensorBackend, T: Float> {
    left: Dense<B, T>,
    right: Dense<B, T>,
    lse: Dense<B, T::Real>,
    result: Dense<B, T>,
}

impl<B: TensorBackend, T: Float> Layer<B, T> for GatV2 {
    type Kept = GatV2Kept<B, T>;

    fn columns(&self) -> usize {
        self.joined.columns()
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        nodes * (3 * self.joined.wide() * size_of::<T>() + self.joined.heads * size_of::<T::Real>()) as u64
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.forward_to(pass, x, End::default())
    }
    fn forward_to(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        let left = x.times(&pass.parameters.weight(self.left)?)?;
        let right = x.times(&pass.parameters.weight(self.right)?)?;
        let (result, lse) = self.operation(pass, &left, &right)?.eval_for_training()?;
        let y = self.joined.join(pass, &result, None, end)?;
        Ok((y, GatV2Kept { left, right, lse, result }))
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
        let spread = self.joined.spread(pass, dy, gradients)?;
        let GatV2Kept { left, right, lse, result } = kept;
        let d = self.operation(pass, &left, &right)?.gradient_from(&result, &lse, &spread)?;
        if let Some(vector) = &d.parameter {
            gradients.set(self.vector, vector)?;
        }
        // The features on the right are the values, too.
        let (first, second) = (d.first.get::<T>(), d.second.and_then(Any::get::<T>));
        let right = second.map_or_else(|| Ok(d.values.clone()), |second| map(&d.values).add(&second).eval())?;
        let mut parts = vec![product_gradient(self.right, x, &right, pass.parameters, gradients, wanted.then_some(&Before::BARE))?];
        if let Some(left) = first {
            parts.push(product_gradient(self.left, x, &left, pass.parameters, gradients, wanted.then_some(&Before::BARE))?);
        }
        summed(parts)
    }
}
