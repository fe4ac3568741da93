//! Sparse matrix times dense vector, laid out for many passes.

mod bins;

pub use bins::Pattern;
pub(crate) use bins::{RowBins, RowBinsParams};
