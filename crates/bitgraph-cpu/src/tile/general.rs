//! mxv over any semiring, on any tile format, with or without matrix values.
//!
//! Invariant: the products of a row are combined in ascending column order, the first one without the identity, so that
//! semirings such as `AnySecond` are deterministic; a row none of whose entries meets a present value gets no value.

use super::{RowMask, compiled};
use bitgraph_b2sr::{B2sr, Hybrid, Tile, Tile8};
use bitgraph_semiring::Semiring;
use bitgraph_sparse::{BitVector, Csr, parallel};

/// A pattern whose rows can be read in ascending column order.
pub trait RowEntries: Sync {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// The number of columns.
    fn columns(&self) -> usize;
    /// The columns of the entries of row `i`, ascending: the pattern's own order, to which value arrays refer.
    fn row_entries(&self, i: usize) -> impl Iterator<Item = u32>;
}

/// The sum of a row's products, up to a terminal value; `None` of none.
#[inline(always)]
pub(crate) fn sum<S: Semiring>(mut products: impl Iterator<Item = S::Acc>) -> Option<S::Acc> {
    let mut sum = products.next()?;
    while !S::is_terminal(sum)
        && let Some(product) = products.next()
    {
        sum = S::add(sum, product);
    }
    Some(sum)
}

/// The columns of the bits of a row of tiles.
struct TileRow<'a, T> {
    tiles: std::iter::Zip<std::slice::Iter<'a, T>, std::slice::Iter<'a, u32>>,
    /// The row within its tiles.
    row: usize,
    /// What is left of the tile at hand, and its first column.
    bits: u32,
    base: u32,
}

impl<'a, T: Tile> TileRow<'a, T> {
    #[inline(always)]
    fn new(a: &'a B2sr<T>, i: usize) -> Self {
        let range = a.tile_range(i >> T::SHIFT);
        let tiles = a.tiles()[range.clone()].iter().zip(&a.tile_columns()[range]);
        Self { tiles, row: i & (T::SIZE - 1), bits: 0, base: 0 }
    }
    /// The next bit of the tile at hand.
    #[inline(always)]
    fn bit(&mut self) -> Option<u32> {
        let column = (self.bits != 0).then(|| self.base + self.bits.trailing_zeros())?;
        self.bits &= self.bits - 1;
        Some(column)
    }
    /// Goes on to the next tile.
    #[inline(always)]
    fn advance(&mut self) -> Option<()> {
        let (tile, &column) = self.tiles.next()?;
        (self.bits, self.base) = (tile.row(self.row), column << T::SHIFT);
        Some(())
    }
}

impl<T: Tile> Iterator for TileRow<'_, T> {
    type Item = u32;
    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        while self.bits == 0 {
            self.advance()?;
        }
        self.bit()
    }
}

/// The columns of a row of a hybrid. No listed entry lies inside a stored tile, so those before it are those before its first column.
struct HybridRow<'a> {
    tiles: TileRow<'a, Tile8>,
    list: &'a [u32],
}

impl Iterator for HybridRow<'_> {
    type Item = u32;
    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(column) = self.tiles.bit() {
                return Some(column);
            }
            let ahead = self.tiles.tiles.clone().next().map(|(_, &column)| column << Tile8::SHIFT);
            if let Some((&first, rest)) = self.list.split_first()
                && ahead.is_none_or(|column| first < column)
            {
                self.list = rest;
                return Some(first);
            }
            self.tiles.advance()?;
        }
    }
}

impl<T: Tile> RowEntries for B2sr<T> {
    fn rows(&self) -> usize {
        self.nrows()
    }
    fn columns(&self) -> usize {
        self.ncols()
    }
    #[inline(always)]
    fn row_entries(&self, i: usize) -> impl Iterator<Item = u32> {
        TileRow::new(self, i)
    }
}

impl RowEntries for Hybrid {
    fn rows(&self) -> usize {
        self.nrows()
    }
    fn columns(&self) -> usize {
        self.ncols()
    }
    #[inline(always)]
    fn row_entries(&self, i: usize) -> impl Iterator<Item = u32> {
        HybridRow { tiles: TileRow::new(self.tiles(), i), list: self.list().row(i) }
    }
}

impl RowEntries for Csr {
    fn rows(&self) -> usize {
        self.nrows()
    }
    fn columns(&self) -> usize {
        self.ncols()
    }
    #[inline(always)]
    fn row_entries(&self, i: usize) -> impl Iterator<Item = u32> {
        self.row(i).iter().copied()
    }
}

/// `y = A x` over the semiring `S`.
///
/// - `values`: the matrix values in the pattern's own order and where each row's values start (`row_offsets()` of the format);
///   `None` for a pattern, every entry counting as 1.
/// - `x`: the vector's value at a column (`|c| slice[c]`, or `|c| bits.get(c)`); called for present columns only.
/// - `x_present`: which columns have a value; `None` if all have.
/// - `mask`: which rows to compute.
/// - `y`, `y_present`: the sums, not yet finished by [`Semiring::finish`], and which rows have one. A row that the mask leaves out
///   gets none. `y` is unspecified where `y_present` is not set.
///
/// O(nnz), parallel; stops a row at a terminal value.
///
/// # Panics
/// If a length does not fit the matrix.
pub fn mxv_tiles<S: Semiring, M: RowEntries>(
    a: &M,
    values: Option<(&[S::A], &[usize])>,
    x: impl Fn(usize) -> S::X + Sync,
    x_present: Option<&BitVector>,
    mask: Option<RowMask<'_>>,
    y: &mut [S::Acc],
    y_present: &mut BitVector,
) {
    let rows = a.rows();
    assert!(y.len() == rows && y_present.len() == rows, "outputs of one element for each of {rows} rows");
    assert!(x_present.is_none_or(|p| p.len() == a.columns()), "presence of one bit for each of {} columns", a.columns());
    assert!(mask.is_none_or(|m| m.bits.len() == rows), "the mask has one bit for each of {rows} rows");
    assert!(values.is_none_or(|(_, starts)| starts.len() == rows + 1), "one more start of values than the {rows} rows");
    let present = x_present.map(BitVector::words64);
    let block = |first: usize, y: &mut [S::Acc], words: &mut [u64]| {
        for (k, (y, word)) in y.chunks_mut(64).zip(words).enumerate() {
            let start = first + k * 64;
            let wanted = RowMask::word(mask, start / 64);
            *word = 0;
            for (r, y) in y.iter_mut().enumerate().filter(|(r, _)| wanted >> r & 1 != 0) {
                let columns = a.row_entries(start + r).map(|c| c as usize);
                let there = |c: usize| present.is_none_or(|p| p[c >> 6] >> (c & 63) & 1 != 0);
                let acc = match values {
                    Some((values, starts)) => {
                        let entries = columns.zip(&values[starts[start + r]..]);
                        sum::<S>(entries.filter(|&(c, _)| there(c)).map(|(c, &value)| S::multiply(value, x(c))))
                    }
                    None => sum::<S>(columns.filter(|&c| there(c)).map(|c| S::multiply_pattern(x(c)))),
                };
                if let Some(acc) = acc {
                    *y = acc;
                    *word |= 1 << r;
                }
            }
        }
    };
    let size = super::block_rows(rows);
    let mut parts: Vec<_> = y.chunks_mut(size).zip(y_present.words64_mut().chunks_mut(size / 64)).collect();
    parallel::each_mut(&mut parts, |b, (y, words)| compiled(|| block(b * size, y, words)));
}
