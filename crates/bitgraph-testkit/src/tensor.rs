//! The oracle of the operations on dense matrices: plain loops in double precision, each sum with the sum of its magnitudes and its length, so
//! that the error of any order of summation in any precision can be bounded.

use crate::{Mismatches, Tolerance};
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::Csr;

/// A matrix of `f64`, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The element at (i, c) is element `i * columns + c`.
    pub data: Vec<f64>,
}

impl Grid {
    /// From a function of row and column.
    pub fn from_fn(rows: usize, columns: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let data = (0..rows * columns).map(|k| f(k / columns, k % columns)).collect();
        Self { rows, columns, data }
    }
    /// Zeros.
    #[must_use]
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self::from_fn(rows, columns, |_, _| 0.0)
    }
    /// The elements of any type.
    pub fn of<T: Scalar>(rows: usize, columns: usize, elements: &[T]) -> Self {
        assert_eq!(elements.len(), rows * columns);
        Self { rows, columns, data: elements.iter().map(|v| v.to_f64()).collect() }
    }
    /// An element.
    #[must_use]
    pub fn get(&self, i: usize, c: usize) -> f64 {
        self.data[i * self.columns + c]
    }
    /// An element to write to.
    pub fn at(&mut self, i: usize, c: usize) -> &mut f64 {
        &mut self.data[i * self.columns + c]
    }
    /// Every element through a function of itself, its row and its column.
    #[must_use]
    pub fn map(&self, f: impl Fn(f64, usize, usize) -> f64) -> Self {
        Self::from_fn(self.rows, self.columns, |i, c| f(self.get(i, c), i, c))
    }
}

/// A result: sums, the sums of the magnitudes of their terms, and how many terms each row's sums have.
#[derive(Clone, Debug)]
pub struct Sums {
    /// The values.
    pub values: Grid,
    /// The magnitudes.
    pub magnitudes: Grid,
    /// Terms of the sums of each row.
    pub lengths: Vec<usize>,
}

impl Sums {
    /// Of nothing.
    #[must_use]
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { values: Grid::zeros(rows, columns), magnitudes: Grid::zeros(rows, columns), lengths: vec![0; rows] }
    }
    fn add(&mut self, i: usize, c: usize, term: f64) {
        *self.values.at(i, c) += term;
        *self.magnitudes.at(i, c) += term.abs();
    }
    /// Compares with elements of type `T`, sums having been formed in `accumulator`: within the bound of each sum, and `slack` times that.
    ///
    /// # Errors
    /// The positions that differ.
    pub fn compare<T: Scalar>(&self, found: &[T], accumulator: DType, slack: f64) -> Result<(), Mismatches> {
        let bound = |k: usize| {
            let length = self.lengths[k / self.values.columns.max(1)];
            let magnitude = self.magnitudes.data[k];
            let summed = Tolerance::for_sum(accumulator, length, magnitude);
            let stored = Tolerance::for_sum(T::DTYPE, 0, 0.0);
            // Near zero a type has an absolute step; integers are rounded to the nearest.
            let step = match T::DTYPE {
                DType::F16 => 2f64.powi(-24),
                DType::Bf16 | DType::F32 => f64::from(f32::MIN_POSITIVE),
                DType::F64 => f64::MIN_POSITIVE,
                _ if summed == Tolerance::EXACT => 0.0,
                _ => 1.0,
            };
            (step + slack * summed.absolute, stored.relative + slack * summed.relative)
        };
        compare(&self.values, found, bound)
    }
}

