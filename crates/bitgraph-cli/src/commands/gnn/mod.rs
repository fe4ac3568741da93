//! `gnn`: training of graph neural networks, inference by what was trained, and the choice of a precision.

mod batches;
mod classified;
mod curve;
mod graphs;
mod graphs_infer;
mod heading;
mod infer;
mod options;
mod setup;
mod teacher;
mod train;
mod tune;

use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::Reporter;
use crate::run::{CommandBackend, on_backend};
use bitgraph::gnn::data::Dataset;
use bitgraph::gnn::memory::{self, Extent, Footprint, Purpose, footprint};
use bitgraph::gnn::{Abreast, Architecture, Description, Float, Model, Parameters, Plan, Precision};
use bitgraph::tensor::{Bits, Dense, TensorBackend};
use bitgraph_measure::Clock;
pub use options::GnnCommand;

/// A backend that models run on.
pub trait GnnBackend: CommandBackend + TensorBackend + Bits {}
impl<B: CommandBackend + TensorBackend + Bits> GnnBackend for B {}

/// A type that models compute in: its parameters are saved as f32.
pub trait Working: Float<Real = f32> {}
impl<T: Float<Real = f32>> Working for T {}

/// Makes the model of a description over a data set, whose features may stay in host memory, and the task that it reads, of the types that its
/// precision asks for.
macro_rules! with_model {
    ($backend:expr, $kind:expr, $description:expr, ($set:expr, $streamed:expr), ($model:ident, $task:ident) => $call:expr) => {{
        use bitgraph::gnn::{Precision, bf16, f16, quant::LowBits};
        let (description, (architecture, precision)) = (&$description, $kind);
        match precision {
            Precision::F32 => {
                let ($model, $task) =
                    $crate::commands::gnn::setup::floats::<_, f32>($backend, architecture, description, (&$set, $streamed))?;
                $call
            }
            Precision::F16 => {
                let ($model, $task) =
                    $crate::commands::gnn::setup::floats::<_, f16>($backend, architecture, description, (&$set, $streamed))?;
                $call
            }
            Precision::Bf16 => {
                let ($model, $task) =
                    $crate::commands::gnn::setup::floats::<_, bf16>($backend, architecture, description, (&$set, $streamed))?;
                $call
            }
            _ => {
                let LowBits { model: $model, task: $task } =
                    $crate::commands::gnn::setup::few_bits($backend, precision, description, &$set)?;
                $call
            }
        }
    }};
}
use with_model;

/// A model as it is used, over a data set.
struct Use<'a> {
    architecture: Architecture,
    precision: Precision,
    description: &'a Description,
    set: &'a Dataset,
    purpose: Purpose,
    /// Whether features stay in host memory.
    streamed: bool,
}

impl Use<'_> {
    fn extent(&self) -> Extent {
        Extent::of(self.set).with_batches(self.description.batches.as_ref().map(|b| &b.sampler), self.streamed)
    }
    /// Refuses what is predicted to take more memory than there is, or than is allowed.
    fn check_memory<B: GnnBackend>(&self, backend: &B, limit: Option<u64>) -> Result<()> {
        let free = match backend.accelerator() {
            Some(device) => device.memory().ok().map(|m| m.free),
            None => crate::system::free_memory(),
        };
        let Some(limit) = limit.or(free) else { return Ok(()) };
        let kind = (self.precision, self.purpose);
        memory::check::<B>(self.architecture, &self.description.shape, &self.extent(), kind, limit)
            .map_err(|e| Failure::OutOfMemory(e.to_string()))
    }
    /// Prints parameters and what is predicted of the memory of training, tensor by tensor.
    fn explain<B: GnnBackend, T: Working>(&self, model: &Model<B, T>, reporter: &Reporter) {
        let extent = self.extent().read_in(self.precision);
        reporter.clear();
        let factor = self.description.factor;
        if factor != 1.0 {
            output::note(&format!("features times {factor:.3}: their means over neighbourhoods lie close together\n"));
        }
        output::note(&explain(&self.description.model, self.precision, model, &footprint(model, &extent, self.purpose)));
    }
}

/// How many of so many trainings are on their way at once, where each takes so many bytes besides what one is predicted to take; on a device
/// `most` at most where no number is asked for.
fn abreast<B: GnnBackend>(
    backend: &B,
    (asked, limit): (Option<u32>, Option<u64>),
    (trainings, most): (usize, usize),
    bytes: u64,
) -> Abreast {
    let default = || {
        let (free, most) = match backend.accelerator() {
            Some(device) => (device.memory().ok().map(|m| m.free), most),
            None => (crate::system::free_memory(), usize::MAX),
        };
        let fit = limit.or(free).unwrap_or(u64::MAX) / bytes.max(1);
        usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, most)
    };
    Abreast::new(asked.map_or_else(default, |n| n as usize).min(trainings))
}

/// Layers and parameters.
fn listing<B: GnnBackend, T: Working>(name: &str, precision: Precision, model: &Model<B, T>) -> String {
    let layout = model.layout();
    let mut text = format!("{name} in {precision}: {} parameters\n", layout.count());
    for p in layout.parameters() {
        text += &format!("{:>14}  {} ({} x {})\n", p.shape.0 * p.shape.1, p.name, p.shape.0, p.shape.1);
    }
    text
}

/// Prints layers, parameters and the operations of a plan.
fn explain_plan<B: GnnBackend, T: Working>(
    (name, precision): (&str, Precision),
    model: &Model<B, T>,
    plan: &Plan<'_, B, T>,
    reporter: &Reporter,
) {
    reporter.clear();
    output::note(&format!("{}{plan}", listing(name, precision, model)));
}

/// Parameters on a backend from their flat buffer.
fn parameters<B: GnnBackend, T: Working>(backend: &B, model: &Model<B, T>, flat: Vec<f32>) -> Result<Parameters<B, T>> {
    let flat = model.layout().flat(backend, flat).map_err(Into::into)?;
    Parameters::from_flat(model.layout(), flat).map_err(Into::into)
}

/// The seconds of so many inferences by a plan, on a device its own, and the logits of the last one.
fn timed<B: GnnBackend, T: Working>(
    backend: &B,
    plan: &Plan<'_, B, T>,
    times: usize,
    reporter: &Reporter,
) -> Result<(Vec<f64>, Dense<B, T>)> {
    let clock = Clock::of(backend.accelerator());
    let mut seconds = Vec::with_capacity(times);
    loop {
        let run = clock.run(|| plan.run().map_err(Into::<Failure>::into))?;
        reporter.check()?;
        seconds.push(run.seconds);
        if seconds.len() >= times {
            return Ok((seconds, run.result));
        }
    }
}

/// Layers, parameters, and the bytes of every tensor.
fn explain<B: GnnBackend, T: Working>(name: &str, precision: Precision, model: &Model<B, T>, bytes: &Footprint) -> String {
    format!("{}predicted bytes\n{bytes}", listing(name, precision, model))
}

/// Runs one of the commands.
pub fn run(command: &GnnCommand, reporter: &Reporter) -> Result<()> {
    match command {
        GnnCommand::Train(args) => on_backend!(args.place.backend, b => train::run(&b, args, reporter)),
        GnnCommand::Infer(args) => on_backend!(args.place.backend, b => infer::run(&b, args, reporter)),
        GnnCommand::Tune(args) => on_backend!(args.place.backend, b => tune::run(&b, args, reporter)),
    }
}
