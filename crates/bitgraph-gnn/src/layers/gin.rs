//! The layer of graph isomorphism networks, with a linear map.

use super::{Affine, ones, product_gradient};
use crate::step::{Compile, Step, Value, activated, and};
use crate::{Declare, Features, Float, Gradients, Graph, Layer, ParameterId, Parameters, Pass, Start};
use bitgraph_tensor::ops::{Operation, SparseDense, gemm, map, sum_columns};
use bitgraph_tensor::{Activation, Dense, TensorBackend};

/// `((1 + epsilon) I + L A) X W + b` with a learned epsilon and `L = (D + I)^exponent`, which keeps sums of hubs in range: -1 gives nearly
/// means, 0 plain sums. A perceptron of more layers is this one with [`Linear`](super::Linear) after it: sums and linear maps change places.
/// Source: Xu et al., 2019.
#[derive(Clone, Copy, Debug)]
pub struct Gin {
    affine: Affine,
    epsilon: ParameterId,
    exponent: f64,
    outputs: usize,
}

impl Gin {
    /// A layer of so many outputs, whose epsilon begins at a number.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, epsilon: f64, exponent: f64) -> Self {
        let epsilon = declare.parameter("epsilon", (1, 1), Start::Constant(epsilon));
        Self { affine: Affine::new(declare, outputs), epsilon, exponent, outputs }
    }
    /// `1 + epsilon` for every column.
    fn own<B: TensorBackend, T: Float>(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
    ) -> Result<Dense<B, T::Real>, B::Error> {
        let ones = ones::<B, T>(graph, (1, self.outputs))?;
        gemm(&parameters.real(self.epsilon)?, &ones).bias(&ones).eval()
    }
    fn sums<B: TensorBackend, T: Float>(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<Sums<B, T>, B::Error> {
        let h = x.times(&pass.parameters.weight(self.affine.weight)?)?;
        let scaled = map(&h).times_columns(&self.own(pass.graph, pass.parameters)?).eval_as::<T::Real>()?;
        let sums = pass.graph.sum(&h).scale_rows(&pass.graph.degree_powers(self.exponent)?);
        Ok((sums.add(&scaled).bias(&pass.parameters.real(self.affine.bias)?), h))
    }
}

/// The operation that gives a layer's result, and the product that it goes over.
type Sums<B, T> = (Operation<SparseDense<B, T>>, Dense<B, T>);

impl<B: TensorBackend, T: Float> Layer<B, T> for Gin {
    /// The product of the input and the weight.
    type Kept = Dense<B, T>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn work_bytes(&self, nodes: u64, _: u64, inputs: u64) -> [u64; 2] {
        let (own, real, outputs) = (size_of::<T>() as u64, size_of::<T::Real>() as u64, self.outputs as u64);
        [nodes * outputs * real, nodes * (outputs * (own + real) + inputs * own)]
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        let (weight, bias) = (at.parameters.weight(self.affine.weight)?, at.parameters.real(self.affine.bias)?);
        let own = self.own(at.graph, at.parameters)?;
        let (graph, activation, scale) = (at.graph, at.activation, at.graph.degree_powers(self.exponent)?);
        let held = vec![("weight", weight.bytes()), ("bias and factors", bias.bytes() + own.bytes())];
        let name = format!("X W, then A (X W): spmm, degrees, X W (1 + epsilon), bias{}", and(activation));
        Ok(Some(vec![Step::new(name, held, move |x: &Value<B, T>| {
            let h = x.features()?.times(&weight)?;
            let scaled = map(&h).times_columns(&own).eval_as::<T::Real>()?;
            let sums = graph.sum(&h).scale_rows(&scale).add(&scaled).bias(&bias);
            Ok(Value::dense(activated(sums, activation).eval()?))
        })]))
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Dense<B, T>), B::Error> {
        let (sums, h) = self.sums(pass, x)?;
        Ok((sums.eval()?, h))
    }
    fn forward_activated(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, f: Activation) -> Result<(Dense<B, T>, Dense<B, T>), B::Error> {
        let (sums, h) = self.sums(pass, x)?;
        Ok((sums.activation(f).eval()?, h))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        h: Dense<B, T>,
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
        wanted: bool,
    ) -> Result<Option<Dense<B, T>>, B::Error> {
        self.affine.bias_gradient(dy, gradients)?;
        let by_column = sum_columns(&map(dy).multiply(&h).eval_as::<T::Real>()?)?;
        gemm(&by_column, &ones::<B, T>(pass.graph, (self.outputs, 1))?).into(gradients.slot(self.epsilon)?)?;
        let scaled = map(dy).times_columns(&self.own(pass.graph, pass.parameters)?).eval_as::<T::Real>()?;
        let scale = pass.graph.degree_powers(self.exponent)?;
        let dh = pass.graph.sum(dy).transpose().scale_columns(&scale).add(&scaled).eval()?;
        product_gradient(self.affine.weight, x, &dh, pass.parameters, gradients, wanted)
    }
}
