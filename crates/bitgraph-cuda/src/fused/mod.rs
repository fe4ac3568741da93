//! Fused forms: a whole algorithm in one launch.

pub mod pagerank;
