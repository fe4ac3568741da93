//! What the benches of operations over dense features share: options, element types, graphs, clocks, and the loop over all of them.
//!
//! Invariant: a measurement that fails is told, and the others are made all the same.

use crate::front;
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::{Buffer, Device};
use bitgraph::cuda::tensor::forms::Feature;
use bitgraph::cuda::tensor::forms::sddmm::Product;
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph_measure::limits::Limits;
use bitgraph_measure::{Clock, Launches, median};
use half::{bf16, f16};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Launches of one graph of launches.
const GRAPH_LAUNCHES: usize = 20;

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

/// The options that all these benches have.
#[derive(clap::Args, Debug)]
// The options around these are of that name, too, which a group must not share.
#[group(skip)]
pub struct Options {
    /// Columns of the features.
    #[arg(long, value_delimiter = ',', default_values = ["64", "128"])]
    features: Vec<usize>,
    /// Types of the features.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["f16", "f32"])]
    types: Vec<Type>,
    /// Single launches, whose median counts.
    #[arg(long, default_value_t = 31)]
    pub(crate) repeat: usize,
    /// The GPU's number.
    #[arg(long, default_value_t = 0)]
    device: u32,
    /// Writes the report to this file, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// A feature type with its way to and from `f64`.
pub(crate) trait Element: Feature + Product<Self> + bitgraph::tensor::Element<Real = f32, Output = Self> {
    /// The largest error of a sum beside the sum of its terms' sizes.
    const OF_TERMS: f64;
    /// The largest error of a row beside its length.
    const OF_ROW: f64;
    /// The smallest number above 0: what is smaller cannot be told from it, however small its terms.
    const SMALLEST: f64;
    fn of(x: f64) -> Self;
    fn to(self) -> f64;
}
macro_rules! elements {
    ($($t:ident $of_terms:expr, $of_row:expr, $smallest:expr, $of:expr, $to:expr;)*) => { $(
        impl Element for $t {
            const OF_TERMS: f64 = $of_terms;
            const OF_ROW: f64 = $of_row;
            const SMALLEST: f64 = $smallest;
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
    f16 1.5e-3, 1e-3, 1.0 / (1 << 24) as f64, f16::from_f64, f16::to_f64;
    bf16 1.2e-2, 8e-3, 1e-40, bf16::from_f64, bf16::to_f64;
    f32 2e-6, 2e-6, 2e-45, |x: f64| x as f32, f64::from;
}

/// Features by a hash of their place, from -1 to 1.
pub(crate) fn number(place: usize, seed: u64) -> f64 {
    let mut x = (place as u64).wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f64) / f64::from(1 << 23) - 1.0
}

/// A graph, on the device too, and the rows whose result is compared.
pub(crate) struct Subject<'a> {
    pub name: &'a str,
    pub csr: &'a Csr,
    pub lists: DeviceCsr,
    /// For calls through the front.
    pub matrix: Matrix<Cuda>,
    pub rows: Vec<usize>,
}

/// A device and its clocks.
pub(crate) struct Bench<'a> {
    pub cuda: Cuda,
    pub device: Device,
    pub clock: Clock,
    /// Bytes a second that this device copies, where it has a limit.
    pub copy: Option<f64>,
    pub options: &'a Options,
}

/// What is timed: a launch that does not wait.
pub(crate) type Work<'a> = &'a dyn Fn() -> bitgraph::cuda::Result<()>;

impl Bench<'_> {
    /// Pseudo-random features, here and on the device.
    pub fn features<T: Element>(&self, rows: usize, columns: usize, seed: u64) -> Result<(Vec<T>, Buffer<T>)> {
        let host: Vec<T> = (0..rows * columns).map(|k| T::of(number(k, seed))).collect();
        let there = self.device.upload(&host)?;
        Ok((host, there))
    }
    /// Features as the front takes them.
    pub fn dense<T: Element>(&self, host: &[T], columns: usize) -> Result<Dense<Cuda, T>> {
        Ok(Dense::from_slice(&self.cuda, host.len() / columns, columns, host)?)
    }
    /// The median of what `once` says, so many times.
    pub fn median_of(&self, mut once: impl FnMut() -> Result<f64>) -> Result<f64> {
        for _ in 0..3 {
            once()?;
        }
        Ok(median(&(0..self.options.repeat.max(1)).map(|_| once()).collect::<Result<Vec<_>>>()?))
    }
    fn seconds(&self, launches: Launches, work: Work<'_>) -> Result<f64> {
        Ok(self.clock.seconds_of::<bitgraph::cuda::Error>(launches, work)?)
    }
    /// Seconds of a single launch; the median.
    pub fn single(&self, work: Work<'_>) -> Result<f64> {
        self.median_of(|| self.seconds(Launches::One, work))
    }
    /// Seconds of a single launch, and of one among many in a graph of launches; medians.
    pub fn timed(&self, work: Work<'_>) -> Result<(f64, f64)> {
        let one = self.single(work)?;
        let launches = Launches::Graph(if self.device.properties().emulated { 1 } else { GRAPH_LAUNCHES });
        Ok((one, self.median_of(|| self.seconds(launches, work))?))
    }
    /// A layout, and the seconds of building it.
    pub fn built<L>(&self, build: impl Fn() -> bitgraph::cuda::Result<Option<L>>) -> Result<(L, f64)> {
        // The first one loads the kernels.
        drop(build()?);
        self.device.synchronize()?;
        let start = Instant::now();
        let layout = build()?.context("offsets are 64 bits wide")?;
        self.device.synchronize()?;
        Ok((layout, start.elapsed().as_secs_f64()))
    }
}

