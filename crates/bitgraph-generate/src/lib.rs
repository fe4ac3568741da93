//! Deterministic graph generators: a few characters name a graph, and the same characters give the same graph on every
//! machine and with any number of threads.
//!
//! Every graph is undirected (its pattern is symmetric), without loops and without duplicates. Random graphs are sampled
//! from counters: edge `i` is a function of the seed and of `i` alone, so any thread can draw any edge at any time, and a
//! second pass over the edges needs no stored copy of the first.
//!
//! ```
//! use bitgraph_generate::{Control, Generator};
//!
//! let grid: Generator = "grid:10x20".parse()?;
//! let graph = grid.generate(&Control::default())?;
//! assert_eq!((graph.nrows(), graph.nnz()), (200, 740));
//! # Ok::<(), bitgraph_generate::Error>(())
//! ```

mod build;
mod error;
mod generator;
mod kron;
mod memory;
mod meter;
mod parse;
mod random;
mod sampled;
mod structured;

pub use bitgraph_sparse::{Cancelled, Control, Progress};
pub use error::{Error, Result};
pub use generator::Generator;
pub use random::{Stream, mix64};
