//! `bitgraph-bench spmm`: a sparse matrix times dense features on a GPU, single launches by the device's clock, beside cuSPARSE.
//!
//! Invariant: nothing is timed before rows of its result agreed with sums of `f64`.

use crate::features::{self, Element, Measure, Subject};
use crate::front::{self, Front};
use crate::timing::{Bench, Work, percent};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::device::Buffer;
use bitgraph::cuda::tensor::explain;
use bitgraph::cuda::tensor::forms::spmm::{SpmmForm, SpmmInput, SpmmLayout, SpmmPlan};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::{FeaturePrecision, spmm};
use bitgraph_measure::Launches;
use bitgraph_measure::cusparse::{CusparseSpmm, SPMM_ALGORITHMS};
use serde::Serialize;
use std::cell::RefCell;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: cora, mesh200k, er100k, rmat17, grid1k, rmat21 for graphs of that kind and size; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["cora", "mesh200k", "er100k", "rmat17", "grid1k"])]
    graphs: Vec<String>,
    /// Times other plans than the chosen one, too.
    #[arg(long)]
    plans: bool,
    #[command(flatten)]
    common: features::Options,
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
    pub(crate) plan: String,
    /// Whether it is what the library chooses.
    chosen: bool,
    layout: String,
    pub(crate) build_ms: f64,
    layout_bytes: u64,
    /// The median of single launches.
    pub(crate) ms: f64,
    /// The mean of a launch of 20 in one graph; its median.
    pub(crate) graph_ms: f64,
    /// The best of cuSPARSE's algorithms, the median of single launches.
    pub(crate) cusparse_ms: Option<f64>,
    /// The chosen plan's product through the front of tensors.
    front: Option<Front>,
    /// The same of `f32` at tf32's error, where a form makes use of it.
    tf32_ms: Option<f64>,
    /// The largest distance of a row from `f64` beside its length, in the Euclidean norm.
    error: f64,
    /// Bytes of gathered rows over the time, in GB/s.
    gathered_gb_s: f64,
    /// The time of copying every array once at this device's rate, over the time.
    copy_fraction: Option<f64>,
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from `f64`.
pub fn run(options: &Options) -> Result<()> {
    features::run(&Family { plans: options.plans }, &options.graphs, &options.common)
}

/// The chosen plan's product of one width.
pub(crate) fn measure<T: Element>(bench: &Bench<'_>, subject: &Subject<'_>, width: usize) -> Result<Measured> {
    Family { plans: false }.measure::<T>(bench, subject, width)?.pop().context("no plan was measured")
}

struct Family {
    /// Whether other plans than the chosen one are timed, too.
    plans: bool,
}

/// Plans beside the chosen one.
fn others(chosen: SpmmPlan) -> Vec<SpmmPlan> {
    let mut all = vec![SpmmPlan { form: SpmmForm::Records, lanes: 32, deep: false }];
    all.extend([1, 2].map(|buffers| SpmmPlan { form: SpmmForm::Staged { buffers }, lanes: 8, deep: false }));
    let tasks = [32, 64, 96, 128, 160, 192, 256, 384, 512].into_iter().map(|piece| SpmmForm::Tasks { piece });
    for form in [SpmmForm::Rows].into_iter().chain(tasks) {
        for lanes in [chosen.lanes.min(4), 8, 16, 32] {
            all.extend([false, true].map(|deep| SpmmPlan { form, lanes, deep }));
        }
    }
    all.retain(|p| *p != chosen);
    all
}

impl Measure for Family {
    type Line = Measured;
    const HEADER: [&'static str; 2] = [
        "graph                type    F       ms  graph ms  cusparse  ratio",
        "     tf32     error  gather GB/s  of copy  build ms    plan (* chosen)",
    ];
    const CHECKED_ROWS: usize = 500;

