//! Entries in any order: what readers and generators produce, and the parallel conversion to CSR.
//!
//! Invariant: `rows`, `columns` and `values` (if any) are of equal length, and every id is in range once
//! [`Coo::into_csr`] has accepted it.

use crate::{Csr, Error, Offsets, Result, Values, parallel, with_values};
use rayon::prelude::*;

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
    /// Two parallel passes, count and fill: O(nnz log degree) time; peak memory is the entries, the result and `4 rows`
    /// bytes per thread, and 8 bytes per entry more if there are values. The result does not depend on the threads.
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
        let outside =
            self.rows.par_iter().zip(&self.columns).with_min_len(65536).find_first(|&(&r, &c)| u64::from(r) >= nr || u64::from(c) >= nc);
        if let Some((&r, &c)) = outside {
            return Err(Error::OutOfRange { row: r.into(), column: c.into(), rows: nr, columns: nc });
        }
        if self.values.is_some() { self.build_weighted(duplicates) } else { self.build_pattern(duplicates) }
    }

    /// Row offsets, and for every block of entries where its entries of each row go.
    fn places(&self) -> (Vec<usize>, Vec<std::ops::Range<usize>>, Vec<Vec<u32>>) {
        let parts = if self.len() < 65536 { 1 } else { rayon::current_num_threads().min(8) };
        let size = self.len().div_ceil(parts).max(1);
        let blocks: Vec<_> = (0..self.len()).step_by(size).map(|s| s..(s + size).min(self.len())).collect();
        let mut counts: Vec<Vec<u32>> = blocks
            .par_iter()
            .map(|block| {
                let mut count = vec![0u32; self.nrows];
                for k in block.clone() {
                    count[self.rows[k] as usize] += 1;
                    if self.mirrored && self.rows[k] != self.columns[k] {
                        count[self.columns[k] as usize] += 1;
                    }
                }
                count
            })
            .collect();
        let mut offsets = vec![0usize; self.nrows + 1];
        for r in 0..self.nrows {
            let mut sum = 0usize;
            for count in &mut counts {
                let c = count[r] as usize;
                count[r] = sum as u32;
                sum += c;
            }
            offsets[r + 1] = offsets[r] + sum;
        }
        (offsets, blocks, counts)
    }

    /// Calls `write(place, column, entry)` for every entry and mirror image, in parallel over blocks of entries.
    fn scatter(
        &self,
        offsets: &[usize],
        blocks: &[std::ops::Range<usize>],
        counts: &mut [Vec<u32>],
        write: impl Fn(usize, u32, usize) + Sync,
    ) {
        blocks.par_iter().zip(counts.par_iter_mut()).for_each(|(block, count)| {
            let mut put = |r: u32, c: u32, k: usize| {
                let slot = &mut count[r as usize];
                write(offsets[r as usize] + *slot as usize, c, k);
                *slot += 1;
            };
            for k in block.clone() {
                let (r, c) = (self.rows[k], self.columns[k]);
                put(r, c, k);
                if self.mirrored && r != c {
                    put(c, r, k);
                }
            }
        });
    }

    fn build_pattern(self, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
        let (offsets, blocks, mut counts) = self.places();
        let mut indices = vec![0u32; offsets[self.nrows]];
        let out = parallel::DisjointSlice::new(&mut indices);
        self.scatter(&offsets, &blocks, &mut counts, |place, column, _| {
            // SAFETY: (block, row) pairs own disjoint runs of places by the prefix sums of `places`.
            #[allow(unsafe_code)]
            unsafe {
                out.write(place, column);
            }
        });
        let (nrows, ncols) = (self.nrows, self.ncols);
        drop((self, counts));
        let wide: Vec<u64> = offsets.iter().map(|&o| o as u64).collect();
        let mut unique = vec![0usize; nrows];
        {
            let unique_out = parallel::DisjointSlice::new(&mut unique);
            parallel::rows_mut(&wide, &mut indices, |i, row| {
                if !row.is_sorted() {
                    row.sort_unstable();
                }
                let kept = dedup(row);
                // SAFETY: each row is visited once.
                #[allow(unsafe_code)]
                unsafe {
                    unique_out.write(i, kept);
                }
            });
        }
        let total: usize = unique.iter().sum();
        if total == indices.len() {
            return Ok((Csr::from_valid(nrows, ncols, Offsets::from_usizes(&offsets), indices.into()), None));
        }
        if duplicates == Duplicates::Error {
            let i = (0..nrows).find(|&i| unique[i] < offsets[i + 1] - offsets[i]).unwrap_or(0);
            // `dedup` left the repeated columns behind the unique ones.
            return Err(Error::Duplicate { row: i as u32, column: indices[offsets[i] + unique[i]] });
        }
        let packed = crate::csr::prefix(&unique);
        for i in 0..nrows {
            indices.copy_within(offsets[i]..offsets[i] + unique[i], packed[i]);
        }
        indices.truncate(total);
        indices.shrink_to_fit();
        Ok((Csr::from_valid(nrows, ncols, Offsets::from_usizes(&packed), indices.into()), None))
    }

    fn build_weighted(mut self, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
        let (offsets, blocks, mut counts) = self.places();
        // A pair sorts by column and, within a column, by the order of the input.
        let mut pairs = vec![(0u32, 0usize); offsets[self.nrows]];
        let out = parallel::DisjointSlice::new(&mut pairs);
        self.scatter(&offsets, &blocks, &mut counts, |place, column, entry| {
            // SAFETY: (block, row) pairs own disjoint runs of places by the prefix sums of `places`.
            #[allow(unsafe_code)]
            unsafe {
                out.write(place, (column, entry));
            }
        });
        drop(counts);
        let wide: Vec<u64> = offsets.iter().map(|&o| o as u64).collect();
        parallel::rows_mut(&wide, &mut pairs, |_, row| {
            if !row.is_sorted() {
                row.sort_unstable();
            }
        });
        let Some(values) = self.values.take() else { return self.build_pattern(duplicates) };
        let unique: Vec<usize> = (0..self.nrows)
            .into_par_iter()
            .with_min_len(1024)
            .map(|i| pairs[offsets[i]..offsets[i + 1]].chunk_by(|a, b| a.0 == b.0).count())
            .collect();
        if duplicates == Duplicates::Error
            && let Some(i) = (0..self.nrows).find(|&i| unique[i] < offsets[i + 1] - offsets[i])
        {
            let row = &pairs[offsets[i]..offsets[i + 1]];
            let column = row.windows(2).find(|w| w[0].0 == w[1].0).map_or(0, |w| w[0].0);
            return Err(Error::Duplicate { row: i as u32, column });
        }
        let packed = crate::csr::prefix(&unique);
        let wide: Vec<u64> = packed.iter().map(|&o| o as u64).collect();
        let mut indices = vec![0u32; packed[self.nrows]];
        parallel::rows_mut(&wide, &mut indices, |i, out| {
            for (slot, group) in out.iter_mut().zip(pairs[offsets[i]..offsets[i + 1]].chunk_by(|a, b| a.0 == b.0)) {
                *slot = group[0].0;
            }
        });
        let skew = self.mirrored && self.skew;
        let values = with_values!(&values, v => {
            let mut merged = vec![Default::default(); packed[self.nrows]];
            parallel::rows_mut(&wide, &mut merged, |i, out| {
                for (slot, group) in out.iter_mut().zip(pairs[offsets[i]..offsets[i + 1]].chunk_by(|a, b| a.0 == b.0)) {
                    *slot = combine(v, group, duplicates);
                    if skew && group[0].0 > i as u32 {
                        *slot = bitgraph_semiring::Scalar::minus(bitgraph_semiring::Scalar::ZERO, *slot);
                    }
                }
            });
            Values::from_vec(merged)
        });
        let csr = Csr::from_valid(self.nrows, self.ncols, Offsets::from_usizes(&packed), indices.into());
        Ok((csr, Some(values)))
    }
}

/// The value of a group of entries at one place, in the order of the input.
fn combine<T: bitgraph_semiring::Scalar>(values: &[T], group: &[(u32, usize)], duplicates: Duplicates) -> T {
    let first = values[group[0].1];
    let rest = group[1..].iter().map(|&(_, k)| values[k]);
    match duplicates {
        Duplicates::Sum => T::narrow(rest.fold(first.widen(), |a, b| bitgraph_semiring::Scalar::plus(a, b.widen()))),
        Duplicates::Min => rest.fold(first, T::least_of),
        Duplicates::Max => rest.fold(first, T::greatest_of),
        Duplicates::First | Duplicates::Error => first,
        Duplicates::Last => rest.last().unwrap_or(first),
    }
}

/// Moves the unique elements of a sorted row to its front; returns their number. One repeated element follows them.
fn dedup(row: &mut [u32]) -> usize {
    let Some(start) = row.windows(2).position(|w| w[0] == w[1]) else { return row.len() };
    let repeated = row[start];
    let mut kept = start + 1;
    for k in start + 1..row.len() {
        if row[k] != row[kept - 1] {
            row[kept] = row[k];
            kept += 1;
        }
    }
    row[kept] = repeated;
    kept
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
