//! `gnn tune`: precisions of a graph convolution by accuracy, time and memory on the device at hand.
//!
//! Invariant: timing is what this command is for; models that are trained and inferred elsewhere are chosen by nothing that is timed.

use super::options::TuneArgs;
use super::setup::{self, Source};
use super::{GnnBackend, Use, Working, curve, parameters, teacher, timed, with_model};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::{files, output, plot, report};
use bitgraph::gnn::data::{Dataset, Normalise};
use bitgraph::gnn::memory::Purpose;
use bitgraph::gnn::tune::{Candidate, choice, front};
use bitgraph::gnn::{Architecture, Checkpoint, Description, Model, NodeTask, Plan, Precision, Runs, Spread};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is trained.
const MODEL: Architecture = Architecture::Gcn;

/// A precision that was tried.
#[derive(Serialize)]
struct Row {
    precision: String,
    test_accuracy: f64,
    val_accuracy: f64,
    train_s: f64,
    infer_s: f64,
    /// Bytes that inference takes.
    bytes: u64,
    on_front: bool,
    chosen: bool,
}

/// The JSON object. Accuracies are shares of 1.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    model: &'static str,
    data: &'a str,
    backend: &'static str,
    within: f64,
    candidates: &'a [Row],
    chosen: &'a str,
}

/// A precision as it was trained.
struct Tried {
    row: Row,
    checkpoint: Checkpoint<f32>,
}

/// Tries all precisions, and keeps the choice.
pub fn run<B: GnnBackend>(backend: &B, args: &TuneArgs, reporter: &Reporter) -> Result<()> {
    plot::check_name(args.plot.as_deref())?;
    if !(0.0..=100.0).contains(&args.within) {
        return Err(Failure::usage(format_args!("--within {}: points of accuracy are from 0 to 100", args.within)));
    }
    if let (Some(plot), Some(file)) = (&args.plot, &args.save) {
        files::check_target(plot, &[file.as_os_str()])?;
    }
    let name = args.data.clone().unwrap_or_else(|| PathBuf::from(setup::BUILT_IN));
    let split = args.split.unwrap_or(0);
    let mut tried: Vec<Tried> = Vec::new();
    for &precision in &args.precisions {
        let normalise = if precision.is_float() { MODEL.normalise() } else { Normalise::None };
        let source = Source { name: &name, normalise, split, streamed: false };
        let set = source.load(reporter)?;
        let seeds = (0..u64::from(args.runs)).map(|r| args.general.seed.wrapping_add(r)).collect();
        let teacher = setup::teacher(args.teacher.as_deref(), precision);
        let mut description = setup::recipe((MODEL, precision), (&source, &set), teacher, seeds);
        description.settings.epochs = args.epochs.unwrap_or(description.settings.epochs);
        description.shape.hidden = args.hidden.unwrap_or(description.shape.hidden);
        let used =
            Use { architecture: MODEL, precision, description: &description, set: &set, purpose: Purpose::Training, streamed: false };
        used.check_memory(backend, args.place.memory_limit)?;
        let one = with_model!(backend, (MODEL, precision), description, (set, false), (model, task) => {
            candidate((backend, args, reporter), (&description, precision), &set, (&model, &task))
        })?;
        if !args.general.json && !args.general.quiet {
            reporter.past_the_bar(&line(&one.row));
        }
        tried.push(one);
    }
    let candidates: Vec<Candidate> = tried.iter().map(|t| t.row.candidate()).collect();
    let on_front = front(&candidates);
    let Some(chosen) = choice(&candidates, args.within / 100.0) else { return Err(Failure::usage("--precisions: none was named")) };
    for (k, t) in tried.iter_mut().enumerate() {
        (t.row.on_front, t.row.chosen) = (on_front.contains(&k), k == chosen);
    }
    if let Some(file) = &args.save {
        tried[chosen].checkpoint.save(file, &reporter.saving())?;
    }
    let rows: Vec<Row> = tried.into_iter().map(|t| t.row).collect();
    if let Some(file) = &args.plot {
        draw(file, &name, backend.name(), &rows, reporter)?;
    }
    reporter.clear();
    tell(backend, args, &name, &rows, &rows[chosen].precision)
}

