//! What takes part in a bench: one operation in one layout, its result, and the work that it stands for.

use crate::choice::Precision;
use crate::failure::{Failure, Result};
use crate::run::CommandBackend;
use bitgraph::LoadedGraph;
use bitgraph::algorithms;
use bitgraph::b2sr::TileCounts;
use bitgraph::backend::{
    Algorithm, BfsConfig, CcConfig, Error as BackendError, Graph, Mxv, NoAccum, PageRankConfig, PlanRequest, SsspConfig, TcConfig, ops,
};
use bitgraph::semiring::{LorLand, PlusSecond};
use bitgraph::sparse::{BitVector, Descriptor, FormatKind, Stored, Values, Vector};
use bitgraph_measure::Clock;
use bitgraph_measure::contender::{Answer, Layout, Outcome, Purpose, timed};
use bitgraph_measure::limits::Limits;
use std::time::Instant;

/// The greatest weight of shortest paths.
pub const GREATEST: u32 = 255;
/// `PageRank` iterations of a run.
pub const ITERATIONS: u32 = 20;

/// A layout or a peer under test, named by what asked for it: a format, `auto`, or the peer's name.
pub type Contender = bitgraph_measure::contender::Contender<Failure>;

/// What a run has to read and touch, at the least that a plain form of it could.
pub struct Work {
    /// Edges traversed.
    pub edges: u64,
    /// Bytes of the layout and the vectors, once a pass.
    pub bytes: u64,
    gathers: u64,
    atomics: u64,
}

impl Work {
    /// The work of an operation in a format and a precision. `edges` are those it traversed.
    pub fn of(operation: Algorithm, counts: &TileCounts, format: Option<FormatKind>, precision: Precision, edges: u64) -> Self {
        let kind = format.unwrap_or(FormatKind::Csr);
        let (n, nnz, float) = (counts.rows as u64, counts.nnz, precision.dtype().bytes() as u64);
        // A peer has a value for every entry.
        let layout = if format.is_some() { counts.bytes(kind).unwrap_or(0) } else { counts.float_csr_bytes() };
        // A tile fetches its columns' part of the vector at once.
        let fetched = match counts.tiles_of(kind) {
            Some(tiles) => tiles,
            None if kind == FormatKind::Hybrid => counts.hybrid.map_or(nnz, |(tiles, listed)| tiles + listed),
            None => nnz,
        };
        let passes = u64::from(ITERATIONS);
        let (bytes, gathers, atomics) = match operation {
            Algorithm::MxvFloat => (layout + 2 * float * n, fetched, 0),
            Algorithm::MxvBool if format.is_none() => (layout + 8 * n, fetched, 0),
            Algorithm::MxvBool => (layout + n / 4, fetched, 0),
            Algorithm::Sssp => (layout + 4 * nnz + 4 * n, edges, 0),
            Algorithm::PageRank => (passes * (layout + 3 * float * n), passes * fetched, 0),
            Algorithm::Cc => (layout + 4 * n, fetched, n),
            Algorithm::Tc => (layout, fetched, 0),
            _ => (layout + 4 * n, edges.min(fetched), 0),
        };
        Self { edges, bytes, gathers, atomics }
    }
    /// Seconds that the device's limits allow for it, and which of them binds.
    pub fn bound(&self, limits: &Limits) -> (f64, &'static str) {
        let times = [
            (self.bytes as f64 / limits.copy, "copy"),
            (self.gathers as f64 / limits.gather, "gather"),
            (self.atomics as f64 / limits.atomic, "atomic"),
        ];
        times.into_iter().fold((0.0, "copy"), |a, b| if b.0 > a.0 { b } else { a })
    }
}

/// What is run for a purpose.
type Runs = Box<dyn FnMut(Purpose) -> Result<Outcome>>;

/// Lays the graph out for an operation, and makes what runs it; and how it was planned, for people.
pub fn build<B: CommandBackend>(
    backend: &B,
    clock: &Clock,
    name: &str,
    operation: Algorithm,
    loaded: &LoadedGraph,
    values: Option<Values>,
    request: &PlanRequest,
    precision: Precision,
    source: u32,
) -> Result<(Contender, String)> {
    let csr = &loaded.csr;
    let start = Instant::now();
    let graph = Graph::build(backend.clone(), csr.clone(), values, loaded.symmetric, request).map_err(Into::into)?;
    if let Some(device) = backend.accelerator() {
        device.synchronize()?;
    }
    let build_s = start.elapsed().as_secs_f64();
    let (format, reorder, plan) = (graph.plan().format().name(), graph.plan().ordering().name(), graph.plan().to_string());
    let nnz = csr.nnz() as u64;
    let run: Runs = match operation {
        Algorithm::MxvFloat if precision == Precision::F64 => mxv_float::<B, f64>(clock, graph)?,
        Algorithm::MxvFloat => mxv_float::<B, f32>(clock, graph)?,
        Algorithm::MxvBool => mxv_bool(clock, graph)?,
        Algorithm::Sssp => {
            let config = SsspConfig { source, ..SsspConfig::default() };
            let degrees: Vec<u32> = (0..csr.nrows()).map(|v| csr.degree(v) as u32).collect();
            algorithm(
                clock,
                graph,
                move |g| algorithms::sssp::<_, u32>(g, &config),
                move |r| {
                    let reached = r.distances.iter().zip(&degrees).filter(|(d, _)| **d != u32::MAX);
                    let edges = reached.map(|(_, &degree)| u64::from(degree)).sum();
                    (exact(r.distances, u64::from), edges)
                },
            )
        }
        Algorithm::PageRank if precision == Precision::F64 => pagerank::<B, f64>(clock, graph),
        Algorithm::PageRank => pagerank::<B, f32>(clock, graph),
        Algorithm::Cc => algorithm(clock, graph, |g| algorithms::cc(g, &CcConfig::default()), move |r| (exact(r.labels, u64::from), nnz)),
        Algorithm::Tc => {
            algorithm(clock, graph, |g| algorithms::tc(g, &TcConfig::default()), move |r| (Answer::Exact(vec![r.triangles]), nnz))
        }
        _ => {
            let config = BfsConfig { source, ..BfsConfig::default() };
            algorithm(
                clock,
                graph,
                move |g| algorithms::bfs(g, &config),
                |r| {
                    let edges = r.edges_traversed;
                    (exact(r.levels.unwrap_or_default(), |l| l as u64), edges)
                },
            )
        }
    };
    let layout = Layout { format, order: reorder, bytes: 0 };
    Ok((Contender::new(name, build_s, run).with_layout(layout), plan))
}

