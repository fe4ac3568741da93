//! What shortest paths ask of weights: their range.

use crate::Error;
use bitgraph_b2sr::Layout;
use bitgraph_sparse::{OffsetInt, Values, parallel, with_offsets, with_values};

/// Refuses negative and NaN weights. O(nnz), parallel.
///
/// # Errors
/// [`Error::Weight`] naming the first such edge.
pub(crate) fn check(layout: &Layout, values: &Values) -> Result<(), Error> {
    let bad = with_values!(values, w => {
        use bitgraph_semiring::Scalar;
        parallel::position(w, |x| {
            // Not `x < 0`: a NaN compares false both ways.
            !matches!(x.partial_cmp(&Scalar::ZERO), Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Equal))
        })
    });
    let Some(position) = bad else { return Ok(()) };
    let weight = values.get_f64(position);
    let csr = layout.to_csr();
    let row = with_offsets!(csr.offsets(), o => o.partition_point(|x| x.index() <= position) - 1);
    let what = if weight.is_nan() { "not a number" } else { "shortest paths need weights of 0 or more" };
    Err(Error::Weight { row: row as u64, column: csr.indices()[position].into(), weight, what })
}
