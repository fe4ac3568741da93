//! What every algorithm's command does around the algorithm: load, build, repeat.
//!
//! Invariant: `seconds` holds the time of the algorithm alone, one element per repeat; loading and building are apart.

use crate::choice::{Device, NamedGraph, Precision};
use crate::failure::{Failure, Result};
use crate::options::{CommonArgs, GeneralArgs, LayoutArgs, ReadingArgs};
use crate::progress::Reporter;
use crate::{files, output};
use bitgraph::algorithms::FullBackend;
use bitgraph::backend::{Backend, Definition, Error as BackendError, Fused, Graph, Plan, Request, Reuse};
use bitgraph::cpu::Cpu;
use bitgraph::cuda::Cuda;
use bitgraph::cuda::device::Device as Accelerator;
use bitgraph::io::Naming;
use bitgraph::semiring::Scalar;
use bitgraph::sparse::ordering::Ordering;
use bitgraph::sparse::{FormatKind, Values, parallel, with_values};
use bitgraph::{GraphSource, LoadOptions, LoadedGraph, StoredGraph, WeightSource};
use bitgraph_measure::Clock;
use std::cell::RefCell;
use std::time::Instant;

/// A backend with all that the commands use.
pub trait CommandBackend: FullBackend + Backend<Error: Into<Failure>> {
    /// The device of its own.
    fn accelerator(&self) -> Option<&Accelerator> {
        None
    }
    /// A handle that another thread can compute by at the same time.
    fn beside(&self) -> Result<Self> {
        Ok(self.clone())
    }
    /// The most bytes in use on a device of its own.
    fn device_bytes(&self) -> Option<u64> {
        None
    }
}
impl CommandBackend for Cpu {}
impl CommandBackend for Cuda {
    fn accelerator(&self) -> Option<&Accelerator> {
        Some(self.device())
    }
    fn beside(&self) -> Result<Self> {
        self.fork().map_err(Into::into)
    }
    fn device_bytes(&self) -> Option<u64> {
        self.device().memory().ok().map(|m| m.peak)
    }
}

/// A graph and what is to be said about it.
pub struct Run<B: Backend> {
    /// The graph as the user names it.
    pub name: String,
    /// The graph.
    pub graph: Graph<B>,
    /// The file's own numbers of relabelled vertices.
    pub original_ids: Option<Vec<u64>>,
    /// The vertex of maximum degree, then of smallest number.
    pub max_degree: Option<u32>,
    /// Seconds of loading.
    pub load_s: f64,
    /// The precision asked for.
    pub precision: Precision,
    /// Options of every command.
    pub general: GeneralArgs,
    /// Progress and cancellation.
    pub reporter: Reporter,
    layout: LayoutArgs,
    clock: Clock,
    done: RefCell<Done>,
}

/// What the runs so far were like.
#[derive(Default)]
struct Done {
    /// Seconds of each as the host sees them, where the algorithm ran on a device of its own.
    wall: Vec<f64>,
    /// Seconds of planning, ordering and building for them.
    build: f64,
    /// The plan of the last.
    plan: Option<Plan>,
}

/// What the weights of a graph are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightRange {
    /// Whether all are whole numbers.
    pub integral: bool,
    /// The largest.
    pub largest: f64,
}

impl WeightRange {
    /// Of a pattern's implicit ones, or of values.
    pub fn of(values: Option<&Values>) -> Self {
        let Some(values) = values else { return Self { integral: true, largest: 1.0 } };
        let largest = with_values!(values, v => {
            parallel::reduce(v.len(), 1 << 16, |some| v[some].iter().map(|x| x.to_f64()).fold(0.0, f64::max), f64::max)
        });
        Self { integral: !values.dtype().is_float(), largest }
    }
}

/// Calls a function with the backend that a device names, opened before anything is loaded.
macro_rules! on_backend {
    ($device:expr, $backend:ident => $call:expr) => {
        match $device {
            $crate::choice::Device::Cpu => {
                let $backend = bitgraph::cpu::Cpu::new();
                $call
            }
            $crate::choice::Device::Cuda(number) => {
                let $backend = bitgraph::cuda::Cuda::open(number)?;
                $call
            }
        }
    };
}
pub(crate) use on_backend;