/// Trains one, and times its inference.
fn candidate<B: GnnBackend, T: Working>(
    (backend, args, reporter): (&B, &TuneArgs, &Reporter),
    (description, precision): (&Description, Precision),
    set: &Dataset,
    (model, task): (&Model<B, T>, &NodeTask<B, T>),
) -> Result<Tried> {
    let training = description.settings.training(bitgraph::sparse::Control::default());
    let mut runs = Runs::new(model, task, &training, description.seeds.clone());
    if let Some(teach) = teacher::of(backend, (description, precision), set, reporter)? {
        runs = runs.with_teacher(teach).map_err(Into::into)?;
    }
    let bar = reporter.running("training");
    let epochs = u64::from(training.epochs);
    while let Some((_, epoch)) = runs.step().map_err(Into::<Failure>::into)? {
        let done = epochs * runs.outcomes().len() as u64 + u64::from(epoch.epoch);
        let all = epochs * description.seeds.len() as u64;
        bar.report(done.min(all), Some(all));
        reporter.message(format!("{precision}: epoch {}, accuracy {:.3}", epoch.epoch, epoch.scores.validation_accuracy));
        reporter.check()?;
    }
    let Some((best, flat)) = runs.best().map_err(Into::into)? else {
        return Err(Failure::other(format_args!("{precision}: there was no state to keep")));
    };
    let progress = runs.progress().map_err(Into::into)?;
    let checkpoint = Checkpoint::new(description.clone(), model.layout(), (best, &flat), progress)?;
    let parameters = parameters(backend, model, flat)?;
    let plan = Plan::new(model, &task.graph, &parameters, &task.features).map_err(Into::into)?;
    let (seconds, _) = timed(backend, &plan, args.repeat as usize, reporter)?;
    let mean = |of: fn(&bitgraph::gnn::Outcome) -> f64| Spread::of(&runs.outcomes().iter().map(of).collect::<Vec<_>>()).mean;
    let row = Row {
        precision: description.precision.clone(),
        test_accuracy: mean(|o| o.test_accuracy),
        val_accuracy: mean(|o| o.val_accuracy),
        train_s: mean(|o| o.train_s),
        infer_s: seconds.into_iter().fold(f64::INFINITY, f64::min),
        bytes: plan.footprint().peak(),
        on_front: false,
        chosen: false,
    };
    Ok(Tried { row, checkpoint })
}

impl Row {
    fn candidate(&self) -> Candidate {
        Candidate { accuracy: self.val_accuracy, seconds: self.infer_s, bytes: self.bytes }
    }
}

/// A precision in words.
fn line(row: &Row) -> String {
    let mark = if row.chosen {
        " <- chosen"
    } else if row.on_front {
        " on the front"
    } else {
        ""
    };
    let (time, bytes) = (report::time(row.infer_s), report::bytes(row.bytes));
    format!("{:10} validation {:.4}, test {:.4}, {time}, {bytes}{mark}\n", row.precision, row.val_accuracy, row.test_accuracy)
}

fn tell<B: GnnBackend>(backend: &B, args: &TuneArgs, name: &Path, rows: &[Row], chosen: &str) -> Result<()> {
    let data = name.display().to_string();
    if args.general.json {
        let (within, backend) = (args.within, backend.name());
        return report::json(&Report { schema: 1, model: MODEL.name(), data: &data, backend, within, candidates: rows, chosen });
    }
    if args.general.quiet {
        return Ok(());
    }
    let mut text = String::new();
    rows.iter().for_each(|row| text += &line(row));
    let _ = writeln!(text, "{chosen} is the fastest within {} points of the most accurate, by validation nodes", args.within);
    if let Some(file) = &args.save {
        let _ = writeln!(text, "saved to {0}, which gnn infer --model-file {0} takes", file.display());
    }
    output::print(&text)
}

fn draw(file: &Path, name: &Path, backend: &str, rows: &[Row], reporter: &Reporter) -> Result<()> {
    let title = format!("{} on {}: accuracy over time of inference", MODEL.name(), name.display());
    let points: Vec<(String, f64, f64, bool)> = rows
        .iter()
        .map(|r| (format!("{}, {}", r.precision, report::bytes(r.bytes)), r.infer_s * 1e3, r.val_accuracy, r.on_front))
        .collect();
    curve::front(file, &format!("{title}, {backend}"), &points, reporter)
}
