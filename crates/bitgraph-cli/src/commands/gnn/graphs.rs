//! `gnn train` over many graphs: cross validation, whose folds are trained side by side, and the model of one of them.

use super::heading::Heading;
use super::options::TrainArgs;
use super::{GnnBackend, Working, abreast, curve, explain, setup};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::{files, output, report};
use bitgraph::gnn::data::{self, GraphSet, Normalise, Set};
use bitgraph::gnn::graphs::{BATCH, GraphRun, OfGraphs, Rule, chosen, folds, split};
use bitgraph::gnn::memory::{Extent, Footprint, Purpose, footprint};
use bitgraph::gnn::{
    Architecture, Checkpoint, Description, Epoch, Error, Model, Nodes, Precision, Progress, Settings, Shape, Spread, Teacher, Training,
    quant,
};
use bitgraph_measure::{Clock, median};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Makes the model over graphs of a kind, a shape, a read-out and sizes, of the type that its precision asks for.
macro_rules! with_graph_model {
    ($backend:ty, $of:expr, $model:ident => $call:expr) => {{
        use bitgraph::gnn::{Precision, bf16, f16, quant};
        let ((architecture, precision), shape, readout, (inputs, classes)) = $of;
        match precision {
            Precision::F32 => {
                let $model = architecture.graph_model::<$backend, f32>(shape, readout, inputs, classes)?;
                $call
            }
            Precision::F16 => {
                let $model = architecture.graph_model::<$backend, f16>(shape, readout, inputs, classes)?;
                $call
            }
            Precision::Bf16 => {
                let $model = architecture.graph_model::<$backend, bf16>(shape, readout, inputs, classes)?;
                $call
            }
            _ => {
                let $model = quant::graph_model::<$backend>(precision, shape, readout, (inputs, classes))?;
                $call
            }
        }
    }};
}
pub(super) use with_graph_model;

/// Folds where no option says how many.
const FOLDS: usize = 10;
/// Folds that are trained at once on a device: one launches some hundred operations for a batch of graphs and leaves it idle. PROTEINS, 40 epochs of
/// ten folds on an H200 with 16 cores: 13.4 s one by one, 7.7 by twos, 5.6 by fives, 6.6 all at once.
const ON_DEVICE: usize = 5;
/// Inferences that are timed.
const TIMED: usize = 5;

/// What a fold came to.
#[derive(Serialize)]
struct Fold {
    seed: u64,
    fold: usize,
    test_accuracy: f64,
    /// None without graphs for validation.
    val_accuracy: Option<f64>,
    best_epoch: u32,
    epochs: u32,
    train_s: f64,
}

/// The JSON object: that of training, with the folds as runs and how their epochs were chosen.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    heading: Heading<'a>,
    folds: usize,
    rule: &'static str,
    runs: &'a [Fold],
    test_accuracy: f64,
    std: f64,
    peak_bytes: u64,
    infer_s: f64,
}

/// Trains and measures a model on each fold of a set of graphs.
pub fn run<B: GnnBackend>(backend: &B, args: &TrainArgs, name: &Path, reporter: &Reporter) -> Result<()> {
    let none = "is of training on one graph; a set of graphs is cross validated as a whole";
    let misplaced = [
        ("--resume", args.resume.is_some()),
        ("--runs", args.runs.is_some()),
        ("--split", args.settings.split.is_some()),
        ("--stale-epochs", args.settings.stale_epochs.is_some()),
        ("--deterministic", args.deterministic),
    ];
    if let Some((option, _)) = misplaced.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format_args!("{option} {none}")));
    }
    let (architecture, precision) = (args.model.unwrap_or(Architecture::Gin), args.precision.unwrap_or_default());
    precision.check_graphs(architecture)?;
    if let (Some(plot), Some(file)) = (&args.plot, &args.save) {
        files::check_target(plot, &[file.as_os_str()])?;
    }
    let normalise = args.settings.normalise.unwrap_or_default();
    let set = load(name, normalise, reporter)?;
    let (shape, settings) = setup::adjusted(args, &quant::graph_recipe(architecture, precision, set.labels().classes()));
    settings.optimiser.validate()?;
    let job = Job { backend, args, name, reporter, set: &set, normalise, shape, settings, kind: (architecture, precision) };
    let of = (job.kind, &job.shape, args.graphs.readout, (set.features().shape().1, set.labels().classes()));
    with_graph_model!(B, of, model => job.train(&model))
}

