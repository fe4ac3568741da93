//! `bench`: products and algorithms over the formats, on one graph. Results are compared before anything is timed.
//!
//! Invariant: runs of different contenders take turns, so that a machine that changes speed does so for all of them.

mod contender;
mod peer;
mod table;

use crate::choice::Operation;
use crate::failure::{Failure, Result};
use crate::options::BenchArgs;
use crate::progress::Reporter;
use crate::run::CommandBackend;
use crate::{output, report, run};
use bitgraph::b2sr::{HybridConfig, TileCounts};
use bitgraph::backend::{Error as BackendError, Request, Reuse};
use bitgraph::cpu::Cpu;
use bitgraph::cuda::device::Device;
use bitgraph::sparse::FormatKind;
use bitgraph::sparse::ordering::Ordering;
use bitgraph::{LoadedGraph, WeightSource, hashed_weights};
use bitgraph_measure::contender::{Expected, in_turns};
use bitgraph_measure::limits::Limits;
use bitgraph_measure::{Clock, Launches, machine, median};
use contender::{Contender, MAX, Work};
use serde::Serialize;

/// Runs of each, unless `--repeat` says otherwise.
const RUNS: u32 = 5;
/// Passes that the planner counts on, unless `--amortize` says otherwise.
const PASSES: u32 = 100;
/// Launches in a row whose mean is given beside single ones, on a device of its own.
const LAUNCHES: usize = 50;
/// Such rows of launches, the median of whose means counts.
const ROWS: usize = 3;
/// Bytes of the array whose copy tells the rate of memory: beyond the caches of today's GPUs.
const COPIED: usize = 1 << 30;

#[derive(Serialize)]
struct Bench {
    schema: u32,
    graph: String,
    nodes: usize,
    edges: usize,
    backend: &'static str,
    precision: &'static str,
    threads: usize,
    runs: u32,
    /// Runs that the layouts are built for; with 1, `seconds` count building too.
    amortize: u32,
    commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<Environment>,
    results: Vec<Measured>,
    peak_bytes: u64,
}

/// The device that was measured, and what it reached at best in the same run.
#[derive(Serialize)]
struct Environment {
    name: String,
    compute: String,
    driver: String,
    driver_release: Option<String>,
    cusparse: Option<String>,
    sm_mhz: Option<u32>,
    max_sm_mhz: Option<u32>,
    memory_mhz: Option<u32>,
    copy_gb_per_s: f64,
    gather_g_per_s: f64,
    atomic_g_per_s: f64,
    /// Seconds of a kernel that does nothing: alone, in a row of launches, in a graph.
    empty_s: [f64; 3],
    launches: usize,
    #[serde(skip)]
    limits: Limits,
}

/// One operation of one contender.
#[derive(Serialize)]
struct Measured {
    operation: &'static str,
    layout: String,
    format: &'static str,
    reorder: &'static str,
    build_s: f64,
    seconds: Vec<f64>,
    /// The mean of many launches in a row; products on a device of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_s: Option<f64>,
    /// The same as one graph, which the host's rate of launching does not bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_s: Option<f64>,
    /// Edges traversed a second, by the median.
    edges_per_s: f64,
    /// Bytes of one reading of layout and vectors a pass, over the median.
    gb_per_s: f64,
    /// The time in which the measured limits allow that work over the median, and the limit that binds. A form that skips
    /// part of the layout, or keeps it in faster memory, gets beyond 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
}