/// Compares elements: `|found - expected| <= absolute + relative |expected|` for each, by its position.
///
/// # Errors
/// The positions that differ.
pub fn compare<T: Scalar>(expected: &Grid, found: &[T], bound: impl Fn(usize) -> (f64, f64)) -> Result<(), Mismatches> {
    let mut m = Mismatches { lengths: (expected.data.len(), found.len()), compared: 0, different: 0, first: Vec::new() };
    let (low, high) = (T::smallest().to_f64(), T::largest().to_f64());
    for (k, (&e, f)) in expected.data.iter().zip(found).enumerate() {
        m.compared += 1;
        let (absolute, relative) = bound(k);
        // What a type does not reach is its extreme, or an infinity.
        let (limited, value) = (if T::DTYPE.is_float() { e } else { e.clamp(low, high) }, f.to_f64());
        let overflows = T::DTYPE == DType::F16 && e.abs() > 65504.0 - absolute && value.is_infinite() && value.signum() == e.signum();
        let near = (limited - value).abs() <= absolute + relative * limited.abs();
        if !(near || overflows || limited == value || (e.is_nan() && value.is_nan())) {
            m.different += 1;
            if m.first.len() < Mismatches::SHOWN {
                let (i, c) = (k / expected.columns.max(1), k % expected.columns.max(1));
                m.first.push(format!("at ({i}, {c}): expected {e:e}, found {f:?}, allowed {:e}", absolute + relative * limited.abs()));
            }
        }
    }
    if m.different == 0 && expected.data.len() == found.len() { Ok(()) } else { Err(m) }
}

/// The entries of a pattern, or of its transpose: row, column, position in the pattern's order; by rows, columns ascending.
#[must_use]
pub fn entries(csr: &Csr, transposed: bool) -> Vec<(usize, usize, usize)> {
    let all = (0..csr.nrows()).flat_map(|i| csr.row_range(i).map(move |k| (i, csr.indices()[k] as usize, k)));
    let mut all: Vec<_> = all.map(|(i, j, k)| if transposed { (j, i, k) } else { (i, j, k) }).collect();
    all.sort_unstable();
    all
}

/// How messages are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their sum over their number.
    Mean,
    /// The maximum; a NaN loses against a number.
    Max,
    /// The minimum; a NaN loses against a number.
    Min,
}

/// The operands of [`spmm`] beside pattern and features.
pub struct Messages<'a> {
    /// Whether the pattern's transpose is meant.
    pub transposed: bool,
    /// The value of an entry, by position and head.
    pub weight: &'a dyn Fn(usize, usize) -> f64,
    /// Heads.
    pub heads: usize,
    /// A factor of every row.
    pub rows: &'a dyn Fn(usize) -> f64,
    /// A factor of every column.
    pub columns: &'a dyn Fn(usize) -> f64,
    /// One more entry on the diagonal of every row.
    pub own: Option<f64>,
    /// How messages are reduced.
    pub reduce: Reduction,
}

/// Row `i` is `rows(i)` times the reduction of `weight * columns(j) * x(j)` over the entries (i, j); 0 without entries.
#[must_use]
pub fn spmm(csr: &Csr, x: &Grid, m: &Messages<'_>) -> Sums {
    let rows = if m.transposed { csr.ncols() } else { csr.nrows() };
    let mut all = entries(csr, m.transposed);
    if m.own.is_some() {
        all.extend((0..rows).map(|i| (i, i, usize::MAX)));
        all.sort_unstable();
    }
    let (mut sums, width) = (Sums::zeros(rows, x.columns), x.columns / m.heads.max(1));
    for row in all.chunk_by(|a, b| a.0 == b.0) {
        let i = row[0].0;
        sums.lengths[i] = row.len();
        for c in 0..x.columns {
            let message = |&(_, j, k): &(usize, usize, usize)| {
                let weight = if k == usize::MAX { m.own.unwrap_or(0.0) } else { (m.weight)(k, c / width) };
                weight * (m.columns)(j) * x.get(j, c)
            };
            let better = |a: f64, b: f64| (m.reduce == Reduction::Max && b > a) || (m.reduce == Reduction::Min && b < a);
            match m.reduce {
                Reduction::Sum | Reduction::Mean => row.iter().for_each(|e| sums.add(i, c, message(e))),
                _ => {
                    let choose = |a: f64, b: f64| if better(a, b) || (a.is_nan() && !b.is_nan()) { b } else { a };
                    let chosen = row.iter().map(message).reduce(choose).unwrap_or(0.0);
                    sums.add(i, c, chosen);
                }
            }
        }
        let (factor, count) = ((m.rows)(i), if m.reduce == Reduction::Mean { row.len() as f64 } else { 1.0 });
        for c in 0..x.columns {
            *sums.values.at(i, c) = sums.values.get(i, c) / count * factor;
            *sums.magnitudes.at(i, c) = sums.magnitudes.get(i, c) / count * factor.abs();
        }
    }
    sums
}

