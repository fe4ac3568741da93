//! `gnn infer`: classes of all nodes or graphs by a model that was trained, and how many of them are right.

use super::classified::{Classified, tell};
use super::options::InferArgs;
use super::setup::{Saved, Source};
use super::{GnnBackend, Use, Working, explain_plan, graphs_infer, parameters, timed, with_model};
use crate::failure::{Failure, Result};
use crate::files;
use crate::progress::Reporter;
use bitgraph::gnn::memory::Purpose;
use bitgraph::gnn::{Description, Model, NodeTask, Plan};
use bitgraph::io::Naming;
use bitgraph::tensor::ops::argmax_rows;
use std::path::PathBuf;

/// Classifies the nodes of a data set, or its graphs where that is what the model does.
pub fn run<B: GnnBackend>(backend: &B, args: &InferArgs, reporter: &Reporter) -> Result<()> {
    if let Some(file) = &args.output {
        bitgraph::io::check_vector_ending(file)?;
        files::check_target(file, &[args.model_file.as_os_str()])?;
    }
    let saved = Saved::open(&args.model_file)?;
    let described = &saved.checkpoint.description;
    let name = args.data.clone().unwrap_or_else(|| PathBuf::from(&described.data));
    if let Some(of) = &described.graphs {
        saved.precision.check_graphs(saved.architecture)?;
        return graphs_infer::run(backend, args, (&saved, of), &name, reporter);
    }
    saved.precision.check(saved.architecture)?;
    let (factor, split) = (Some(described.factor), args.split.unwrap_or(described.split));
    let source = Source { name: &name, normalise: described.normalise, factor, split, streamed: false };
    let (set, _) = source.load(reporter)?;
    saved.check(&name, (set.features().shape().1, set.labels().classes()))?;
    if args.output.is_some() && set.labels().matrix().is_some() {
        return Err(Failure::usage("--output: a node of this set may be of several classes, and a file holds one for each"));
    }
    let description = Description { split: source.split, data: name.display().to_string(), ..described.clone() };
    let used = Use {
        architecture: saved.architecture,
        precision: saved.precision,
        description: &description,
        set: &set,
        purpose: Purpose::Inference,
        streamed: false,
    };
    used.check_memory(backend, args.place.memory_limit)?;
    reporter.note("building");
    with_model!(backend, (saved.architecture, saved.precision), description, (set, false), (model, task) => {
        classify((backend, args, reporter), &used, &saved, (&model, &task))
    })
}

fn classify<B: GnnBackend, T: Working>(
    (backend, args, reporter): (&B, &InferArgs, &Reporter),
    used: &Use<'_>,
    saved: &Saved,
    (model, task): (&Model<B, T>, &NodeTask<B, T>),
) -> Result<()> {
    let description = used.description;
    let flat = saved.checkpoint.flat(model.layout()).map_err(|e| Failure::other(e).at(saved.file.display()))?;
    let parameters = parameters(backend, model, flat)?;
    let plan = Plan::by(&saved.execution, (model, &parameters), &task.graph, &task.features).map_err(Into::into)?;
    let (seconds, logits) = timed(backend, &plan, args.repeat as usize, reporter)?;
    // After the runs, by which all that a plan holds is there.
    if args.explain {
        explain_plan((&description.model, used.precision), model, &plan, reporter);
    }
    let scores = task.classify(&logits).map_err(Into::into)?;
    if let Some(file) = &args.output {
        let classes = argmax_rows(&logits).and_then(|classes| classes.to_host()).map_err(Into::into)?;
        files::write_vector(file, &classes[..], &Naming::default(), reporter)?;
    }
    let classified = Classified {
        data: &description.data,
        what: (task.graph.nodes(), "nodes"),
        test_accuracy: scores.test_accuracy,
        val_accuracy: Some(scores.validation_accuracy),
    };
    tell((backend, args, reporter), description, &classified, &seconds)
}
