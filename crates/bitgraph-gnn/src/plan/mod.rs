//! Inference plans: a trained model as the operations that its logits need, without anything that training keeps.
//!
//! Every layer says which operations it consists of, with its activation fused into the last one; what depends on the features alone is done
//! once, when the plan is made. Two layers of signs are one operation where the backend offers that.
//!
//! Invariant: a plan gives the numbers of [`Model::infer`], sums of codes exactly, sums of floats up to the order of their terms.

mod execution;
mod whole;

pub use self::execution::Execution;
pub use crate::step::{Compile, Normal, Step, Value};

use crate::memory::Footprint;
use crate::model::moments_of;
use crate::readout::Head;
use crate::step::{activated, and};
use crate::{End, Features, Float, Graph, Mode, Model, Parameters, refused};
use bitgraph_tensor::bittensor::Packing;
use bitgraph_tensor::ops::{BitGcn, Whole, map};
use bitgraph_tensor::{Bits, Dense, TensorBackend};
use std::fmt;

/// The steps of a layer.
struct Planned<'a, B: TensorBackend, T: Float> {
    name: String,
    steps: Vec<Step<'a, B, T>>,
    /// Whether the input is added in the end.
    residual: bool,
    /// The read-outs of its result.
    heads: Vec<&'a Head>,
}

/// How a plan computes.
enum Form<'a, B: TensorBackend, T: Float> {
    /// As one operation of the backend.
    Whole(Box<dyn BitGcn<B>>),
    /// Step by step from the input.
    Steps(Value<B, T>, Vec<Planned<'a, B, T>>),
}

/// A model over a graph and its features, ready for inference.
pub struct Plan<'a, B: TensorBackend, T: Float> {
    form: Form<'a, B, T>,
    graph: &'a Graph<B, T::Real>,
    parameters: &'a Parameters<B, T>,
    /// What read-outs of the features come to.
    of_features: Option<Dense<B, T>>,
    classes: usize,
    /// Why it is not one operation, where its layers could be one.
    declined: Option<String>,
    /// Names of what is made in a run, with bytes.
    results: Vec<(String, u64)>,
    /// Bytes of the largest input and result of a step together.
    work: u64,
}

