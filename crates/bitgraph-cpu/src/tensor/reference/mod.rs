//! The reference: every operation by plain serial loops in double precision, rounded once. Nothing here is fast.

pub mod attention;
pub mod bits;
pub mod dense;
mod graph;
mod plain;
pub mod sddmm;
pub mod spmm;
