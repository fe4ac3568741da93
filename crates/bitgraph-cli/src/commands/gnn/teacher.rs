//! Where the teacher of a model comes from: trained by the command itself, or a file of an earlier one.

use super::setup::Saved;
use super::{GnnBackend, Working, parameters, with_model};
use crate::failure::{Failure, Result};
use crate::progress::Reporter;
use bitgraph::gnn::data::Dataset;
use bitgraph::gnn::{Description, Precision, Taught, Teach, Teacher, quant};
use bitgraph::tensor::Dense;
use bitgraph::tensor::ops::map;
use std::path::Path;

/// What says, for each seed, what the teacher of a description says; none where there is no teacher.
pub fn of<'a, B: GnnBackend, T: Working>(
    backend: &'a B,
    (description, precision): (&'a Description, Precision),
    set: &'a Dataset,
    reporter: &'a Reporter,
) -> Result<Option<Teach<'a, B, T>>> {
    let share = quant::teachers_share(precision);
    Ok(match &description.teacher {
        Teacher::None => None,
        Teacher::Trained => Some(Box::new(move |seed| {
            let control = reporter.running("training the teacher");
            let logits = quant::teach(backend, set, (description.split, seed), &control)?;
            Taught::new(&map(&logits).eval_as()?, share)
        })),
        Teacher::File(file) => {
            let logits = logits(backend, Path::new(file), description, set)?;
            let taught = Taught::new(&map(&logits).eval_as().map_err(Into::into)?, share).map_err(Into::into)?;
            Some(Box::new(move |_| Ok(taught.clone())))
        }
    })
}

/// The logits of the model in a file for all nodes of a data set, whose features are as its files have them.
fn logits<B: GnnBackend>(backend: &B, file: &Path, student: &Description, set: &Dataset) -> Result<Dense<B, f32>> {
    let saved = Saved::of_nodes(file)?;
    saved.check(Path::new(&student.data), (set.features().shape().1, set.labels().classes()))?;
    let own = Description { split: student.split, ..saved.checkpoint.description.clone() };
    let (set, _) = set.clone().prepared(own.normalise, Some(own.factor))?;
    with_model!(backend, (saved.architecture, saved.precision), own, (set, false), (model, task) => {
        let flat = saved.checkpoint.flat(model.layout()).map_err(|e| Failure::other(e).at(file.display()))?;
        let parameters = parameters(backend, &model, flat)?;
        let logits = model.infer(&task.graph, &parameters, &task.features).map_err(Into::into)?;
        map(&logits).eval_as().map_err(Into::into)
    })
}
