//! `bitgraph-bench bspmm`: sums of signs over the neighbours of a vertex on a GPU, single launches by the device's clock, beside cuSPARSE's
//! product with floats of the same width.
//!
//! Invariant: nothing is timed before rows of its result agreed with whole numbers of the host.

use crate::features::Subject;
use crate::timing::{self, Bench, percent};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::device::Buffer;
use bitgraph::cuda::tensor::bits::{AggregateForm, AggregatePlan, Aggregation, DeviceBits, Sum};
use bitgraph::cuda::tensor::forms::Feature;
use bitgraph_bittensor::{BitLayout, BitMatrix, Levels, Packing, Scales, TileShape};
use bitgraph_measure::Launches;
use bitgraph_measure::cusparse::{CusparseSpmm, SPMM_ALGORITHMS};
use half::f16;
use serde::Serialize;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: cora, mesh200k, er100k, rmat17, grid1k, rmat21 for graphs of that kind and size; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["cora", "mesh200k", "er100k", "rmat17", "grid1k"])]
    graphs: Vec<String>,
    /// Columns of the features.
    #[arg(long, value_delimiter = ',', default_values = ["64", "256", "1024"])]
    features: Vec<usize>,
    /// What comes out.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["signs"])]
    outputs: Vec<Kind>,
    /// Times other plans than the chosen one, too.
    #[arg(long)]
    plans: bool,
    /// Without cuSPARSE, whose features take 16 and 32 times the memory.
    #[arg(long)]
    no_peer: bool,
    #[command(flatten)]
    timing: timing::Options,
}

/// What sums become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Signs.
    Signs,
    /// Signs by a threshold of each column.
    Thresholds,
    /// Whole numbers of 16 bits.
    I16,
    /// Half precision.
    F16,
}

/// One sum by one plan.
#[derive(Debug, Serialize)]
pub struct Measured {
    graph: String,
    nodes: usize,
    edges: usize,
    features: usize,
    output: String,
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
    /// The best of cuSPARSE's algorithms with f16, and with f32; medians of single launches.
    cusparse_f16_ms: Option<f64>,
    cusparse_f32_ms: Option<f64>,
    /// Signs added a second, in 10^9.
    signs_g_s: f64,
    /// The time of copying every array once at this device's rate, over the time.
    copy_fraction: Option<f64>,
}

/// Rows whose result is compared.
const CHECKED_ROWS: usize = 500;

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from the host's.
pub fn run(options: &Options) -> Result<()> {
    let runner = Runner { bench: Bench::open(&options.timing)?, options };
    let mut all = Vec::new();
    println!("{HEADER}");
    for name in &options.graphs {
        let subject = Subject::load(&runner.bench, name, CHECKED_ROWS)?;
        for &width in &options.features {
            all.extend(runner.measure(&subject, width).with_context(|| format!("{name}, {width} columns"))?);
        }
    }
    runner.bench.report(&all)
}

const HEADER: &str =
    "graph                output        F       ms  graph ms  cusparse f16/f32     ratio  G signs/s  of copy  build ms    plan (* chosen)";

impl Measured {
    fn line(&self) -> String {
        let shown = |ms: Option<f64>| ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        let ratio = self.cusparse_f16_ms.map_or("-".into(), |ms| format!("{:.1}", ms / self.ms));
        let part = percent(self.copy_fraction);
        format!(
            "{:<20} {:<10} {:>4} {:>8.4} {:>9.4} {:>8}/{:<8} {ratio:>9} {:>10.0} {part:>8} {:>9.2}  {} {}; {}",
            self.graph,
            self.output,
            self.features,
            self.ms,
            self.graph_ms,
            shown(self.cusparse_f16_ms),
            shown(self.cusparse_f32_ms),
            self.signs_g_s,
            self.build_ms,
            if self.chosen { '*' } else { ' ' },
            self.plan,
            self.layout
        )
    }
}

/// Signs by a hash of their place.
fn signs(rows: usize, columns: usize) -> Result<BitMatrix> {
    let layout = BitLayout::new(rows, columns, Packing::Rows, TileShape::WORD)?;
    let (full, rest) = (columns / 32, columns % 32);
    let word = |k: usize| {
        let mut x = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mask = if k % layout.stride() < full { !0 } else { (1u32 << rest) - 1 };
        (x ^ x >> 29) as u32 & mask
    };
    let words: Vec<u32> = (0..layout.words()).map(word).collect();
    Ok(BitMatrix::from_words(layout, Levels::Signs, words.into(), Scales::None)?)
}

/// Plans beside the chosen one.
fn others(chosen: AggregatePlan) -> Vec<AggregatePlan> {
    let rows = [1, 2, 4, 8].map(|lanes| AggregateForm::Rows { lanes });
    let classes = [false, true].map(|many| AggregateForm::Classes { many });
    let all = rows.into_iter().chain(classes).chain([AggregateForm::Strips, AggregateForm::Window]).map(|form| AggregatePlan { form });
    all.filter(|p| *p != chosen).collect()
}

/// A device, and what is asked of it.
struct Runner<'a> {
    bench: Bench<'a>,
    options: &'a Options,
}

