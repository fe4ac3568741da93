//! Entries in any order: what readers and generators produce, and the parallel conversion to CSR.
//!
//! Invariant: `rows`, `columns` and `values` (if any) are of equal length, and every id is in range once
//! [`Coo::into_csr`] has accepted it.

mod build;
mod halves;

use crate::cell::{Cell, with_cells};
use crate::offsets::Width;
use crate::{Csr, Error, OffsetInt, Offsets, Result, Values, parallel, with_offsets};
use build::{Making, Rows};

/// What to do with entries given more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Keep the sum of the values. Where their type does not hold one, all values become the 64-bit type of their kind.
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
    /// worst; long rows of a mirrored matrix in no order come out in order of counting passes alone, in O(nnz). Peak memory is the entries, the result, and `4 rows` bytes for each of at most `2 + entries / (2 rows)` tasks (the
    /// first of which becomes the row offsets). The result does not depend on the threads.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for an id outside the matrix, [`Error::Length`] for arrays of different lengths,
    /// [`Error::Duplicate`] with [`Duplicates::Error`], [`Error::Overflow`] for a sum, or a mirror image's negated value, that 64 bits
    /// do not hold, [`Error::TooLarge`] for dimensions past 32 bits, [`Error::Shape`] for a mirrored matrix that is not square.
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
        if Offsets::are_narrow(most) { self.build::<u32>(duplicates) } else { self.build::<u64>(duplicates) }
    }

    fn build<O: Width>(mut self, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
        let making = Making { nrows: self.nrows, ncols: self.ncols, duplicates, skew: self.mirrored && self.skew };
        with_cells!(self.values.take(), self.len(), cells => self.rows::<O, _>(cells, &making))
    }
}

impl Coo {
    /// The rows of entries that carry `cells`, made a matrix.
    fn rows<O: Width, C: Cell>(self, cells: Vec<C>, making: &Making) -> Result<(Csr, Option<Values>)> {
        let bits = C::to_bits(cells);
        if halves::pays(&self) {
            return halves::rows::<O, _>(self, bits).finish::<C>(making);
        }
        let rows = Rows::<O, _>::scatter(&self, &bits);
        drop((self, bits));
        rows.finish::<C>(making)
    }
}

/// Rows one after the other, the columns of each in any order: what formats that list rows hold.
#[derive(Clone, Debug)]
pub struct RowLists {
    /// The number of rows.
    pub nrows: usize,
    /// The number of columns.
    pub ncols: usize,
    /// Where the entries of each row begin, and where those of the last one end.
    pub offsets: Offsets,
    /// Column of each entry.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Option<Values>,
}

impl RowLists {
    /// The pattern and its values, rows sorted and duplicates combined, as [`Coo::into_csr`] does it. The arrays themselves become the
    /// result: there is no other memory than that of a row that is sorted.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Invalid`] and [`Error::OutOfRange`] for arrays that make no rows; otherwise as [`Coo::into_csr`].
    pub fn into_csr(self, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
        let Self { nrows, ncols, offsets, columns, values } = self;
        Csr::ids(nrows as u64, ncols as u64)?;
        let entries = columns.len() as u64;
        let length = |array, expected, found| if expected == found { Ok(()) } else { Err(Error::Length { array, expected, found }) };
        length("offsets", nrows as u64 + 1, offsets.len() as u64)?;
        length("columns", offsets.last() as u64, entries)?;
        length("values", entries, values.as_ref().map_or(entries, |v| v.len() as u64))?;
        with_offsets!(&offsets, o => {
            if let Some(i) = o.windows(2).position(|w| w[0] > w[1]) {
                return Err(Error::Invalid { array: "offsets", position: i as u64 + 1, what: "offsets decrease" });
            }
            if o[0].index() != 0 {
                return Err(Error::Invalid { array: "offsets", position: 0, what: "the first offset is not 0" });
            }
        });
        if let Some(k) = parallel::position(&columns, |&c| c as usize >= ncols) {
            let row = with_offsets!(&offsets, o => o.partition_point(|x| x.index() <= k) as u64 - 1);
            return Err(Error::OutOfRange { row, column: columns[k].into(), rows: nrows as u64, columns: ncols as u64 });
        }
        let making = Making { nrows, ncols, duplicates, skew: false };
        with_cells!(values, columns.len(), cells => match offsets {
            Offsets::U32(o) => listed(o.into_vec(), columns, cells, &making),
            Offsets::U64(o) => listed(o.into_vec(), columns, cells, &making),
        })
    }
}

