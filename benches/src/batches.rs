//! `bitgraph-bench batches`: layers over batches of small graphs with codes of few bits on a GPU, as QGTC runs Cluster-GCN: one launch for all
//! graphs and all layers, singly and in a graph of launches, beside the same layers operation by operation.
//!
//! Invariant: nothing is timed before every class agreed with those of the operations.

use crate::timing::{self, Bench};
use anyhow::{Context, Result, ensure};
use bitgraph::cuda::Cuda;
use bitgraph::cuda::tensor::TensorKernels;
use bitgraph::generate::mix64;
use bitgraph::prelude::*;
use bitgraph::sparse::{Coo, Duplicates};
use bitgraph::tensor::ops::{BatchLayer, BitBatches, BitBatchesOp, bit_batches};
use bitgraph::tensor::{Planes, Quantise};
use bitgraph_bittensor::{BitPlanes, Packing, TileShape, View};
use serde::Serialize;
use std::cell::RefCell;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs.
    #[arg(long, default_value_t = 1500)]
    parts: usize,
    /// Vertices of a graph.
    #[arg(long, default_value_t = 113)]
    vertices: usize,
    /// Entries of a row of the pattern.
    #[arg(long, default_value_t = 8)]
    degree: usize,
    /// Columns of the features.
    #[arg(long, default_value_t = 128)]
    columns: usize,
    /// Columns between layers.
    #[arg(long, default_value_t = 16)]
    hidden: usize,
    /// Layers.
    #[arg(long, default_value_t = 3)]
    layers: usize,
    /// Classes.
    #[arg(long, default_value_t = 40)]
    classes: usize,
    /// Bits of features, of levels and of weights.
    #[arg(long, value_delimiter = ',', default_values = ["1", "2", "4", "8"])]
    bits: Vec<u32>,
    #[command(flatten)]
    timing: timing::Options,
}

/// Batches of one width.
#[derive(Debug, Serialize)]
pub struct Measured {
    parts: usize,
    vertices: usize,
    columns: usize,
    layers: usize,
    bits: u32,
    /// Why it was not one launch.
    reason: Option<String>,
    /// The median of single runs, and of one among many in a graph of launches.
    us: f64,
    graph_us: f64,
    /// The same layers operation by operation, one after the other.
    operations_us: f64,
    /// Bytes that are kept on the device.
    bytes: u64,
}

fn codes(cuda: &Cuda, (rows, columns): (usize, usize), bits: u32, packing: Packing, seed: u64) -> Result<Planes<Cuda>> {
    let values: Vec<u32> = (0..(rows * columns) as u64).map(|k| (mix64(k + (seed << 40)) & ((1 << bits) - 1)) as u32).collect();
    let view = View::new(&values, rows, columns)?;
    let host = BitPlanes::from_integers(&view, bits, 0, packing, TileShape::WORD, &Control::default())?;
    Ok(Planes::from_host(cuda, &host)?)
}

