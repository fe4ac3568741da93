//! Which variant finds shortest paths.
//!
//! Invariant: the thresholds of the choice are all here; a layout only refines what was chosen, and says where it could not follow.

use super::sweep::{SweepOptions, Sweeps};
use super::tile::{TileOptions, Tiles};
use super::{Arcs, SsspLayout, SsspOptions};
use crate::fused::bfs;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::skew::SKEWED;
use crate::{Cuda, CudaMatrix, Result};
use bitgraph_algorithms::{Sssp, SsspConfig, Typed};
use bitgraph_backend::{Arranged, Candidate, Error as Base, Fused, GraphData, Plan, same_type};
use bitgraph_semiring::DType;
use bitgraph_sparse::Stored;

variants! {
    /// How shortest paths are found.
    Variant {
        /// Near-far stepping: any graph, any weights.
        General = "general",
        /// A block's shared memory holds the graph.
        OneTile = "one-tile",
        /// The blocks' shared memories hold the graph, a part each.
        Tiles = "tiles",
        /// Sweeps over rows sorted by weight, the threshold rising by a sixteenth of the mean weight.
        Sweeps = "sweeps",
        /// The same, the threshold rising by half of that.
        SweepsSlow = "sweeps-slow",
        /// Without weights: a breadth-first search of each variant.
        StepsGeneral = "steps",
        /// See [`bfs::Variant::First`].
        StepsFirst = "steps-max-degree-first",
        /// See [`bfs::Variant::Slices`].
        StepsSlices = "steps-slices",
        /// See [`bfs::Variant::Block`].
        StepsBlock = "steps-block",
        /// See [`bfs::Variant::Queue`].
        StepsQueue = "steps-queue",
    }
}

const STEPS: [(Variant, bfs::Variant); 5] = [
    (Variant::StepsGeneral, bfs::Variant::General),
    (Variant::StepsFirst, bfs::Variant::First),
    (Variant::StepsSlices, bfs::Variant::Slices),
    (Variant::StepsBlock, bfs::Variant::Block),
    (Variant::StepsQueue, bfs::Variant::Queue),
];

impl Variant {
    /// That of the breadth-first search, for those that are one.
    pub(super) fn steps(self) -> Option<bfs::Variant> {
        STEPS.iter().find(|s| s.0 == self).map(|s| s.1)
    }
    /// That which runs a variant of breadth-first search.
    pub(super) fn of_steps(search: bfs::Variant) -> Self {
        STEPS.iter().find(|s| s.1 == search).map_or(Self::StepsGeneral, |s| s.0)
    }
    /// The settings of its sweeps, for those that sweep.
    pub(super) fn sweep(self) -> Option<SweepOptions> {
        let (long_step, short_step, rest) = match self {
            Self::Sweeps => (16, 16, 2),
            Self::SweepsSlow => (8, 8, 1),
            _ => return None,
        };
        Some(SweepOptions { long_step, short_step, rest, by_degree: false })
    }
}

/// Levels of a search from which on tiles pay on graphs too small for [`Stats::spreads_slowly`](bitgraph_backend::Stats): blocks run on
/// without a barrier of the grid, which near-far stepping has for every step.
const TILES_LEVELS: f64 = 64.0;
const SMALL: usize = 8192;
/// Mean degree below which sweeps are left to tiles, where the graph fits. On an H200: 2.0 times as fast below (debruijn:17), 0.46 above
/// (urand:100000:16).
const SWEEPS_DEGREE: f64 = 6.0;
/// Mean degree below which tiles are left to the general form on directed graphs: 1.35 times as fast below (p2p-Gnutella31), 0.61 above (cage11).
const TILES_DEGREE: f64 = 4.0;
/// Mean square over squared mean of the degrees from which on sweeps are slow ones: 0.84 to 1.0 of the time above (kron:15 to 20, email-Enron),
/// 1.2 below (skew:200000:2000000).
const SLOW_SKEW: f64 = 6.0;
/// Rounds of near-far stepping for a level of a search, roughly: weights spread what is one level over several steps.
const ROUNDS: f64 = 4.0;
/// Wide steps, in mean weights over the mean degree: fewer rounds and repeated work, where degrees are uneven or below this. Narrow ones.
pub(super) const WIDE: f64 = 128.0;
pub(super) const NARROW: f64 = 32.0;
const WIDE_DEGREE: f64 = 8.0;
/// Mean degree above which a warp takes a piece of a row, where rows are alike; half a warp otherwise.
const WARP_DEGREE: f64 = 24.0;
/// Of the general form's time.
const TILES_SHARE: f64 = 0.3;
const SWEEPS_SHARE: f64 = 0.5;

/// Lanes for a piece of a row, and the width of a step of the general form, for rows of `degree` entries in the mean and `longest` at most.
pub(super) fn general(degree: f64, skew: f64) -> (u32, f64) {
    let skewed = skew > SKEWED;
    let lanes = if !skewed && degree > WARP_DEGREE { 32 } else { 16 };
    (lanes, if skewed || degree < WIDE_DEGREE { WIDE } else { NARROW })
}

/// The sweeps that are expected to be the fastest: with hubs, most vertices move at once.
fn sweeps(facts: &Facts<'_>) -> Variant {
    if facts.stats().skew > SLOW_SKEW { Variant::SweepsSlow } else { Variant::Sweeps }
}

