//! `bitgraph-bench spmm`: a sparse matrix times dense features on a GPU, single launches by the device's clock, beside cuSPARSE.
//!
//! Invariant: nothing is timed before rows of its result agreed with sums of `f64`.

use crate::front::{self, Front};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::{Buffer, Device};
use bitgraph::cuda::tensor::explain;
use bitgraph::cuda::tensor::forms::Feature;
use bitgraph::cuda::tensor::forms::sddmm::Product;
use bitgraph::cuda::tensor::forms::spmm::{SpmmForm, SpmmInput, SpmmLayout, SpmmPlan};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::spmm;
use bitgraph_measure::cusparse::{CusparseSpmm, SPMM_ALGORITHMS};
use bitgraph_measure::limits::Limits;
use bitgraph_measure::{Clock, Launches, median};
use half::{bf16, f16};
use serde::Serialize;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Instant;

/// An element type of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Type {
    /// Half precision.
    F16,
    /// The upper half of `f32`.
    Bf16,
    /// Single precision.
    F32,
}

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: cora, mesh200k, er100k, rmat17, grid1k, rmat21 for graphs of that kind and size; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["cora", "mesh200k", "er100k", "rmat17", "grid1k"])]
    graphs: Vec<String>,
    /// Columns of the features.
    #[arg(long, value_delimiter = ',', default_values = ["64", "128"])]
    features: Vec<usize>,
    /// Types of the features.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["f16", "f32"])]
    types: Vec<Type>,
    /// Times other plans than the chosen one, too.
    #[arg(long)]
    plans: bool,
    /// Single launches, whose median counts.
    #[arg(long, default_value_t = 31)]
    repeat: usize,
    /// The GPU's number.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Writes the report to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// One product by one plan.
#[derive(Debug, Serialize)]
pub struct Measured {
    graph: String,
    nodes: usize,
    edges: usize,
    element: &'static str,
    features: usize,
    /// What runs.
    plan: String,
    /// Whether it is what the library chooses.
    chosen: bool,
    layout: String,
    build_ms: f64,
    layout_bytes: u64,
    /// The median of single launches.
    ms: f64,
    /// The mean of a launch of 20 in one graph; its median.
    graph_ms: f64,
    /// The best of cuSPARSE's algorithms, the median of single launches.
    cusparse_ms: Option<f64>,
    /// The chosen plan's product through the front of tensors.
    front: Option<Front>,
    /// The largest distance of a row from `f64` beside its length, in the Euclidean norm.
    error: f64,
    /// Bytes of gathered rows over the time, in GB/s.
    gathered_gb_s: f64,
    /// The time of copying every array once at this device's rate, over the time.
    copy_fraction: Option<f64>,
}

/// Rows whose result is compared.
const CHECKED_ROWS: usize = 500;
/// Launches of one graph.
const GRAPH_LAUNCHES: usize = 20;

struct Bench<'a> {
    cuda: Cuda,
    device: Device,
    clock: Clock,
    copy: Option<f64>,
    options: &'a Options,
}

struct Subject<'a> {
    name: &'a str,
    csr: &'a Csr,
    lists: DeviceCsr,
    matrix: Matrix<Cuda>,
    rows: Vec<usize>,
}

/// Features by a hash of their place, from -1 to 1.
fn number(place: usize) -> f64 {
    let mut x = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f64) / f64::from(1 << 23) - 1.0
}

/// A feature type with its way to and from `f64`.
trait Element: Feature + Product<Self> + bitgraph::tensor::Element {
    /// The largest error of a row beside its length.
    const TOLERANCE: f64;
    fn of(x: f64) -> Self;
    fn to(self) -> f64;
}
macro_rules! elements {
    ($($t:ident $tolerance:expr, $of:expr, $to:expr;)*) => { $(
        impl Element for $t {
            const TOLERANCE: f64 = $tolerance;
            fn of(x: f64) -> Self {
                ($of)(x)
            }
            fn to(self) -> f64 {
                ($to)(self)
            }
        }
    )* };
}
elements! {
    f16 1e-3, f16::from_f64, f16::to_f64;
    bf16 8e-3, bf16::from_f64, bf16::to_f64;
    f32 2e-6, |x: f64| x as f32, f64::from;
}

