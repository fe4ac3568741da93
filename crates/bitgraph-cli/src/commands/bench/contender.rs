//! What takes part in a bench: one operation in one layout, its result, and the work that it stands for.

use crate::choice::{Operation, Precision};
use crate::failure::{Failure, Result};
use crate::run::CommandBackend;
use bitgraph::LoadedGraph;
use bitgraph::algorithms::{BfsConfig, CcConfig, Factor, PageRankConfig, Product, SsspConfig, TcConfig, Typed};
use bitgraph::b2sr::TileCounts;
use bitgraph::backend::ops::mxv;
use bitgraph::backend::{Definition, Fused, Graph, GraphData, Mxv, Ready, Renumber, Request, Symmetry, Vector};
use bitgraph::sparse::{FormatKind, Stored, Values};
use bitgraph_measure::Clock;
use bitgraph_measure::contender::{Answer, Layout, Outcome, Purpose, timed};
use bitgraph_measure::limits::Limits;
use std::time::Instant;

/// The maximum weight of shortest paths.
pub const MAX: u32 = 255;
/// `PageRank` iterations of a run.
pub const ITERATIONS: u32 = 20;

/// A layout or a peer under test, named by what asked for it: a format, `auto`, or the peer's name.
pub type Contender = bitgraph_measure::contender::Contender<Failure>;

/// What a run has to read and touch, at the minimum that a plain form of it could.
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
    pub fn of(operation: Operation, counts: &TileCounts, format: Option<FormatKind>, precision: Precision, edges: u64) -> Self {
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
            Operation::MxvFloat => (layout + 2 * float * n, fetched, 0),
            Operation::MxvBool if format.is_none() => (layout + 8 * n, fetched, 0),
            Operation::MxvBool => (layout + n / 4, fetched, 0),
            Operation::Sssp => (layout + 4 * nnz + 4 * n, edges, 0),
            Operation::PageRank => (passes * (layout + 3 * float * n), passes * fetched, 0),
            Operation::Cc => (layout + 4 * n, fetched, n),
            Operation::Tc => (layout, fetched, 0),
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
    operation: Operation,
    loaded: &LoadedGraph,
    values: Option<Values>,
    request: &Request,
    precision: Precision,
    source: u32,
) -> Result<(Contender, String)> {
    let csr = &loaded.csr;
    let start = Instant::now();
    let symmetry = if loaded.symmetric { Symmetry::Symmetric } else { Symmetry::Directed };
    let graph = Graph::new(backend.clone(), GraphData::new(bitgraph::b2sr::Layout::Csr(csr.clone()), values, symmetry, None)?);
    let (n, nnz, passes) = (csr.nrows(), csr.nnz() as u64, csr.nnz() as u64 * u64::from(ITERATIONS));
    let made = Making { clock, graph: &graph, request, start, name };
    match operation {
        Operation::MxvFloat if precision == Precision::F64 => made.product(Product { x: floats::<f64>(n) }, |y| Answer::Sums(y.to_vec())),
        Operation::MxvFloat => made.product(Product { x: floats::<f32>(n) }, |y| Answer::Sums(y.iter().map(|&s| s.into()).collect())),
        Operation::MxvBool => made.product(Product { x: bits(n) }, |y| exact(y.to_vec(), u64::from)),
        Operation::Sssp => {
            let degrees: Vec<u32> = (0..n).map(|v| csr.degree(v) as u32).collect();
            made.algorithm(Typed::<_, u32>::new(SsspConfig { source, ..SsspConfig::default() }), move |r| {
                let reached = r.distances.iter().zip(&degrees).filter(|(d, _)| **d != u32::MAX);
                let edges = reached.map(|(_, &degree)| u64::from(degree)).sum();
                (exact(r.distances, u64::from), edges)
            })
        }
        Operation::PageRank => {
            let config = PageRankConfig { tolerance: 0.0, max_iterations: ITERATIONS, ..PageRankConfig::default() };
            match precision {
                Precision::F64 => made.algorithm(Typed::<_, f64>::new(config), move |r| (Answer::Sums(r.scores), passes)),
                Precision::F32 => made.algorithm(Typed::<_, f32>::new(config), move |r| {
                    (Answer::Sums(r.scores.into_iter().map(f64::from).collect()), passes)
                }),
            }
        }
        Operation::Cc => made.algorithm(CcConfig::default(), move |r| (exact(r.labels, u64::from), nnz)),
        Operation::Tc => made.algorithm(TcConfig::default(), move |r| (Answer::Exact(vec![r.triangles]), nnz)),
        Operation::Bfs => made.algorithm(BfsConfig { source, ..BfsConfig::default() }, |r| {
            let edges = r.edges_traversed;
            (exact(r.levels.unwrap_or_default(), |l| l as u64), edges)
        }),
    }
}

