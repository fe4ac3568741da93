//! Graph convolutions over signs.

use super::sign::BinaryWeight;
use crate::sign::through_sign;
use crate::step::{Compile, EPSILON, Step, Value, activated};
use crate::{Declare, Features, Gradients, Layer, ParameterId, Parameters, Pass, Start, Values};
use bitgraph_tensor::bittensor::{Packing, Scaling};
use bitgraph_tensor::ops::{BatchNormalised, batch_norm, batch_norm_backward, bit_gemm, bit_spmm, gemm, map, moments, spmm, sum_columns};
use bitgraph_tensor::{Bits, Dense, Signs, TensorBackend};

/// What a [`BinaryGcn`] makes of its input before it multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInput {
    /// Nothing: the input is signs, with factors or without.
    Ready,
    /// Nothing: the input is signs with a factor for each row, which sums of signs have to know of.
    Factors,
    /// Signs times the mean magnitude of each row. The factor is in the forward pass alone: a gradient through it costs accuracy.
    Scaled,
}

/// `D^-1/2 (A + I) D^-1/2 (X sign(W) mean|W| + b)`, aggregated in floats: the layer of Bi-GCN, and the last one of BitGNN's `bin`.
/// Sources: Wang et al., Bi-GCN, 2021; BitGNN, 2023.
#[derive(Clone, Copy, Debug)]
pub struct BinaryGcn {
    weight: ParameterId,
    bias: ParameterId,
    outputs: usize,
    input: SignInput,
    dropout: f64,
}

/// A weight that starts with the variance `1 / inputs`, by a uniform distribution.
pub(super) fn weight(declare: &mut Declare<'_>, outputs: usize) -> ParameterId {
    let inputs = declare.columns();
    // Glorot's bound is sqrt(6 / (a + b)), of variance 2 / (a + b).
    declare.parameter("weight", (inputs, outputs), Start::Glorot { inputs, outputs: inputs })
}

impl BinaryGcn {
    /// A layer of so many outputs, whose input after the signs has elements dropped in training.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, input: SignInput, dropout: f64) -> Self {
        let weight = weight(declare, outputs);
        Self { weight, bias: declare.parameter("bias", (1, outputs), Start::Constant(0.0)), outputs, input, dropout }
    }
}

/// A weight's signs, and the factors of its columns.
#[allow(clippy::type_complexity)] // a pair
pub(super) fn packed<B: TensorBackend + Bits>(
    parameters: &Parameters<B, f32>,
    id: ParameterId,
) -> Result<(Signs<B>, Dense<B, f32>), B::Error> {
    let w = BinaryWeight::new(&parameters.weight(id)?)?;
    Ok((w.signs.sign(Packing::Columns)?, w.means))
}

/// The step that makes signs of a layer's input, unless it gets signs.
pub(super) fn pack<'a, B: TensorBackend + Bits>(input: &Value<B, f32>, scaling: Scaling) -> Vec<Step<'a, B, f32>> {
    if matches!(input, Value::Signs(_)) {
        return Vec::new();
    }
    let name = if scaling == Scaling::None { "BIN: signs" } else { "BIN: signs and mean magnitudes of rows" };
    vec![Step::packing(name, move |x: &Value<B, f32>| Ok(Value::Signs(x.as_dense()?.sign_scaled(Packing::Rows, scaling)?)))]
}

/// What [`BinaryGcn`] keeps.
pub struct KeptProduct<B: TensorBackend> {
    signs: Dense<B, f32>,
    w: BinaryWeight<B>,
}

/// The signs of a matrix times the mean magnitude of each row.
pub(super) fn scaled<B: TensorBackend>(x: &Dense<B, f32>) -> Result<Dense<B, f32>, B::Error> {
    let signs = map(x).sign().eval()?;
    let share = Dense::filled(x.backend(), x.ncols(), 1, 1.0 / x.ncols().max(1) as f32)?;
    let means = gemm(&map(x).multiply(&signs).eval()?, &share).eval()?;
    map(&signs).times_rows(&means).eval()
}

