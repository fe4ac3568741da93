//! Graph algorithms, generic over the backend: each asks the backend for a fused form and falls back on its definition.
//!
//! The definitions, in [`definition`], are the algorithms in their GraphBLAS form, written once over the operation traits;
//! verification holds fused forms against them. Vertices are the input's own numbers, in configs and in results.

pub mod definition;
mod entry;

pub use entry::{GraphBackend, PathBackend, bfs, cc, ms_bfs, pagerank, sssp, tc};
