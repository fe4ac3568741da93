//! How many entries rows have, and how unevenly.

use bitgraph_sparse::{Csr, parallel};

/// Entries of a row: how many, and how unevenly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Degrees {
    /// The smallest.
    pub min: usize,
    /// The largest.
    pub max: usize,
    /// The average.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The degrees below which 10, 25, 50, 75, 90 and 99 % of the rows lie (nearest rank).
    pub percentiles: [usize; 6],
    /// The share of all entries in the 1 % of rows that have most.
    pub top_share: f64,
    /// Rows without entries.
    pub empty: usize,
}

impl Degrees {
    /// The percents of [`Degrees::percentiles`].
    pub const PERCENTS: [usize; 6] = [10, 25, 50, 75, 90, 99];

    /// Of all rows. O(rows + largest degree).
    #[must_use]
    pub fn new(csr: &Csr) -> Self {
        let n = csr.nrows();
        if n == 0 {
            return Self::default();
        }
        let max = parallel::reduce(n, 8192, |rows| rows.map(|i| csr.degree(i)).max().unwrap_or(0), usize::max);
        let mut histogram = vec![0usize; max + 1];
        (0..n).for_each(|i| histogram[csr.degree(i)] += 1);
        let at_rank = |rank: usize| {
            let mut left = rank;
            histogram.iter().position(|&h| {
                let here = left < h;
                left = left.saturating_sub(h);
                here
            })
        };
        let mean = csr.nnz() as f64 / n as f64;
        let square = |d: usize| (d as f64 - mean) * (d as f64 - mean);
        let variance = histogram.iter().enumerate().map(|(d, &h)| square(d) * h as f64).sum::<f64>() / n as f64;
        let (mut top, mut left) = (0usize, n.div_ceil(100));
        for (d, &h) in histogram.iter().enumerate().rev() {
            top += d * h.min(left);
            left -= h.min(left);
        }
        Self {
            min: histogram.iter().position(|&h| h > 0).unwrap_or(0),
            max,
            mean,
            deviation: variance.sqrt(),
            percentiles: Self::PERCENTS.map(|p| at_rank((n * p).div_ceil(100) - 1).unwrap_or(max)),
            top_share: if csr.nnz() == 0 { 0.0 } else { top as f64 / csr.nnz() as f64 },
            empty: histogram[0],
        }
    }
}
