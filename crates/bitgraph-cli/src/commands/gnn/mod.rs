//! `gnn`: training of graph neural networks, and inference by what was trained.

mod batches;
mod curve;
mod graphs;
mod infer;
mod options;
mod setup;
mod train;

pub use options::GnnCommand;

use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::Reporter;
use crate::run::{CommandBackend, on_backend};
use bitgraph::gnn::data::Dataset;
use bitgraph::gnn::memory::{self, Extent, Footprint, Purpose, footprint};
use bitgraph::gnn::{Architecture, Description, Float, Model, Precision};
use bitgraph::tensor::TensorBackend;

/// A backend that models run on.
pub trait GnnBackend: CommandBackend + TensorBackend {}
impl<B: CommandBackend + TensorBackend> GnnBackend for B {}

/// A type that models compute in: its parameters are saved as f32.
pub trait Working: Float<Real = f32> {}
impl<T: Float<Real = f32>> Working for T {}

/// Calls a function with the type of a precision that is one of floats.
macro_rules! in_precision {
    ($precision:expr, $t:ident => $call:expr) => {
        match $precision {
            bitgraph::gnn::Precision::F32 => {
                type $t = f32;
                $call
            }
            bitgraph::gnn::Precision::F16 => {
                type $t = bitgraph::gnn::f16;
                $call
            }
            bitgraph::gnn::Precision::Bf16 => {
                type $t = bitgraph::gnn::bf16;
                $call
            }
            other => Err($crate::commands::gnn::not_floats(other)),
        }
    };
}
use in_precision;

fn not_floats(precision: Precision) -> Failure {
    Failure::usage(format_args!("{precision} is not among the precisions of this command: f32, f16 and bf16"))
}

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
    /// Prints layers, parameters, and the bytes of every tensor.
    fn explain<B: GnnBackend, T: Working>(&self, model: &Model<B, T>, reporter: &Reporter) {
        reporter.clear();
        output::note(&explain(&self.description.model, self.precision, model, &footprint(model, &self.extent(), self.purpose)));
    }
}

/// Layers, parameters, and the bytes of every tensor.
fn explain<B: GnnBackend, T: Working>(name: &str, precision: Precision, model: &Model<B, T>, bytes: &Footprint) -> String {
    let layout = model.layout();
    let mut text = format!("{name} in {precision}: {} parameters\n", layout.count());
    for p in layout.parameters() {
        text += &format!("{:>14}  {} ({} x {})\n", p.shape.0 * p.shape.1, p.name, p.shape.0, p.shape.1);
    }
    format!("{text}predicted bytes\n{bytes}")
}

/// Runs one of the commands.
pub fn run(command: &GnnCommand, reporter: &Reporter) -> Result<()> {
    match command {
        GnnCommand::Train(args) => on_backend!(args.place.backend, b => train::run(&b, args, reporter)),
        GnnCommand::Infer(args) => on_backend!(args.place.backend, b => infer::run(&b, args, reporter)),
    }
}
