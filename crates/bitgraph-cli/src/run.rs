//! What every algorithm's command does around the algorithm: load, build, repeat.
//!
//! Invariant: `seconds` holds the time of the algorithm alone, one element per repeat; loading and building are apart.

use crate::choice::{Device, NamedGraph, Precision};
use crate::failure::{Failure, Result};
use crate::options::{CommonArgs, GeneralArgs, LayoutArgs, ReadingArgs};
use crate::output;
use crate::progress::Reporter;
use bitgraph::algorithms::GraphBackend;
use bitgraph::backend::{Algorithm, Backend, CostModel, Error as BackendError, Graph, Mxv, PlanRequest, Workload};
use bitgraph::cpu::Cpu;
use bitgraph::cuda::Cuda;
use bitgraph::cuda::device::{Device as Accelerator, Launches};
use bitgraph::io::Naming;
use bitgraph::semiring::{LorLand, MinPlus, PlusSecond, Scalar};
use bitgraph::sparse::{Values, with_values};
use bitgraph::{GraphSource, LoadOptions, LoadedGraph, StoredGraph, WeightSource};
use rayon::prelude::*;
use std::cell::RefCell;
use std::time::Instant;

/// A backend with all that the commands use.
pub trait CommandBackend:
    GraphBackend
    + CostModel
    + Backend<Error: Into<Failure>>
    + Mxv<LorLand<bool>>
    + Mxv<PlusSecond<f32>>
    + Mxv<PlusSecond<f64>>
    + Mxv<MinPlus<u32>>
    + Mxv<MinPlus<u64>>
    + Mxv<MinPlus<f32>>
    + Mxv<MinPlus<f64>>
{
    /// Loads what an algorithm runs by, so that its first use is no slower than the others.
    fn warm_up(&self, algorithm: Algorithm) -> Result<(), Self::Error> {
        let _ = algorithm;
        Ok(())
    }
    /// Gives work to the device; its result, and the seconds that it took there.
    fn measure<R>(&self, work: impl FnOnce() -> Result<R, Self::Error>) -> Result<(f64, R), Self::Error> {
        let start = Instant::now();
        let result = work()?;
        Ok((start.elapsed().as_secs_f64(), result))
    }
    /// As [`CommandBackend::measure`], again and again; seconds of one.
    fn measure_all(&self, launches: Launches, mut work: impl FnMut() -> Result<(), Self::Error>) -> Result<f64, Self::Error> {
        let (seconds, ()) = self.measure(|| (0..launches.count()).try_for_each(|_| work()))?;
        Ok(seconds / launches.count() as f64)
    }
    /// Seconds that the last algorithm took on a device of its own, its result still there.
    fn device_seconds(&self) -> Option<f64> {
        None
    }
    /// Forgets that time, so that only what follows is told.
    fn forget_run(&self) {}
    /// The device of its own, for benches.
    fn accelerator(&self) -> Option<&Accelerator> {
        None
    }
    /// The most bytes in use on a device of its own.
    fn device_bytes(&self) -> Option<u64> {
        None
    }
}
impl CommandBackend for Cpu {}
impl CommandBackend for Cuda {
    fn warm_up(&self, algorithm: Algorithm) -> Result<(), Self::Error> {
        Cuda::warm_up(self, algorithm)
    }
    fn measure<R>(&self, work: impl FnOnce() -> Result<R, Self::Error>) -> Result<(f64, R), Self::Error> {
        let result = self.device().timed(work)?;
        self.device().synchronize()?;
        Ok((self.last_run_seconds().unwrap_or(0.0), result))
    }
    fn measure_all(&self, launches: Launches, work: impl FnMut() -> Result<(), Self::Error>) -> Result<f64, Self::Error> {
        self.device().seconds_of(launches, work)
    }
    fn device_seconds(&self) -> Option<f64> {
        self.last_run_seconds()
    }
    fn forget_run(&self) {
        self.device().forget_run();
    }
    fn accelerator(&self) -> Option<&Accelerator> {
        Some(self.device())
    }
    fn device_bytes(&self) -> Option<u64> {
        self.device().memory().ok().map(|m| m.peak)
    }
}

/// A graph laid out for an algorithm, and what is to be said about it.
pub struct Run<B: Backend> {
    /// The graph as the user names it.
    pub name: String,
    /// The graph.
    pub graph: Graph<B>,
    /// The file's own numbers of relabelled vertices.
    pub original_ids: Option<Vec<u64>>,
    /// The vertex of largest degree, then of smallest number.
    pub heaviest: Option<u32>,
    /// Seconds of loading.
    pub load_s: f64,
    /// Seconds of planning, ordering and building.
    pub build_s: f64,
    /// The precision asked for.
    pub precision: Precision,
    /// Options of every command.
    pub general: GeneralArgs,
    /// Progress and cancellation.
    pub reporter: Reporter,
    repeat: u32,
    wall: RefCell<Vec<f64>>,
}

