//! Training as one operation of the backend, for the models and the data that have one: small graphs, on a GPU in one launch.

use crate::layer::draw;
use crate::parameters::decay_of;
use crate::{Epoch, Features, Float, Method, Model, NodeTask, Parameters, Scores, Selection, Trained, Training};
use bitgraph_tensor::TensorBackend;
use bitgraph_tensor::ops::{AdamSettings, GcnEpochs, GcnEpochsOp, Kept, Whole};

/// Why a run would be trained operation by operation and not as one operation, as far as that is known before it: the model, the element
/// type, the optimiser. A backend may still decline. None if nothing speaks against it.
pub fn why_not_whole<B: TensorBackend, T: Float>(model: &Model<B, T>, task: &NodeTask<B, T>, training: &Training) -> Option<&'static str> {
    if let Err(reason) = model.as_two_gcn() {
        return Some(reason);
    }
    match &task.features {
        Features::Dense(_) => return Some("the features are dense"),
        Features::Streamed(_) => return Some("the features are streamed"),
        Features::Sparse { values, .. } if values.any().get::<f32>().is_none() => return Some("the elements are not of f32"),
        Features::Sparse { .. } => {}
    }
    if training.batches.is_some() {
        return Some("it is trained on batches");
    }
    if task.is_of_several() {
        return Some("a node may be of several classes");
    }
    matches!(training.optimiser.method, Method::Sgd { .. }).then_some("the optimiser is SGD")
}

/// What training gives, and its epochs.
type Run<B, T> = (Trained<B, T>, Vec<Epoch>);

/// All epochs as one operation; the reason where that is declined.
pub(crate) fn train<B: TensorBackend, T: Float>(
    model: &Model<B, T>,
    task: &NodeTask<B, T>,
    training: &Training,
    seed: u64,
) -> Result<Whole<Run<B, T>>, B::Error> {
    if let Some(reason) = why_not_whole(model, task, training) {
        return Ok(Whole::Declined(reason.into()));
    }
    let start = model.start(task.graph.backend(), seed)?;
    let degrees = task.graph.degree_powers(-0.5)?;
    let (Ok((ids, dropout)), Features::Sparse { pattern, values }) = (model.as_two_gcn(), &task.features) else {
        return Ok(Whole::Declined("the model has no such form".into()));
    };
    let (Some(values), Some(scales), Some(parameters)) =
        (values.any().get::<f32>(), degrees.any().get::<f32>(), start.flat().any().get::<f32>())
    else {
        return Ok(Whole::Declined("the elements are not of f32".into()));
    };
    let (layout, optimiser) = (model.layout(), &training.optimiser);
    let ids = ids.concat();
    let of = |p: usize| decay_of(layout.name(ids[p]), &optimiser.decay);
    let (parts, labels) = task.split();
    let draws: Vec<[u32; 2]> = (1..=training.epochs).map(|step| [0, 1].map(|layer| draw(step, (layer, 2), 0))).collect();
    let rates: Vec<f64> = (1..=training.epochs).map(|e| optimiser.rate * optimiser.schedule.factor(e, training.epochs)).collect();
    let op = GcnEpochsOp {
        adjacency: task.graph.adjacency(),
        scales: &scales,
        features: pattern,
        values: &values,
        labels,
        parts,
        shared: task.shared_by_runs(),
        parameters: &parameters,
        places: [0, 1, 2, 3].map(|p| layout.place(ids[p])),
        hidden: layout.place(ids[1]).len(),
        classes: task.classes(),
        decay: [0, 1, 2, 3].map(of),
        adam: AdamSettings { rate: optimiser.rate, decoupled: optimiser.method == Method::AdamW, ..AdamSettings::default() },
        rates: &rates,
        dropout,
        seed,
        draws: &draws,
        kept: match training.selection {
            Selection::LowestValidationLoss => Kept::LowestLoss,
            Selection::BestValidationAccuracy => Kept::BestAccuracy,
            Selection::Last => Kept::Last,
        },
        stale: training.stale_epochs,
        control: &training.control,
    };
    let GcnEpochs { parameters, epochs, best, cancelled } = match task.graph.backend().gcn_epochs(&op)? {
        Whole::Done(run) => run,
        Whole::Declined(reason) => return Ok(Whole::Declined(reason)),
    };
    let Some(flat) = parameters.any().get::<T::Real>() else { return Ok(Whole::Declined("the elements are not of f32".into())) };
    let epochs: Vec<Epoch> = (1u32..)
        .zip(epochs)
        .map(|(epoch, e)| {
            let [train_accuracy, validation_accuracy, test_accuracy] = e.accuracies;
            let scores = Scores { validation_loss: e.validation_loss, train_accuracy, validation_accuracy, test_accuracy };
            Epoch { epoch, loss: e.loss, scores }
        })
        .collect();
    let run = Trained {
        parameters: Parameters::from_flat(layout, flat)?,
        best: epochs[best - 1],
        epochs: epochs.len() as u32,
        diverged: None,
        cancelled,
    };
    Ok(Whole::Done((run, epochs)))
}
