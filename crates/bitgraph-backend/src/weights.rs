//! What the weights of a matrix are like: the check that shortest paths need, and the numbers that a variant is chosen by.
//!
//! Invariant: a [`WeightStats`] exists only for weights that are neither negative nor NaN.

use crate::{Error, Result};
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{Csr, Values, parallel, with_offsets, with_values};
use std::any::Any;

/// A matrix value seen as a weight.
pub trait Weight: Scalar {
    /// As an unsigned integer, if it is one that is at most 2^64 - 1 (below 2^63 for floats); negative zero is zero.
    #[inline(always)]
    fn whole(self) -> Option<u64> {
        // The two types that `f64` does not hold; the casts cost nothing once the type is known.
        let any: &dyn Any = &self;
        if let Some(&x) = any.downcast_ref::<u64>() {
            return Some(x);
        }
        if let Some(&x) = any.downcast_ref::<i64>() {
            return u64::try_from(x).ok();
        }
        let x = self.to_f64();
        // Compared through the integer: rounding functions are calls on plain x86-64.
        (x >= 0.0 && (!Self::DTYPE.is_float() || (x as i64) as f64 == x)).then_some(x as i64 as u64)
    }
}
impl<T: Scalar> Weight for T {}

/// The weights of a matrix in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WeightStats {
    /// The type of the values; `U8` for a pattern.
    pub dtype: DType,
    /// Whether every weight is a whole number below 2^63 (or any integer type's value).
    pub whole: bool,
    /// The smallest weight.
    pub smallest: f64,
    /// The largest finite weight.
    pub largest: f64,
    /// The mean of the finite weights; 0 without entries.
    pub mean: f64,
    /// No finite distance is above this: the sum over all rows of the row's largest weight, since a shortest path leaves a
    /// vertex at most once. Only for whole weights.
    pub bound: u128,
}

impl WeightStats {
    /// Unit weights on every entry of `matrix`.
    #[must_use]
    pub fn unit(matrix: &Csr) -> Self {
        let any = if matrix.nnz() == 0 { 0.0 } else { 1.0 };
        Self { dtype: DType::U8, whole: true, smallest: any, largest: any, mean: any, bound: matrix.nrows() as u128 }
    }
    /// Checks and sums up the weights of `matrix`. O(nnz), parallel.
    ///
    /// # Errors
    /// [`Error::Shape`] if their number is not the pattern's; [`Error::Weight`] naming the first edge whose weight is
    /// negative or NaN.
    pub fn of(matrix: &Csr, weights: Option<&Values>) -> Result<Self> {
        let Some(values) = weights else { return Ok(Self::unit(matrix)) };
        if values.len() != matrix.nnz() {
            let (expected, found) = (matrix.nnz() as u64, values.len() as u64);
            return Err(Error::Shape { operation: "sssp", operand: "weights", expected, found });
        }
        let (dtype, float) = (values.dtype(), values.dtype().is_float());
        let part = with_values!(values, v => scan(matrix, v, float));
        if let Some(position) = part.bad {
            let weight = values.get_f64(position);
            let row = row_of(matrix, position) as u64;
            let what = if weight.is_nan() { "not a number" } else { "shortest paths need weights of 0 or more" };
            return Err(Error::Weight { row, column: matrix.indices()[position].into(), weight, what });
        }
        let mean = if part.finite == 0 { 0.0 } else { part.sum / part.finite as f64 };
        let smallest = if part.smallest.is_finite() { part.smallest } else { 0.0 };
        Ok(Self { dtype, whole: part.whole, smallest, largest: part.largest, mean, bound: part.bound })
    }
}

/// What one block of rows adds to a summary.
struct Part {
    bad: Option<usize>,
    whole: bool,
    smallest: f64,
    largest: f64,
    sum: f64,
    finite: usize,
    bound: u128,
}

