//! Graph algorithms on bit-level tile formats, behind a GraphBLAS-style API.
//!
//! This crate is the front door: it re-exports the crates of the workspace as modules, and adds [`GraphSource`], which loads a
//! graph by name, and [`memory`], which counts what that costs.
//!
#![cfg_attr(
    all(feature = "cpu", feature = "generate"),
    doc = r#"
```
use bitgraph::prelude::*;

// Graph500's Kronecker graph of 2^10 vertices. A file name would do as well.
let graph = Graph::open("kron:10")?;

// One graph for every algorithm: what each wants is laid out when it is first needed, and kept.
let source = graph.data().max_degree_vertex().unwrap_or(0);
let search = graph.bfs(source).run()?;
let levels = search.levels.unwrap_or_default();
assert_eq!(levels[source as usize], 0);
assert_eq!(levels.iter().filter(|&&l| l >= 0).count() as u64, search.reached);

// Scores sum to 1.
let ranks = graph.pagerank().damping(0.9).run::<f64>()?;
assert!(ranks.converged && (ranks.scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);

// A graph of the program's own.
let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0)]).nodes(7).undirected().build()?;
assert_eq!((graph.tc().run()?.triangles, graph.cc().run()?.components), (1, 5));
# Ok::<(), Box<dyn std::error::Error>>(())
```
"#
)]

mod error;
pub mod memory;
#[cfg(all(feature = "cpu", any(feature = "io", feature = "generate")))]
mod open;
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
#[cfg(feature = "io")]
pub use bitgraph_io as io;
pub use bitgraph_semiring as semiring;
pub use bitgraph_sparse as sparse;

pub use error::{Error, Result};
#[cfg(all(feature = "cpu", any(feature = "io", feature = "generate")))]
pub use open::Open;
pub use provenance::commit;
#[cfg(any(feature = "io", feature = "generate"))]
pub use source::{GraphSource, LoadOptions, LoadedGraph};
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
