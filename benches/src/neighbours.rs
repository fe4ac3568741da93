//! `bitgraph-bench neighbours`: epochs over batches of sampled neighbours on a GPU, drawn there and made in host memory, in turns.
//!
//! Epochs are those of training but for their scores. The features are on the device for both, dense or sparse (`--sparse`); the host's clock counts.
//! Which threads prepare batches in host memory is up to `RAYON_NUM_THREADS`.
//!
//! Invariant: nothing is told of ways whose losses differ.

use crate::features::{Type, generator};
use crate::timing::{self, Bench};
use anyhow::{Context, Result, ensure};
use bitgraph::GraphSource;
use bitgraph::cuda::Cuda;
use bitgraph::gnn::batch::{BatchSettings, Batches, Sampler, why_drawn_on_host};
use bitgraph::gnn::data::{Dataset, Features, Labels, Normalise};
use bitgraph::gnn::{Architecture, Float, Model, NodeTask, Nodes, Run, Shape, Training};
use bitgraph::prelude::*;
use bitgraph::sparse::{Coo, Duplicates};
use bitgraph_measure::median;
use half::{bf16, f16};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: those of `bitgraph-bench gnn`; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["kron:18", "er100k"])]
    graphs: Vec<String>,
    /// A model, by its name of the command line.
    #[arg(long, default_value = "sage")]
    model: String,
    /// Neighbours of a node for each hop; as many layers.
    #[arg(long, value_delimiter = ',', default_values = ["10", "10"])]
    fanouts: Vec<u32>,
    /// Training nodes of a batch.
    #[arg(long, default_value_t = 1024)]
    batch: u32,
    /// Batches of an epoch, at most as many as a tenth of the nodes gives.
    #[arg(long, default_value_t = 64)]
    batches: usize,
    /// Columns of the features and of hidden layers.
    #[arg(long, default_value_t = 128)]
    columns: usize,
    /// Entries of a row of the features, which are sparse then.
    #[arg(long)]
    sparse: Option<u64>,
    /// Columns of sparse features.
    #[arg(long, default_value_t = 1000, requires = "sparse")]
    inputs: usize,
    /// Classes.
    #[arg(long, default_value_t = 40)]
    classes: usize,
    /// Types of features and weights.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["f32", "f16"])]
    types: Vec<Type>,
    /// Epochs that are timed of each way.
    #[arg(long, default_value_t = 5)]
    epochs: u32,
    #[command(flatten)]
    timing: timing::Options,
}