/// Reads a set of graphs.
pub fn load(name: &Path, normalise: Normalise, reporter: &Reporter) -> Result<GraphSet> {
    let Set::Graphs(set) = data::open_any(name, &reporter.running("loading"))? else {
        return Err(Failure::other("this is no set of graphs").at(name.display()));
    };
    reporter.check()?;
    Ok(set.normalised(normalise)?)
}

/// What inference over all graphs of a set is predicted to take, tensor by tensor.
pub fn whole<B: GnnBackend, T: Working>(model: &Model<B, T>, set: &GraphSet) -> (Extent, Footprint) {
    let (inputs, classes) = (set.features().shape().1 as u64, set.labels().classes() as u64);
    let (nodes, entries) = (set.graph().nrows() as u64, set.graph().nnz() as u64);
    let symmetric = set.graph().is_symmetric();
    let whole = Extent { nodes, entries, inputs, sparse: None, classes, batch: None, streamed: false, neighbours: false, symmetric };
    (whole, footprint(model, &whole, Purpose::Inference))
}

/// Refuses what is predicted to take more memory than there is, or than is allowed.
pub fn refuse<B: GnnBackend>(backend: &B, limit: Option<u64>, needed: u64, instead: &str) -> Result<()> {
    let free = match backend.accelerator() {
        Some(device) => device.memory().ok().map(|m| m.free),
        None => crate::system::free_memory(),
    };
    match limit.or(free) {
        Some(limit) if needed > limit => {
            Err(Failure::OutOfMemory(Error::Memory { needed, limit, instead: instead.to_owned() }.to_string()))
        }
        _ => Ok(()),
    }
}

struct Job<'a, B: GnnBackend> {
    backend: &'a B,
    args: &'a TrainArgs,
    name: &'a Path,
    reporter: &'a Reporter,
    set: &'a GraphSet,
    normalise: Normalise,
    shape: Shape,
    settings: Settings,
    kind: (Architecture, Precision),
}

