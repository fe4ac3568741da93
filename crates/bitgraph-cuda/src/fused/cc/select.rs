//! Which variant finds the components.
//!
//! Invariant: the thresholds of the choice are all here; a layout only refines what was chosen, and says where it could not follow.

use super::ascent::Ascent;
use super::{CcLayout, HOOK_SHARED, Options, Probe};
use crate::device::Device;
use crate::fused::Lists;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::skew::HUBS;
use crate::{Cuda, Result};
use bitgraph_algorithms::{Cc, CcConfig};
use bitgraph_backend::{Arranged, Candidate, Fused, GraphData, Plan};
use bitgraph_sparse::Csr;

variants! {
    /// How components are found.
    Variant {
        /// For any graph: neighbours united by compare-and-swap.
        General = "general",
        /// Hooking, the trees of each block's range in its shared memory. Symmetric graphs.
        Shared = "shared",
        /// The same, some neighbours of every vertex beside each other.
        SharedNear = "shared-near",
        /// Hooking with the ranges in device memory. Symmetric graphs.
        Memory = "memory",
        /// The same, some neighbours of every vertex beside each other.
        MemoryNear = "memory-near",
        /// One block, all vertices in its shared memory. Symmetric graphs.
        Block = "block",
        /// Pointer jumping along neighbours of maximum degree. Symmetric graphs of at most about 10^8 vertices.
        Ascent = "ascent",
    }
}

impl Variant {
    /// Whether it hooks trees onto each other, ranges of vertices block by block.
    pub(super) fn hooks(self) -> bool {
        matches!(self, Self::Shared | Self::SharedNear | Self::Memory | Self::MemoryNear)
    }
    /// Whether its ranges are in device memory.
    pub(super) fn in_memory(self) -> bool {
        matches!(self, Self::Memory | Self::MemoryNear)
    }
    /// Whether some neighbours of every vertex are beside each other.
    pub(super) fn looks_near(self) -> bool {
        matches!(self, Self::SharedNear | Self::MemoryNear)
    }
}

/// One block beats the grid's barriers up to here.
const BLOCK_ENTRIES: usize = 1 << 16;
const BLOCK_VERTICES: usize = 24_000;
/// Mean degree of the vertices with neighbours below which hooking loses to the general form where most entries are far: most vertices end
/// up outside the largest component until late.
const SPARSE_DEGREE: f64 = 2.2;
const SCATTERED: f64 = 0.5;
/// Vertices whose way along neighbours of maximum degree is followed, steps of it, and neighbours that are looked at in one.
const FOLLOWED: usize = 512;
const FOLLOWED_STEPS: usize = 16;
const FOLLOWED_ENTRIES: usize = 4096;
/// At most one of so many may end elsewhere than at the vertex of maximum degree.
const ELSEWHERE: usize = 16;
/// The middle neighbour of a row is tried second where it is a lower one nearby for this share of vertices, and for so many times those
/// whose first neighbour is.
const MIDDLE_SHARE: f64 = 0.25;
const MIDDLE_RATIO: f64 = 2.0;
/// Of the general form's time.
const BLOCK_SHARE: f64 = 0.3;
const HOOK_SHARE: f64 = 0.5;
const NEAR_SHARE: f64 = 0.45;
const ASCENT_SHARE: f64 = 0.3;
/// Parents are 32-bit numbers that grid strides are added to.
const MOST_NODES: usize = 1 << 31;

/// Vertices of a block's range.
pub(super) fn range(device: &Device, nodes: usize) -> usize {
    nodes.div_ceil(device.properties().sms.max(1) as usize).next_multiple_of(32)
}

/// Whether a variant can run a graph.
pub(super) fn fits(device: &Device, nodes: usize, symmetric: bool, variant: Variant) -> bool {
    let shared = device.properties().shared_per_block as usize;
    let special = symmetric && nodes > 0 && nodes < MOST_NODES;
    match variant {
        Variant::General => true,
        Variant::Shared | Variant::SharedNear => special && HOOK_SHARED as usize + 4 * range(device, nodes) <= shared,
        Variant::Memory | Variant::MemoryNear => special,
        Variant::Block => special && 4 * nodes <= shared && nodes <= 1 << 16,
        Variant::Ascent => special && Ascent::fits(device, nodes),
    }
}

/// Whether hooking tries the middle neighbour of a row second.
pub(super) fn middle(probe: &Probe) -> bool {
    probe.middle > MIDDLE_RATIO * probe.first && probe.middle > MIDDLE_SHARE
}