/// The dot products of head's blocks of rows of `x` and `y` at the entries: entries x heads.
#[must_use]
pub fn sddmm(csr: &Csr, x: &Grid, y: &Grid, heads: usize) -> Sums {
    let (mut sums, width) = (Sums::zeros(csr.nnz(), heads), x.columns / heads.max(1));
    for (i, j, k) in entries(csr, false) {
        sums.lengths[k] = width;
        for h in 0..heads {
            (h * width..(h + 1) * width).for_each(|c| sums.add(k, h, x.get(i, c) * y.get(j, c)));
        }
    }
    sums
}

/// The softmax of scores over the entries of each row, head by head.
#[must_use]
pub fn softmax(csr: &Csr, scores: &Grid) -> Grid {
    let mut p = Grid::zeros(scores.rows, scores.columns);
    for i in 0..csr.nrows() {
        for h in 0..scores.columns {
            let max = csr.row_range(i).map(|k| scores.get(k, h)).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = csr.row_range(i).map(|k| (scores.get(k, h) - max).exp()).sum();
            csr.row_range(i).for_each(|k| *p.at(k, h) = (scores.get(k, h) - max).exp() / sum);
        }
    }
    p
}

/// `op(a) op(b)`.
#[must_use]
pub fn gemm(a: &Grid, transpose_a: bool, b: &Grid, transpose_b: bool) -> Sums {
    let (rows, length) = if transpose_a { (a.columns, a.rows) } else { (a.rows, a.columns) };
    let columns = if transpose_b { b.rows } else { b.columns };
    let mut sums = Sums::zeros(rows, columns);
    sums.lengths.fill(length);
    for i in 0..rows {
        for c in 0..columns {
            for k in 0..length {
                let first = if transpose_a { a.get(k, i) } else { a.get(i, k) };
                sums.add(i, c, first * if transpose_b { b.get(c, k) } else { b.get(k, c) });
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn sums_know_their_bounds() {
        let csr = crate::corpus().into_iter().find(|g| g.name == "star").expect("in the corpus").csr;
        let x = Grid::from_fn(100, 2, |i, c| if c == 0 { i as f64 } else { -1.0 });
        let one = |_: usize, _: usize| 1.0;
        let m = |reduce| Messages { transposed: false, weight: &one, heads: 1, rows: &|_| 1.0, columns: &|_| 1.0, own: None, reduce };
        let sums = spmm(&csr, &x, &m(Reduction::Sum));
        assert_eq!((sums.values.get(0, 0), sums.values.get(0, 1), sums.magnitudes.get(0, 1), sums.lengths[0]), (4950.0, -99.0, 99.0, 99));
        assert_eq!(spmm(&csr, &x, &m(Reduction::Mean)).values.get(0, 0), 50.0);
        assert_eq!(spmm(&csr, &x, &m(Reduction::Max)).values.get(0, 0), 99.0);
        let found: Vec<f32> = sums.values.data.iter().map(|&v| v as f32).collect();
        assert!(sums.compare(&found, DType::F32, 1.0).is_ok());
        let mut wrong = found;
        wrong[0] += 0.1;
        assert_eq!(sums.compare(&wrong, DType::F32, 1.0).unwrap_err().different, 1);
        let half: Vec<f16> = sums.values.data.iter().map(|&v| f16::from_f64(v)).collect();
        assert!(sums.compare(&half, DType::F32, 1.0).is_ok());
        let p = softmax(&csr, &Grid::zeros(csr.nnz(), 1));
        assert!((p.get(0, 0) - 1.0 / 99.0).abs() < 1e-15 && p.get(99, 0) == 1.0);
        assert_eq!(gemm(&x, true, &x, false).values.get(0, 1), -4950.0);
        assert_eq!(sddmm(&csr, &x, &x, 2).values.get(0, 1), 1.0);
    }
}
