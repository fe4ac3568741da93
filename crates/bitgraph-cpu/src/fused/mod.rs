//! Fused forms of the algorithms: each one file or folder, each with a layout built once and a run.

pub mod bfs;
pub mod cc;
pub mod msbfs;
pub mod pagerank;
pub mod sssp;
pub mod tc;
#[cfg(test)]
mod variants;
