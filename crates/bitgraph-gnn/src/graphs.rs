//! Classification of graphs: training over batches of graphs side by side, and cross validation.
//!
//! Invariant: the same seed gives the same numbers; what is measured in a fold is of graphs that its model was not trained on, and statistics of
//! batch normalisation at inference are those of the graphs that it was trained on.

use crate::data::{GraphSet, Labels};
use crate::graph::Moments;
use crate::optimiser::Optimising;
use crate::train::{LossScale, finite};
use crate::{Epoch, Error, Features, Float, Gradients, Graph, Mode, Model, Nodes, Parameters, Readout, Scores, Training, refused};
use bitgraph_generate::Stream;
use bitgraph_semiring::Scalar;
use bitgraph_tensor::ops::{concat, cross_entropy_with_gradient};
use bitgraph_tensor::{Dense, TensorBackend};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Graphs of a batch where no one says how many.
pub const BATCH: usize = 128;

/// How cross validation chooses the epoch that a fold is measured at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// The one epoch of the best mean over all folds; all other folds are trained on. Source: Xu et al., 2019, section 7. As test graphs take
    /// part in the choice it is a little above what a model will do.
    #[default]
    OneEpoch,
    /// For each fold the epoch of the best accuracy on a tenth of the graphs of the other folds, which is held back from training.
    Validation,
}

impl Rule {
    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneEpoch => "one-epoch",
            Self::Validation => "validation",
        }
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Unknown { what: "rule of cross validation", found: text.to_owned(), known: "one-epoch and validation" };
        [Self::OneEpoch, Self::Validation].into_iter().find(|rule| rule.name() == text).ok_or_else(unknown)
    }
}

/// Cuts graphs into folds with equal shares of every class, by a seed: each graph is in one. O(graphs log graphs).
///
/// # Errors
/// [`Error::Setting`] for fewer than two folds, or more than graphs.
pub fn folds(classes: &[i32], of: &[u32], folds: usize, seed: u64) -> Result<Vec<Vec<u32>>, Error> {
    const PURPOSE: u64 = 0x66_6f6c_6473;
    if !(2..=of.len()).contains(&folds) {
        return Err(Error::Setting { what: "the number of folds", found: folds as f64, allowed: "from 2 to the number of graphs" });
    }
    let keys = Stream::new(seed, PURPOSE);
    let mut order = of.to_vec();
    order.sort_unstable_by_key(|&g| (classes[g as usize], keys.bits(g.into()), g));
    // Class follows class round the folds, so that their sizes differ by one at most.
    let mut all = vec![Vec::new(); folds];
    order.into_iter().enumerate().for_each(|(i, g)| all[i % folds].push(g));
    all.iter_mut().for_each(|fold| fold.sort_unstable());
    Ok(all)
}

/// The parts of a fold: its own graphs for test, the others for training, a tenth of them for validation where the rule asks for it.
///
/// # Errors
/// As [`folds`].
pub fn split(classes: &[i32], all: &[Vec<u32>], fold: usize, rule: Rule, seed: u64) -> Result<Nodes, Error> {
    let mut train: Vec<u32> = all.iter().enumerate().filter(|(f, _)| *f != fold).flat_map(|(_, of)| of.iter().copied()).collect();
    train.sort_unstable();
    let mut validation = Vec::new();
    if rule == Rule::Validation {
        let mut parts = folds(classes, &train, 10, seed ^ (fold as u64 + 1).rotate_left(32))?;
        validation = parts.swap_remove(0);
        train.retain(|g| validation.binary_search(g).is_err());
    }
    Ok(Nodes { train, validation, test: all[fold].clone() })
}

/// What a checkpoint says of a model that classifies graphs: how it reads them out, and the fold that it was trained in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfGraphs {
    /// How nodes are taken together.
    pub readout: Readout,
    /// Graphs of a batch.
    pub batch: usize,
    /// How many folds the set was cut into, by the seed of the run.
    pub folds: usize,
    /// How the epoch was chosen.
    pub rule: Rule,
    /// The fold that was held out.
    pub fold: usize,
    /// [`GraphSet::fingerprint`] of the set, by which it is known again.
    pub fingerprint: u32,
    /// [`GraphSet::tags`] of the set.
    #[serde(default)]
    pub tags: Vec<Vec<i64>>,
}

impl OfGraphs {
    /// The parts of the fold in the set that it was cut of; all graphs of another set are for test.
    ///
    /// # Errors
    /// As [`folds`].
    pub fn split(&self, set: &GraphSet, seed: u64) -> Result<Nodes, Error> {
        let all: Vec<u32> = (0..set.len() as u32).collect();
        if set.fingerprint() != self.fingerprint {
            return Ok(Nodes { train: Vec::new(), validation: Vec::new(), test: all });
        }
        let classes = set.labels().of();
        let parts = folds(classes, &all, self.folds, seed)?;
        if self.fold >= parts.len() {
            return Err(Error::Setting { what: "the fold of a model", found: self.fold as f64, allowed: "below the number of folds" });
        }
        split(classes, &parts, self.fold, self.rule, seed)
    }
}

