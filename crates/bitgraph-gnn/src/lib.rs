#![doc = include_str!("../README.md")]

pub mod data;
mod error;
mod features;
mod float;
mod graph;
mod layer;
pub mod layers;
mod model;
mod optimiser;
mod parameters;
mod recipes;
mod task;
mod train;

pub use error::{Error, refused};
pub use features::Features;
pub use float::Float;
pub use graph::Graph;
pub use layer::{Layer, Mode, Pass};
pub use model::{Around, Declare, Model, Tape};
pub use optimiser::{Method, Optimiser};
pub use parameters::{Declared, Gradients, Layout, ParameterId, Parameters, Start};
pub use recipes::{Architecture, Recipe, Shape};
pub use task::{NodeTask, Nodes, Scores};
pub use train::{Epoch, Selection, Trained, Training, train, why_not_whole};
