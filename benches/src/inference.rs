//! `bitgraph-bench bit-gcn`: inference of graph convolutions over signs on a GPU, BitGNN's `bin` and Bi-GCN's `bi-full`, as one launch: singly,
//! one after the other, and in a graph of launches, beside the same operations one by one.
//!
//! Weights are drawn: they cost the same whatever they say. Features, graph and classes are the data set's.
//!
//! Invariant: nothing is timed before the logits agreed with those of the operations.

use crate::timing::{self, Bench};
use anyhow::{Result, ensure};
use bitgraph::cuda::Cuda;
use bitgraph::generate::mix64;
use bitgraph::gnn::quant::{column_signs, scaled_signs};
use bitgraph::gnn::{Graph, data};
use bitgraph::prelude::*;
use bitgraph::tensor::ops::{BitGcn, BitGcnHidden, BitGcnOp, Whole, bit_gemm, bit_spmm, moments, spmm};
use bitgraph::tensor::{Bits, Dense, Signs};
use bitgraph_bittensor::{Packing, Scaling};
use serde::Serialize;
use std::cell::RefCell;
use std::path::PathBuf;

/// What keeps the root of the normalisation away from zero.
const EPSILON: f64 = 1e-5;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Data sets: folders, files or generators.
    #[arg(long, value_delimiter = ',', default_values = ["planted:2708:7:4"])]
    data: Vec<PathBuf>,
    /// Columns of the hidden layer.
    #[arg(long, default_value_t = 64)]
    hidden: usize,
    #[command(flatten)]
    timing: timing::Options,
}

/// A model on a data set.
#[derive(Debug, Serialize)]
pub struct Measured {
    data: String,
    nodes: usize,
    model: &'static str,
    /// The form of the launch, or why there is none.
    form: String,
    /// The median of single runs, the mean of many one after the other, and of many in a graph of launches.
    us: f64,
    row_us: f64,
    graph_us: f64,
    /// The same operations one by one.
    operations_us: f64,
    /// Bytes that the launch keeps on the device, without the logits, and those.
    bytes: u64,
    logit_bytes: u64,
    /// The largest difference of a logit from that of the operations, over the largest logit, where signs are decided.
    difference: f64,
    /// Nodes whose logits hang on a sum of floats that rounding alone takes to one side of zero; they are not compared.
    undecided: usize,
}

fn numbers(n: usize, seed: u64, from: f32) -> Vec<f32> {
    (0..n as u64).map(|k| from + (1.0 - from) * (mix64(k + (seed << 32)) >> 40) as f32 / (1u32 << 24) as f32).collect()
}
fn weight(cuda: &Cuda, (rows, columns): (usize, usize), seed: u64) -> Result<Signs<Cuda>> {
    Ok(Dense::from_vec(cuda, rows, columns, numbers(rows * columns, seed, -1.0))?.sign(Packing::Columns)?)
}

/// The operands of both models.
struct Operands {
    graph: Graph<Cuda, f32>,
    scales: Dense<Cuda, f32>,
    features: Signs<Cuda>,
    feature_scales: Option<Dense<Cuda, f32>>,
    first: Signs<Cuda>,
    first_scales: Dense<Cuda, f32>,
    first_bias: Dense<Cuda, f32>,
    statistics: (Dense<Cuda, f32>, Dense<Cuda, f32>),
    second: Signs<Cuda>,
    second_scales: Dense<Cuda, f32>,
    bias: Dense<Cuda, f32>,
}