fn scan<W: Weight>(matrix: &Csr, weights: &[W], float: bool) -> Part {
    let blocks = with_offsets!(matrix.offsets(), o => parallel::balanced_rows(o, rayon::current_num_threads() * 4));
    let parts: Vec<Part> = parallel::collect(blocks.len(), |b| {
        let rows = blocks[b].clone();
        let mut part = Part { bad: None, whole: true, smallest: f64::INFINITY, largest: 0.0, sum: 0.0, finite: 0, bound: 0 };
        for row in rows {
            let range = matrix.row_range(row);
            let mut largest = 0u64;
            for (k, &w) in range.clone().zip(&weights[range]) {
                let x = w.to_f64();
                if x.is_nan() || x < 0.0 {
                    part.bad = Some(k);
                    return part;
                }
                match w.whole() {
                    Some(u) => largest = largest.max(u),
                    None => part.whole = false,
                }
                if !float || x.is_finite() {
                    part.smallest = part.smallest.min(x);
                    part.largest = part.largest.max(x);
                    part.sum += x;
                    part.finite += 1;
                }
            }
            part.bound += u128::from(largest);
        }
        part
    });
    parts
        .into_iter()
        .reduce(|a, b| Part {
            bad: a.bad.or(b.bad),
            whole: a.whole && b.whole,
            smallest: a.smallest.min(b.smallest),
            largest: a.largest.max(b.largest),
            sum: a.sum + b.sum,
            finite: a.finite + b.finite,
            bound: a.bound + b.bound,
        })
        .unwrap_or(Part { bad: None, whole: true, smallest: f64::INFINITY, largest: 0.0, sum: 0.0, finite: 0, bound: 0 })
}

/// The row that the entry at `position` is in. O(log rows).
fn row_of(matrix: &Csr, position: usize) -> usize {
    let (mut low, mut high) = (0, matrix.nrows());
    while low + 1 < high {
        let middle = (low + high) / 2;
        if matrix.offsets().get(middle) <= position { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::{Coo, Duplicates};

    fn path(n: u32) -> Csr {
        Coo::pattern(n as usize, n as usize, (0..n - 1).collect(), (1..n).collect()).into_csr(Duplicates::First).unwrap().0
    }

    #[test]
    fn weights_are_summed_up() {
        let found = WeightStats::of(&path(5), Some(&Values::from(vec![3.0f32, 0.5, 7.0, f32::INFINITY]))).unwrap();
        assert_eq!((found.whole, found.smallest, found.largest, found.mean), (false, 0.5, 7.0, 3.5));
        let found = WeightStats::of(&path(5), Some(&Values::from(vec![3u8, 0, 255, 2]))).unwrap();
        assert_eq!((found.whole, found.smallest, found.largest, found.bound), (true, 0.0, 255.0, 260));
        assert!(matches!(WeightStats::of(&path(5), Some(&Values::from(vec![1u8; 3]))), Err(Error::Shape { expected: 4, found: 3, .. })));
    }

    /// Of every row the largest, wherever in the row it is.
    #[test]
    fn no_distance_is_above_the_bound() {
        let rows = [(0u32, vec![9i64, 3, 5]), (1, vec![2, 1 << 40, 7]), (2, vec![]), (3, vec![0, 0, 4])];
        let arcs: Vec<u32> = rows.iter().flat_map(|(u, w)| w.iter().map(|_| *u)).collect();
        let matrix = Coo::pattern(4, 4, arcs, vec![0, 1, 2, 1, 2, 3, 0, 2, 3]).into_csr(Duplicates::First).unwrap().0;
        let weights: Vec<i64> = rows.iter().flat_map(|(_, w)| w.clone()).collect();
        let found = WeightStats::of(&matrix, Some(&Values::from(weights))).unwrap();
        assert_eq!((found.bound, found.largest, found.smallest), (9 + (1 << 40) + 4, (1u64 << 40) as f64, 0.0));
    }

    /// The first of several, wherever it is and whatever the threads.
    #[test]
    fn what_is_no_weight_is_refused_with_its_place() {
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for (at, weight) in [(0, f64::NAN), (700, -1.0), (2_998, f64::NAN), (1_500, f64::NEG_INFINITY)] {
                let mut weights = vec![1.0; 2_999];
                weights[at] = weight;
                weights[2_998] = f64::NAN;
                let error = pool.install(|| WeightStats::of(&path(3_000), Some(&Values::from(weights)))).unwrap_err();
                let Error::Weight { row, column, weight: found, what } = error else { panic!("{error}") };
                assert_eq!((row, column, found.to_bits()), (at as u64, at as u64 + 1, weight.to_bits()));
                assert_eq!(what == "not a number", weight.is_nan());
            }
        }
    }
}
