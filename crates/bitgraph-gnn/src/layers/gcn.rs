//! Graph convolution.

use super::{Affine, product_gradient};
use crate::{Declare, Features, Float, Gradients, Layer, ParameterId, Pass};
use bitgraph_tensor::{Dense, TensorBackend};

/// `D^-1/2 (A + I) D^-1/2 X W + b`, where `D` holds the degrees, a node itself counted. Source: Kipf, Welling, 2017.
#[derive(Clone, Copy, Debug)]
pub struct Gcn {
    affine: Affine,
    outputs: usize,
}

impl Gcn {
    /// A layer of so many outputs.
    pub fn new(declare: &mut Declare<'_>, outputs: usize) -> Self {
        Self { affine: Affine::new(declare, outputs), outputs }
    }
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Gcn {
    type Kept = ();

    fn columns(&self) -> usize {
        self.outputs
    }
    fn kept_bytes(&self, _: u64) -> u64 {
        0
    }
    fn as_gcn(&self) -> Option<[ParameterId; 2]> {
        Some([self.affine.weight, self.affine.bias])
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, ()), B::Error> {
        let d = pass.graph.degree_powers(-0.5)?;
        let h = x.times(&pass.parameters.weight(self.affine.weight)?)?;
        let sums = pass.graph.sum_with_own(&h).scale_rows(&d).scale_columns(&d);
        Ok((sums.bias(&pass.parameters.real(self.affine.bias)?).eval()?, ()))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        (): (),
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        let d = pass.graph.degree_powers(-0.5)?;
        self.affine.bias_gradient(dy, gradients)?;
        let dh = pass.graph.sum_with_own(dy).transpose().scale_rows(&d).scale_columns(&d).eval()?;
        product_gradient(self.affine.weight, x, &dh, pass.parameters, gradients, wanted)
    }
}
