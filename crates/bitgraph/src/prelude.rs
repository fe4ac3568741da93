//! What most programs need: `use bitgraph::prelude::*`.

pub use crate::{Error, GraphSource, LoadOptions, LoadedGraph, StoredGraph, WeightSource};
pub use bitgraph_algorithms::{bfs, cc, ms_bfs, pagerank, sssp, tc};
pub use bitgraph_backend::{
    Algorithm, Backend, Bfs, BfsConfig, BfsOutput, Cc, CcConfig, Control, Dangling, Graph, MsBfs, MsBfsConfig, PageRank, PageRankConfig,
    Plan, PlanRequest, Sssp, SsspConfig, Tc, TcConfig, UNREACHED, Workload,
};
#[cfg(feature = "cpu")]
pub use bitgraph_cpu::Cpu;
#[cfg(feature = "cuda")]
pub use bitgraph_cuda::Cuda;
pub use bitgraph_sparse::ordering::Ordering;
pub use bitgraph_sparse::{BitVector, Coo, Csr, Duplicates, Format, FormatKind, Permutation, Values, Vector};
