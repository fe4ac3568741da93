//! The layers of the library.

mod agnn;
mod gat;
mod gatv2;
mod gcn;
mod gin;
mod heads;
mod linear;
mod sage;
mod transformer;

pub use agnn::Agnn;
pub use gat::Gat;
pub use gatv2::GatV2;
pub use gcn::Gcn;
pub use gin::Gin;
pub use heads::Heads;
pub use linear::Linear;
pub use sage::{Sage, SageKind};
pub use transformer::Transformer;

use crate::constants::Constant;
use crate::{Before, Declare, Features, Float, Gradients, Graph, ParameterId, Parameters, Pass, Start};
use bitgraph_tensor::ops::{gemm, map, sum_columns_into};
use bitgraph_tensor::{Dense, TensorBackend};

/// The slope of LeakyReLU in the scores of attention.
const SLOPE: f64 = 0.2;

/// A weight and a bias.
#[derive(Clone, Copy, Debug)]
struct Affine {
    weight: ParameterId,
    bias: ParameterId,
}

impl Affine {
    fn new(declare: &mut Declare<'_>, outputs: usize) -> Self {
        let inputs = declare.columns();
        let weight = declare.parameter("weight", (inputs, outputs), Start::Glorot { inputs, outputs });
        Self { weight, bias: declare.parameter("bias", (1, outputs), Start::Constant(0.0)) }
    }
    /// Writes the gradients of a weight by which `x` was multiplied and of the bias, that of the product and of the sum being `dy`: in one pass
    /// over it where the backend has that.
    fn gradients<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        (x, weight): (&Dense<B, T>, ParameterId),
        dy: &Dense<B, T>,
        to: &mut Gradients<B, T::Real>,
    ) -> Result<(), B::Error> {
        let product = gemm(x, dy).transpose_a();
        if pass.column_sums.is_none() && product.sums_columns() {
            let sums = product.into_with_sums(to.slot(weight)?)?;
            return to.set(self.bias, &sums);
        }
        self.bias_gradient(pass, dy, to)?;
        product.into(to.slot(weight)?)
    }
    /// Writes the gradient of the bias.
    fn bias_gradient<B: TensorBackend, T: Float>(
        &self,
        pass: &Pass<'_, B, T>,
        dy: &Dense<B, T>,
        to: &mut Gradients<B, T::Real>,
    ) -> Result<(), B::Error> {
        bias_gradient(pass, self.bias, dy, to)
    }
}

/// Writes the gradient of a bias that is added to a layer's result, of which `dy` is the gradient.
fn bias_gradient<B: TensorBackend, T: Float>(
    pass: &Pass<'_, B, T>,
    bias: ParameterId,
    dy: &Dense<B, T>,
    to: &mut Gradients<B, T::Real>,
) -> Result<(), B::Error> {
    match pass.column_sums {
        Some(sums) => to.set(bias, sums),
        None => sum_columns_into(dy, to.slot(bias)?),
    }
}

/// Dense features of the first layer in training, where they are no wider than the result: their sum over neighbours then comes before the
/// product with the weight. Their gradient is wanted for nothing, so that the sum has no part in the backward pass. `scaled` says whether
/// degrees keep the sums in range.
fn summed_first<'x, B: TensorBackend, T: Float>(
    pass: &Pass<'_, B, T>,
    x: &'x Features<B, T>,
    outputs: usize,
    scaled: bool,
) -> Option<&'x Dense<B, T>> {
    match x {
        Features::Dense(x) if is_first_and_dense((pass, outputs), x) && holds_sums::<T>(scaled) => Some(x),
        _ => None,
    }
}
/// The condition of [`summed_first`] that is not about the type.
fn is_first_and_dense<B: TensorBackend, T: Float>((pass, outputs): (&Pass<'_, B, T>, usize), x: &Dense<B, T>) -> bool {
    pass.begins_training() && x.ncols() <= outputs
}
/// Whether a layer of so many outputs that drops elements of its input itself does so here.
pub(crate) fn drops_here<B: TensorBackend, T: Float>(at: (&Pass<'_, B, T>, usize), x: &Features<B, T>) -> bool {
    matches!(x, Features::Dense(x) if is_first_and_dense(at, x))
}
/// Whether sums of features can be stored: 65 536 ones are more than f16 has, where their products with a small weight are not.
fn holds_sums<T: Float>(scaled: bool) -> bool {
    scaled || !T::NEEDS_LOSS_SCALE
}

/// A weight without a bias.
fn weight(declare: &mut Declare<'_>, name: &str, outputs: usize) -> ParameterId {
    let inputs = declare.columns();
    declare.parameter(name, (inputs, outputs), Start::Glorot { inputs, outputs })
}

/// A matrix of ones.
fn ones<B: TensorBackend, T: Float>(graph: &Graph<B, T::Real>, (rows, columns): (usize, usize)) -> Result<Dense<B, T::Real>, B::Error> {
    graph.constant(Constant::Ones { rows, columns }, (rows, columns), |_, _| <T::Real as bitgraph_tensor::Real>::of(1.0))
}

/// The sum of gradients of an input, where they were wanted.
fn summed<B: TensorBackend, T: Float>(parts: Vec<Option<Dense<B, T>>>) -> Result<Option<Dense<B, T>>, B::Error> {
    let add = |sum: Dense<B, T>, part: Dense<B, T>| map(&sum).add(&part).eval();
    let mut parts = parts.into_iter().flatten();
    let Some(first) = parts.next() else { return Ok(None) };
    parts.try_fold(first, add).map(Some)
}

/// Writes the gradient of a weight from that of its product with the input; gives that of the input where it is wanted, after what it goes
/// through.
fn product_gradient<B: TensorBackend, T: Float>(
    weight: ParameterId,
    x: &Features<B, T>,
    dh: &Dense<B, T>,
    parameters: &Parameters<B, T>,
    gradients: &mut Gradients<B, T::Real>,
    wanted: Option<&Before<'_, B, T>>,
) -> Result<Option<Dense<B, T>>, B::Error> {
    x.weight_gradient(dh, gradients.slot(weight)?)?;
    let Some(before) = wanted else { return Ok(None) };
    before.within(gemm(dh, &parameters.weight(weight)?).transpose_b()).eval().map(Some)
}
