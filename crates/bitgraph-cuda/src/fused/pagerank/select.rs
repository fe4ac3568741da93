//! Which variant ranks a graph.
//!
//! Invariant: the thresholds of the choice are all here; a layout only refines what was chosen, and says where it could not follow.

use super::tiles::{Capacity, TileChoice, TileForm};
use super::{CoreChoice, Form, RankLayout};
use crate::device::Properties;
use crate::fused::Lists;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::skew::SKEWED;
use crate::spmv::Pattern;
use crate::{Cuda, Result};
use bitgraph_algorithms::{Dangling, PageRank, PageRankConfig, Typed};
use bitgraph_backend::{Algorithm, Arranged, Candidate, Error as Base, Fused, GraphData, Plan, same_type};
use bitgraph_semiring::{DType, Float};
use bitgraph_sparse::Stored;

variants! {
    /// How scores are found. All but the general one need `f32`, even teleport, and dangling vertices without any arcs, or dropped ones.
    Variant {
        /// Rows by class, one barrier an iteration: any graph, both precisions, all settings.
        General = "general",
        /// One block, scores in its shared memory.
        Block = "block",
        /// One cluster of blocks, vertices dealt to them one by one.
        Cluster = "cluster",
        /// One cluster, whose blocks take stretches of a numbering by levels.
        Stretches = "stretches",
        /// The blocks of the device hold windows of the scores, in natural order.
        Windows = "windows",
        /// The same in a numbering by levels.
        Levels = "levels",
        /// The blocks of the device hold the scores of vertices dealt to them anew, in groups and columns.
        Dealt = "dealt",
        /// The vertices of most arcs are a core in shared memory, the rest goes through the second-level cache.
        Core = "core",
    }
}

/// Arcs below which one block is faster than a cluster, a small cluster than a large one, and that than the whole device.
const BLOCK_ARCS: usize = 4_000;
const SMALL_CLUSTER_ARCS: usize = 16_000;
const CLUSTER_ARCS: usize = 100_000;
/// Blocks of the small cluster, and of the large one: what every device with clusters allows.
const SMALL_CLUSTER_BLOCKS: u32 = 4;
const CLUSTER_BLOCKS: u32 = 8;
/// Vertices of a cluster at most: two copies of x in every block.
const CLUSTER_NODES: usize = 22_000;
/// Levels that each block of a cluster has to take from a numbering by levels, so that few vertices are read by more than two of them.
const STRETCH_LEVELS: f64 = 2.0;
/// Entries of a lane in the small forms, before a row gets another lane: the first that fits.
pub(super) const SMALL_ENTRIES: [u32; 2] = [16, 64];
/// Entries of a lane in the other forms.
const LANE_ENTRIES: u32 = 64;
/// A window's halo is at most so many times what a block owns, and no less than so many vertices: a wider one costs more to exchange than
/// dealing anew does.
const HALO_PARTS: usize = 3;
const HALO_NODES: usize = 1024;
/// Rows are alike, so that windows keep the natural order, up to this longest row, so many times the mean and so many more.
const ALIKE_LONGEST: u32 = 64;
const ALIKE_RATIO: usize = 2;
const ALIKE_MORE: usize = 8;
/// Vertices from which on a numbering by levels is tried, and arcs of a vertex at most.
const MESH_NODES: usize = 50_000;
const MESH_LONGEST: u32 = 64;
/// Arcs below which the general form's one barrier is cheaper than two exchanges, and arcs per vertex.
const GRID_ARCS: usize = 500_000;
const GRID_DEGREE: usize = 6;
/// Columns of the dealt form, the best first; and the threads of a block that wait before the others.
const GRID_COLUMNS: [u32; 5] = [4, 6, 5, 3, 2];
const GRID_COLUMNS_SKEWED: [u32; 5] = [6, 5, 4, 3, 2];
const GRID_SAMPLES: u32 = 64;
/// Arcs from which a core is looked for, and the part of them that must lie in it where degrees are even.
const CORE_ARCS: usize = 4_000_000;
const CORE_SHARE: f64 = 0.4;
/// The second moment of the degrees over their squared mean from which on a core holds that part of the arcs of any graph.
const CORE_MOMENT: f64 = 8.0;
/// Vertices above which the core is as wide as the device allows.
const WIDE_NODES: usize = 12_000_000;
/// Of the general form's time.
const SPECIAL_SHARE: f64 = 0.5;

