//! Where the rows of a dense matrix are in its array.
//!
//! Invariant: the last element lies below the length that the window was checked against; a row's elements are next to each other.

use crate::Error;
use std::ops::Range;

/// Rows of equal length at equal distances in an array of elements, row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    offset: usize,
    rows: usize,
    columns: usize,
    stride: usize,
}

impl Window {
    /// All of an array of `rows * columns` elements.
    ///
    /// # Errors
    /// [`Error::Overflow`] if their number does not fit.
    pub fn whole(rows: usize, columns: usize) -> Result<Self, Error> {
        Self::new(0, rows, columns, columns)
    }
    /// Rows that start `stride` elements apart, the first one at `offset`.
    ///
    /// # Errors
    /// [`Error::Stride`] if rows overlap; [`Error::Overflow`] if the number of elements does not fit.
    pub fn new(offset: usize, rows: usize, columns: usize, stride: usize) -> Result<Self, Error> {
        if stride < columns {
            return Err(Error::Stride { stride: stride as u64, columns: columns as u64 });
        }
        let window = Self { offset, rows, columns, stride };
        // Bytes are counted in signed numbers by every allocator.
        let fits = window.checked_end().is_some_and(|end| end <= isize::MAX as usize / 8);
        if fits { Ok(window) } else { Err(Error::Overflow { rows: rows as u64, columns: columns as u64, stride: stride as u64 }) }
    }
    fn checked_end(&self) -> Option<usize> {
        // Checked for the whole array too, which `rows * columns` elements of a copy need.
        self.rows.checked_mul(self.stride)?;
        if self.is_empty() {
            return Some(self.offset);
        }
        (self.rows - 1).checked_mul(self.stride)?.checked_add(self.offset)?.checked_add(self.columns)
    }
    /// Elements that the array must have.
    #[must_use]
    pub fn end(&self) -> usize {
        if self.is_empty() { 0 } else { self.offset + (self.rows - 1) * self.stride + self.columns }
    }
    /// The position of the first element.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// Elements from the beginning of a row to that of the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows * self.columns
    }
    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0
    }
    /// Whether the elements are next to each other.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.stride == self.columns || self.rows <= 1
    }
    /// Where row `i` is in the array.
    #[inline(always)]
    #[must_use]
    pub fn row(&self, i: usize) -> Range<usize> {
        let start = self.offset + i * self.stride;
        start..start + self.columns
    }
    /// Some of the rows.
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such rows.
    pub fn sub_rows(&self, rows: Range<usize>) -> Result<Self, Error> {
        check("rows", &rows, self.rows)?;
        Ok(Self { offset: self.offset + rows.start * self.stride, rows: rows.len(), ..*self })
    }
    /// Some of the columns.
    ///
    /// # Errors
    /// [`Error::Slice`] if there are no such columns.
    pub fn sub_columns(&self, columns: Range<usize>) -> Result<Self, Error> {
        check("columns", &columns, self.columns)?;
        Ok(Self { offset: self.offset + columns.start, columns: columns.len(), ..*self })
    }
    /// Whether both have an element in common, as windows of one array. Windows of different strides count as overlapping where the
    /// stretches from their first to their last element do.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() || self.end() <= other.offset || other.end() <= self.offset {
            return false;
        }
        if self.stride != other.stride {
            return true;
        }
        // Both are rectangles of one grid of rows, unless a row of one crosses the end of a row of the grid.
        let column = |w: &Self| w.offset % w.stride;
        let (a, b) = (column(self), column(other));
        if a + self.columns > self.stride || b + other.columns > other.stride {
            return true;
        }
        let meet = |a: usize, n: usize, b: usize, m: usize| a < b + m && b < a + n;
        meet(a, self.columns, b, other.columns) && meet(self.offset / self.stride, self.rows, other.offset / other.stride, other.rows)
    }
}

fn check(what: &'static str, range: &Range<usize>, len: usize) -> Result<(), Error> {
    if range.start <= range.end && range.end <= len {
        return Ok(());
    }
    Err(Error::Slice { what, start: range.start as u64, end: range.end as u64, len: len as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert!(matches!(Window::whole(usize::MAX, 2), Err(Error::Overflow { .. })));
        assert!(matches!(Window::whole(1 << 40, 1 << 40), Err(Error::Overflow { .. })));
        assert!(matches!(Window::new(usize::MAX, 1, 1, 1), Err(Error::Overflow { .. })));
        assert!(matches!(Window::new(0, 2, 3, 2), Err(Error::Stride { stride: 2, columns: 3 })));
        assert_eq!(Window::new(5, 2, 3, 7).unwrap().end(), 15);
        assert_eq!((Window::whole(0, 9).unwrap().end(), Window::whole(9, 0).unwrap().end()), (0, 0));
    }

    #[test]
    fn slices() {
        let w = Window::new(1, 4, 6, 8).unwrap();
        let s = w.sub_rows(1..3).unwrap().sub_columns(2..5).unwrap();
        assert_eq!((s.shape(), s.row(0), s.row(1)), ((2, 3), 11..14, 19..22));
        assert!(w.sub_rows(2..5).is_err() && w.sub_columns(7..7).is_err());
        assert!(w.sub_rows(4..4).unwrap().is_empty());
    }

    #[test]
    fn overlaps_are_of_elements() {
        let w = Window::whole(4, 8).unwrap();
        let (left, right) = (w.sub_columns(0..4).unwrap(), w.sub_columns(4..8).unwrap());
        assert!(!left.overlaps(&right) && left.overlaps(&w) && left.overlaps(&left));
        assert!(w.sub_columns(3..5).unwrap().overlaps(&left));
        let (top, bottom) = (w.sub_rows(0..2).unwrap(), w.sub_rows(2..4).unwrap());
        assert!(!top.overlaps(&bottom) && top.overlaps(&right));
        assert!(!w.sub_rows(0..0).unwrap().overlaps(&w));
        assert!(Window::new(0, 8, 4, 4).unwrap().overlaps(&right), "different strides");
    }
}
