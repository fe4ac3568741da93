//! Two layers of signs as one operation of a backend.

use crate::quant::{BinaryGcn, BinaryHidden, BinaryWeight, EPSILON, SignInput};
use crate::{Features, Float, Graph, Model, ParameterId, Parameters};
use bitgraph_backend::Matrix;
use bitgraph_tensor::bittensor::{Packing, Scaling};
use bitgraph_tensor::ops::{BitGcn, BitGcnHidden, BitGcnOp, Whole, bit_gemm, moments};
use bitgraph_tensor::{Bits, Dense, SignScales, Signs, TensorBackend};

/// The first of both layers.
enum First<'m> {
    Signs(&'m BinaryHidden),
    Floats(&'m BinaryGcn),
}

/// The layers of `bin` or `bi-full`, if that is what a model consists of.
fn layers<B: TensorBackend, T: Float>(model: &Model<B, T>) -> Option<(First<'_>, &BinaryGcn)> {
    let [first, second] = model.blocks() else { return None };
    let plain = |around: &crate::Around| *around == crate::Around { dropout: around.dropout, ..crate::Around::default() };
    let last = second.stage.any().downcast_ref::<BinaryGcn>().filter(|_| plain(&first.around) && plain(&second.around))?;
    match (first.stage.any().downcast_ref::<BinaryHidden>(), first.stage.any().downcast_ref::<BinaryGcn>()) {
        (Some(hidden), _) if last.input() == SignInput::Ready && hidden.of_signs().is_some() => Some((First::Signs(hidden), last)),
        (_, Some(hidden)) if last.input() == SignInput::Scaled => Some((First::Floats(hidden), last)),
        _ => None,
    }
}

/// Signs of a weight, and the factors of its columns.
type Weight<B> = (Signs<B>, Dense<B, f32>);

/// What the operation reads.
struct Operands<B: TensorBackend> {
    scales: Dense<B, f32>,
    features: Signs<B>,
    feature_scales: Option<Dense<B, f32>>,
    first: Weight<B>,
    second: Weight<B>,
    hidden: Hidden<B>,
    bias: Dense<B, f32>,
}

/// What goes into the first layer besides its weight.
enum Hidden<B: TensorBackend> {
    Statistics(Dense<B, f32>, Dense<B, f32>),
    Bias(Dense<B, f32>),
}

impl<B: TensorBackend + Bits> Operands<B> {
    /// Those of a model; none of one of other layers.
    fn of<T: Float>(
        model: &Model<B, T>,
        graph: &Graph<B, T::Real>,
        parameters: &Parameters<B, T>,
        x: &Features<B, T>,
    ) -> Result<Option<Self>, B::Error> {
        let (Some((layer, last)), Features::Dense(x)) = (layers(model), x) else { return Ok(None) };
        let real = |id: ParameterId| -> Result<Option<Dense<B, f32>>, B::Error> { Ok(parameters.real(id)?.any().get::<f32>()) };
        let weight = |id: ParameterId| -> Result<Option<Weight<B>>, B::Error> {
            let Some(w) = real(id)? else { return Ok(None) };
            let w = BinaryWeight::new(&w)?;
            Ok(Some((w.signs.sign(Packing::Columns)?, w.means)))
        };
        let (first, scaling) = match &layer {
            First::Signs(layer) => (layer.of_signs(), Scaling::None),
            First::Floats(layer) => (Some(layer.weight_and_bias().0), Scaling::RowMeans),
        };
        let Some(first) = first else { return Ok(None) };
        let (second, bias) = last.weight_and_bias();
        let scales = graph.degree_powers(-0.5)?.any().get::<f32>();
        let (Some(scales), Some(first), Some(second), Some(bias)) = (scales, weight(first)?, weight(second)?, real(bias)?) else {
            return Ok(None);
        };
        let signs = x.sign_scaled(Packing::Rows, scaling)?;
        let feature_scales = match signs.scales() {
            SignScales::Rows(scales) => Some(scales.clone()),
            _ => None,
        };
        let features = signs.without_scales();
        let hidden = match &layer {
            First::Signs(_) => {
                let (mean, variance) = moments(&bit_gemm(&features, &first.0).times_columns(&first.1).eval()?)?;
                Hidden::Statistics(mean, variance)
            }
            First::Floats(layer) => match real(layer.weight_and_bias().1)? {
                Some(bias) => Hidden::Bias(bias),
                None => return Ok(None),
            },
        };
        Ok(Some(Self { scales, features, feature_scales, first, second, hidden, bias }))
    }
    fn op<'a>(&'a self, adjacency: &'a Matrix<B>) -> BitGcnOp<'a, B> {
        BitGcnOp {
            adjacency,
            scales: &self.scales,
            features: &self.features,
            feature_scales: self.feature_scales.as_ref(),
            first: &self.first.0,
            first_scales: &self.first.1,
            hidden: match &self.hidden {
                Hidden::Statistics(mean, variance) => BitGcnHidden::Signs { mean, variance, epsilon: EPSILON },
                Hidden::Bias(bias) => BitGcnHidden::Floats { bias },
            },
            second: &self.second.0,
            second_scales: &self.second.1,
            bias: &self.bias,
        }
    }
}

/// The model as one operation, or why the backend declines; none for models of other layers.
#[allow(clippy::type_complexity)] // what the backend answers, or none
pub(super) fn of<B: TensorBackend + Bits, T: Float>(
    model: &Model<B, T>,
    graph: &Graph<B, T::Real>,
    parameters: &Parameters<B, T>,
    x: &Features<B, T>,
) -> Result<Option<Whole<Box<dyn BitGcn<B>>>>, B::Error> {
    let Some(operands) = Operands::of(model, graph, parameters, x)? else { return Ok(None) };
    graph.backend().bit_gcn(&operands.op(graph.adjacency()?)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::LowBits;
    use crate::{Architecture, Precision, data};
    use bitgraph_cpu::Cpu;
    use bitgraph_tensor::ops::{bit_spmm, spmm};

    /// The operation as it is documented, operation by operation.
    fn logits(op: &BitGcnOp<'_, Cpu>) -> Dense<Cpu, f32> {
        let mut x = op.features.clone();
        if let Some(scales) = op.feature_scales {
            x = x.with_row_scales(scales).unwrap();
        }
        let product = bit_gemm(&x, op.first).times_columns(op.first_scales);
        let aggregated =
            |h: &Dense<Cpu, f32>| spmm(op.adjacency, h).own(1.0).scale_rows(op.scales).scale_columns(op.scales).eval().unwrap();
        let hidden = match &op.hidden {
            BitGcnHidden::Signs { mean, variance, epsilon } => {
                let signs = product.batch_norm((*mean, *variance), None, *epsilon).eval_signs().unwrap();
                bit_spmm(op.adjacency, &signs).own().eval_signs().unwrap()
            }
            BitGcnHidden::Floats { bias } => {
                aggregated(&product.bias(bias).eval().unwrap()).sign_scaled(Packing::Rows, Scaling::RowMeans).unwrap()
            }
        };
        aggregated(&bit_gemm(&hidden, op.second).times_columns(op.second_scales).bias(op.bias).eval().unwrap())
    }

    #[test]
    fn the_operation_is_the_forward_pass() {
        let set = data::open("planted:150:3:8".as_ref(), &bitgraph_sparse::Control::default()).unwrap();
        let shape = Architecture::Gcn.recipe(3).shape;
        for precision in [Precision::Bin, Precision::BiFull] {
            let LowBits { model, task } = LowBits::new(&Cpu::new(), &set, 0, precision, &shape).unwrap();
            let parameters = model.start(&Cpu::new(), 5).unwrap();
            let operands = Operands::of(&model, &task.graph, &parameters, &task.features).unwrap().unwrap();
            let op = operands.op(task.graph.adjacency().unwrap());
            assert_eq!(op.feature_scales.is_some(), precision == Precision::BiFull);
            let found = logits(&op).to_host().unwrap();
            let expected = model.infer(&task.graph, &parameters, &task.features).unwrap().to_host().unwrap();
            let near = |found: &[f32]| found.iter().zip(&expected).all(|(f, e)| (f - e).abs() < 1e-5 * e.abs().max(1.0));
            assert!(near(&found), "{precision}");
            match Cpu::new().bit_gcn(&op).unwrap() {
                Whole::Done(whole) => {
                    assert!(near(&whole.eval(&Cpu::new(), (150, 3)).unwrap().to_host().unwrap()), "{precision}: {}", whole.form());
                }
                Whole::Declined(reason) => assert!(precision == Precision::BiFull, "{reason}"),
            }
        }
        let three = crate::Shape { layers: 3, ..shape };
        let LowBits { model, task } = LowBits::new(&Cpu::new(), &set, 0, Precision::Bin, &three).unwrap();
        let parameters = model.start(&Cpu::new(), 5).unwrap();
        assert!(Operands::of(&model, &task.graph, &parameters, &task.features).unwrap().is_none(), "two layers alone");
    }
}