/// Both ways on a graph.
#[derive(Debug, Serialize)]
pub struct Measured {
    graph: String,
    nodes: usize,
    entries: usize,
    element: &'static str,
    /// Batches of an epoch.
    batches: usize,
    /// A batch and its step, made in host memory and drawn on the device: medians over epochs of the mean of a batch.
    host_ms: f64,
    device_ms: f64,
    /// Why there is no other way.
    reason: Option<String>,
    /// The loss of the last epoch that was timed.
    loss: f64,
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, an unknown model, a graph that cannot be loaded, losses that differ.
pub fn run(options: &Options) -> Result<()> {
    let bench = Bench::open(&options.timing)?;
    let wanted = options.model.as_str();
    let architecture =
        Architecture::ALL.into_iter().find(|a| a.name() == wanted).with_context(|| format!("there is no model {wanted:?}"))?;
    let mut all = Vec::new();
    println!("graph                type  batches   host ms device ms  ratio  loss");
    for name in &options.graphs {
        let csr = generator(name).parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
        let set = options.set(name, csr)?;
        for kind in &options.types {
            let measured = match kind {
                Type::F16 => options.measure::<f16>(&bench.cuda, &set, architecture, "f16"),
                Type::Bf16 => options.measure::<bf16>(&bench.cuda, &set, architecture, "bf16"),
                Type::F32 => options.measure::<f32>(&bench.cuda, &set, architecture, "f32"),
            };
            let m = measured.with_context(|| format!("{wanted} on {name} in {kind:?}"))?;
            let (ratio, why) = (m.host_ms / m.device_ms, m.reason.clone().unwrap_or_default());
            println!(
                "{name:<20} {:<5} {:>7} {:>9.3} {:>9.3} {ratio:>6.2}  {:.4} {why}",
                m.element, m.batches, m.host_ms, m.device_ms, m.loss
            );
            all.push(m);
        }
    }
    bench.report(&all)
}

impl Options {
    /// A data set over a graph, of features that tell of the class.
    fn set(&self, name: &str, graph: Csr) -> Result<Dataset> {
        let n = graph.nrows();
        ensure!(graph.is_square() && n >= 20, "{name} is not a square matrix of 20 rows or more");
        ensure!(self.columns >= self.classes && self.classes > 0, "there are fewer columns than classes");
        let label = |v: usize| (bitgraph::generate::mix64(v as u64) % self.classes as u64) as usize;
        let features = match self.sparse {
            None => {
                let mut features: Vec<f32> = (0..n * self.columns).map(|k| crate::features::number(k, 1) as f32).collect();
                (0..n).for_each(|v| features[v * self.columns + label(v)] += 2.0);
                Features::dense(n, self.columns, features)?
            }
            Some(entries) => {
                ensure!(self.inputs >= self.classes, "there are fewer columns of sparse features than classes");
                let column = |v: usize, k: u64| (bitgraph::generate::mix64((v as u64) << 20 | k) % self.inputs as u64) as u32;
                let all = (0..n).flat_map(|v| (1..entries).map(move |k| (v as u32, column(v, k))).chain([(v as u32, label(v) as u32)]));
                let (rows, columns) = all.unzip();
                let pattern = Coo::pattern(n, self.inputs, rows, columns).into_csr(Duplicates::First)?.0;
                let values = vec![1.0; pattern.nnz()];
                Features::sparse(pattern, values)?
            }
        };
        let train = (n / 10).min(self.batches * self.batch as usize).max(1);
        // Not the first ones: a generator may put hubs there.
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by_key(|&v| bitgraph::generate::mix64(u64::from(v) << 20));
        let split =
            Nodes { train: order[..train].to_vec(), validation: order[train..train + 1].to_vec(), test: order[train + 1..].to_vec() };
        let labels = Labels::new((0..n).map(|v| label(v) as i32).collect(), self.classes)?;
        Ok(Dataset::new(name, graph, features, labels, vec![split])?)
    }
    fn batches(&self, set: &Dataset) -> Result<Batches> {
        let sampler = Sampler::Neighbours { fanouts: self.fanouts.clone(), batch: self.batch };
        // Only the first epoch is scored, and one past those that are timed.
        let settings = BatchSettings { sampler, evaluate_every: u32::MAX };
        Ok(Batches::new(set, 0, &settings, Normalise::None, None, &Control::default(), |_| ())?)
    }
    fn measure<T: Float>(&self, cuda: &Cuda, set: &Dataset, architecture: Architecture, element: &'static str) -> Result<Measured> {
        let recipe = architecture.recipe(self.classes);
        let shape = Shape { layers: self.fanouts.len(), hidden: self.columns, ..recipe.shape };
        let model: Model<Cuda, T> = architecture.model(&shape, set.features().shape().1, self.classes)?;
        let task: NodeTask<Cuda, T> = set.task(cuda, 0)?;
        let (on_host, drawn) = (self.batches(set)?.drawn_on_host(), self.batches(set)?);
        let (reason, count) = (why_drawn_on_host(&task, &drawn)?, drawn.count());
        let training =
            |batches| Training { epochs: self.epochs + 2, stale_epochs: None, batches: Some(Arc::new(batches)), ..recipe.training.clone() };
        let ways = [training(on_host), training(drawn)];
        let mut runs = [Run::new(&model, &task, &ways[0], 1)?, Run::new(&model, &task, &ways[1], 1)?];
        let mut seconds = [Vec::new(), Vec::new()];
        let mut losses = [0.0; 2];
        for epoch in 0..=self.epochs {
            for (way, run) in runs.iter_mut().enumerate() {
                let start = Instant::now();
                losses[way] = run.step()?.loss;
                if epoch > 0 {
                    seconds[way].push(start.elapsed().as_secs_f64());
                }
            }
            let close = (losses[0] - losses[1]).abs() <= 1e-3 * losses[0].abs();
            ensure!(close, "epoch {}: a loss of {} from host memory, of {} drawn on the device", epoch + 1, losses[0], losses[1]);
        }
        let [host_ms, device_ms] = seconds.map(|all| median(&all) * 1e3 / count as f64);
        let (nodes, entries, graph) = (set.nodes(), set.graph().nnz(), set.name().to_owned());
        Ok(Measured { graph, nodes, entries, element, batches: count, host_ms, device_ms, reason, loss: losses[1] })
    }
}
