//! Float mxv on tiles: the sum of `x` over the entries of each row (a pattern matrix over plus-times or plus-second).
//!
//! Invariant: the order of summation depends on the format only, so results are the same for every number of threads. A
//! value of `x` where a row has no entry never takes part, be it infinite or NaN.

#![allow(unsafe_code)]

use super::{BitTile, RowMask, compiled, row_blocks};
#[cfg(target_arch = "x86_64")]
use crate::Isa;
use bitgraph_b2sr::{B2sr, Grouped, Hybrid, Tile, Tile4, Tile8, Tile16, Tile32};
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{OffsetInt, with_offsets};

/// A vector cut into pieces of a tile's width, the last one padded with zeros.
pub struct Pieces<'a, F> {
    x: &'a [F],
    /// Tile columns that lie wholly inside.
    whole: usize,
    tail: [F; 32],
    shift: u32,
}

impl<'a, F: Copy + Default> Pieces<'a, F> {
    fn new<T: Tile>(x: &'a [F]) -> Self {
        let whole = x.len() >> T::SHIFT;
        let mut tail = [F::default(); 32];
        let rest = &x[whole << T::SHIFT..];
        tail[..rest.len()].copy_from_slice(rest);
        Self { x, whole, tail, shift: T::SHIFT }
    }
    /// The piece that meets a tile column: `1 << shift` elements or more. O(1).
    #[inline(always)]
    pub fn piece(&self, column: u32) -> &[F] {
        let column = column as usize;
        if column < self.whole { &self.x[column << self.shift..] } else { &self.tail }
    }
}

