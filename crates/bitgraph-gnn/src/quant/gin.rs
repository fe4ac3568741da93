//! Linear maps over signs and over codes of few bits, of a node's own values or of sums over its neighbours: what isomorphism networks of few
//! bits consist of.
//!
//! Invariant: products and sums are of whole numbers, which floats hold exactly below 2^24; factors come last, so that the order of product and
//! sum changes nothing.

use super::binary::{SignInput, pack, packed, scaled, weight};
use super::lsq::{Quantised, Quantiser};
use super::sign::BinaryWeight;
use crate::sign::through_sign;
use crate::step::{Compile, Step, Value, activated, and};
use crate::{Declare, Features, Gradients, Graph, Layer, ParameterId, Pass, Start};
use bitgraph_tensor::bittensor::{Packing, Scaling};
use bitgraph_tensor::ops::{bit_gemm, bit_spmm, gemm, map, spmm};
use bitgraph_tensor::{Bits, Dense, TensorBackend};

/// Whose values a map is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The node's own.
    Own,
    /// The sum of the node's own and its neighbours'.
    Sums,
}

impl Over {
    fn sum<B: TensorBackend>(self, graph: &Graph<B, f32>, h: Dense<B, f32>) -> Result<Dense<B, f32>, B::Error> {
        match self {
            Self::Own => Ok(h),
            Self::Sums => spmm(graph.adjacency()?, &h).own(1.0).eval(),
        }
    }
    /// From the gradient of the sums that of what is summed.
    fn back<B: TensorBackend>(self, graph: &Graph<B, f32>, dy: &Dense<B, f32>) -> Result<Dense<B, f32>, B::Error> {
        match self {
            Self::Own => Ok(dy.clone()),
            Self::Sums => spmm(graph.adjacency()?, dy).transpose().own(1.0).eval(),
        }
    }
}

/// `X sign(W) mean|W|` or `(A + I) X sign(W) mean|W|` of signs `X`; batch normalisation after it has the summand.
#[derive(Clone, Copy, Debug)]
pub struct BinaryMap {
    weight: ParameterId,
    outputs: usize,
    input: SignInput,
    over: Over,
}

impl BinaryMap {
    /// A map of so many outputs.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, input: SignInput, over: Over) -> Self {
        Self { weight: weight(declare, outputs), outputs, input, over }
    }
}

/// What [`BinaryMap`] keeps.
pub struct KeptMap<B: TensorBackend> {
    signs: Option<Dense<B, f32>>,
    w: BinaryWeight<B>,
}

/// Bits of a count of messages of a node of so many neighbours and its own.
fn count_bits(degree: usize) -> u32 {
    usize::BITS - (degree + 1).leading_zeros()
}

