//! What the CPU knows about its own speed: what every `select.rs` reckons with.
//!
//! Rates are nanoseconds of one thread, set by hand from runs on one Zen 4 over Kronecker and uniform graphs of scale 18, a grid in
//! order and shuffled, and a Mycielski graph; no other graph was held out to test them. They are meant to be right about large
//! differences: whether a renumbering turns gathers all over memory into neighbouring ones, and whether building pays.

use crate::threads;
use bitgraph_backend::{Candidate, GraphData, Stats};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;

/// Fewer vertices than this are in the near caches whatever their order.
pub(crate) const NEAR_CACHE: usize = 65_536;
/// A share of far neighbours above which gathers go all over memory.
const SCATTERED: f64 = 0.25;
/// Rows of a mesh are no longer than this, and than so many times the mean.
const MESH_DEGREE: u32 = 64;
const MESH_SPREAD: f64 = 8.0;
/// Mean squares of degrees above this many squares of their mean: there are hubs.
pub(crate) const HUBS: f64 = 4.0;

/// No hubs, few neighbours, a long diameter: a mesh or a road network, which has a numbering that keeps neighbours together.
pub(crate) fn mesh_like(s: &Stats) -> bool {
    s.spreads_slowly && s.max_degree <= MESH_DEGREE && f64::from(s.max_degree) <= MESH_SPREAD * s.mean_degree.max(1.0)
}

/// Whether neighbours may be anywhere in the order that the graph came in.
pub(crate) fn anywhere(s: &Stats) -> bool {
    s.far > SCATTERED
}

/// Whether gathers go all over memory in that order.
pub(crate) fn scattered(s: &Stats) -> bool {
    anywhere(s) && s.nodes > NEAR_CACHE
}

/// Whether there are hubs: degrees are skewed.
pub(crate) fn hubs(s: &Stats) -> bool {
    s.skew > HUBS
}

/// The factor of a gather.
pub(crate) fn gather(scattered: bool) -> f64 {
    if scattered { 6.0 } else { 1.0 }
}

/// What one variant takes in one order.
pub(crate) struct Cost {
    /// Nanoseconds to build it, the order not counted.
    pub build: f64,
    /// Nanoseconds of a run.
    pub run: f64,
    /// Why.
    pub why: &'static str,
}

/// Entries and vertices of one pass that keep a thread busy for longer than it takes to start it and to wait for it, about.
const THREAD_WORK: usize = 1 << 15;

/// The threads that one pass over all entries is worth sharing among.
pub(crate) fn threads_for_passes(s: &Stats) -> usize {
    (s.entries + s.nodes).div_ceil(THREAD_WORK)
}

/// Candidates that use at most so many threads; their times were predicted for all that they may use.
pub(crate) fn on_threads(threads: usize, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let allowed = threads::allowed();
    let limit = |c: Candidate| {
        let before = if c.threads == 0 { allowed } else { c.threads };
        let fewer = threads.clamp(1, before);
        if fewer == before { c } else { Candidate { threads: fewer, run_seconds: before as f64 / fewer as f64 * c.run_seconds, ..c } }
    };
    candidates.into_iter().map(limit).collect()
}

/// A variant on CSR in every order that `cost` knows something of: it is told the order, and whether neighbours are far apart in it.
pub(crate) fn in_orders(graph: &GraphData, variant: &'static str, cost: impl Fn(Ordering, bool) -> Option<Cost>) -> Vec<Candidate> {
    let s = graph.stats();
    let threads = threads::allowed() as f64;
    let (entries, nodes) = (s.entries as f64, s.nodes as f64);
    let weigh = |ordering: Ordering| {
        let scattered = !(ordering == Ordering::Rcm && mesh_like(s)) && scattered(s);
        let cost = cost(ordering, scattered)?;
        let order = match ordering {
            Ordering::None => 0.0,
            Ordering::Degree => 8.0 * entries + 5.0 * nodes,
            Ordering::Rcm if self::scattered(s) => 25.0 * entries + 60.0 * nodes,
            Ordering::Rcm => 16.0 * entries + 36.0 * nodes,
            Ordering::Community => 80.0 * entries + 200.0 * nodes,
            // Nothing was measured: it is not weighed.
            _ => return None,
        };
        // By degree spoils an order that is local already.
        let spoilt = if ordering == Ordering::Degree && !self::scattered(s) && mesh_like(s) { 3.0 } else { 1.0 };
        Some(Candidate {
            ordering,
            format: FormatKind::Csr,
            variant,
            build_seconds: 1e-9 * (order + cost.build / threads),
            run_seconds: 1e-9 * spoilt * cost.run / threads,
            threads: 0,
            why: format!("{}; {}", cost.why, if scattered { "neighbours far apart" } else { "neighbours near" }),
        })
    };
    Ordering::ALL.into_iter().filter_map(weigh).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_generate::{Control, Generator};

    fn stats(graph: &str) -> Stats {
        Stats::of(&graph.parse::<Generator>().unwrap().generate(&Control::default()).unwrap())
    }

    #[test]
    fn meshes_are_told_from_random_graphs() {
        for mesh in ["grid:200x300", "grid:200x300@1", "mesh:30x30x30@1"] {
            assert!(mesh_like(&stats(mesh)), "{mesh}");
        }
        for other in ["urand:16", "urand:16:2", "kron:14", "skew:20000:90000", "mycielskian:11", "grid:3x3"] {
            assert!(!mesh_like(&stats(other)), "{other}");
        }
        assert!(scattered(&stats("grid:300x300@1")) && !scattered(&stats("grid:300x300")));
        assert!(hubs(&stats("kron:14")) && !hubs(&stats("urand:14")));
    }
    #[test]
    fn the_lesser_of_two_limits_of_threads_holds() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(16).build().unwrap();
        let graph = "urand:9".parse::<Generator>().unwrap().generate(&Control::default()).unwrap();
        let graph = GraphData::new(bitgraph_b2sr::Layout::Csr(graph), None, bitgraph_backend::Symmetry::Symmetric, None).unwrap();
        pool.install(|| {
            let plain = Candidate { run_seconds: 1.0, ..Candidate::definition(&graph) };
            for limits in [[1, 13], [13, 1], [1, usize::MAX], [usize::MAX, 1]] {
                let limited = on_threads(limits[1], on_threads(limits[0], vec![plain.clone()])).remove(0);
                assert_eq!(limited.threads, 1, "{limits:?}");
                assert!((limited.run_seconds - 16.0).abs() < 1e-9, "{limits:?}: {}", limited.run_seconds);
            }
            assert_eq!(on_threads(usize::MAX, vec![plain.clone()])[0], plain);
        });
    }
}
