//! Graph convolutions over whole numbers of few bits, whose steps are learned with the weights.

use crate::sign::within;
use crate::step::{Compile, Step, Value, activated, and};
use crate::{Declare, Features, Gradients, Graph, Layer, ParameterId, Parameters, Pass, Start};
use bitgraph_tensor::bittensor::{self, Packing, Quantization};
use bitgraph_tensor::ops::{bit_gemm, bit_spmm, gemm, map, spmm, sum_columns};
use bitgraph_tensor::{Activation, Bits, Dense, PlaneSteps, Planes, Quantise, TensorBackend};

/// How much faster steps follow gradients than weights do.
const STEP_RATE: f64 = 5.0;
/// The step is its start times the eighth power of `elu(STEP_RATE p / 8) + 1`: nearly `exp(STEP_RATE p)`, and formed where the parameters are.
const POSITIVE: Activation = Activation::Elu { alpha: 1.0 };

/// A quantiser with learned steps: the codes 0 to `2^bits - 1` stand for `step (code - zero)`. Source: Esser et al., LSQ, 2020.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantiser {
    step: ParameterId,
    /// A step for each column, or one for all.
    columns: Option<usize>,
    start: f64,
    bits: u32,
    zero: f64,
}

/// What went through a [`Quantiser`].
pub struct Quantised<B: TensorBackend> {
    /// Elements over steps, plus the zero point: where codes would be without rounding.
    position: Dense<B, f32>,
    /// Codes less the zero point: whole or half numbers.
    pub(super) centred: Dense<B, f32>,
    /// Steps, of one row.
    pub(super) steps: Dense<B, f32>,
    /// `elu` of the steps' parameters over 8, times the rate.
    elu: Dense<B, f32>,
    /// The seventh power of `elu + 1`.
    seventh: Dense<B, f32>,
}

/// What a [`Quantiser`] rounds by, of one row each.
pub(super) struct Rows<B: TensorBackend> {
    pub(super) steps: Dense<B, f32>,
    /// The squares of the steps, and zeros: dividing by a step is a batch norm of them.
    square: Dense<B, f32>,
    none: Dense<B, f32>,
    /// The zero point.
    zero: Dense<B, f32>,
    elu: Dense<B, f32>,
    seventh: Dense<B, f32>,
}

impl<B: TensorBackend> Rows<B> {
    pub(super) fn bytes(&self) -> u64 {
        [&self.steps, &self.square, &self.none, &self.zero].map(Dense::bytes).iter().sum()
    }
}

fn refused_bits<B: TensorBackend>(error: bittensor::Error) -> B::Error {
    B::Error::from(bitgraph_backend::Error::from(bitgraph_tensor::Error::Bits(error)))
}

