//! A dense matrix in a caller's memory: what is packed and quantised.
//!
//! Invariant: the last element of the last row lies within the slice.

use crate::{Error, Result};

/// A row-major matrix that is not owned: element (i, j) is `data[i * stride + j]`.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<'a, T> View<'a, T> {
    /// A matrix whose rows follow each other.
    ///
    /// # Errors
    /// [`Error::Length`] if `data` has not `rows * columns` elements.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        let expected = rows.checked_mul(columns);
        if expected != Some(data.len()) {
            return Err(Error::Length { array: "elements", expected: expected.unwrap_or(usize::MAX) as u64, found: data.len() as u64 });
        }
        Ok(Self { data, rows, columns, stride: columns })
    }
    /// A matrix whose rows begin `stride` elements apart.
    ///
    /// # Errors
    /// [`Error::Length`] if `stride` is below `columns`, or `data` ends before the last row does.
    pub fn strided(data: &'a [T], rows: usize, columns: usize, stride: usize) -> Result<Self> {
        if stride < columns {
            return Err(Error::Length { array: "stride", expected: columns as u64, found: stride as u64 });
        }
        let expected = rows.saturating_sub(1).checked_mul(stride).and_then(|o| o.checked_add(if rows == 0 { 0 } else { columns }));
        if expected.is_none_or(|expected| expected > data.len()) {
            return Err(Error::Length { array: "elements", expected: expected.unwrap_or(usize::MAX) as u64, found: data.len() as u64 });
        }
        Ok(Self { data, rows, columns, stride })
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.rows
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.columns
    }
    /// The elements of row `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> &'a [T] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &self.data[i * self.stride..][..self.columns]
    }
    /// The place of the first element, by rows, that `wanted` takes. O(elements), serial: for what has already gone wrong.
    #[cold]
    pub(crate) fn find(&self, mut wanted: impl FnMut(&T) -> bool) -> Option<(u64, u64)> {
        (0..self.rows).find_map(|i| Some((i as u64, self.row(i).iter().position(&mut wanted)? as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        let data = [1, 2, 3, 4, 5];
        assert!(View::new(&data, 2, 2).is_err() && View::new(&data, 5, 1).is_ok());
        assert!(View::new(&data[..0], usize::MAX, 2).is_err() && View::new(&data[..0], 7, 0).is_ok());
        let v = View::strided(&data, 2, 2, 3).unwrap();
        assert_eq!((v.row(0), v.row(1)), (&data[..2], &data[3..]));
        assert_eq!(v.find(|&x| x > 3), Some((1, 0)));
        assert!(View::strided(&data, 2, 3, 3).is_err() && View::strided(&data, 2, 2, 1).is_err());
        assert!(View::strided(&data, usize::MAX, 1, 3).is_err() && View::strided(&data[..0], 0, 9, 9).is_ok());
    }
}