/// Measures and prints.
pub fn run<B: CommandBackend>(backend: &B, args: &BenchArgs, reporter: &Reporter) -> Result<()> {
    let (loaded, _) = run::load(&args.graph, &args.reading, WeightSource::Unit, reporter)?;
    if !loaded.csr.is_square() {
        let (rows, columns) = (loaded.csr.nrows() as u64, loaded.csr.ncols() as u64);
        return Err(BackendError::NotSquare { algorithm: "bench", rows, columns }.into());
    }
    let runs = args.layout.repeat.unwrap_or(RUNS);
    let device = backend.accelerator().map(environment).transpose()?;
    let round = Round {
        args,
        loaded: &loaded,
        counts: TileCounts::exact_with_hybrid(&loaded.csr, &HybridConfig::default()),
        runs,
        launches: device.as_ref().map_or(1, |d| d.launches),
        limits: device.as_ref().map(|d| d.limits),
        reporter,
    };
    let mut results = Vec::new();
    for operation in Operation::ALL {
        let wanted = args.operations.is_empty() || args.operations.contains(&operation);
        if wanted && (operation != Operation::Tc || loaded.symmetric) {
            reporter.note(operation.name());
            results.extend(round.compare(backend, operation)?);
        }
    }
    reporter.clear();
    let amortize = round.passes();
    let bench = Bench {
        schema: 1,
        nodes: loaded.csr.nrows(),
        edges: loaded.csr.nnz(),
        graph: loaded.name,
        backend: backend.name(),
        precision: args.layout.precision.name(),
        threads: rayon::current_num_threads(),
        runs,
        amortize,
        commit: bitgraph::commit(),
        device,
        results,
        peak_bytes: bitgraph::memory::peak_bytes(),
    };
    if args.general.json { report::json(&bench) } else { output::print(&table::describe(&bench)) }
}

fn environment(device: &Device) -> Result<Environment> {
    let p = device.properties();
    let free = device.memory()?.free as usize;
    let copied = if p.emulated { 1 << 12 } else { COPIED.min(free / 4) };
    let limits = Limits::measure(device, copied)?;
    let clocks = if p.emulated { None } else { machine::management(device.ordinal()) };
    let now = clocks.clone().unwrap_or_default();
    Ok(Environment {
        name: p.name.clone(),
        compute: format!("{}.{}", p.compute.0, p.compute.1),
        driver: format!("{}.{}", p.driver / 1000, p.driver % 1000 / 10),
        driver_release: clocks.map(|c| c.driver),
        cusparse: machine::cusparse_version().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
        sm_mhz: now.sm_mhz,
        max_sm_mhz: now.max_sm_mhz,
        memory_mhz: now.memory_mhz,
        copy_gb_per_s: limits.copy / 1e9,
        gather_g_per_s: limits.gather / 1e9,
        atomic_g_per_s: limits.atomic / 1e9,
        empty_s: limits.empty,
        launches: if p.emulated { 2 } else { LAUNCHES },
        limits,
    })
}

/// What all operations share.
struct Round<'a> {
    args: &'a BenchArgs,
    loaded: &'a LoadedGraph,
    counts: TileCounts,
    runs: u32,
    launches: usize,
    limits: Option<Limits>,
    reporter: &'a Reporter,
}

