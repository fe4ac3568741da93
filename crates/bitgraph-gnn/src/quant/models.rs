//! Models of few bits by precision, and their training with or without a teacher.

use super::binary::{BinaryGcn, BinaryHidden, SignInput};
use super::features::{column_signs, few_levels, scaled_signs};
use super::lsq::{BitsGcn, InputStep};
use crate::data::{Dataset, Normalise};
use crate::{Architecture, Around, Epoch, Error, Model, NodeTask, Precision, Selection, Trained, Training, refused, train};
use bitgraph_tensor::ops::{gemm, map, spmm};
use bitgraph_tensor::{Activation, Dense, TensorBackend};

/// A model of few bits, the task in the form that it reads, and the training that it does well with.
pub struct LowBits<B: TensorBackend> {
    /// The model.
    pub model: Model<B, f32>,
    /// Graph, labels, and features of few bits.
    pub task: NodeTask<B, f32>,
    /// Epochs and optimiser.
    pub training: Training,
    /// The share of the loss that a teacher has; 0 where one does not help.
    pub share: f64,
}

/// Where the teacher of a model of few bits comes from.
pub enum Teacher<B: TensorBackend> {
    /// A graph convolution in f32, trained from the same seed first, where the precision gains by one.
    Trained,
    /// Logits of another model, nodes x classes.
    Logits(Dense<B, f32>),
    /// None: labels alone.
    None,
}

/// Columns between layers.
const HIDDEN: usize = 64;

/// Two layers of a precision for split `k` of a data set, with features as they are in its files: `bi-full`, `bin`, or `bits:W,A`.
/// O(elements of the features) on the host.
///
/// # Errors
/// [`Error::Combination`] for a precision of floats; as [`Dataset::task`].
pub fn prepare<B: TensorBackend>(backend: &B, data: &Dataset, k: usize, precision: Precision) -> Result<LowBits<B>, B::Error> {
    let host = |e: crate::data::Error| B::Error::from(bitgraph_backend::Error::Family(bitgraph_backend::FamilyError::new(e)));
    let (classes, inputs) = (data.labels().classes(), data.features().shape().1);
    let with = |features| data.clone().with_features(features).map_err(host);
    let recipe = Architecture::Gcn.recipe(classes);
    let training = |rate, epochs, decay: &[(&str, f64)]| {
        let mut made = Training { epochs, selection: Selection::LowestValidationLoss, ..recipe.training.clone() };
        made.optimiser.rate = rate;
        made.optimiser.decay = decay.iter().map(|(prefix, decay)| ((*prefix).to_owned(), *decay)).collect();
        made
    };
    let plain = Around::default();
    let drops = |dropout| Around { dropout, ..plain };
    match precision {
        Precision::Bin => {
            let task = with(column_signs(data.features()).map_err(host)?)?.task(backend, k)?;
            let model = Model::new("gcn.bin", inputs)
                .layer(drops(0.4), |d| BinaryHidden::new(d, HIDDEN))
                .and_then(|m| m.layer(drops(0.4), |d| BinaryGcn::new(d, classes, SignInput::Ready, 0.0)));
            Ok(LowBits { model: model.map_err(refused::<B>)?, task, training: training(1e-3, 500, &[]), share: 1.0 })
        }
        Precision::BiFull => {
            let task = with(scaled_signs(data.features()).map_err(host)?)?.task(backend, k)?;
            let model = Model::new("gcn.bi-full", inputs)
                .layer(drops(0.4), |d| BinaryGcn::new(d, HIDDEN, SignInput::Ready, 0.0))
                .and_then(|m| m.layer(plain, |d| BinaryGcn::new(d, classes, SignInput::Scaled, 0.4)));
            Ok(LowBits { model: model.map_err(refused::<B>)?, task, training: training(1e-3, 1000, &[("", 5e-4)]), share: 0.0 })
        }
        Precision::Bits { weights, activations } => {
            let (w, a) = (u32::from(weights), u32::from(activations));
            let zeros_and_ones = data.features().values().iter().all(|&v| v == 0.0 || v == 1.0);
            // Columns of different sizes would share a step.
            let how = if zeros_and_ones { Normalise::None } else { Normalise::ColumnMeanNonzero };
            let features = data.features().normalised(how);
            let (levels, step) = few_levels(&features, a).map_err(host)?;
            let rows = Dense::column_vector(backend, row_factors(&features, step))?;
            let task: NodeTask<B, f32> = with(levels)?.task(backend, k)?;
            let means = magnitudes(&task, &rows, classes)?;
            let relu = Around { activation: Some(Activation::Relu), ..plain };
            let model = Model::new(format!("gcn.{precision}"), inputs)
                .layer(relu, |d| BitsGcn::new(d, HIDDEN, (w, a), (InputStep::Ready, Some(rows), means[0]), 0.5))
                .and_then(|m| m.layer(plain, |d| BitsGcn::new(d, classes, (w, a), (InputStep::Learned(means[1]), None, means[2]), 0.5)));
            let share = if w.min(a) <= 3 { 0.9 } else { 0.0 };
            Ok(LowBits { model: model.map_err(refused::<B>)?, task, training: training(0.01, 300, &[("layers.0.weight", 5e-4)]), share })
        }
        _ => Err(refused::<B>(Error::Combination { what: "a model of few bits in a precision of floats", why: "train does that" })),
    }
}

