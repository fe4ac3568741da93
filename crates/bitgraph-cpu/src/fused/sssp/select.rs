//! Which variant of shortest paths runs: the one place that chooses.

use super::packed::{CREW, HEAD, Packed};
use super::{Distance, SsspLayout, SsspVariant, sorted};
use crate::Cpu;
use crate::fused::bfs::{self, select::Way};
use crate::fused::lists::lists;
use crate::rates::{Cost, gather, in_orders, on_threads};
use bitgraph_algorithms::{Sssp, SsspConfig, Typed};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats, same_type};
use bitgraph_semiring::DType;
use bitgraph_sparse::Stored;

impl SsspVariant {
    /// Every variant.
    pub const ALL: [Self; 8] = [
        Self::Steps,
        Self::StepsMaxDegree,
        Self::StepsAtWill,
        Self::Buckets,
        Self::SortedBuckets,
        Self::Packed,
        Self::PackedAtWill,
        Self::PackedRows,
    ];
    /// The way of a search without weights.
    pub(super) const fn way(self) -> Option<Way> {
        match self {
            Self::Steps => Some(Way::General),
            Self::StepsMaxDegree => Some(Way::MaxDegree),
            Self::StepsAtWill => Some(Way::AtWill),
            Self::Buckets | Self::SortedBuckets | Self::Packed | Self::PackedAtWill | Self::PackedRows => None,
        }
    }
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "bfs",
            Self::StepsMaxDegree => "bfs-max-degree",
            Self::StepsAtWill => "bfs-at-will",
            Self::Buckets => "buckets",
            Self::SortedBuckets => "sorted-buckets",
            Self::Packed => "packed",
            Self::PackedAtWill => "packed-at-will",
            Self::PackedRows => "packed-rows",
        }
    }
}

/// Entries per vertex of a directed graph below which packed rows, a cache line for every vertex, hold too little: on web pages (2.9) they took
/// 1.0 to 3 times as long as buckets over CSR, between peers (2.4) 1.0 to 1.1 times, and 0.25 to 1.2 times on three directed graphs above 9.
const PACKED_DEGREE: f64 = 4.0;

/// Arcs a vertex below which several threads search packed rows at will, and where degrees are alike: with sixteen, graphs of 3 to 6 took .3 to .8 of the
/// time of rounds, one of 10 with hubs 1.3 times, and others of 10 to 15 .6 to 1.05 times. Stencils of 26 took .6, whatever their degree.
pub(super) const FREE_DEGREE: f64 = 8.0;
const FREE_DEGREE_ALIKE: f64 = 12.0;
const ALIKE: f64 = 2.0;
/// Threads from which on several search graphs of few entries or a long way across in rounds, whose windows hold little: with four, such of 65 thousand
/// to a million vertices took 1.0 to 1.8 times as long as with one, and with sixteen .4 to .9 times; others .6 to .8 times with four.
const NARROW_CREW: usize = 8;
const NARROW_ENTRIES: usize = 1 << 21;
/// The same at will over rows of a fixed length where few levels lead across: with four, graphs of 33 and 262 thousand vertices took 1.3 and 1.05
/// times as long as with one, with six .85 and .75 times. Others took .4 to 1.0 times with four.
const FIXED_CREW: usize = 6;
/// Arcs of a level, by the planner's estimate, below which graphs a long way across are searched by one thread: on 16 cores four of 400 to 2300 arcs
/// took 1.0 to 2.2 times as long with eight to sixteen, three of 3600 to 4600 took 0.5 to 0.7 times.
const NARROW_LEVEL: f64 = 2800.0;
/// The same at will over rows of any length: a triangulation of 1800 arcs a level took .6 times as long with four threads, and .4 with sixteen.
const FREE_LEVEL: f64 = 1500.0;
/// Arcs of a level from which two threads share such a graph: six meshes of 24 to 89 thousand took 0.7 to 1.0 times as long as with one, five graphs
/// of 4 to 8 thousand 0.95 to 1.0 times.
const PAIR_LEVEL: f64 = 16_384.0;

/// Arcs a vertex from which rows of any weights are worth sorting, where graphs are a short way across: with one, two and sixteen threads graphs of 28 to
/// 1000 took .15 to 1.05 times as long over sorted rows as over CSR, and others of 10 to 20 1.05 to 1.6 times.
pub(super) const SORTED_DEGREE: f64 = 24.0;

/// Whether several threads search packed rows at will.
fn free(s: &Stats) -> bool {
    let most = if s.skew < ALIKE { FREE_DEGREE_ALIKE } else { FREE_DEGREE };
    s.spreads_slowly || s.mean_degree < most
}

/// The threads that packed arcs are searched by: a crew, two that own the vertices in turns, or one.
fn threads(s: &Stats) -> usize {
    let allowed = crate::threads::allowed();
    let narrow = s.spreads_slowly || s.entries < NARROW_ENTRIES;
    let crew = match () {
        () if s.max_degree as usize <= HEAD => {
            if s.spreads_slowly {
                CREW
            } else {
                FIXED_CREW
            }
        }
        () if free(s) || !narrow => CREW,
        () => NARROW_CREW,
    };
    let level = if free(s) && s.max_degree as usize > HEAD && allowed >= crew { FREE_LEVEL } else { NARROW_LEVEL };
    match () {
        () if s.spreads_slowly && s.entries as f64 / s.levels < level => 1,
        () if allowed >= crew => usize::MAX,
        // They meet at every distance.
        () if s.spreads_slowly && s.entries as f64 / s.levels < PAIR_LEVEL => 1,
        () => 2,
    }
}