/// Whether blocks can exchange the halo of windows.
pub(super) fn near(halo: u32, rows: usize, sms: u32) -> bool {
    halo as usize <= HALO_PARTS * rows.div_ceil(sms.max(1) as usize).max(HALO_NODES)
}

/// A window keeps the natural order where rows are alike: then neighbours read neighbours, and no bank is read twice.
pub(super) fn window(sms: u32, rows: usize, entries: usize, longest: u32) -> TileChoice {
    let alike = longest <= ALIKE_LONGEST && longest as usize <= ALIKE_RATIO * (entries / rows.max(1)) + ALIKE_MORE;
    let sorted = !alike;
    TileChoice { form: TileForm::Window, groups: sms, columns: 1, lane_entries: LANE_ENTRIES, sorted, samples: 0, stretches: false }
}

/// A small form with so many entries of a lane.
pub(super) fn small(variant: Variant, entries: usize, lane_entries: u32) -> TileChoice {
    let (form, groups) = match variant {
        Variant::Block => (TileForm::Block, 1),
        Variant::Cluster if entries < SMALL_CLUSTER_ARCS => (TileForm::Cluster, SMALL_CLUSTER_BLOCKS),
        _ => (TileForm::Cluster, CLUSTER_BLOCKS),
    };
    TileChoice { form, groups, columns: 1, lane_entries, sorted: true, samples: 0, stretches: variant == Variant::Stretches }
}

/// Ways to deal vertices, the best first.
pub(super) fn dealt(sms: u32, rows: usize, entries: usize, longest: u32) -> impl Iterator<Item = TileChoice> {
    let skewed = crate::skew::ratio(longest, rows, entries) > SKEWED;
    let columns = if skewed { GRID_COLUMNS_SKEWED } else { GRID_COLUMNS };
    let choice = move |columns| TileChoice {
        form: TileForm::Grid,
        groups: sms / columns,
        columns,
        lane_entries: LANE_ENTRIES,
        sorted: true,
        samples: GRID_SAMPLES,
        stretches: false,
    };
    columns.into_iter().map(choice).filter(|c| c.groups > 0)
}

/// The cut of the core of a graph of so many vertices with arcs.
pub(super) fn core(sms: u32, placed: usize) -> CoreChoice {
    if placed > WIDE_NODES { CoreChoice::wide(sms, placed as u32) } else { CoreChoice::DEFAULT }
}

/// Whether dealing so many vertices with arcs anew is worth its two exchanges an iteration.
fn dealing_pays(placed: usize, entries: usize) -> bool {
    entries >= GRID_ARCS && entries >= GRID_DEGREE * placed
}

/// Whether a core has enough of the arcs; `moment` is that of the degrees, 1 where they are alike.
fn core_pays(sms: u32, placed: usize, entries: usize, moment: f64) -> bool {
    let core = core(sms, placed);
    let inside = core.vertices as usize as f64 / placed.max(1) as f64;
    sms >= core.columns && entries >= CORE_ARCS && (inside * inside >= CORE_SHARE || moment >= CORE_MOMENT)
}

/// What is tried for a mesh whose levels turn out to be too wide for windows, the best first.
pub(super) fn without_levels(sms: u32, placed: usize, entries: usize) -> impl Iterator<Item = Variant> {
    let dealt = dealing_pays(placed, entries).then_some(Variant::Dealt);
    dealt.into_iter().chain(core_pays(sms, placed, entries, 1.0).then_some(Variant::Core))
}