impl<B: TensorBackend + Bits> Layer<B, f32> for BinaryMap {
    type Kept = KeptMap<B>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn ends_in_signs(&self) -> bool {
        self.input == SignInput::Ready
    }
    /// Signs are summed as counts, of which a product with signs is one of few planes; signs with factors are multiplied first.
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, f32>) -> Result<Option<Vec<Step<'a, B, f32>>>, B::Error> {
        let (graph, activation) = (at.graph, at.activation);
        let (weight, means) = packed(at.parameters, self.weight)?;
        let held = vec![("signs of the weight", weight.bytes()), ("factors", means.bytes())];
        let scaling = if self.input == SignInput::Scaled { Scaling::RowMeans } else { Scaling::None };
        let mut steps = pack(at.input, scaling);
        let bits = count_bits(graph.max_degree());
        let counts = self.over == Over::Sums && self.input == SignInput::Ready && bits <= 16;
        if counts {
            steps.push(Step::new(format!("BSpMM.BBI: counts of signs, {bits} bits"), Vec::new(), move |x: &Value<B, f32>| {
                Ok(Value::Planes(bit_spmm(graph.adjacency()?, x.signs()?).own().eval_counts(bits)?))
            }));
        }
        if self.over == Over::Own || counts {
            let threshold = at.threshold.cloned();
            let name = match (counts, &threshold) {
                (true, None) => format!("BMM.IBF: counts by signs, factors{}", and(activation)),
                (true, Some(_)) => "BMM.IBB: counts by signs, factors, batch norm, sign".to_owned(),
                (false, None) => format!("BMM.BBF: factors{}", and(activation)),
                (false, Some(_)) => "BMM.BBB: factors, batch norm, sign".to_owned(),
            };
            steps.push(Step::new(name, held, move |x: &Value<B, f32>| {
                let product = if counts { bit_gemm(x.planes()?, &weight) } else { bit_gemm(x.signs()?, &weight) };
                let product = product.times_columns(&means);
                match &threshold {
                    Some(t) => Ok(Value::Signs(t.normalise(product).eval_signs()?)),
                    None => Ok(Value::dense(activated(product, activation).eval()?)),
                }
            }));
            return Ok(Some(steps));
        }
        steps.push(Step::new("BMM.BBF", held, move |x: &Value<B, f32>| Ok(Value::dense(bit_gemm(x.signs()?, &weight).eval()?))));
        let threshold = at.threshold.cloned();
        let name =
            format!("BSpMM.FFF: spmm of floats, factors{}{}", and(activation), threshold.as_ref().map_or("", |_| ", batch norm, sign"));
        steps.push(Step::new(name, Vec::new(), move |h: &Value<B, f32>| {
            let sums = spmm(graph.adjacency()?, h.as_dense()?).own(1.0).times_columns(&means);
            match &threshold {
                Some(t) => Ok(Value::Signs(t.normalise(sums).eval()?.sign(Packing::Rows)?)),
                None => Ok(Value::dense(activated(sums, activation).eval()?)),
            }
        }));
        Ok(Some(steps))
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let x = x.as_dense("a layer of signs")?;
        let signs = if self.input == SignInput::Scaled { Some(scaled(x)?) } else { None };
        let w = BinaryWeight::new(&pass.parameters.weight(self.weight)?)?;
        let h = self.over.sum(pass.graph, gemm(signs.as_ref().unwrap_or(x), &w.signs).eval()?)?;
        Ok((map(&h).times_columns(&w.means).eval()?, KeptMap { signs, w }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        x: &Features<B, f32>,
        KeptMap { signs, w }: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let x = x.as_dense("a layer of signs")?;
        let dh = self.over.back(pass.graph, dy)?;
        let weight = pass.parameters.weight(self.weight)?;
        let (dw, dx) = w.backward((&weight, signs.as_ref().unwrap_or(x)), &dh, wanted)?;
        gradients.set(self.weight, &dw)?;
        match (self.input, dx) {
            (SignInput::Scaled, Some(dx)) => through_sign(x, &dx).map(Some),
            (_, dx) => Ok(dx),
        }
    }
}

/// `Q(X) Q(W)` or `(A + I) Q(X) Q(W)` of values of 0 and above, where each `Q` rounds to few levels with learned steps, one for each column of the
/// weight.
#[derive(Clone, Copy, Debug)]
pub struct BitsMap {
    weight: ParameterId,
    outputs: usize,
    of_input: Quantiser,
    of_weight: Quantiser,
    over: Over,
}

/// What [`BitsMap`] keeps.
pub struct KeptCodes<B: TensorBackend> {
    input: Quantised<B>,
    weight: Quantised<B>,
}

impl BitsMap {
    /// A map of so many outputs, of `(weights, activations)` bits, 1 to 16. `mean` is the mean magnitude of the input before training.
    pub fn new(declare: &mut Declare<'_>, outputs: usize, (weights, activations): (u32, u32), mean: f64, over: Over) -> Self {
        let inputs = declare.columns();
        let bound = (6.0 / (inputs + outputs).max(1) as f64).sqrt();
        Self {
            weight: declare.parameter("weight", (inputs, outputs), Start::Glorot { inputs, outputs }),
            outputs,
            of_input: Quantiser::new(declare, "step.input", None, (activations, false, mean)),
            of_weight: Quantiser::new(declare, "step.weight", Some(outputs), (weights, true, bound / 2.0)),
            over,
        }
    }
}

