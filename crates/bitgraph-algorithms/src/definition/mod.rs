//! The algorithms in their GraphBLAS form, written once over the operation traits: what each algorithm is.
//!
//! Nothing crosses to the host in a loop but what decides it. Vertices are in the graph's planned numbering. The definitions are not the fast path: they are what fused forms are held
//! against, and what runs on layouts that have no fused form.

mod bfs;
mod cc;
mod ms_bfs;
mod pagerank;
mod paths;
mod sssp;
mod tc;

pub use bfs::{bfs, bfs_with};
pub use cc::cc;
pub use ms_bfs::ms_bfs;
pub use pagerank::pagerank;
pub use sssp::{sssp, sssp_with};
pub use tc::tc;
