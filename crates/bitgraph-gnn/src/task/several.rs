//! Nodes that may be of several classes: the binary cross entropy of each class, and micro-F1.
//!
//! A decision between two classes is a softmax over the logit and a zero, so that the cross entropy of such pairs is the binary one with
//! logits, and its gradient that of the sigmoid.

use crate::{Float, Nodes, Scores};
use bitgraph_semiring::Scalar;
use bitgraph_tensor::ops::{argmax_rows, concat, cross_entropy, cross_entropy_with_gradient, gemm, map, sum_columns};
use bitgraph_tensor::{Dense, Real, TensorBackend};

/// The labels of nodes that may be of several classes, on a backend.
pub(super) struct Several<B: TensorBackend, T: Float> {
    classes: usize,
    /// For each node and class 0 where the node is of it and 1 where not, -1 at nodes that are not for training.
    train: Dense<B, i32>,
    /// The same for validation.
    validation: Dense<B, i32>,
    /// 1 where a node is of a class: nodes x classes.
    of: Dense<B, T::Real>,
    /// 1 where a node is for training, validation, test: nodes x 3.
    parts: Dense<B, T::Real>,
    /// How often nodes of each part are of a class, and decisions in it.
    counts: [(f64, f64); 3],
}

/// Of each part: the loss, and what was decided.
struct Decided {
    loss: f64,
    validation_loss: f64,
    /// Pairs of node and class that were said and are so, and those that were said.
    right: [f64; 3],
    said: [f64; 3],
}

impl Decided {
    /// From a row of [`Several::decide`].
    fn of<R: Scalar>(row: &[R]) -> Self {
        let at = |i: usize| row[i].to_f64();
        Self { loss: at(0), validation_loss: at(1), right: [2, 3, 4].map(at), said: [5, 6, 7].map(at) }
    }
}

impl<B: TensorBackend, T: Float> Several<B, T> {
    /// From a checked split and a matrix of 0 and 1.
    pub fn new(backend: &B, matrix: &[u8], classes: usize, split: &Nodes) -> Result<Self, B::Error> {
        let nodes = matrix.len() / classes;
        let row = |v: u32| v as usize * classes..(v as usize + 1) * classes;
        let only = |part: &[u32]| {
            let mut all = vec![-1; matrix.len()];
            part.iter().flat_map(|&v| row(v)).for_each(|e| all[e] = i32::from(matrix[e] == 0));
            Dense::column_vector(backend, all)
        };
        let real = |on: bool| <T::Real as Real>::of(if on { 1.0 } else { 0.0 });
        let mut parts = vec![real(false); 3 * nodes];
        let all = [&split.train, &split.validation, &split.test];
        for (p, part) in all.into_iter().enumerate() {
            part.iter().for_each(|&v| parts[3 * v as usize + p] = real(true));
        }
        let ones = |part: &[u32]| part.iter().flat_map(|&v| row(v)).filter(|&e| matrix[e] == 1).count() as f64;
        Ok(Self {
            classes,
            train: only(&split.train)?,
            validation: only(&split.validation)?,
            of: Dense::from_vec(backend, nodes, classes, matrix.iter().map(|&b| real(b == 1)).collect())?,
            parts: Dense::from_vec(backend, nodes, 3, parts)?,
            counts: all.map(|part| (ones(part), (part.len() * classes) as f64)),
        })
    }
    /// A row for each node and class: the logit, and zero.
    fn pairs(&self, logits: &Dense<B, T>) -> Result<Dense<B, T>, B::Error> {
        let rows = logits.nrows() * self.classes;
        concat(&[&logits.reshaped(rows, 1)?, &Dense::zeros(logits.backend(), rows, 1)?])
    }
    /// The mean over training nodes and classes, and `scale` times its gradient.
    #[allow(clippy::type_complexity)] // a pair of matrices
    pub fn loss(&self, logits: &Dense<B, T>, scale: f64) -> Result<(Dense<B, T::Real>, Dense<B, T>), B::Error> {
        let (loss, d) = cross_entropy_with_gradient(&self.pairs(logits)?, &self.train, scale)?;
        let d: Dense<B, T> = map(&d.columns(0..1)?).eval()?;
        Ok((loss, d.reshaped(logits.nrows(), self.classes)?))
    }
    /// A row of the loss of training, that of validation, and how many decisions for a class are right and how many there are in each part.
    pub fn decide(&self, loss: &Dense<B, T::Real>, logits: &Dense<B, T>) -> Result<Dense<B, T::Real>, B::Error> {
        let pairs = self.pairs(logits)?;
        let validation = cross_entropy(&pairs, &self.validation)?;
        // The second column of a pair is the maximum where the class is not said.
        let unsaid = map(&argmax_rows(&pairs)?).eval_as::<T::Real>()?;
        let one = Dense::filled(logits.backend(), 1, 1, <T::Real as Real>::of(1.0))?;
        let said = map(&unsaid).times(-1.0).bias(&one).eval_as::<T::Real>()?.reshaped(logits.nrows(), self.classes)?;
        let right = map(&said).multiply(&self.of).eval_as::<T::Real>()?;
        let counted = |x: &Dense<B, T::Real>| sum_columns(&gemm(x, &self.parts).transpose_a().eval_as::<T::Real>()?);
        concat(&[loss, &validation, &counted(&right)?, &counted(&said)?])
    }
    /// The loss of training and the scores in such a row, whose accuracies are micro-F1.
    pub fn read(&self, row: &[T::Real]) -> (f64, Scores) {
        let Decided { loss, validation_loss, right, said } = Decided::of(row);
        let f1 = |p: usize| {
            let both = said[p] + self.counts[p].0;
            if both > 0.0 { 2.0 * right[p] / both } else { 0.0 }
        };
        (loss, Scores { validation_loss, train_accuracy: f1(0), validation_accuracy: f1(1), test_accuracy: f1(2) })
    }
    /// The share of decisions that are right, in training, validation and test.
    pub fn decisions(&self, logits: &Dense<B, T>) -> Result<[f64; 3], B::Error> {
        let none = Dense::filled(logits.backend(), 1, 1, <T::Real as Real>::of(0.0))?;
        let Decided { right, said, .. } = Decided::of(&self.decide(&none, logits)?.to_host()?);
        Ok([0, 1, 2].map(|p| 1.0 - (said[p] + self.counts[p].0 - 2.0 * right[p]) / self.counts[p].1))
    }
}
