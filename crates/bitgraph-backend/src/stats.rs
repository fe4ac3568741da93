//! What is measured of a graph before anything is predicted: one set of numbers for every algorithm and backend, taken once.
//!
//! Invariant: numbers only. What they mean for a choice (which share of far entries is too many) is a named constant of whoever
//! chooses.

use bitgraph_b2sr::TileCounts;
use bitgraph_sparse::{Csr, FormatKind, OffsetInt, with_offsets};
use std::collections::HashSet;
use std::sync::OnceLock;

/// Rows looked at for locality.
const SAMPLED_ROWS: usize = 2048;
/// Entries of such a row: a long one says no more than its first entries.
const SAMPLED_ENTRIES: usize = 64;
/// Bands of rows sampled for tile counts.
const SAMPLED_BANDS: usize = 1024;
/// Vertices that the diameter probe looks for.
const PROBED: usize = 4096;
/// Neighbours further apart than this share of the vertices count as far.
const FAR: f64 = 0.02;
/// Rows longer than this are hubs, from which the diameter probe is not made.
const PROBED_DEGREE: u32 = 64;

/// Measurements of a square pattern. O(n) time, and O(samples) for locality, tiles and the diameter probe.
#[derive(Debug)]
pub struct Stats {
    /// Vertices.
    pub nodes: usize,
    /// Stored entries.
    pub entries: usize,
    /// The mean out-degree; 0 without vertices.
    pub mean_degree: f64,
    /// The largest out-degree.
    pub max_degree: u32,
    /// The mean of the squares of the out-degrees over the square of their mean: 1 for equal degrees, large with hubs.
    pub skew: f64,
    /// The share of sampled entries whose ends are further apart than a fiftieth of the vertices.
    pub far: f64,
    /// Whether a search from a sampled vertex needs clearly more levels than in a random graph of the same mean degree: a plane, a
    /// volume, a road network. False for graphs with hubs and for small components.
    pub spreads_slowly: bool,
    csr: Csr,
    tiles: OnceLock<TileCounts>,
}

impl Stats {
    /// Measures a pattern; a clone of it, which shares its arrays, is kept for [`Stats::tiles`].
    #[must_use]
    pub fn of(csr: &Csr) -> Self {
        let (nodes, entries) = (csr.nrows(), csr.nnz());
        let (max_degree, squares) = with_offsets!(csr.offsets(), o => o.windows(2).fold((0usize, 0f64), |(most, squares), w| {
            let degree = w[1].index() - w[0].index();
            (most.max(degree), squares + (degree as f64).powi(2))
        }));
        let max_degree = u32::try_from(max_degree).unwrap_or(u32::MAX);
        Self {
            nodes,
            entries,
            mean_degree: if nodes == 0 { 0.0 } else { entries as f64 / nodes as f64 },
            max_degree,
            skew: if entries == 0 { 1.0 } else { squares * nodes as f64 / (entries as f64).powi(2) },
            far: far_share(csr),
            spreads_slowly: max_degree <= PROBED_DEGREE && spreads_slowly(csr),
            csr: csr.clone(),
            tiles: OnceLock::new(),
        }
    }
    /// Tile counts of every format, from a sample of bands of rows; counted when first asked for.
    pub fn tiles(&self) -> &TileCounts {
        self.tiles.get_or_init(|| TileCounts::sampled(&self.csr, SAMPLED_BANDS, 1))
    }
    /// Entries a tile of a format, by that sample; 0 for CSR and the hybrid, whose tiles are not counted.
    #[must_use]
    pub fn fill(&self, format: FormatKind) -> f64 {
        self.tiles().fill(format)
    }
}

/// The share of entries (i, j) with |i - j| above [`FAR`] of the rows, over evenly spaced rows.
fn far_share(csr: &Csr) -> f64 {
    let rows = csr.nrows();
    let step = (rows / SAMPLED_ROWS).max(1);
    let bound = (rows as f64 * FAR) as u32;
    let (mut far, mut all) = (0u64, 0u64);
    for i in (0..rows).step_by(step) {
        for &j in csr.row(i).iter().take(SAMPLED_ENTRIES) {
            far += u64::from(j.abs_diff(i as u32) > bound);
            all += 1;
        }
    }
    if all == 0 { 0.0 } else { far as f64 / all as f64 }
}

/// The diameter probe: whether a search meets [`PROBED`] vertices only in clearly more levels than in a random graph, where every level
/// is a factor of the mean degree. From two vertices.
fn spreads_slowly(csr: &Csr) -> bool {
    let n = csr.nrows();
    let degree = csr.nnz() as f64 / n.max(1) as f64;
    let random = (PROBED as f64).ln() / (degree - 1.0).max(1.5).ln();
    let levels = |source: usize| {
        let mut seen = HashSet::from([source as u32]);
        let (mut front, mut levels) = (vec![source as u32], 0u32);
        while !front.is_empty() && seen.len() < PROBED {
            let mut next = Vec::new();
            for &v in &front {
                next.extend(csr.row(v as usize).iter().copied().filter(|&u| seen.insert(u)));
            }
            front = next;
            levels += 1;
        }
        (seen.len() >= PROBED).then_some(levels)
    };
    n > 2 * PROBED && [n / 3, 2 * n / 3].into_iter().filter_map(levels).max().is_some_and(|l| f64::from(l) > 1.6 * random + 2.0)
}