impl<B: TensorBackend + Bits> Layer<B, f32> for BinaryGcn {
    type Kept = KeptProduct<B>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    /// Signs of the input, a product of bits, and its aggregation in floats.
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, f32>) -> Result<Option<Vec<Step<'a, B, f32>>>, B::Error> {
        let (graph, activation) = (at.graph, at.activation);
        let (weight, means) = packed(at.parameters, self.weight)?;
        let bias = at.parameters.real(self.bias)?;
        let held = vec![("signs of the weight", weight.bytes()), ("factors and bias", means.bytes() + bias.bytes())];
        let d = graph.degree_powers(-0.5)?;
        let mut steps = pack(at.input, Scaling::RowMeans);
        steps.push(Step::new("BMM.BBF: factors, bias", held, move |x: &Value<B, f32>| {
            Ok(Value::dense(bit_gemm(x.signs()?, &weight).times_columns(&means).bias(&bias).eval()?))
        }));
        steps.push(Step::new("BSpMM.FFF: spmm of floats, degrees", Vec::new(), move |h: &Value<B, f32>| {
            let sums = spmm(graph.adjacency()?, h.as_dense()?).own(1.0).scale_rows(&d).scale_columns(&d);
            Ok(Value::dense(activated(sums, activation).eval()?))
        }));
        Ok(Some(steps))
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let x = x.as_dense("a layer of signs")?;
        let mut signs = if self.input == SignInput::Scaled { scaled(x)? } else { x.clone() };
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            signs = map(&signs).dropout(dropout).eval()?;
        }
        let w = BinaryWeight::new(&pass.parameters.weight(self.weight)?)?;
        let h = gemm(&signs, &w.signs).times_columns(&w.means).bias(&pass.parameters.real(self.bias)?).eval()?;
        let d = pass.graph.degree_powers(-0.5)?;
        let y = spmm(pass.graph.adjacency()?, &h).own(1.0).scale_rows(&d).scale_columns(&d).eval()?;
        Ok((y, KeptProduct { signs, w }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        x: &Features<B, f32>,
        KeptProduct { signs, w }: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let d = pass.graph.degree_powers(-0.5)?;
        let dh = spmm(pass.graph.adjacency()?, dy).transpose().own(1.0).scale_rows(&d).scale_columns(&d).eval()?;
        gradients.set(self.bias, &sum_columns(&dh)?)?;
        let (dw, dx) = w.backward((&pass.parameters.weight(self.weight)?, &signs), &dh, wanted)?;
        gradients.set(self.weight, &dw)?;
        let Some(mut dx) = dx else { return Ok(None) };
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            dx = map(&dx).dropout(dropout).eval()?;
        }
        match self.input {
            SignInput::Ready | SignInput::Factors => Ok(Some(dx)),
            SignInput::Scaled => Ok(Some(through_sign(x.as_dense("a layer of signs")?, &dx)?)),
        }
    }
}

/// `sign((A + I) sign(norm(X sign(W))))`: signs are aggregated as signs, and signs go out, or floats: `(D + I)^-1/2` times the sums. `norm` is batch
/// normalisation by the statistics of all nodes, without a factor or summand. Source: BitGNN, 2023, `MM.FBB` and `BSpMM.BBB` or `BSpMM.BBF`.
#[derive(Clone, Copy, Debug)]
pub struct BinaryHidden {
    weight: ParameterId,
    outputs: usize,
    input: SignInput,
    dropout: f64,
    gives: Values,
}

impl BinaryHidden {
    /// A layer of so many outputs, whose input after signs with factors has elements dropped in training.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, (input, dropout): (SignInput, f64), gives: Values) -> Self {
        Self { weight: weight(declare, outputs), outputs, input, dropout, gives }
    }
}

/// What [`BinaryHidden`] keeps.
pub struct KeptHidden<B: TensorBackend> {
    /// Where they are not the input.
    signs: Option<Dense<B, f32>>,
    w: BinaryWeight<B>,
    z: Dense<B, f32>,
    norm: BatchNormalised<B, f32>,
    sums: Dense<B, f32>,
}