fn listed<O: Width, C: Cell>(offsets: Vec<O>, indices: Vec<u32>, cells: Vec<C>, making: &Making) -> Result<(Csr, Option<Values>)> {
    Rows { offsets, indices, values: C::to_bits(cells) }.finish::<C>(making)
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
    fn sums_widen_or_are_refused() {
        let sum = |values: Values| {
            let mut c = Coo::pattern(2, 2, vec![0, 1, 1], vec![0, 1, 1]);
            c.values = Some(values);
            c.into_csr(Duplicates::Sum).map(|(_, v)| v.unwrap())
        };
        assert_eq!(sum(Values::from_vec(vec![7i32, 5, 6])).unwrap(), Values::from_vec(vec![7i32, 11]));
        assert_eq!(sum(Values::from_vec(vec![7i32, i32::MAX, 1])).unwrap(), Values::from_vec(vec![7i64, 1 << 31]));
        assert_eq!(sum(Values::from_vec(vec![7u8, 255, 1])).unwrap(), Values::from_vec(vec![7u64, 256]));
        assert_eq!(
            sum(Values::from_vec(vec![0.5f32, f32::MAX, f32::MAX])).unwrap(),
            Values::from_vec(vec![0.5, 2.0 * f64::from(f32::MAX)])
        );
        assert_eq!(sum(Values::from_vec(vec![0.5f64, f64::INFINITY, 1.0])).unwrap(), Values::from_vec(vec![0.5, f64::INFINITY]));
        assert_eq!(sum(Values::from_vec(vec![true, false, true])).unwrap(), Values::from_vec(vec![true, true]));
        for values in [
            Values::from_vec(vec![0, i64::MIN, -1]),
            Values::from_vec(vec![0, u64::MAX, 1]),
            Values::from_vec(vec![0.0, f64::MAX, f64::MAX]),
        ] {
            assert!(matches!(sum(values), Err(Error::Overflow { row: 1, column: 1, .. })));
        }
    }

    #[test]
    fn lists_of_rows() {
        let lists = |offsets: &[usize], columns: &[u32]| RowLists {
            nrows: 3,
            ncols: 4,
            offsets: Offsets::from_usizes(offsets),
            columns: columns.to_vec(),
            values: Some(Values::from_vec((0..columns.len() as i32).collect::<Vec<_>>())),
        };
        let (a, v) = lists(&[0, 3, 3, 7], &[2, 0, 1, 3, 0, 3, 3]).into_csr(Duplicates::Last).unwrap();
        assert_eq!((a.row(0), a.row(1), a.row(2)), (&[0u32, 1, 2][..], &[][..], &[0u32, 3][..]));
        assert_eq!(v.unwrap(), Values::from_vec(vec![1i32, 2, 0, 4, 6]));
        assert!(matches!(lists(&[0, 1, 1, 2], &[0, 4]).into_csr(Duplicates::First), Err(Error::OutOfRange { row: 2, column: 4, .. })));
        assert!(matches!(lists(&[0, 2, 1, 2], &[0, 1]).into_csr(Duplicates::First), Err(Error::Invalid { position: 2, .. })));
        assert!(matches!(lists(&[0, 2, 2], &[0, 1]).into_csr(Duplicates::First), Err(Error::Length { array: "offsets", .. })));
        assert!(matches!(lists(&[0, 2, 2, 3], &[0, 1]).into_csr(Duplicates::First), Err(Error::Length { array: "columns", .. })));
        assert!(matches!(lists(&[1, 1, 1, 2], &[0, 1]).into_csr(Duplicates::First), Err(Error::Invalid { position: 0, .. })));
        let twice = lists(&[0, 0, 2, 2], &[1, 1]).into_csr(Duplicates::Error);
        assert!(matches!(twice, Err(Error::Duplicate { row: 1, column: 1 })));
    }

    #[test]
    fn skew_negates_the_mirror_image() {
        let mut c = Coo::pattern(2, 2, vec![1], vec![0]);
        (c.values, c.mirrored, c.skew) = (Some(Values::from_vec(vec![4.0f64])), true, true);
        let (_, v) = c.clone().into_csr(Duplicates::First).unwrap();
        assert_eq!(v.unwrap(), Values::from_vec(vec![-4.0f64, 4.0]));
        c.values = Some(Values::from_vec(vec![i32::MIN]));
        let (_, v) = c.clone().into_csr(Duplicates::First).unwrap();
        assert_eq!(v.unwrap(), Values::from_vec(vec![1i64 << 31, -1 << 31]));
        c.values = Some(Values::from_vec(vec![i64::MIN]));
        assert!(matches!(c.into_csr(Duplicates::First), Err(Error::Overflow { row: 0, column: 1, .. })));
    }
}
