//! `gnn infer`: classes of all nodes by a model that was trained, and how many of them are right.

use super::options::InferArgs;
use super::setup::{self, Saved, Source};
use super::{GnnBackend, Use, Working, in_precision};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use crate::{files, output, report};
use bitgraph::gnn::data::Dataset;
use bitgraph::gnn::memory::Purpose;
use bitgraph::gnn::{NodeTask, Parameters};
use bitgraph::io::Naming;
use bitgraph::tensor::ops::argmax_rows;
use bitgraph_measure::{Clock, median};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The JSON object: that of training without runs. Accuracies are shares of 1.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    model: &'a str,
    precision: &'a str,
    data: &'a str,
    backend: &'static str,
    test_accuracy: f64,
    val_accuracy: f64,
    peak_bytes: u64,
    infer_s: f64,
}

/// Classifies the nodes of a data set.
pub fn run<B: GnnBackend>(backend: &B, args: &InferArgs, reporter: &Reporter) -> Result<()> {
    if let Some(file) = &args.output {
        bitgraph::io::check_vector_ending(file)?;
        files::check_target(file, &[args.model_file.as_os_str()])?;
    }
    let saved = Saved::open(&args.model_file)?;
    saved.precision.check(saved.architecture)?;
    let described = &saved.checkpoint.description;
    let name = args.data.clone().unwrap_or_else(|| PathBuf::from(&described.data));
    let source = Source { name: &name, normalise: described.normalise, split: args.split.unwrap_or(described.split), streamed: false };
    let set = source.load(reporter)?;
    saved.check(&name, &set)?;
    if args.output.is_some() && set.labels().matrix().is_some() {
        return Err(Failure::usage("--output: a node of this set may be of several classes, and a file holds one for each"));
    }
    in_precision!(saved.precision, T => classify::<B, T>(backend, args, reporter, &saved, (&source, &set)))
}

fn classify<B: GnnBackend, T: Working>(
    backend: &B,
    args: &InferArgs,
    reporter: &Reporter,
    saved: &Saved,
    (source, set): (&Source<'_>, &Dataset),
) -> Result<()> {
    let description = &saved.checkpoint.description;
    let model = setup::model::<B, T>(saved.architecture, description)?;
    let (architecture, precision) = (saved.architecture, saved.precision);
    let used = Use { architecture, precision, description, set, purpose: Purpose::Inference, streamed: false };
    used.check_memory(backend, args.place.memory_limit)?;
    if args.explain {
        used.explain(&model, reporter);
    }
    reporter.note("building");
    let task: NodeTask<B, T> = set.task(backend, source.split).map_err(Into::into)?;
    let layout = model.layout();
    let flat = saved.checkpoint.flat(layout).map_err(|e| Failure::other(e).at(saved.file.display()))?;
    let flat = layout.flat(backend, flat).map_err(Into::into)?;
    let parameters = Parameters::from_flat(layout, flat).map_err(Into::into)?;
    let clock = Clock::of(backend.accelerator());
    let mut seconds = Vec::new();
    let logits = loop {
        let run = clock.run(|| model.infer(&task.graph, &parameters, &task.features).map_err(Into::<Failure>::into))?;
        reporter.check()?;
        seconds.push(run.seconds);
        if seconds.len() >= args.repeat as usize {
            break run.result;
        }
    };
    let scores = task.classify(&logits).map_err(Into::into)?;
    if let Some(file) = &args.output {
        let classes = argmax_rows(&logits).and_then(|classes| classes.to_host()).map_err(Into::into)?;
        files::write_vector(file, &classes[..], &Naming::default(), reporter)?;
    }
    reporter.clear();
    let infer_s = median(&seconds);
    let peak_bytes = backend.device_bytes().unwrap_or_else(bitgraph::memory::peak_bytes);
    let (model, precision, data) = (&description.model[..], &description.precision[..], &source.name.display().to_string()[..]);
    let (test_accuracy, val_accuracy) = (scores.test_accuracy, scores.validation_accuracy);
    if args.general.json {
        let backend = backend.name();
        return report::json(&Report { schema: 1, model, precision, data, backend, test_accuracy, val_accuracy, peak_bytes, infer_s });
    }
    if args.general.quiet {
        return Ok(());
    }
    let (time, peak) = (report::time(infer_s), report::bytes(peak_bytes));
    let written = args.output.as_deref().map_or_else(String::new, |file: &Path| format!("classes are in {}\n", file.display()));
    output::print(&format!(
        "{data}: {} nodes by {model} in {precision}\ntest accuracy {test_accuracy:.4}, validation {val_accuracy:.4}\ninference {time}, peak memory \
         {peak}\n{written}",
        set.nodes()
    ))
}
