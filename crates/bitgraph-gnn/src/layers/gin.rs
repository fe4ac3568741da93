//! The layer of graph isomorphism networks, with a linear map.

use super::{Affine, ones, product_gradient, summed_first};
use crate::step::{Compile, Step, Value, activated, and};
use crate::sums::Together;
use crate::{Before, Declare, End, Features, Float, Gradients, Graph, Layer, ParameterId, Parameters, Pass, Start};
use bitgraph_tensor::ops::{Operation, SparseDense, dot_columns, gemm, map};
use bitgraph_tensor::{Dense, TensorBackend};

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
    /// `1 + epsilon` for each of so many columns.
    fn own<B: TensorBackend, T: Float>(
        &self,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        columns: usize,
    ) -> Result<Dense<B, T::Real>, B::Error> {
        let ones = ones::<B, T>(graph, (1, columns))?;
        gemm(&parameters.real(self.epsilon)?, &ones).bias(&ones).eval()
    }
    /// The result, and what is kept.
    #[allow(clippy::type_complexity)] // a pair
    fn result<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        x: &Features<B, T>,
        end: End,
    ) -> Result<(Dense<B, T>, GinKept<B, T>), B::Error> {
        // From the root of the degree on, as in graph convolutions.
        let Some(x) = summed_first(pass, x, self.outputs, self.exponent <= -0.5) else {
            let (sums, h) = self.sums(pass, x)?;
            return Ok((end.of_sums(sums)?, GinKept::Product(h)));
        };
        let own = self.own(pass.graph, pass.parameters, x.ncols())?;
        let scale = pass.graph.degree_powers(self.exponent)?;
        let neighbours = pass.graph.sum(x)?.scale_rows(&scale);
        let sums = if pass.of_features {
            // Those over neighbours stay the same from step to step, and epsilon does not.
            let together = Together::Power { exponent: self.exponent.to_bits() };
            map(&pass.together(together, x, || neighbours.eval())?).add_times_columns(x, &own).eval()?
        } else {
            neighbours.add_times_columns(x, &own).eval()?
        };
        let product = gemm(&sums, &pass.parameters.weight(self.affine.weight)?).bias(&pass.parameters.real(self.affine.bias)?);
        Ok((end.within(product).eval()?, GinKept::Sums(sums)))
    }
    /// The gradients of the weight, of the bias and of epsilon where sums came first. The last one is the sum of `dy` times `x W`, which is that
    /// of `W` times `x^T dy`: a matrix of the weight's size instead of the result's.
    fn gradients_of_sums<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        (x, sums): (&Dense<B, T>, &Dense<B, T>),
        dy: &Dense<B, T>,
        gradients: &mut Gradients<B, T::Real>,
    ) -> Result<(), B::Error> {
        self.affine.gradients(pass, (sums, self.affine.weight), dy, gradients)?;
        let of_own = gemm(x, dy).transpose_a().eval_as::<T::Real>()?;
        self.epsilon_gradient::<B, T>(pass, &dot_columns(&of_own, &pass.parameters.real(self.affine.weight)?)?, gradients)
    }
    /// Writes the gradient of epsilon from what it is the sum of.
    fn epsilon_gradient<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        by_column: &Dense<B, T::Real>,
        gradients: &mut Gradients<B, T::Real>,
    ) -> Result<(), B::Error> {
        gemm(by_column, &ones::<B, T>(pass.graph, (self.outputs, 1))?).into(gradients.slot(self.epsilon)?)
    }
    fn sums<B: TensorBackend, T: Float>(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<Sums<B, T>, B::Error> {
        let h = x.times(&pass.parameters.weight(self.affine.weight)?)?;
        let own = self.own(pass.graph, pass.parameters, self.outputs)?;
        let sums = pass.graph.sum(&h)?.scale_rows(&pass.graph.degree_powers(self.exponent)?).add_times_columns(&h, &own);
        Ok((sums.bias(&pass.parameters.real(self.affine.bias)?), h))
    }
}

/// The operation that gives a layer's result, and the product that it goes over.
type Sums<B, T> = (Operation<SparseDense<B, T>>, Dense<B, T>);

/// What the backward pass of [`Gin`] needs.
pub enum GinKept<B: TensorBackend, T: Float> {
    /// The product of the input and the weight.
    Product(Dense<B, T>),
    /// The sums over neighbours and the node itself, where they come before the product.
    Sums(Dense<B, T>),
}

impl<B: TensorBackend, T: Float> Layer<B, T> for Gin {
    type Kept = GinKept<B, T>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, T>) -> Result<Option<Vec<Step<'a, B, T>>>, B::Error> {
        let (weight, bias) = (at.parameters.weight(self.affine.weight)?, at.parameters.real(self.affine.bias)?);
        let own = self.own(at.graph, at.parameters, self.outputs)?;
        let (graph, activation, scale) = (at.graph, at.activation, at.graph.degree_powers(self.exponent)?);
        let held = vec![("weight", weight.bytes()), ("bias and factors", bias.bytes() + own.bytes())];
        let name = format!("X W, then A (X W): spmm, degrees, X W (1 + epsilon), bias{}", and(activation));
        Ok(Some(vec![Step::new(name, held, move |x: &Value<B, T>| {
            let h = x.features()?.times(&weight)?;
            let sums = graph.sum(&h)?.scale_rows(&scale).add_times_columns(&h, &own).bias(&bias);
            Ok(Value::dense(activated(sums, activation).eval()?))
        })]))
    }
    fn forward(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.result(pass, x, End::default())
    }
    fn forward_to(&self, pass: &Pass<'_, B, T>, x: &Features<B, T>, end: End) -> Result<(Dense<B, T>, Self::Kept), B::Error> {
        self.result(pass, x, end)
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
        let h = match kept {
            GinKept::Product(h) => h,
            GinKept::Sums(sums) => {
                self.gradients_of_sums(pass, (x.as_dense("a layer of sums")?, &sums), dy, gradients)?;
                return Ok(None);
            }
        };
        self.affine.bias_gradient(pass, dy, gradients)?;
        self.epsilon_gradient::<B, T>(pass, &dot_columns(dy, &h)?, gradients)?;
        let own = self.own(pass.graph, pass.parameters, self.outputs)?;
        let scale = pass.graph.degree_powers(self.exponent)?;
        // Rows are scaled before they are summed: once for a node, not once for an entry.
        let dh = pass.graph.sum(&map(dy).times_rows(&scale).eval()?)?.transpose().add_times_columns(dy, &own).eval()?;
        product_gradient(self.affine.weight, x, &dh, pass.parameters, gradients, wanted)
    }
}