fn weighted(facts: &Facts<'_>) -> (Vec<Offer>, f64) {
    let (stats, device) = (facts.stats(), facts.device);
    let (nodes, arcs, longest) = (facts.nodes, facts.entries, stats.max_degree);
    let mut offers = vec![Offer::general(Variant::General.name(), 0.0)];
    if let Some(largest) = facts.graph.max_whole_weight() {
        let one = Tiles::suits(device, nodes, arcs, largest, longest, 1);
        let parts = TileOptions::parts(device, false);
        let tiles = Tiles::suits(device, nodes, arcs, largest, longest, parts);
        let slow = stats.spreads_slowly || (nodes <= SMALL && stats.levels >= TILES_LEVELS);
        let sweeping = facts.symmetric && !one && !slow && (stats.mean_degree >= SWEEPS_DEGREE || !tiles);
        let tiling = !one && !sweeping && (slow || facts.symmetric || stats.mean_degree >= TILES_DEGREE);
        if one {
            let build = facts.build_seconds(3e-4, 5e8);
            offers.push(Offer::of(Variant::OneTile.name(), build, true, TILES_SHARE, "the graph in the shared memory of a block"));
        }
        if tiles {
            let build = facts.build_seconds(2e-3, 5e8);
            offers.push(Offer::of(Variant::Tiles.name(), build, tiling, TILES_SHARE, "parts in shared memory, for many levels"));
        }
        if Sweeps::suits(device, nodes, arcs, largest) {
            let best = sweeps(facts);
            for variant in [Variant::Sweeps, Variant::SweepsSlow] {
                let build = facts.build_seconds(6e-4, 1.5e9);
                let preferred = sweeping && variant == best;
                offers.push(Offer::of(variant.name(), build, preferred, SWEEPS_SHARE, "rows by weight, for few levels"));
            }
        }
    }
    (offers, facts.general_seconds(1.0, ROUNDS * stats.levels))
}

/// The variants that suit a graph.
fn offers(facts: &Facts<'_>) -> (Vec<Offer>, f64) {
    if facts.graph.values().is_some() {
        return weighted(facts);
    }
    let (mut steps, general) = bfs::select::offers(facts, |search| Variant::of_steps(search).name());
    let stepping = facts.general_seconds(1.0, ROUNDS * facts.stats().levels) / general;
    // Without weights it is never the faster one, and is there to be forced.
    let general_form = Offer { share: stepping, ..Offer::general(Variant::General.name(), 0.0) };
    steps.push(general_form);
    (steps, general)
}

/// The types of distances that kernels give.
fn has_kernels(dtype: DType) -> bool {
    matches!(dtype, DType::U32 | DType::U64 | DType::I32 | DType::I64 | DType::F32 | DType::F64)
}

/// The arcs of a matrix with their weights.
fn arcs(matrix: &CudaMatrix) -> Option<Arcs> {
    Arcs::of(matrix.as_csr()?, matrix.values())
}

impl<T: Stored> Kernels for Typed<SsspConfig, T> {
    // Without weights a breadth-first search.
    const MODULES: &'static [&'static str] = &["graph/sssp", "graph/bfs"];
}

impl<T: Stored> Fused<Typed<SsspConfig, T>> for Cuda {
    type Layout = SsspLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<Typed<SsspConfig, T>>()
    }
    fn variants(&self, graph: &GraphData, _: &Typed<SsspConfig, T>, _: u32) -> Vec<Candidate> {
        let facts = Facts::of(self, graph, graph.is_symmetric_with_values(), bfs::select::MOST_NODES);
        let Some(facts) = facts.filter(|_| has_kernels(T::DTYPE)) else { return vec![Candidate::definition(graph)] };
        let (offers, general) = offers(&facts);
        candidates(offers, general)
    }
    fn layout(&self, graph: &Arranged<Self>, _: &Typed<SsspConfig, T>, plan: &Plan) -> Result<Option<SsspLayout>> {
        let Some(out) = arcs(graph.matrix()) else { return Ok(None) };
        let incoming = match graph.is_symmetric() {
            true => None,
            false => match arcs(graph.transpose()?) {
                Some(incoming) => Some(incoming),
                None => return Ok(None),
            },
        };
        let options = SsspOptions { wide_sums: T::DTYPE == DType::F64, ..SsspOptions::default() };
        SsspLayout::build(self.device(), out, incoming, Variant::planned(plan), options).map(Some)
    }
    fn run(&self, _: &Arranged<Self>, layout: &SsspLayout, config: &Typed<SsspConfig, T>) -> Result<Sssp<T>> {
        let device = self.device();
        let found = match T::DTYPE {
            DType::U32 => same_type(layout.run::<u32>(device, config)),
            DType::U64 => same_type(layout.run::<u64>(device, config)),
            DType::I32 => same_type(layout.run::<i32>(device, config)),
            DType::I64 => same_type(layout.run::<i64>(device, config)),
            DType::F32 => same_type(layout.run::<f32>(device, config)),
            DType::F64 => same_type(layout.run::<f64>(device, config)),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let what = format!("distances of type {}", T::DTYPE);
            Err(Base::Unsupported { operation: "fused shortest paths", what, available: "u32, u64, i32, i64, f32, f64" }.into())
        })
    }
    fn layout_bytes(&self, layout: &SsspLayout) -> u64 {
        layout.bytes()
    }
}
