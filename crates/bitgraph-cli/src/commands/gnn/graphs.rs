//! `gnn train` over many graphs: cross validation, whose folds are trained one after the other.

use super::options::TrainArgs;
use super::{GnnBackend, Working, curve, explain, setup};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::{output, report};
use bitgraph::gnn::data::{self, GraphSet, Set};
use bitgraph::gnn::graphs::{BATCH, GraphRun, Rule, chosen, folds, split};
use bitgraph::gnn::memory::{Extent, Purpose, footprint};
use bitgraph::gnn::{Architecture, Epoch, Error, Model, Precision, Settings, Shape, Spread, bf16, f16};
use bitgraph_measure::{Clock, median};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// Folds where no option says how many.
const FOLDS: usize = 10;
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
    schema: u32,
    model: &'a str,
    precision: String,
    data: String,
    backend: &'static str,
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
    let none = "is of training on one graph; a set of graphs is cross validated, and no state of it is kept";
    let misplaced = [
        ("--save", args.save.is_some()),
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
    precision.check(architecture)?;
    let Set::Graphs(set) = data::open_any(name, &reporter.running("loading"))? else {
        return Err(Failure::other("this is no set of graphs").at(name.display()));
    };
    reporter.check()?;
    let set = set.normalised(args.settings.normalise.unwrap_or_default())?;
    let (shape, settings) = setup::adjusted(args, &architecture.graph_recipe(set.labels().classes()));
    settings.optimiser.validate()?;
    let job = Job { backend, args, name, reporter, set: &set, shape, settings, kind: (architecture, precision) };
    match precision {
        Precision::F32 => job.train::<f32>(),
        Precision::F16 => job.train::<f16>(),
        Precision::Bf16 => job.train::<bf16>(),
        _ => Err(Failure::usage(format_args!("{precision}: sets of many graphs are trained in f32, f16 and bf16"))),
    }
}

struct Job<'a, B: GnnBackend> {
    backend: &'a B,
    args: &'a TrainArgs,
    name: &'a Path,
    reporter: &'a Reporter,
    set: &'a GraphSet,
    shape: Shape,
    settings: Settings,
    kind: (Architecture, Precision),
}

impl<B: GnnBackend> Job<'_, B> {
    fn batch(&self) -> usize {
        self.args.graphs.batch_graphs.map_or(BATCH, |n| n as usize)
    }
    fn train<T: Working>(&self) -> Result<()> {
        let (set, graphs, seed) = (self.set, &self.args.graphs, self.args.general.seed);
        let (inputs, classes) = (set.features().shape().1, set.labels().classes());
        let model: Model<B, T> = self.kind.0.graph_model(&self.shape, graphs.readout, inputs, classes)?;
        self.check_memory(&model)?;
        let all: Vec<u32> = (0..set.len() as u32).collect();
        let (rule, classes) = (graphs.rule, set.labels().of());
        let parts = folds(classes, &all, graphs.folds.unwrap_or(FOLDS), seed)?;
        if !self.args.general.json && !self.args.general.quiet {
            self.reporter.past_the_bar(&self.heading(&model, parts.len()));
        }
        let bar = self.reporter.running("training");
        let training = self.settings.training(bar.clone());
        let total = u64::from(training.epochs) * parts.len() as u64;
        let (mut seen, mut seconds, mut infer) = (Vec::new(), Vec::new(), Vec::new());
        for fold in 0..parts.len() {
            let (part, start) = (split(classes, &parts, fold, rule, seed)?, Instant::now());
            let mut run = GraphRun::new(self.backend, (&model, set), (&training, self.batch()), part, seed).map_err(Into::into)?;
            let mut epochs: Vec<Epoch> = Vec::new();
            for e in 0..training.epochs {
                self.reporter.check()?;
                let epoch = run.step().map_err(Into::into)?;
                let (loss, accuracy) = (epoch.loss, epoch.scores.test_accuracy);
                if self.args.general.verbose {
                    self.reporter.tell(&format!("fold {fold}, epoch {}: loss {loss:.4}, test accuracy {accuracy:.4}", epoch.epoch));
                }
                self.reporter.message(format!("fold {fold}, epoch {}: loss {loss:.3}, accuracy {accuracy:.3}", epoch.epoch));
                bar.report(fold as u64 * u64::from(training.epochs) + u64::from(e + 1), Some(total));
                epochs.push(epoch);
            }
            seconds.push(start.elapsed().as_secs_f64());
            seen.push(epochs);
            if fold + 1 == parts.len() {
                let clock = Clock::of(self.backend.accelerator());
                for _ in 0..TIMED {
                    infer.push(clock.run(|| run.logits().map_err(Into::<Failure>::into))?.seconds);
                }
            }
        }
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
        let runs: Vec<Fold> = seen.iter().zip(best).enumerate().map(fold).collect();
        self.finish(&runs, &seen, median(&infer))
    }
    /// Refuses what is predicted to take more memory than there is, or than is allowed: a batch in training beside all graphs in inference.
    fn check_memory<T: Working>(&self, model: &Model<B, T>) -> Result<()> {
        let (set, graphs) = (self.set, self.set.len().max(1));
        let share = |n: usize| (n * self.batch().min(graphs)).div_ceil(graphs) as u64;
        let (nodes, entries) = (set.graph().nrows(), set.graph().nnz());
        let (inputs, classes) = (set.features().shape().1 as u64, set.labels().classes() as u64);
        let batch = Extent { nodes: share(nodes), entries: share(entries), inputs, sparse: None, classes, batch: None, streamed: false };
        let whole = Extent { nodes: nodes as u64, entries: entries as u64, ..batch };
        let predicted = [footprint(model, &whole, Purpose::Inference), footprint(model, &batch, Purpose::Training)];
        if self.args.explain {
            self.reporter.clear();
            output::note(&explain(self.kind.0.name(), self.kind.1, model, &predicted[1]));
            output::note(&format!("predicted bytes of inference over all graphs\n{}", predicted[0]));
        }
        let free = match self.backend.accelerator() {
            Some(device) => device.memory().ok().map(|m| m.free),
            None => crate::system::free_memory(),
        };
        let needed = predicted.iter().map(bitgraph::gnn::memory::Footprint::peak).sum();
        match self.args.place.memory_limit.or(free) {
            Some(limit) if needed > limit => {
                let instead = "fewer hidden columns, or fewer graphs a batch, may fit".to_owned();
                Err(Failure::OutOfMemory(Error::Memory { needed, limit, instead }.to_string()))
            }
            _ => Ok(()),
        }
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
                schema: 1,
                model,
                precision,
                data,
                backend,
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
        output::print(&text)
    }
}