/// What the selector looks at.
struct Look<'f> {
    facts: &'f Facts<'f>,
    properties: &'f Properties,
    capacity: Capacity,
    /// Vertices with arcs.
    placed: usize,
}

impl<'f> Look<'f> {
    fn new(facts: &'f Facts<'f>) -> Self {
        let properties = facts.device.properties();
        // Of a directed graph, those without out-arcs may have in-arcs.
        let isolated = if facts.symmetric { facts.stats().empty_rows } else { 0 };
        let capacity = Capacity { rows: facts.nodes, entries: facts.entries, isolated, shared: properties.shared_per_block as usize };
        Self { facts, properties, placed: facts.nodes - isolated, capacity }
    }
    fn choice(&self, variant: Variant) -> TileChoice {
        small(variant, self.facts.entries, SMALL_ENTRIES[0])
    }
    fn windows(&self) -> TileChoice {
        window(self.properties.sms, self.facts.nodes, self.facts.entries, self.facts.stats().max_degree)
    }
    fn narrow_windows(&self) -> bool {
        // What the sample says about far entries is cheaper than the bandwidth.
        let smallest = if self.facts.stats().far > 0.0 { self.facts.nodes / 50 } else { 0 };
        near(smallest as u32, self.facts.nodes, self.properties.sms)
            && near(self.facts.stats().bandwidth(), self.facts.nodes, self.properties.sms)
    }
    /// Whether a layout of a variant can be tried: what does not fit is found out by counts.
    fn fits(&self, variant: Variant) -> bool {
        let (facts, stats) = (self.facts, self.facts.stats());
        let (clusters, symmetric) = (self.properties.clusters, facts.symmetric);
        let small = |variant| self.placed <= CLUSTER_NODES && self.capacity.may_hold(&self.choice(variant), 0, true);
        match variant {
            Variant::General => true,
            _ if facts.entries == 0 => false,
            Variant::Block => small(variant),
            Variant::Cluster => clusters && small(variant),
            Variant::Stretches => clusters && symmetric && small(variant),
            Variant::Windows => self.capacity.may_hold(&self.windows(), stats.bandwidth(), false),
            // An ordering by levels has a halo of its own, found when it is there.
            Variant::Levels => symmetric && self.capacity.may_hold(&self.windows(), 0, false),
            Variant::Dealt => self.dealt().any(|c| self.capacity.may_hold(&c, 0, true)),
            // The core's kernel knows no vertices that only have out-arcs.
            Variant::Core => symmetric && self.properties.sms >= core(self.properties.sms, self.placed).columns,
        }
    }
    fn dealt(&self) -> impl Iterator<Item = TileChoice> {
        dealt(self.properties.sms, self.placed, self.facts.entries, self.facts.stats().max_degree)
    }
    /// The special form that is expected to be the fastest.
    fn preferred(&self) -> Variant {
        let (facts, stats) = (self.facts, self.facts.stats());
        let (entries, fits) = (facts.entries, |variant| self.fits(variant));
        if self.placed <= CLUSTER_NODES && entries < CLUSTER_ARCS {
            let thin = stats.max_degree <= MESH_LONGEST && stats.levels >= STRETCH_LEVELS * f64::from(CLUSTER_BLOCKS);
            if thin && entries >= BLOCK_ARCS && fits(Variant::Stretches) {
                return Variant::Stretches;
            }
            if entries < BLOCK_ARCS && fits(Variant::Block) {
                return Variant::Block;
            }
            if fits(Variant::Cluster) {
                return Variant::Cluster;
            }
        }
        let narrow = self.narrow_windows();
        if narrow && fits(Variant::Windows) {
            return Variant::Windows;
        }
        let mesh = stats.spreads_slowly && facts.nodes >= MESH_NODES && stats.max_degree <= MESH_LONGEST;
        if mesh && !narrow && fits(Variant::Levels) {
            return Variant::Levels;
        }
        if dealing_pays(self.placed, entries) && fits(Variant::Dealt) {
            return Variant::Dealt;
        }
        if core_pays(self.properties.sms, self.placed, entries, stats.skew) && fits(Variant::Core) {
            return Variant::Core;
        }
        Variant::General
    }
}

