//! `bench`: products and algorithms over the formats, on one graph. Results are compared before anything is timed.
//!
//! Invariant: runs of different formats take turns, so that a machine that changes speed does so for all of them.

use crate::failure::{Failure, Result};
use crate::options::BenchArgs;
use crate::progress::Reporter;
use crate::run::CommandBackend;
use crate::{output, report, run};
use bitgraph::algorithms;
use bitgraph::backend::{
    Algorithm, Backend, BfsConfig, CcConfig, Error as BackendError, Graph, NoAccum, PageRank, PageRankConfig, PlanRequest, SsspConfig,
    TcConfig, Workload, ops,
};
use bitgraph::semiring::{DType, LorLand, PlusSecond};
use bitgraph::sparse::ordering::Ordering;
use bitgraph::sparse::{BitVector, Csr, Descriptor, FormatKind, Values, Vector};
use bitgraph::{LoadedGraph, WeightSource, hashed_weights};
use serde::Serialize;
use std::fmt::Write;
use std::time::Instant;

/// Runs of each, unless `--repeat` asks for more than one.
const RUNS: u32 = 5;
/// The greatest weight of shortest paths.
const GREATEST: u32 = 255;
/// `PageRank` iterations of a run.
const ITERATIONS: u32 = 20;

#[derive(Serialize)]
struct Bench {
    schema: u32,
    graph: String,
    nodes: usize,
    edges: usize,
    threads: usize,
    runs: u32,
    results: Vec<Measured>,
    peak_bytes: u64,
}

/// One operation in one layout.
#[derive(Serialize)]
struct Measured {
    operation: &'static str,
    layout: &'static str,
    format: &'static str,
    reorder: &'static str,
    build_s: f64,
    seconds: Vec<f64>,
}

/// A result to compare: what is exact, and what is within rounding.
#[derive(PartialEq)]
enum Answer {
    Exact(Vec<u64>),
    Near(Vec<f64>),
}

impl Answer {
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Near(a), Self::Near(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(y.abs()) + 1e-9)
            }
            (a, b) => a == b,
        }
    }
}

/// Runs once: the seconds, and the answer.
type Timed<B> = Box<dyn FnMut() -> Result<(f64, Answer), <B as Backend>::Error>>;

/// A layout under test: run once, get the time and the answer.
struct Contender<B: Backend> {
    layout: &'static str,
    format: &'static str,
    reorder: &'static str,
    build_s: f64,
    run: Timed<B>,
}

/// Measures and prints.
pub fn run<B: CommandBackend>(backend: &B, args: &BenchArgs, reporter: &Reporter) -> Result<()> {
    let (loaded, _) = run::load(&args.graph, &args.reading, WeightSource::Unit, reporter)?;
    if !loaded.csr.is_square() {
        let (rows, columns) = (loaded.csr.nrows() as u64, loaded.csr.ncols() as u64);
        return Err(BackendError::NotSquare { algorithm: "bench", rows, columns }.into());
    }
    let runs = if args.layout.repeat > 1 { args.layout.repeat } else { RUNS };
    let mut results = Vec::new();
    let operations =
        [Algorithm::MxvFloat, Algorithm::MxvBool, Algorithm::Bfs, Algorithm::Sssp, Algorithm::PageRank, Algorithm::Cc, Algorithm::Tc];
    for operation in operations {
        if operation == Algorithm::Tc && !loaded.symmetric {
            continue;
        }
        reporter.note(operation.name());
        results.extend(compare(backend, operation, args, &loaded, runs, reporter)?);
    }
    reporter.clear();
    let bench = Bench {
        schema: 1,
        graph: loaded.name,
        nodes: loaded.csr.nrows(),
        edges: loaded.csr.nnz(),
        threads: rayon::current_num_threads(),
        runs,
        results,
        peak_bytes: bitgraph::memory::peak_bytes(),
    };
    if args.general.json { report::json(&bench) } else { output::print(&describe(&bench)) }
}

