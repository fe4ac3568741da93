//! Trained networks in the tables of papers: accuracy, memory and time of a model in a precision on the data sets at hand.
//!
//! Invariant: a number is of the data set that its row names; what has no folder is left out, and the report says so.

pub mod bitgnn;
pub mod halfgnn;
pub mod published;

use super::paper::{Common, Tables, seconds};
use super::table::Gpu;
use crate::timing::Bench;
use anyhow::{Context, Result};
use bitgraph::gnn::data::{self, Dataset};
use bitgraph::gnn::memory::{Extent, Purpose, footprint};
use bitgraph::gnn::quant::{self, LowBits};
use bitgraph::gnn::{Architecture, Epoch, Float, Model, NodeTask, Parameters, Plan, Precision, Runs, Spread, Taught, bf16, f16};
use bitgraph::prelude::*;
use bitgraph::sparse::Control;
use bitgraph::tensor::{Bits, TensorBackend};

/// The data sets of all three papers.
const SETS: [&str; 3] = ["Cora", "CiteSeer", "PubMed"];
/// What stands for a data set in a quick run, and its epochs at most.
const QUICK: (&str, u32) = ("planted:300:3:8", 30);

/// How models are trained.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Those of every paper. Data sets are folders of --data, there or in gnn in it.
    #[command(flatten)]
    pub common: Common,
    /// Runs of each model, from seeds that follow each other.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: u32,
}

/// A model as it was trained and run.
#[derive(Clone, Debug)]
pub struct Found {
    /// Test accuracy.
    pub accuracy: Spread,
    /// The epochs of the first run.
    pub epochs: Vec<Epoch>,
    /// Seconds of a run's training.
    pub train_s: f64,
    /// Bytes that training is predicted to take.
    pub train_bytes: u64,
    /// Seconds of an inference on the host.
    pub infer_s: f64,
    /// Bytes that inference takes.
    pub infer_bytes: u64,
    /// Seconds of an inference on the GPU, and its bytes.
    pub gpu: Gpu<(f64, u64)>,
    /// The flat buffer of the best run.
    flat: Vec<f32>,
}

impl Options {
    /// The data sets that are at hand, by their names in the papers.
    ///
    /// # Errors
    /// A data set that cannot be read.
    pub(crate) fn sets(&self, tables: &mut Tables) -> Result<Vec<(&'static str, Dataset)>> {
        let mut sets = Vec::new();
        let wanted = |name: &&str| self.common.graphs.is_empty() || self.common.graphs.iter().any(|g| g.eq_ignore_ascii_case(name));
        let most = if self.common.quick { 1 } else { SETS.len() };
        for name in SETS.into_iter().filter(wanted).take(most) {
            if self.common.quick {
                sets.push((name, data::open(QUICK.0.as_ref(), &Control::default())?));
                continue;
            }
            let folders = self.common.data.iter().flat_map(|d| [d.join(name.to_lowercase()), d.join("gnn").join(name.to_lowercase())]);
            match folders.into_iter().find(|folder| folder.is_dir()) {
                Some(folder) => sets.push((name, data::open(&folder, &Control::default())?)),
                None => tables.left_out.push(format!("{name}: there is no folder of that name in --data DIR")),
            }
        }
        Ok(sets)
    }
    /// Trains a model by its recipe on the host, and runs it there and on the GPU.
    ///
    /// # Errors
    /// A precision that the model has not; a run without any good state.
    pub(crate) fn found(
        &self,
        (tables, bench): (&mut Tables, Option<&Bench<'_>>),
        (name, set): (&str, &Dataset),
        kind: (Architecture, Precision),
    ) -> Result<Found> {
        kind.1.check(kind.0)?;
        eprintln!("{name}: {} in {}", kind.0.name(), kind.1);
        let cpu = Cpu::new();
        let mut found = on(&cpu, set, kind, Trains(self, set, kind))?;
        let what = format!("{name}: {} in {}", kind.0.name(), kind.1);
        found.gpu = tables.on_gpu(bench, &what, |bench| on(&bench.cuda, set, kind, Infers(bench, &found.flat)));
        Ok(found)
    }
}

/// What is done with a model and its task, of whatever type.
trait Work<B: TensorBackend + Bits> {
    type Output;
    fn work<T: Float<Real = f32>>(self, model: &Model<B, T>, task: &NodeTask<B, T>) -> Result<Self::Output>;
}

/// Makes a model and its task, and does some work with them.
fn on<B: TensorBackend + Bits, W: Work<B>>(backend: &B, set: &Dataset, kind: (Architecture, Precision), work: W) -> Result<W::Output> {
    let (architecture, precision) = kind;
    let (inputs, classes) = (set.features().shape().1, set.labels().classes());
    let recipe = architecture.recipe_in(precision, classes, quant::gains_by_a_teacher(precision));
    let set = set.clone().with_features(set.features().normalised(recipe.normalise))?;
    match precision {
        Precision::F32 => work.work::<f32>(&architecture.model(&recipe.shape, inputs, classes)?, &set.task(backend, 0)?),
        Precision::F16 => work.work::<f16>(&architecture.model(&recipe.shape, inputs, classes)?, &set.task(backend, 0)?),
        Precision::Bf16 => work.work::<bf16>(&architecture.model(&recipe.shape, inputs, classes)?, &set.task(backend, 0)?),
        _ => {
            let LowBits { model, task } = LowBits::new(backend, &set, 0, precision, &recipe.shape)?;
            work.work::<f32>(&model, &task)
        }
    }
}

/// Training on the host.
struct Trains<'a>(&'a Options, &'a Dataset, (Architecture, Precision));

impl<B: TensorBackend + Bits> Work<B> for Trains<'_> {
    type Output = Found;

