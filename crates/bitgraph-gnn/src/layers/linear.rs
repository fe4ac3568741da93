//! A linear map of every node's features.

use super::{Affine, product_gradient};
use crate::step::{Compile, Step, Value, activated, and};
use crate::{Before, Declare, Features, Float, Gradients, Layer, Pass};
use bitgraph_tensor::ops::{gemm, map, spmm};
use bitgraph_tensor::{Dense, TensorBackend};

/// `X W + b`.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    affine: Affine,
    outputs: usize,
}

impl Linear {
    /// A layer of so many outputs.
    pub fn new(declare: &mut Declare<'_>, outputs: usize) -> Self {
        Self { affine: Affine::new(declare, outputs), outputs }
    }
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Linear {
    type Kept = ();

    fn columns(&self) -> usize {
        self.outputs
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn kept_bytes(&self, _: u64) -> u64 {
        0
    }
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        let (weight, bias) = (at.parameters.weight(self.affine.weight)?, at.parameters.real(self.affine.bias)?);
        let activation = at.activation;
        let held = vec![("weight", weight.bytes()), ("bias", bias.bytes())];
        Ok(Some(vec![Step::new(format!("X W, bias{}", and(activation)), held, move |x: &Value<B, T>| {
            Ok(Value::dense(match x.features()? {
                Features::Dense(x) => activated(gemm(x, &weight).bias(&bias), activation).eval()?,
                Features::Sparse { pattern, values } => {
                    activated(spmm(pattern, &weight).edge_values(values).bias(&bias), activation).eval()?
                }
                Features::Streamed(x) => activated(map(&x.times(&weight)?).bias(&bias), activation).eval()?,
            }))
        })]))
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, ()), B::Error> {
        let h = x.times(&pass.parameters.weight(self.affine.weight)?)?;
        Ok((map(&h).bias(&pass.parameters.real(self.affine.bias)?).eval()?, ()))
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
        self.backward_to(pass, x, (), dy, gradients, wanted.then_some(&Before::BARE))
    }
    fn backward_to(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        (): (),
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: Option<&Before<'_, B, T>>,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        self.affine.bias_gradient(pass, dy, gradients)?;
        product_gradient(self.affine.weight, x, dy, pass.parameters, gradients, wanted)
    }
}
