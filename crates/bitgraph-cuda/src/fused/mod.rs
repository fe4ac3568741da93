//! Fused forms: a whole algorithm in one launch.
#![allow(unsafe_code)]

pub mod bfs;
pub mod cc;
pub mod msbfs;
pub mod pagerank;
pub mod sssp;
pub mod tc;
