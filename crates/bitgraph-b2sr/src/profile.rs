//! What a graph looks like to the choice of a format: tile counts, the paper's sampling profile, degree statistics, locality.
//!
//! Invariant: everything is deterministic, for every number of threads; what is sampled depends on the seed only.

use crate::counts::split_mix;
use crate::{Category, Degrees, HybridConfig, Pattern, TileCounts};
use bitgraph_sparse::{Csr, FormatKind, parallel};
use std::ops::Range;

/// How much to look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileConfig {
    /// Count tiles of every row (one pass over the entries) rather than of sampled bands.
    pub exact: bool,
    /// Count the hybrid's parts as well (a second pass); only with `exact`.
    pub hybrid: Option<HybridConfig>,
    /// Rows of the paper's sampling profile.
    pub sample_rows: usize,
    /// Bands of 32 rows from which tile counts are estimated.
    pub sample_bands: usize,
    /// The seed of both samples.
    pub seed: u64,
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self { exact: true, hybrid: Some(HybridConfig::default()), sample_rows: 1024, sample_bands: 512, seed: 1 }
    }
}

/// The paper's sampling profile (Bit-GraphBLAS, Algorithm 1), for tiles of 4, 8, 16 and 32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowSample {
    /// Rows drawn, with replacement.
    pub rows: usize,
    /// The algorithm's compression rate: entries for each non-empty bit row, averaged over the sampled rows that have entries.
    pub entries_per_bit_row: [f64; 4],
    /// What that rate means in bytes against compressed rows with `f32` values, below 1 where tiles are smaller. A bit row takes
    /// its own bits and, all rows of a tile being filled, a share of the tile's column: a lower bound.
    pub bytes_ratio: [f64; 4],
}

impl RowSample {
    /// Draws `rows` rows by `seed`. O(entries of these rows).
    #[must_use]
    pub fn new(csr: &Csr, rows: usize, seed: u64) -> Self {
        let mut sample = Self { rows, ..Self::default() };
        if csr.nrows() == 0 || rows == 0 {
            return sample;
        }
        let (mut state, mut filled) = (seed, 0usize);
        for _ in 0..rows {
            let i = ((u128::from(split_mix(&mut state)) * csr.nrows() as u128) >> 64) as usize;
            let row = csr.row(i);
            if row.is_empty() {
                continue;
            }
            filled += 1;
            for (k, rate) in sample.entries_per_bit_row.iter_mut().enumerate() {
                // Columns ascend, so a bit row starts where the tile column changes.
                let bit_rows = 1 + row.windows(2).filter(|w| w[0] >> (k + 2) != w[1] >> (k + 2)).count();
                *rate += row.len() as f64 / bit_rows as f64;
            }
        }
        for k in 0..4 {
            if filled > 0 {
                let size = f64::from(4u32 << k);
                sample.entries_per_bit_row[k] /= filled as f64;
                sample.bytes_ratio[k] = (size / 8.0 + 4.0 / size) / (8.0 * sample.entries_per_bit_row[k]);
            }
        }
        sample
    }
}

/// A graph's profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries.
    pub nnz: usize,
    /// Tiles of each size, exact or estimated.
    pub tiles: TileCounts,
    /// The paper's sampling profile.
    pub sample: RowSample,
    /// Entries of the rows.
    pub degrees: Degrees,
    /// The average distance of an entry from the main diagonal, `|row - column|`.
    pub bandwidth_mean: f64,
    /// The largest distance of an entry from the main diagonal.
    pub bandwidth_max: usize,
    /// Entries on the main diagonal.
    pub loops: usize,
    /// What the categories are decided by.
    pub pattern: Pattern,
    /// The categories of the paper's Table V.
    pub categories: Vec<Category>,
}

impl Profile {
    /// Profiles a pattern. O(nnz), parallel; with sampled counts still O(rows) and one cheap pass over the entries.
    #[must_use]
    pub fn new(csr: &Csr, config: &ProfileConfig) -> Self {
        let tiles = match (config.exact, &config.hybrid) {
            (true, Some(hybrid)) => TileCounts::exact_with_hybrid(csr, hybrid),
            (true, None) => TileCounts::exact(csr),
            (false, _) => TileCounts::sampled(csr, config.sample_bands, config.seed),
        };
        // Integers, so that the sum does not depend on how the rows are shared out.
        let of_rows = |rows: Range<usize>| {
            let distances = rows.flat_map(|i| csr.row(i).iter().map(move |&c| (c as usize).abs_diff(i)));
            distances.fold((0u128, 0usize), |(sum, max), d| (sum + d as u128, max.max(d)))
        };
        let (sum, bandwidth_max) = parallel::reduce(csr.nrows(), 4096, of_rows, |a, b| (a.0 + b.0, a.1.max(b.1)));
        let degrees = Degrees::new(csr);
        let pattern = Pattern::new(csr, &tiles, &degrees);
        Self {
            rows: csr.nrows(),
            columns: csr.ncols(),
            nnz: csr.nnz(),
            tiles,
            sample: RowSample::new(csr, config.sample_rows, config.seed),
            degrees,
            bandwidth_mean: if csr.nnz() == 0 { 0.0 } else { sum as f64 / csr.nnz() as f64 },
            bandwidth_max,
            loops: csr.count_loops(),
            pattern,
            categories: pattern.categories(),
        }
    }
    /// Bytes of a format, and its ratios to compressed rows with `f32` values (the paper's measure) and to the pattern in
    /// compressed rows (the honest one). `None` for the hybrid if it was not counted.
    #[must_use]
    pub fn size_of(&self, kind: FormatKind) -> Option<FormatSize> {
        let bytes = self.tiles.bytes(kind)?;
        let pattern = self.tiles.bytes(FormatKind::Csr)?;
        let ratio = |other: u64| bytes as f64 / other as f64;
        Some(FormatSize { kind, bytes, to_float_csr: ratio(self.tiles.float_csr_bytes()), to_pattern_csr: ratio(pattern) })
    }
    /// The format of fewest bytes, the first of [`FormatKind::ALL`] among equals.
    #[must_use]
    pub fn smallest(&self) -> FormatKind {
        FormatKind::ALL
            .into_iter()
            .filter_map(|k| self.tiles.bytes(k).map(|b| (b, k)))
            .min_by_key(|&(b, _)| b)
            .map_or(FormatKind::Csr, |(_, k)| k)
    }
}

/// The size of a graph in one format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormatSize {
    /// The format.
    pub kind: FormatKind,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes over those of compressed rows with `f32` values.
    pub to_float_csr: f64,
    /// Bytes over those of the pattern in compressed rows.
    pub to_pattern_csr: f64,
}
