//! Boolean and counting mxv: a bit vector in, bits or counts out.
//!
//! Invariant: rows that the mask leaves out are not computed and come out zero.

use super::{BitTile, RowMask, compiled, lists, row_blocks, word_blocks};
use bitgraph_b2sr::{B2sr, Hybrid};
use bitgraph_sparse::{BitVector, Csr, OffsetInt, with_offsets};

/// Tiles between two looks at whether every wanted row has been reached.
const LOOK: usize = 16;
/// Tiles of a row of tiles from which on it pays to stop early.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 20;

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
    #[cfg(target_arch = "x86_64")]
    if crate::Isa::current() >= crate::Isa::Avx2
        && let Some(a) = (a as &dyn std::any::Any).downcast_ref()
    {
        return evenly(a, x, mask, y);
    }
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

/// [`mxv_boolean`] on 8x8 tiles where there is AVX2: see [`super::hits`]. Row by row, until all that is wanted is reached, where rows
/// are long and reached soon, or few are wanted.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn evenly(a: &B2sr<u64>, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut BitVector) {
    use super::hits::{ROWS, TILES, TileHits, tile_block, tile_row};
    let (columns, tiles) = (a.tile_columns(), a.tiles());
    // Whether the first eight tiles are likely to reach all 8 rows.
    let entries = a.nnz() as f64 / tiles.len().max(1) as f64;
    let missed = (1.0 - lists::density(x)).powf(entries);
    let soon = (1.0 - missed).powi(8) > 0.8;
    let x = bytemuck::cast_slice::<u64, u8>(x.words64());
    with_offsets!(a.offsets(), o => word_blocks(y, |first, words| {
        let mut hits = TileHits::new();
        for (b, words) in words.chunks_mut(ROWS / 64).enumerate() {
            let start = first + b * ROWS;
            let rows = (a.tile_rows() - start / 8).min(8 * words.len());
            let offsets = &o[start / 8..=start / 8 + rows];
            let mut wanted = [0; ROWS / 64];
            wanted.iter_mut().zip(start / 64..(start + ROWS).min(a.nrows()).div_ceil(64)).for_each(|(k, w)| *k = RowMask::word(mask, w));
            let chosen = &bytemuck::cast_slice::<u64, u8>(&wanted)[..rows];
            let few = mask.is_some() && 2 * chosen.iter().filter(|&&w| w != 0).count() < rows;
            words.fill(0);
            let out = &mut bytemuck::cast_slice_mut::<u64, u8>(words)[..rows];
            let count = offsets[rows].index() - offsets[0].index();
            if few || count > TILES || (soon && count > LONG * rows) {
                for ((out, bounds), &wanted) in out.iter_mut().zip(offsets.windows(2)).zip(chosen).filter(|(_, w)| **w != 0) {
                    let range = bounds[0].index()..bounds[1].index();
                    // SAFETY: the instruction set has AVX2; tile columns lie inside the matrix, which is as wide as `x` is long.
                    *out = unsafe { tile_row(&columns[range.clone()], &tiles[range], x, wanted) };
                }
            } else {
                // SAFETY: as above; offsets ascend and end within the tiles.
                unsafe { tile_block(offsets, columns, tiles, x, &mut hits, out) };
            }
            words.iter_mut().zip(wanted).for_each(|(word, wanted)| *word &= wanted);
        }
    }));
}

/// [`mxv_boolean`] on lists, each until its first hit. O(entries), parallel.
///
/// # Panics
/// As [`mxv_boolean`].
pub fn mxv_boolean_lists(a: &Csr, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut BitVector) {
    check(a.nrows(), a.ncols(), x, mask, y.len());
    lists::fill(a, x, |w, _| RowMask::word(mask, w), false, y);
}

/// [`mxv_boolean`] on the hybrid: tiles first, then the lists of the rows still wanted.
///
/// # Panics
/// As [`mxv_boolean`].
pub fn mxv_boolean_hybrid(a: &Hybrid, x: &BitVector, mask: Option<RowMask<'_>>, y: &mut BitVector) {
    mxv_boolean(a.tiles(), x, mask, y);
    lists::fill(a.list(), x, |w, found| RowMask::word(mask, w) & !found, true, y);
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
