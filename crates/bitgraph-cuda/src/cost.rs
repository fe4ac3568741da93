//! What the GPU knows about its own speed: the cost model behind `--format auto` and `--reorder auto`.
//!
//! Fused forms run on lists and choose their own order on the device (see each form's probe), so that the model weighs only whether
//! building pays over the passes that are left. Rates are of one H200, rounded; they decide large differences alone.

use crate::Cuda;
use bitgraph_b2sr::{Layout, TileCounts};
use bitgraph_backend::{Algorithm, Candidate, CostModel, StoredCost, Workload};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind};

/// What is measured of a graph before anything is predicted: counts that cost nothing on the host.
#[derive(Clone, Debug)]
pub struct GraphProfile {
    nodes: f64,
    entries: f64,
    /// Entries of the longest row.
    longest: usize,
    /// Sampled tile counts, for products with bit vectors.
    tiles: Option<TileCounts>,
}

/// Sampled rows of tiles.
const SAMPLED_BANDS: usize = 1024;
/// Entries of a row beyond which its tiles, summed by one warp, hold up the others: a hybrid leaves them to lists.
const LONG_ROW: usize = 448;
/// Of a product with bits: the seconds it takes at least, those of a row, and those of an entry of a list or of a tile.
const LISTS: (f64, f64, f64) = (1.1e-5, 0.0, 4e-12);
const TILES: (f64, f64, f64) = (5e-6, 1e-12, 4.2e-12);
const HYBRID: (f64, f64, f64) = (5.8e-6, 1e-11, 1.5e-12);
/// What a row beyond `LONG_ROW` costs a product in tiles.
const LONG_ROW_SECONDS: f64 = 8e-6;

const fn with_bits((start, row, each): (f64, f64, f64), rows: f64, count: f64) -> f64 {
    start + row * rows + each * count
}

/// Entries a second of a general fused form, the seconds it takes at least, and what a layout of its own gains.
const RUN_RATE: f64 = 5e10;
const RUN_START: f64 = 3e-5;
const PREPARED_GAIN: f64 = 0.5;

/// Entries a second that tiles are turned into lists with.
const LISTS_RATE: f64 = 1e10;

/// Seconds that a fused form's layout takes at least, and the entries a second beyond that.
const fn build_cost(algorithm: Algorithm) -> (f64, f64) {
    match algorithm {
        Algorithm::Bfs | Algorithm::MsBfs | Algorithm::Cc => (1e-4, 2e10),
        Algorithm::Tc => (1e-4, 8e9),
        Algorithm::PageRank => (1.5e-3, 4e9),
        Algorithm::Sssp => (6e-4, 1.5e9),
        Algorithm::MxvFloat | Algorithm::MxvBool => (3e-4, 5e9),
    }
}

impl CostModel for Cuda {
    type Profile = GraphProfile;

    fn profile(&self, csr: &Csr, _symmetric: bool, _weighted: bool, workload: &Workload) -> GraphProfile {
        let products = matches!(workload.algorithm, Algorithm::MxvBool | Algorithm::MxvFloat);
        GraphProfile {
            nodes: csr.nrows() as f64,
            entries: csr.nnz() as f64,
            longest: if products { (0..csr.nrows()).map(|r| csr.degree(r)).max().unwrap_or(0) } else { 0 },
            tiles: products.then(|| TileCounts::sampled(csr, SAMPLED_BANDS, 1)),
        }
    }

    fn predict(
        &self,
        profile: &GraphProfile,
        workload: &Workload,
        ordering: Ordering,
        format: FormatKind,
        prepared: bool,
    ) -> Option<Candidate> {
        if ordering != Ordering::None {
            return None;
        }
        let work = (profile.entries + profile.nodes) * f64::from(workload.iterations.max(1));
        let candidate = |build_seconds, run_seconds, why: &str| {
            Some(Candidate { ordering, format, prepared, build_seconds, run_seconds, why: why.to_string() })
        };
        match (format, prepared) {
            (FormatKind::Csr, false) if workload.algorithm == Algorithm::MxvBool => {
                candidate(0.0, with_bits(LISTS, profile.nodes, profile.entries), "lists as they are")
            }
            (FormatKind::Csr, false) => candidate(0.0, RUN_START + work / RUN_RATE, "lists as they are"),
            (FormatKind::Csr, true) if workload.algorithm != Algorithm::MxvBool => candidate(
                build_cost(workload.algorithm).0 + profile.entries / build_cost(workload.algorithm).1,
                RUN_START * PREPARED_GAIN + work * PREPARED_GAIN / RUN_RATE,
                "lists, and the fused form's own layout",
            ),
            (FormatKind::B2sr8 | FormatKind::Hybrid, false) if workload.algorithm == Algorithm::MxvBool => {
                let build = build_cost(workload.algorithm).0 + profile.entries / 1e10;
                if format == FormatKind::Hybrid {
                    return candidate(build, with_bits(HYBRID, profile.nodes, profile.entries), "bit tiles and lists");
                }
                let tiles = profile.entries / f64::max(profile.tiles.as_ref().map_or(1.0, |t| t.fill(FormatKind::B2sr8)), 1.0);
                let held_up = if profile.longest > LONG_ROW { LONG_ROW_SECONDS } else { 0.0 };
                candidate(build, held_up + with_bits(TILES, profile.nodes, tiles), "bit tiles")
            }
            _ => None,
        }
    }

    /// Algorithms are planned by counts alone, and the device makes lists of tiles faster than the host does.
    fn profile_stored(&self, layout: &Layout, _symmetric: bool, _weighted: bool, workload: &Workload) -> Option<GraphProfile> {
        let products = matches!(workload.algorithm, Algorithm::MxvBool | Algorithm::MxvFloat);
        let profile = GraphProfile { nodes: layout.shape().0 as f64, entries: layout.nnz() as f64, longest: 0, tiles: None };
        (!products).then_some(profile)
    }

    fn predict_stored(&self, layout: &Layout, workload: &Workload) -> Option<StoredCost> {
        let (rows, entries, (tiles, listed)) = (layout.shape().0 as f64, layout.nnz() as f64, layout.parts());
        let run_seconds = match (workload.algorithm, layout.kind()) {
            (Algorithm::MxvBool, FormatKind::B2sr8) => with_bits(TILES, rows, tiles as f64),
            (Algorithm::MxvBool, FormatKind::Hybrid) => with_bits(HYBRID, rows, (tiles + listed) as f64),
            _ => return None,
        };
        // The fewest tiles that the entries fit in, with some room.
        let least_seconds = with_bits(TILES, rows, entries / 32.0).min(run_seconds);
        Some(StoredCost { run_seconds, lists_seconds: RUN_START + entries / LISTS_RATE, least_seconds })
    }
}