impl Round<'_> {
    /// Runs that a layout is built for; if it is one, building is a part of it.
    fn passes(&self) -> u32 {
        self.args.layout.amortize.unwrap_or(PASSES)
    }
    fn request(&self, format: Option<FormatKind>, ordering: Option<Ordering>) -> Request {
        Request { reuse: Reuse::Runs(self.passes()), format, ordering, variant: self.args.layout.variant.filter(|_| format.is_none()) }
    }
    /// One operation over all layouts, and the peers.
    fn compare<B: CommandBackend>(&self, backend: &B, operation: Operation) -> Result<Vec<Measured>> {
        let Some(source) = self.loaded.csr.max_degree_row() else { return Ok(Vec::new()) };
        let values = (operation == Operation::Sssp).then(|| hashed_weights(&self.loaded.csr, MAX));
        let formats = match self.args.layout.format.0 {
            Some(format) => vec![Some(format)],
            // Built for one run, the plan is held against lists as they are.
            None if self.passes() == 1 => vec![Some(FormatKind::Csr), None],
            None => FormatKind::ALL.into_iter().map(Some).chain([None]).collect(),
        };
        let precision = self.args.layout.precision;
        let (mut expected, clock) = (Expected::default(), Clock::of(backend.accelerator()));
        if backend.accelerator().is_some() {
            let request = self.request(None, None);
            let host = Clock::of(None);
            let (mut host, _) =
                contender::build(&Cpu::new(), &host, "cpu", operation, self.loaded, values.clone(), &request, precision, source)?;
            expected.check(&mut host)?;
        }
        let mut all: Vec<(Contender, Work)> = Vec::new();
        let build = |layout: &str| {
            let (format, asked) = (FormatKind::from_name(layout), self.args.layout.reorder.0);
            let ordering = if format.is_some() { Some(asked.unwrap_or(Ordering::None)) } else { asked };
            let request = self.request(format, ordering);
            contender::build(backend, &clock, layout, operation, self.loaded, values.clone(), &request, precision, source)
        };
        for format in formats {
            let layout = format.map_or("auto", FormatKind::name);
            let built = build(layout);
            if let (true, None, Ok((_, plan))) = (self.args.layout.explain, format, &built) {
                self.reporter.past_the_bar(plan);
            }
            match built.and_then(|(contender, _)| self.check(operation, contender, &mut expected, &mut all)) {
                // One format of many that is too large for the device is told and left out.
                Err(Failure::OutOfMemory(why)) if format.is_some() && self.args.layout.format.0.is_none() => {
                    self.reporter.tell(&format!("{} in {layout} left out: {why}", operation.name()));
                }
                other => other?,
            }
        }
        let once = self.passes() == 1;
        if let Some(device) = backend.accelerator().filter(|_| !once) {
            for contender in peer::all(device, &clock, operation, precision, &self.loaded.csr)? {
                self.check(operation, contender, &mut expected, &mut all)?;
            }
        }
        let seconds = in_turns(&mut all, self.runs, |_, (contender, _)| {
            let mut rebuild = || -> Result<f64> {
                *contender = build(&contender.name)?.0;
                Ok(contender.build_seconds.unwrap_or(0.0) + contender.seconds(Launches::One)?)
            };
            if once {
                // A first time that does not count, so that each finds the caches as it left them itself.
                rebuild()?;
            }
            let seconds = if once { rebuild()? } else { contender.seconds(Launches::One)? };
            self.reporter.check()?;
            Ok::<_, Failure>(Some(seconds))
        })?;
        all.into_iter().zip(seconds).map(|((contender, work), seconds)| self.measured(operation, contender, work, seconds)).collect()
    }
    /// The first run warms up, and its result is compared.
    fn check(
        &self,
        operation: Operation,
        mut contender: Contender,
        expected: &mut Expected,
        all: &mut Vec<(Contender, Work)>,
    ) -> Result<()> {
        let first = expected.check(&mut contender)?;
        let format = contender.layout.and_then(|l| FormatKind::from_name(l.format));
        let work = Work::of(operation, &self.counts, format, self.args.layout.precision, first.edges);
        all.push((contender, work));
        self.reporter.check()
    }
    fn measured(&self, operation: Operation, mut contender: Contender, work: Work, seconds: Vec<f64>) -> Result<Measured> {
        let product = matches!(operation, Operation::MxvFloat | Operation::MxvBool);
        let mut mean = |launches: Launches| {
            if !product || launches.count() == 1 || self.passes() == 1 {
                return Ok(None);
            }
            let means = (0..ROWS).map(|_| contender.seconds(launches)).collect::<Result<Vec<f64>>>()?;
            Ok::<_, Failure>(Some(median(&means)))
        };
        let (mean_s, graph_s) = (mean(Launches::Row(self.launches))?, mean(Launches::Graph(self.launches))?);
        let middle = median(&seconds).max(1e-9);
        let bound = self.limits.map(|l| work.bound(&l));
        Ok(Measured {
            operation: operation.name(),
            layout: contender.name,
            format: contender.layout.map_or("", |l| l.format),
            reorder: contender.layout.map_or("", |l| l.order),
            build_s: contender.build_seconds.unwrap_or(0.0),
            seconds,
            mean_s,
            graph_s,
            edges_per_s: work.edges as f64 / middle,
            gb_per_s: work.bytes as f64 / middle / 1e9,
            of_limit: bound.map(|(time, _)| time / middle),
            limit: bound.map(|(_, name)| name),
        })
    }
}
