//! Fused forms of the algorithms: each one folder, and `buckets` what searches by distance share. `select.rs` is the one place that chooses among variants, and what implements [`Fused`](bitgraph_backend::Fused).

pub mod bfs;
mod buckets;
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