/// Runs an algorithm by the clock.
fn algorithm<B: CommandBackend, R>(
    clock: &Clock,
    graph: Graph<B>,
    algorithm: impl Fn(&Graph<B>) -> Result<R, B::Error> + 'static,
    answer: impl Fn(R) -> (Answer, u64) + 'static,
) -> Runs {
    let clock = clock.clone();
    Box::new(move |purpose| timed(&clock, purpose, || algorithm(&graph).map_err(Into::<Failure>::into), &answer))
}

fn pagerank<B: CommandBackend + Mxv<PlusSecond<T>>, T: Stored>(clock: &Clock, graph: Graph<B>) -> Runs {
    let config = PageRankConfig { tolerance: 0.0, max_iterations: ITERATIONS, ..PageRankConfig::default() };
    let edges = graph.edges() as u64 * u64::from(ITERATIONS);
    let near = |scores: Vec<T>| Answer::Sums(scores.into_iter().map(T::to_f64).collect());
    algorithm(clock, graph, move |g| algorithms::pagerank::<_, T>(g, &config), move |r| (near(r.scores), edges))
}

/// Whole numbers to compare.
fn exact<T>(values: Vec<T>, wide: impl Fn(T) -> u64) -> Answer {
    Answer::Exact(values.into_iter().map(wide).collect())
}

/// The operand of float products.
pub fn floats<T: Stored>(n: usize) -> Vec<T> {
    (0..n).map(|v| T::from_f64(1.0 + (v % 7) as f64)).collect()
}

/// The operand of boolean products: every third bit.
pub fn bits(n: usize) -> Vec<bool> {
    (0..n).map(|v| v % 3 == 0).collect()
}

/// `w = A u` with a pattern matrix and floats that differ.
fn mxv_float<B: CommandBackend + Mxv<PlusSecond<T>>, T: Stored>(clock: &Clock, graph: Graph<B>) -> Result<Runs> {
    let n = graph.nodes();
    let input = floats::<T>(n);
    let input = graph.permutation().map_or(input.clone(), |p| p.permute(&input));
    let u = graph.backend().vector(Vector::from_vec(input)).map_err(Into::into)?;
    let mut w = graph.backend().vector(Vector::filled(n, T::ZERO)).map_err(Into::into)?;
    let clock = clock.clone();
    Ok(Box::new(move |purpose| {
        let b = graph.backend();
        let semiring = PlusSecond::<T>::new();
        let mut multiply =
            || ops::mxv(b, &mut w, None, NoAccum, semiring, graph.matrix(), &u, Descriptor::DEFAULT).map_err(Into::<Failure>::into);
        let seconds = clock.seconds_of(purpose.launches(), &mut multiply)?;
        if purpose != Purpose::Check {
            return Ok(Outcome { seconds, answer: None, edges: 0 });
        }
        let sums = graph.restore(b.vector_to_host(&w).map_err(Into::into)?.to_vec_or(T::ZERO));
        let answer = Some(Answer::Sums(sums.into_iter().map(T::to_f64).collect()));
        Ok(Outcome { seconds, answer, edges: graph.edges() as u64 })
    }))
}

/// `w = A u` over bits.
fn mxv_bool<B: CommandBackend>(clock: &Clock, graph: Graph<B>) -> Result<Runs> {
    let n = graph.nodes();
    let input = bits(n);
    let input = graph.permutation().map_or(input.clone(), |p| p.permute(&input));
    let packed = Vector::from_parts(BitVector::from_bools(&input), None).map_err(BackendError::from)?;
    let u = graph.backend().vector(packed).map_err(Into::into)?;
    let mut w = graph.backend().vector(Vector::filled(n, false)).map_err(Into::into)?;
    let clock = clock.clone();
    Ok(Box::new(move |purpose| {
        let b = graph.backend();
        let semiring = LorLand::<bool>::new();
        let mut multiply =
            || ops::mxv(b, &mut w, None, NoAccum, semiring, graph.matrix(), &u, Descriptor::DEFAULT).map_err(Into::<Failure>::into);
        let seconds = clock.seconds_of(purpose.launches(), &mut multiply)?;
        if purpose != Purpose::Check {
            return Ok(Outcome { seconds, answer: None, edges: 0 });
        }
        let reached = graph.restore(b.vector_to_host(&w).map_err(Into::into)?.to_vec_or(false));
        let answer = Some(Answer::Exact(reached.into_iter().map(u64::from).collect()));
        Ok(Outcome { seconds, answer, edges: graph.edges() as u64 })
    }))
}