impl<B: GnnBackend> Job<'_, B> {
    fn batch(&self) -> usize {
        self.args.graphs.batch_graphs.map_or(BATCH, |n| n as usize)
    }
    fn train<T: Working>(&self, model: &Model<B, T>) -> Result<()> {
        let (set, graphs, seed) = (self.set, &self.args.graphs, self.args.general.seed);
        let bytes = self.check_memory(model)?;
        let all: Vec<u32> = (0..set.len() as u32).collect();
        let (rule, classes) = (graphs.rule, set.labels().of());
        let parts = folds(classes, &all, graphs.folds.unwrap_or(FOLDS), seed)?;
        if !self.args.general.json && !self.args.general.quiet {
            self.reporter.past_the_bar(&self.heading(model, parts.len()));
        }
        let bar = self.reporter.running("training");
        let training = self.settings.training(bar.clone());
        let total = u64::from(training.epochs) * parts.len() as u64;
        let done = AtomicU64::new(0);
        let one = |fold: usize| -> Result<(Vec<Epoch>, f64)> {
            // A device's work for one fold does not wait for that of another.
            let (part, start, backend) = (split(classes, &parts, fold, rule, seed)?, Instant::now(), self.backend.beside()?);
            let mut run = GraphRun::new(&backend, (model, set), (&training, self.batch()), part, seed).map_err(Into::into)?;
            let mut epochs: Vec<Epoch> = Vec::new();
            for _ in 0..training.epochs {
                self.reporter.check()?;
                let epoch = run.step().map_err(Into::into)?;
                let (loss, accuracy) = (epoch.loss, epoch.scores.test_accuracy);
                if self.args.general.verbose {
                    self.reporter.tell(&format!("fold {fold}, epoch {}: loss {loss:.4}, test accuracy {accuracy:.4}", epoch.epoch));
                }
                self.reporter.message(format!("fold {fold}, epoch {}: loss {loss:.3}, accuracy {accuracy:.3}", epoch.epoch));
                bar.report(done.fetch_add(1, Relaxed) + 1, Some(total));
                epochs.push(epoch);
            }
            Ok((epochs, start.elapsed().as_secs_f64()))
        };
        let folds = abreast(self.backend, (self.args.abreast, self.args.place.memory_limit), (parts.len(), ON_DEVICE), bytes)
            .run((0..parts.len()).collect(), one)?;
        let (seen, seconds): (Vec<_>, Vec<_>) = folds.into_iter().unzip();
        // Times are the same before training.
        let last = split(classes, &parts, parts.len() - 1, rule, seed)?;
        let run = GraphRun::new(self.backend, (model, set), (&training, self.batch()), last, seed).map_err(Into::into)?;
        let clock = Clock::of(self.backend.accelerator());
        let infer: Vec<f64> =
            (0..TIMED).map(|_| Ok(clock.run(|| run.logits().map_err(Into::<Failure>::into))?.seconds)).collect::<Result<_>>()?;
        drop(run);
        let best = chosen(&seen, rule)?;
        let fold = |(fold, (epochs, at)): (usize, (&Vec<Epoch>, usize))| Fold {
            seed,
            fold,
            test_accuracy: epochs[at].scores.test_accuracy,
            val_accuracy: (rule == Rule::Validation).then_some(epochs[at].scores.validation_accuracy),
            best_epoch: epochs[at].epoch,
            epochs: epochs.len() as u32,
            train_s: seconds[fold],
        };
        let runs: Vec<Fold> = seen.iter().zip(best.iter().copied()).enumerate().map(fold).collect();
        if let Some(file) = &self.args.save {
            // The fold that does best where there is something to tell by, besides the graphs for test.
            let worth = |f: &usize| runs[*f].val_accuracy.unwrap_or_default();
            let kept = (0..runs.len()).rev().max_by(|a, b| worth(a).total_cmp(&worth(b))).unwrap_or_default();
            let of = OfGraphs {
                readout: graphs.readout,
                batch: self.batch(),
                folds: parts.len(),
                rule,
                fold: kept,
                fingerprint: set.fingerprint(),
                tags: set.tags().to_vec(),
            };
            let part = split(classes, &parts, kept, rule, seed)?;
            self.save(file, (model, &training), of, part, seen[kept][best[kept]])?;
        }
        self.finish(&runs, &seen, median(&infer))
    }
    /// Saves the model of a fold at an epoch: the fold is trained again until there, which gives the same numbers.
    fn save<T: Working>(
        &self,
        file: &Path,
        (model, training): (&Model<B, T>, &Training),
        graphs: OfGraphs,
        part: Nodes,
        epoch: Epoch,
    ) -> Result<()> {
        let (set, seed) = (self.set, self.args.general.seed);
        let mut run = GraphRun::new(self.backend, (model, set), (training, self.batch()), part, seed).map_err(Into::into)?;
        let mut last = None;
        for e in 1..=epoch.epoch {
            self.reporter.check()?;
            last = Some(run.step().map_err(Into::into)?);
            self.reporter.message(format!("the model of fold {}: epoch {e} of {}", graphs.fold, epoch.epoch));
        }
        if last.is_none_or(|last| (last.loss, last.scores.test_accuracy) != (epoch.loss, epoch.scores.test_accuracy)) {
            let what = "did not give the same numbers again, and is not saved";
            return Err(Failure::other(format_args!("fold {} {what}", graphs.fold)));
        }
        let description = Description {
            model: self.kind.0.name().to_owned(),
            precision: self.kind.1.to_string(),
            inputs: model.inputs(),
            classes: model.columns(),
            shape: self.shape,
            data: self.name.display().to_string(),
            split: 0,
            normalise: self.normalise,
            factor: 1.0,
            settings: self.settings.clone(),
            batches: None,
            teacher: Teacher::None,
            seeds: vec![seed],
            execution: None,
            graphs: Some(graphs),
        };
        let progress = Progress { outcomes: Vec::new(), best: None, running: None };
        let flat = run.parameters().flat().to_host().map_err(Into::into)?;
        let mut saved = Checkpoint::new(description, model.layout(), (epoch, &flat), progress)?;
        for (mean, variance) in run.statistics().map_err(Into::into)? {
            saved.statistics.push([mean.to_host().map_err(Into::into)?, variance.to_host().map_err(Into::into)?]);
        }
        Ok(saved.save(file, &self.reporter.saving())?)
    }
    /// Refuses what is predicted to take more memory than there is, or than is allowed: a batch in training beside all graphs in inference. Gives
    /// the bytes.
    fn check_memory<T: Working>(&self, model: &Model<B, T>) -> Result<u64> {
        let (extent, whole) = whole(model, self.set);
        let graphs = self.set.len().max(1) as u64;
        let share = |n: u64| (n * (self.batch() as u64).min(graphs)).div_ceil(graphs);
        let batch = Extent { nodes: share(extent.nodes), entries: share(extent.entries), ..extent };
        let predicted = [whole, footprint(model, &batch, Purpose::Training)];
        if self.args.explain {
            self.reporter.clear();
            output::note(&explain(self.kind.0.name(), self.kind.1, model, &predicted[1]));
            output::note(&format!("predicted bytes of inference over all graphs\n{}", predicted[0]));
        }
        let needed = predicted.iter().map(Footprint::peak).sum();
        refuse(self.backend, self.args.place.memory_limit, needed, "fewer hidden columns, or fewer graphs a batch, may fit")?;
        Ok(needed)
    }
    fn heading<T: Working>(&self, model: &Model<B, T>, folds: usize) -> String {
        let (set, shape) = (self.set, &self.shape);
        format!(
            "{}: {} graphs of {} nodes and {} entries, {} features, {} classes; {folds} folds\n{} in {}: {} layers, {} columns between them, {} \
             parameters\n",
            self.name.display(),
            set.len(),
            set.graph().nrows(),
            set.graph().nnz(),
            model.inputs(),
            model.columns(),
            self.kind.0.name(),
            self.kind.1,
            shape.layers,
            shape.hidden,
            model.layout().count()
        )
    }
    fn finish(&self, runs: &[Fold], seen: &[Vec<Epoch>], infer_s: f64) -> Result<()> {
        let (model, precision, rule) = (self.kind.0.name(), self.kind.1.to_string(), self.args.graphs.rule);
        if let Some(file) = &self.args.plot {
            let epochs: Vec<(u64, Epoch)> = (0u64..).zip(seen).flat_map(|(fold, all)| all.iter().map(move |e| (fold, *e))).collect();
            curve::write(file, &format!("{model} in {precision} on {}", self.set.name()), &epochs, self.reporter)?;
        }
        self.reporter.clear();
        let tests: Vec<f64> = runs.iter().map(|r| r.test_accuracy).collect();
        let Spread { mean, deviation } = Spread::of(&tests);
        let peak_bytes = self.backend.device_bytes().unwrap_or_else(bitgraph::memory::peak_bytes);
        let (data, backend) = (self.name.display().to_string(), self.backend.name());
        if self.args.general.json {
            return report::json(&Report {
                heading: Heading::new([model, &precision, &data], backend),
                folds: runs.len(),
                rule: rule.name(),
                runs,
                test_accuracy: mean,
                std: deviation,
                peak_bytes,
                infer_s,
            });
        }
        if self.args.general.quiet {
            return Ok(());
        }
        let how = match (rule, runs) {
            (Rule::OneEpoch, [first, ..]) => format!("at epoch {}, the best for all of them", first.best_epoch),
            _ => "each at the epoch of its best validation accuracy".to_owned(),
        };
        let mut text = format!("test accuracy {mean:.4} +- {deviation:.4} over {} folds, {how}\n", runs.len());
        let (infer, peak) = (report::time(infer_s), report::bytes(peak_bytes));
        let _ = writeln!(text, "inference over all graphs {infer}, peak memory {peak}");
        if let Some(file) = &self.args.save {
            let _ = writeln!(text, "saved to {0}, which gnn infer --model-file {0} takes", file.display());
        }
        output::print(&text)
    }
}