/// A run over the graphs of a fold, an epoch at a time.
pub struct GraphRun<'a, B: TensorBackend, T: Float> {
    model: &'a Model<B, T>,
    set: &'a GraphSet,
    training: &'a Training,
    split: Nodes,
    batch: usize,
    seed: u64,
    /// Neighbours of a node, and nodes of a graph, at most.
    longest: (u32, u32),
    /// All graphs, with the statistics of those for training.
    whole: Graph<B, T::Real>,
    features: Features<B, T>,
    parameters: Parameters<B, T>,
    gradients: Gradients<B, T::Real>,
    optimising: Optimising<B, T>,
    scale: LossScale,
    epoch: u32,
    steps: u32,
}

impl<'a, B: TensorBackend, T: Float> GraphRun<'a, B, T> {
    /// A run before its first epoch, over batches of so many graphs.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::Size`]; [`Error::Combination`] for no graphs to train on; out of memory.
    pub fn new(
        backend: &B,
        (model, set): (&'a Model<B, T>, &'a GraphSet),
        (training, batch): (&'a Training, usize),
        split: Nodes,
        seed: u64,
    ) -> Result<Self, B::Error> {
        training.optimiser.validate().map_err(refused::<B>)?;
        let size = |what, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(refused::<B>(Error::Size { what, expected: expected as u64, found: found as u64 })),
        };
        size("columns of the model's result, for the classes,", set.labels().classes(), model.columns())?;
        if batch == 0 {
            return Err(refused::<B>(Error::Setting { what: "graphs of a batch", found: 0.0, allowed: "1 or more" }));
        }
        let trained: Vec<u32> = split.train.iter().flat_map(|&g| set.nodes_of(g)).map(|v| v as u32).collect();
        let sizes: Vec<usize> = (0..set.len()).map(|g| set.nodes_of(g as u32).len()).collect();
        let parameters = model.start(backend, seed)?;
        let neighbours = (0..set.graph().nrows()).map(|v| set.graph().degree(v)).max().unwrap_or_default();
        let longest = (neighbours as u32, sizes.iter().copied().max().unwrap_or_default() as u32);
        Ok(Self {
            model,
            set,
            training,
            split,
            batch,
            seed,
            longest,
            whole: Graph::of_graphs(backend, set.graph(), &sizes)?.with_statistics_of(&trained)?,
            features: set.features().on(backend)?,
            gradients: Gradients::new(backend, model.layout())?,
            optimising: Optimising::new(&training.optimiser, &parameters)?,
            parameters,
            scale: LossScale::new::<T>(training.loss_scale),
            epoch: 0,
            steps: 0,
        })
    }
    /// One epoch: a step for each batch of the training graphs in an order of the epoch's own, and the scores of the state after it.
    ///
    /// # Errors
    /// [`Error::Diverged`] where a loss is no number any more; a cancellation; the backend's.
    pub fn step(&mut self) -> Result<Epoch, B::Error> {
        const PURPOSE: u64 = 0x62_6174_6368;
        self.epoch += 1;
        let keys = Stream::new(self.seed, PURPOSE);
        let mut order = self.split.train.clone();
        order.sort_unstable_by_key(|&g| (keys.bits(u64::from(self.epoch) << 32 | u64::from(g)), g));
        let batches = order.len().div_ceil(self.batch).max(1);
        let mut losses = Vec::with_capacity(batches);
        for b in 0..batches {
            self.training.control.check()?;
            // Batches of nearly one size, not full ones and a small rest.
            let graphs = &order[b * order.len() / batches..(b + 1) * order.len() / batches];
            losses.push(self.learn(graphs)?);
        }
        let loss = concat(&losses.iter().collect::<Vec<_>>())?.to_host()?.into_iter().map(Scalar::to_f64).sum::<f64>() / batches as f64;
        let scores = scores(&self.logits()?, self.set.labels(), &self.split)?;
        if !loss.is_finite() {
            return Err(refused::<B>(Error::Diverged { epoch: self.epoch }));
        }
        Ok(Epoch { epoch: self.epoch, loss, scores })
    }
    /// A step over some graphs; its loss.
    fn learn(&mut self, graphs: &[u32]) -> Result<Dense<B, T::Real>, B::Error> {
        let (model, backend) = (self.model, self.whole.backend());
        let made = self.set.side_by_side(graphs).map_err(|e| match e {
            crate::data::Error::Content(e) => refused::<B>(e),
            _ => refused::<B>(Error::Combination { what: "a batch of graphs", why: "it has more nodes than an adjacency holds" }),
        });
        let (pattern, features, sizes) = made?;
        let graph = Graph::of_graphs_once(backend, &pattern, &sizes, self.longest)?;
        let x = Features::dense(backend, pattern.nrows(), self.model.inputs(), &features)?;
        let labels = graphs.iter().map(|&g| self.set.labels().of()[g as usize]).collect();
        let labels = Dense::column_vector(backend, labels)?;
        self.steps += 1;
        let mode = Mode::Train { seed: self.seed, step: self.steps };
        let (logits, tape) = model.forward(&graph, &self.parameters, &x, mode)?;
        let (loss, gradient) = cross_entropy_with_gradient(&logits, &labels, self.scale.value)?;
        model.backward(&graph, &self.parameters, mode, tape, gradient, &mut self.gradients)?;
        if !self.scale.dynamic || self.scale.after(finite(&self.gradients)?) {
            let share = self.training.optimiser.schedule.factor(self.epoch, self.training.epochs);
            self.parameters = self.optimising.step(&self.parameters, &self.gradients, (1.0 / self.scale.used, share))?;
        }
        Ok(loss)
    }
    /// The parameters of the state now.
    pub fn parameters(&self) -> &Parameters<B, T> {
        &self.parameters
    }
    /// The statistics that its batch normalisations go by: those of the graphs that are trained on, by the state now.
    ///
    /// # Errors
    /// The backend's.
    pub fn statistics(&self) -> Result<Vec<Moments<B, T::Real>>, B::Error> {
        self.model.statistics(&self.whole, &self.parameters, &self.features)
    }
    /// The logits of all graphs by the state now.
    ///
    /// # Errors
    /// The backend's.
    pub fn logits(&self) -> Result<Dense<B, T>, B::Error> {
        self.model.infer(&self.whole, &self.parameters, &self.features)
    }
}