impl<T: Stored + Float> Kernels for Typed<PageRankConfig, T> {
    // Meshes are ordered from the end of a search.
    const MODULES: &'static [&'static str] = &["graph/pagerank", "graph/bfs", "ops/row_bins"];
}

impl<T: Stored + Float> Fused<Typed<PageRankConfig, T>> for Cuda {
    type Layout = RankLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<Typed<PageRankConfig, T>>()
    }
    fn variants(&self, graph: &GraphData, algorithm: &Typed<PageRankConfig, T>, _: u32) -> Vec<Candidate> {
        let facts = Facts::of(self, graph, graph.is_symmetric(), u32::MAX as usize - 1);
        let Some(facts) = facts.filter(|_| matches!(T::DTYPE, DType::F32 | DType::F64)) else { return vec![Candidate::definition(graph)] };
        // The special forms know the mass of every iteration beforehand.
        let known = algorithm.dangling == Dangling::Drop || facts.symmetric || facts.stats().empty_rows == 0;
        let mut offers = vec![Offer::general(Variant::General.name(), facts.build_seconds(1.5e-4, 2e10))];
        if T::DTYPE == DType::F32 && algorithm.personalization.is_none() && known {
            let look = Look::new(&facts);
            let preferred = look.preferred();
            for &variant in Variant::ALL.iter().filter(|&&v| v != Variant::General && look.fits(v)) {
                let (build, why) = match variant {
                    Variant::General => continue,
                    Variant::Block => (facts.build_seconds(3e-4, 2e9), "a small graph: one block"),
                    Variant::Cluster => (facts.build_seconds(3e-4, 2e9), "a small graph: one cluster"),
                    Variant::Stretches => (facts.build_seconds(8e-4, 2e9), "a small mesh: one cluster, ordered by levels"),
                    Variant::Windows => (facts.build_seconds(8e-4, 4e9), "entries near the diagonal: windows of the scores"),
                    Variant::Levels => (facts.build_seconds(2e-3, 2e9), "a mesh ordered by levels: windows of the scores"),
                    Variant::Dealt => (facts.build_seconds(1.5e-3, 4e9), "all scores in shared memory"),
                    Variant::Core => (facts.build_seconds(2e-3, 3e9), "the scores of the largest degrees in shared memory"),
                };
                offers.push(Offer::of(variant.name(), build, variant == preferred, SPECIAL_SHARE, why));
            }
        }
        candidates(offers, facts.general_seconds(f64::from(algorithm.passes().max(1)), 1.0))
    }
    fn layout(&self, graph: &Arranged<Self>, _: &Typed<PageRankConfig, T>, plan: &Plan) -> Result<Option<RankLayout>> {
        let Some(lists) = Lists::of(graph, true)? else { return Ok(None) };
        let patterns = (Pattern::of(lists.out), Pattern::of(lists.incoming.unwrap_or(lists.out)));
        let (Some(outgoing), Some(incoming)) = patterns else { return Ok(None) };
        RankLayout::build(self.device(), &outgoing, &incoming, Form::Variant(Variant::planned(plan))).map(Some)
    }
    fn run(&self, _: &Arranged<Self>, layout: &RankLayout, config: &Typed<PageRankConfig, T>) -> Result<PageRank<T>> {
        let found = match T::DTYPE {
            DType::F32 => same_type(layout.run::<f32>(self.device(), config)),
            DType::F64 => same_type(layout.run::<f64>(self.device(), config)),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let what = format!("scores of type {}", T::DTYPE);
            Err(Base::Unsupported { operation: "fused PageRank", what, available: "f32, f64" }.into())
        })
    }
    fn layout_bytes(&self, layout: &RankLayout) -> u64 {
        layout.bytes()
    }
}
