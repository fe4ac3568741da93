//! What shortest paths ask of weights, checked before a graph is renumbered so that an error names the input's own edge.

use crate::Error;
use bitgraph_sparse::{Csr, OffsetInt, Values, with_offsets, with_values};
use rayon::prelude::*;

/// Refuses negative and NaN weights. O(nnz), parallel.
///
/// # Errors
/// [`Error::Weight`] naming the first such edge.
pub(crate) fn check(csr: &Csr, values: &Values) -> Result<(), Error> {
    let bad = with_values!(values, w => {
        use bitgraph_semiring::Scalar;
        w.par_iter().with_min_len(65536).position_first(|x| {
            // Not `x < 0`: a NaN compares false both ways.
            !matches!(x.partial_cmp(&Scalar::ZERO), Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Equal))
        })
    });
    let Some(position) = bad else { return Ok(()) };
    let weight = values.get_f64(position);
    let row = with_offsets!(csr.offsets(), o => o.partition_point(|x| x.index() <= position) - 1);
    let what = if weight.is_nan() { "not a number" } else { "shortest paths need weights of 0 or more" };
    Err(Error::Weight { row: row as u64, column: csr.indices()[position].into(), weight, what })
}
