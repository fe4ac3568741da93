//! `bitgraph-bench gnn`: a forward pass and a training step of models of two layers on a GPU, beside PyTorch Geometric's.
//!
//! A step is forward pass, loss, backward pass and Adam, as training runs them; scores of epochs are left out. Steps follow each other without
//! waiting, and the host's clock counts: calls of the library are part of the time, as they are for its user. Steps are timed operation by
//! operation, and as replays of two steps that were written down, as training does where intermediate results are small. PyTorch Geometric's steps
//! are timed in the same run where a Python that has it is given (`--peer`); else those of a table stand beside ours.
//!
//! Invariant: nothing is timed before a training of a few steps lowered the loss.

use crate::features::{Type, generator};
use crate::pyg;
use crate::timing::{self, Bench};
use anyhow::{Context, Result, ensure};
use bitgraph::GraphSource;
use bitgraph::cuda::Cuda;
use bitgraph::gnn::{Architecture, Features, Float, Gradients, Graph, LogitsGradient, Mode, Model, Parameters};
use bitgraph::prelude::*;
use bitgraph::semiring::Scalar;
use bitgraph::tensor::Dense;
use bitgraph::tensor::backend::DenseOps;
use bitgraph::tensor::ops::{AdamSettings, AdamState, Moment, Recorder, adam, cross_entropy_with_sums, map};
use half::{bf16, f16};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Steps before anything is timed, which must lower the loss.
const FIRST_STEPS: u32 = 12;
/// Passes or steps of one timing.
const STEPS: u32 = 10;
/// The learning rate.
const RATE: f64 = 1e-2;

/// The command line.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Graphs: cora, mesh200k, er100k, rmat17, grid1k for graphs of that kind and size; generators or files.
    #[arg(long, value_delimiter = ',', default_values = ["cora", "mesh200k", "er100k", "rmat17", "grid1k"])]
    graphs: Vec<String>,
    /// Models, by the names of the command line.
    #[arg(long, value_delimiter = ',', default_values = ["gcn", "gin", "sage", "gat"])]
    models: Vec<String>,
    /// Columns of the features, of the hidden layer and of the result.
    #[arg(long, default_value_t = 128)]
    columns: usize,
    /// Types of features and weights.
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["f32", "f16"])]
    types: Vec<Type>,
    /// Dropout of every layer's input and of attention [default: that of the model's recipe].
    #[arg(long, value_parser = probability)]
    dropout: Option<f64>,
    /// A Python with PyTorch and PyTorch Geometric, by which steps of the same models in f32 are timed on the same GPU.
    #[arg(long, value_name = "PYTHON")]
    peer: Option<PathBuf>,
    #[command(flatten)]
    timing: timing::Options,
}

/// A model on a graph.
#[derive(Debug, Serialize)]
pub struct Measured {
    graph: String,
    nodes: usize,
    entries: usize,
    model: String,
    element: &'static str,
    columns: usize,
    /// A forward pass of both layers.
    forward_ms: f64,
    /// A training step, operation by operation.
    step_ms: f64,
    /// A replay of one.
    replay_ms: Option<f64>,
    /// Device memory in use at most, features and graph included.
    peak_bytes: u64,
    /// Dropout of every layer's input and of attention.
    dropout: f64,
    /// PyTorch Geometric's step in f32.
    pyg_step_ms: Option<f64>,
    /// Whether that was measured in this run; else it is a table's.
    pyg_in_this_run: bool,
    /// The loss before and after the first steps.
    losses: (f64, f64),
}

/// Runs the bench and prints a table.
///
/// # Errors
/// No GPU, an unknown model, a graph that cannot be loaded, a loss that does not fall.
pub fn run(options: &Options) -> Result<()> {
    let bench = Bench::open(&options.timing)?;
    let mut all = Vec::new();
    println!("graph                model      type    F dropout  forward ms   step ms replay ms  PyG step   ratio   peak MB  loss");
    let architecture = |model: &String| {
        let known = Architecture::ALL.into_iter().find(|a| a.name() == model.as_str());
        known.with_context(|| format!("there is no model {model:?}"))
    };
    let architectures = options.models.iter().map(architecture).collect::<Result<Vec<_>>>()?;
    let dropout = |of: Architecture| options.dropout.unwrap_or(of.recipe(options.columns).shape.dropout);
    let models: Vec<pyg::Model> = architectures.iter().map(|&of| pyg::Model { name: of.name(), dropout: dropout(of) }).collect();
    for name in &options.graphs {
        let csr = generator(name).parse::<GraphSource>()?.load(&LoadOptions::default())?.csr;
        ensure!(csr.is_square() && csr.nnz() > 0, "{name} is not a square matrix with entries");
        let measured = options.peer.as_deref().map(|python| pyg::measured(python, &csr, options.columns, bench.options.repeat, &models));
        let peer = measured.transpose().with_context(|| format!("PyTorch Geometric on {name}"))?;
        for (k, (&architecture, model)) in architectures.iter().zip(&models).enumerate() {
            let pyg_step_ms = match &peer {
                Some(times) => times[k],
                None => pyg::published(name, model.name, options.columns)?,
            };
            for kind in &options.types {
                let peer = Peer { step_ms: pyg_step_ms, in_this_run: peer.is_some() };
                let runner =
                    Runner { bench: &bench, name, csr: &csr, architecture, columns: options.columns, dropout: model.dropout, peer };
                let measured = match kind {
                    Type::F16 => runner.measure::<f16>("f16"),
                    Type::Bf16 => runner.measure::<bf16>("bf16"),
                    Type::F32 => runner.measure::<f32>("f32"),
                };
                let line = measured.with_context(|| format!("{} on {name} in {kind:?}", model.name))?;
                println!("{}", line.line());
                all.push(line);
            }
        }
    }
    bench.report(&all)
}

