//! Fused forms: a whole algorithm in one launch.

pub mod pagerank;
pub mod sssp;
