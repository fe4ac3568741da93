//! Sums over lists as they are.

use super::{Real, kernel};
use bitgraph_sparse::{Csr, with_offsets};
use std::ops::Range;

/// Sets `y` to the sums of a range of rows.
pub(super) fn sum<T: Real>(csr: &Csr, rows: Range<usize>, x: &[T], y: &mut [T]) {
    with_offsets!(csr.offsets(), o => kernel::lists(&o[rows.start..=rows.end], csr.indices(), x, y));
}
