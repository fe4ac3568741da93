//! Fused forms: a whole algorithm in one launch.

pub mod bfs;
pub mod pagerank;
pub mod sssp;
