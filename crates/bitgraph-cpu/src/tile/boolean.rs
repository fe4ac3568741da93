//! Boolean and counting mxv: a bit vector in, bits or counts out.
//!
//! Invariant: rows that the mask leaves out are computed by nobody and come out zero.

use super::{BitTile, RowMask, compiled, row_blocks, word_blocks};
use bitgraph_b2sr::{B2sr, Hybrid, Tile8};
use bitgraph_sparse::{BitVector, Csr, OffsetInt, with_offsets};

/// Tiles between two looks at whether every wanted row has been reached.
const LOOK: usize = 16;

/// The rows of a tile row that meet `x`, among the `wanted`.
#[inline(always)]
fn reached<T: BitTile>(columns: &[u32], tiles: &[T], x: &[u64], wanted: u32) -> u32 {
    let mut found = T::zeroed();
    let (mut columns, mut tiles) = (columns, tiles);
    while let (Some((first, rest)), Some((some, others))) = (columns.split_first_chunk::<LOOK>(), tiles.split_first_chunk::<LOOK>()) {
        for (&column, tile) in first.iter().zip(some) {
            found.collect(tile, T::vector_bits(x, column));
        }
        if found.hits() & wanted == wanted {
            return wanted;
        }
        (columns, tiles) = (rest, others);
    }
    for (&column, tile) in columns.iter().zip(tiles) {
        found.collect(tile, T::vector_bits(x, column));
    }
    found.hits() & wanted
}

/// Bits of `words` rows from `first` on, each word made by `f(tile row, wanted rows)`.
#[inline(always)]
fn fill_words<T: BitTile>(first: usize, rows: usize, words: &mut [u64], mask: Option<RowMask<'_>>, f: impl Fn(usize, u32) -> u32) {
    let full = !0u32 >> (32 - T::SIZE);
    for (k, word) in words.iter_mut().enumerate() {
        let start = first + k * 64;
        let mut wanted = RowMask::word(mask, start / 64);
        if rows - start < 64 {
            wanted &= (1 << (rows - start)) - 1;
        }
        let mut out = 0;
        for (t, shift) in (0..64).step_by(T::SIZE).enumerate() {
            let part = (wanted >> shift) as u32 & full;
            if part != 0 {
                out |= u64::from(f(start / T::SIZE + t, part)) << shift;
            }
        }
        *word = out;
    }
}

/// Bits of words of rows, all wanted: `offsets` are those of their tile rows and beyond. What lies past the matrix has no bits.
#[inline(always)]
fn fill_all<T: BitTile, O: OffsetInt>(offsets: &[O], columns: &[u32], tiles: &[T], x: &[u64], words: &mut [u64]) {
    let mut start = offsets[0].index();
    for (word, ends) in words.iter_mut().zip(offsets[1..].chunks(64 / T::SIZE)) {
        let mut out = 0;
        for (end, shift) in ends.iter().zip((0..64).step_by(T::SIZE)) {
            let range = start..end.index();
            start = range.end;
            out |= u64::from(reached(&columns[range.clone()], &tiles[range], x, !0u32 >> (32 - T::SIZE))) << shift;
        }
        *word = out;
    }
}

/// `y = A x` over (or, and): bit `i` of `y` says whether row `i` has an entry where `x` is set. Rows that the mask leaves out
/// are skipped and zero. O(tiles), parallel.
///
/// # Panics
/// If the lengths of `x`, `y` or the mask do not fit the matrix.
pub fn mxv_boolean<T: BitTile>(a: &B2sr<T>, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut BitVector) {
    check(a.nrows(), a.ncols(), x, mask, y.len());
    let (x, columns, tiles) = (x.words64(), a.tile_columns(), a.tiles());
    if mask.is_none() {
        with_offsets!(a.offsets(), o => word_blocks(y, |first, words| compiled(|| {
            fill_all(&o[first / T::SIZE..], columns, tiles, x, words);
        })));
        return;
    }
    with_offsets!(a.offsets(), o => word_blocks(y, |first, words| compiled(|| {
        fill_words::<T>(first, a.nrows(), words, mask, |t, wanted| {
            let range = o[t].index()..o[t + 1].index();
            reached(&columns[range.clone()], &tiles[range], x, wanted)
        });
    })));
}

