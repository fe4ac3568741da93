//! Fused forms of the algorithms: each one folder. `select.rs` is the one place that chooses among variants, and what implements [`Fused`](bitgraph_backend::Fused).

pub mod bfs;
pub mod cc;
#[cfg(target_arch = "x86_64")]
mod compress;
mod lists;
pub mod msbfs;
pub mod pagerank;
mod product;
pub mod sssp;
pub mod tc;
#[cfg(test)]
mod variants;
