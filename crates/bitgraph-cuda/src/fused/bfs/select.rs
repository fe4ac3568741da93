//! Which variant searches a graph.
//!
//! Invariant: the thresholds of the choice are all here; a layout only refines what was chosen, and says where it could not follow.

use super::block::BlockLayout;
use super::queue::QueueLayout;
use super::slices::SlicesPlan;
use super::{BfsLayout, BfsOptions, BlockOptions, SlicesOptions};
use crate::fused::Lists;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::{Cuda, Result};
use bitgraph_algorithms::{Bfs, BfsConfig};
use bitgraph_backend::{Arranged, Candidate, Fused, GraphData, Plan};

variants! {
    /// How a graph is searched.
    Variant {
        /// The whole device, level by level, in either direction.
        General = "general",
        /// The same, bottom-up steps looking at the in-neighbour of maximum degree first.
        First = "max-degree-first",
        /// Diagonal slices in shared memory, in the order at hand or in one by levels.
        Slices = "slices",
        /// One block or one cluster, all arcs in registers.
        Block = "block",
        /// One warp with a queue in shared memory.
        Queue = "queue",
    }
}

/// Fewest vertices for slices.
const SLICES_NODES: usize = 64;
/// Slices are in a numbering by levels where the order at hand does not suit them: from so many vertices and levels on, with at most so
/// many arcs a vertex, and so many in the mean.
const RENUMBERED_NODES: usize = 256;
pub(super) const RENUMBERED_LEVELS: u32 = 32;
const RENUMBERED_DEGREE: u32 = 64;
const RENUMBERED_MEAN: usize = 16;
/// Diagonals of a word of 32 vertices in a numbering by levels, for each arc of a vertex: in the mean, and at most.
const RENUMBERED_DIAGONALS: f64 = 2.0;
const RENUMBERED_MOST: f64 = 4.0;
/// Ends of an arc in a numbering by levels are in the same or in neighbouring levels.
const RENUMBERED_SPAN: f64 = 2.0;
/// Clock cycles of a level of the queue, and of the vertices that its warp looks at in one go.
const QUEUE_LEVEL: f64 = 60.0;
const QUEUE_BATCH: f64 = 220.0;
const QUEUE_VERTICES: f64 = 64.0;

/// Of the general form's time: with the neighbours of maximum degree known, and of the forms without a barrier of the grid.
const FIRST_SHARE: f64 = 0.8;
const SPECIAL_SHARE: f64 = 0.3;

/// The slices of the order at hand, if they can be.
fn slices(facts: &Facts<'_>) -> Option<SlicesPlan> {
    let (words, options) = (facts.nodes.div_ceil(32), SlicesOptions::default());
    let plan = |bandwidth, mean, most| SlicesPlan::new(facts.device, words, bandwidth, mean, most, &options);
    // What the sample says about far entries is cheaper than the bandwidth.
    let smallest = if facts.stats().far > 0.0 { facts.nodes / 50 } else { 0 };
    if facts.nodes < SLICES_NODES || facts.entries == 0 || plan(smallest as u32, 4.0, 4).is_none() {
        return None;
    }
    let diagonals = facts.stats().diagonals();
    plan(facts.stats().bandwidth(), diagonals.per_slice, diagonals.most as u32)
}

/// The slices of a numbering by levels, estimated, if the graph may have one that suits them.
fn renumbered(facts: &Facts<'_>) -> Option<SlicesPlan> {
    let (stats, nodes) = (facts.stats(), facts.nodes);
    let suits = facts.symmetric
        && nodes >= RENUMBERED_NODES
        && facts.entries <= RENUMBERED_MEAN * nodes
        && stats.max_degree <= RENUMBERED_DEGREE
        && stats.levels >= f64::from(RENUMBERED_LEVELS);
    let bandwidth = (RENUMBERED_SPAN * nodes as f64 / stats.levels) as u32;
    let (mean, most) = (RENUMBERED_DIAGONALS * stats.mean_degree, (RENUMBERED_MOST * stats.mean_degree) as u32);
    if suits { SlicesPlan::new(facts.device, nodes.div_ceil(32), bandwidth, mean, most, &SlicesOptions::default()) } else { None }
}

