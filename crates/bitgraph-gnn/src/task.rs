//! Classification of nodes: labels, and which nodes are for training, validation and test.

mod several;

use self::several::Several;
use crate::{Error, Features, Float, Graph, LogitsGradient, refused};
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{SharedByRuns, argmax_rows, concat, cross_entropy, cross_entropy_with_sums, gemm, map};
use bitgraph_tensor::{Dense, Real, TensorBackend};

/// The nodes of a split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Those whose labels are learned from.
    pub train: Vec<u32>,
    /// Those that choose among states.
    pub validation: Vec<u32>,
    /// Those that the chosen state is measured on.
    pub test: Vec<u32>,
}

/// A graph, features and labels on a backend.
pub struct NodeTask<B: TensorBackend, T: Float> {
    /// The graph.
    pub graph: Graph<B, T::Real>,
    /// The features.
    pub features: Features<B, T>,
    classes: usize,
    /// Nodes for training, validation and test.
    counts: [f64; 3],
    split: Nodes,
    host_labels: Vec<i32>,
    train_labels: Dense<B, i32>,
    validation_labels: Dense<B, i32>,
    labels: Dense<B, i32>,
    /// A column each for training, validation and test: one over the number of its nodes, 0 at others.
    shares: Dense<B, T::Real>,
    shared: SharedByRuns<B>,
    /// Where a node may be of several classes.
    several: Option<Several<B, T>>,
}

/// What a state is worth. Where a node may be of several classes, accuracies are micro-F1, which is the accuracy where it is of one.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scores {
    /// The mean loss over the validation nodes; NaN without any.
    #[serde(deserialize_with = "number")]
    pub validation_loss: f64,
    /// The share of training nodes that are classified right.
    pub train_accuracy: f64,
    /// That of validation nodes; NaN without any.
    #[serde(deserialize_with = "number")]
    pub validation_accuracy: f64,
    /// That of test nodes.
    pub test_accuracy: f64,
}

/// A number, of which JSON writes NaN as null.
fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(<Option<f64> as serde::Deserialize>::deserialize(from)?.unwrap_or(f64::NAN))
}