impl Options {
    fn pattern(&self) -> Result<Csr> {
        let n = self.parts * self.vertices;
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for i in 0..n {
            let first = i / self.vertices * self.vertices;
            rows.extend(std::iter::repeat_n(i as u32, self.degree));
            columns.push(i as u32);
            columns.extend((1..self.degree).map(|k| (first + mix64((i * 64 + k) as u64) as usize % self.vertices) as u32));
        }
        Ok(Coo::pattern(n, n, rows, columns).into_csr(Duplicates::First)?.0)
    }
    fn layers(&self, cuda: &Cuda, bits: u32) -> Result<Vec<BatchLayer<Cuda>>> {
        let (top, levels) = (f64::from((1u32 << bits) - 1), f64::from(1u32 << bits));
        (0..self.layers)
            .map(|k| {
                let inputs = if k == 0 { self.columns } else { self.hidden };
                let last = k + 1 == self.layers;
                let outputs = if last { self.classes } else { self.hidden };
                // Sums over neighbours have their mean in the middle of the levels; products are levels around their mean, two deviations of
                // what differs from vertex to vertex to each side: codes deviate by .37 of the largest, means of neighbours by less, and the
                // root of a weight's mean square is .6 of the largest.
                let scale = (self.degree as f64).log2().ceil().exp2();
                // A sum in the middle between two levels goes to the even one: of one bit to 0, which leaves .36 of eight neighbours' sums at 1.
                let level = if bits == 1 { 0.36 } else { top / 2.0 };
                let mean = inputs as f64 * level * top / 2.0;
                let spread = (inputs as f64 / self.degree as f64).sqrt() * (0.37 * top) * (0.6 * top);
                let step = (4.0 * spread / levels).log2().floor().max(0.0).exp2();
                let products = Quantise { scale: step, zero_point: (levels / 2.0 - mean / step) as i32, bits };
                Ok(BatchLayer {
                    sums: Quantise { scale, zero_point: 0, bits },
                    weights: codes(cuda, (inputs, outputs), bits, Packing::Columns, k as u64 + 1)?,
                    products: (!last).then_some(products),
                })
            })
            .collect()
    }
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, sizes that cannot be, classes that differ from those of the operations.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.layers > 0 && options.vertices > 0 && options.degree > 0, "there are no layers, vertices or entries");
    let bench = Bench::open(&options.timing)?;
    let general = bench.cuda.with_tensor_kernels(TensorKernels::General);
    let csr = options.pattern()?;
    let mut all = Vec::new();
    println!("graphs  vertices  columns  layers  bits        us  graph us  operations us   kept MB");
    for &bits in &options.bits {
        let shape = (options.parts * options.vertices, options.columns);
        let prepared = |cuda: &Cuda| -> Result<BitBatches<Cuda>> {
            let matrix = Matrix::new(cuda, &csr, None, FormatKind::Csr)?;
            let features = codes(cuda, shape, bits, Packing::Rows, 99)?;
            let layers = options.layers(cuda, bits)?;
            Ok(bit_batches(&BitBatchesOp { matrix: &matrix, vertices: options.vertices, features: &features, layers: &layers })?)
        };
        let whole = prepared(&bench.cuda).with_context(|| format!("{bits} bits"))?;
        let plain = prepared(&general)?;
        let (found, expected) = (whole.run()?.to_host()?, plain.run()?.to_host()?);
        let wrong = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        ensure!(wrong == 0, "{wrong} of {} classes with {bits} bits differ from those of the operations", found.len());
        ensure!(expected.iter().any(|c| *c != expected[0]), "all vertices have one class: there is nothing to compare");
        let classes = RefCell::new(whole.run()?);
        let (us, graph_us) = match whole.why_not_whole() {
            None => bench.timed(&|| whole.run_into(&mut classes.borrow_mut()))?,
            // Operations allocate, which a graph of launches cannot.
            Some(_) => (bench.single(&|| whole.run().map(drop))?, f64::NAN),
        };
        let operations = bench.single(&|| plain.run().map(drop))?;
        let row = Measured {
            parts: options.parts,
            vertices: options.vertices,
            columns: options.columns,
            layers: options.layers,
            bits,
            reason: whole.why_not_whole().map(String::from),
            us: 1e6 * us,
            graph_us: 1e6 * graph_us,
            operations_us: 1e6 * operations,
            bytes: whole.bytes(),
        };
        println!(
            "{:>6} {:>9} {:>8} {:>7} {:>5} {:>9.2} {:>9.2} {:>14.1} {:>9.2}{}",
            row.parts,
            row.vertices,
            row.columns,
            row.layers,
            row.bits,
            row.us,
            row.graph_us,
            row.operations_us,
            row.bytes as f64 / 1e6,
            row.reason.as_deref().map(|r| format!("  not one launch: {r}")).unwrap_or_default()
        );
        all.push(row);
    }
    bench.report(&all)
}