/// Clock cycles of a level of a special form, by models of their cost; none if the form does not suit the graph.
fn cycles(facts: &Facts<'_>, variant: Variant) -> Option<f64> {
    match variant {
        Variant::General | Variant::First => None,
        Variant::Slices => {
            let few = SlicesOptions::default().most_entries;
            slices(facts).filter(|p| p.entries <= few).or_else(|| renumbered(facts)).map(|p| p.cycles)
        }
        Variant::Block => {
            BlockLayout::plan(facts.device, facts.nodes, facts.entries, &BlockOptions::default()).map(|(_, _, cycles)| cycles)
        }
        Variant::Queue => {
            let width = facts.nodes as f64 / facts.stats().levels;
            let fits = QueueLayout::fits(facts.device, facts.nodes, facts.stats().max_degree);
            fits.then(|| QUEUE_LEVEL + QUEUE_BATCH * (width / QUEUE_VERTICES).ceil())
        }
    }
}

/// The special form that is expected to be the fastest, if any suits the graph.
pub(crate) fn preferred(facts: &Facts<'_>) -> Option<Variant> {
    let costs = [Variant::Slices, Variant::Block, Variant::Queue].into_iter().filter_map(|v| Some((v, cycles(facts, v)?)));
    costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(v, _)| v)
}

/// The variants that can search a graph; `name` gives them the names of the algorithm that asks.
pub(crate) fn offers(facts: &Facts<'_>, name: fn(Variant) -> &'static str) -> (Vec<Offer>, f64) {
    let preferred = preferred(facts);
    let mut offers = vec![Offer::general(name(Variant::General), 0.0)];
    let first = facts.build_seconds(1e-4, 2e10);
    offers.push(Offer::of(name(Variant::First), first, true, FIRST_SHARE, "bottom-up steps begin at neighbours of maximum degree"));
    let mut offer = |variant, build, why| {
        offers.push(Offer::of(name(variant), first + build, preferred == Some(variant), SPECIAL_SHARE, why));
    };
    if facts.nodes > 0 && (slices(facts).is_some() || renumbered(facts).is_some()) {
        offer(Variant::Slices, facts.build_seconds(2e-4, 1e10), "arcs on few diagonals, in shared memory");
    }
    if cycles(facts, Variant::Block).is_some() {
        offer(Variant::Block, 5e-5, "all arcs in the registers of one block or cluster");
    }
    if cycles(facts, Variant::Queue).is_some() {
        offer(Variant::Queue, 5e-5, "short rows and narrow levels, one warp");
    }
    (offers, facts.general_seconds(1.0, facts.stats().levels))
}

/// Vertices are 32-bit numbers, and one more.
pub(crate) const MOST_NODES: usize = u32::MAX as usize - 1;

impl Kernels for BfsConfig {
    const MODULES: &'static [&'static str] = &["graph/bfs"];
}

impl Fused<BfsConfig> for Cuda {
    type Layout = BfsLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<BfsConfig>()
    }
    fn variants(&self, graph: &GraphData, _: &BfsConfig, _: u32) -> Vec<Candidate> {
        let Some(facts) = Facts::of(self, graph, graph.is_symmetric(), MOST_NODES) else { return vec![Candidate::definition(graph)] };
        let (offers, general) = offers(&facts, Variant::name);
        candidates(offers, general)
    }
    fn layout(&self, graph: &Arranged<Self>, _: &BfsConfig, plan: &Plan) -> Result<Option<BfsLayout>> {
        let Some(lists) = Lists::of(graph, true)? else { return Ok(None) };
        BfsLayout::build(self.device(), lists.out, lists.incoming, Variant::planned(plan), BfsOptions::default())
    }
    fn run(&self, graph: &Arranged<Self>, layout: &BfsLayout, config: &BfsConfig) -> Result<Bfs> {
        let lists = Lists::built(graph, true)?;
        layout.run(self.device(), lists.out, lists.incoming, config)
    }
    fn layout_bytes(&self, layout: &BfsLayout) -> u64 {
        layout.bytes()
    }
}
