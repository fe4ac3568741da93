//! `bitgraph-bench sddmm` and `gat`: sampled dot products and additive attention on a GPU, single launches by the device's clock.
//!
//! Invariant: nothing is timed before rows of its result agreed with sums of `f64`.

use crate::front::{self, Front};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::{Buffer, Device};
use bitgraph::cuda::tensor::forms::Feature;
use bitgraph::cuda::tensor::forms::attention::{
    GatBackwardLayout, GatGiven, GatGradients, GatInput, GatLayout, PairInput, PairLayout, PairScore,
};
use bitgraph::cuda::tensor::forms::sddmm::{Product, SddmmLayout};
use bitgraph::cuda::tensor::{explain, explain_gradient};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::{Computation, Operation as Lazy, agnn, dot_attention, gat, gat_v2, sddmm};
use bitgraph_measure::cusparse::CusparseSddmm;
use bitgraph_measure::limits::Limits;
use bitgraph_measure::{Clock, Launches, median};
use half::{bf16, f16};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

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
    /// Graphs: generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["skew:2708:5500", "mesh:50x50x80", "urand:100000:16", "kron:17", "grid:1000x1000"])]
    graphs: Vec<String>,
    /// Columns of the features.
    #[arg(long, value_delimiter = ',', default_values = ["64", "128"])]
    features: Vec<usize>,
    /// Types of the features.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["f16", "f32"])]
    types: Vec<Type>,
    /// Heads, which cut the columns into equal blocks.
    #[arg(long, default_value_t = 1)]
    heads: usize,
    /// Times the backward pass, too.
    #[arg(long)]
    backward: bool,
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

/// Rows whose result is compared.
const CHECKED_ROWS: usize = 1500;
/// Launches of one graph.
const GRAPH_LAUNCHES: usize = 20;
const SLOPE: f32 = 0.2;

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
fn number(place: usize, seed: u64) -> f64 {
    let mut x = (place as u64).wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f64) / f64::from(1 << 23) - 1.0
}

