//! mxv over any semiring, on any tile format, with or without matrix values.
//!
//! Invariant: the products of a row are combined in ascending column order, the first one without the identity, so that
//! semirings such as `AnySecond` are deterministic; a row none of whose entries meets a present value gets no value.

use super::{RowMask, compiled};
use bitgraph_b2sr::{B2sr, Hybrid, Tile};
use bitgraph_semiring::{Monoid, Semiring};
use bitgraph_sparse::{BitVector, Csr};
use rayon::prelude::*;

/// A pattern whose rows can be read in ascending column order.
pub trait RowEntries: Sync {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// The number of columns.
    fn columns(&self) -> usize;
    /// Calls `f(column)` for the entries of row `i`, ascending, until it returns `false`. The `k`-th call is for the `k`-th
    /// entry of the row in the pattern's own order, to which value arrays refer.
    fn visit_row(&self, i: usize, f: impl FnMut(u32) -> bool);
}

/// Calls `f` for the bits of a row of a tile; whether to go on.
#[inline(always)]
fn visit_bits(mut bits: u32, base: u32, f: &mut impl FnMut(u32) -> bool) -> bool {
    while bits != 0 {
        if !f(base + bits.trailing_zeros()) {
            return false;
        }
        bits &= bits - 1;
    }
    true
}

impl<T: Tile> RowEntries for B2sr<T> {
    fn rows(&self) -> usize {
        self.nrows()
    }
    fn columns(&self) -> usize {
        self.ncols()
    }
    #[inline(always)]
    fn visit_row(&self, i: usize, mut f: impl FnMut(u32) -> bool) {
        let range = self.tile_range(i >> T::SHIFT);
        for (tile, &column) in self.tiles()[range.clone()].iter().zip(&self.tile_columns()[range]) {
            if !visit_bits(tile.row(i & (T::SIZE - 1)), column << T::SHIFT, &mut f) {
                return;
            }
        }
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
    fn visit_row(&self, i: usize, mut f: impl FnMut(u32) -> bool) {
        let (tiles, list) = (self.tiles(), self.list().row(i));
        let range = tiles.tile_range(i >> 3);
        let mut next = 0;
        for (tile, &column) in tiles.tiles()[range.clone()].iter().zip(&tiles.tile_columns()[range]) {
            // No listed entry lies inside a stored tile, so those before it are those before its first column.
            while next < list.len() && list[next] < column << 3 {
                if !f(list[next]) {
                    return;
                }
                next += 1;
            }
            if !visit_bits(tile.row(i & 7), column << 3, &mut f) {
                return;
            }
        }
        for &u in &list[next..] {
            if !f(u) {
                return;
            }
        }
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
    fn visit_row(&self, i: usize, mut f: impl FnMut(u32) -> bool) {
        for &u in self.row(i) {
            if !f(u) {
                return;
            }
        }
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
                let mut acc = None;
                let mut position = values.map_or(0, |(_, starts)| starts[start + r]);
                a.visit_row(start + r, |c| {
                    let c = c as usize;
                    if present.is_none_or(|p| p[c >> 6] >> (c & 63) & 1 != 0) {
                        let product = match values {
                            Some((values, _)) => S::multiply(values[position], x(c)),
                            None => S::multiply_pattern(x(c)),
                        };
                        let sum = acc.map_or(product, |acc| S::add(acc, product));
                        acc = Some(sum);
                        position += 1;
                        return !(S::Add::HAS_TERMINAL && S::is_terminal(sum));
                    }
                    position += 1;
                    true
                });
                if let Some(acc) = acc {
                    *y = acc;
                    *word |= 1 << r;
                }
            }
        }
    };
    let size = super::block_rows(rows);
    if rows <= size {
        return compiled(|| block(0, y, y_present.words64_mut()));
    }
    y.par_chunks_mut(size)
        .zip(y_present.words64_mut().par_chunks_mut(size / 64))
        .enumerate()
        .for_each(|(b, (y, words))| compiled(|| block(b * size, y, words)));
}