/// A family of operations that is measured.
pub(crate) trait Measure {
    /// A line of the report.
    type Line: Serialize;
    /// The heading of the table, before the columns of the front and after them.
    const HEADER: [&'static str; 2];
    /// Rows whose result is compared.
    const CHECKED_ROWS: usize;
    /// What an error names beside the graph.
    fn name(&self) -> String;
    fn measure<T: Element>(&self, bench: &Bench<'_>, subject: &Subject<'_>, columns: usize) -> Result<Vec<Self::Line>>;
    /// The line as the table prints it.
    fn line(line: &Self::Line) -> String;
}

/// Measures on every graph, given as its name and its source, and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from `f64`.
pub(crate) fn run<M: Measure>(family: &M, graphs: &[(&str, &str)], options: &Options) -> Result<()> {
    let cuda = Cuda::open(options.device)?;
    let device = cuda.device().clone();
    // Beyond the cache, for a rate of memory.
    let copied = if device.properties().emulated { 1 << 16 } else { 1 << 29 };
    let copy = Limits::measure(&device, copied).ok().map(|l| l.copy);
    let bench = Bench { clock: Clock::of(Some(&device)), cuda, device, copy, options };
    let (mut all, mut failed) = (Vec::new(), 0);
    println!("{}{}{}", M::HEADER[0], front::HEADER, M::HEADER[1]);
    for &(name, source) in graphs {
        let loaded = source.parse::<GraphSource>()?.load(&LoadOptions::default())?;
        let csr = &loaded.csr;
        ensure!(csr.is_square() && csr.nnz() > 0, "{name} is not a square matrix with entries");
        let step = csr.nrows().div_ceil(M::CHECKED_ROWS).max(1);
        let rows = (0..csr.nrows()).step_by(step).chain(csr.max_degree_row().map(|r| r as usize)).collect();
        let matrix = Matrix::new(&bench.cuda, csr, None, FormatKind::Csr)?;
        let subject = Subject { name, csr, lists: DeviceCsr::upload(&bench.device, csr)?, matrix, rows };
        for &columns in &options.features {
            for kind in &options.types {
                let found = match kind {
                    Type::F16 => family.measure::<f16>(&bench, &subject, columns),
                    Type::Bf16 => family.measure::<bf16>(&bench, &subject, columns),
                    Type::F32 => family.measure::<f32>(&bench, &subject, columns),
                };
                match found.with_context(|| format!("{} on {name}, {columns} columns of {kind:?}", family.name())) {
                    Ok(found) => {
                        found.iter().for_each(|line| println!("{}", M::line(line)));
                        all.extend(found);
                    }
                    Err(error) => {
                        eprintln!("{error:#}");
                        failed += 1;
                    }
                }
            }
        }
    }
    if let Some(path) = &options.json {
        let report = serde_json::json!({ "schema": 1, "device": bench.device.properties().name, "copy_bytes_per_second": bench.copy, "results": all });
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    ensure!(failed == 0, "{failed} measurements failed");
    Ok(())
}