impl Operands {
    fn new(cuda: &Cuda, set: &data::Dataset, hidden: usize, floats: bool) -> Result<Self> {
        let host = if floats { scaled_signs(set.features())? } else { column_signs(set.features())? };
        let (rows, inputs) = host.shape();
        let classes = set.labels().classes();
        let dense = Dense::from_vec(cuda, rows, inputs, host.to_dense())?;
        let features = dense.sign(Packing::Rows)?;
        let factors = (0..rows).map(|i| host.values().get(i * inputs).copied().unwrap_or(0.0).abs()).collect();
        let first = weight(cuda, (inputs, hidden), 1)?;
        let first_scales = Dense::row_vector(cuda, numbers(hidden, 2, 0.1))?;
        let graph = Graph::new(cuda, set.graph())?;
        Ok(Self {
            scales: graph.degree_powers(-0.5)?,
            graph,
            feature_scales: if floats { Some(Dense::column_vector(cuda, factors)?) } else { None },
            statistics: moments(&bit_gemm(&features, &first).times_columns(&first_scales).eval()?)?,
            features,
            first,
            first_scales,
            first_bias: Dense::row_vector(cuda, numbers(hidden, 3, -1.0))?,
            second: weight(cuda, (hidden, classes), 4)?,
            second_scales: Dense::row_vector(cuda, numbers(classes, 5, 0.1))?,
            bias: Dense::row_vector(cuda, numbers(classes, 6, -1.0))?,
        })
    }
    fn op(&self) -> bitgraph::cuda::Result<BitGcnOp<'_, Cuda>> {
        Ok(BitGcnOp {
            adjacency: self.graph.adjacency()?,
            scales: &self.scales,
            features: &self.features,
            feature_scales: self.feature_scales.as_ref(),
            first: &self.first,
            first_scales: &self.first_scales,
            hidden: match self.feature_scales {
                None => BitGcnHidden::Signs { mean: &self.statistics.0, variance: &self.statistics.1, epsilon: EPSILON },
                Some(_) => BitGcnHidden::Floats { bias: &self.first_bias },
            },
            second: &self.second,
            second_scales: &self.second_scales,
            bias: &self.bias,
        })
    }
    fn sums(&self, h: &Dense<Cuda, f32>) -> bitgraph::cuda::Result<Dense<Cuda, f32>> {
        spmm(self.graph.adjacency()?, h).own(1.0).scale_rows(&self.scales).scale_columns(&self.scales).eval()
    }
    /// The first layer's floats, before they are added up over neighbours.
    fn hidden(&self, factors: &Dense<Cuda, f32>) -> bitgraph::cuda::Result<Dense<Cuda, f32>> {
        let x = self.features.clone().with_row_scales(factors)?;
        bit_gemm(&x, &self.first).times_columns(&self.first_scales).bias(&self.first_bias).eval()
    }
    /// The logits, operation by operation.
    fn operations(&self) -> bitgraph::cuda::Result<Dense<Cuda, f32>> {
        let active = if let Some(factors) = &self.feature_scales {
            self.sums(&self.hidden(factors)?)?.sign_scaled(Packing::Rows, Scaling::RowMeans)?
        } else {
            let product = bit_gemm(&self.features, &self.first).times_columns(&self.first_scales);
            let signs = product.batch_norm((&self.statistics.0, &self.statistics.1), None, EPSILON).eval_signs()?;
            bit_spmm(self.graph.adjacency()?, &signs).own().eval_signs()?
        };
        self.sums(&bit_gemm(&active, &self.second).times_columns(&self.second_scales).bias(&self.bias).eval()?)
    }
    /// The rows of logits that depend on the sign of a sum of floats which is no further from zero than it may err by: they are not decided.
    fn undecided(&self, cuda: &Cuda, graph: &Csr) -> Result<Vec<bool>> {
        let n = graph.nrows();
        let Some(factors) = &self.feature_scales else { return Ok(vec![false; n]) };
        let hidden = self.hidden(factors)?;
        let (_, columns) = hidden.shape();
        let bias = self.first_bias.to_host()?;
        // What each is a sum of: a product and a bias, which may be nearly opposite.
        let sizes = hidden.to_host()?.into_iter().zip(bias.iter().cycle()).map(|(h, b)| (h - b).abs() + b.abs()).collect();
        let sums = self.sums(&hidden)?.to_host()?;
        let sizes = self.sums(&Dense::from_vec(cuda, n, columns, sizes)?)?.to_host()?;
        // Of a row's terms and its own, each is rounded up to eight times when it is made and scaled, and once when it is added.
        let near = |i: usize| {
            let err = (graph.degree(i) + 8) as f32 * f32::EPSILON;
            (i * columns..(i + 1) * columns).any(|k| sums[k].abs() <= err * sizes[k])
        };
        let near: Vec<bool> = (0..n).map(near).collect();
        Ok((0..n).map(|i| near[i] || graph.row(i).iter().any(|&j| near[j as usize])).collect())
    }
}

