//! Which variant of breadth-first search runs: the one place that chooses.

use super::search::LOW_DEGREE;
use super::{BfsLayout, BfsOptions, supports};
use crate::Cpu;
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, hubs, in_orders, mesh_like, on_threads, scattered};
use bitgraph_algorithms::{Bfs, BfsConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats};
use bitgraph_sparse::Csr;
use bitgraph_sparse::ordering::Ordering;
use std::ops::Range;

/// The ways to search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Over CSR alone, in both directions.
    General,
    /// The same, where every vertex knows its neighbour of maximum degree, which bottom-up steps look at first.
    MaxDegree,
    /// Threads do not wait for each other at the end of a level.
    AtWill,
}

impl Way {
    const ALL: [Self; 3] = [Self::General, Self::MaxDegree, Self::AtWill];
    /// The name in plans.
    const fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::MaxDegree => "max-degree",
            Self::AtWill => "at-will",
        }
    }
}

/// Fewer vertices than this are searched before a neighbour of maximum degree could help.
const MAX_DEGREE_NODES: usize = 1 << 14;

/// Arcs out of a level of a mesh, in the mean, from which on levels are shared. On 16 cores stencils of 27 points took 0.6 times as long with four
/// threads as with one from 14 thousand on, by the planner's estimate, and 0.4 times with sixteen from 50 thousand on; two triangulations of 65 thousand
/// vertices, of 3.6 and 5.4 thousand, took 0.7 to 0.8 times as long in one measurement, and one of them 1.0 to 2.0 times in two others; a geometric
/// graph of 4 thousand took 1.3 times. On two cores seven stencils of 36 thousand to 800 thousand vertices took 0.4 to 0.6 times as long with two
/// threads as with one in their own order, and an electrophoresis matrix 0.5 to 0.7 times.
const SHARED_LEVEL: f64 = 8000.0;

/// Mean degree of a mesh up to which one thread goes over a vertex in less time than several take to tell each other of it, as long as the next
/// ones are near. On 16 cores a grid of a million vertices took 6.7 ms with one thread, 20.8 with two, 15.9 with four; one of four million
/// 58, 89, 64, 48 with eight and 38 with sixteen.
const GRID_DEGREE: f64 = 4.5;
/// The same of one whose neighbours are far apart, which is renumbered so that they are near: of 4, with 260 thousand vertices, it took 1.5 times
/// as long with four threads as with one, as long with eight and 0.7 times with sixteen.
const GRID_DEGREE_RENUMBERED: f64 = 8.0;
/// Vertices of a level of such meshes, by the planner's estimate, from which levels are shared, and threads from which they are. On 16 cores a mesh
/// of tetrahedra (2100) took 0.7 times as long with sixteen threads as with one, grids of one, three and four million (1700 to 2900) 0.4 to 0.7
/// times; renumbered grids of 160 to 630 thousand vertices (570 to 1100) took 1.7 to 3 times as long.
const SHARED_LOW_LEVEL: f64 = 1500.0;
const LOW_DEGREE_THREADS: usize = 8;

/// Threads from which on levels of a graph a long way across are searched without waiting at their ends, and the vertices of a level, by the planner's
/// estimate, between which they are. On 16 cores, with eight and with sixteen threads, geometric graphs of 640 and 1180 took .65 and .7 to .45 times as
/// long so, road networks of 1060 and 1100 .65 and .6, grids of 1430 to 1470 .6 to .8 and .5 (one of 250 by 4000 1.7 and 1.2 times), stencils of
/// 670 to 1400 .6 to 1.1 and .55 to .75, a triangulation of 600 .7 and .9 times; grids and geometric graphs of 390 to 430 as long, and an electrophoresis
/// matrix of 2050, a ring with short cuts of 3000 1.2 to 2 times. With four threads all took .8 to 1.2 times.
const AT_WILL_THREADS: usize = 8;
const AT_WILL_LEVEL: Range<f64> = 500.0..1800.0;
/// What of a thread's time all of them take then, and what to share levels that narrow leaves of it.
const AT_WILL: f64 = 0.5;
const NARROW: f64 = 0.7;

/// Mean degree of a mesh below which many vertices have one neighbour or two.
const ROAD_DEGREE: f64 = 3.5;

/// Vertices below which a search may be over before all threads are awake, however many arcs there are: of 12 thousand with 3.7 million arcs
/// it took .10 ms with one thread and .18 with two.
const FEW_NODES: usize = 1 << 14;

/// Arcs from which a search is long enough to wake all threads at once, which takes as long as some narrow levels do: graphs of so many take .1 to
/// 1 ms. On 16 cores five graphs of 131 to 262 thousand took .5 to .8 times as long with sixteen threads as if they were woken one by one.
const LONG_SEARCH: usize = 1 << 17;

