//! What takes part in a bench: one operation in one layout, its result, and the work that it stands for.

use crate::choice::Precision;
use crate::failure::Result;
use crate::run::CommandBackend;
use bitgraph::LoadedGraph;
use bitgraph::algorithms;
use bitgraph::b2sr::TileCounts;
use bitgraph::backend::{Algorithm, BfsConfig, CcConfig, Graph, Mxv, PageRankConfig, PlanRequest, SsspConfig, TcConfig, Vector, ops::mxv};
use bitgraph::cuda::device::Launches;
use bitgraph::cuda::limits::Limits;
use bitgraph::semiring::{Float, LorLand, PlusSecond};
use bitgraph::sparse::{FormatKind, Stored, Values};
use std::time::Instant;

/// The greatest weight of shortest paths.
pub const GREATEST: u32 = 255;
/// `PageRank` iterations of a run.
pub const ITERATIONS: u32 = 20;

/// A result to compare: what is exact, and what is within rounding.
#[derive(PartialEq)]
pub enum Answer {
    /// To the last bit.
    Exact(Vec<u64>),
    /// Sums.
    Near(Vec<f64>),
}

impl Answer {
    /// Whether two contenders computed the same.
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Near(a), Self::Near(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(y.abs()) + 1e-9)
            }
            (a, b) => a == b,
        }
    }
}

/// What a run gave.
pub struct Outcome {
    /// Seconds of one; the mean, if it was several.
    pub seconds: f64,
    /// The result; none of a peer that does something else as much.
    pub answer: Option<Answer>,
    /// Edges traversed.
    pub edges: u64,
}

/// Runs something as often as asked.
pub type Runs = Box<dyn FnMut(Launches) -> Result<Outcome>>;

/// A layout under test.
pub struct Contender {
    /// What asked for it: a format, `auto`, or a peer's name.
    pub layout: &'static str,
    /// The format it is in.
    pub format: &'static str,
    /// Its order.
    pub reorder: &'static str,
    /// How it was planned, for people; nothing of a peer.
    pub plan: String,
    /// Seconds of building it.
    pub build_s: f64,
    /// Runs as often as asked; algorithms once whatever is asked.
    pub run: Runs,
}

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

/// Lays the graph out for an operation, and makes what runs it.
pub fn build<B: CommandBackend>(
    backend: &B,
    operation: Algorithm,
    loaded: &LoadedGraph,
    values: Option<Values>,
    request: &PlanRequest,
    precision: Precision,
    source: u32,
) -> Result<Contender> {
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
        Algorithm::MxvFloat if precision == Precision::F64 => mxv_float::<B, f64>(graph)?,
        Algorithm::MxvFloat => mxv_float::<B, f32>(graph)?,
        Algorithm::MxvBool => mxv_bool(graph)?,
        Algorithm::Sssp => {
            let config = SsspConfig { source, ..SsspConfig::default() };
            let degrees: Vec<u32> = (0..csr.nrows()).map(|v| csr.degree(v) as u32).collect();
            timed(
                graph,
                move |g| algorithms::sssp::<_, u32>(g, &config),
                move |r| {
                    let reached = r.distances.iter().zip(&degrees).filter(|(d, _)| **d != u32::MAX);
                    let edges = reached.map(|(_, &degree)| u64::from(degree)).sum();
                    (exact(r.distances, u64::from), edges)
                },
            )
        }
        Algorithm::PageRank if precision == Precision::F64 => pagerank::<B, f64>(graph),
        Algorithm::PageRank => pagerank::<B, f32>(graph),
        Algorithm::Cc => timed(graph, |g| algorithms::cc(g, &CcConfig::default()), move |r| (exact(r.labels, u64::from), nnz)),
        Algorithm::Tc => timed(graph, |g| algorithms::tc(g, &TcConfig::default()), move |r| (Answer::Exact(vec![r.triangles]), nnz)),
        _ => {
            let config = BfsConfig { source, ..BfsConfig::default() };
            timed(
                graph,
                move |g| algorithms::bfs(g, &config),
                |r| {
                    let edges = r.edges_traversed;
                    (exact(r.levels.unwrap_or_default(), |l| l as u64), edges)
                },
            )
        }
    };
    Ok(Contender { layout: "", format, reorder, plan, build_s, run })
}

