//! Graph algorithms on bit-level tile formats, behind a GraphBLAS-style API.
//!
//! This crate is the front door: it re-exports the crates of the workspace as modules, and adds [`GraphSource`], which loads a
//! graph by name, and [`memory`], which counts what that costs.
//!
#![cfg_attr(
    feature = "cpu",
    doc = r#"
```
use bitgraph::prelude::*;

// Graph500's Kronecker graph of 2^10 vertices. A file name would do as well.
let loaded = "kron:10".parse::<GraphSource>()?.load(&LoadOptions::default())?;
assert!(loaded.symmetric);

// Lay it out for searches; order and format are the planner's choice.
let request = PlanRequest::auto(Workload::once(Algorithm::Bfs));
let graph = Graph::build(Cpu::new(), loaded.csr.clone(), None, loaded.symmetric, &request)?;
let source = loaded.csr.heaviest_row().unwrap_or(0);
let search = bfs(&graph, &BfsConfig { source, ..BfsConfig::default() })?;
let levels = search.levels.unwrap_or_default();
assert_eq!(levels[source as usize], 0);
assert_eq!(levels.iter().filter(|&&l| l >= 0).count() as u64, search.reached);

// Scores sum to 1.
let request = PlanRequest::auto(Workload::once(Algorithm::PageRank));
let graph = Graph::build(Cpu::new(), loaded.csr, None, loaded.symmetric, &request)?;
let ranks = pagerank::<_, f64>(&graph, &PageRankConfig::default())?;
assert!(ranks.converged && (ranks.scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
# Ok::<(), Box<dyn std::error::Error>>(())
```
"#
)]

mod error;
pub mod memory;
pub mod prelude;
mod provenance;
mod source;
mod stored;
mod weights;

pub use bitgraph_algorithms as algorithms;
pub use bitgraph_b2sr as b2sr;
pub use bitgraph_backend as backend;
#[cfg(feature = "cpu")]
pub use bitgraph_cpu as cpu;
#[cfg(feature = "cuda")]
pub use bitgraph_cuda as cuda;
pub use bitgraph_generate as generate;
pub use bitgraph_io as io;
pub use bitgraph_semiring as semiring;
pub use bitgraph_sparse as sparse;

pub use error::{Error, Result};
pub use provenance::commit;
pub use source::{GraphSource, LoadControl, LoadOptions, LoadedGraph};
pub use stored::StoredGraph;
pub use weights::{WeightSource, hashed_weight, hashed_weights};

/// The README's program runs as a test.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
