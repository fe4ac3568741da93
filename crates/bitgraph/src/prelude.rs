//! What most programs need: `use bitgraph::prelude::*`.

#[cfg(feature = "cpu")]
pub use crate::Open;
pub use crate::{Error, GraphSource, LoadOptions, LoadedGraph, StoredGraph, WeightSource};
pub use bitgraph_algorithms::{
    Algorithms, Bfs, BfsConfig, BfsOutput, Cc, CcConfig, Dangling, MsBfs, MsBfsConfig, On, PageRank, PageRankConfig, Product, Sssp,
    SsspConfig, Tc, TcConfig, Typed, UNREACHED,
};
pub use bitgraph_backend::{Algorithm, Backend, Control, Graph, GraphData, Plan, Request, Reuse, Symmetry};
#[cfg(feature = "cpu")]
pub use bitgraph_cpu::Cpu;
#[cfg(feature = "cuda")]
pub use bitgraph_cuda::Cuda;
pub use bitgraph_sparse::ordering::Ordering;
pub use bitgraph_sparse::{BitVector, Coo, Csr, Duplicates, Format, FormatKind, Permutation, Values, Vector};