/// The step of the input, which all its columns have, times those of the weight.
fn factors<B: TensorBackend>(input: &Dense<B, f32>, weight: &Dense<B, f32>) -> Result<Dense<B, f32>, B::Error> {
    gemm(&input.columns(0..1)?, weight).eval()
}

impl<B: TensorBackend + Bits> Layer<B, f32> for BitsMap {
    type Kept = KeptCodes<B>;

    fn columns(&self) -> usize {
        self.outputs
    }
    fn reads_loops(&self) -> bool {
        false
    }
    fn reads_transpose(&self) -> bool {
        false
    }
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, f32>) -> Result<Option<Vec<Step<'a, B, f32>>>, B::Error> {
        let (graph, parameters, activation) = (at.graph, at.parameters, at.activation);
        let real = parameters.weight(self.weight)?;
        let of_weight = self.of_weight.rows(parameters, (graph.backend(), self.outputs))?;
        let of_input = self.of_input.rows(parameters, (graph.backend(), real.nrows()))?;
        let columns = factors(&of_input.steps, &of_weight.steps)?;
        let weight = self.of_weight.planes(&of_weight, &real, Packing::Columns)?;
        let held = vec![("codes of the weight", weight.bytes()), ("steps", of_input.bytes() + columns.bytes())];
        let q = self.of_input;
        let mut steps = vec![Step::new(format!("codes of {} bits", q.bits()), Vec::new(), move |x: &Value<B, f32>| {
            Ok(Value::Planes(q.planes(&of_input, x.as_dense()?, Packing::Rows)?))
        })];
        let name = format!("bit GEMM of {} x {} planes", q.bits(), weight.bits());
        if self.over == Over::Own {
            steps.push(Step::new(format!("{name}: steps{}", and(activation)), held, move |x: &Value<B, f32>| {
                let product = bit_gemm(x.planes()?, &weight).times_columns(&columns);
                Ok(Value::dense(activated(product, activation).eval()?))
            }));
            return Ok(Some(steps));
        }
        steps.push(Step::new(name, held, move |x: &Value<B, f32>| Ok(Value::dense(bit_gemm(x.planes()?, &weight).eval()?))));
        let name = format!("spmm of whole numbers: steps{}", and(activation));
        steps.push(Step::new(name, Vec::new(), move |h: &Value<B, f32>| {
            let sums = spmm(graph.adjacency()?, h.as_dense()?).own(1.0).times_columns(&columns);
            Ok(Value::dense(activated(sums, activation).eval()?))
        }));
        Ok(Some(steps))
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let input = self.of_input.forward(pass.parameters, x.as_dense("a layer of few bits")?)?;
        let weight = self.of_weight.forward(pass.parameters, &pass.parameters.weight(self.weight)?)?;
        let sums = self.over.sum(pass.graph, gemm(&input.centred, &weight.centred).eval()?)?;
        Ok((map(&sums).times_columns(&factors(&input.steps, &weight.steps)?).eval()?, KeptCodes { input, weight }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        _: &Features<B, f32>,
        KeptCodes { input, weight }: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let dh = self.over.back(pass.graph, dy)?;
        let ones = Dense::filled(dh.backend(), 1, self.outputs, 1.0)?;
        let by_input = map(&dh).times_columns(&factors(&input.steps, &ones)?).eval()?;
        let dweight = gemm(&input.centred, &by_input).transpose_a().eval()?;
        let dw = self.of_weight.backward(&weight, &dweight, gradients)?;
        gradients.set(self.weight, &dw)?;
        // The step of the input has a gradient, whether the input's is wanted or not.
        let dx = gemm(&map(&dh).times_columns(&weight.steps).eval()?, &weight.centred).transpose_b().eval()?;
        let dx = self.of_input.backward(&input, &dx, gradients)?;
        Ok(wanted.then_some(dx))
    }
}
