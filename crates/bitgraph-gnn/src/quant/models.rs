//! Models of few bits by precision: their recipes, their layers over the features that they read, and the teacher that they learn from.

use super::binary::{BinaryGcn, BinaryHidden, SignInput};
use super::features::{column_signs, few_levels, scaled_signs};
use super::lsq::{BitsGcn, InputStep};
use crate::data::{Dataset, Normalise};
use crate::{Architecture, Around, Error, Link, Model, NodeTask, Precision, Recipe, Shape, Values, refused, train};
use bitgraph_sparse::Control;
use bitgraph_tensor::ops::{gemm, map, spmm};
use bitgraph_tensor::{Activation, Bits, Dense, TensorBackend};

/// A model of few bits, and the task in the form that it reads.
pub struct LowBits<B: TensorBackend> {
    /// The model.
    pub model: Model<B, f32>,
    /// Graph, labels, and features of few bits.
    pub task: NodeTask<B, f32>,
}

/// What layers take from their data before training.
struct Starts<B: TensorBackend> {
    /// Factors of the rows of the first product.
    rows: Option<Dense<B, f32>>,
    /// The mean magnitudes of the input and of what is aggregated, of every layer; learned steps begin there.
    means: Vec<[f64; 2]>,
}

/// The share of the loss that a teacher has in a precision. At few levels the probabilities at nodes without labels say more than the labels
/// do; with `bin`, labels beside them only cost accuracy.
#[must_use]
pub fn teachers_share(precision: Precision) -> f64 {
    if matches!(precision, Precision::Bin | Precision::Chain(_)) { 1.0 } else { 0.9 }
}

/// Whether a precision gains by a teacher that is trained for it: levels that are too few for the labels alone.
#[must_use]
pub fn gains_by_a_teacher(precision: Precision) -> bool {
    match precision {
        Precision::Bin => true,
        Precision::Chain(chain) => chain.sums_signs(),
        Precision::Bits { weights, activations } => weights.min(activations) <= 3,
        _ => false,
    }
}

impl Architecture {
    /// The recipe in a precision, of which those of few bits have their own, with a teacher or without.
    #[must_use]
    pub fn recipe_in(self, precision: Precision, classes: usize, taught: bool) -> Recipe {
        if precision.is_float() { self.recipe(classes) } else { recipe(precision, classes, taught) }
    }
}

/// The recipe of a graph convolution of few bits for so many classes, with a teacher or without.
fn recipe(precision: Precision, classes: usize, taught: bool) -> Recipe {
    let Recipe { shape, mut training, .. } = Architecture::Gcn.recipe(classes);
    // Chains that sum signs are trained as `bin`, the other ones as `bi-full`.
    let like = match precision {
        Precision::Chain(chain) if chain.sums_signs() => Precision::Bin,
        Precision::Chain(_) => Precision::BiFull,
        _ => precision,
    };
    let (rate, epochs, decay, dropout): (_, _, &[(&str, f64)], _) = match like {
        Precision::Bin if taught => (1e-3, 500, &[], 0.4),
        Precision::Bin => (1e-3, 500, &[("", 5e-4)], 0.4),
        Precision::BiFull => (1e-3, 1000, &[("", 5e-4)], 0.4),
        _ => (0.01, 300, &[("layers.0.weight", 5e-4)], 0.5),
    };
    training.epochs = epochs;
    training.optimiser.rate = rate;
    training.optimiser.decay = decay.iter().map(|(prefix, decay)| ((*prefix).to_owned(), *decay)).collect();
    // What divides the features is the precision's own affair.
    let layers = if let Precision::Chain(chain) = precision { chain.links().len() } else { shape.layers };
    Recipe { shape: Shape { layers, dropout, ..shape }, normalise: Normalise::None, training }
}