/// A contender in the making.
struct Making<'a, B: CommandBackend> {
    clock: &'a Clock,
    graph: &'a Graph<B>,
    request: &'a Request,
    start: Instant,
    name: &'a str,
}

impl<B: CommandBackend> Making<'_, B> {
    fn ready<A: bitgraph::backend::Algorithm>(&self, algorithm: &A) -> Result<(Ready<B, A>, f64)>
    where
        B: Fused<A>,
    {
        let ready = self.graph.prepare(algorithm, self.request).map_err(Into::into)?;
        if let Some(device) = self.graph.backend().accelerator() {
            device.synchronize()?;
        }
        Ok((ready, self.start.elapsed().as_secs_f64()))
    }
    fn contender<A: bitgraph::backend::Algorithm>(&self, ready: &Ready<B, A>, build_s: f64, run: Runs) -> (Contender, String)
    where
        B: Fused<A>,
    {
        let plan = ready.plan();
        let layout = Layout { format: plan.format().name(), order: plan.ordering().name(), bytes: 0 };
        (Contender::new(self.name, build_s, run).with_layout(layout), plan.to_string())
    }
    /// An algorithm, by the clock.
    fn algorithm<A: Definition<B>>(
        &self,
        algorithm: A,
        answer: impl Fn(A::Output) -> (Answer, u64) + 'static,
    ) -> Result<(Contender, String)>
    where
        B: Fused<A>,
    {
        let (ready, build_s) = self.ready(&algorithm)?;
        let (clock, made) = (self.clock.clone(), self.graph.prepare(&algorithm, self.request).map_err(Into::into)?);
        let run: Runs = Box::new(move |purpose| timed(&clock, purpose, || made.run(&algorithm).map_err(Into::<Failure>::into), &answer));
        Ok(self.contender(&ready, build_s, run))
    }
    /// A product alone, its vectors already there.
    fn product<T: Factor>(&self, product: Product<T>, answer: impl Fn(&[T]) -> Answer + 'static) -> Result<(Contender, String)>
    where
        B: Fused<Product<T>> + Mxv<T::Semiring>,
    {
        let (ready, build_s) = self.ready(&product)?;
        let (clock, edges, backend) = (self.clock.clone(), self.graph.edges() as u64, self.graph.backend().clone());
        let made = self.graph.prepare(&product, self.request).map_err(Into::into)?;
        let input = made.arranged().permutation().map_or(product.x.clone(), |p| p.permute(&product.x));
        let u = Vector::from_vec(&backend, input).map_err(Into::into)?;
        let mut w = Vector::filled(&backend, product.x.len(), T::ZERO).map_err(Into::into)?;
        let run: Runs = Box::new(move |purpose| {
            let matrix = made.arranged().matrix();
            let mut multiply = || mxv(T::Semiring::default(), matrix, &u).into(&mut w).map_err(Into::<Failure>::into);
            let seconds = clock.seconds_of(purpose.launches(), &mut multiply)?;
            if purpose != Purpose::Check {
                return Ok(Outcome { seconds, answer: None, edges: 0 });
            }
            let y = w.to_host().map_err(Into::into)?.to_vec_or(T::ZERO);
            let y = made.arranged().permutation().map_or(y.clone(), |p| p.restore_values(y));
            Ok(Outcome { seconds, answer: Some(answer(&y)), edges })
        });
        Ok(self.contender(&ready, build_s, run))
    }
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
