//! Two layers of signs as one operation of a backend.

use crate::quant::{BinaryGcn, BinaryHidden, BinaryWeight, EPSILON, SignInput};
use crate::{Features, Float, Graph, Model, ParameterId, Parameters};
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
        (Some(hidden), _) if last.input() == SignInput::Ready => Some((First::Signs(hidden), last)),
        (_, Some(hidden)) if last.input() == SignInput::Scaled => Some((First::Floats(hidden), last)),
        _ => None,
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
    let (Some((hidden, last)), Features::Dense(x)) = (layers(model), x) else { return Ok(None) };
    let real = |id: ParameterId| -> Result<Option<Dense<B, f32>>, B::Error> { Ok(parameters.real(id)?.any().get::<f32>()) };
    let weight = |id: ParameterId| -> Result<Option<(Signs<B>, Dense<B, f32>)>, B::Error> {
        let Some(w) = real(id)? else { return Ok(None) };
        let w = BinaryWeight::new(&w)?;
        Ok(Some((w.signs.sign(Packing::Columns)?, w.means)))
    };
    let (first, bias) = match &hidden {
        First::Signs(layer) => (layer.weight(), None),
        First::Floats(layer) => (layer.weight_and_bias().0, real(layer.weight_and_bias().1)?),
    };
    let (second, last_bias) = last.weight_and_bias();
    let scales = graph.degree_powers(-0.5)?.any().get::<f32>();
    let (Some(scales), Some(first), Some(second), Some(last_bias)) = (scales, weight(first)?, weight(second)?, real(last_bias)?) else {
        return Ok(None);
    };
    let signs = x.sign_scaled(Packing::Rows, if bias.is_some() { Scaling::RowMeans } else { Scaling::None })?;
    let feature_scales = match signs.scales() {
        SignScales::Rows(scales) => Some(scales.clone()),
        _ => None,
    };
    let features = signs.without_scales();
    let statistics = match &hidden {
        First::Signs(_) => Some(moments(&bit_gemm(&features, &first.0).times_columns(&first.1).eval()?)?),
        First::Floats(_) => None,
    };
    let hidden = match (&statistics, &bias) {
        (Some((mean, variance)), _) => BitGcnHidden::Signs { mean, variance, epsilon: EPSILON },
        (None, Some(bias)) => BitGcnHidden::Floats { bias },
        (None, None) => return Ok(None),
    };
    let op = BitGcnOp {
        adjacency: graph.adjacency(),
        scales: &scales,
        features: &features,
        feature_scales: feature_scales.as_ref(),
        first: &first.0,
        first_scales: &first.1,
        hidden,
        second: &second.0,
        second_scales: &second.1,
        bias: &last_bias,
    };
    graph.backend().bit_gcn(&op).map(Some)
}