/// The layers of a precision.
fn layers<B: TensorBackend + Bits>(
    precision: Precision,
    shape: &Shape,
    (inputs, classes): (usize, usize),
    starts: &Starts<B>,
) -> Result<Model<B, f32>, Error> {
    if shape.batch_norm || shape.residual {
        return Err(Error::Combination { what: "batch normalisation and residuals around layers of few bits", why: "there are none" });
    }
    shape.check()?;
    let mut model = Model::new(Architecture::Gcn.name(), inputs);
    // `bin` and `bi-full` are chains of any number of layers.
    let link = |l: usize| {
        let last = l + 1 == shape.layers;
        let gives = if last { Values::Floats } else { Values::Bits };
        match precision {
            Precision::Bin => Some(Link { reads: Values::Bits, sums: gives, gives }),
            Precision::BiFull => Some(Link::default()),
            Precision::Chain(chain) => chain.links().get(l).copied(),
            _ => None,
        }
    };
    if let Precision::Chain(chain) = precision
        && chain.links().len() != shape.layers
    {
        let (expected, found) = (chain.links().len() as u64, shape.layers as u64);
        return Err(Error::Size { what: "layers of the chain", expected, found });
    }
    let plain = Around::default();
    for l in 0..shape.layers {
        let last = l + 1 == shape.layers;
        let outputs = if last { classes } else { shape.hidden };
        let drops = Around { dropout: shape.dropout, ..plain };
        if let Some(Link { reads, sums, gives }) = link(l) {
            // The features come as signs, with factors or without.
            let (around, input) = match reads {
                Values::Floats if l > 0 => (plain, (SignInput::Scaled, shape.dropout)),
                Values::Floats if sums == Values::Bits => (drops, (SignInput::Factors, 0.0)),
                _ => (drops, (SignInput::Ready, 0.0)),
            };
            model = match sums {
                // Logits want factors and summands of their own: counts have none.
                Values::Bits if last => {
                    let around = Around { batch_norm: true, ..around };
                    model.layer(around, |d| BinaryHidden::new(d, outputs, input, gives))?
                }
                Values::Bits => model.layer(around, |d| BinaryHidden::new(d, outputs, input, gives))?,
                Values::Floats => {
                    let around = Around { sign: gives == Values::Bits, ..around };
                    model.layer(around, |d| BinaryGcn::new(d, outputs, input.0, input.1))?
                }
            };
            continue;
        }
        model = match precision {
            Precision::Bits { weights, activations } => {
                let around = Around { activation: (!last).then_some(Activation::Relu), ..plain };
                let [active, product] = starts.means.get(l).copied().unwrap_or([1.0; 2]);
                let input = if l == 0 { InputStep::Ready } else { InputStep::Learned(active) };
                let rows = if l == 0 { starts.rows.clone() } else { None };
                let bits = (u32::from(weights), u32::from(activations));
                model.layer(around, |d| BitsGcn::new(d, outputs, bits, (input, rows, product), shape.dropout))?
            }
            _ => {
                return Err(Error::Combination {
                    what: "a model of few bits in a precision of floats",
                    why: "its architecture makes that",
                });
            }
        };
    }
    Ok(model)
}

/// The model alone: its layers, sizes and parameters, without what it takes from data.
///
/// # Errors
/// As [`LowBits::new`].
pub fn model<B: TensorBackend + Bits>(precision: Precision, shape: &Shape, sizes: (usize, usize)) -> Result<Model<B, f32>, Error> {
    layers(precision, shape, sizes, &Starts { rows: None, means: Vec::new() })
}

fn host<B: TensorBackend>(error: crate::data::Error) -> B::Error {
    B::Error::from(bitgraph_backend::Error::Family(bitgraph_backend::FamilyError::new(error)))
}

impl<B: TensorBackend + Bits> LowBits<B> {
    /// A graph convolution of `bi-full`, `bin` or `bits:W,A` for split `k` of a data set, with features as they are in its files. O(elements
    /// of the features) on the host.
    ///
    /// # Errors
    /// [`Error::Combination`] for a precision of floats, batch normalisation or residuals; [`Error::Setting`] as
    /// [`Architecture::model`]; as [`Dataset::task`].
    pub fn new(backend: &B, data: &Dataset, k: usize, precision: Precision, shape: &Shape) -> Result<Self, B::Error> {
        let sizes = (data.features().shape().1, data.labels().classes());
        let task = |features| data.clone().with_features(features).map_err(host::<B>)?.task::<B, f32>(backend, k);
        let signs = || task(column_signs(data.features()).map_err(host::<B>)?);
        let mut starts = Starts { rows: None, means: Vec::new() };
        let task = match precision {
            Precision::Bin => signs()?,
            Precision::Chain(chain) if chain.links()[0].reads == Values::Bits => signs()?,
            Precision::Bits { activations, .. } => {
                let zeros_and_ones = data.features().values().iter().all(|&v| v == 0.0 || v == 1.0);
                // Columns of different sizes would share a step.
                let how = if zeros_and_ones { Normalise::None } else { Normalise::ColumnMeanNonzero };
                let features = data.features().normalised(how);
                let (levels, step) = few_levels(&features, u32::from(activations)).map_err(host::<B>)?;
                let rows = Dense::column_vector(backend, row_factors(&features, step))?;
                let task = task(levels)?;
                starts = Starts { means: magnitudes(&task, &rows, shape)?, rows: Some(rows) };
                task
            }
            _ => task(scaled_signs(data.features()).map_err(host::<B>)?)?,
        };
        Ok(Self { model: layers(precision, shape, sizes, &starts).map_err(refused::<B>)?, task })
    }
}

