//! `gnn train`: runs over a whole graph or batches of it, saved as they go on.
//!
//! Invariant: Ctrl-C ends training after the step that is on its way, and what was reached is saved before the process ends.

use super::heading::Heading;
use super::options::TrainArgs;
use super::setup::{self, Saved, Source};
use super::{GnnBackend, Use, Working, abreast, curve, graphs, parameters, teacher, timed, with_model};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::{files, output, plot, report, signals};
use bitgraph::gnn::batch::{Batches, why_drawn_on_host};
use bitgraph::gnn::data::{self, Dataset, Normalise};
use bitgraph::gnn::memory::{Purpose, footprint};
use bitgraph::gnn::{Architecture, Checkpoint, Description, Epoch, Model, NodeTask, Outcome, Plan, Precision, Runs, Spread, Training};
use bitgraph_measure::median;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often what was reached is saved.
const SAVED_EVERY: Duration = Duration::from_secs(60);
/// Epochs that are run twice to see that they give the same.
const REPEATED: u32 = 5;
/// Inferences that are timed.
const TIMED: usize = 5;

/// The JSON object of the contract.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    heading: Heading<'a>,
    runs: &'a [Outcome],
    test_accuracy: f64,
    std: f64,
    peak_bytes: u64,
    infer_s: f64,
    /// What accuracies are where a node may be of several classes, and the share of decisions over test nodes and classes that are right.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_accuracy: Option<f64>,
}

/// Trains as options and a checkpoint say.
pub fn run<B: GnnBackend>(backend: &B, args: &TrainArgs, reporter: &Reporter) -> Result<()> {
    plot::check_name(args.plot.as_deref())?;
    if let Some(name) = args.data.as_deref().filter(|name| data::holds_graphs(name)) {
        return graphs::run(backend, args, name, reporter);
    }
    if args.graphs.folds.is_some() || args.graphs.batch_graphs.is_some() {
        return Err(Failure::usage("--folds and --batch-graphs are for data sets of many graphs"));
    }
    let saved = args.resume.as_deref().map(Saved::of_nodes).transpose()?;
    if let (Some(plot), Some(file)) = (&args.plot, args.save.as_ref().or(args.resume.as_ref())) {
        files::check_target(plot, &[file.as_os_str()])?;
    }
    let (architecture, precision) = kind(args, saved.as_ref())?;
    let name = match (&args.data, &saved) {
        (Some(name), _) => name.clone(),
        (None, Some(saved)) => PathBuf::from(&saved.checkpoint.description.data),
        (None, None) => PathBuf::from(setup::BUILT_IN),
    };
    let described = saved.as_ref().map(|s| &s.checkpoint.description);
    if let (Some(d), Some(epochs)) = (described, args.epochs)
        && d.seeds.len() > 1
        && epochs != d.settings.epochs
    {
        let (runs, own) = (d.seeds.len(), d.settings.epochs);
        return Err(Failure::usage(format_args!(
            "--epochs {epochs}: the checkpoint is of {runs} runs of {own} epochs; only a single one goes on"
        )));
    }
    let streamed = args.batches.stream;
    let source = match described {
        Some(d) => Source { name: &name, normalise: d.normalise, factor: Some(d.factor), split: d.split, streamed },
        None => {
            let own = match precision.is_float() {
                // A block of rows does not have the columns.
                true if streamed => Normalise::Row,
                true => architecture.normalise(),
                false => Normalise::None,
            };
            if !precision.is_float() && args.settings.normalise.is_some_and(|asked| asked != own) {
                return Err(Failure::usage(format_args!("--normalise: {precision} rounds the features by a rule of its own")));
            }
            // What the caller has asked for is what is used; few bits round the features as they are.
            let factor = (args.settings.normalise.is_some() || !precision.is_float()).then_some(1.0);
            let normalise = args.settings.normalise.unwrap_or(own);
            Source { name: &name, normalise, factor, split: args.settings.split.unwrap_or(0), streamed }
        }
    };
    let (set, factor) = source.load(reporter)?;
    let mut description = match &saved {
        Some(saved) => {
            saved.check(&name, (set.features().shape().1, set.labels().classes()))?;
            saved.checkpoint.description.clone()
        }
        None => setup::describe(args, (architecture, precision), &source, (&set, factor))?,
    };
    args.batches.check_streaming(description.batches.as_ref())?;
    if !precision.is_float() && (streamed || description.batches.is_some()) {
        return Err(Failure::usage(format_args!(
            "{precision}: models of few bits are trained over the whole graph, without --sampler and --stream"
        )));
    }
    description.settings.epochs = args.epochs.unwrap_or(description.settings.epochs);
    description.data = name.display().to_string();
    description.settings.optimiser.validate()?;
    let used = Use { architecture, precision, description: &description, set: &set, purpose: Purpose::Training, streamed };
    used.check_memory(backend, args.place.memory_limit)?;
    reporter.note("building");
    let job = Job { backend, args, reporter, architecture, precision, description, set };
    with_model!(backend, (architecture, precision), job.description, (job.set, streamed), (model, task) => job.train(&model, &task, saved))
}