impl Quantiser {
    /// `mean` is the mean magnitude of the elements before training, from which steps start.
    pub(super) fn new(declare: &mut Declare<'_>, name: &str, columns: Option<usize>, (bits, signed, mean): (u32, bool, f64)) -> Self {
        let top = f64::from((1u32 << bits) - 1);
        // Around zero few levels are better spent on both sides of it than on zero itself.
        let zero = match (signed, bits) {
            (false, _) => 0.0,
            (true, 1 | 2) => top / 2.0,
            (true, _) => (top + 1.0) / 2.0,
        };
        let positive = if signed { ((top - 1.0) / 2.0).max(1.0) } else { top };
        let start = 2.0 * mean / positive.sqrt() + 1e-6;
        let step = declare.parameter(name, (1, columns.unwrap_or(1)), Start::Constant(0.0));
        Self { step, columns, start, bits, zero }
    }
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }
    fn top(&self) -> f64 {
        f64::from((1u32 << self.bits) - 1)
    }
    pub(super) fn forward<B: TensorBackend>(&self, parameters: &Parameters<B, f32>, x: &Dense<B, f32>) -> Result<Quantised<B>, B::Error> {
        let Rows { steps, square, none, zero, elu, seventh } = self.rows(parameters, (x.backend(), x.ncols()))?;
        let position = map(x).batch_norm((&none, &square), None, 0.0).bias(&zero).eval()?;
        let centred = map(&position).quantise(self.levels()).bias(&map(&zero).times(-1.0).eval()?).eval()?;
        Ok(Quantised { position, centred, steps, elu, seventh })
    }
    /// Levels of a position, which are the codes.
    fn levels(&self) -> Quantise {
        Quantise { scale: 1.0, zero_point: 0, bits: self.bits }
    }
    /// What its rounding takes, of one row each, for a matrix of so many columns.
    pub(super) fn rows<B: TensorBackend>(
        &self,
        parameters: &Parameters<B, f32>,
        (backend, columns): (&B, usize),
    ) -> Result<Rows<B>, B::Error> {
        let row = |value: f64| Dense::<B, f32>::filled(backend, 1, columns, value as f32);
        let p = parameters.real(self.step)?;
        let p = if self.columns.is_some() { p } else { gemm(&p, &row(1.0)?).eval()? };
        let elu = map(&p).times(STEP_RATE / 8.0).activation(POSITIVE).eval()?;
        let root = map(&elu).bias(&row(1.0)?).eval()?;
        let second = map(&root).multiply(&root).eval()?;
        let seventh = map(&second).multiply(&second).multiply(&second).multiply(&root).eval()?;
        let steps = map(&seventh).multiply(&root).times(self.start).eval()?;
        let square = map(&steps).multiply(&steps).eval()?;
        Ok(Rows { steps, square, none: row(0.0)?, zero: row(self.zero)?, elu, seventh })
    }
    /// Codes as planes, which stand for whole or half numbers: their distance from the zero point.
    fn centred<B: TensorBackend + Bits>(&self, codes: Planes<B>) -> Result<Planes<B>, B::Error> {
        codes.with_steps(PlaneSteps::Tensor(bittensor::Step { scale: 1.0, zero: self.zero as f32 }))
    }
    /// The codes of a matrix as planes.
    pub(super) fn planes<B: TensorBackend + Bits>(
        &self,
        rows: &Rows<B>,
        x: &Dense<B, f32>,
        packing: Packing,
    ) -> Result<Planes<B>, B::Error> {
        let codes = map(x).batch_norm((&rows.none, &rows.square), None, 0.0).bias(&rows.zero).quantise(self.levels()).eval()?;
        let unit = Quantization::unit(self.bits).map_err(|e| refused_bits::<B>(e))?;
        self.centred(codes.quantize(&unit, packing)?)
    }
    /// The gradient of the elements from that of the values of the codes; that of the steps is written.
    pub(super) fn backward<B: TensorBackend>(
        &self,
        q: &Quantised<B>,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
    ) -> Result<Dense<B, f32>, B::Error> {
        let (backend, columns) = (dy.backend(), dy.ncols());
        let row = |value: f64| Dense::<B, f32>::filled(backend, 1, columns, value as f32);
        let middle = map(&q.position).bias(&row(-self.top() / 2.0)?).eval()?;
        let inside = within(&middle, self.top() / 2.0 + 0.5)?;
        // Inside the range the value's derivative by the step is (code - position), outside it is the code itself.
        let offset = map(&q.position).bias(&row(-self.zero)?).multiply(&inside).eval()?;
        let by_step = map(&q.centred).add_scaled(&offset, -1.0).multiply(dy).eval()?;
        let ds =
            map(&sum_columns(&by_step)?).times(self.start * STEP_RATE).multiply(&q.seventh).activation_gradient(POSITIVE, &q.elu).eval()?;
        match self.columns {
            Some(_) => gradients.set(self.step, &ds)?,
            None => gradients.set(self.step, &sum_columns(&ds.reshaped(columns, 1)?)?)?,
        }
        map(dy).multiply(&inside).eval()
    }
}

/// What a [`BitsGcn`] makes of its input.
#[derive(Clone, Copy, Debug)]
pub enum InputStep {
    /// Nothing: whole numbers, of the product with the weight's codes multiplied by the layer's factors of rows.
    Ready,
    /// Codes of 0 and above, with one learned step; their mean before training.
    Learned(f64),
}

/// `D^-1/2 (A + I) Q(D^-1/2 Q(X) Q(W)) + b`, where each `Q` rounds to few levels with learned steps, one for each column of a weight or of
/// what is aggregated. Products and sums are of codes: exact while they stay below 2^24. Sources: LSQ; MixQ-GNN, 2025, for exact sums over an
/// adjacency of zeros and ones.
pub struct BitsGcn<B: TensorBackend> {
    weight: ParameterId,
    bias: ParameterId,
    outputs: usize,
    dropout: f64,
    of_input: Option<Quantiser>,
    of_weight: Quantiser,
    of_product: Quantiser,
    rows: Option<Dense<B, f32>>,
}

/// What [`BitsGcn`] keeps.
pub struct KeptBits<B: TensorBackend> {
    input: Option<Quantised<B>>,
    codes: Features<B, f32>,
    weight: Quantised<B>,
    product: Quantised<B>,
}

