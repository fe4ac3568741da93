//! `bitgraph-bench sddmm` and `gat`: sampled dot products and additive attention on a GPU, single launches by the device's clock.
//!
//! Invariant: nothing is timed before rows of its result agreed with sums of `f64`.

mod gat;
mod pair;

use crate::features::{self, Element, Measure, Subject};
use crate::front::{self, Front};
use crate::timing::{Bench, Work, percent};
use anyhow::{Result, bail, ensure};
use bitgraph::cuda::tensor::explain;
use bitgraph::cuda::tensor::forms::sddmm::SddmmLayout;
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::{Computation, Operation as Lazy, sddmm};
use bitgraph_measure::Launches;
use bitgraph_measure::cusparse::CusparseSddmm;
use serde::Serialize;
use std::cell::RefCell;
use std::cmp::Ordering::{Equal, Less};

/// Which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sampled dot products.
    Sddmm,
    /// Additive attention.
    Gat,
    /// Attention by dot products, cosines, and GATv2's sums.
    Pair,
}

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: cora, mesh200k, er100k, rmat17, grid1k, rmat21 for graphs of that kind and size; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["cora", "mesh200k", "er100k", "rmat17", "grid1k"])]
    graphs: Vec<String>,
    /// Heads, which cut the columns into equal blocks.
    #[arg(long, default_value_t = 1)]
    heads: usize,
    /// Times the backward pass, too.
    #[arg(long)]
    backward: bool,
    #[command(flatten)]
    common: features::Options,
}

/// One operation on one graph.
#[derive(Debug, Serialize)]
pub struct Measured {
    graph: String,
    nodes: usize,
    edges: usize,
    operation: &'static str,
    element: &'static str,
    features: usize,
    heads: usize,
    form: String,
    build_ms: f64,
    /// The median of single launches.
    ms: f64,
    /// The mean of a launch of 20 in one graph; its median.
    graph_ms: f64,
    /// cuSPARSE's median of single launches.
    cusparse_ms: Option<f64>,
    /// The same through the front of tensors.
    front: Option<Front>,
    /// The largest difference from `f64` beside the sum of the terms' sizes.
    error: f64,
    /// Bytes of gathered rows over the time, in GB/s.
    gathered_gb_s: f64,
    /// The time of copying every array once at this device's rate, over the time.
    copy_fraction: Option<f64>,
}

const SLOPE: f32 = 0.2;

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from `f64`.
pub fn run(operation: Operation, options: &Options) -> Result<()> {
    features::run(&Family { operation, options }, &options.graphs, &options.common)
}

struct Family<'a> {
    operation: Operation,
    options: &'a Options,
}

impl Measure for Family<'_> {
    type Line = Measured;
    const HEADER: [&'static str; 2] = [
        "graph                op            type    F  H       ms  graph ms  cusparse",
        "     error  gather GB/s  of copy  build ms  form",
    ];
    const CHECKED_ROWS: usize = 1500;

    fn name(&self) -> String {
        format!("{:?}", self.operation)
    }
    fn measure<T: Element>(&self, bench: &Bench<'_>, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let runner = Runner { bench, options: self.options };
        match self.operation {
            Operation::Sddmm => runner.sddmm::<T>(subject, columns).map(|m| vec![m]),
            Operation::Gat => runner.gat::<T>(subject, columns),
            Operation::Pair => runner.pair::<T>(subject, columns),
        }
    }
    fn line(line: &Measured) -> String {
        let peer = line.cusparse_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        let part = percent(line.copy_fraction);
        format!(
            "{:<20} {:<13} {:<4} {:>4} {:>2} {:>8.4} {:>9.4} {peer:>9} {} {:>9.1e} {:>12.0} {part:>8} {:>9.2}  {}",
            line.graph,
            line.operation,
            line.element,
            line.features,
            line.heads,
            line.ms,
            line.graph_ms,
            front::columns(line.front.as_ref()),
            line.error,
            line.gathered_gb_s,
            line.build_ms,
            line.form
        )
    }
}

/// What is known of a run before it is timed.
struct Run<'a> {
    operation: &'static str,
    form: String,
    build_seconds: f64,
    error: f64,
    peer: Option<f64>,
    /// Bytes of rows that are gathered, and of all arrays.
    gathered: u64,
    bytes: u64,
    work: Work<'a>,
    /// What runs through the front, and a call.
    front: (String, Work<'a>),
}

/// A device, and what is asked of it.
struct Runner<'a> {
    bench: &'a Bench<'a>,
    options: &'a Options,
}

