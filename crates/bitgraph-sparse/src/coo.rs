//! Entries in any order: what readers and generators produce, and the parallel conversion to CSR.
//!
//! Invariant: `rows`, `columns` and `values` (if any) are of equal length, and every id is in range once
//! [`Coo::into_csr`] has accepted it.

use crate::build::{Rows, Width};
use crate::{Csr, Error, OffsetInt, Result, Values, parallel, with_values};
use bitgraph_semiring::Scalar;

/// What to do with entries given more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Keep the sum of the values.
    Sum,
    /// Keep the smallest value.
    Min,
    /// Keep the largest value.
    Max,
    /// Keep the first value, in the order of the input.
    #[default]
    First,
    /// Keep the last value, in the order of the input.
    Last,
    /// Refuse the input.
    Error,
}

/// Entries in any order. Without values it is a pattern.
#[derive(Clone, Debug, Default)]
pub struct Coo {
    /// The number of rows.
    pub nrows: usize,
    /// The number of columns.
    pub ncols: usize,
    /// Row of each entry.
    pub rows: Vec<u32>,
    /// Column of each entry.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Option<Values>,
    /// Each entry stands for its mirror image too (loops once): the matrix is symmetric, and only half of it is given.
    pub mirrored: bool,
    /// With `mirrored`, mirror images carry the negated value (skew-symmetric).
    pub skew: bool,
}

impl Coo {
    /// Entries of a pattern.
    #[must_use]
    pub fn pattern(nrows: usize, ncols: usize, rows: Vec<u32>, columns: Vec<u32>) -> Self {
        Self { nrows, ncols, rows, columns, ..Self::default() }
    }
    /// The number of entries as given, mirror images not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// The pattern and its values, rows sorted and duplicates combined. Consumes the entries.
    ///
    /// Two parallel passes, count and fill, then every row is sorted unless it is in order already: O(nnz log degree) time at
    /// worst. Peak memory is the entries, the result, and `4 rows` bytes for each of at most `2 + entries / (2 rows)` tasks (the
    /// first of which becomes the row offsets). The result does not depend on the threads.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an id outside the matrix, [`Error::Length`] for arrays of different lengths,
    /// [`Error::Duplicate`] with [`Duplicates::Error`], [`Error::TooLarge`] for dimensions past 32 bits, [`Error::Shape`]
    /// for a mirrored matrix that is not square.
    pub fn into_csr(self, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
        Csr::ids(self.nrows as u64, self.ncols as u64)?;
        if self.columns.len() != self.rows.len() {
            return Err(Error::Length { array: "columns", expected: self.rows.len() as u64, found: self.columns.len() as u64 });
        }
        if let Some(v) = &self.values
            && v.len() != self.rows.len()
        {
            return Err(Error::Length { array: "values", expected: self.rows.len() as u64, found: v.len() as u64 });
        }
        if self.mirrored && self.nrows != self.ncols {
            let n = self.nrows as u64;
            return Err(Error::Shape { expected_rows: n, expected_columns: n, found_rows: n, found_columns: self.ncols as u64 });
        }
        let (nr, nc) = (self.nrows as u64, self.ncols as u64);
        let outside = |ids: &[u32], count: u64| parallel::position(ids, |&id| u64::from(id) >= count);
        let first = [outside(&self.rows, nr), outside(&self.columns, nc)].into_iter().flatten().min();
        if let Some(k) = first {
            let (r, c) = (self.rows[k], self.columns[k]);
            return Err(Error::OutOfRange { row: r.into(), column: c.into(), rows: nr, columns: nc });
        }
        let most = self.len() as u64 * if self.mirrored { 2 } else { 1 };
        if most <= u64::from(u32::MAX) { self.build::<u32>(duplicates) } else { self.build::<u64>(duplicates) }
    }

    fn build<O: Width>(mut self, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
        let (nrows, ncols, skew) = (self.nrows, self.ncols, self.mirrored && self.skew);
        let Some(values) = self.values.take() else {
            // Values without size: no memory behind them.
            let none = vec![(); self.len()];
            let rows = self.rows::<O, ()>(&none, duplicates, |_| ())?;
            return Ok((Csr::from_valid(nrows, ncols, O::wrap(rows.offsets), rows.indices.into()), None));
        };
        with_values!(&values, v => {
            let mut rows = self.rows::<O, _>(v, duplicates, |group| combine(group, duplicates))?;
            if skew {
                negate_upper(&rows.offsets, &rows.indices, &mut rows.values);
            }
            let csr = Csr::from_valid(nrows, ncols, O::wrap(rows.offsets), rows.indices.into());
            Ok((csr, Some(Values::from_vec(rows.values))))
        })
    }