/// The generator of a graph that goes by a name of its own.
fn generator(name: &str) -> &str {
    match name {
        "cora" => "skew:2708:5500",
        "mesh200k" => "mesh:50x50x80",
        "er100k" => "urand:100000:16",
        "rmat17" => "kron:17",
        "grid1k" => "grid:1000x1000",
        "rmat21" => "kron:21",
        other => other,
    }
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from `f64`.
pub fn run(options: &Options) -> Result<()> {
    let cuda = Cuda::open(options.device)?;
    let device = cuda.device().clone();
    // Beyond the cache, for a rate of memory.
    let copied = if device.properties().emulated { 1 << 16 } else { 1 << 29 };
    let copy = Limits::measure(&device, copied).ok().map(|l| l.copy);
    let bench = Bench { clock: Clock::of(Some(&device)), cuda, device, copy, options };
    let mut all = Vec::new();
    println!("{}{}{}", HEADER[0], front::HEADER, HEADER[1]);
    for name in &options.graphs {
        let loaded = generator(name).parse::<GraphSource>()?.load(&LoadOptions::default())?;
        let csr = &loaded.csr;
        ensure!(csr.is_square() && csr.nnz() > 0, "{name} is not a square matrix with entries");
        let step = csr.nrows().div_ceil(CHECKED_ROWS).max(1);
        let rows = (0..csr.nrows()).step_by(step).chain(csr.max_degree_row().map(|r| r as usize)).collect();
        let matrix = Matrix::new(&bench.cuda, csr, None, FormatKind::Csr)?;
        let subject = Subject { name, csr, lists: DeviceCsr::upload(&bench.device, csr)?, matrix, rows };
        for &width in &options.features {
            for kind in &options.types {
                let found = match kind {
                    Type::F16 => bench.measure::<f16>(&subject, width),
                    Type::Bf16 => bench.measure::<bf16>(&subject, width),
                    Type::F32 => bench.measure::<f32>(&subject, width),
                };
                all.extend(found.with_context(|| format!("{name}, {width} columns of {kind:?}"))?);
            }
        }
    }
    if let Some(path) = &options.json {
        let report = serde_json::json!({ "schema": 1, "device": bench.device.properties().name, "copy_bytes_per_second": bench.copy, "results": all });
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

const HEADER: [&str; 2] =
    ["graph                type    F       ms  graph ms  cusparse  ratio", "    error  gather GB/s  of copy  build ms    plan (* chosen)"];

impl Measured {
    fn line(&self) -> String {
        let peer = self.cusparse_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        let ratio = self.cusparse_ms.map_or("-".into(), |ms| format!("{:.2}", ms / self.ms));
        let part = self.copy_fraction.map_or("-".into(), |f| format!("{:.0} %", 100.0 * f));
        format!(
            "{:<20} {:<4} {:>4} {:>8.4} {:>9.4} {peer:>9} {ratio:>6} {} {:>9.1e} {:>12.0} {part:>8} {:>9.2}  {} {}; {}",
            self.graph,
            self.element,
            self.features,
            self.ms,
            self.graph_ms,
            front::columns(self.front.as_ref()),
            self.error,
            self.gathered_gb_s,
            self.build_ms,
            if self.chosen { '*' } else { ' ' },
            self.plan,
            self.layout
        )
    }
}

/// Plans beside the chosen one.
fn others(chosen: SpmmPlan) -> Vec<SpmmPlan> {
    let mut all = vec![SpmmPlan { form: SpmmForm::Records, lanes: 32, deep: false }];
    all.extend([1, 2].map(|buffers| SpmmPlan { form: SpmmForm::Staged { buffers }, lanes: 8, deep: false }));
    let forms = [SpmmForm::Rows, SpmmForm::Cells]
        .into_iter()
        .chain([128, 256, 512].into_iter().flat_map(|piece| [false, true].map(|hubs_first| SpmmForm::Tasks { piece, hubs_first })));
    for form in forms {
        for lanes in [8, 16, 32] {
            all.extend([false, true].map(|deep| SpmmPlan { form, lanes, deep }));
        }
    }
    all.retain(|p| *p != chosen);
    all
}

impl Bench<'_> {
    fn median_of(&self, mut once: impl FnMut() -> Result<f64>) -> Result<f64> {
        for _ in 0..3 {
            once()?;
        }
        Ok(median(&(0..self.options.repeat.max(1)).map(|_| once()).collect::<Result<Vec<_>>>()?))
    }
    fn seconds(&self, launches: Launches, work: &dyn Fn() -> bitgraph::cuda::Result<()>) -> Result<f64> {
        Ok(self.clock.seconds_of::<bitgraph::cuda::Error>(launches, work)?)
    }
    fn measure<T: Element>(&self, subject: &Subject<'_>, width: usize) -> Result<Vec<Measured>> {
        let (csr, device) = (subject.csr, &self.device);
        let host: Vec<T> = (0..csr.ncols() * width).map(|k| T::of(number(k))).collect();
        let x = device.upload(&host)?;
        let wanted: Vec<Vec<f64>> = subject
            .rows
            .iter()
            .map(|&i| {
                let mut sums = vec![0.0; width];
                for &j in csr.row(i) {
                    let row = &host[j as usize * width..(j as usize + 1) * width];
                    sums.iter_mut().zip(row).for_each(|(s, v)| *s += v.to());
                }
                sums
            })
            .collect();
        let difference = |found: &Buffer<T>| -> Result<f64> {
            let mut worst = 0f64;
            for (&i, row) in subject.rows.iter().zip(&wanted) {
                let found = found.range_to_vec(i * width..(i + 1) * width)?;
                let apart = found.iter().zip(row).map(|(y, w)| (y.to() - w).powi(2)).sum::<f64>().sqrt();
                let error = apart / row.iter().map(|w| w * w).sum::<f64>().sqrt().max(1e-30);
                let error = if row.iter().all(|&w| w == 0.0) { apart } else { error };
                worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
            }
            Ok(worst)
        };
        let mut peer: Option<f64> = None;
        for algorithm in SPMM_ALGORITHMS {
            let Some(other) = CusparseSpmm::new(device, &subject.lists, &x, width, algorithm)? else { continue };
            if difference(other.output())? <= T::TOLERANCE {
                let seconds = self.median_of(|| Ok(other.seconds(&self.clock, Launches::One)?))?;
                peer = Some(peer.map_or(seconds, |p| p.min(seconds)));
            }
        }
        let chosen = SpmmLayout::<T>::build(device, &subject.lists, width, false)?.context("offsets are 64 bits wide")?.plan();
        let mut plans = vec![chosen];
        if self.options.plans {
            plans.extend(others(chosen));
        }
        let mut seen = Vec::new();
        let mut all = Vec::new();
        let output = device.zeroed::<T>(csr.nrows() * width)?;
        for plan in plans {
            // Once before, so that loading the kernels is not counted.
            let build = || SpmmLayout::<T>::with_plan(device, &subject.lists, width, false, plan);
            drop(build()?);
            device.synchronize()?;
            let start = Instant::now();
            let layout = build()?.context("offsets are 64 bits wide")?;
            device.synchronize()?;
            let build_seconds = start.elapsed().as_secs_f64();
            if seen.contains(&layout.plan()) {
                continue;
            }
            seen.push(layout.plan());
            output.fill_bytes(0xff)?;
            let input = SpmmInput::of(&x);
            let work = || layout.run(&input, &output);
            work()?;
            let error = difference(&output)?;
            ensure!(error <= T::TOLERANCE, "a row differs from f64 by {error:e}: {}", layout.explain());
            let seconds = self.median_of(|| self.seconds(Launches::One, &work))?;
            let launches = Launches::Graph(if device.properties().emulated { 1 } else { GRAPH_LAUNCHES });
            let in_graph = self.median_of(|| self.seconds(launches, &work))?;
            let front = if plan == chosen { Some(self.front(subject, &host, &work, &difference)?) } else { None };
            let size = size_of::<T>() as u64;
            let (n, m, f) = (csr.nrows() as u64, csr.nnz() as u64, width as u64);
            let bytes = (4 * (n + m) + 2 * n * f * size) as f64;
            let explained = layout.explain();
            let measured = Measured {
                graph: subject.name.into(),
                nodes: csr.nrows(),
                edges: csr.nnz(),
                element: T::NAME,
                features: width,
                plan: layout.plan().to_string(),
                chosen: plan == chosen,
                layout: explained.split_once("; ").map_or(explained.clone(), |(_, rest)| rest.into()),
                build_ms: 1e3 * build_seconds,
                layout_bytes: layout.bytes(),
                ms: 1e3 * seconds,
                graph_ms: 1e3 * in_graph,
                cusparse_ms: peer.map(|s| 1e3 * s),
                front,
                error,
                gathered_gb_s: 1e-9 * (m * f * size) as f64 / seconds,
                copy_fraction: self.copy.map(|rate| bytes / rate / seconds),
            };
            println!("{}", measured.line());
            all.push(measured);
        }
        Ok(all)
    }
    /// The product through the front, compared like any other.
    fn front<T: Element>(
        &self,
        subject: &Subject<'_>,
        host: &[T],
        own: &dyn Fn() -> bitgraph::cuda::Result<()>,
        difference: &dyn Fn(&Buffer<T>) -> Result<f64>,
    ) -> Result<Front> {
        let (a, n) = (&subject.matrix, subject.csr.ncols());
        let x = Dense::from_slice(&self.cuda, n, host.len() / n, host)?;
        let y = RefCell::new(Dense::<Cuda, T>::zeros(&self.cuda, n, host.len() / n)?);
        let work = || spmm(a, &x).into(&mut *y.borrow_mut());
        work()?;
        let form = explain(spmm(a, &x).descriptor())?;
        let error = difference(&y.borrow().raw().bytes().cast())?;
        ensure!(error <= T::TOLERANCE, "a row differs from f64 by {error:e} through the front: {form}");
        front::timed(&self.device, &self.clock, self.options.repeat, form, &work, own)
    }
}
