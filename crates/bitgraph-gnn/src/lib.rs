#![doc = include_str!("../README.md")]

mod checkpoint;
pub mod data;
mod error;
mod features;
mod float;
mod graph;
pub mod graphs;
mod layer;
pub mod layers;
pub mod memory;
mod model;
mod optimiser;
mod parameters;
mod precision;
pub mod quant;
mod readout;
mod recipes;
mod runs;
mod task;
mod train;

pub use checkpoint::{Checkpoint, Description, Settings};
pub use error::{Error, refused};
pub use features::Features;
pub use float::Float;
pub use graph::Graph;
pub use half::{bf16, f16};
pub use layer::{Layer, Mode, Pass};
pub use model::{Around, Model, Tape};
pub use optimiser::{Memory, Method, Optimiser, Schedule};
pub use parameters::{Declare, Declared, Gradients, Layout, ParameterId, Parameters, Start};
pub use precision::Precision;
pub use readout::Readout;
pub use recipes::{Architecture, Recipe, Shape};
pub use runs::{Outcome, Progress, Runs, Spread, repeats_itself};
pub use task::{NodeTask, Nodes, Scores};
pub use train::{Epoch, Run, Selection, State, Trained, Training, train, why_not_whole};