impl<B: TensorBackend> BitsGcn<B> {
    /// A layer of so many outputs, of `(weights, activations)` bits, 1 to 16. `rows` multiplies rows of the product, beside `D^-1/2`. `mean` is the
    /// mean magnitude of what is aggregated, before training.
    pub fn new(
        declare: &mut Declare<'_>,
        outputs: usize,
        (weights, activations): (u32, u32),
        (input, rows, mean): (InputStep, Option<Dense<B, f32>>, f64),
        dropout: f64,
    ) -> Self {
        let inputs = declare.columns();
        let bound = (6.0 / (inputs + outputs).max(1) as f64).sqrt();
        Self {
            weight: declare.parameter("weight", (inputs, outputs), Start::Glorot { inputs, outputs }),
            bias: declare.parameter("bias", (1, outputs), Start::Constant(0.0)),
            outputs,
            dropout,
            of_input: match input {
                InputStep::Ready => None,
                InputStep::Learned(mean) => Some(Quantiser::new(declare, "step.input", None, (activations, false, mean))),
            },
            of_weight: Quantiser::new(declare, "step.weight", Some(outputs), (weights, true, bound / 2.0)),
            of_product: Quantiser::new(declare, "step.product", Some(outputs), (activations, true, mean)),
            rows,
        }
    }
    /// What the product of codes is multiplied by: a factor for each row, and one for each column.
    #[allow(clippy::type_complexity)] // a pair of matrices
    fn factors(
        &self,
        graph: &Graph<B, f32>,
        input: Option<&Dense<B, f32>>,
        weight: &Dense<B, f32>,
    ) -> Result<(Dense<B, f32>, Dense<B, f32>), B::Error> {
        let d = graph.degree_powers(-0.5)?;
        let rows = self.rows.as_ref().map_or(Ok(d.clone()), |rows| map(&d).multiply(rows).eval())?;
        let columns = match input {
            // All columns of the input have one step.
            Some(steps) => gemm(&steps.columns(0..1)?, weight).eval()?,
            None => weight.clone(),
        };
        Ok((rows, columns))
    }
}

