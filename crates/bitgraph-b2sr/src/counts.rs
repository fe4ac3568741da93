//! How many tiles and bytes each format takes, without building it.
//!
//! Invariant: the exact counts are those of the built formats. One pass: the entries of four rows mark a bitmap of 4-wide
//! columns; the bitmaps of larger tiles are unions of those, with neighbouring bits folded together when counted.

use crate::b2sr::{bytes_of, entries};
use crate::hybrid::{HybridConfig, hybrid_counts};
use crate::isa::{Work, with_bit_instructions};
use crate::marks::Marks;
use crate::{Tile, Tile4, Tile8, Tile16, Tile32};
use bitgraph_sparse::{Csr, FormatKind, OffsetInt, parallel, with_offsets};
use std::ops::Range;

/// Numbers of non-empty tiles of 4, 8, 16 and 32, and of the parts of the hybrid, counted or estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileCounts {
    /// Rows of the matrix.
    pub rows: usize,
    /// Entries of the matrix.
    pub nnz: u64,
    /// Non-empty tiles of 4, 8, 16 and 32 rows and columns.
    pub tiles: [u64; 4],
    /// Tiles and listed entries of the hybrid; `None` if not asked for.
    pub hybrid: Option<(u64, u64)>,
    /// Whether the numbers are exact.
    pub exact: bool,
}

impl TileCounts {
    /// Counts all tiles, in parallel. O(nnz); memory per task about `columns / 8` bytes.
    #[must_use]
    pub fn exact(csr: &Csr) -> Self {
        let bands: Vec<usize> = (0..csr.nrows().div_ceil(32)).collect();
        Self { rows: csr.nrows(), nnz: csr.nnz() as u64, tiles: count_bands(csr, &bands), hybrid: None, exact: true }
    }
    /// As [`TileCounts::exact`], and the parts of the hybrid as well (a second pass).
    #[must_use]
    pub fn exact_with_hybrid(csr: &Csr, config: &HybridConfig) -> Self {
        Self { hybrid: Some(hybrid_counts(csr, config)), ..Self::exact(csr) }
    }
    /// Estimates from about `bands` bands of 32 rows drawn by `seed`, scaled by the entries they hold; exact if there are no
    /// more bands than that. O(entries of the bands). The same seed gives the same estimate.
    #[must_use]
    pub fn sampled(csr: &Csr, bands: usize, seed: u64) -> Self {
        let all = csr.nrows().div_ceil(32);
        if all <= bands.max(1) {
            return Self::exact(csr);
        }
        // One band from each of equal strata, so that none is drawn twice.
        let mut state = seed;
        let drawn: Vec<usize> = (0..bands.max(1))
            .map(|k| {
                let (low, high) = (k * all / bands.max(1), (k + 1) * all / bands.max(1));
                low + ((u128::from(split_mix(&mut state)) * (high - low) as u128) >> 64) as usize
            })
            .collect();
        let seen: usize = drawn.iter().map(|&b| csr.offsets().get((b * 32 + 32).min(csr.nrows())) - csr.offsets().get(b * 32)).sum();
        let scale = if seen == 0 { 0.0 } else { csr.nnz() as f64 / seen as f64 };
        let tiles = count_bands(csr, &drawn).map(|t| (t as f64 * scale).round() as u64);
        Self { rows: csr.nrows(), nnz: csr.nnz() as u64, tiles, hybrid: None, exact: false }
    }
    /// Tiles of a tile format; `None` for other formats.
    #[must_use]
    pub fn tiles_of(&self, kind: FormatKind) -> Option<u64> {
        let i = [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32].iter().position(|&k| k == kind)?;
        Some(self.tiles[i])
    }
    /// Entries in a tile, on average; 0 where there are none.
    #[must_use]
    pub fn fill(&self, kind: FormatKind) -> f64 {
        self.tiles_of(kind).filter(|&t| t > 0).map_or(0.0, |t| self.nnz as f64 / t as f64)
    }
    /// Bytes of the pattern in a format; `None` for the hybrid if it was not counted.
    #[must_use]
    pub fn bytes(&self, kind: FormatKind) -> Option<u64> {
        let tiled = |size: usize, bytes: usize, i: usize| Some(bytes_of(bytes, self.rows.div_ceil(size), self.tiles[i]));
        match kind {
            FormatKind::Csr => Some(bytes_of(0, self.rows, self.nnz)),
            FormatKind::B2sr4 => tiled(4, Tile4::BYTES, 0),
            FormatKind::B2sr8 => tiled(8, Tile8::BYTES, 1),
            FormatKind::B2sr16 => tiled(16, Tile16::BYTES, 2),
            FormatKind::B2sr32 => tiled(32, Tile32::BYTES, 3),
            FormatKind::Hybrid => {
                self.hybrid.map(|(tiles, listed)| bytes_of(8, self.rows.div_ceil(8), tiles) + bytes_of(0, self.rows, listed))
            }
        }
    }
    /// Bytes of the same matrix in compressed rows with `f32` values, which is what the paper compares with:
    /// `8 nnz + 4 (rows + 1)`.
    #[must_use]
    pub fn float_csr_bytes(&self) -> u64 {
        bytes_of(4, self.rows, self.nnz)
    }
}

/// SplitMix64.
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Non-empty tiles of each size in bands of 32 rows.
fn count_bands(csr: &Csr, bands: &[usize]) -> [u64; 4] {
    let part = bands.len().div_ceil(rayon::current_num_threads() * 4).max(16);
    let count = |some: Range<usize>| {
        let (bands, marks) = (&bands[some], &mut [(); 4].map(|()| Marks::new(csr.ncols().div_ceil(4))));
        with_offsets!(csr.offsets(), offsets => with_bit_instructions(Part { offsets, indices: csr.indices(), bands, marks }))
    };
    parallel::reduce(bands.len(), part, count, |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]])
}

/// Non-empty tiles of each size in some bands.
struct Part<'a, O> {
    offsets: &'a [O],
    indices: &'a [u32],
    bands: &'a [usize],
    marks: &'a mut [Marks; 4],
}

impl<O: OffsetInt> Work for Part<'_, O> {
    type Out = [u64; 4];
    #[inline(always)]
    fn run(self) -> [u64; 4] {
        let mut counts = [0u64; 4];
        let Self { offsets, indices, bands, marks: [by4, by8, by16, by32] } = self;
        let rows = |i: usize, size: usize| -> Range<usize> { i..i + size };
        for &band in bands {
            for i in (band * 32..band * 32 + 32).step_by(4) {
                by4.insert_all(entries(offsets, indices, rows(i, 4)), 2);
                by4.drain_words(|w, bits| {
                    counts[0] += u64::from(bits.count_ones());
                    by8.insert_word(w, bits);
                });
                if i % 8 == 4 {
                    by8.drain_words(|w, bits| {
                        counts[1] += u64::from(((bits | bits >> 1) & 0x5555_5555_5555_5555).count_ones());
                        by16.insert_word(w, bits);
                    });
                }
                if i % 16 == 12 {
                    by16.drain_words(|w, bits| {
                        let pairs = bits | bits >> 1;
                        counts[2] += u64::from(((pairs | pairs >> 2) & 0x1111_1111_1111_1111).count_ones());
                        by32.insert_word(w, bits);
                    });
                }
            }
            by32.drain_words(|_, bits| {
                let pairs = bits | bits >> 1;
                let fours = pairs | pairs >> 2;
                counts[3] += u64::from(((fours | fours >> 4) & 0x0101_0101_0101_0101).count_ones());
            });
        }
        counts
    }
}
