//! Which variant of breadth-first search runs: the one place that chooses.

use super::{BfsLayout, BfsOptions, supports};
use crate::Cpu;
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, NEAR_CACHE, hubs, in_orders, mesh_like, on_threads, scattered};
use bitgraph_algorithms::{Bfs, BfsConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats};
use bitgraph_sparse::Csr;
use bitgraph_sparse::ordering::Ordering;

/// CSR alone, in both directions.
pub(crate) const GENERAL: &str = "general";
/// Every vertex knows its neighbour of maximum degree, which bottom-up steps look at first.
pub(crate) const MAX_DEGREE: &str = "max-degree";

/// Fewer vertices than this are searched before a neighbour of maximum degree could help.
const MAX_DEGREE_NODES: usize = 1 << 14;

/// Fewer vertices of a mesh than this are searched by one thread: on 16 cores a triangulation of 65 thousand took 1.31 ms with one thread, 1.38 to
/// 1.46 with two to eight and 2.06 with sixteen.
const SHARED_MESH: usize = 1 << 17;

/// Mean degree of a mesh below which its frontiers are narrow: a level is shared in less time than it takes only beyond the near caches, or
/// where neighbours are far apart. On 16 cores a grid of a million vertices took 6.7 ms with one thread, 20.8 with two, 15.9 with four; one of
/// four million 58, 89, 64, 48 with eight and 38 with sixteen.
const NARROW_MESH: f64 = 8.0;
/// Vertices of such a mesh from which its levels are shared.
const SHARED_NARROW_MESH: usize = 1 << 21;
/// Threads below which levels of a mesh are not shared: a stencil of 27 points took 8.2 ms with one, 9.1 with two and 5.4 with four.
const MESH_THREADS: usize = 4;
/// The same of a narrow one.
const NARROW_MESH_THREADS: usize = 8;

/// Vertices below which a search may be over before all threads are awake, however many arcs there are: of 12 thousand with 3.7 million arcs
/// it took .10 ms with one thread and .18 with two.
const FEW_NODES: usize = 1 << 14;

/// Arcs from which a search is long enough to wake all threads at once, which takes as long as some narrow levels do: real graphs of so many
/// take .3 to 1 ms.
const LONG_SEARCH: usize = 1 << 18;

/// How a graph with the arcs `out` is laid out and searched.
pub(crate) fn options(out: &Csr, max_degree: bool) -> BfsOptions {
    BfsOptions { max_degree, growing: out.nnz() < LONG_SEARCH || out.nrows() < FEW_NODES }
}

/// The most threads that levels are shared among. Those of any graph a long way across are as narrow as a mesh's.
fn threads(s: &Stats) -> usize {
    if !s.spreads_slowly {
        return usize::MAX;
    }
    let narrow = s.mean_degree < NARROW_MESH && !scattered(s);
    let (nodes, threads) = if narrow { (SHARED_NARROW_MESH, NARROW_MESH_THREADS) } else { (SHARED_MESH, MESH_THREADS) };
    if s.nodes < nodes || crate::threads::available() < threads { 1 } else { usize::MAX }
}

/// Nanoseconds of a search without hubs, on CSR alone.
fn general(s: &Stats, ordering: Ordering) -> (f64, &'static str) {
    let (entries, nodes) = (s.entries as f64, s.nodes as f64);
    // A low diameter: few arcs are looked at. A mesh is walked whole: a frontier of a mesh is one run of vertices in the order of
    // Cuthill-McKee, and a vertex a cache line in any other.
    match () {
        () if hubs(s) => (0.2 * entries + 2.0 * nodes, "CSR"),
        () if mesh_like(s) && ordering == Ordering::Rcm => (2.6 * entries, "CSR, frontiers in line"),
        () if mesh_like(s) => (if s.nodes > NEAR_CACHE { 6.5 } else { 2.6 } * entries, "CSR"),
        () => (0.6 * entries + 2.0 * nodes, "CSR"),
    }
}

/// The variants of a search on this graph, under these names.
pub(crate) fn variants(graph: &GraphData, names: [&'static str; 2]) -> Vec<Candidate> {
    let s = graph.stats();
    let mut all = in_orders(graph, names[0], |ordering, _| {
        let (run, why) = general(s, ordering);
        Some(Cost { build: 0.0, run, why })
    });
    all.extend(in_orders(graph, names[1], |ordering, _| {
        let gain = if hubs(s) && s.nodes >= MAX_DEGREE_NODES { 0.5 } else { 1.0 };
        Some(Cost { build: 1.5 * s.entries as f64, run: gain * general(s, ordering).0, why: "neighbours of maximum degree first" })
    }));
    on_threads(threads(s), all)
}

impl Fused<BfsConfig> for Cpu {
    type Layout = BfsLayout;

    fn variants(&self, graph: &GraphData, _: &BfsConfig, _: u32) -> Vec<Candidate> {
        if self.is_reference() { vec![Candidate::definition(graph)] } else { variants(graph, [GENERAL, MAX_DEGREE]) }
    }
    fn layout(&self, graph: &Arranged<Self>, _: &BfsConfig, plan: &Plan) -> Result<Option<BfsLayout>, Error> {
        let Some((out, incoming)) = lists(graph)?.filter(|(out, _)| supports(out)) else { return Ok(None) };
        let options = options(out, plan.variant() == MAX_DEGREE);
        Ok(Some(BfsLayout::build_with(out, incoming.unwrap_or(out), options)))
    }
    fn run(&self, graph: &Arranged<Self>, layout: &BfsLayout, algorithm: &BfsConfig) -> Result<Bfs, Error> {
        let (out, incoming) = built_lists(graph, "bfs")?;
        layout.run(out, incoming.unwrap_or(out), algorithm)
    }
    fn layout_bytes(&self, layout: &BfsLayout) -> u64 {
        layout.bytes()
    }
}
