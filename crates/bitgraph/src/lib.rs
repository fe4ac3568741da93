//! The facade of bitgraph: re-exports of the workspace's crates, graphs by name, and an allocator that counts.
//!
#![cfg_attr(all(feature = "cpu", feature = "generate"), doc = include_str!("../README.md"))]

mod error;
#[cfg(any(feature = "io", feature = "generate"))]
mod loaded;
pub mod memory;
#[cfg(all(feature = "cpu", any(feature = "io", feature = "generate")))]
mod open;
#[cfg(any(feature = "io", feature = "generate"))]
mod options;
pub mod prelude;
mod provenance;
#[cfg(any(feature = "io", feature = "generate"))]
mod source;
#[cfg(any(feature = "io", feature = "generate"))]
mod stored;
#[cfg(any(feature = "io", feature = "generate"))]
mod weights;

pub use bitgraph_algorithms as algorithms;
pub use bitgraph_b2sr as b2sr;
pub use bitgraph_backend as backend;
#[cfg(feature = "cpu")]
pub use bitgraph_cpu as cpu;
#[cfg(feature = "cuda")]
pub use bitgraph_cuda as cuda;
#[cfg(feature = "generate")]
pub use bitgraph_generate as generate;
#[cfg(feature = "gnn")]
pub use bitgraph_gnn as gnn;
#[cfg(feature = "io")]
pub use bitgraph_io as io;
pub use bitgraph_semiring as semiring;
pub use bitgraph_sparse as sparse;
pub use bitgraph_tensor as tensor;

pub use error::{Error, Result};
#[cfg(any(feature = "io", feature = "generate"))]
pub use loaded::LoadedGraph;
#[cfg(all(feature = "cpu", any(feature = "io", feature = "generate")))]
pub use open::Open;
#[cfg(any(feature = "io", feature = "generate"))]
pub use options::LoadOptions;
pub use provenance::commit;
#[cfg(any(feature = "io", feature = "generate"))]
pub use source::GraphSource;
#[cfg(any(feature = "io", feature = "generate"))]
pub use stored::StoredGraph;
#[cfg(any(feature = "io", feature = "generate"))]
pub use weights::WeightSource;
#[cfg(feature = "generate")]
pub use weights::{hashed_weight, hashed_weights};

/// The README's program runs as a test.
#[cfg(all(doctest, feature = "cpu", feature = "io", feature = "generate"))]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
