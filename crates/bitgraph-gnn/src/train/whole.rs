//! Training as one operation of the backend, for the models and the data that have one: small graphs, on a GPU in one launch.

use crate::layer::draw;
use crate::parameters::decay_of;
use crate::{
    Around, Epoch, Features, Float, KnownLayer, Method, Model, NodeTask, ParameterId, Parameters, Scores, Selection, Trained, Training,
};
use bitgraph_tensor::ops::{AdamSettings, Epochs, EpochsLayers, EpochsOp, GatLayers, Kept, Placed, Whole};
use bitgraph_tensor::{Activation, Dense, TensorBackend};

/// The layers of a model that has such a form, and the factor of an ELU in between.
enum Known {
    Gcn([[ParameterId; 2]; 2]),
    Gat { parameters: [[ParameterId; 4]; 2], heads: [usize; 2], slope: f64, alpha: f64, dropout: [f64; 2] },
}

/// The layers of a model and the dropouts of their inputs: two graph convolutions with a ReLU in between, or two layers of graph attention with an
/// ELU; why it is something else otherwise.
fn layers_of<B: TensorBackend, T: Float>(model: &Model<B, T>) -> Result<(Known, [f64; 2]), &'static str> {
    if model.reads_out() {
        return Err("the model reads out graphs");
    }
    let [first, second] = model.blocks() else { return Err("the model has not two layers") };
    let bare = |around: &Around, activation| *around == Around { dropout: around.dropout, activation, ..Around::default() };
    let between = first.around.activation;
    let is_bare = bare(&first.around, between) && bare(&second.around, None);
    let known = match (first.stage.known(), second.stage.known(), between) {
        (Some(KnownLayer::Gcn { parameters: a }), Some(KnownLayer::Gcn { parameters: b }), _) => {
            if !is_bare || between != Some(Activation::Relu) {
                return Err("there is more than a ReLU around the graph convolutions");
            }
            Known::Gcn([a, b])
        }
        (Some(KnownLayer::Gat(a)), Some(KnownLayer::Gat(b)), Some(Activation::Elu { alpha })) if is_bare => {
            if (a.averaged, b.averaged) != (false, true) || a.slope != b.slope {
                return Err("heads are not taken side by side in the first layer and as a mean in the second");
            }
            let (parameters, heads, dropout) = ([a.parameters, b.parameters], [a.heads, b.heads], [a.dropout, b.dropout]);
            Known::Gat { parameters, heads, slope: a.slope, alpha, dropout }
        }
        (Some(KnownLayer::Gat(_)), Some(KnownLayer::Gat(_)), _) => {
            return Err("there is more than an ELU around the layers of graph attention");
        }
        _ => return Err("the layers are neither graph convolutions nor graph attention"),
    };
    Ok((known, [first.around.dropout, second.around.dropout]))
}

/// Why a run would be trained operation by operation and not as one operation, as far as that is known before it: the model, the element
/// type, the optimiser. A backend may still decline. None if nothing speaks against it.
pub fn why_not_whole<B: TensorBackend, T: Float>(model: &Model<B, T>, task: &NodeTask<B, T>, training: &Training) -> Option<&'static str> {
    if let Err(reason) = layers_of(model) {
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
    let (Ok((known, dropout)), Features::Sparse { pattern, values }) = (layers_of(model), &task.features) else {
        return Ok(Whole::Declined("the model has no such form".into()));
    };
    let (Some(values), Some(parameters)) = (values.any().get::<f32>(), start.flat().any().get::<f32>()) else {
        return Ok(Whole::Declined("the elements are not of f32".into()));
    };
    let (layout, optimiser) = (model.layout(), &training.optimiser);
    let placed = |id| Placed { place: layout.place(id), decay: decay_of(layout.name(id), &optimiser.decay) };
    let scales: Dense<B, f32>;
    let (layers, hidden) = match known {
        Known::Gcn([a, b]) => {
            let degrees = task.graph.degree_powers(-0.5)?;
            let Some(found) = degrees.any().get::<f32>() else { return Ok(Whole::Declined("the elements are not of f32".into())) };
            scales = found;
            (EpochsLayers::Gcn { scales: &scales, parameters: [a[0], a[1], b[0], b[1]].map(placed) }, layout.place(a[1]).len())
        }
        Known::Gat { parameters, heads, slope, alpha, dropout } => {
            let hidden = layout.place(parameters[0][3]).len();
            (EpochsLayers::Gat(GatLayers { parameters: parameters.map(|layer| layer.map(placed)), heads, slope, alpha, dropout }), hidden)
        }
    };
    let (parts, labels) = task.split();
    // Of a layer's input, and of its own.
    let drops = [(0, 0), (1, 0), (0, 1), (1, 1)];
    let draws: Vec<[u32; 4]> = (1..=training.epochs).map(|step| drops.map(|(layer, which)| draw(step, (layer, 2), which))).collect();
    let rates: Vec<f64> = (1..=training.epochs).map(|e| optimiser.rate * optimiser.schedule.factor(e, training.epochs)).collect();
    let op = EpochsOp {
        layers,
        adjacency: task.graph.adjacency()?,
        features: pattern,
        values: &values,
        labels,
        parts,
        shared: task.shared_by_runs(),
        parameters: &parameters,
        hidden,
        classes: task.classes(),
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
    let Epochs { parameters, epochs, best, cancelled } = match task.graph.backend().epochs(&op)? {
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