impl<B: TensorBackend + Bits> Layer<B, f32> for BinaryHidden {
    type Kept = KeptHidden<B>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn kept_bytes(&self, nodes: u64) -> u64 {
        3 * nodes * self.outputs as u64 * 4
    }
    /// A product of bits whose batch norm is a threshold, by the statistics of the graph at hand, and sums of signs as counts.
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, f32>) -> Result<Option<Vec<Step<'a, B, f32>>>, B::Error> {
        if at.activation.is_some() {
            return Ok(None);
        }
        let graph = at.graph;
        let (weight, means) = packed(at.parameters, self.weight)?;
        let scaling = if self.input == SignInput::Ready { Scaling::None } else { Scaling::RowMeans };
        let mut steps = pack(at.input, scaling);
        let input = match steps.first() {
            Some(step) => step.run(at.input)?,
            None => at.input.clone(),
        };
        let (mean, variance) = moments(&bit_gemm(input.signs()?, &weight).times_columns(&means).eval()?)?;
        let held = vec![("signs of the weight", weight.bytes()), ("factors and statistics", 3 * means.bytes())];
        steps.push(Step::new("BMM.BBB: factors, batch norm, sign", held, move |x: &Value<B, f32>| {
            let product = bit_gemm(x.signs()?, &weight).times_columns(&means);
            Ok(Value::Signs(product.batch_norm((&mean, &variance), None, EPSILON).eval_signs()?))
        }));
        let how = at.reconcile;
        if self.gives == Values::Floats {
            let d = graph.degree_powers(-0.5)?;
            steps.push(Step::new(format!("BSpMM.BBF by {}: degrees", how.name()), Vec::new(), move |s: &Value<B, f32>| {
                Ok(Value::dense(bit_spmm(graph.adjacency()?, s.signs()?).own().reconcile(how).scale_rows(&d).eval()?))
            }));
            return Ok(Some(steps));
        }
        steps.push(Step::new(format!("BSpMM.BBB by {}: sign", how.name()), Vec::new(), move |s: &Value<B, f32>| {
            Ok(Value::Signs(bit_spmm(graph.adjacency()?, s.signs()?).own().reconcile(how).eval_signs()?))
        }));
        Ok(Some(steps))
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let w = BinaryWeight::new(&pass.parameters.weight(self.weight)?)?;
        let x = x.as_dense("a layer of signs")?;
        let signs = match self.input {
            SignInput::Ready | SignInput::Factors => None,
            SignInput::Scaled => Some(match pass.dropout(self.dropout, 1) {
                Some(dropout) => map(&scaled(x)?).dropout(dropout).eval()?,
                None => scaled(x)?,
            }),
        };
        let z = gemm(signs.as_ref().unwrap_or(x), &w.signs).times_columns(&w.means).eval()?;
        let norm = batch_norm(&z, None, EPSILON)?;
        let aggregated = map(&norm.y).sign().eval()?;
        let d = pass.graph.degree_powers(-0.5)?;
        // The factor keeps its sign; it decides which sums are near enough to zero for a gradient to pass.
        let sums = spmm(pass.graph.adjacency()?, &aggregated).own(1.0).scale_rows(&d).eval()?;
        let y = if self.gives == Values::Bits { map(&sums).sign().eval()? } else { sums.clone() };
        Ok((y, KeptHidden { signs, w, z, norm, sums }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        x: &Features<B, f32>,
        kept: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let da = if self.gives == Values::Bits { through_sign(&kept.sums, dy)? } else { dy.clone() };
        let d = pass.graph.degree_powers(-0.5)?;
        let ds = spmm(pass.graph.adjacency()?, &da).transpose().own(1.0).scale_columns(&d).eval()?;
        let du = through_sign(&kept.norm.y, &ds)?;
        let (dz, _, _) = batch_norm_backward(&kept.z, &kept.norm, None, EPSILON, &du)?;
        let x = x.as_dense("a layer of signs")?;
        let (dw, dx) = kept.w.backward((&pass.parameters.weight(self.weight)?, kept.signs.as_ref().unwrap_or(x)), &dz, wanted)?;
        gradients.set(self.weight, &dw)?;
        let (SignInput::Scaled, Some(mut dx)) = (self.input, dx.clone()) else { return Ok(dx) };
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            dx = map(&dx).dropout(dropout).eval()?;
        }
        through_sign(x, &dx).map(Some)
    }
}

impl BinaryHidden {
    /// Its weight, where signs without factors come in and signs go out.
    pub(crate) fn of_signs(&self) -> Option<ParameterId> {
        (self.input == SignInput::Ready && self.gives == Values::Bits).then_some(self.weight)
    }
}
impl BinaryGcn {
    pub(crate) const fn weight_and_bias(&self) -> (ParameterId, ParameterId) {
        (self.weight, self.bias)
    }
    pub(crate) const fn input(&self) -> SignInput {
        self.input
    }
}