/// Whether a list meets `x`. Four entries are looked at together: whether any one of them is in `x` is harder to foresee than
/// whether one of four is, and a wrong guess costs more than four looks.
#[inline(always)]
fn meets(list: &[u32], x: &[u64]) -> bool {
    let bit = |u: u32| x[u as usize >> 6] >> (u & 63);
    let (fours, rest) = list.as_chunks::<4>();
    fours.iter().any(|&[a, b, c, d]| (bit(a) | bit(b) | bit(c) | bit(d)) & 1 != 0) || rest.iter().fold(0, |all, &u| all | bit(u)) & 1 != 0
}

/// [`mxv_boolean`] on lists, each until its first hit. O(entries), parallel.
///
/// # Panics
/// As [`mxv_boolean`].
pub fn mxv_boolean_lists(a: &Csr, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut BitVector) {
    check(a.nrows(), a.ncols(), x, mask, y.len());
    let (x, indices) = (x.words64(), a.indices());
    with_offsets!(a.offsets(), o => word_blocks(y, |first, words| compiled(|| {
        for (k, word) in words.iter_mut().enumerate() {
            let start = first + 64 * k;
            let (wanted, mut out) = (RowMask::word(mask, start / 64), 0);
            for (r, bounds) in o[start..].windows(2).take(64).enumerate() {
                if wanted >> r & 1 != 0 {
                    out |= u64::from(meets(&indices[bounds[0].index()..bounds[1].index()], x)) << r;
                }
            }
            *word = out;
        }
    })));
}

/// [`mxv_boolean`] on the hybrid: tiles first, then the lists of the rows still wanted, each until its first hit.
///
/// # Panics
/// As [`mxv_boolean`].
pub fn mxv_boolean_hybrid(a: &Hybrid, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut BitVector) {
    check(a.nrows(), a.ncols(), x, mask, y.len());
    let (x, tiles, list) = (x.words64(), a.tiles(), a.list());
    with_offsets!(list.offsets(), o => word_blocks(y, |first, words| compiled(|| {
        fill_words::<Tile8>(first, a.nrows(), words, mask, |t, wanted| {
            let range = tiles.tile_range(t);
            let mut found = if range.is_empty() {
                0
            } else {
                reached::<Tile8>(&tiles.tile_columns()[range.clone()], &tiles.tiles()[range], x, wanted)
            };
            let mut open = wanted & !found;
            while open != 0 {
                let r = open.trailing_zeros();
                open &= open - 1;
                let row = 8 * t + r as usize;
                let entries = &list.indices()[o[row].index()..o[row + 1].index()];
                found |= u32::from(meets(entries, x)) << r;
            }
            found
        });
    })));
}

/// `y(i)` = how many entries of row `i` meet `x`; 0 for rows that the mask leaves out. O(tiles), parallel.
///
/// # Panics
/// If the lengths do not fit the matrix.
pub fn mxv_count<T: BitTile>(a: &B2sr<T>, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut [u32]) {
    check(a.nrows(), a.ncols(), x, mask, y.len());
    let (x, columns, tiles) = (x.words64(), a.tile_columns(), a.tiles());
    with_offsets!(a.offsets(), o => row_blocks(y, |first, out| compiled(|| {
        for (k, out) in out.chunks_mut(T::SIZE).enumerate() {
            let row = first + k * T::SIZE;
            let wanted = (RowMask::word(mask, row / 64) >> (row % 64)) as u32 & (!0u32 >> (32 - T::SIZE));
            let mut counts = [0u32; 32];
            if wanted != 0 {
                let t = row / T::SIZE;
                for i in o[t].index()..o[t + 1].index() {
                    BitTile::count(&tiles[i], T::vector_bits(x, columns[i]), &mut counts);
                }
            }
            for (r, y) in out.iter_mut().enumerate() {
                *y = if wanted >> r & 1 != 0 { counts[r] } else { 0 };
            }
        }
    })));
}

fn check(rows: usize, columns: usize, x: &BitVector, mask: Option<RowMask<'_>>, y: usize) {
    assert_eq!((x.len(), y), (columns, rows), "lengths of x and y for a matrix of {rows} x {columns}");
    assert!(mask.is_none_or(|m| m.bits.len() == rows), "the mask has one bit for each of {rows} rows");
}