impl Runner<'_> {
    fn peer<T: Feature>(&self, subject: &Subject<'_>, width: usize) -> Result<Option<f64>> {
        if self.options.no_peer || self.bench.device.properties().emulated {
            return Ok(None);
        }
        let x = self.bench.device.upload(&vec![T::ONE; subject.csr.ncols() * width])?;
        let mut best: Option<f64> = None;
        for algorithm in SPMM_ALGORITHMS {
            let Some(other) = CusparseSpmm::new(&self.bench.device, &subject.lists, &x, width, algorithm)? else { continue };
            let ms = 1e3 * self.bench.median_of(|| Ok(other.seconds(&self.bench.clock, Launches::One)?))?;
            best = Some(best.map_or(ms, |p| p.min(ms)));
        }
        Ok(best)
    }
    fn measure(&self, subject: &Subject<'_>, width: usize) -> Result<Vec<Measured>> {
        let (csr, device) = (&subject.csr, &self.bench.device);
        let host = signs(csr.ncols(), width)?;
        let x = DeviceBits::upload(device, &host)?;
        let thresholds: Vec<i32> = (0..width).map(|f| f as i32 % 7 - 3).collect();
        let limits = device.upload(&thresholds)?;
        let wanted: Vec<Vec<i32>> = subject
            .rows
            .iter()
            .map(|&i| {
                let mut sums = vec![0i32; width];
                for &j in csr.row(i) {
                    let line = host.line(j as usize);
                    sums.iter_mut().enumerate().for_each(|(f, s)| *s += 2 * (line[f / 32] >> (f % 32) & 1) as i32 - 1);
                }
                sums
            })
            .collect();
        let (half, single) = (self.peer::<f16>(subject, width)?, self.peer::<f32>(subject, width)?);
        let chosen = Aggregation::build(device, &subject.lists, host.layout(), false)?.context("offsets are 64 bits wide")?.plan();
        let mut plans = vec![chosen];
        if self.options.plans {
            plans.extend(others(chosen));
        }
        let mut seen = Vec::new();
        let mut all = Vec::new();
        for plan in plans {
            let (layout, build_seconds) =
                self.bench.built(|| Aggregation::with_plan(device, &subject.lists, host.layout(), false, plan))?;
            if seen.contains(&layout.plan()) {
                continue;
            }
            seen.push(layout.plan());
            let folded = layout.thresholds(&limits, None)?;
            let (y, sums, halves) = (
                DeviceBits::zeroed(device, *layout.results(), Levels::Signs)?,
                device.zeroed::<i16>(csr.nrows() * width)?,
                device.zeroed::<f16>(csr.nrows() * width)?,
            );
            for &kind in &self.options.outputs {
                y.words().fill_bytes(0xff)?;
                let work = || match kind {
                    Kind::Signs => layout.signs(&x, None, &y),
                    Kind::Thresholds => layout.signs(&x, Some(&folded), &y),
                    Kind::I16 => layout.sums::<i16>(&x, None, &sums),
                    Kind::F16 => layout.sums::<f16>(&x, None, &halves),
                };
                work()?;
                let limit = |f: usize| if kind == Kind::Thresholds { thresholds[f] } else { 0 };
                for (&i, row) in subject.rows.iter().zip(&wanted) {
                    let agrees = match kind {
                        Kind::Signs | Kind::Thresholds => {
                            let stride = layout.results().stride();
                            let found = y.words().range_to_vec(i * stride..(i + 1) * stride)?;
                            row.iter().enumerate().all(|(f, &s)| (found[f / 32] >> (f % 32) & 1 != 0) == (s >= limit(f)))
                        }
                        Kind::I16 => same(&sums, i, row, |s| s as i16)?,
                        Kind::F16 => same(&halves, i, row, |s| f16::from_f32(s as f32))?,
                    };
                    ensure!(agrees, "row {i} differs from the host's: {}", layout.explain());
                }
                let (seconds, in_graph) = self.bench.timed(&work)?;
                let out = match kind {
                    Kind::Signs | Kind::Thresholds => y.bytes(),
                    Kind::I16 | Kind::F16 => sums.bytes(),
                };
                let bytes = (4 * (csr.nrows() + csr.nnz())) as u64 + x.bytes() + out;
                let explained = layout.explain();
                let measured = Measured {
                    graph: subject.name.into(),
                    nodes: csr.nrows(),
                    edges: csr.nnz(),
                    features: width,
                    output: format!("{kind:?}").to_lowercase(),
                    plan: layout.plan().to_string(),
                    chosen: plan == chosen,
                    layout: explained.split_once("; ").map_or(explained.clone(), |(_, rest)| rest.into()),
                    build_ms: 1e3 * build_seconds,
                    layout_bytes: layout.bytes(),
                    ms: 1e3 * seconds,
                    graph_ms: 1e3 * in_graph,
                    cusparse_f16_ms: half,
                    cusparse_f32_ms: single,
                    signs_g_s: 1e-9 * (csr.nnz() * width) as f64 / seconds,
                    copy_fraction: self.bench.copy_fraction(bytes, seconds),
                };
                println!("{}", measured.line());
                all.push(measured);
            }
        }
        Ok(all)
    }
}

fn same<T: Sum + PartialEq>(found: &Buffer<T>, row: usize, wanted: &[i32], of: impl Fn(i32) -> T) -> Result<bool> {
    let found = found.range_to_vec(row * wanted.len()..(row + 1) * wanted.len())?;
    Ok(found.iter().zip(wanted).all(|(f, &s)| *f == of(s)))
}
