//! Which layout of sums `PageRank` runs on: the one place that chooses.

use super::{PageRankLayout, order, out_degrees};
use crate::Cpu;
use crate::fused::lists::lists;
use crate::rates::{Cost, NEAR_CACHE, hubs, in_orders, mesh_like, on_threads, scattered};
use crate::spmv::{Real, SpmvKind, SpmvPlan, unevenness};
use crate::threads::allowed;
use bitgraph_algorithms::{PageRank, PageRankConfig, Typed};
use bitgraph_backend::{Algorithm, Arranged, Candidate, Error, Fused, GraphData, Plan, Stats, same_type};
use bitgraph_semiring::{DType, Float};
use bitgraph_sparse::Stored;
use bitgraph_sparse::ordering::Ordering;

/// Strips and windows, with the vertices renumbered by falling degree inside: hubs side by side share strips, and so fours of entries.
pub(crate) const CELLS_BY_DEGREE: &str = "cells-by-degree";
/// Entries of a band's span of a mesh in the order of Cuthill-McKee, about: what bands cost there is known before the order is.
const MESH_SPAN: f64 = 4.0;
/// Nanoseconds to build bands of such a mesh, an entry; and of a pass, a span.
const MESH_BANDS: (f64, f64) = (6.0, 0.8);

/// Entries and vertices that keep a thread busy for longer than the end of an iteration, where threads wait for each other, takes.
const ITERATION_SHARE: usize = 1 << 16;

/// The threads that iterations are worth sharing among.
fn threads(s: &Stats) -> usize {
    (s.entries + s.nodes).div_ceil(ITERATION_SHARE)
}

/// The layouts for one run of so many iterations over scores of so many bytes.
fn variants(graph: &GraphData, iterations: f64, score: usize) -> Vec<Candidate> {
    let s = graph.stats();
    let entries = s.entries as f64;
    let plan = SpmvPlan::new(graph.csr(), 1, score);
    let costs = plan.costs;
    let mut all = Vec::new();
    let workers = threads(s).min(allowed());
    for (kind, build, pass) in costs {
        let pass = pass * unevenness(graph.csr(), kind, workers);
        all.extend(in_orders(graph, kind.name(), |ordering, far| match ordering {
            // Renumbering makes a scattered mesh local, where bands are the layout.
            Ordering::Rcm if mesh_like(s) && scattered(s) && !far => {
                let (build, span) = MESH_BANDS;
                let bands = kind == SpmvKind::Bands;
                bands.then(|| Cost { build: build * entries, run: iterations * span * entries / MESH_SPAN, why: kind.describe() })
            }
            // Milliseconds there, nanoseconds here.
            _ => Some(Cost { build: 1e6 * build, run: iterations * 1e6 * pass, why: kind.describe() }),
        }));
    }
    // Without hubs, or with all scores in the near caches, renumbering gains nothing: it took 0.9 to 1.6 times as long there, and 0.65 to
    // 0.85 times on Kronecker and social graphs beyond.
    let gain = if hubs(s) && s.nodes >= NEAR_CACHE { order::gain(&graph.degrees()) } else { 0.0 };
    if let Some((_, build, pass)) = costs.iter().find(|c| c.0 == SpmvKind::Cells).filter(|_| gain > 0.0) {
        let build = 1e6 * build + order::RENUMBER * entries;
        let saved = gain * order::SAVED * entries + 1e6 * plan.saved_on_lines(order::lines(&graph.degrees()));
        let run = iterations * (1e6 * pass - saved).max(0.2 * entries) * unevenness(graph.csr(), SpmvKind::Cells, workers);
        let why = "strips and windows by degree";
        let candidates = in_orders(graph, CELLS_BY_DEGREE, |_, _| Some(Cost { build, run, why }));
        all.extend(candidates.into_iter().filter(|c| c.ordering == Ordering::None));
    }
    on_threads(threads(s), all)
}

/// A layout for scores of either type.
#[non_exhaustive]
pub enum Ranks {
    /// For `f32`.
    Single(PageRankLayout<f32>),
    /// For `f64`.
    Double(PageRankLayout<f64>),
}

fn build<T: Real>(graph: &Arranged<Cpu>, plan: &Plan) -> Result<Option<PageRankLayout<T>>, Error> {
    let Some((out, incoming)) = lists(graph)? else { return Ok(None) };
    let (incoming, degrees) = (incoming.unwrap_or(out), out_degrees(out));
    if plan.variant() == CELLS_BY_DEGREE {
        return PageRankLayout::build_ordered(incoming, &degrees, SpmvKind::Cells).map(Some);
    }
    let kind = SpmvKind::ALL.into_iter().find(|k| k.name() == plan.variant());
    kind.map(|kind| PageRankLayout::build_as(incoming, &degrees, kind)).transpose()
}

// Functions of one type are compiled in this crate, for speed; what is generic is compiled in the caller's, however that is built.

#[inline(never)]
fn build_single(graph: &Arranged<Cpu>, plan: &Plan) -> Result<Option<Ranks>, Error> {
    Ok(build(graph, plan)?.map(Ranks::Single))
}
#[inline(never)]
fn build_double(graph: &Arranged<Cpu>, plan: &Plan) -> Result<Option<Ranks>, Error> {
    Ok(build(graph, plan)?.map(Ranks::Double))
}
#[inline(never)]
fn run_single(ranks: &PageRankLayout<f32>, config: &PageRankConfig) -> Result<PageRank<f32>, Error> {
    ranks.run(config)
}
#[inline(never)]
fn run_double(ranks: &PageRankLayout<f64>, config: &PageRankConfig) -> Result<PageRank<f64>, Error> {
    ranks.run(config)
}

impl<T: Stored + Float> Fused<Typed<PageRankConfig, T>> for Cpu {
    type Layout = Ranks;

    fn variants(&self, graph: &GraphData, algorithm: &Typed<PageRankConfig, T>, _: u32) -> Vec<Candidate> {
        if self.is_reference() || !matches!(T::DTYPE, DType::F32 | DType::F64) {
            return vec![Candidate::definition(graph)];
        }
        variants(graph, f64::from(algorithm.passes()), size_of::<T>())
    }
    fn layout(&self, graph: &Arranged<Self>, _: &Typed<PageRankConfig, T>, plan: &Plan) -> Result<Option<Ranks>, Error> {
        match T::DTYPE {
            DType::F32 => build_single(graph, plan),
            DType::F64 => build_double(graph, plan),
            _ => Ok(None),
        }
    }
    fn run(&self, _: &Arranged<Self>, layout: &Ranks, algorithm: &Typed<PageRankConfig, T>) -> Result<PageRank<T>, Error> {
        let found = match layout {
            Ranks::Single(ranks) => same_type(run_single(ranks, algorithm)),
            Ranks::Double(ranks) => same_type(run_double(ranks, algorithm)),
        };
        let what = || format!("scores of type {}", T::DTYPE);
        found.unwrap_or_else(|| Err(Error::Unsupported { operation: "pagerank", what: what(), available: "f32, f64" }))
    }
    fn layout_bytes(&self, layout: &Ranks) -> u64 {
        match layout {
            Ranks::Single(ranks) => ranks.bytes(),
            Ranks::Double(ranks) => ranks.bytes(),
        }
    }
}