/// Largest difference over the largest logit of the rows that are decided.
///
/// # Errors
/// One of them differs by more than rounding, or is no number.
fn compared(found: &[f32], expected: &[f32], undecided: &[bool]) -> Result<f64> {
    let (columns, largest) = (expected.len() / undecided.len().max(1), expected.iter().fold(0.0f64, |m, v| m.max(f64::from(v.abs()))));
    let mut worst = 0.0f64;
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let off = f64::from((a - b).abs()) / largest;
        let (row, column) = (k / columns, k % columns);
        ensure!(!off.is_nan(), "logit {column} of node {row} is no number");
        ensure!(off <= 1e-5 || undecided[row], "logit {column} of node {row} is {a}, and {b} by the operations");
        worst = if undecided[row] { worst } else { worst.max(off) };
    }
    Ok(worst)
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, a data set that cannot be read, logits that differ from those of the operations.
pub fn run(options: &Options) -> Result<()> {
    let bench = Bench::open(&options.timing)?;
    let mut all = Vec::new();
    println!(
        "data                     nodes  model    single us   row us  graph us  operations us   kept MB  logits MB  difference  undecided  form"
    );
    for path in &options.data {
        let set = data::open(path, &Control::default())?;
        for (model, floats) in [("bin", false), ("bi-full", true)] {
            let operands = Operands::new(&bench.cuda, &set, options.hidden, floats)?;
            let expected = operands.operations()?;
            let undecided = operands.undecided(&bench.cuda, set.graph())?;
            let mut row = Measured {
                data: set.name().into(),
                nodes: set.nodes(),
                model,
                form: String::new(),
                us: f64::NAN,
                row_us: f64::NAN,
                graph_us: f64::NAN,
                operations_us: 1e6 * bench.single(&|| operands.operations().map(drop))?,
                bytes: 0,
                logit_bytes: expected.bytes(),
                difference: f64::NAN,
                undecided: undecided.iter().filter(|&&row| row).count(),
            };
            match bench.cuda.bit_gcn(&operands.op()?)? {
                Whole::Declined(reason) => row.form = format!("not one launch: {reason}"),
                Whole::Done(whole) => row.time(&bench, &*whole, &expected, &undecided)?,
            }
            println!("{}", row.line());
            all.push(row);
        }
    }
    bench.report(&all)
}

impl Measured {
    fn time(&mut self, bench: &Bench<'_>, whole: &dyn BitGcn<Cuda>, expected: &Dense<Cuda, f32>, undecided: &[bool]) -> Result<()> {
        let (rows, columns) = expected.shape();
        let logits = RefCell::new(Dense::filled(&bench.cuda, rows, columns, f32::NAN)?);
        let work = || whole.run(logits.borrow_mut().as_mut());
        for _ in 0..3 {
            work()?;
            self.difference = compared(&logits.borrow().to_host()?, &expected.to_host()?, undecided)?;
        }
        let (us, graph_us) = bench.timed(&work)?;
        (self.us, self.row_us, self.graph_us) = (1e6 * us, 1e6 * bench.in_a_row(&work)?, 1e6 * graph_us);
        compared(&logits.borrow().to_host()?, &expected.to_host()?, undecided)?;
        (self.bytes, self.form) = (whole.bytes(), whole.form());
        Ok(())
    }
    fn line(&self) -> String {
        format!(
            "{:<24} {:>5}  {:<8} {:>9.2} {:>8.2} {:>9.2} {:>14.1} {:>9.3} {:>10.3} {:>11.1e} {:>10}  {}",
            self.data,
            self.nodes,
            self.model,
            self.us,
            self.row_us,
            self.graph_us,
            self.operations_us,
            self.bytes as f64 / 1e6,
            self.logit_bytes as f64 / 1e6,
            self.difference,
            self.undecided,
            self.form
        )
    }
}
