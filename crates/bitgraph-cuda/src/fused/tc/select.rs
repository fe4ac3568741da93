//! Which variant counts triangles.
//!
//! Invariant: the thresholds of the choice are all here; a layout only refines what was chosen, and says where it could not follow.

use super::{Options, TcLayout};
use crate::fused::Lists;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
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

/// Mean degree up to which a thread is tried for a vertex, and vertices that give every multiprocessor enough threads. Where a list is
/// longer than a thread holds, the layout falls back to a warp. On an H200 2.4 times as fast on delaunay_n16 and ct2010, 0.67 on urand:5000:3.
const THREAD_DEGREE: f64 = 8.0;
const THREAD_ROWS: usize = 1 << 14;
/// Lists up to which a warp beats hubs, and those where degrees are even: on an H200 the warp is 3 times as fast on skew:20000:100000 and
/// twice on skew:200000:2000000, with lists of 55 and 178; 0.8 times on kron:12, with lists of 131 and a skew of 6.6.
const WARP_LIST: f64 = 64.0;
const WARP_LIST_EVEN: f64 = 192.0;
const EVEN: f64 = 2.5;
/// Lists up to which a thread or a warp is offered: the longest may be shorter than what counts tell.
const THREAD_OFFERED: f64 = 64.0;
const WARP_OFFERED: f64 = 8192.0;
/// Of the general form's time.
const SHORT_SHARE: f64 = 0.5;
const HUBS_SHARE: f64 = 0.3;
/// Grid strides are added to row numbers.
const MOST_NODES: usize = 1 << 31;

/// The longest list, as counts tell: a list of an ordering by degree holds vertices of no smaller degree alone.
fn longest_list(facts: &Facts<'_>) -> f64 {
    f64::from(facts.stats().h_index())
}

fn preferred(facts: &Facts<'_>) -> Variant {
    let (stats, list) = (facts.stats(), longest_list(facts));
    if stats.mean_degree <= THREAD_DEGREE && facts.nodes >= THREAD_ROWS && list <= THREAD_OFFERED {
        Variant::Thread
    } else if list <= WARP_LIST || (list <= WARP_LIST_EVEN && stats.skew <= EVEN) {
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
