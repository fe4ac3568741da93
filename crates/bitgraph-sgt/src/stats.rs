//! What a translation saves: blocks with and without it, fill, distinct columns (TC-GNN, section 5.3 and Figure 7).
//!
//! Invariant: without translation, a window's blocks are those of consecutive columns that hold an entry; what has none is not counted.

use crate::{BlockShape, Error, MOST_ROWS, Result, Sgt};
use bitgraph_sparse::Csr;
use rayon::prelude::*;

/// Numbers of a pattern in windows, for blocks of one shape: counted, or estimated from some windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// The shape of a block.
    pub shape: BlockShape,
    /// Rows of the pattern.
    pub rows: u64,
    /// Entries of the pattern.
    pub entries: u64,
    /// Windows.
    pub windows: u64,
    /// Windows without entries.
    pub empty_windows: u64,
    /// Distinct columns, summed over windows: the rows of features that are gathered, and the vectors of `height` x 1.
    pub distinct_columns: u64,
    /// Distinct columns of the window that has most.
    pub most_columns: u64,
    /// Blocks of condensed columns.
    pub blocks: u64,
    /// Blocks of the window that has most.
    pub most_blocks: u64,
    /// Blocks that hold an entry where columns are not condensed.
    pub untranslated_blocks: u64,
    /// Whether the numbers are exact.
    pub exact: bool,
}

/// Numbers of some windows.
#[derive(Clone, Copy, Default)]
struct Sums {
    empty: u64,
    distinct: u64,
    most: u64,
    blocks: u64,
    untranslated: u64,
    entries: u64,
}

impl Sums {
    /// Of one window's distinct columns, ascending.
    fn of(columns: &[u32], entries: usize, shape: BlockShape) -> Self {
        let width = shape.width() as u32;
        let untranslated = columns.chunk_by(|a, b| a / width == b / width).count();
        Self {
            empty: u64::from(columns.is_empty()),
            distinct: columns.len() as u64,
            most: columns.len() as u64,
            blocks: shape.blocks(columns.len()) as u64,
            untranslated: untranslated as u64,
            entries: entries as u64,
        }
    }
    fn join(self, other: Self) -> Self {
        Self {
            empty: self.empty + other.empty,
            distinct: self.distinct + other.distinct,
            most: self.most.max(other.most),
            blocks: self.blocks + other.blocks,
            untranslated: self.untranslated + other.untranslated,
            entries: self.entries + other.entries,
        }
    }
}

impl Sgt {
    /// Numbers of blocks, fill and gathers for blocks of a shape. O(distinct columns), parallel.
    ///
    /// # Errors
    /// [`Error::BlockHeight`] if the blocks' height is not the windows'.
    pub fn statistics(&self, shape: BlockShape) -> Result<Statistics> {
        Statistics::of(self, shape)
    }
}

impl Statistics {
    fn of(sgt: &Sgt, shape: BlockShape) -> Result<Self> {
        if shape.height() != sgt.height() {
            return Err(Error::BlockHeight { expected: sgt.height, found: shape.height() as u32 });
        }
        let sums = (0..sgt.windows())
            .into_par_iter()
            .with_min_len(1024)
            .map(|w| Sums::of(sgt.window_columns(w), 0, shape))
            .reduce(Sums::default, Sums::join);
        Ok(Self::new(shape, (sgt.nrows(), sgt.nnz()), sgt.windows(), sgt.windows(), sums))
    }
    /// Estimates for windows of rows in their natural order from about `windows` of them, drawn by `seed` and scaled by the entries they
    /// hold; exact if there are no more. Maxima are those of the windows drawn. The same seed gives the same estimate.
    /// O(entries of the windows drawn, times their logarithm).
    #[must_use]
    pub fn sampled(csr: &Csr, shape: BlockShape, windows: usize, seed: u64) -> Self {
        let (height, all) = (shape.height(), csr.nrows().div_ceil(shape.height()));
        debug_assert!(height <= MOST_ROWS as usize);
        let drawn = windows.clamp(1, all.max(1)).min(all);
        let mut state = seed;
        let windows: Vec<usize> = (0..drawn)
            .map(|k| {
                // One window of each of equal strata, so that none is drawn twice.
                let (low, high) = (k * all / drawn, (k + 1) * all / drawn);
                low + ((u128::from(split_mix(&mut state)) * (high - low) as u128) >> 64) as usize
            })
            .collect();
        let sums = windows
            .par_iter()
            .with_min_len(16)
            .map(|&w| {
                let range = csr.offsets().get(w * height)..csr.offsets().get(((w + 1) * height).min(csr.nrows()));
                let mut columns = csr.indices()[range.clone()].to_vec();
                columns.sort_unstable();
                columns.dedup();
                Sums::of(&columns, range.len(), shape)
            })
            .reduce(Sums::default, Sums::join);
        Self::new(shape, (csr.nrows(), csr.nnz()), all, drawn, sums)
    }
    /// Of `drawn` of all windows.
    fn new(shape: BlockShape, (rows, entries): (usize, usize), windows: usize, drawn: usize, sums: Sums) -> Self {
        let exact = drawn == windows;
        // An exact number is not to pass through floating point.
        let scaled = |number: u64, all: usize, seen: u64| match seen {
            _ if exact => number,
            0 => 0,
            _ => (number as f64 * (all as f64 / seen as f64)).round() as u64,
        };
        let by_entries = |number| scaled(number, entries, sums.entries);
        Self {
            shape,
            rows: rows as u64,
            entries: entries as u64,
            windows: windows as u64,
            empty_windows: scaled(sums.empty, windows, drawn as u64),
            distinct_columns: by_entries(sums.distinct),
            most_columns: sums.most,
            blocks: by_entries(sums.blocks),
            most_blocks: shape.blocks(sums.most as usize) as u64,
            untranslated_blocks: by_entries(sums.untranslated),
            exact,
        }
    }
    /// The part of the places of all blocks that hold an entry; 0 where there are no blocks.
    #[must_use]
    pub fn fill(&self) -> f64 {
        ratio(self.entries, self.blocks * self.shape.places() as u64)
    }
    /// The same without translation.
    #[must_use]
    pub fn untranslated_fill(&self) -> f64 {
        ratio(self.entries, self.untranslated_blocks * self.shape.places() as u64)
    }
    /// The part of the blocks that translation saves: 1 - with / without (Figure 7).
    #[must_use]
    pub fn reduction(&self) -> f64 {
        if self.untranslated_blocks == 0 { 0.0 } else { 1.0 - ratio(self.blocks, self.untranslated_blocks) }
    }
    /// Distinct columns a row of the pattern: what is gathered for a row of the result.
    #[must_use]
    pub fn columns_per_row(&self) -> f64 {
        ratio(self.distinct_columns, self.rows)
    }
    /// Distinct columns an entry: the part of the gathers that windows leave.
    #[must_use]
    pub fn columns_per_entry(&self) -> f64 {
        ratio(self.distinct_columns, self.entries)
    }
    /// Entries of a vector of `height` x 1; tensor cores pay from 2 to 3 on.
    #[must_use]
    pub fn entries_per_vector(&self) -> f64 {
        ratio(self.entries, self.distinct_columns)
    }
    /// Bytes of all blocks: column ids and masks, and an offset of 4 bytes for each window.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.blocks * self.shape.bytes() + 4 * (self.windows + 1)
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

/// SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