/// Refuses a device for a command that works on the host's memory alone.
pub fn host_only(command: &str, device: Device) -> Result<()> {
    match device {
        Device::Cpu => Ok(()),
        Device::Cuda(_) => Err(Failure::usage(format_args!("{command} works on the host; --backend cuda has no part in it"))),
    }
}

/// Loads a graph as lists in its own order, and times that.
pub fn load(graph: &NamedGraph, reading: &ReadingArgs, weights: WeightSource, reporter: &Reporter) -> Result<(LoadedGraph, f64)> {
    let start = Instant::now();
    let (stored, _) = load_stored(graph, reading, weights, reporter)?;
    let loaded = stored.into_lists()?;
    reporter.check()?;
    Ok((loaded, start.elapsed().as_secs_f64()))
}

/// Loads a graph as it is stored, and times that.
fn load_stored(graph: &NamedGraph, reading: &ReadingArgs, weights: WeightSource, reporter: &Reporter) -> Result<(StoredGraph, f64)> {
    if let GraphSource::File(path) = &graph.source {
        crate::signals::mapped_file(path);
    }
    let options = LoadOptions {
        format: reading.input_format,
        weights,
        symmetrize: reading.symmetrize,
        nodes: reading.nodes.map(|n| n as usize),
        one_based: reading.one_based,
        duplicates: reading.duplicates,
        relabel: reading.relabel,
        control: reporter.running("loading"),
        remark: reporter.remarks(),
    };
    let start = Instant::now();
    let mut stored = graph.source.load_stored(&options)?;
    let seconds = start.elapsed().as_secs_f64();
    stored.name.clone_from(&graph.text);
    reporter.check()?;
    Ok((stored, seconds))
}

/// The wishes to the planner that the options state. How often an algorithm runs is learnt, unless it is said.
pub fn request(layout: &LayoutArgs) -> Request {
    let reuse = layout.amortize.map_or(Reuse::Learn, Reuse::Runs);
    Request { reuse, format: layout.format.0, ordering: layout.reorder.0, variant: layout.variant }
}