/// Times an algorithm; turning its result into an answer is not part of it. A fused form on a device of its own says how long that took
/// itself; a definition is timed there from its first operation to its result.
fn timed<B: CommandBackend, R>(
    graph: Graph<B>,
    algorithm: impl Fn(&Graph<B>) -> Result<R, B::Error> + 'static,
    answer: impl Fn(R) -> (Answer, u64) + 'static,
) -> Runs {
    let mut fused = true;
    Box::new(move |_| {
        let backend = graph.backend();
        let (seconds, result) = if fused {
            backend.forget_run();
            let start = Instant::now();
            let result = algorithm(&graph).map_err(Into::into)?;
            let wall = start.elapsed().as_secs_f64();
            let device = backend.device_seconds();
            fused = device.is_some();
            (device.unwrap_or(wall), result)
        } else {
            backend.measure(|| algorithm(&graph)).map_err(Into::into)?
        };
        let (answer, edges) = answer(result);
        Ok(Outcome { seconds, answer: Some(answer), edges })
    })
}

fn pagerank<B: CommandBackend + Mxv<PlusSecond<T>>, T: Stored + Float>(graph: Graph<B>) -> Runs {
    let config = PageRankConfig { tolerance: 0.0, max_iterations: ITERATIONS, ..PageRankConfig::default() };
    let edges = graph.edges() as u64 * u64::from(ITERATIONS);
    let near = |scores: Vec<T>| Answer::Near(scores.into_iter().map(T::to_f64).collect());
    timed(graph, move |g| algorithms::pagerank::<_, T>(g, &config), move |r| (near(r.scores), edges))
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
fn mxv_float<B: CommandBackend + Mxv<PlusSecond<T>>, T: Stored>(graph: Graph<B>) -> Result<Runs> {
    let n = graph.nodes();
    let input = floats::<T>(n);
    let input = graph.permutation().map_or(input.clone(), |p| p.permute(&input));
    let u = Vector::from_vec(graph.backend(), input).map_err(Into::into)?;
    let mut w = Vector::filled(graph.backend(), n, T::ZERO).map_err(Into::into)?;
    Ok(Box::new(move |launches| {
        let multiply = || mxv(PlusSecond, graph.matrix(), &u).into(&mut w);
        let seconds = graph.backend().measure_all(launches, multiply).map_err(Into::into)?;
        let sums = graph.restore(w.to_host().map_err(Into::into)?.to_vec_or(T::ZERO));
        let answer = Some(Answer::Near(sums.into_iter().map(T::to_f64).collect()));
        Ok(Outcome { seconds, answer, edges: graph.edges() as u64 })
    }))
}

/// `w = A u` over bits.
fn mxv_bool<B: CommandBackend>(graph: Graph<B>) -> Result<Runs> {
    let n = graph.nodes();
    let input = bits(n);
    let input = graph.permutation().map_or(input.clone(), |p| p.permute(&input));
    let u = Vector::from_vec(graph.backend(), input).map_err(Into::into)?;
    let mut w = Vector::filled(graph.backend(), n, false).map_err(Into::into)?;
    Ok(Box::new(move |launches| {
        let multiply = || mxv(LorLand, graph.matrix(), &u).into(&mut w);
        let seconds = graph.backend().measure_all(launches, multiply).map_err(Into::into)?;
        let reached = graph.restore(w.to_host().map_err(Into::into)?.to_vec_or(false));
        let answer = Some(Answer::Exact(reached.into_iter().map(u64::from).collect()));
        Ok(Outcome { seconds, answer, edges: graph.edges() as u64 })
    }))
}
