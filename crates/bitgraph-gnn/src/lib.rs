#![doc = include_str!("../README.md")]

pub mod batch;
mod checkpoint;
pub mod data;
mod error;
mod features;
mod float;
mod graph;
mod layer;
pub mod layers;
pub mod memory;
mod model;
mod optimiser;
mod parameters;
mod precision;
pub mod quant;
mod recipes;
mod runs;
mod streamed;
mod task;
mod train;

pub use checkpoint::{Checkpoint, Description, Settings};
pub use error::{Error, refused};
pub use features::{Elsewhere, Features};
pub use float::Float;
pub use graph::Graph;
pub use half::{bf16, f16};
pub use layer::{Layer, Mode, Pass};
pub use model::{Around, Declare, Model, Tape};
pub use optimiser::{Memory, Method, Optimiser, Schedule};
pub use parameters::{Declared, Gradients, Layout, ParameterId, Parameters, Start};
pub use precision::Precision;
pub use recipes::{Architecture, Recipe, Shape};
pub use runs::{Outcome, Progress, Runs, Spread, repeats_itself};
pub use streamed::Streamed;
pub use task::{NodeTask, Nodes, Scores};
pub use train::{Epoch, Run, Selection, State, Trained, Training, train, why_not_whole};