/// A feature type with its way to and from `f64`.
trait Element: Feature + Product<Self> + bitgraph::tensor::Element<Real = f32, Output = Self> {
    /// The largest error beside the sum of the terms' sizes.
    const TOLERANCE: f64;
    /// The smallest number above 0: what is smaller cannot be told from it, however small its terms.
    const SMALLEST: f64;
    fn of(x: f64) -> Self;
    fn to(self) -> f64;
}
impl Element for f16 {
    const TOLERANCE: f64 = 1.5e-3;
    const SMALLEST: f64 = 1.0 / (1 << 24) as f64;
    fn of(x: f64) -> Self {
        Self::from_f64(x)
    }
    fn to(self) -> f64 {
        self.to_f64()
    }
}
impl Element for bf16 {
    const TOLERANCE: f64 = 1.2e-2;
    const SMALLEST: f64 = 1e-40;
    fn of(x: f64) -> Self {
        Self::from_f64(x)
    }
    fn to(self) -> f64 {
        self.to_f64()
    }
}
impl Element for f32 {
    const TOLERANCE: f64 = 2e-6;
    const SMALLEST: f64 = 2e-45;
    fn of(x: f64) -> Self {
        x as f32
    }
    fn to(self) -> f64 {
        f64::from(self)
    }
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a graph that cannot be loaded, a result that differs from `f64`.
pub fn run(operation: Operation, options: &Options) -> Result<()> {
    let cuda = Cuda::open(options.device)?;
    let device = cuda.device().clone();
    // Beyond the cache, for a rate of memory.
    let copied = if device.properties().emulated { 1 << 16 } else { 1 << 29 };
    let copy = Limits::measure(&device, copied).ok().map(|l| l.copy);
    let bench = Bench { clock: Clock::of(Some(&device)), cuda, device, copy, options };
    let (mut all, mut failed) = (Vec::new(), 0);
    println!("{}{}{}", HEADER[0], front::HEADER, HEADER[1]);
    for name in &options.graphs {
        let loaded = name.parse::<GraphSource>()?.load(&LoadOptions::default())?;
        let csr = &loaded.csr;
        ensure!(csr.is_square() && csr.nnz() > 0, "{name} is not a square matrix with entries");
        let step = csr.nrows().div_ceil(CHECKED_ROWS).max(1);
        let rows = (0..csr.nrows()).step_by(step).chain(csr.max_degree_row().map(|r| r as usize)).collect();
        let matrix = Matrix::new(&bench.cuda, csr, None, FormatKind::Csr)?;
        let subject = Subject { name, csr, lists: DeviceCsr::upload(&bench.device, csr)?, matrix, rows };
        for &features in &options.features {
            for kind in &options.types {
                let found = match kind {
                    Type::F16 => bench.measure::<f16>(operation, &subject, features),
                    Type::Bf16 => bench.measure::<bf16>(operation, &subject, features),
                    Type::F32 => bench.measure::<f32>(operation, &subject, features),
                };
                match found.with_context(|| format!("{operation:?} on {name}, {features} columns of {kind:?}")) {
                    Ok(found) => {
                        found.iter().for_each(|measured| println!("{}", measured.line()));
                        all.extend(found);
                    }
                    // The others are measured all the same.
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

const HEADER: [&str; 2] =
    ["graph                op            type    F  H       ms  graph ms  cusparse", "     error  gather GB/s  of copy  build ms  form"];

impl Measured {
    fn line(&self) -> String {
        let peer = self.cusparse_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        let part = self.copy_fraction.map_or("-".into(), |f| format!("{:.0} %", 100.0 * f));
        format!(
            "{:<20} {:<13} {:<4} {:>4} {:>2} {:>8.4} {:>9.4} {peer:>9} {} {:>9.1e} {:>12.0} {part:>8} {:>9.2}  {}",
            self.graph,
            self.operation,
            self.element,
            self.features,
            self.heads,
            self.ms,
            self.graph_ms,
            front::columns(self.front.as_ref()),
            self.error,
            self.gathered_gb_s,
            self.build_ms,
            self.form
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
type Work<'a> = &'a dyn Fn() -> bitgraph::cuda::Result<()>;

impl Bench<'_> {
    fn measure<T: Element>(&self, operation: Operation, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        match operation {
            Operation::Sddmm => self.sddmm::<T>(subject, columns).map(|m| vec![m]),
            Operation::Gat => self.gat::<T>(subject, columns),
            Operation::Pair => self.pair::<T>(subject, columns),
        }
    }
    fn features<T: Element>(&self, rows: usize, columns: usize, seed: u64) -> Result<(Vec<T>, Buffer<T>)> {
        let host: Vec<T> = (0..rows * columns).map(|k| T::of(number(k, seed))).collect();
        let there = self.device.upload(&host)?;
        Ok((host, there))
    }
    fn dense<T: Element>(&self, host: &[T], columns: usize) -> Result<Dense<Cuda, T>> {
        Ok(Dense::from_slice(&self.cuda, host.len() / columns, columns, host)?)
    }
    fn median_of(&self, mut once: impl FnMut() -> Result<f64>) -> Result<f64> {
        for _ in 0..3 {
            once()?;
        }
        Ok(median(&(0..self.options.repeat.max(1)).map(|_| once()).collect::<Result<Vec<_>>>()?))
    }
    fn seconds(&self, launches: Launches, work: &dyn Fn() -> bitgraph::cuda::Result<()>) -> Result<f64> {
        Ok(self.clock.seconds_of::<bitgraph::cuda::Error>(launches, work)?)
    }
    fn timed<T: Element>(&self, subject: &Subject<'_>, columns: usize, run: &Run<'_>) -> Result<Measured> {
        let seconds = self.median_of(|| self.seconds(Launches::One, run.work))?;
        let launches = Launches::Graph(if self.device.properties().emulated { 1 } else { GRAPH_LAUNCHES });
        let in_graph = self.median_of(|| self.seconds(launches, run.work))?;
        let (form, call) = &run.front;
        let front = front::timed(&self.device, &self.clock, self.options.repeat, form.clone(), call, run.work)?;
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
            copy_fraction: self.copy.map(|rate| run.bytes as f64 / rate / seconds),
        })
    }
    /// The result of attention through the front, which agrees with that of the form itself up to so many tolerances of numbers up to 1.
    fn agreed<T: Element, F>(&self, op: impl Fn() -> Lazy<F>, found: &[T], tolerances: f64) -> Result<RefCell<Dense<Cuda, T>>>
    where
        F: Computation<Backend = Cuda, Output = T>,
    {
        let y = op().eval()?;
        let apart = y.to_host()?.iter().zip(found).map(|(a, b)| (a.to() - b.to()).abs()).fold(0.0, f64::max);
        ensure!(apart <= tolerances * T::TOLERANCE, "through the front elements differ by {apart:e} from the form's");
        Ok(RefCell::new(y))
    }
    fn built<L>(&self, build: impl Fn() -> bitgraph::cuda::Result<Option<L>>) -> Result<(L, f64)> {
        // The first one loads the kernels.
        drop(build()?);
        self.device.synchronize()?;
        let start = Instant::now();
        let layout = build()?.context("offsets are 64 bits wide")?;
        self.device.synchronize()?;
        Ok((layout, start.elapsed().as_secs_f64()))
    }
    fn sddmm<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Measured> {
        let (csr, heads) = (subject.csr, self.options.heads);
        let (x, left) = self.features::<T>(csr.nrows(), columns, 1)?;
        let (y, right) = self.features::<T>(csr.ncols(), columns, 2)?;
        let output = self.device.zeroed::<T>(csr.nnz() * heads)?;
        let (layout, build_seconds) = self.built(|| SddmmLayout::<T>::build(&self.device, &subject.lists, columns, heads))?;
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
        ensure!(error <= T::TOLERANCE, "differs from f64 by {error:e} of the terms: {}", layout.explain());
        let peer = if heads == 1 { CusparseSddmm::new(&self.device, &subject.lists, &left, &right, columns)? } else { None };
        let peer = match peer {
            Some(peer) if difference(&peer.output().to_vec()?, 1) <= T::TOLERANCE => {
                Some(self.median_of(|| Ok(peer.seconds(&self.clock, Launches::One)?))?)
            }
            _ => None,
        };
        let (xd, yd) = (self.dense(&x, columns)?, self.dense(&y, columns)?);
        let op = || sddmm(&subject.matrix, &xd, &yd).heads(heads);
        let found = RefCell::new(Dense::<Cuda, T>::zeros(&self.cuda, csr.nnz(), heads)?);
        let (form, front) = (explain(op().descriptor())?, || op().into(&mut *found.borrow_mut()));
        front()?;
        let apart = difference(&found.borrow().to_host()?, heads);
        ensure!(apart <= T::TOLERANCE, "differs from f64 by {apart:e} of the terms through the front: {form}");
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
    fn gat<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let (csr, heads) = (subject.csr, self.options.heads);
        let (n, width) = (csr.nrows(), columns / heads.max(1));
        let (v, values) = self.features::<T>(csr.ncols(), columns, 1)?;
        let scores = |n: usize, seed| -> Result<(Vec<f32>, Buffer<f32>)> {
            let host: Vec<f32> = (0..n * heads).map(|k| 2.0 * number(k, seed) as f32).collect();
            let there = self.device.upload(&host)?;
            Ok((host, there))
        };
        let ((l, left), (r, right)) = (scores(n, 3)?, scores(csr.ncols(), 4)?);
        let (output, lse) = (self.device.zeroed::<T>(n * columns)?, self.device.zeroed::<f32>(n * heads)?);
        let (layout, build_seconds) = self.built(|| GatLayout::<T>::build(&self.device, &subject.lists, columns, heads))?;
        let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE };
        let work = || layout.forward(input, &output, Some(&lse));
        work()?;
        let found = output.to_vec()?;
        let mut error = 0f64;
        for &i in &subject.rows {
            for h in 0..heads {
                let score = |j: usize| {
                    let z = f64::from(l[i * heads + h]) + f64::from(r[j * heads + h]);
                    if z > 0.0 { z } else { f64::from(SLOPE) * z }
                };
                let scores: Vec<f64> = csr.row(i).iter().map(|&j| score(j as usize)).collect();
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let powers: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
                let total: f64 = powers.iter().sum();
                for c in h * width..(h + 1) * width {
                    let terms = csr.row(i).iter().zip(&powers).map(|(&j, p)| p / total * v[j as usize * columns + c].to());
                    let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                    let apart = (found[i * columns + c].to() - sum).abs() / f64::max(size, 1e-30);
                    error = if apart.is_nan() { f64::INFINITY } else { error.max(apart) };
                }
            }
        }
        ensure!(error <= f64::max(2.0 * T::TOLERANCE, 1e-5), "differs from f64 by {error:e} of the terms: {}", layout.explain());
        let (ld, rd) = (Dense::from_slice(&self.cuda, n, heads, &l)?, Dense::from_slice(&self.cuda, csr.ncols(), heads, &r)?);
        let vd = self.dense(&v, columns)?;
        let op = || gat(&subject.matrix, &ld, &rd, &vd, f64::from(SLOPE));
        let form = explain(op().descriptor())?;
        let y = self.agreed(op, &found, 4.0)?;
        let front = || op().into(&mut *y.borrow_mut());
        let size = size_of::<T>() as u64;
        let (nodes, m, f) = (n as u64, csr.nnz() as u64, columns as u64);
        let run = Run {
            operation: "gat forward",
            form: layout.explain(),
            build_seconds,
            error,
            peer: None,
            gathered: m * f * size,
            bytes: 4 * (nodes + m) + 2 * nodes * f * size + 12 * nodes * heads as u64,
            work: &work,
            front: (form, &front),
        };
        let mut all = vec![self.timed::<T>(subject, columns, &run)?];
        if self.options.backward {
            let (dy, gradient) = self.features::<T>(n, columns, 5)?;
            let rows = Rows { l: &l, r: &r, v: &v, dy: &dy };
            let given = GatGiven { output: Some(&output), lse: &lse, gradient: &gradient };
            let (lse, dy) = (Dense::from_slice(&self.cuda, n, heads, &lse.to_vec()?)?, self.dense(&dy, columns)?);
            let gradient = op();
            let call = || gradient.gradient_from(&y.borrow(), &lse, &dy).map(drop);
            let front = (explain_gradient(gradient.descriptor())?, &call as Work<'_>);
            call()?;
            all.push(self.gat_backward::<T>(subject, columns, input, given, (&rows, front))?);
        }
        Ok(all)
    }
    fn gat_backward<T: Element>(
        &self,
        subject: &Subject<'_>,
        columns: usize,
        input: GatInput<'_, T>,
        given: GatGiven<'_, T>,
        (rows, front): (&Rows<'_, T>, (String, Work<'_>)),
    ) -> Result<Measured> {
        let (csr, heads, device) = (subject.csr, self.options.heads, &self.device);
        let (n, m) = (csr.nrows(), csr.ncols());
        let (left, right) = (device.zeroed::<f32>(n * heads)?, device.zeroed::<f32>(m * heads)?);
        let values = device.zeroed::<T>(m * columns)?;
        let (layout, build_seconds) = self.built(|| GatBackwardLayout::<T>::build(device, &subject.lists, columns, heads))?;
        let work = || layout.backward(input, given, GatGradients { left: &left, right: &right, values: &values });
        work()?;
        let error = rows.difference(csr, columns, heads, &given.lse.to_vec()?, &left.to_vec()?, &right.to_vec()?, &values.to_vec()?);
        ensure!(
            error <= f64::max(4.0 * T::TOLERANCE, 2e-5),
            "the gradient differs from f64 by {error:e} of the terms: {}",
            layout.explain()
        );
        let size = size_of::<T>() as u64;
        let (nodes, entries, f) = (n as u64, csr.nnz() as u64, columns as u64);
        let run = Run {
            operation: "gat backward",
            form: layout.explain(),
            build_seconds,
            error,
            peer: None,
            gathered: entries * f * size,
            bytes: 4 * (nodes + entries) + 5 * nodes * f * size + (12 * entries + 48 * nodes) * heads as u64,
            work: &work,
            front,
        };
        self.timed::<T>(subject, columns, &run)
    }
}

impl Bench<'_> {
    /// Dot products with keys and values apart; cosines and sums with the values as keys.
    fn pair<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let (csr, heads, device) = (subject.csr, self.options.heads, &self.device);
        let (n, width) = (csr.nrows(), columns / heads.max(1));
        let ((q, query), (k, key)) = (self.features::<T>(n, columns, 1)?, self.features::<T>(csr.ncols(), columns, 2)?);
        let (v, values) = self.features::<T>(csr.ncols(), columns, 3)?;
        let a: Vec<f32> = (0..columns).map(|c| number(c, 4) as f32).collect();
        let (vector, beta) = (device.upload(&a)?, device.upload(&[2f32])?);
        let output = device.zeroed::<T>(n * columns)?;
        let (layout, build_seconds) = self.built(|| PairLayout::<T>::build(device, &subject.lists, columns, heads))?;
        let factor = 1.0 / (width as f32).sqrt();
        let (qd, kd, vd) = (self.dense(&q, columns)?, self.dense(&k, columns)?, self.dense(&v, columns)?);
        let (ad, bd) = (Dense::from_slice(&self.cuda, 1, columns, &a)?, Dense::filled(&self.cuda, 1, 1, 2f32)?);
        let dot = |x: &[T], y: &[T]| x.iter().zip(y).map(|(x, y)| x.to() * y.to()).sum::<f64>();
        let cosine = |x: &[T], y: &[T], _: usize| 2.0 * dot(x, y) / (dot(x, x).sqrt().max(1e-12) * dot(y, y).sqrt().max(1e-12));
        let sum = |x: &[T], y: &[T], h: usize| {
            let z = |c: usize| x[c].to() + y[c].to();
            (0..width).map(|c| f64::from(a[h * width + c]) * if z(c) > 0.0 { z(c) } else { f64::from(SLOPE) * z(c) }).sum()
        };
        let product = |x: &[T], y: &[T], _: usize| f64::from(factor) * dot(x, y);
        type Formula<'a, T> = &'a dyn Fn(&[T], &[T], usize) -> f64;
        let kinds: [(&'static str, PairScore<'_>, bool, Formula<'_, T>); 3] = [
            ("dot forward", PairScore::Dot { factor }, false, &product),
            ("agnn forward", PairScore::Cosine { beta: &beta }, true, &cosine),
            ("gatv2 forward", PairScore::Sum { vector: &vector, slope: SLOPE }, true, &sum),
        ];
        let mut all = Vec::new();
        for (operation, score, shared, formula) in kinds {
            let (keys, there) = if shared { (&v, &values) } else { (&k, &key) };
            let input = PairInput { score, query: &query, key: there, values: &values };
            let work = || layout.forward(input, &output, None);
            work()?;
            let found = output.to_vec()?;
            let mut error = 0f64;
            for &i in subject.rows.iter().step_by(8) {
                for h in 0..heads {
                    let of = |x: &[T], row: usize| x[row * columns + h * width..row * columns + (h + 1) * width].to_vec();
                    let own = of(&q, i);
                    let scores: Vec<f64> = csr.row(i).iter().map(|&j| formula(&own, &of(keys, j as usize), h)).collect();
                    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let powers: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
                    let total: f64 = powers.iter().sum();
                    for c in h * width..(h + 1) * width {
                        let terms = csr.row(i).iter().zip(&powers).map(|(&j, p)| p / total * v[j as usize * columns + c].to());
                        let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                        let apart = (found[i * columns + c].to() - sum).abs() / f64::max(size, 1e-30);
                        error = if apart.is_nan() { f64::INFINITY } else { error.max(apart) };
                    }
                }
            }
            ensure!(error <= 10.0 * T::TOLERANCE, "{operation} differs from f64 by {error:e} of the terms: {}", layout.explain());
            let op = || match operation {
                "dot forward" => dot_attention(&subject.matrix, &qd, &kd, &vd, heads),
                "gatv2 forward" => gat_v2(&subject.matrix, &qd, &vd, &ad, heads, f64::from(SLOPE)),
                _ => agnn(&subject.matrix, &vd, &bd),
            };
            let form = explain(op().descriptor())?;
            // AGNN's front has one array for queries and values, and one head.
            let y = match operation {
                "agnn forward" => RefCell::new(op().eval()?),
                _ => self.agreed(op, &found, 20.0)?,
            };
            let front = || op().into(&mut *y.borrow_mut());
            let size = size_of::<T>() as u64;
            let (nodes, m, f) = (n as u64, csr.nnz() as u64, columns as u64);
            let rows = if shared { 1 } else { 2 };
            let run = Run {
                operation,
                form: layout.explain(),
                build_seconds,
                error,
                peer: None,
                gathered: rows * m * f * size,
                bytes: 4 * (nodes + m) + (2 + rows) * nodes * f * size,
                work: &work,
                front: (form, &front),
            };
            all.push(self.timed::<T>(subject, columns, &run)?);
        }
        Ok(all)
    }
}

/// Operands of the backward pass on the host.
struct Rows<'a, T> {
    l: &'a [f32],
    r: &'a [f32],
    v: &'a [T],
    dy: &'a [T],
}

impl<T: Element> Rows<'_, T> {
    /// The largest difference of gradients from `f64` beside the sizes of their terms, at about a hundred rows and columns. Takes the
    /// logarithms of sums as they are.
    #[allow(clippy::too_many_arguments)]
    fn difference(&self, csr: &Csr, columns: usize, heads: usize, lse: &[f32], left: &[f32], right: &[f32], values: &[T]) -> f64 {
        let (n, width) = (csr.nrows(), columns / heads);
        let score = |i: usize, j: usize, h: usize| f64::from(self.l[i * heads + h]) + f64::from(self.r[j * heads + h]);
        let probability = |i: usize, j: usize, h: usize| {
            let z = score(i, j, h);
            (if z > 0.0 { z } else { f64::from(SLOPE) * z } - f64::from(lse[i * heads + h])).exp()
        };
        // The result at a row, and the sizes of its terms; formed once.
        let mut known: HashMap<usize, Vec<(f64, f64)>> = HashMap::new();
        let mut y = |i: usize| -> Vec<(f64, f64)> {
            let form = || {
                let mut sums = vec![(0.0, 0.0); columns];
                for &j in csr.row(i) {
                    for h in 0..heads {
                        let p = probability(i, j as usize, h);
                        for c in h * width..(h + 1) * width {
                            let t = p * self.v[j as usize * columns + c].to();
                            sums[c] = (sums[c].0 + t, sums[c].1 + t.abs());
                        }
                    }
                }
                sums
            };
            known.entry(i).or_insert_with(form).clone()
        };
        let mut worst = 0f64;
        let mut compare = |found: f64, sum: f64, size: f64| {
            let apart = ((found - sum).abs() - T::SMALLEST).max(0.0) / size.max(1e-30);
            worst = if found.is_nan() || apart.is_nan() { f64::INFINITY } else { worst.max(apart) };
        };
        // Columns of the matrix that are compared, with their entries.
        let step = n.div_ceil(100).max(1);
        let most = csr.max_degree_row().map_or(0, |r| r as usize);
        let mut wanted: Vec<Option<Vec<usize>>> = vec![None; csr.ncols()];
        (0..csr.ncols()).step_by(step).for_each(|j| wanted[j] = Some(Vec::new()));
        for i in 0..n {
            for &j in csr.row(i) {
                if let Some(list) = &mut wanted[j as usize] {
                    list.push(i);
                }
            }
        }
        // dy . (values(j) - y) of an entry times its probability and derivative, and the size of its terms.
        let entry = |i: usize, j: usize, h: usize, y: &[(f64, f64)]| -> (f64, f64) {
            let (mut dp, mut size) = (0.0, 0.0);
            for (c, &(y, terms)) in (h * width..(h + 1) * width).zip(y) {
                let (dy, v) = (self.dy[i * columns + c].to(), self.v[j * columns + c].to());
                dp += dy * (v - y);
                size += dy.abs() * (v.abs() + terms);
            }
            let p = probability(i, j, h);
            (p * dp * if score(i, j, h) > 0.0 { 1.0 } else { f64::from(SLOPE) }, p * size)
        };
        for (j, list) in wanted.iter().enumerate().filter_map(|(j, l)| Some((j, l.as_ref()?))) {
            for h in 0..heads {
                let (mut sum, mut size) = (0.0, 0.0);
                let mut sums = vec![(0.0, 0.0); width];
                for &i in list {
                    let (d, s) = entry(i, j, h, &y(i)[h * width..(h + 1) * width]);
                    (sum, size) = (sum + d, size + s);
                    for (c, total) in (h * width..(h + 1) * width).zip(&mut sums) {
                        let t = probability(i, j, h) * self.dy[i * columns + c].to();
                        *total = (total.0 + t, total.1 + t.abs());
                    }
                }
                compare(f64::from(right[j * heads + h]), sum, size);
                for (c, (sum, size)) in (h * width..(h + 1) * width).zip(sums) {
                    compare(values[j * columns + c].to(), sum, size);
                }
            }
        }
        for i in (0..n).step_by(step).chain([most]) {
            for h in 0..heads {
                let row = y(i);
                let terms = csr.row(i).iter().map(|&j| entry(i, j as usize, h, &row[h * width..(h + 1) * width]));
                let (sum, size) = terms.fold((0.0, 0.0), |(s, a), (d, e)| (s + d, a + e));
                compare(f64::from(left[i * heads + h]), sum, size);
            }
        }
        worst
    }
}
