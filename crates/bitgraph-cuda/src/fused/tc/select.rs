//! Which variant counts triangles.
//!
//! Invariant: the thresholds of the choice are all here; a layout only refines what was chosen, and says where it could not follow.

use super::{Options, TcLayout};
use crate::fused::Lists;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::skew::SKEWED;
use crate::{Cuda, Result};
use bitgraph_algorithms::{Tc, TcConfig};
use bitgraph_backend::{Arranged, Candidate, Fused, GraphData, Plan};

variants! {
    /// How triangles are counted. Lists keep every edge once, at its end of smaller degree.
    Variant {
        /// For any graph: a warp intersects the lists of one edge at a time.
        General = "general",
        /// A thread to a vertex; lists of at most 8 entries.
        Thread = "thread",
        /// A warp to a vertex, its list in a hash table; lists of at most 2048 entries.
        Warp = "warp",
        /// Degree order, the adjacency of the hubs as bits.
        Hubs = "hubs",
    }
}

/// Lists up to which a thread is enough for a vertex, and where vertices are so many that threads alone fill the device.
const THREAD_LIST: f64 = 4.0;
const THREAD_LIST_MANY: f64 = 8.0;
const THREAD_ROWS: usize = 1 << 17;
/// Lists above which hubs pay.
const SHORT_LIST: f64 = 64.0;
/// Lists up to which a thread or a warp is offered: the longest may be shorter than what counts tell.
const THREAD_OFFERED: f64 = 64.0;
const WARP_OFFERED: f64 = 8192.0;
/// Of the general form's time.
const SHORT_SHARE: f64 = 0.5;
const HUBS_SHARE: f64 = 0.3;
/// Grid strides are added to row numbers.
const MOST_NODES: usize = 1 << 31;

/// The longest list, as counts tell: no list is longer than the square root of all entries, and where degrees are even, none is much
/// longer than the mean degree.
fn longest_list(facts: &Facts<'_>) -> f64 {
    let (stats, root) = (facts.stats(), (facts.entries as f64).sqrt());
    if facts.skew() >= SKEWED { f64::from(stats.max_degree).min(root) } else { stats.mean_degree.min(root) }
}

fn preferred(facts: &Facts<'_>) -> Variant {
    let list = longest_list(facts);
    if list <= THREAD_LIST || (list <= THREAD_LIST_MANY && facts.nodes > THREAD_ROWS) {
        Variant::Thread
    } else if list <= SHORT_LIST {
        Variant::Warp
    } else {
        Variant::Hubs
    }
}

impl Kernels for TcConfig {
    const MODULES: &'static [&'static str] = &["graph/tc"];
}

impl Fused<TcConfig> for Cuda {
    type Layout = TcLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<TcConfig>()
    }
    fn variants(&self, graph: &GraphData, _: &TcConfig, _: u32) -> Vec<Candidate> {
        let Some(facts) = Facts::of(self, graph, graph.is_symmetric(), MOST_NODES).filter(|f| f.symmetric) else {
            return vec![Candidate::definition(graph)];
        };
        let (preferred, list) = (preferred(&facts), longest_list(&facts));
        let oriented = facts.build_seconds(1e-4, 8e9);
        let mut offers = vec![Offer::general(Variant::General.name(), oriented)];
        let mut offer = |fits: bool, variant: Variant, build, share, why| {
            if fits {
                offers.push(Offer::of(variant.name(), build, variant == preferred, share, why));
            }
        };
        offer(list <= THREAD_OFFERED, Variant::Thread, oriented, SHORT_SHARE, "lists that a thread holds in registers");
        offer(list <= WARP_OFFERED, Variant::Warp, oriented, SHORT_SHARE, "lists that fit in a warp's hash table");
        offer(true, Variant::Hubs, facts.build_seconds(4e-4, 2e9), HUBS_SHARE, "long lists: degree order, and hubs as bits");
        candidates(offers, facts.general_seconds(list.max(1.0), 0.0))
    }
    fn layout(&self, graph: &Arranged<Self>, _: &TcConfig, plan: &Plan) -> Result<Option<TcLayout>> {
        let Some(lists) = Lists::of(graph, false)? else { return Ok(None) };
        TcLayout::build(self.device(), lists.out, Variant::planned(plan), Options::default())
    }
    fn run(&self, _: &Arranged<Self>, layout: &TcLayout, config: &TcConfig) -> Result<Tc> {
        layout.run(self.device(), config)
    }
    fn layout_bytes(&self, layout: &TcLayout) -> u64 {
        layout.bytes()
    }
}