impl Runner<'_> {
    fn timed<T: Element>(&self, subject: &Subject<'_>, columns: usize, run: &Run<'_>) -> Result<Measured> {
        let (seconds, in_graph) = self.bench.timed(run.work)?;
        let (form, call) = &run.front;
        let front = front::timed(self.bench, form.clone(), call, run.work)?;
        Ok(Measured {
            graph: subject.name.into(),
            nodes: subject.csr.nrows(),
            edges: subject.csr.nnz(),
            operation: run.operation,
            element: T::NAME,
            features: columns,
            heads: self.options.heads,
            form: run.form.clone(),
            build_ms: run.build_seconds * 1e3,
            ms: seconds * 1e3,
            graph_ms: in_graph * 1e3,
            cusparse_ms: run.peer.map(|s| s * 1e3),
            front: Some(front),
            error: run.error,
            gathered_gb_s: run.gathered as f64 / seconds / 1e9,
            copy_fraction: self.bench.copy_fraction(run.bytes, seconds),
        })
    }
    /// The result of attention through the front, which agrees with that of the form itself up to so many tolerances of numbers up to 1.
    fn agreed<T: Element, F>(&self, op: impl Fn() -> Lazy<F>, found: &[T], tolerances: f64) -> Result<RefCell<Dense<Cuda, T>>>
    where
        F: Computation<Backend = Cuda, Output = T>,
    {
        let y = op().eval()?;
        let there = y.to_host()?;
        ensure!(there.len() == found.len(), "through the front {} elements came, not {}", there.len(), found.len());
        let bound = tolerances * T::OF_TERMS;
        // A difference that is no number agrees with nothing.
        let apart = there
            .iter()
            .zip(found)
            .map(|(a, b)| (a.to() - b.to()).abs())
            .find(|apart| !matches!(apart.partial_cmp(&bound), Some(Less | Equal)));
        apart.map_or(Ok(RefCell::new(y)), |apart| bail!("through the front an element differs by {apart:e}, above {bound:e}"))
    }
    fn sddmm<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Measured> {
        let (csr, heads) = (&subject.csr, self.options.heads);
        let (x, left) = self.bench.features::<T>(csr.nrows(), columns, 1)?;
        let (y, right) = self.bench.features::<T>(csr.ncols(), columns, 2)?;
        let output = self.bench.device.zeroed::<T>(csr.nnz() * heads)?;
        let (layout, build_seconds) = self.bench.built(|| SddmmLayout::<T>::build(&self.bench.device, &subject.lists, columns, heads))?;
        let work = || layout.run(&left, &right, 1.0, &output);
        work()?;
        let difference = |found: &[T], heads: usize| {
            let (mut worst, width) = (0f64, columns / heads);
            for &i in &subject.rows {
                for (&j, k) in csr.row(i).iter().zip(csr.row_range(i)) {
                    for h in 0..heads {
                        let term = |c: usize| x[i * columns + c].to() * y[j as usize * columns + c].to();
                        let (sum, size) = (h * width..(h + 1) * width).map(term).fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                        let error = (found[k * heads + h].to() - sum).abs() / size.max(1e-30);
                        worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
                    }
                }
            }
            worst
        };
        let error = difference(&output.to_vec()?, heads);
        ensure!(error <= T::OF_TERMS, "differs from f64 by {error:e} of the terms: {}", layout.explain());
        let peer = if heads == 1 { CusparseSddmm::new(&self.bench.device, &subject.lists, &left, &right, columns)? } else { None };
        let peer = match peer {
            Some(peer) if difference(&peer.output().to_vec()?, 1) <= T::OF_TERMS => {
                Some(self.bench.median_of(|| Ok(peer.seconds(&self.bench.clock, Launches::One)?))?)
            }
            _ => None,
        };
        let (xd, yd) = (self.bench.dense(&x, columns)?, self.bench.dense(&y, columns)?);
        let op = || sddmm(&subject.matrix, &xd, &yd).heads(heads);
        let found = RefCell::new(Dense::<Cuda, T>::zeros(&self.bench.cuda, csr.nnz(), heads)?);
        let (form, front) = (explain(op().descriptor())?, || op().into(&mut *found.borrow_mut()));
        front()?;
        let apart = difference(&found.borrow().to_host()?, heads);
        ensure!(apart <= T::OF_TERMS, "differs from f64 by {apart:e} of the terms through the front: {form}");
        let size = size_of::<T>() as u64;
        let (n, m, f) = (csr.nrows() as u64, csr.nnz() as u64, columns as u64);
        let run = Run {
            operation: "sddmm",
            form: layout.explain(),
            build_seconds,
            error,
            peer,
            gathered: m * f * size,
            bytes: 4 * (n + m) + 2 * n * f * size + m * size * heads as u64,
            work: &work,
            front: (form, &front),
        };
        self.timed::<T>(subject, columns, &run)
    }
}

/// The largest difference of attention from `f64` beside the sizes of its terms, at some rows. Takes the score of an entry and a head.
fn attended<T: Element>(
    csr: &Csr,
    rows: &[usize],
    heads: usize,
    score: impl Fn(usize, usize, usize) -> f64,
    values: &[T],
    found: &[T],
) -> f64 {
    let (columns, mut error) = (values.len() / csr.ncols().max(1), 0f64);
    let width = columns / heads;
    for &i in rows {
        for h in 0..heads {
            let scores: Vec<f64> = csr.row(i).iter().map(|&j| score(i, j as usize, h)).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
            let total: f64 = powers.iter().sum();
            for c in h * width..(h + 1) * width {
                let terms = csr.row(i).iter().zip(&powers).map(|(&j, p)| p / total * values[j as usize * columns + c].to());
                let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                let apart = (found[i * columns + c].to() - sum).abs() / f64::max(size, 1e-30);
                error = if apart.is_nan() { f64::INFINITY } else { error.max(apart) };
            }
        }
    }
    error
}