/// How a graph with the arcs `out` is laid out and searched.
pub(crate) fn options(out: &Csr, way: Way) -> BfsOptions {
    let growing = out.nnz() < LONG_SEARCH || out.nrows() < FEW_NODES;
    BfsOptions { max_degree: way == Way::MaxDegree, growing, at_will: way == Way::AtWill }
}

/// Whether levels are many and narrow, and threads enough to search several at once.
fn at_will(s: &Stats) -> bool {
    let threads = crate::threads::allowed().min(crate::threads::available());
    s.spreads_slowly && AT_WILL_LEVEL.contains(&(s.nodes as f64 / s.levels)) && threads >= AT_WILL_THREADS
}

/// The most threads that levels are shared among. Those of any graph a long way across are as narrow as a mesh's.
fn threads(s: &Stats) -> usize {
    if !s.spreads_slowly {
        return usize::MAX;
    }
    let low = if scattered(s) { s.mean_degree < GRID_DEGREE_RENUMBERED && mesh_like(s) } else { s.mean_degree < GRID_DEGREE };
    let (wide, threads) = match low {
        true => (s.nodes as f64 / s.levels >= SHARED_LOW_LEVEL, LOW_DEGREE_THREADS),
        false => (s.entries as f64 / s.levels >= SHARED_LEVEL, 2),
    };
    if wide && crate::threads::available() >= threads { usize::MAX } else { 1 }
}

/// Nanoseconds of a search without hubs, on CSR alone.
fn general(s: &Stats, ordering: Ordering, far: bool) -> (f64, &'static str) {
    let (entries, nodes) = (s.entries as f64, s.nodes as f64);
    // A low diameter: few arcs are looked at. A mesh is walked whole, a vertex a cache line: where neighbours are near, what lies beside a vertex is
    // there in time, and in the order of Cuthill-McKee a frontier is one run of vertices. Long rows are looked at sixteen entries at a time; of roads,
    // with many dead ends, that order makes no runs. From ten meshes and road networks of 200 thousand to two million vertices.
    let [line, near, apart] = match s.mean_degree {
        d if d < ROAD_DEGREE => [4.6, 3.8, 6.5],
        d if d < LOW_DEGREE as f64 => [1.9, 2.6, 6.5],
        // Levels that are shared are spread over bitmaps, for which no order is better than that of a stencil.
        _ if threads(s) > 1 && crate::threads::allowed() > 1 => [1.6, 1.6, 1.9],
        _ => [1.3, 1.6, 1.9],
    };
    match () {
        () if hubs(s) => (0.2 * entries + 2.0 * nodes, "CSR"),
        () if mesh_like(s) && ordering == Ordering::Rcm => (line * entries, "CSR, frontiers in line"),
        () if mesh_like(s) => (if far { apart } else { near } * entries, "CSR"),
        () => (0.6 * entries + 2.0 * nodes, "CSR"),
    }
}

/// The variants of a search on this graph, under these names.
pub(crate) fn variants(graph: &GraphData, name: impl Fn(Way) -> &'static str) -> Vec<Candidate> {
    let (s, allowed) = (graph.stats(), crate::threads::allowed() as f64);
    let (narrow, shared) = (at_will(s), threads(s));
    // Costs are of work that all threads share evenly.
    let slower = if narrow && shared > 1 { NARROW * allowed } else { 1.0 };
    let mut all = in_orders(graph, name(Way::General), |ordering, far| {
        let (run, why) = general(s, ordering, far);
        Some(Cost { build: 0.0, run: slower * run, why })
    });
    all.extend(in_orders(graph, name(Way::MaxDegree), |ordering, far| {
        let gain = if hubs(s) && s.nodes >= MAX_DEGREE_NODES { 0.5 } else { 1.0 };
        let run = slower * gain * general(s, ordering, far).0;
        Some(Cost { build: 1.5 * s.entries as f64, run, why: "neighbours of maximum degree first" })
    }));
    let mut all = on_threads(shared, all);
    let part = if narrow { AT_WILL } else { 2.0 };
    all.extend(in_orders(graph, name(Way::AtWill), |ordering, far| {
        Some(Cost { build: 0.0, run: part * allowed * general(s, ordering, far).0, why: "no waiting between levels" })
    }));
    all
}

impl Fused<BfsConfig> for Cpu {
    type Layout = BfsLayout;

    fn variants(&self, graph: &GraphData, _: &BfsConfig, _: u32) -> Vec<Candidate> {
        if self.is_reference() { vec![Candidate::definition(graph)] } else { variants(graph, Way::name) }
    }
    fn layout(&self, graph: &Arranged<Self>, _: &BfsConfig, plan: &Plan) -> Result<Option<BfsLayout>, Error> {
        let Some((out, incoming)) = lists(graph)?.filter(|(out, _)| supports(out)) else { return Ok(None) };
        let way = Way::ALL.into_iter().find(|way| way.name() == plan.variant()).unwrap_or(Way::General);
        let options = options(out, way);
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
