//! `gnn tune`: precisions of a graph convolution, chains of operators among them, and the ways to compute each, by accuracy, time and memory on
//! the device at hand.
//!
//! Invariant: timing is what this command is for; models that are trained and inferred elsewhere are chosen by nothing that is timed.

use super::options::{Tried, TuneArgs};
use super::setup::{self, Source};
use super::{GnnBackend, Use, Working, abreast, curve, parameters, teacher, timed, with_model};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::{files, output, plot, report};
use bitgraph::gnn::data::{Dataset, Normalise};
use bitgraph::gnn::memory::{Extent, Purpose, footprint};
use bitgraph::gnn::tune::{Candidate, choice, front};
use bitgraph::gnn::{Architecture, Chain, Checkpoint, Description, Execution, Model, NodeTask, Parameters, Plan, Precision, Runs, Spread};
use bitgraph::tensor::ops::Reconcile;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is trained.
const MODEL: Architecture = Architecture::Gcn;
/// Layers of chains: those of the recipe.
const LAYERS: usize = 2;

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
    /// The way that is the fastest.
    way: String,
    /// All ways that were tried.
    ways: Vec<Way>,
}

/// A way to compute the same numbers.
#[derive(Serialize)]
struct Way {
    way: String,
    infer_s: f64,
    /// Bytes that inference takes.
    bytes: u64,
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
struct Made {
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
    let mut tried: Vec<Made> = Vec::new();
    for precision in precisions(&args.precisions) {
        let normalise = if precision.is_float() { MODEL.normalise() } else { Normalise::None };
        let factor = (!precision.is_float()).then_some(1.0);
        let source = Source { name: &name, normalise, factor, split, streamed: false };
        let (set, factor) = source.load(reporter)?;
        let seeds = (0..u64::from(args.runs)).map(|r| args.general.seed.wrapping_add(r)).collect();
        let teacher = setup::teacher(args.teacher.as_deref(), precision);
        let mut description = setup::recipe((MODEL, precision), (&source, (&set, factor)), teacher, seeds);
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

/// The precisions that are named, and the chains that none of them is.
fn precisions(named: &[Tried]) -> Vec<Precision> {
    let one = |tried: &Tried| if let Tried::One(precision) = tried { Some(*precision) } else { None };
    let mut all: Vec<Precision> = named.iter().filter_map(one).collect();
    if named.iter().any(|tried| matches!(tried, Tried::Chains)) {
        let same = [(Precision::Bin, "chain:bbb,bff"), (Precision::BiFull, "chain:fff,fff")];
        for chain in Chain::all(LAYERS) {
            let precision = Precision::Chain(chain);
            let is = |(other, name): &(Precision, &str)| *name == precision.to_string() && all.contains(other);
            if !all.contains(&precision) && !same.iter().any(is) {
                all.push(precision);
            }
        }
    }
    all
}

/// A trained model and what it is for.
type Trained<'a, B, T> = (&'a Model<B, T>, &'a Parameters<B, T>, &'a NodeTask<B, T>);

/// The fastest way to compute a trained model, and all that were tried: one operation where there is one, and step by step, where every layer that
/// sums signs takes the fastest of the backend's ways to do it, one layer after the other.
fn fastest<B: GnnBackend, T: Working>(
    (backend, args, reporter): (&B, &TuneArgs, &Reporter),
    (precision, layers): (Precision, usize),
    (model, parameters, task): Trained<'_, B, T>,
) -> Result<(Execution, Vec<Way>)> {
    let mut ways: Vec<Way> = Vec::new();
    let mut time = |way: &Execution| -> Result<Option<f64>> {
        let plan = Plan::by(way, (model, parameters), &task.graph, &task.features).map_err(Into::into)?;
        if way.whole && !plan.is_whole() {
            return Ok(None);
        }
        if let Some(known) = ways.iter().find(|w| w.way == way.to_string()) {
            return Ok(Some(known.infer_s));
        }
        let (seconds, _) = timed(backend, &plan, args.repeat as usize, reporter)?;
        let infer_s = seconds.into_iter().fold(f64::INFINITY, f64::min);
        ways.push(Way { way: way.to_string(), infer_s, bytes: plan.footprint().peak() });
        Ok(Some(infer_s))
    };
    let whole = Execution::default();
    let (mut best, mut smallest) = (whole.clone(), time(&whole)?.unwrap_or(f64::INFINITY));
    let summing = precision.sign_sums(layers);
    let depth = summing.last().map_or(0, |l| l + 1);
    let mut steps = Execution { whole: false, reconcile: vec![Reconcile::default(); depth] };
    let mut by_steps = time(&steps)?.unwrap_or(f64::INFINITY);
    for l in summing {
        for &how in backend.reconciles() {
            let mut other = steps.clone();
            other.reconcile[l] = how;
            let seconds = time(&other)?.unwrap_or(f64::INFINITY);
            if seconds < by_steps {
                (steps, by_steps) = (other, seconds);
            }
        }
    }
    if by_steps < smallest {
        (best, smallest) = (steps, by_steps);
    }
    debug_assert!(smallest.is_finite());
    Ok((best, ways))
}

/// Trains one, and times its inference.
fn candidate<B: GnnBackend, T: Working>(
    (backend, args, reporter): (&B, &TuneArgs, &Reporter),
    (description, precision): (&Description, Precision),
    set: &Dataset,
    (model, task): (&Model<B, T>, &NodeTask<B, T>),
) -> Result<Made> {
    let training = description.settings.training(bitgraph::sparse::Control::default());
    let bytes = footprint(model, &Extent::of(set).read_in(precision), Purpose::Training).peak();
    let abreast = abreast(backend, (None, args.place.memory_limit), (description.seeds.len(), 1), bytes);
    let mut runs = Runs::new(model, task, &training, description.seeds.clone()).abreast(abreast);
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
    let mut checkpoint = Checkpoint::new(description.clone(), model.layout(), (best, &flat), progress)?;
    let parameters = parameters(backend, model, flat)?;
    let kind = (precision, description.shape.layers);
    let (execution, ways) = fastest((backend, args, reporter), kind, (model, &parameters, task))?;
    let way = execution.to_string();
    let Some(&Way { infer_s, bytes, .. }) = ways.iter().find(|w| w.way == way) else {
        return Err(Failure::other(format_args!("{precision}: no way to compute it was timed")));
    };
    checkpoint.description.execution = Some(way.clone());
    let mean = |of: fn(&bitgraph::gnn::Outcome) -> f64| Spread::of(&runs.outcomes().iter().map(of).collect::<Vec<_>>()).mean;
    let row = Row {
        precision: description.precision.clone(),
        test_accuracy: mean(|o| o.test_accuracy),
        val_accuracy: mean(|o| o.val_accuracy),
        train_s: mean(|o| o.train_s),
        infer_s,
        bytes,
        on_front: false,
        chosen: false,
        way,
        ways,
    };
    Ok(Made { row, checkpoint })
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
    let (precision, way) = (&row.precision, &row.way);
    format!("{precision:13} validation {:.4}, test {:.4}, {time}, {bytes}, {way}{mark}\n", row.val_accuracy, row.test_accuracy)
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