    fn rows<O: Width, V: Copy + Default + Send + Sync>(
        self,
        values: &[V],
        duplicates: Duplicates,
        combine: impl Fn(&[V]) -> V,
    ) -> Result<Rows<O, V>> {
        let mut rows = Rows::scatter(&self, values);
        drop(self);
        if rows.order() {
            if duplicates == Duplicates::Error
                && let Some((row, column)) = rows.first_repeated()
            {
                return Err(Error::Duplicate { row, column });
            }
            rows.merge(combine);
        }
        Ok(rows)
    }
}

/// Negates what is above the diagonal: the mirror images of a skew-symmetric matrix.
fn negate_upper<O: OffsetInt, T: Scalar>(offsets: &[O], indices: &[u32], values: &mut [T]) {
    parallel::rows_mut(offsets, values, |i, row| {
        for (value, &column) in row.iter_mut().zip(&indices[offsets[i].index()..]) {
            if column > i as u32 {
                *value = T::ZERO.minus(*value);
            }
        }
    });
}

/// The value of entries at one place, in the order of the input.
fn combine<T: Scalar>(group: &[T], duplicates: Duplicates) -> T {
    let (first, rest) = (group[0], group[1..].iter().copied());
    match duplicates {
        Duplicates::Sum => T::narrow(rest.fold(first.widen(), |a, b| a.plus(b.widen()))),
        Duplicates::Min => rest.fold(first, T::least_of),
        Duplicates::Max => rest.fold(first, T::greatest_of),
        Duplicates::First | Duplicates::Error => first,
        Duplicates::Last => rest.last().unwrap_or(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_and_mirrors() {
        let coo = |d| {
            let mut c = Coo::pattern(3, 3, vec![2, 0, 2, 1], vec![0, 1, 0, 1]);
            c.values = Some(Values::from_vec(vec![5i32, 2, 3, 9]));
            c.mirrored = true;
            c.into_csr(d).map(|(a, v)| (a, v.unwrap().as_slice::<i32>().unwrap().to_vec()))
        };
        let (a, v) = coo(Duplicates::Sum).unwrap();
        assert_eq!((a.row(0), a.row(1), a.row(2)), (&[1u32, 2][..], &[0u32, 1][..], &[0u32][..]));
        assert_eq!(v, vec![2, 8, 2, 9, 8]);
        assert_eq!(coo(Duplicates::First).unwrap().1[1], 5);
        assert_eq!(coo(Duplicates::Last).unwrap().1[1], 3);
        assert_eq!(coo(Duplicates::Min).unwrap().1[1], 3);
        assert_eq!(coo(Duplicates::Max).unwrap().1[1], 5);
        assert!(matches!(coo(Duplicates::Error), Err(Error::Duplicate { row: 0, column: 2 })));
        let p = Coo::pattern(2, 2, vec![0, 0, 1, 0], vec![1, 1, 0, 0]).into_csr(Duplicates::First).unwrap().0;
        assert_eq!((p.nnz(), p.row(0)), (3, &[0u32, 1][..]));
        let e = Coo::pattern(2, 2, vec![0, 0, 1, 0], vec![1, 1, 0, 0]).into_csr(Duplicates::Error);
        assert!(matches!(e, Err(Error::Duplicate { row: 0, column: 1 })));
        let e = Coo::pattern(2, 2, vec![0], vec![2]).into_csr(Duplicates::First);
        assert!(matches!(e, Err(Error::OutOfRange { column: 2, .. })));
    }

    #[test]
    fn skew_negates_the_mirror_image() {
        let mut c = Coo::pattern(2, 2, vec![1], vec![0]);
        (c.values, c.mirrored, c.skew) = (Some(Values::from_vec(vec![4.0f64])), true, true);
        let (_, v) = c.into_csr(Duplicates::First).unwrap();
        assert_eq!(v.unwrap(), Values::from_vec(vec![-4.0f64, 4.0]));
    }
}
