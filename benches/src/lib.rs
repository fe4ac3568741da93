//! The side-by-side harness: bitgraph and its peers on the same graphs, in turns, with results compared before anything is timed.
//!
//! The binary `bitgraph-bench` drives it; `cargo xtask bench cpu` starts that, and `cargo xtask reproduce PAPER` the tables
//! of a paper in [`reproduce`]. Criterion benches of single operations are in
//! `benches/benches/`.

pub mod bandwidth;
pub mod batches;
pub mod bspmm;
mod codes;
pub mod contender;
pub mod conversions;
pub mod external;
pub mod features;
pub mod files;
mod front;
pub mod gemm_bits;
pub mod gnn;
pub mod inference;
pub mod neighbours;
pub mod ours;
pub mod peers;
mod pyg;
pub mod report;
pub mod reproduce;
pub mod sampled;
pub mod signs;
pub mod spmm;
pub mod task;
pub mod threads;
pub mod timing;