impl<B: TensorBackend + Bits> Layer<B, f32> for BitsGcn<B> {
    type Kept = KeptBits<B>;

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
        2 * nodes * self.outputs as u64 * 4
    }
    /// Codes of the input as planes, or sparse features whose values are codes; a product of codes, rounded to planes; and their sums.
    fn compile<'a>(&'a self, at: &Compile<'a, '_, B, f32>) -> Result<Option<Vec<Step<'a, B, f32>>>, B::Error> {
        let (graph, parameters, activation) = (at.graph, at.parameters, at.activation);
        let backend = graph.backend();
        let real = parameters.weight(self.weight)?;
        let of_weight = self.of_weight.rows(parameters, (backend, self.outputs))?;
        let input = match &self.of_input {
            Some(q) => Some(q.rows(parameters, (backend, real.nrows()))?),
            None => None,
        };
        let (rows, columns) = self.factors(graph, input.as_ref().map(|r| &r.steps), &of_weight.steps)?;
        let q = self.of_product;
        let Rows { steps, square, none, zero, .. } = q.rows(parameters, (backend, self.outputs))?;
        let mut all = Vec::new();
        if let Some((of_input, rows)) = self.of_input.zip(input) {
            all.push(Step::new(format!("codes of {} bits", of_input.bits), Vec::new(), move |x: &Value<B, f32>| {
                Ok(Value::Planes(of_input.planes(&rows, x.as_dense()?, Packing::Rows)?))
            }));
        }
        let rounding = rows.bytes() + 4 * columns.bytes();
        if self.of_input.is_none() {
            // Whole numbers as floats, few of which are not zero: a product over those is exact, and is the shortest.
            let weight = self.of_weight.forward(parameters, &real)?.centred;
            let unit = Quantization::unit(q.bits).map_err(refused_bits::<B>)?;
            let held = vec![("weight", weight.bytes()), ("factors and steps", rounding)];
            let name = format!("X W: sums of codes, factors, codes of {} bits", q.bits);
            all.push(Step::new(name, held, move |x: &Value<B, f32>| {
                let h = map(&x.features()?.times(&weight)?).times_rows(&rows).times_columns(&columns);
                let codes = h.batch_norm((&none, &square), None, 0.0).bias(&zero).quantise(q.levels()).eval()?;
                Ok(Value::Planes(q.centred(codes.quantize(&unit, Packing::Rows)?)?))
            }));
        } else {
            let weight = self.of_weight.planes(&of_weight, &real, Packing::Columns)?;
            let held = vec![("codes of the weight", weight.bytes()), ("factors and steps", rounding)];
            let name = format!("bit GEMM of {} x {} planes: factors, codes of {} bits", q.bits, weight.bits(), q.bits);
            all.push(Step::new(name, held, move |x: &Value<B, f32>| {
                let h = bit_gemm(x.planes()?, &weight).times_rows(&rows).times_columns(&columns);
                let codes = h.batch_norm((&none, &square), None, 0.0).bias(&zero).eval_planes(q.levels())?;
                Ok(Value::Planes(q.centred(codes)?))
            }));
        }
        let (d, bias) = (graph.degree_powers(-0.5)?, parameters.real(self.bias)?);
        let held = vec![("steps and bias", steps.bytes() + bias.bytes())];
        let name = format!("bit SpMM of {} planes: counts, degrees, steps, bias{}", q.bits, and(activation));
        all.push(Step::new(name, held, move |x: &Value<B, f32>| {
            let sums = bit_spmm(graph.adjacency()?, x.planes()?).own().scale_rows(&d).times_columns(&steps).bias(&bias);
            Ok(Value::dense(activated(sums, activation).eval()?))
        }));
        Ok(Some(all))
    }
    fn forward(&self, pass: &Pass<'_, B, f32>, x: &Features<B, f32>) -> Result<(Dense<B, f32>, Self::Kept), B::Error> {
        let input = match &self.of_input {
            Some(quantiser) => Some(quantiser.forward(pass.parameters, x.as_dense("a layer of few bits")?)?),
            None => None,
        };
        let mut codes = input.as_ref().map_or_else(|| x.clone(), |q| Features::Dense(q.centred.clone()));
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            codes = codes.dropout(dropout)?;
        }
        let weight = self.of_weight.forward(pass.parameters, &pass.parameters.weight(self.weight)?)?;
        let (rows, columns) = self.factors(pass.graph, input.as_ref().map(|q| &q.steps), &weight.steps)?;
        let h = map(&codes.times(&weight.centred)?).times_rows(&rows).times_columns(&columns).eval()?;
        let product = self.of_product.forward(pass.parameters, &h)?;
        let d = pass.graph.degree_powers(-0.5)?;
        let sums = spmm(pass.graph.adjacency()?, &product.centred).own(1.0).scale_rows(&d).times_columns(&product.steps);
        let y = sums.bias(&pass.parameters.real(self.bias)?).eval()?;
        Ok((y, KeptBits { input, codes, weight, product }))
    }
    fn backward(
        &self,
        pass: &Pass<'_, B, f32>,
        _: &Features<B, f32>,
        kept: Self::Kept,
        dy: &Dense<B, f32>,
        gradients: &mut Gradients<B, f32>,
        wanted: bool,
    ) -> Result<Option<Dense<B, f32>>, B::Error> {
        let KeptBits { input, codes, weight, product } = kept;
        gradients.set(self.bias, &sum_columns(dy)?)?;
        let d = pass.graph.degree_powers(-0.5)?;
        let dq = spmm(pass.graph.adjacency()?, dy).transpose().own(1.0).scale_columns(&d).eval()?;
        let dh = self.of_product.backward(&product, &dq, gradients)?;
        let (rows, _) = self.factors(pass.graph, input.as_ref().map(|q| &q.steps), &weight.steps)?;
        let mut t = map(&dh).times_rows(&rows).eval()?;
        if let Some(q) = &input {
            let step = Dense::filled(t.backend(), 1, self.outputs, 1.0)?;
            t = map(&t).times_columns(&gemm(&q.steps.columns(0..1)?, &step).eval()?).eval()?;
        }
        let mut dweight = Dense::<B, f32>::zeros(t.backend(), codes.shape().1, self.outputs)?;
        codes.weight_gradient(&t, dweight.as_mut())?;
        let dw = self.of_weight.backward(&weight, &dweight, gradients)?;
        gradients.set(self.weight, &dw)?;
        let (Some(quantiser), Some(q)) = (&self.of_input, &input) else {
            return if wanted {
                gemm(&map(&t).times_columns(&weight.steps).eval()?, &weight.centred).transpose_b().eval().map(Some)
            } else {
                Ok(None)
            };
        };
        // The input's step is in `t` for the weight's gradient; the input's own has none.
        let own = map(&dh).times_rows(&rows).times_columns(&weight.steps).eval()?;
        let mut dx = gemm(&own, &weight.centred).transpose_b().eval()?;
        if let Some(dropout) = pass.dropout(self.dropout, 1) {
            dx = map(&dx).dropout(dropout).eval()?;
        }
        quantiser.backward(q, &dx, gradients).map(Some)
    }
}