/// One operation over all layouts.
fn compare<B: CommandBackend>(
    backend: &B,
    operation: Algorithm,
    args: &BenchArgs,
    loaded: &LoadedGraph,
    runs: u32,
    reporter: &Reporter,
) -> Result<Vec<Measured>> {
    let values = operation.wants_weights().then(|| hashed_weights(&loaded.csr, GREATEST));
    let dtype = if operation.wants_weights() { DType::U32 } else { DType::F32 };
    let workload = Workload { passes: args.layout.amortize.unwrap_or(100), ..Workload::once(operation).with_dtype(dtype) };
    let formats = match args.layout.format.0 {
        Some(format) => vec![Some(format)],
        None => FormatKind::ALL.into_iter().map(Some).chain([None]).collect(),
    };
    let mut contenders: Vec<Contender<B>> = Vec::new();
    let mut expected: Option<Answer> = None;
    for format in formats {
        let ordering = if format.is_some() { Some(args.layout.reorder.0.unwrap_or(Ordering::None)) } else { args.layout.reorder.0 };
        let request = PlanRequest { workload, format, ordering };
        let mut contender = contender(backend, operation, &loaded.csr, values.clone(), loaded.symmetric, &request)?;
        contender.layout = format.map_or("auto", FormatKind::name);
        // The first run warms up, and is checked.
        let (_, answer) = (contender.run)().map_err(Into::into)?;
        if expected.as_ref().is_some_and(|e| !e.agrees(&answer)) {
            return Err(Failure::other(format_args!(
                "{} gives another result in format {} than in {}",
                operation.name(),
                contender.layout,
                contenders[0].layout
            )));
        }
        expected = expected.or(Some(answer));
        contenders.push(contender);
        reporter.check()?;
    }
    let mut seconds = vec![Vec::new(); contenders.len()];
    for _ in 0..runs {
        for (contender, times) in contenders.iter_mut().zip(&mut seconds) {
            times.push((contender.run)().map_err(Into::into)?.0);
            reporter.check()?;
        }
    }
    let measured = contenders.into_iter().zip(seconds).map(|(c, seconds)| Measured {
        operation: operation.name(),
        layout: c.layout,
        format: c.format,
        reorder: c.reorder,
        build_s: c.build_s,
        seconds,
    });
    Ok(measured.collect())
}

fn contender<B: CommandBackend>(
    backend: &B,
    operation: Algorithm,
    csr: &Csr,
    values: Option<Values>,
    symmetric: bool,
    request: &PlanRequest,
) -> Result<Contender<B>> {
    let heaviest = csr.heaviest_row();
    let start = Instant::now();
    let graph = Graph::build(backend.clone(), csr.clone(), values, symmetric, request).map_err(Into::into)?;
    let build_s = start.elapsed().as_secs_f64();
    let (format, reorder) = (graph.plan().format().name(), graph.plan().ordering().name());
    let source = heaviest.unwrap_or(0);
    let run: Timed<B> = match operation {
        _ if heaviest.is_none() => Box::new(|| Ok((0.0, Answer::Exact(Vec::new())))),
        Algorithm::MxvFloat => mxv_float(graph).map_err(Into::into)?,
        Algorithm::MxvBool => mxv_bool(graph).map_err(Into::into)?,
        Algorithm::Sssp => {
            let config = SsspConfig { source, ..SsspConfig::default() };
            timed(graph, move |g| algorithms::sssp::<_, u32>(g, &config), |r| exact(r.distances, u64::from))
        }
        Algorithm::PageRank => {
            let config = PageRankConfig { tolerance: 0.0, max_iterations: ITERATIONS, ..PageRankConfig::default() };
            let near = |r: PageRank<f32>| Answer::Near(r.scores.into_iter().map(f64::from).collect());
            timed(graph, move |g| algorithms::pagerank::<_, f32>(g, &config), near)
        }
        Algorithm::Cc => timed(graph, |g| algorithms::cc(g, &CcConfig::default()), |r| exact(r.labels, u64::from)),
        Algorithm::Tc => timed(graph, |g| algorithms::tc(g, &TcConfig::default()), |r| exact(vec![r.triangles], u64::from)),
        _ => {
            let config = BfsConfig { source, ..BfsConfig::default() };
            timed(graph, move |g| algorithms::bfs(g, &config), |r| exact(r.levels.unwrap_or_default(), |l| l as u64))
        }
    };
    Ok(Contender { layout: "", format, reorder, build_s, run })
}

