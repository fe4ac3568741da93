//! Heads of attention, and how their results are taken together.

use super::bias_gradient;
use crate::constants::Constant;
use crate::{Declare, End, Float, Gradients, ParameterId, Pass, Start};
use bitgraph_tensor::ops::{gemm, map};
use bitgraph_tensor::{Dense, Real, TensorBackend};

/// How the results of heads are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// Side by side: hidden layers.
    Concatenated,
    /// Their mean: the last layer.
    Averaged,
}

/// So many heads of a width, taken together, plus a bias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    pub heads: usize,
    pub width: usize,
    pub together: Heads,
    pub bias: ParameterId,
}

impl Joined {
    /// Declares the bias.
    pub fn new(declare: &mut Declare<'_>, (heads, width): (usize, usize), together: Heads) -> Self {
        let columns = if together == Heads::Averaged { width } else { heads * width };
        Self { heads, width, together, bias: declare.parameter("bias", (1, columns), Start::Constant(0.0)) }
    }
    /// Columns of all heads side by side.
    pub fn wide(&self) -> usize {
        self.heads * self.width
    }
    /// Columns of the result.
    pub fn columns(&self) -> usize {
        if self.together == Heads::Averaged { self.width } else { self.wide() }
    }
    /// Whether a mean is to be taken: that of one head is its result.
    fn averages(&self) -> bool {
        self.together == Heads::Averaged && self.heads > 1
    }
    /// What takes the mean of heads: columns x width.
    fn mean<B: TensorBackend, T: Float>(&self, pass: &Pass<'_, B, T>) -> Result<Dense<B, T>, B::Error> {
        let Self { heads, width, .. } = *self;
        let share = |c: usize, w: usize| <T::Real as Real>::of(if c % width == w { 1.0 / heads as f64 } else { 0.0 });
        let mean = pass.graph.constant(Constant::Mean { heads, width }, (self.wide(), width), share)?;
        match mean.any().get::<T>() {
            Some(mean) => Ok(mean),
            None => map(&mean).eval_as(),
        }
    }
    /// The layer's result from that of its heads, plus a summand of its shape, and what comes after it.
    pub fn join<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        result: &Dense<B, T>,
        summand: Option<&Dense<B, T>>,
        end: End,
    ) -> Result<Dense<B, T>, B::Error> {
        let bias = pass.parameters.real(self.bias)?;
        match (self.averages(), summand) {
            (false, None) => end.within(map(result).bias(&bias)).eval(),
            (false, Some(z)) => end.within(map(result).bias(&bias).add(z)).eval(),
            (true, None) => end.within(gemm(result, &self.mean(pass)?).bias(&bias)).eval(),
            (true, Some(z)) => end.within(gemm(result, &self.mean(pass)?).bias(&bias).add(z)).eval(),
        }
    }
    /// Writes the gradient of the bias from that of the layer's result; gives that of the heads' results.
    pub fn spread<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
    ) -> Result<Dense<B, T>, B::Error> {
        bias_gradient(pass, self.bias, dy, gradients)?;
        if self.averages() { gemm(dy, &self.mean(pass)?).transpose_b().eval() } else { Ok(dy.clone()) }
    }
}
