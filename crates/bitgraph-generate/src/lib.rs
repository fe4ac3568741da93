#![doc = include_str!("../README.md")]

mod build;
mod error;
mod generator;
mod kron;
mod memory;
mod parse;
mod random;
mod sampled;
mod structured;

pub use bitgraph_sparse::{Cancelled, Control, Progress};
pub use error::{Error, Result};
pub use generator::Generator;
pub use random::{Stream, mix64};
