//! Propagation by attention that needs no weights.

use crate::{Declare, Features, Float, Gradients, Layer, ParameterId, Pass, Start};
use bitgraph_tensor::ops::{agnn, map};
use bitgraph_tensor::{Dense, TensorBackend};

/// `P X`, where row `i` of `P` is the softmax of `beta cos(x(i), x(j))` over `i` and its neighbours. It takes dense features. Source:
/// Thekumparampil et al., 2018.
#[derive(Clone, Copy, Debug)]
pub struct Agnn {
    beta: ParameterId,
    columns: usize,
}

impl Agnn {
    /// A layer with as many outputs as inputs; beta begins at 1.
    pub fn new(declare: &mut Declare<'_>) -> Self {
        Self { beta: declare.parameter("beta", (1, 1), Start::Constant(1.0)), columns: declare.columns() }
    }
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Agnn {
    /// The logarithms of the sums of the softmax.
    type Kept = Dense<B, T::Real>;

    fn columns(&self) -> usize {
        self.columns
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        nodes * size_of::<T::Real>() as u64
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        agnn(pass.graph.with_loops()?, x.as_dense("AGNN")?, &pass.parameters.real(self.beta)?).eval_for_training()
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        lse: Self::Kept,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let op = agnn(pass.graph.with_loops()?, x.as_dense("AGNN")?, &pass.parameters.real(self.beta)?);
        let d = op.gradient_of(&lse, dy)?;
        if let Some(beta) = &d.parameter {
            gradients.set(self.beta, beta)?;
        }
        let (first, second) = (d.first.get::<T>(), d.second.and_then(bitgraph_tensor::Any::get::<T>));
        match (wanted, first.zip(second)) {
            // The features are queries, keys and values.
            (true, Some((first, second))) => Ok(Some(map(&d.values).add(&first).add(&second).eval()?)),
            _ => Ok(None),
        }
    }
}