/// What the weights of a graph are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightRange {
    /// Whether all are whole numbers.
    pub integral: bool,
    /// The greatest.
    pub greatest: f64,
}

impl WeightRange {
    /// Of a pattern's implicit ones, or of values.
    fn of(values: Option<&Values>) -> Self {
        let Some(values) = values else { return Self { integral: true, greatest: 1.0 } };
        let greatest = with_values!(values, v => {
            v.par_iter().with_min_len(1 << 16).map(|x| x.to_f64()).reduce(|| 0.0, f64::max)
        });
        Self { integral: !values.dtype().is_float(), greatest }
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
        control: reporter.loading(),
    };
    let start = Instant::now();
    let mut stored = graph.source.load_stored(&options)?;
    let seconds = start.elapsed().as_secs_f64();
    stored.name.clone_from(&graph.text);
    reporter.check()?;
    Ok((stored, seconds))
}

/// The plan that the options ask for.
pub fn plan_request(layout: &LayoutArgs, workload: Workload) -> PlanRequest {
    PlanRequest { workload: Workload { passes: layout.passes(), ..workload }, format: layout.format.0, ordering: layout.reorder.0 }
}

impl<B: CommandBackend> Run<B> {
    /// Loads a graph and lays it out for the workload that `workload` makes of what was loaded.
    pub fn start(
        backend: B,
        common: &CommonArgs,
        algorithm: Algorithm,
        weights: WeightSource,
        reporter: Reporter,
        workload: impl FnOnce(&StoredGraph, WeightRange, Workload) -> Result<Workload>,
    ) -> Result<Self> {
        if let Some(file) = &common.output {
            bitgraph::io::check_vector_ending(file)?;
            output::check_target(file, &common.graph.files())?;
        }
        let (mut stored, load_s) = load_stored(&common.graph, &common.reading, weights, &reporter)?;
        let (rows, columns) = stored.layout.shape();
        if rows != columns {
            let (rows, columns) = (rows as u64, columns as u64);
            let error = BackendError::NotSquare { algorithm: algorithm.name(), rows, columns };
            return Err(Failure::from(error).at(&stored.name));
        }
        let range = WeightRange::of(stored.values.as_ref());
        let workload = workload(&stored, range, Workload::once(algorithm))?;
        let heaviest = stored.heaviest();
        let request = plan_request(&common.layout, workload);
        reporter.note("building");
        backend.warm_up(algorithm).map_err(Into::into)?;
        let (name, original_ids) = (std::mem::take(&mut stored.name), stored.original_ids.take());
        let start = Instant::now();
        let graph = stored.build(backend, &request).map_err(Into::into)?;
        let build_s = start.elapsed().as_secs_f64();
        reporter.check()?;
        if common.layout.explain {
            reporter.clear();
            output::note(&graph.plan().to_string());
        }
        if common.general.verbose {
            reporter.clear();
            let t = graph.times();
            output::note(&format!(
                "load {:.3} ms; plan {:.3} ms, order {:.3} ms, layout {:.3} ms, prepare {:.3} ms; {} bytes laid out\n",
                load_s * 1e3,
                t.plan * 1e3,
                t.order * 1e3,
                t.layout * 1e3,
                t.prepare * 1e3,
                graph.bytes()
            ));
        }
        Ok(Self {
            name,
            graph,
            original_ids,
            heaviest,
            load_s,
            build_s,
            precision: common.layout.precision,
            general: common.general.clone(),
            reporter,
            repeat: common.layout.runs(),
            wall: RefCell::default(),
        })
    }
    /// Runs the algorithm as often as asked; the times, and the last result. On a device of its own the time is the device's, from
    /// the first launch to the end of the last; what it takes to call it and to fetch the result is in [`Run::wall_seconds`].
    pub fn repeat<T>(&self, mut algorithm: impl FnMut() -> Result<T, B::Error>) -> Result<(Vec<f64>, T)> {
        let mut seconds = Vec::with_capacity(self.repeat.min(1 << 16) as usize);
        loop {
            self.graph.backend().forget_run();
            let start = Instant::now();
            let result = algorithm().map_err(Into::into)?;
            let wall = start.elapsed().as_secs_f64();
            let device = self.graph.backend().device_seconds();
            if device.is_some() {
                self.wall.borrow_mut().push(wall);
            }
            seconds.push(device.unwrap_or(wall));
            self.reporter.check()?;
            if seconds.len() >= self.repeat as usize {
                return Ok((seconds, result));
            }
        }
    }
    /// Seconds of each run as the host sees them, where the algorithm ran on a device of its own; empty otherwise.
    pub fn wall_seconds(&self) -> Vec<f64> {
        self.wall.borrow().clone()
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
        Naming { vertices: self.original_ids.as_deref(), sources: None }
    }
    /// The one source of a search; none in a graph without vertices.
    pub fn source(&self, asked: Option<u64>) -> Result<Option<u32>> {
        match asked {
            Some(number) => self.vertex(number).map(Some),
            None => Ok(self.heaviest),
        }
    }
}
