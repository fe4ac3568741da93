//! The layer of graph transformers: attention by dot products over neighbours, and a path for the node itself.

use super::heads::Joined;
use super::{Heads, product_gradient, summed, weight};
use crate::{Before, Declare, End, Features, Float, Gradients, Layer, ParameterId, Pass};
use bitgraph_tensor::ops::{Attention, Operation, dot_attention};
use bitgraph_tensor::{Any, Dense, TensorBackend};

/// Softmax of `q(i) . k(j) / sqrt(width)` over the neighbours of a node times `v = X V`, head by head, plus `X S + b`, with `q = X Q` and
/// `k = X K`. A node without neighbours has what the last two give. Source: Shi et al., 2021, section 3.1, without features of edges and
/// without the gate.
#[derive(Clone, Copy, Debug)]
pub struct Transformer {
    query: ParameterId,
    key: ParameterId,
    value: ParameterId,
    own: ParameterId,
    joined: Joined,
    dropout: f64,
}

impl Transformer {
    /// A layer of heads of a width; `dropout` is that of the softmax.
    pub fn new(declare: &mut Declare<'_>, (heads, width): (usize, usize), together: Heads, dropout: f64) -> Self {
        let [query, key, value] = ["query", "key", "value"].map(|name| weight(declare, &format!("weight_{name}"), heads * width));
        let joined = Joined::new(declare, (heads, width), together);
        Self { query, key, value, own: weight(declare, "weight", joined.columns()), joined, dropout }
    }
    fn operation<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        of: &[Dense<B, T>; 3],
    ) -> Result<Operation<Attention<B, T>>, B::Error> {
        let op = dot_attention(pass.graph.adjacency()?, &of[0], &of[1], &of[2], self.joined.heads);
        Ok(match pass.dropout(self.dropout, 1) {
            Some(dropout) => op.attention_dropout(dropout),
            None => op,
        })
    }
}

/// What the backward pass of [`Transformer`] needs.
pub struct TransformerKept<B: TensorBackend, T: Float> {
    /// Queries, keys and values.
    of: [Dense<B, T>; 3],
    lse: Dense<B, T::Real>,
    result: Dense<B, T>,
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Transformer {
    type Kept = TransformerKept<B, T>;

    fn columns(&self) -> usize {
        self.joined.columns()
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        nodes * (4 * self.joined.wide() * size_of::<T>() + self.joined.heads * size_of::<T::Real>()) as u64
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.forward_to(pass, x, End::default())
    }
    fn forward_to(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        let times = |id| x.times(&pass.parameters.weight(id)?);
        let of = [times(self.query)?, times(self.key)?, times(self.value)?];
        let (result, lse) = self.operation(pass, &of)?.eval_for_training()?;
        let y = self.joined.join(pass, &result, Some(&times(self.own)?), end)?;
        Ok((y, TransformerKept { of, lse, result }))
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
        let d = self.operation(pass, &kept.of)?.gradient_from(&kept.result, &kept.lse, &spread)?;
        let mut parts = vec![
            product_gradient(self.own, x, dy, pass.parameters, gradients, wanted.then_some(&Before::BARE))?,
            product_gradient(self.value, x, &d.values, pass.parameters, gradients, wanted.then_some(&Before::BARE))?,
        ];
        for (id, part) in [(self.query, d.first.get::<T>()), (self.key, d.second.and_then(Any::get::<T>))] {
            if let Some(part) = part {
                parts.push(product_gradient(id, x, &part, pass.parameters, gradients, wanted.then_some(&Before::BARE))?);
            }
        }
        summed(parts)
    }
}