/// A tile whose rows can be summed over a vector of `F`. Implemented for all tiles, with `f32` and `f64`.
pub trait TileSum<F>: Tile {
    /// Writes to the first `SIZE` elements of `out` the sums of a tile row.
    fn sums(columns: &[u32], tiles: &[Self], x: &Pieces<'_, F>, out: &mut [F]);
    /// Whether there is a form for AVX-512.
    const AVX512: bool = false;
    /// As [`TileSum::sums`].
    ///
    /// # Safety
    /// The CPU has AVX-512 F, BW, VL and DQ, and the columns are those of a valid matrix as wide as `x`.
    #[inline(always)]
    unsafe fn sums_avx512(columns: &[u32], tiles: &[Self], x: &Pieces<'_, F>, out: &mut [F]) {
        Self::sums(columns, tiles, x, out);
    }
}

/// Tiles of so many rows or more are added entry by entry where they hold few.
const LARGE: usize = 16;
/// So many entries a row of a tile, in the mean, are few: sums over a Kronecker graph of scale 18 in tiles of 16 took 729 ms with one thread when all
/// places of a tile were added, 990 in `f64`, and 115 and 141 so.
const FEW: u32 = 2;

macro_rules! tile_sum {
    ($tile:ty, $f:ident, $bits:ident, $size:literal $(, $avx512:path)?) => {
        impl TileSum<$f> for $tile {
            #[inline(always)]
            fn sums(columns: &[u32], tiles: &[Self], x: &Pieces<'_, $f>, out: &mut [$f]) {
                let mut acc = [[0.0; $size]; $size];
                let mut few = [0.0; $size];
                for (&column, tile) in columns.iter().zip(tiles) {
                    let x = &x.piece(column)[..$size];
                    if $size >= LARGE && Tile::count(tile) <= FEW * $size {
                        let mut rows = tile.hits();
                        while rows != 0 {
                            let r = rows.trailing_zeros() as usize;
                            rows &= rows - 1;
                            let mut row = tile.row(r);
                            while row != 0 {
                                few[r] += x[row.trailing_zeros() as usize % $size];
                                row &= row - 1;
                            }
                        }
                        continue;
                    }
                    for (r, acc) in acc.iter_mut().enumerate() {
                        let row = tile.row(r);
                        for c in 0..$size {
                            // All ones where the bit is set: an infinite value elsewhere must not leave a NaN.
                            let keep = $bits::from(row >> c & 1).wrapping_neg();
                            acc[c] += $f::from_bits(x[c].to_bits() & keep);
                        }
                    }
                }
                for ((out, acc), few) in out.iter_mut().zip(&acc).zip(few) {
                    *out = acc.iter().sum::<$f>() + few;
                }
            }
            $(
                const AVX512: bool = cfg!(target_arch = "x86_64");
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt,fma")]
                #[inline]
                unsafe fn sums_avx512(columns: &[u32], tiles: &[Self], x: &Pieces<'_, $f>, out: &mut [$f]) {
                    $avx512(columns, tiles, x, out);
                }
            )?
        }
    };
}
tile_sum!(Tile4, f32, u32, 4, super::float_simd::tile4_f32);
tile_sum!(Tile4, f64, u64, 4, super::float_simd::tile4_f64);
tile_sum!(Tile8, f32, u32, 8, super::float_simd::tile8_f32);
tile_sum!(Tile8, f64, u64, 8, super::float_simd::tile8_f64);
tile_sum!(Tile16, f32, u32, 16);
tile_sum!(Tile16, f64, u64, 16);
tile_sum!(Tile32, f32, u32, 32);
tile_sum!(Tile32, f64, u64, 32);

/// Runs `$body` compiled for the instruction set in force, with `$wide` telling whether that is AVX-512.
macro_rules! at_level {
    ($T:ty, $F:ty, $wide:ident => $body:block) => {{
        #[cfg(target_arch = "x86_64")]
        if <$T as TileSum<$F>>::AVX512 && Isa::current() == Isa::Avx512 {
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt,fma")]
            fn enter<R>(f: impl FnOnce() -> R) -> R {
                f()
            }
            let $wide = true;
            let body = || $body;
            // SAFETY: the instruction set is in force only if the CPU has its features.
            return unsafe { enter(body) };
        }
        let $wide = false;
        compiled(|| $body)
    }};
}

/// The sums of one tile row, by the chosen form.
#[inline(always)]
fn one<T: TileSum<F>, F>(wide: bool, columns: &[u32], tiles: &[T], x: &Pieces<'_, F>, out: &mut [F]) {
    if wide {
        // SAFETY: `wide` is set only where the instruction set in force is AVX-512; the columns come from a checked matrix.
        unsafe { T::sums_avx512(columns, tiles, x, out) }
    } else {
        T::sums(columns, tiles, x, out);
    }
}

/// `y(i)` = the sum of `x` over the entries of row `i`; 0 for rows without entries and for rows that the mask leaves out.
/// O(tiles), parallel.
///
/// # Panics
/// If the lengths of `x`, `y` or the mask do not fit the matrix.
pub fn mxv_sum<T: TileSum<F>, F: Copy + Default + Send + Sync>(a: &B2sr<T>, x: &[F], mask: Option<RowMask<'_>>, y: &mut [F]) {
    assert_eq!((x.len(), y.len()), (a.ncols(), a.nrows()), "lengths of x and y");
    assert!(mask.is_none_or(|m| m.bits.len() == a.nrows()), "the mask has one bit for each row");
    let x = Pieces::new::<T>(x);
    with_offsets!(a.offsets(), o => row_blocks(y, |first, out| block(o, a, &x, mask, first, out)));
}

fn block<T: TileSum<F>, F: Copy + Default, O: OffsetInt>(
    offsets: &[O],
    a: &B2sr<T>,
    x: &Pieces<'_, F>,
    mask: Option<RowMask<'_>>,
    first: usize,
    out: &mut [F],
) {
    let (columns, tiles) = (a.tile_columns(), a.tiles());
    at_level!(T, F, wide => {
        for (k, out) in out.chunks_mut(T::SIZE).enumerate() {
            let row = first + k * T::SIZE;
            let t = row >> T::SHIFT;
            let range = offsets[t].index()..offsets[t + 1].index();
            let wanted = (RowMask::word(mask, row / 64) >> (row % 64)) as u32;
            if out.len() == T::SIZE && mask.is_none() {
                one(wide, &columns[range.clone()], &tiles[range], x, out);
                continue;
            }
            let mut sums = [F::default(); 32];
            if wanted & (!0u32 >> (32 - T::SIZE)) != 0 {
                one(wide, &columns[range.clone()], &tiles[range], x, &mut sums);
            }
            for (r, y) in out.iter_mut().enumerate() {
                *y = if wanted >> r & 1 != 0 { sums[r] } else { F::default() };
            }
        }
    })
}

/// [`mxv_sum`] on grouped tile rows.
///
/// # Panics
/// If the lengths of `x` or `y` do not fit the matrix.
pub fn mxv_sum_grouped<T: TileSum<F>, F: Copy + Default + Send + Sync>(a: &Grouped<T>, x: &[F], y: &mut [F]) {
    assert_eq!((x.len(), y.len()), (a.ncols(), a.nrows()), "lengths of x and y");
    let x = Pieces::new::<T>(x);
    // Runs of tile rows of one length: (tiles of each, first tile row in the order, tile rows, first tile).
    let most = if rayon::current_num_threads() == 1 { usize::MAX } else { 4096 };
    let (mut runs, mut row, mut tile) = (Vec::new(), 0, 0);
    for group in a.groups() {
        let (length, mut left) = (group.tiles as usize, group.rows as usize);
        while left > 0 {
            let rows = left.min((most / length.max(1)).max(64));
            runs.push((length, row, rows, tile));
            (row, tile, left) = (row + rows, tile + rows * length, left - rows);
        }
    }
    let out = DisjointSlice::new(y);
    parallel::blocks(runs.len(), 8, |some| grouped_runs(a, &runs[some], &x, &out));
}

fn grouped_runs<T: TileSum<F>, F: Copy + Default>(
    a: &Grouped<T>,
    runs: &[(usize, usize, usize, usize)],
    x: &Pieces<'_, F>,
    out: &DisjointSlice<'_, F>,
) {
    at_level!(T, F, wide => {
        for &(length, row, rows, tile) in runs {
            let (columns, tiles) = (&a.tile_columns()[tile..], &a.tiles()[tile..]);
            for (k, &t) in a.order()[row..row + rows].iter().enumerate() {
                let range = k * length..(k + 1) * length;
                let start = (t as usize) << T::SHIFT;
                let end = (start + T::SIZE).min(out.len());
                // SAFETY: the order is a permutation of the tile rows, so each one's rows are written once.
                let y = unsafe { out.range(start..end) };
                if y.len() == T::SIZE {
                    one(wide, &columns[range.clone()], &tiles[range], x, y);
                } else {
                    let mut sums = [F::default(); 32];
                    one(wide, &columns[range.clone()], &tiles[range], x, &mut sums);
                    y.copy_from_slice(&sums[..y.len()]);
                }
            }
        }
    })
}

/// [`mxv_sum`] on the hybrid: the tiles of a band, then its lists.
///
/// # Panics
/// If the lengths of `x`, `y` or the mask do not fit the matrix.
pub fn mxv_sum_hybrid<F>(a: &Hybrid, x: &[F], mask: Option<RowMask<'_>>, y: &mut [F])
where
    Tile8: TileSum<F>,
    F: Copy + Default + Send + Sync + std::ops::AddAssign,
{
    mxv_sum(a.tiles(), x, mask, y);
    if a.list().nnz() == 0 {
        return;
    }
    let indices = a.list().indices();
    with_offsets!(a.list().offsets(), o => row_blocks(y, |first, out| compiled(|| {
        let mut start = o[first].index();
        for (k, y) in out.iter_mut().enumerate() {
            let (i, end) = (first + k, o[first + k + 1].index());
            if end > start && RowMask::word(mask, i / 64) >> (i % 64) & 1 != 0 {
                let mut sums = [F::default(); 4];
                let mut fours = indices[start..end].chunks_exact(4);
                for four in &mut fours {
                    for (sum, &u) in sums.iter_mut().zip(four) {
                        *sum += x[u as usize];
                    }
                }
                for (sum, &u) in sums.iter_mut().zip(fours.remainder()) {
                    *sum += x[u as usize];
                }
                let [mut total, b, mut c, d] = sums;
                total += b;
                c += d;
                total += c;
                *y += total;
            }
            start = end;
        }
    })));
}
