//! `bitgraph-bench sddmm` and `gat`: sampled dot products and additive attention on a GPU, single launches by the device's clock.
//!
//! Invariant: nothing is timed before rows of its result agreed with sums of `f64`.

use crate::features::{self, Element, Measure, Subject, number};
use crate::front::{self, Front};
use crate::timing::{Bench, Work, percent};
use anyhow::{Result, bail, ensure};
use bitgraph::cuda::device::Buffer;
use bitgraph::cuda::tensor::forms::attention::{
    GatBackwardLayout, GatGiven, GatGradients, GatInput, GatLayout, PairInput, PairLayout, PairScore,
};
use bitgraph::cuda::tensor::forms::sddmm::SddmmLayout;
use bitgraph::cuda::tensor::{TensorKernels, explain, explain_gradient};
use bitgraph::prelude::*;
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::{Computation, Operation as Lazy, agnn, dot_attention, gat, gat_v2, sddmm};
use bitgraph_measure::Launches;
use bitgraph_measure::cusparse::CusparseSddmm;
use serde::Serialize;
use std::cell::RefCell;
use std::cmp::Ordering::{Equal, Less};
use std::collections::HashMap;

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
    fn gat<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let (csr, heads) = (&subject.csr, self.options.heads);
        let (n, width) = (csr.nrows(), columns / heads.max(1));
        let (v, values) = self.bench.features::<T>(csr.ncols(), columns, 1)?;
        let scores = |n: usize, seed| -> Result<(Vec<f32>, Buffer<f32>)> {
            let host: Vec<f32> = (0..n * heads).map(|k| 2.0 * number(k, seed) as f32).collect();
            let there = self.bench.device.upload(&host)?;
            Ok((host, there))
        };
        let ((l, left), (r, right)) = (scores(n, 3)?, scores(csr.ncols(), 4)?);
        let (output, lse) = (self.bench.device.zeroed::<T>(n * columns)?, self.bench.device.zeroed::<f32>(n * heads)?);
        let (layout, build_seconds) = self.bench.built(|| GatLayout::<T>::build(&self.bench.device, &subject.lists, columns, heads))?;
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
        ensure!(error <= f64::max(2.0 * T::OF_TERMS, 1e-5), "differs from f64 by {error:e} of the terms: {}", layout.explain());
        let (ld, rd) = (Dense::from_slice(&self.bench.cuda, n, heads, &l)?, Dense::from_slice(&self.bench.cuda, csr.ncols(), heads, &r)?);
        let vd = self.bench.dense(&v, columns)?;
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
            let (dy, gradient) = self.bench.features::<T>(n, columns, 5)?;
            let rows = Rows { l: &l, r: &r, v: &v, dy: &dy };
            let given = GatGiven { output: Some(&output), lse: &lse, gradient: &gradient };
            let (lse, dy) = (Dense::from_slice(&self.bench.cuda, n, heads, &lse.to_vec()?)?, self.bench.dense(&dy, columns)?);
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
        let (csr, heads, device) = (&subject.csr, self.options.heads, &self.bench.device);
        let (n, m) = (csr.nrows(), csr.ncols());
        let (left, right) = (device.zeroed::<f32>(n * heads)?, device.zeroed::<f32>(m * heads)?);
        let values = device.zeroed::<T>(m * columns)?;
        let (layout, build_seconds) = self.bench.built(|| GatBackwardLayout::<T>::build(device, &subject.lists, columns, heads))?;
        let work = || layout.backward(input, given, GatGradients { left: &left, right: &right, values: &values });
        work()?;
        let error = rows.difference(csr, columns, heads, &given.lse.to_vec()?, &left.to_vec()?, &right.to_vec()?, &values.to_vec()?);
        ensure!(
            error <= f64::max(4.0 * T::OF_TERMS, 2e-5),
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

impl Runner<'_> {
    /// Dot products with keys and values apart; cosines and sums with the values as keys.
    fn pair<T: Element>(&self, subject: &Subject<'_>, columns: usize) -> Result<Vec<Measured>> {
        let (csr, heads, device) = (&subject.csr, self.options.heads, &self.bench.device);
        let (n, width) = (csr.nrows(), columns / heads.max(1));
        let ((q, query), (k, key)) = (self.bench.features::<T>(n, columns, 1)?, self.bench.features::<T>(csr.ncols(), columns, 2)?);
        let (v, values) = self.bench.features::<T>(csr.ncols(), columns, 3)?;
        let a: Vec<f32> = (0..columns).map(|c| number(c, 4) as f32).collect();
        let (vector, beta) = (device.upload(&a)?, device.upload(&[2f32])?);
        let output = device.zeroed::<T>(n * columns)?;
        let (layout, build_seconds) = self.bench.built(|| PairLayout::<T>::build(device, &subject.lists, columns, heads))?;
        let factor = 1.0 / (width as f32).sqrt();
        let (qd, kd, vd) = (self.bench.dense(&q, columns)?, self.bench.dense(&k, columns)?, self.bench.dense(&v, columns)?);
        let (ad, bd) = (Dense::from_slice(&self.bench.cuda, 1, columns, &a)?, Dense::filled(&self.bench.cuda, 1, 1, 2f32)?);
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
            ensure!(error <= 10.0 * T::OF_TERMS, "{operation} differs from f64 by {error:e} of the terms: {}", layout.explain());
            let op = || match operation {
                "dot forward" => dot_attention(&subject.matrix, &qd, &kd, &vd, heads),
                "gatv2 forward" => gat_v2(&subject.matrix, &qd, &vd, &ad, heads, f64::from(SLOPE)),
                _ => agnn(&subject.matrix, &vd, &bd),
            };
            let form = explain(op().descriptor())?;
            // AGNN's front has one array for queries and values, and one head.
            let y = match operation {
                "agnn forward" => {
                    let general = self.bench.cuda.with_tensor_kernels(TensorKernels::General);
                    let matrix = Matrix::new(&general, csr, None, FormatKind::Csr)?;
                    let (v, beta) = (Dense::from_slice(&general, csr.ncols(), columns, &v)?, Dense::filled(&general, 1, 1, 2f32)?);
                    self.agreed(op, &agnn(&matrix, &v, &beta).eval()?.to_host()?, 20.0)?
                }
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