/// The mean loss over validation graphs, and the share of each part that is classified right, by the logits of all graphs; NaN of a part
/// without any. One round trip.
///
/// # Errors
/// [`Error::Size`] for other graphs than there are labels, or other columns than classes; the backend's.
pub fn scores<B: TensorBackend, T: Float>(logits: &Dense<B, T>, labels: &Labels, split: &Nodes) -> Result<Scores, B::Error> {
    let (columns, expected) = (logits.ncols(), (labels.of().len(), labels.classes()));
    if logits.shape() != expected {
        let (expected, found) = ((expected.0 * expected.1) as u64, (logits.nrows() * columns) as u64);
        return Err(refused::<B>(Error::Size { what: "logits of graphs", expected, found }));
    }
    let logits: Vec<f64> = logits.to_host()?.into_iter().map(Scalar::to_f64).collect();
    let row = |g: u32| &logits[g as usize * columns..(g as usize + 1) * columns];
    let label = |g: u32| labels.of()[g as usize] as usize;
    let first_most = |row: &[f64]| (0..columns).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    let loss = |g: u32| {
        let row = row(g);
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + row.iter().map(|x| (x - most).exp()).sum::<f64>().ln() - row[label(g)]
    };
    let right = |part: &[u32]| part.iter().filter(|&&g| first_most(row(g)) == label(g)).count() as f64 / part.len() as f64;
    let Nodes { train, validation, test } = split;
    let validation_loss = validation.iter().map(|&g| loss(g)).sum::<f64>() / validation.len() as f64;
    let [train_accuracy, validation_accuracy, test_accuracy] = [right(train), right(validation), right(test)];
    Ok(Scores { validation_loss, train_accuracy, validation_accuracy, test_accuracy })
}

/// The epoch that each fold is measured at, from 0, by the epochs of all folds.
///
/// # Errors
/// [`Error::Size`] for no folds or epochs, or for folds of different epochs under [`Rule::OneEpoch`].
pub fn chosen(epochs: &[Vec<Epoch>], rule: Rule) -> Result<Vec<usize>, Error> {
    let length = epochs.first().map_or(0, Vec::len);
    if let Some(other) = epochs.iter().map(Vec::len).find(|&n| n != length || n == 0) {
        return Err(Error::Size { what: "epochs of a fold", expected: length.max(1) as u64, found: other as u64 });
    }
    let best = |worth: &dyn Fn(usize) -> (f64, f64)| {
        (0..length).fold(0, |best, e| if worth(e).partial_cmp(&worth(best)).is_some_and(std::cmp::Ordering::is_gt) { e } else { best })
    };
    Ok(match rule {
        Rule::OneEpoch => {
            let mean = |e: usize| (epochs.iter().map(|fold| fold[e].scores.test_accuracy).sum::<f64>(), 0.0);
            vec![best(&mean); epochs.len()]
        }
        Rule::Validation => {
            let worth = |fold: &[Epoch], e: usize| (fold[e].scores.validation_accuracy, -fold[e].scores.validation_loss);
            epochs.iter().map(|fold| best(&|e| worth(fold, e))).collect()
        }
    })
}