    fn name(&self) -> String {
        "the product".into()
    }
    fn measure<T: Element>(&self, bench: &Bench<'_>, subject: &Subject<'_>, width: usize) -> Result<Vec<Measured>> {
        let (csr, device) = (&subject.csr, &bench.device);
        let (host, x) = bench.features::<T>(csr.ncols(), width, 0)?;
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
            if difference(other.output())? <= T::OF_ROW {
                let seconds = bench.median_of(|| Ok(other.seconds(&bench.clock, Launches::One)?))?;
                peer = Some(peer.map_or(seconds, |p| p.min(seconds)));
            }
        }
        let chosen = SpmmLayout::<T>::build(device, &subject.lists, width, false)?.context("offsets are 64 bits wide")?.plan();
        let mut plans = vec![chosen];
        if self.plans {
            plans.extend(others(chosen));
        }
        let mut seen = Vec::new();
        let mut all = Vec::new();
        let output = device.zeroed::<T>(csr.nrows() * width)?;
        for plan in plans {
            let (layout, build_seconds) = bench.built(|| SpmmLayout::<T>::with_plan(device, &subject.lists, width, false, plan))?;
            if seen.contains(&layout.plan()) {
                continue;
            }
            seen.push(layout.plan());
            output.fill_bytes(0xff)?;
            let input = SpmmInput::of(&x);
            let work = || layout.run(&input, &output);
            work()?;
            let error = difference(&output)?;
            ensure!(error <= T::OF_ROW, "a row differs from f64 by {error:e}: {}", layout.explain());
            let (seconds, in_graph) = bench.timed(&work)?;
            let (front, tf32) = match plan == chosen {
                true => (Some(front(bench, subject, &host, &work, &difference)?), at_tf32(bench, subject, &host, &difference)?),
                false => (None, None),
            };
            let size = size_of::<T>() as u64;
            let (n, m, f) = (csr.nrows() as u64, csr.nnz() as u64, width as u64);
            let bytes = 4 * (n + m) + 2 * n * f * size;
            let explained = layout.explain();
            all.push(Measured {
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
                tf32_ms: tf32.map(|s| 1e3 * s),
                error,
                gathered_gb_s: 1e-9 * (m * f * size) as f64 / seconds,
                copy_fraction: bench.copy_fraction(bytes, seconds),
            });
        }
        Ok(all)
    }
    fn line(line: &Measured) -> String {
        let peer = line.cusparse_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        let ratio = line.cusparse_ms.map_or("-".into(), |ms| format!("{:.2}", ms / line.ms));
        let (part, tf32) = (percent(line.copy_fraction), line.tf32_ms.map_or("-".into(), |ms| format!("{ms:.4}")));
        format!(
            "{:<20} {:<4} {:>4} {:>8.4} {:>9.4} {peer:>9} {ratio:>6} {} {tf32:>8} {:>9.1e} {:>12.0} {part:>8} {:>9.2}  {} {}; {}",
            line.graph,
            line.element,
            line.features,
            line.ms,
            line.graph_ms,
            front::columns(line.front.as_ref()),
            line.error,
            line.gathered_gb_s,
            line.build_ms,
            if line.chosen { '*' } else { ' ' },
            line.plan,
            line.layout
        )
    }
}

/// The product through the front, compared like any other.
fn front<T: Element>(
    bench: &Bench<'_>,
    subject: &Subject<'_>,
    host: &[T],
    own: Work<'_>,
    difference: &dyn Fn(&Buffer<T>) -> Result<f64>,
) -> Result<Front> {
    let (a, n) = (&subject.matrix, subject.csr.ncols());
    let width = host.len() / n;
    let x = bench.dense(host, width)?;
    let y = RefCell::new(Dense::<Cuda, T>::zeros(&bench.cuda, n, width)?);
    let work = || spmm(a, &x).into(&mut *y.borrow_mut());
    work()?;
    let form = explain(spmm(a, &x).descriptor())?;
    let error = difference(&y.borrow().raw().bytes().cast())?;
    ensure!(error <= T::OF_ROW, "a row differs from f64 by {error:e} through the front: {form}");
    front::timed(bench, form, &work, own)
}

/// The largest error of a row of sums at tf32's error beside its length: 2^-11 of every term.
const TF32_OF_ROW: f64 = 5e-4;

/// Seconds of the product through the front at tf32's error, compared like any other; none where no form makes use of it.
fn at_tf32<T: Element>(
    bench: &Bench<'_>,
    subject: &Subject<'_>,
    host: &[T],
    difference: &dyn Fn(&Buffer<T>) -> Result<f64>,
) -> Result<Option<f64>> {
    let (a, n) = (&subject.matrix, subject.csr.ncols());
    let x = bench.dense(host, host.len() / n)?;
    let op = || spmm(a, &x).feature_precision(FeaturePrecision::Tf32);
    let form = explain(op().descriptor())?;
    if form == explain(spmm(a, &x).descriptor())? {
        return Ok(None);
    }
    let y = RefCell::new(Dense::<Cuda, T>::zeros(&bench.cuda, n, x.ncols())?);
    let work = || op().into(&mut *y.borrow_mut());
    work()?;
    let error = difference(&y.borrow().raw().bytes().cast())?;
    ensure!(error <= TF32_OF_ROW, "a row differs from f64 by {error:e} at tf32's error: {form}");
    Ok(Some(bench.single(&work)?))
}