impl<'a, B: TensorBackend + Bits, T: Float> Plan<'a, B, T> {
    /// The plan of a model, computed as is usual. Takes an inference.
    ///
    /// # Errors
    /// As [`Model::infer`].
    pub fn new(
        model: &'a Model<B, T>,
        graph: &'a Graph<B, T::Real>,
        parameters: &'a Parameters<B, T>,
        x: &Features<B, T>,
    ) -> Result<Self, B::Error> {
        Self::by(&Execution::default(), (model, parameters), graph, x)
    }
    /// The plan of a model, computed in a way that is said. Takes an inference.
    ///
    /// # Errors
    /// As [`Model::infer`].
    pub fn by(
        way: &Execution,
        (model, parameters): (&'a Model<B, T>, &'a Parameters<B, T>),
        graph: &'a Graph<B, T::Real>,
        x: &Features<B, T>,
    ) -> Result<Self, B::Error> {
        model.check(graph, parameters, x).map_err(refused::<B>)?;
        let classes = model.columns();
        let mut declined = None;
        match if model.reads_out() || !way.whole { None } else { whole::of(model, graph, parameters, x)? } {
            Some(Whole::Done(whole)) => {
                let results = vec![("logits".to_string(), (graph.nodes() * classes * 4) as u64)];
                let (form, work) = (Form::Whole(whole), results[0].1);
                return Ok(Self { form, graph, parameters, of_features: None, classes, declined, work, results });
            }
            Some(Whole::Declined(reason)) => declined = Some(reason),
            None => {}
        }
        let (mut input, mut value) = (Value::Features(x.clone()), Value::Features(x.clone()));
        let (mut planned, mut results, mut work) = (Vec::new(), Vec::new(), 0);
        // The input is held, and counted there.
        let mut taken = 0;
        let mut normalised = 0;
        let mut sum: Option<Dense<B, T>> = None;
        for (_, head) in model.heads_at(0) {
            sum = Some(head.infer((graph, parameters), &value, sum.as_ref())?);
        }
        let of_features = sum.clone();
        for (l, block) in model.blocks().iter().enumerate() {
            let pass = model.pass(l, graph, parameters, Mode::Infer);
            let past = block.around.residual.then(|| value.clone());
            let fused = block.around.activation.filter(|_| block.norm.is_none());
            let at = |threshold| Compile { graph, parameters, input: &value, activation: fused, threshold, reconcile: way.reconcile_of(l) };
            let mut steps = match block.stage.compile(&at(None))? {
                Some(steps) => steps,
                None => vec![Step::new(format!("forward pass{}", and(fused)), Vec::new(), move |x: &Value<B, T>| {
                    Ok(Value::dense(block.stage.forward(&pass, x.features()?, End { activation: fused, dropout: None })?.0))
                })],
            };
            let mut later = Vec::with_capacity(steps.len());
            let mut signed = !block.around.sign;
            if let Some((gamma, beta)) = block.norm {
                // Its statistics are those of what the steps before it give, which are run for them.
                let mut before = value.clone();
                for step in &steps {
                    before = step.run(&before)?;
                }
                let affine = (parameters.real(gamma)?, parameters.real(beta)?);
                let normal = Normal { moments: moments_of(graph, normalised, before.as_dense()?)?, affine };
                normalised += 1;
                let activation = block.around.activation;
                let one = block.around.sign && activation.is_none() && block.stage.ends_in_signs();
                match if one { block.stage.compile(&at(Some(&normal)))? } else { None } {
                    Some(made) => (steps, signed) = (made, true),
                    None => {
                        let held = vec![("statistics, factors and summands", normal.bytes())];
                        steps.push(Step::new(format!("batch norm{}", and(activation)), held, move |x: &Value<B, T>| {
                            Ok(Value::dense(activated(normal.normalise(map(x.as_dense()?)), activation).eval()?))
                        }));
                    }
                }
            }
            if !signed {
                steps.push(Step::new("BIN: signs", Vec::new(), move |x: &Value<B, T>| {
                    Ok(Value::Signs(map(x.as_dense()?).eval_as::<f32>()?.sign(Packing::Rows)?))
                }));
            }
            for step in steps {
                let result = step.run(&value)?;
                if step.is_packing() && planned.is_empty() && later.is_empty() && past.is_none() {
                    // It depends on the features alone.
                    input = result.clone();
                } else {
                    results.push((format!("layers.{l}: {}", step.operator()), result.bytes()));
                    work = work.max(taken + result.bytes());
                    taken = result.bytes();
                    later.push(step);
                }
                value = result;
            }
            if let Some(past) = &past {
                value = Value::dense(map(value.as_dense()?).add(past.as_dense()?).eval()?);
            }
            let heads: Vec<&Head> = model.heads_at(l + 1).map(|(_, head)| head).collect();
            for (k, head) in model.heads_at(l + 1) {
                let made = head.infer((graph, parameters), &value, sum.as_ref())?;
                results.push((format!("readouts.{k}: {} over the nodes of each graph, weight, bias", head.readout().name()), made.bytes()));
                sum = Some(made);
            }
            planned.push(Planned { name: format!("layers.{l}"), steps: later, residual: past.is_some(), heads });
        }
        Ok(Self { form: Form::Steps(input, planned), graph, parameters, of_features, classes, declined, results, work })
    }
    /// The logits of every node, or of every graph.
    ///
    /// # Errors
    /// Out of memory.
    pub fn run(&self) -> Result<Dense<B, T>, B::Error> {
        let (input, planned) = match &self.form {
            Form::Whole(whole) => {
                let logits = whole.eval(self.graph.backend(), (self.graph.nodes(), self.classes))?;
                let same = logits.any().get::<T>();
                return same.map_or_else(|| map(&logits).eval_as(), Ok);
            }
            Form::Steps(input, planned) => (input, planned),
        };
        let mut value = input.clone();
        let mut sum = self.of_features.clone();
        for layer in planned {
            let past = layer.residual.then(|| value.clone());
            for step in &layer.steps {
                value = step.run(&value)?;
            }
            if let Some(past) = past {
                value = Value::dense(map(value.as_dense()?).add(past.as_dense()?).eval()?);
            }
            for head in &layer.heads {
                sum = Some(head.infer((self.graph, self.parameters), &value, sum.as_ref())?);
            }
        }
        sum.map_or_else(|| value.as_dense().cloned(), Ok)
    }
    /// Bytes of all that is held from run to run, tensor by tensor, and of what a run makes; the graph's patterns count once they were used.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let mut all = Footprint::default();
        match &self.form {
            Form::Whole(whole) => all.add("graph, features and weights in the form of one operation", whole.bytes()),
            Form::Steps(input, planned) => {
                self.graph.used_patterns().for_each(|(name, pattern)| all.add(name, pattern.bytes()));
                all.add("nodes of each graph", self.graph.membership().map_or(0, bitgraph_backend::Matrix::bytes));
                all.add("features", input.bytes());
                for layer in planned {
                    layer
                        .steps
                        .iter()
                        .flat_map(Step::operands)
                        .for_each(|(what, bytes)| all.add(format!("{}: {what}", layer.name), *bytes));
                }
            }
        }
        all.add("temporary results", self.work);
        all
    }
    /// Whether it is one operation of the backend.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.form, Form::Whole(_))
    }
}

impl<B: TensorBackend + Bits, T: Float> fmt::Display for Plan<'_, B, T> {
    /// A line for each step: its operations and what they make.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Whole(whole) => writeln!(f, "one operation: {}", whole.form())?,
            Form::Steps(input, planned) => {
                if let Some(reason) = &self.declined {
                    writeln!(f, "operation by operation: {reason}")?;
                }
                writeln!(f, "{:>14}  input: {}", input.bytes(), input.form())?;
                self.results.iter().try_for_each(|(operator, bytes)| writeln!(f, "{bytes:>14}  {operator}"))?;
                planned.iter().filter(|l| l.residual).try_for_each(|l| writeln!(f, "{:>14}  {}: its input is added", "", l.name))?;
            }
        }
        write!(f, "predicted bytes\n{}", self.footprint())
    }
}