/// Whether nearly all of a sample of vertices come to the vertex of maximum degree along neighbours of maximum degree.
fn reaches_the_top(csr: &Csr) -> bool {
    let n = csr.nrows();
    let Some(top) = (0..n).max_by_key(|&v| csr.degree(v)) else { return false };
    let above = |v: usize| {
        if csr.position(v, top as u32).is_some() {
            return Some(top);
        }
        let row = csr.row(v);
        let looked_at = row.iter().step_by(row.len().div_ceil(FOLLOWED_ENTRIES).max(1)).map(|&u| u as usize);
        looked_at.max_by_key(|&u| csr.degree(u)).filter(|&u| csr.degree(u) > csr.degree(v))
    };
    let (mut followed, mut reached) = (0, 0);
    for start in (0..n).step_by((n / FOLLOWED).max(1)).filter(|&v| csr.degree(v) > 0) {
        let way = std::iter::successors(Some(start), |&v| if v == top { None } else { above(v) });
        followed += 1;
        reached += usize::from(way.take(FOLLOWED_STEPS).any(|v| v == top));
    }
    followed > 0 && (followed - reached) * ELSEWHERE <= followed
}

/// The variants that are expected to be the fastest: one that takes building, and one that does not.
fn preferred(facts: &Facts<'_>) -> [Variant; 2] {
    let (device, nodes, stats) = (facts.device, facts.nodes, facts.stats());
    let fits = |variant| fits(device, nodes, facts.symmetric, variant);
    if !facts.symmetric || nodes == 0 {
        return [Variant::General; 2];
    }
    if fits(Variant::Block) && nodes <= BLOCK_VERTICES && facts.entries <= BLOCK_ENTRIES {
        return [Variant::Block; 2];
    }
    let degree = facts.entries as f64 / (nodes - stats.empty_rows).max(1) as f64;
    let hooking = if degree < SPARSE_DEGREE && stats.far > SCATTERED {
        [Variant::General; 2]
    } else if fits(Variant::Shared) {
        [Variant::SharedNear, Variant::Shared]
    } else {
        [Variant::MemoryNear, Variant::Memory]
    };
    let hubs = facts.skew() >= HUBS && fits(Variant::Ascent) && reaches_the_top(facts.graph.csr());
    if hubs { [Variant::Ascent, hooking[1]] } else { hooking }
}

impl Kernels for CcConfig {
    const MODULES: &'static [&'static str] = &["graph/cc"];
}

impl Fused<CcConfig> for Cuda {
    type Layout = CcLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<CcConfig>()
    }
    fn variants(&self, graph: &GraphData, _: &CcConfig, _: u32) -> Vec<Candidate> {
        let Some(facts) = Facts::of(self, graph, graph.is_symmetric(), MOST_NODES) else { return vec![Candidate::definition(graph)] };
        let preferred = preferred(&facts);
        let offer = |&variant: &Variant| {
            let (build, share, why) = match variant {
                Variant::General => return Offer::general(variant.name(), 0.0),
                Variant::Shared => (2e-5, HOOK_SHARE, "hooking in shared memory"),
                Variant::SharedNear => (facts.build_seconds(5e-5, 5e10), NEAR_SHARE, "hooking in shared memory, some neighbours near"),
                Variant::Memory => (2e-5, HOOK_SHARE, "hooking in ranges of device memory"),
                Variant::MemoryNear => (facts.build_seconds(5e-5, 5e10), NEAR_SHARE, "hooking in ranges, some neighbours near"),
                Variant::Block => (facts.build_seconds(4e-5, 2e10), BLOCK_SHARE, "a small graph: one block"),
                Variant::Ascent => (facts.build_seconds(2e-4, 1e10), ASCENT_SHARE, "hubs that reach nearly all vertices"),
            };
            Offer::of(variant.name(), build, preferred.contains(&variant), share, why)
        };
        let fitting = Variant::ALL.iter().filter(|&&v| fits(facts.device, facts.nodes, facts.symmetric, v));
        candidates(fitting.map(offer), facts.general_seconds(1.0, 8.0))
    }
    fn layout(&self, graph: &Arranged<Self>, _: &CcConfig, plan: &Plan) -> Result<Option<CcLayout>> {
        let Some(lists) = Lists::of(graph, true)? else { return Ok(None) };
        CcLayout::build(self.device(), lists.out, lists.incoming, Variant::planned(plan), Options::default())
    }
    fn run(&self, graph: &Arranged<Self>, layout: &CcLayout, config: &CcConfig) -> Result<Cc> {
        let lists = Lists::built(graph, true)?;
        layout.run(self.device(), lists.out, lists.incoming, config)
    }
    fn layout_bytes(&self, layout: &CcLayout) -> u64 {
        layout.bytes()
    }
}