    fn work<T: Float<Real = f32>>(self, model: &Model<B, T>, task: &NodeTask<B, T>) -> Result<Found> {
        let Self(options, set, (architecture, precision)) = self;
        let taught = quant::gains_by_a_teacher(precision);
        let mut training = architecture.recipe_in(precision, task.classes(), taught).training;
        let mut seeds = u64::from(options.seeds);
        if options.common.quick {
            (training.epochs, seeds) = (training.epochs.min(QUICK.1), 1);
        }
        let mut runs = Runs::new(model, task, &training, (1..=seeds).collect());
        if taught {
            let teach = move |seed| {
                let logits = quant::teach(task.graph.backend(), set, (0, seed), &Control::default())?;
                Taught::new(&bitgraph::tensor::ops::map(&logits).eval_as()?, quant::teachers_share(precision))
            };
            runs = runs.with_teacher(Box::new(teach))?;
        }
        let mut epochs = Vec::new();
        while let Some((seed, epoch)) = runs.step()? {
            if seed == 1 {
                epochs.push(epoch);
            }
        }
        let outcomes = runs.outcomes();
        let accuracies: Vec<f64> = outcomes.iter().map(|o| o.test_accuracy).collect();
        let (_, flat) = runs.best()?.context("no run had a good state")?;
        let (infer_s, infer_bytes) = inference(model, task, &flat, options.common.runs())?;
        Ok(Found {
            accuracy: Spread::of(&accuracies),
            epochs,
            train_s: Spread::of(&outcomes.iter().map(|o| o.train_s).collect::<Vec<_>>()).mean,
            train_bytes: footprint(model, &Extent::of(set).read_in(precision), Purpose::Training).peak(),
            infer_s,
            infer_bytes,
            gpu: Err(super::table::NO_GPU),
            flat,
        })
    }
}

/// Seconds of an inference by a plan, on the host's clock, and its bytes.
fn inference<B: TensorBackend + Bits, T: Float<Real = f32>>(
    model: &Model<B, T>,
    task: &NodeTask<B, T>,
    flat: &[f32],
    runs: usize,
) -> Result<(f64, u64)> {
    let layout = model.layout();
    let parameters = Parameters::from_flat(layout, layout.flat(task.graph.backend(), flat.to_vec())?)?;
    let plan = Plan::new(model, &task.graph, &parameters, &task.features)?;
    Ok((seconds(runs, || Ok(plan.run()?))?, plan.footprint().peak()))
}

/// Inference on a GPU, by its own clock.
struct Infers<'a>(&'a Bench<'a>, &'a [f32]);

impl Work<Cuda> for Infers<'_> {
    type Output = (f64, u64);

    fn work<T: Float<Real = f32>>(self, model: &Model<Cuda, T>, task: &NodeTask<Cuda, T>) -> Result<(f64, u64)> {
        let Self(bench, flat) = self;
        let layout = model.layout();
        let parameters = Parameters::from_flat(layout, layout.flat(&bench.cuda, flat.to_vec())?)?;
        let plan = Plan::new(model, &task.graph, &parameters, &task.features)?;
        let seconds = bench.single(&|| plan.run().map(drop))?;
        Ok((seconds, plan.footprint().peak()))
    }
}
