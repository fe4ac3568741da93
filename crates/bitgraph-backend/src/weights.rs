//! What shortest paths ask of weights: their range.

use crate::Error;
use bitgraph_b2sr::Layout;
use bitgraph_semiring::Scalar;
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

/// The greatest weight, if all are whole numbers of 0 or more, floats below 2^63. O(nnz).
pub(crate) fn greatest_whole(values: &Values) -> Option<u64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if values.dtype().is_float() {
        let broken = with_values!(values, w => {
            parallel::position(w, |x| {
                let x = x.to_f64();
                !(0.0..BOUND).contains(&x) || x.fract() != 0.0
            })
        });
        return broken.is_none().then(|| {
            with_values!(values, w => {
                w.iter().fold(0.0f64, |most, x| most.max(x.to_f64())) as u64
            })
        });
    }
    match values {
        Values::U64(w) => Some(w.iter().copied().max().unwrap_or(0)),
        Values::I64(w) => u64::try_from(w.iter().copied().max().unwrap_or(0)).ok(),
        // Every other integer type's numbers are exact in f64.
        _ => with_values!(values, w => {
            let most = w.iter().fold(0.0f64, |most, x| most.max(x.to_f64()));
            Some(most as u64)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::greatest_whole;
    use bitgraph_sparse::Values;

    #[test]
    fn whole_weights_of_any_type() {
        assert_eq!(greatest_whole(&Values::from_vec(vec![3u8, 250, 0])), Some(250));
        assert_eq!(greatest_whole(&Values::from_vec(vec![u64::MAX, 1])), Some(u64::MAX));
        assert_eq!(greatest_whole(&Values::from_vec(vec![i64::MAX, 1])), Some(i64::MAX as u64));
        assert_eq!(greatest_whole(&Values::from_vec(vec![1.0f32, 65536.0])), Some(65536));
        assert_eq!(greatest_whole(&Values::from_vec(Vec::<f64>::new())), Some(0));
        for broken in [0.5, -1.0, f64::NAN, f64::INFINITY, 2.0f64.powi(63)] {
            assert_eq!(greatest_whole(&Values::from_vec(vec![1.0, broken])), None, "{broken}");
        }
    }
}