/// The threads that search buckets over CSR: on 16 cores two took 0.7 to 2.0 times as long as one on six graphs a short way across, longer on most
/// (on a Kronecker one of scale 16 the most), and four 0.5 to 1.1 times; on five long ones two took 0.75 to 0.9 times as long.
fn bucket_threads(s: &Stats) -> usize {
    if s.spreads_slowly || crate::threads::allowed() >= CREW { usize::MAX } else { 1 }
}

/// The variants on this graph, with costs of one thread from sixteen graphs. Without weights a breadth-first search; otherwise buckets over CSR for
/// any weights, and packed arcs for small whole ones.
fn variants(graph: &GraphData) -> Vec<Candidate> {
    let s = graph.stats();
    let (entries, nodes) = (s.entries as f64, s.nodes as f64);
    if graph.values().is_none() {
        let of = |way| SsspVariant::ALL.into_iter().find(|v| v.way() == Some(way)).map_or("", SsspVariant::name);
        return bfs::select::variants(graph, of);
    }
    let buckets = in_orders(graph, SsspVariant::Buckets.name(), |_, far| {
        Some(Cost { build: entries, run: 7.0 * entries * gather(far).sqrt() + 34.0 * nodes, why: "buckets over CSR" })
    });
    let mut all = on_threads(bucket_threads(s), buckets);
    if !s.spreads_slowly && s.mean_degree >= SORTED_DEGREE && graph.weights().is_ok_and(|w| sorted::suits(graph.csr(), w)) {
        all.extend(in_orders(graph, SsspVariant::SortedBuckets.name(), |_, far| {
            let run = 4.0 * entries * gather(far).sqrt() + 34.0 * nodes;
            Some(Cost { build: 14.0 * entries, run, why: "rows sorted by weight" })
        }));
    }
    if graph.weights().is_ok_and(|w| Packed::suits(graph.csr(), w)) {
        let empty = if !graph.is_symmetric() && s.mean_degree < PACKED_DEGREE { 10.0 } else { 1.0 };
        // Rows that fit one vector need no order inside and no offsets; of others a search looks at less, the longer they are.
        let packed = match s.max_degree as usize <= HEAD {
            true => in_orders(graph, SsspVariant::PackedRows.name(), |_, far| {
                let run = empty * (2.0 * entries * gather(far) + 9.0 * nodes);
                Some(Cost { build: 10.0 * entries + 8.0 * nodes, run, why: "packed arcs" })
            }),
            false => in_orders(graph, if free(s) { SsspVariant::PackedAtWill } else { SsspVariant::Packed }.name(), |_, far| {
                let run = empty * (entries + 38.0 * nodes) * if far { 1.3 } else { 1.0 };
                Some(Cost { build: 13.0 * entries + 12.0 * nodes, run, why: "sorted, packed arcs" })
            }),
        };
        all.extend(packed);
        // All alike, for a form of many threads not to seem faster than one of few that it is not.
        all = on_threads(threads(s), all);
    }
    all
}

impl<T: Stored> Fused<Typed<SsspConfig, T>> for Cpu {
    type Layout = SsspLayout;

    fn variants(&self, graph: &GraphData, _: &Typed<SsspConfig, T>, _: u32) -> Vec<Candidate> {
        let fused = matches!(T::DTYPE, DType::U32 | DType::U64 | DType::I32 | DType::I64 | DType::F32 | DType::F64);
        if self.is_reference() || !fused { vec![Candidate::definition(graph)] } else { variants(graph) }
    }
    fn layout(&self, graph: &Arranged<Self>, _: &Typed<SsspConfig, T>, plan: &Plan) -> Result<Option<SsspLayout>, Error> {
        let Some((out, incoming)) = lists(graph)? else { return Ok(None) };
        let Some(variant) = SsspVariant::ALL.into_iter().find(|v| v.name() == plan.variant()) else { return Ok(None) };
        let incoming = match incoming {
            Some(t) => Some((t, graph.transpose()?.values())),
            None => None,
        };
        let layout = SsspLayout::build_as(out, incoming, graph.matrix().values(), T::DTYPE == DType::F64, variant)?;
        Ok(Some(layout.with_numbers(graph.permutation())))
    }
    fn run(&self, _: &Arranged<Self>, layout: &SsspLayout, algorithm: &Typed<SsspConfig, T>) -> Result<Sssp<T>, Error> {
        fn run<D: Distance, T: Stored>(layout: &SsspLayout, settings: &SsspConfig) -> Option<Result<Sssp<T>, Error>> {
            same_type(layout.run::<D>(settings))
        }
        let found = match T::DTYPE {
            DType::U32 => run::<u32, T>(layout, algorithm),
            DType::U64 => run::<u64, T>(layout, algorithm),
            DType::I32 => run::<i32, T>(layout, algorithm),
            DType::I64 => run::<i64, T>(layout, algorithm),
            DType::F32 => run::<f32, T>(layout, algorithm),
            DType::F64 => run::<f64, T>(layout, algorithm),
            _ => None,
        };
        let what = || format!("distances of type {}", T::DTYPE);
        found.unwrap_or_else(|| Err(Error::Unsupported { operation: "sssp", what: what(), available: "u32, u64, i32, i64, f32, f64" }))
    }
    fn layout_bytes(&self, layout: &SsspLayout) -> u64 {
        layout.bytes()
    }
}
