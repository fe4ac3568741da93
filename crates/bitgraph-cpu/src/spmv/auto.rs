//! Which layout pays, for so many passes.
//!
//! Costs are estimates in nanoseconds of one thread, from a few counts of the pattern; they decide between layouts that differ
//! by much more than their error.

use super::SpmvKind;
use super::slices::block_width;
use crate::Level;
use bitgraph_b2sr::TileCounts;
use bitgraph_sparse::{Csr, FormatKind};

/// Bands of rows that the tiles are counted in.
const BANDS: usize = 64;
/// Elements of `x` that stay in a core's first cache, about.
const NEAR: usize = 1 << 14;
/// Elements of `x` that stay in a core's second cache.
const CACHED: usize = 1 << 18;
/// Elements of `x` that stay in a cache of all cores.
const SHARED: usize = 1 << 21;

/// A layout, and why.
#[derive(Clone, Debug)]
pub struct SpmvPlan {
    /// The layout chosen.
    pub kind: SpmvKind,
    /// Passes that were counted on.
    pub passes: u32,
    /// For every layout: the predicted time to build and of one pass, in ms of one thread.
    pub costs: [(SpmvKind, f64, f64); 4],
}

impl SpmvPlan {
    /// Chooses for so many passes. O(entries of a sample).
    #[must_use]
    pub fn new(csr: &Csr, passes: u32) -> Self {
        let (rows, entries, columns) = (csr.nrows() as f64, csr.nnz() as f64, csr.ncols());
        let counts = TileCounts::sampled(csr, BANDS, 1);
        let tiles = counts.tiles_of(FormatKind::B2sr4).unwrap_or(u64::MAX) as f64;
        // Entries per tile say how local the numbering is: then x is read along, not at random. 0 is in the first cache.
        let local = (entries / tiles.max(1.0) - 1.0).clamp(0.0, 1.0);
        let distance = match columns {
            0..=NEAR => 0.0,
            c if c <= CACHED => 1.0,
            c if c <= SHARED => 2.0,
            _ => 4.5,
        };
        let far = distance * (1.0 - local);
        let degree = entries / rows.max(1.0);
        let blocks = columns.div_ceil(block_width(columns)) as f64;
        // Pieces: a row has one in every block that it has entries in.
        let pieces = rows * blocks * (1.0 - (-degree / blocks).exp()) + entries / 64.0;
        let tile = if Level::current() == Level::Avx512 { 0.55 } else { 6.0 };
        let costs = [
            (SpmvKind::Plain, 0.0, entries * (0.42 + 0.9 * far) + rows * 2.0),
            (SpmvKind::Wide, entries * 2.0 + rows * 10.0, entries * (0.42 + 0.8 * far) + rows * 1.2),
            (SpmvKind::Blocks, entries * 2.5 + pieces * 8.0, entries * (0.24 + 0.12 * far.min(1.0)) + pieces * 2.4),
            (SpmvKind::Tiles, entries * 2.0 + tiles * 3.0, tiles * (tile + 0.9 * far) + rows * 0.5),
        ]
        .map(|(kind, build, pass)| (kind, build * 1e-6, pass * 1e-6));
        let total = |&(_, build, pass): &(SpmvKind, f64, f64)| build + pass * f64::from(passes.max(1));
        let kind = costs.iter().min_by(|a, b| total(a).total_cmp(&total(b))).map_or(SpmvKind::Plain, |c| c.0);
        Self { kind, passes, costs }
    }
}

impl std::fmt::Display for SpmvPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {} passes;", self.kind.name(), self.passes)?;
        for (kind, build, pass) in self.costs {
            write!(f, " {}: {build:.1} ms + {pass:.2} ms a pass;", kind.name())?;
        }
        write!(f, " one thread, predicted")
    }
}
