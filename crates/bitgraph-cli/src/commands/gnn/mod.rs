//! `gnn`: training of graph neural networks, and inference by what was trained.

mod curve;
mod infer;
mod options;
mod setup;
mod train;

pub use options::GnnCommand;

use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::run::{CommandBackend, on_backend};
use bitgraph::gnn::{Float, Precision};
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

/// Runs one of the commands.
pub fn run(command: &GnnCommand, reporter: &Reporter) -> Result<()> {
    match command {
        GnnCommand::Train(args) => on_backend!(args.place.backend, b => train::run(&b, args, reporter)),
        GnnCommand::Infer(args) => on_backend!(args.place.backend, b => infer::run(&b, args, reporter)),
    }
}
