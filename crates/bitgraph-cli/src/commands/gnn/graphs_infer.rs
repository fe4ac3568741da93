//! `gnn infer` by a model of graphs: the class of each of many graphs, and how many of them are right.

use super::classified::{Classified, tell};
use super::graphs::{load, refuse, whole, with_graph_model};
use super::options::InferArgs;
use super::setup::Saved;
use super::{GnnBackend, Working, explain_plan, parameters, timed};
use crate::failure::{Failure, Result};
use crate::files;
use crate::progress::Reporter;
use bitgraph::gnn::data::GraphSet;
use bitgraph::gnn::graphs::{OfGraphs, scores};
use bitgraph::gnn::{Graph, Model, Moments, Plan};
use bitgraph::io::{Item, Naming};
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::argmax_rows;
use std::path::Path;

/// Classifies the graphs of a set. In the set that the model was trained on, accuracies are those of its fold; in another one, of all graphs.
pub fn run<B: GnnBackend>(backend: &B, args: &InferArgs, (saved, of): (&Saved, &OfGraphs), name: &Path, reporter: &Reporter) -> Result<()> {
    if args.split.is_some() {
        return Err(Failure::usage("--split: a model of graphs has folds, and knows its own"));
    }
    if !bitgraph::gnn::data::holds_graphs(name) {
        let what = "the model classifies graphs, and this is no folder of many graphs";
        return Err(Failure::other(format_args!("{}: {what}", saved.file.display())).at(name.display()));
    }
    let set = load(name, saved.checkpoint.description.normalise, reporter)?;
    saved.check(name, (set.features().shape().1, set.labels().classes()))?;
    if of.tags != set.tags() {
        let what = "the model knows other labels of nodes than there are here, which features have a column for";
        return Err(Failure::other(format_args!("{}: {what}", saved.file.display())).at(name.display()));
    }
    reporter.note("building");
    let described = &saved.checkpoint.description;
    let kind = ((saved.architecture, saved.precision), &described.shape, of.readout, (described.inputs, described.classes));
    with_graph_model!(B, kind, model => classify((backend, args, reporter), (saved, of, &model), (name, &set)))
}

fn classify<B: GnnBackend, T: Working>(
    (backend, args, reporter): (&B, &InferArgs, &Reporter),
    (saved, of, model): (&Saved, &OfGraphs, &Model<B, T>),
    (name, set): (&Path, &GraphSet),
) -> Result<()> {
    let description = &saved.checkpoint.description;
    let needed = whole(model, set).1.peak();
    refuse(backend, args.place.memory_limit, needed, "a model that was trained with fewer hidden columns may fit")?;
    let flat = saved.checkpoint.flat(model.layout()).map_err(|e| Failure::other(e).at(saved.file.display()))?;
    let parameters = parameters(backend, model, flat)?;
    let sizes: Vec<usize> = (0..set.len()).map(|g| set.nodes_of(g as u32).len()).collect();
    let row = |values: &Vec<f32>| Dense::from_slice(backend, 1, values.len(), values).map_err(Into::<Failure>::into);
    let known = saved.checkpoint.statistics.iter().map(|[mean, variance]| Ok((row(mean)?, row(variance)?)));
    let known: Vec<Moments<B, f32>> = known.collect::<Result<_>>()?;
    let graph = Graph::of_graphs(backend, set.graph(), &sizes).map_err(Into::into)?.with_statistics(known);
    let features = set.features().on(backend).map_err(Into::into)?;
    let plan = Plan::new(model, &graph, &parameters, &features).map_err(|e| Into::<Failure>::into(e).at(saved.file.display()))?;
    let (seconds, logits) = timed(backend, &plan, args.repeat as usize, reporter)?;
    // After the runs, by which all that a plan holds is there.
    if args.explain {
        explain_plan((&description.model, saved.precision), model, &plan, reporter);
    }
    let seed = description.seeds.first().copied().unwrap_or_default();
    let part = of.split(set, seed).map_err(|e| Failure::other(e).at(saved.file.display()))?;
    let scores = scores(&logits, set.labels(), &part).map_err(Into::into)?;
    if let Some(file) = &args.output {
        let classes = argmax_rows(&logits).and_then(|classes| classes.to_host()).map_err(Into::into)?;
        files::write_vector(file, &classes[..], &Naming { item: Item::Graph, ..Naming::default() }, reporter)?;
    }
    let data = name.display().to_string();
    let val_accuracy = (!part.validation.is_empty()).then_some(scores.validation_accuracy);
    let classified = Classified { data: &data, what: (set.len(), "graphs"), test_accuracy: scores.test_accuracy, val_accuracy };
    tell((backend, args, reporter), description, &classified, &seconds)
}