impl Measured {
    /// What the ratio is of: the faster way.
    fn best_ms(&self) -> f64 {
        self.replay_ms.map_or(self.step_ms, |ms| ms.min(self.step_ms))
    }
    fn line(&self) -> String {
        let (peer, ratio) =
            self.pyg_step_ms.map_or(("-".into(), "-".into()), |ms| (format!("{ms:.2}"), format!("{:.1}", ms / self.best_ms())));
        let replay = self.replay_ms.map_or("-".into(), |ms| format!("{ms:.4}"));
        format!(
            "{:<20} {:<10} {:<4} {:>4} {:>7} {:>11.4} {:>9.4} {replay:>9} {peer:>9} {ratio:>7} {:>9.1}  {:.3} to {:.3}",
            self.graph,
            self.model,
            self.element,
            self.columns,
            self.dropout,
            self.forward_ms,
            self.step_ms,
            self.peak_bytes as f64 / 1e6,
            self.losses.0,
            self.losses.1
        )
    }
}

struct Runner<'a> {
    bench: &'a Bench<'a>,
    name: &'a str,
    csr: &'a Csr,
    architecture: Architecture,
    columns: usize,
    dropout: f64,
    peer: Peer,
}

/// PyTorch Geometric's step, where it is known.
#[derive(Clone, Copy)]
struct Peer {
    step_ms: Option<f64>,
    in_this_run: bool,
}

/// A probability below 1.
fn probability(text: &str) -> std::result::Result<f64, String> {
    let p: f64 = text.parse().map_err(|e| format!("{e}"))?;
    if (0.0..1.0).contains(&p) { Ok(p) } else { Err("a dropout is from 0 to below 1".into()) }
}

/// A model in training.
struct Training<T: Float> {
    model: Model<Cuda, T>,
    graph: Graph<Cuda, T::Real>,
    features: Features<Cuda, T>,
    labels: Dense<Cuda, i32>,
    parameters: Parameters<Cuda, T>,
    gradients: Gradients<Cuda, T::Real>,
    states: [AdamState<Cuda, T::Real>; 2],
    step: u32,
    scale: f64,
}