/// Model and precision: those of a checkpoint, which options may only repeat.
fn kind(args: &TrainArgs, saved: Option<&Saved>) -> Result<(Architecture, Precision)> {
    let (model, precision) = match saved {
        None => (args.model.unwrap_or(Architecture::Gcn), args.precision.unwrap_or_default()),
        Some(saved) => {
            let own = (saved.architecture, saved.precision);
            let asked = (args.model.unwrap_or(own.0), args.precision.unwrap_or(own.1));
            if asked != own {
                let (file, found, wanted) = (saved.file.display(), own.0.name(), asked.0.name());
                return Err(Failure::usage(format_args!(
                    "{file}: the checkpoint is of {found} in {}, not of {wanted} in {}",
                    own.1, asked.1
                )));
            }
            own
        }
    };
    precision.check(model)?;
    Ok((model, precision))
}

/// All that is trained.
struct Job<'a, B: GnnBackend> {
    backend: &'a B,
    args: &'a TrainArgs,
    reporter: &'a Reporter,
    architecture: Architecture,
    precision: Precision,
    description: Description,
    set: Dataset,
}

impl<B: GnnBackend> Job<'_, B> {
    fn train<T: Working>(&self, model: &Model<B, T>, task: &NodeTask<B, T>, saved: Option<Saved>) -> Result<()> {
        let (architecture, precision, description, set) = (self.architecture, self.precision, &self.description, &self.set);
        let used = Use { architecture, precision, description, set, purpose: Purpose::Training, streamed: self.args.batches.stream };
        if self.args.explain {
            used.explain(model, self.reporter);
        }
        let batches = self.batches()?;
        if let (true, Some(batches)) = (self.args.explain, &batches) {
            let place = match why_drawn_on_host(task, batches).map_err(Into::into)? {
                None => "drawn on the device; from the first one on that it has no memory for, in host memory".to_owned(),
                Some(reason) => format!("made in host memory: {reason}"),
            };
            output::note(&format!("batches are {place}\n"));
        }
        let training = Training { batches, ..self.description.settings.training(bitgraph::sparse::Control::default()) };
        if self.args.deterministic {
            let seed = self.description.seeds.first().copied().unwrap_or_default();
            self.reporter.note("checking");
            if !bitgraph::gnn::repeats_itself(model, task, &training, (seed, REPEATED)).map_err(Into::into)? {
                return Err(Failure::other(format_args!("seed {seed} did not give the same numbers twice on this device")));
            }
        }
        let seeds = self.description.seeds.clone();
        let mut runs = match saved {
            Some(saved) => {
                let Checkpoint { progress, .. } = saved.checkpoint;
                Runs::resume(model, task, &training, seeds, progress).map_err(|e| Into::<Failure>::into(e).at(saved.file.display()))?
            }
            None => Runs::new(model, task, &training, seeds),
        };
        let extent = used.extent().read_in(self.precision);
        let bytes = footprint(model, &extent, Purpose::Training).peak();
        runs = runs.abreast(abreast(
            self.backend,
            (self.args.abreast, self.args.place.memory_limit),
            (self.description.seeds.len(), 1),
            bytes,
        ));
        if let Some(teach) = teacher::of(self.backend, (&self.description, self.precision), &self.set, self.reporter)? {
            runs = runs.with_teacher(teach).map_err(Into::into)?;
        }
        if !self.args.general.json && !self.args.general.quiet {
            self.reporter.past_the_bar(&self.heading(model));
        }
        let mut epochs = self.epochs(model, &mut runs)?;
        if let (true, Some(course)) = (self.args.explain, runs.course()) {
            self.reporter.clear();
            output::note(&format!("trained {course}\n"));
        }
        // Those of runs side by side took turns.
        epochs.sort_by_key(|(seed, _)| self.description.seeds.iter().position(|s| s == seed));
        self.finish(model, task, &runs, &epochs)
    }
    /// The batches, where they are asked for.
    fn batches(&self) -> Result<Option<Arc<Batches>>> {
        let Some(settings) = &self.description.batches else { return Ok(None) };
        let made = self.args.batches.make(settings, &self.description, &self.set, self.reporter)?;
        if !self.args.general.json && !self.args.general.quiet {
            self.reporter.past_the_bar(&format!("{} batches an epoch by {}\n", made.count(), settings.sampler));
        }
        Ok(Some(Arc::new(made)))
    }
    /// Runs all epochs.
    fn epochs<T: Working>(&self, model: &Model<B, T>, runs: &mut Runs<'_, B, T>) -> Result<Vec<(u64, Epoch)>> {
        // What ends the process after Ctrl-C waits for this.
        let _saving = signals::writing();
        let mut seen = Vec::new();
        let mut last_saved = Instant::now();
        let bar = self.reporter.running("training");
        let total = u64::from(self.description.settings.epochs) * self.description.seeds.len() as u64;
        let before = u64::from(self.description.settings.epochs) * runs.outcomes().len() as u64;
        loop {
            let over = runs.outcomes().len();
            let next = match runs.step().map_err(Into::<Failure>::into) {
                Ok(next) => next,
                Err(failure) => {
                    self.save(model, runs)?;
                    return Err(failure);
                }
            };
            runs.outcomes()[over..].iter().for_each(|outcome| self.tell(outcome));
            let Some((seed, epoch)) = next else { break };
            bar.report((before + seen.len() as u64 + 1).min(total), Some(total));
            if self.args.general.verbose {
                self.reporter.tell(&format!("seed {seed}, {}", line(&epoch)));
            }
            let (loss, accuracy) = (epoch.loss, epoch.scores.validation_accuracy);
            self.reporter.message(format!("epoch {}: loss {loss:.3}, accuracy {accuracy:.3}", epoch.epoch));
            seen.push((seed, epoch));
            if self.reporter.check().is_err() {
                let place = self.save(model, runs)?;
                self.reporter.tell(&format!("stopped after epoch {} of seed {seed}; {place}", epoch.epoch));
                return Err(Failure::Interrupted);
            }
            if last_saved.elapsed() >= SAVED_EVERY {
                self.save(model, runs)?;
                last_saved = Instant::now();
            }
        }
        if seen.is_empty() {
            self.reporter.tell("the runs of the checkpoint were over: nothing was left to train");
        }
        self.save(model, runs)?;
        Ok(seen)
    }
    /// Says what a run came to.
    fn tell(&self, outcome: &Outcome) {
        if let Some(epoch) = outcome.diverged {
            let kept = outcome.best_epoch;
            self.reporter.tell(&format!(
                "seed {}: the loss was no finite number any more in epoch {epoch}; the state of epoch {kept} is kept; a lower --lr may help",
                outcome.seed
            ));
        }
        if self.description.seeds.len() > 1 && !self.args.general.json && !self.args.general.quiet {
            self.reporter.past_the_bar(&summary(outcome));
        }
    }
    fn target(&self) -> Option<&Path> {
        self.args.save.as_deref().or(self.args.resume.as_deref())
    }
    /// Saves the best state and what training goes on from, where that is asked for; says where.
    fn save<T: Working>(&self, model: &Model<B, T>, runs: &Runs<'_, B, T>) -> Result<String> {
        let Some(file) = self.target() else { return Ok("nothing was saved, for there is no --save".into()) };
        let Some((best, flat)) = runs.best().map_err(Into::into)? else { return Ok("there was no state to save".into()) };
        let progress = runs.progress().map_err(Into::into)?;
        Checkpoint::new(self.description.clone(), model.layout(), (best, &flat), progress)?.save(file, &self.reporter.saving())?;
        Ok(format!("saved to {0}, which gnn train --resume {0} goes on from", file.display()))
    }
    fn heading<T: Working>(&self, model: &Model<B, T>) -> String {
        let (set, d) = (&self.set, &self.description);
        let nodes = &set.splits()[d.split];
        format!(
            "{}: {} nodes, {} entries, {} features, {} classes; {} nodes for training, {} for validation, {} for test\n{} in {}: {} layers, {} \
             columns between them, {} parameters\n",
            d.data,
            set.nodes(),
            set.graph().nnz(),
            d.inputs,
            d.classes,
            nodes.train.len(),
            nodes.validation.len(),
            nodes.test.len(),
            d.model,
            d.precision,
            d.shape.layers,
            d.shape.hidden,
            model.layout().count()
        )
    }
    fn finish<T: Working>(&self, model: &Model<B, T>, task: &NodeTask<B, T>, runs: &Runs<'_, B, T>, epochs: &[(u64, Epoch)]) -> Result<()> {
        let d = &self.description;
        if let Some(file) = &self.args.plot {
            curve::write(file, &format!("{} in {} on {}", d.model, d.precision, self.set.name()), epochs, self.reporter)?;
        }
        let outcomes = runs.outcomes();
        let (infer_s, label_accuracy) = match runs.best().map_err(Into::into)? {
            Some((_, flat)) => {
                let parameters = parameters(self.backend, model, flat)?;
                let plan = Plan::new(model, &task.graph, &parameters, &task.features).map_err(Into::into)?;
                let (seconds, logits) = timed(self.backend, &plan, TIMED, self.reporter)?;
                (median(&seconds), task.decisions(&logits).map_err(Into::into)?.map(|[_, _, test]| test))
            }
            None => (0.0, None),
        };
        self.reporter.clear();
        let tests: Vec<f64> = outcomes.iter().map(|o| o.test_accuracy).collect();
        let Spread { mean, deviation } = Spread::of(&tests);
        let peak_bytes = self.backend.device_bytes().unwrap_or_else(bitgraph::memory::peak_bytes);
        if self.args.general.json {
            return report::json(&Report {
                heading: Heading::new([&d.model, &d.precision, &d.data], self.backend.name()),
                runs: outcomes,
                test_accuracy: mean,
                std: deviation,
                peak_bytes,
                infer_s,
                score: label_accuracy.map(|_| "micro-f1"),
                label_accuracy,
            });
        }
        if self.args.general.quiet {
            return Ok(());
        }
        let mut text = match outcomes {
            [only] => summary(only),
            _ => format!("test accuracy {mean:.4} +- {deviation:.4} over {} runs\n", outcomes.len()),
        };
        if let Some(share) = label_accuracy {
            let _ = writeln!(text, "accuracies are micro-F1; of the decisions over test nodes and classes {share:.4} are right");
        }
        let threads = rayon::current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        let (infer, peak) = (report::time(infer_s), report::bytes(peak_bytes));
        let _ = writeln!(text, "inference {infer}, peak memory {peak}, {threads} thread{plural}");
        if let Some(file) = self.target() {
            let _ = writeln!(text, "saved to {}", file.display());
        }
        output::print(&text)
    }
}

/// An epoch in words.
fn line(epoch: &Epoch) -> String {
    let scores = &epoch.scores;
    let (loss, validation, test) = (scores.validation_loss, scores.validation_accuracy, scores.test_accuracy);
    format!("epoch {}: loss {:.4}, validation loss {loss:.4}, accuracy {validation:.4}, test {test:.4}", epoch.epoch, epoch.loss)
}

/// What a run came to, in words.
fn summary(o: &Outcome) -> String {
    format!(
        "seed {}: test accuracy {:.4}, validation {:.4}, of epoch {} of {}, {}\n",
        o.seed,
        o.test_accuracy,
        o.val_accuracy,
        o.best_epoch,
        o.epochs,
        report::time(o.train_s)
    )
}