/// The step over the sum of each row's features; 0 for rows of zeros.
fn row_factors(features: &crate::data::Features, step: f64) -> Vec<f32> {
    let (rows, columns) = features.shape();
    let values = features.values();
    let sum = |range: std::ops::Range<usize>| values[range].iter().map(|&v| f64::from(v)).sum::<f64>();
    let of_row = |i: usize| sum(features.pattern().map_or(i * columns..(i + 1) * columns, |p| p.row_range(i)));
    (0..rows).map(|i| (i, of_row(i))).map(|(_, s)| if s > 0.0 { (step / s) as f32 } else { 0.0 }).collect()
}

/// Mean magnitudes, before training, of what a graph convolution of two layers aggregates first, of its activations, and of what it aggregates
/// then: what learned steps start from. Columns are alike before training, so that one mean serves all, and any seed.
fn magnitudes<B: TensorBackend>(task: &NodeTask<B, f32>, rows: &Dense<B, f32>, classes: usize) -> Result<[f64; 3], B::Error> {
    let backend = task.graph.backend();
    let shape = Architecture::Gcn.recipe(classes).shape;
    let float = Architecture::Gcn.model::<B, f32>(&shape, task.features.shape().1, classes).map_err(refused::<B>)?;
    let start = float.start(backend, 0)?;
    let layout = std::sync::Arc::clone(float.layout());
    let host = start.flat().to_host()?;
    let weight = |name: &str| match layout.parameters().iter().find(|p| p.name == name) {
        Some(p) => Dense::from_slice(backend, p.shape.0, p.shape.1, &host[p.range()]),
        None => Dense::zeros(backend, 0, 0),
    };
    let d = task.graph.degree_powers(-0.5)?;
    let first = map(&task.features.times(&weight("layers.0.weight")?)?).times_rows(&d).times_rows(rows).eval()?;
    let active = spmm(task.graph.adjacency(), &first).own(1.0).scale_rows(&d).relu().eval()?;
    let second = gemm(&active, &weight("layers.1.weight")?).times_rows(&d).eval()?;
    let mean = |x: &Dense<B, f32>| {
        let host = x.to_host()?;
        Ok::<_, B::Error>(host.iter().map(|v| f64::from(v.abs())).sum::<f64>() / host.len().max(1) as f64)
    };
    Ok([mean(&first)?, mean(&active)?, mean(&second)?])
}

/// Trains a model of few bits on split `k` of a data set, from a seed, after its teacher where there is one. `report` gets every epoch of
/// the model itself. Deterministic.
///
/// # Errors
/// As [`prepare`] and [`train`].
#[allow(clippy::type_complexity)] // a pair
pub fn train_low_bits<B: TensorBackend>(
    backend: &B,
    data: &Dataset,
    (k, seed): (usize, u64),
    precision: Precision,
    teacher: Teacher<B>,
    report: impl FnMut(&Epoch),
) -> Result<(LowBits<B>, Trained<B, f32>), B::Error> {
    let mut made = prepare(backend, data, k, precision)?;
    let logits = match teacher {
        Teacher::Logits(logits) => Some(logits),
        Teacher::Trained if made.share > 0.0 => Some(teach(backend, data, k, seed)?),
        Teacher::Trained | Teacher::None => None,
    };
    if let Some(logits) = logits {
        let share = if made.share > 0.0 { made.share } else { 0.9 };
        made.task = made.task.with_teacher(&logits, share)?;
    } else if precision == Precision::Bin {
        made.training.optimiser.decay = vec![(String::new(), 5e-4)];
    }
    let trained = train(&made.model, &made.task, &made.training, seed, report)?;
    Ok((made, trained))
}

/// The logits of a graph convolution in f32 at its lowest validation loss.
fn teach<B: TensorBackend>(backend: &B, data: &Dataset, k: usize, seed: u64) -> Result<Dense<B, f32>, B::Error> {
    let host = |e: crate::data::Error| B::Error::from(bitgraph_backend::Error::Family(bitgraph_backend::FamilyError::new(e)));
    let normal = data.clone().with_features(data.features().normalised(Normalise::Row)).map_err(host)?;
    let task = normal.task::<B, f32>(backend, k)?;
    let recipe = Architecture::Gcn.recipe(task.classes());
    let model = Architecture::Gcn.model(&recipe.shape, data.features().shape().1, task.classes()).map_err(refused::<B>)?;
    let trained = train(&model, &task, &recipe.training, seed, |_| ())?;
    model.infer(&task.graph, &trained.parameters, &task.features)
}