impl<T: Float> Training<T> {
    /// The class of a node is the column of its largest feature, so that there is something to learn.
    fn new(cuda: &Cuda, csr: &Csr, model: Model<Cuda, T>) -> Result<Self> {
        let (n, columns) = (csr.nrows(), model.inputs());
        let hash = |k: u64| (k ^ k >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        let label = |v: usize| (hash((v as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) % columns as u64) as usize;
        let mut host: Vec<f32> = (0..n * columns).map(|k| crate::features::number(k, 1) as f32).collect();
        (0..n).for_each(|v| host[v * columns + label(v)] += 2.0);
        let parameters = model.start(cuda, 1)?;
        let zeros = || Dense::zeros(cuda, parameters.flat().nrows(), parameters.flat().ncols());
        Ok(Self {
            graph: Graph::new(cuda, csr)?,
            features: Features::dense(cuda, n, columns, &host)?,
            labels: Dense::column_vector(cuda, (0..n).map(|v| label(v) as i32).collect())?,
            gradients: Gradients::new(cuda, model.layout())?,
            states: [AdamState::new(parameters.flat().clone())?, AdamState::new(zeros()?)?],
            parameters,
            model,
            step: 0,
            scale: if T::NEEDS_LOSS_SCALE { 1024.0 } else { 1.0 },
        })
    }
    fn forward(&self) -> Result<Dense<Cuda, T>> {
        Ok(self.model.infer(&self.graph, &self.parameters, &self.features)?)
    }
    /// One step; its loss, on the device.
    fn step(&mut self) -> Result<Dense<Cuda, T::Real>> {
        self.step += 1;
        let mode = Mode::Train { seed: 1, step: self.step };
        let (logits, tape) = self.model.forward(&self.graph, &self.parameters, &self.features, mode)?;
        let (loss, gradient, column_sums) = cross_entropy_with_sums(&logits, &self.labels, self.scale)?;
        drop(logits);
        let dlogits = LogitsGradient { gradient, column_sums };
        self.model.backward(&self.graph, &self.parameters, mode, tape, dlogits, &mut self.gradients)?;
        let settings = self.settings();
        let [now, next] = &mut self.states;
        adam(now, self.gradients.flat(), None, (settings, self.step), next)?;
        self.states.swap(0, 1);
        self.follow()?;
        Ok(loss)
    }
    fn settings(&self) -> AdamSettings {
        AdamSettings { rate: RATE, gradient_factor: 1.0 / self.scale, ..AdamSettings::default() }
    }
    /// The parameters that the optimiser is at.
    fn follow(&mut self) -> Result<()> {
        self.parameters = Parameters::from_flat(self.model.layout(), self.states[0].parameters.clone())?;
        Ok(())
    }
    /// Writes two steps down, after which both sets of buffers are in their places again; none where that cannot be done.
    fn written(&mut self, cuda: &Cuda) -> Result<Option<Replays>> {
        let Some(mut recorder) = cuda.recorder()? else { return Ok(None) };
        let once = |training: &mut Self| -> bitgraph::cuda::Result<()> {
            training
                .follow()
                .and_then(|()| training.step())
                .map(drop)
                .map_err(|e| e.downcast().unwrap_or(bitgraph::cuda::Error::NotWritten))
        };
        recorder.run(&mut || once(self).and_then(|()| once(self)))?;
        for state in &mut self.states {
            for array in [&mut state.parameters, &mut state.first, &mut state.second] {
                *array = map(array).eval()?;
            }
        }
        self.follow()?;
        let mut numbers = Vec::new();
        for _ in 0..2 {
            numbers.extend(recorder.write(&mut || once(self))?);
        }
        Ok(<[usize; 2]>::try_from(numbers).ok().map(|numbers| Replays { recorder, numbers, after: self.step }))
    }
    /// A replay of a step.
    fn replay(&mut self, written: &Replays) -> Result<()> {
        let number = written.numbers[((self.step - written.after) % 2) as usize];
        self.step += 1;
        let AdamSettings { rate, gradient_factor, .. } = self.settings();
        let corrections = self.settings().corrections(self.step);
        let moment = Moment { draws: self.step, rate, gradient_factor, corrections, loss_scale: self.scale };
        Ok(written.recorder.replay(number, &moment)?)
    }
}

/// Two steps that are written down.
struct Replays {
    recorder: Box<dyn Recorder<bitgraph::cuda::Error>>,
    numbers: [usize; 2],
    /// Steps before them.
    after: u32,
}

impl Runner<'_> {
    fn measure<T: Float>(&self, element: &'static str) -> Result<Measured> {
        let (device, columns) = (&self.bench.device, self.columns);
        device.reset_peak();
        let recipe = self.architecture.recipe(columns).shape;
        let shape = bitgraph::gnn::Shape { hidden: columns, heads: 1, last_heads: 1, dropout: self.dropout, ..recipe };
        let model = self.architecture.model::<Cuda, T>(&shape, columns, columns)?;
        let mut training = Training::new(&self.bench.cuda, self.csr, model)?;
        let loss = |loss: Dense<Cuda, T::Real>| -> Result<f64> { Ok(Scalar::to_f64(loss.to_host()?[0])) };
        let first = loss(training.step()?)?;
        for _ in 1..FIRST_STEPS {
            training.step()?;
        }
        let last = loss(training.step()?)?;
        ensure!(last < first, "the loss went from {first} to {last}");
        let step = self.mean_of(|| training.step().map(drop))?;
        let peak_bytes = device.memory()?.peak;
        let forward = self.mean_of(|| training.forward().map(drop))?;
        let written = training.written(&self.bench.cuda)?;
        let replay = written.map(|written| self.mean_of(|| training.replay(&written))).transpose()?;
        Ok(Measured {
            graph: self.name.to_owned(),
            nodes: self.csr.nrows(),
            entries: self.csr.nnz(),
            model: self.architecture.name().to_owned(),
            element,
            columns,
            forward_ms: 1e3 * forward,
            step_ms: 1e3 * step,
            replay_ms: replay.map(|seconds| 1e3 * seconds),
            peak_bytes,
            dropout: self.dropout,
            pyg_step_ms: self.peer.step_ms,
            pyg_in_this_run: self.peer.in_this_run,
            losses: (first, last),
        })
    }
    /// The median of means over so many calls, which do not wait for each other.
    fn mean_of(&self, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        self.bench.median_of(|| {
            self.bench.device.synchronize()?;
            let start = Instant::now();
            for _ in 0..STEPS {
                call()?;
            }
            self.bench.device.synchronize()?;
            Ok(start.elapsed().as_secs_f64() / f64::from(STEPS))
        })
    }
}
