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
/// The least time of a product with bits in tiles and in a hybrid, as a part of that on lists, where rows are even.
const TILES_START: f64 = 0.3;
const HYBRID_START: f64 = 0.35;
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
            (FormatKind::Csr, false) => candidate(0.0, RUN_START + work / RUN_RATE, "lists as they are"),
            (FormatKind::Csr, true) if workload.algorithm != Algorithm::MxvBool => candidate(
                build_cost(workload.algorithm).0 + profile.entries / build_cost(workload.algorithm).1,
                RUN_START * PREPARED_GAIN + work * PREPARED_GAIN / RUN_RATE,
                "lists, and the fused form's own layout",
            ),
            (FormatKind::B2sr8 | FormatKind::Hybrid, false) if workload.algorithm == Algorithm::MxvBool => {
                // Twelve bytes a tile against four an entry.
                let filled = profile.tiles.as_ref().map_or(1.0, |t| t.fill(FormatKind::B2sr8));
                let tiles = 3.0 / f64::max(filled, 0.1);
                let hybrid = format == FormatKind::Hybrid;
                let (start, share) = match (hybrid, profile.longest > LONG_ROW) {
                    (false, false) => (TILES_START, tiles),
                    (false, true) => (1.0, f64::max(tiles, 1.0)),
                    (true, _) => (HYBRID_START, f64::min(tiles, 1.0)),
                };
                let build = build_cost(workload.algorithm).0 + profile.entries / 1e10;
                candidate(build, RUN_START * start + work * share / RUN_RATE, if hybrid { "bit tiles and lists" } else { "bit tiles" })
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
        let start = match (workload.algorithm, layout.kind()) {
            (Algorithm::MxvBool, FormatKind::B2sr8) => TILES_START,
            (Algorithm::MxvBool, FormatKind::Hybrid) => HYBRID_START,
            _ => return None,
        };
        let (entries, (tiles, listed)) = (layout.nnz() as f64, layout.parts());
        let work = 3.0 * tiles as f64 + listed as f64 + layout.shape().0 as f64;
        Some(StoredCost {
            run_seconds: RUN_START * start + work / RUN_RATE,
            lists_seconds: RUN_START + entries / LISTS_RATE,
            least_seconds: RUN_START * f64::min(TILES_START, HYBRID_START) + 0.25 * entries / RUN_RATE,
        })
    }
}
