//! Primitives over device arrays and device patterns: scans, sorts, gathers, reductions, orders, relabelling, transposing.
//!
//! Everything here is queued on the device's stream and returns before it is done, unless it says that it waits. Results do not
//! depend on the order in which blocks run.
//!
//! # Invariants
//! Inputs are never changed. Kernels read the block size at run time, so the same code runs on the host shim.
#![allow(unsafe_code)]

mod array;
mod csr;
mod halves;
mod launch;
mod order;
mod pause;
mod scan;
mod sort;

pub use array::{Reduced, compact, fill_u32, fill_u64, gather, histogram, invert, iota, reduce};
pub use csr::{Order, degree_order, degrees, gather_values, relabel, rows_of_entries, transpose, transpose_with_positions};
pub use halves::{Side, orient, orient_with_positions, symmetrized};
pub use order::{LevelOrder, LevelOrderConfig, level_order};
pub use pause::Pause;
pub use scan::{exclusive_scan, exclusive_scan_total, exclusive_scan_wide};
pub use sort::{SortKey, SortValue, sort_keys, sort_pairs};

pub(crate) use csr::{RowOffsets, bounds, entry_rows_shared, id_bits};
pub(crate) use launch::{THREADS, blocks, elementwise, ranged, threads, too_large};
pub(crate) use order::probe;

#[cfg(test)]
pub(crate) mod tests;