impl<B: TensorBackend, T: Float> NodeTask<B, T> {
    /// From a pattern, features and a label for each node, 0 to below `classes`; labels of nodes in no part of the split are not read.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Node`], [`Error::Label`]; [`Error::Combination`] for parts of the split that are empty or overlap; out of
    /// memory.
    pub fn new(pattern: &Csr, features: Features<B, T>, labels: &[i32], classes: usize, split: &Nodes) -> Result<Self, B::Error> {
        let nodes = pattern.nrows();
        check(nodes, features.shape().0, labels, classes, split).map_err(refused::<B>)?;
        let backend = features.backend().clone();
        let parts = [&split.train, &split.validation, &split.test];
        let only = |part: &[u32]| {
            let mut all = vec![-1; nodes];
            part.iter().for_each(|&v| all[v as usize] = labels[v as usize]);
            Dense::column_vector(&backend, all)
        };
        let mut shares = vec![<T::Real as Real>::of(0.0); 3 * nodes];
        for (p, part) in parts.into_iter().enumerate() {
            part.iter().for_each(|&v| shares[3 * v as usize + p] = <T::Real as Real>::of(1.0 / part.len() as f64));
        }
        Ok(Self {
            graph: Graph::new(&backend, pattern)?,
            train_labels: only(&split.train)?,
            validation_labels: only(&split.validation)?,
            labels: Dense::column_vector(&backend, labels.to_vec())?,
            shares: Dense::from_vec(&backend, nodes, 3, shares)?,
            counts: parts.map(|part| part.len() as f64),
            features,
            classes,
            split: split.clone(),
            host_labels: labels.to_vec(),
            shared: SharedByRuns::default(),
            several: None,
        })
    }
    /// From a matrix of nodes x classes that is 1 where a node is of a class and 0 elsewhere: the loss is the binary cross entropy with logits,
    /// a mean over nodes and classes, and a class is said where its logit is 0 or more. Counts are sums in [`Element::Real`], exact below 2^24
    /// nodes in `f32`.
    ///
    /// [`Element::Real`]: bitgraph_tensor::Element::Real
    ///
    /// # Errors
    /// As [`NodeTask::new`]; [`Error::Size`] for another number of elements, [`Error::Label`] for another element than 0 and 1.
    pub fn of_several(pattern: &Csr, features: Features<B, T>, matrix: &[u8], classes: usize, split: &Nodes) -> Result<Self, B::Error> {
        let (nodes, found) = (pattern.nrows(), matrix.len() as u64);
        let expected = (nodes as u64).saturating_mul(classes as u64);
        if found != expected {
            return Err(refused::<B>(Error::Size { what: "elements of the labels", expected, found }));
        }
        if let Some(at) = matrix.iter().position(|&b| b > 1) {
            return Err(refused::<B>(Error::Label { node: (at / classes) as u64, label: matrix[at].into(), classes: 2 }));
        }
        let task = Self::new(pattern, features, &vec![0; nodes], classes, split)?;
        Ok(Self { several: Some(Several::new(task.graph.backend(), matrix, classes, split)?), ..task })
    }
    /// The share of decisions for or against a class that are right, in training, validation and test, where a node may be of several.
    ///
    /// # Errors
    /// The backend's.
    pub fn decisions(&self, logits: &Dense<B, T>) -> Result<Option<[f64; 3]>, B::Error> {
        self.several.as_ref().map(|several| several.decisions(logits)).transpose()
    }
    /// Whether a node may be of several classes.
    pub fn is_of_several(&self) -> bool {
        self.several.is_some()
    }
    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }
    /// The nodes for training, validation and test, and the label of every node.
    pub(crate) fn split(&self) -> ([&[u32]; 3], &[i32]) {
        ([&self.split.train, &self.split.validation, &self.split.test], &self.host_labels)
    }
    /// What a backend keeps from run to run.
    pub(crate) fn shared_by_runs(&self) -> &SharedByRuns<B> {
        &self.shared
    }
    /// Labels of training nodes, -1 at others, of one column.
    pub fn train_labels(&self) -> &Dense<B, i32> {
        &self.train_labels
    }
    /// The scores of logits without a loss of training. One round trip.
    ///
    /// # Errors
    /// The backend's.
    pub fn classify(&self, logits: &Dense<B, T>) -> Result<Scores, B::Error> {
        let none = Dense::filled(logits.backend(), 1, 1, <T::Real as Real>::of(0.0))?;
        Ok(self.scores(&none, logits)?.1)
    }
    /// The training loss of a step's logits, of 1 x 1, and `scale` times its gradient.
    ///
    /// # Errors
    /// The backend's.
    #[allow(clippy::type_complexity)] // a pair of matrices
    pub fn loss(&self, logits: &Dense<B, T>, scale: f64) -> Result<(Dense<B, T::Real>, LogitsGradient<B, T>), B::Error> {
        if let Some(several) = &self.several {
            return several.loss(logits, scale).map(|(loss, gradient)| (loss, gradient.into()));
        }
        let (loss, gradient, column_sums) = cross_entropy_with_sums(logits, &self.train_labels, scale)?;
        Ok((loss, LogitsGradient { gradient, column_sums }))
    }
    /// The training loss of a step and the scores of logits. One round trip.
    ///
    /// # Errors
    /// The backend's.
    pub fn scores(&self, loss: &Dense<B, T::Real>, logits: &Dense<B, T>) -> Result<(f64, Scores), B::Error> {
        Ok(self.read(&self.scored(loss, logits)?.to_host()?))
    }
    /// What [`NodeTask::read`] takes, still on the device: a row.
    pub(crate) fn scored(&self, loss: &Dense<B, T::Real>, logits: &Dense<B, T>) -> Result<Dense<B, T::Real>, B::Error> {
        if let Some(several) = &self.several {
            return several.decide(loss, logits);
        }
        let backend = logits.backend();
        let real = |value| <T::Real as Real>::of(value);
        let validation = cross_entropy(logits, &self.validation_labels)?;
        // The difference of two classes is 0 or a whole number: its square is below one half only where they agree.
        let apart = map(&argmax_rows(logits)?).add_scaled(&self.labels, -1.0).eval_as::<T::Real>()?;
        let (half, threshold) = (Dense::filled(backend, 1, 1, real(0.5))?, Dense::filled(backend, 1, 1, real(0.5))?);
        let right = map(&apart).multiply(&apart).threshold(&threshold).times(-0.5).bias(&half).eval()?;
        let shares = gemm(&right, &self.shares).transpose_a().eval()?;
        concat(&[loss, &validation, &shares])
    }
    /// The training loss and the scores in the row of [`NodeTask::scored`].
    pub(crate) fn read(&self, row: &[T::Real]) -> (f64, Scores) {
        if let Some(several) = &self.several {
            return several.read(row);
        }
        let at = |i: usize| bitgraph_semiring::Scalar::to_f64(row[i]);
        // Sums of shares are rounded; how many are right is a whole number.
        let share = |p: usize| (at(2 + p) * self.counts[p]).round() / self.counts[p];
        let scores = Scores { validation_loss: at(1), train_accuracy: share(0), validation_accuracy: share(1), test_accuracy: share(2) };
        (at(0), scores)
    }
}

fn check(nodes: usize, rows: usize, labels: &[i32], classes: usize, split: &Nodes) -> Result<(), Error> {
    for (what, found) in [("rows of the features", rows), ("labels", labels.len())] {
        if found != nodes {
            return Err(Error::Size { what, expected: nodes as u64, found: found as u64 });
        }
    }
    if classes == 0 || classes > i32::MAX as usize {
        return Err(Error::Setting { what: "the number of classes", found: classes as f64, allowed: "from 1 to below 2^31" });
    }
    let mut taken = vec![false; nodes];
    for (what, part) in [("training nodes", &split.train), ("validation nodes", &split.validation), ("test nodes", &split.test)] {
        if part.is_empty() {
            return Err(Error::Combination { what, why: "there are none" });
        }
        for &v in part {
            let Some(taken) = taken.get_mut(v as usize) else {
                return Err(Error::Node { what, node: u64::from(v), nodes: nodes as u64 });
            };
            if std::mem::replace(taken, true) {
                return Err(Error::Combination { what, why: "a node is named twice, or by two parts of the split" });
            }
            let label = labels[v as usize];
            if label < 0 || label as usize >= classes {
                return Err(Error::Label { node: u64::from(v), label: i64::from(label), classes: classes as u32 });
            }
        }
    }
    Ok(())
}