/// Times an algorithm; turning its result into an answer is not part of it.
fn timed<B: CommandBackend, R>(
    graph: Graph<B>,
    algorithm: impl Fn(&Graph<B>) -> Result<R, B::Error> + 'static,
    answer: impl Fn(R) -> Answer + 'static,
) -> Timed<B> {
    Box::new(move || {
        let start = Instant::now();
        let result = algorithm(&graph)?;
        let wall = start.elapsed().as_secs_f64();
        Ok((graph.backend().device_seconds().unwrap_or(wall), answer(result)))
    })
}

/// Whole numbers to compare.
fn exact<T>(values: Vec<T>, wide: impl Fn(T) -> u64) -> Answer {
    Answer::Exact(values.into_iter().map(wide).collect())
}

/// `w = A u` with a pattern matrix and floats that differ.
fn mxv_float<B: CommandBackend>(graph: Graph<B>) -> Result<Timed<B>, B::Error> {
    let n = graph.nodes();
    let input: Vec<f32> = (0..n).map(|v| 1.0 + (v % 7) as f32).collect();
    let input = graph.permutation().map_or(input.clone(), |p| p.permute(&input));
    let u = graph.backend().vector(Vector::from_vec(input))?;
    let mut w = graph.backend().vector(Vector::filled(n, 0f32))?;
    Ok(Box::new(move || {
        let b = graph.backend();
        let (seconds, ()) =
            b.measure(|| ops::mxv(b, &mut w, None, NoAccum, PlusSecond::<f32>::new(), graph.matrix(), &u, Descriptor::DEFAULT))?;
        let sums = graph.restore(b.vector_to_host(&w)?.to_vec_or(0.0));
        Ok((seconds, Answer::Near(sums.into_iter().map(f64::from).collect())))
    }))
}

/// `w = A u` over bits, every third of them set.
fn mxv_bool<B: CommandBackend>(graph: Graph<B>) -> Result<Timed<B>, B::Error> {
    let n = graph.nodes();
    let input: Vec<bool> = (0..n).map(|v| v % 3 == 0).collect();
    let input = graph.permutation().map_or(input.clone(), |p| p.permute(&input));
    let bits = Vector::from_parts(BitVector::from_bools(&input), None).map_err(BackendError::from)?;
    let u = graph.backend().vector(bits)?;
    let mut w = graph.backend().vector(Vector::filled(n, false))?;
    Ok(Box::new(move || {
        let b = graph.backend();
        let (seconds, ()) =
            b.measure(|| ops::mxv(b, &mut w, None, NoAccum, LorLand::<bool>::new(), graph.matrix(), &u, Descriptor::DEFAULT))?;
        let reached = graph.restore(b.vector_to_host(&w)?.to_vec_or(false));
        Ok((seconds, Answer::Exact(reached.into_iter().map(u64::from).collect())))
    }))
}

fn describe(bench: &Bench) -> String {
    let mut text = format!(
        "{}: {} vertices, {} entries; {} threads, medians of {} runs in ms; results agree\n",
        bench.graph, bench.nodes, bench.edges, bench.threads, bench.runs
    );
    let mut layouts: Vec<&str> = Vec::new();
    for m in &bench.results {
        if !layouts.contains(&m.layout) {
            layouts.push(m.layout);
        }
    }
    let _ = write!(text, "{:10}", "");
    for layout in &layouts {
        let _ = write!(text, " {layout:>9}");
    }
    text.push_str("  chosen\n");
    for group in bench.results.chunk_by(|a, b| a.operation == b.operation) {
        let _ = write!(text, "{:10}", group[0].operation);
        for m in group {
            let _ = write!(text, " {:>9.3}", report::median(&m.seconds) * 1e3);
        }
        let _ = match group.iter().find(|m| m.layout == "auto") {
            Some(auto) => writeln!(text, "  {}, order {}", auto.format, auto.reorder),
            None => writeln!(text),
        };
    }
    text
}