/// The step over the sum of each row's features; 0 for rows of zeros.
fn row_factors(features: &crate::data::Features, step: f64) -> Vec<f32> {
    let (rows, columns) = features.shape();
    let values = features.values();
    let sum = |range: std::ops::Range<usize>| values[range].iter().map(|&v| f64::from(v)).sum::<f64>();
    let of_row = |i: usize| sum(features.pattern().map_or(i * columns..(i + 1) * columns, |p| p.row_range(i)));
    (0..rows).map(of_row).map(|s| if s > 0.0 { (step / s) as f32 } else { 0.0 }).collect()
}

/// The mean magnitudes of the input and of what is aggregated, before training, of every layer of a graph convolution in floats. Columns are
/// alike before training, so that one mean serves all, and any seed.
fn magnitudes<B: TensorBackend>(task: &NodeTask<B, f32>, rows: &Dense<B, f32>, shape: &Shape) -> Result<Vec<[f64; 2]>, B::Error> {
    let backend = task.graph.backend();
    let float = Architecture::Gcn.model::<B, f32>(shape, task.features.shape().1, task.classes()).map_err(refused::<B>)?;
    let host = float.start(backend, 0)?.flat().to_host()?;
    let d = task.graph.degree_powers(-0.5)?;
    let mean = |x: &Dense<B, f32>| {
        let host = x.to_host()?;
        Ok::<_, B::Error>(host.iter().map(|v| f64::from(v.abs())).sum::<f64>() / host.len().max(1) as f64)
    };
    let mut means = Vec::with_capacity(shape.layers);
    let mut active: Option<Dense<B, f32>> = None;
    for p in float.layout().parameters().iter().filter(|p| p.name.ends_with(".weight")) {
        let weight = Dense::from_slice(backend, p.shape.0, p.shape.1, &host[p.range()])?;
        let (input, product) = match &active {
            None => (0.0, map(&task.features.times(&weight)?).times_rows(&d).times_rows(rows).eval()?),
            Some(x) => (mean(x)?, gemm(x, &weight).times_rows(&d).eval()?),
        };
        means.push([input, mean(&product)?]);
        active = Some(spmm(task.graph.adjacency()?, &product).own(1.0).scale_rows(&d).relu().eval()?);
    }
    Ok(means)
}

/// The logits of a graph convolution in f32 that is trained by its recipe on split `k` of a data set, from a seed, at its lowest validation loss:
/// the teacher of a model of few bits. `control` gets its epochs.
///
/// # Errors
/// As [`train`].
pub fn teach<B: TensorBackend>(backend: &B, data: &Dataset, (k, seed): (usize, u64), control: &Control) -> Result<Dense<B, f32>, B::Error> {
    let (normal, _) = data.clone().prepared(Normalise::Row, None).map_err(host::<B>)?;
    let task = normal.task::<B, f32>(backend, k)?;
    let mut recipe = Architecture::Gcn.recipe(task.classes());
    recipe.training.control = control.clone();
    let model = Architecture::Gcn.model(&recipe.shape, data.features().shape().1, task.classes()).map_err(refused::<B>)?;
    let trained = train(&model, &task, &recipe.training, seed, |_| ())?;
    if trained.cancelled {
        return Err(bitgraph_sparse::Cancelled.into());
    }
    model.infer(&task.graph, &trained.parameters, &task.features)
}