impl<B: CommandBackend> Run<B> {
    /// Loads a graph for an algorithm; `look` sees it as it was loaded.
    pub fn start(
        backend: B,
        common: &CommonArgs,
        algorithm: &'static str,
        weights: WeightSource,
        reporter: Reporter,
        look: impl FnOnce(&StoredGraph) -> Result<()>,
    ) -> Result<Self> {
        if let Some(file) = &common.output {
            bitgraph::io::check_vector_ending(file)?;
            files::check_target(file, &common.graph.files())?;
        }
        let (mut stored, load_s) = load_stored(&common.graph, &common.reading, weights, &reporter)?;
        let (rows, columns) = stored.layout.shape();
        if rows != columns {
            let (rows, columns) = (rows as u64, columns as u64);
            let error = BackendError::NotSquare { algorithm, rows, columns };
            return Err(Failure::from(error).at(&stored.name));
        }
        look(&stored)?;
        let max_degree = stored.max_degree_vertex();
        reporter.note("building");
        let clock = Clock::of(backend.accelerator());
        let (name, original_ids) = (std::mem::take(&mut stored.name), stored.original_ids.take());
        Ok(Self {
            graph: stored.on(backend)?,
            name,
            original_ids,
            max_degree,
            load_s,
            precision: common.layout.precision,
            general: common.general.clone(),
            reporter,
            layout: common.layout.clone(),
            clock,
            done: RefCell::default(),
        })
    }
    /// Runs the algorithm as often as asked; the times, and the last result. Building for a run is no part of its time. On a device of its
    /// own the time is the device's, from the first launch to the end of the last; what it takes to call it and to fetch the result is in
    /// [`Run::wall_seconds`].
    pub fn repeat<A: Definition<B>>(&self, algorithm: &A) -> Result<(Vec<f64>, A::Output)>
    where
        B: Fused<A>,
    {
        let request = request(&self.layout);
        <B as Fused<A>>::warm_up(self.graph.backend()).map_err(Into::into)?;
        let mut seconds = Vec::with_capacity(self.layout.runs().min(1 << 16) as usize);
        loop {
            let start = Instant::now();
            let ready = self.graph.prepare(algorithm, &request).map_err(Into::into)?;
            self.done.borrow_mut().build += start.elapsed().as_secs_f64();
            self.planned(ready.plan());
            self.reporter.check()?;
            let run = self.clock.run(|| ready.run(algorithm).map_err(Into::<Failure>::into))?;
            if run.on_device {
                self.done.borrow_mut().wall.push(run.wall);
            }
            seconds.push(run.seconds);
            self.reporter.check()?;
            if seconds.len() >= self.layout.runs() as usize {
                return Ok((seconds, run.result));
            }
        }
    }
    /// Tells of a plan where that is asked for and it is another one than before.
    fn planned(&self, plan: &Plan) {
        let before = self.done.borrow_mut().plan.replace(plan.clone());
        if before.is_some_and(|b| (b.format(), b.ordering(), b.variant()) == (plan.format(), plan.ordering(), plan.variant())) {
            return;
        }
        if self.layout.explain {
            self.reporter.clear();
            output::note(&plan.to_string());
        }
        if self.general.verbose {
            self.reporter.clear();
            let t = self.graph.times();
            output::note(&format!(
                "load {:.3} ms; plan {:.3} ms, order {:.3} ms, layout {:.3} ms, prepare {:.3} ms; {} bytes laid out\n",
                self.load_s * 1e3,
                t.plan * 1e3,
                t.order * 1e3,
                t.layout * 1e3,
                t.prepare * 1e3,
                self.graph.bytes()
            ));
        }
    }
    /// Seconds of planning, ordering and building so far.
    pub fn build_seconds(&self) -> f64 {
        self.done.borrow().build
    }
    /// The format and order of the last run; those of the graph as it came before the first.
    pub fn layout(&self) -> (FormatKind, Ordering) {
        let came = || (self.graph.data().layout().kind(), self.graph.data().order().map_or(Ordering::None, |o| o.0));
        self.done.borrow().plan.as_ref().map_or_else(came, |p| (p.format(), p.ordering()))
    }
    /// Seconds of each run as the host sees them, where the algorithm ran on a device of its own; empty otherwise.
    pub fn wall_seconds(&self) -> Vec<f64> {
        self.done.borrow().wall.clone()
    }
    /// The vertex that the user calls by this number.
    pub fn vertex(&self, number: u64) -> Result<u32> {
        let vertex = match &self.original_ids {
            None => number,
            Some(ids) => match ids.binary_search(&number) {
                Ok(v) => v as u64,
                Err(_) => return Err(bitgraph::Error::NoSuchVertex { vertex: number, graph: self.name.clone() }.into()),
            },
        };
        let nodes = self.graph.nodes() as u64;
        match u32::try_from(vertex) {
            Ok(v) if vertex < nodes => Ok(v),
            _ => Err(BackendError::VertexOutOfRange { vertex, nodes }.into()),
        }
    }
    /// The number by which the user calls a vertex.
    pub fn number(&self, vertex: u32) -> u64 {
        self.original_ids.as_ref().map_or(u64::from(vertex), |ids| ids[vertex as usize])
    }
    /// By what numbers `--output` names the vertices.
    pub fn naming(&self) -> Naming<'_> {
        Naming { vertices: self.original_ids.as_deref(), ..Naming::default() }
    }
    /// The one source of a search; none in a graph without vertices.
    pub fn source(&self, asked: Option<u64>) -> Result<Option<u32>> {
        match asked {
            Some(number) => self.vertex(number).map(Some),
            None => Ok(self.max_degree),
        }
    }
}
