//! Distillation: a model learns from the probabilities that another one gives, at nodes without labels too.

use crate::{Error, Float, NodeTask, refused};
use bitgraph_tensor::ops::{log_softmax, log_softmax_backward, map, sum_columns};
use bitgraph_tensor::{Dense, Real, TensorBackend};
use serde::{Deserialize, Serialize};

/// Where the teacher of a model comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Teacher {
    /// There is none: labels alone.
    #[default]
    None,
    /// A graph convolution in f32 that is trained first, from the seed of the run.
    Trained,
    /// The model of this checkpoint.
    File(String),
}

/// What a teacher says: probabilities, a row for each node and a column for each class, and their share of the loss.
pub struct Taught<B: TensorBackend, T: Float> {
    probabilities: Dense<B, T>,
    share: f64,
}

impl<B: TensorBackend, T: Float> Clone for Taught<B, T> {
    fn clone(&self) -> Self {
        Self { probabilities: self.probabilities.clone(), share: self.share }
    }
}

impl<B: TensorBackend, T: Float> Taught<B, T> {
    /// The softmax of logits (nodes x classes), whose cross entropy is `share` of the loss. O(elements) on the host.
    ///
    /// # Errors
    /// [`Error::Setting`] for a share outside 0 to 1; out of memory.
    pub fn new(logits: &Dense<B, T>, share: f64) -> Result<Self, B::Error> {
        if !(0.0..=1.0).contains(&share) {
            return Err(refused::<B>(Error::Setting { what: "the teacher's share of the loss", found: share, allowed: "from 0 to 1" }));
        }
        let host = log_softmax(logits)?.to_host()?;
        let host = host.into_iter().map(|x| <T::Real as Real>::of(bitgraph_semiring::Scalar::to_f64(x).exp())).collect();
        let real = Dense::<B, T::Real>::from_vec(logits.backend(), logits.nrows(), logits.ncols(), host)?;
        Ok(Self { probabilities: map(&real).eval_as::<T>()?, share })
    }
    /// The training loss of a step's logits, of 1 x 1, and `scale` times its gradient: the cross entropy with the teacher's probabilities over
    /// all nodes, labelled or not, and for the rest of the share that with the labels of training nodes. Source: Hinton et al., 2015, at
    /// temperature 1.
    ///
    /// # Errors
    /// [`Error::Size`] for logits of another shape than the teacher's; the backend's.
    #[allow(clippy::type_complexity)] // a pair of matrices
    pub fn loss(&self, task: &NodeTask<B, T>, logits: &Dense<B, T>, scale: f64) -> Result<(Dense<B, T::Real>, Dense<B, T>), B::Error> {
        let (nodes, classes) = self.probabilities.shape();
        if logits.shape() != (nodes, classes) {
            let (expected, found) = ((nodes * classes) as u64, (logits.nrows() * logits.ncols()) as u64);
            return Err(refused::<B>(Error::Size { what: "logits of a teacher", expected, found }));
        }
        let weight = self.share / nodes.max(1) as f64;
        let (taught, dlogits) = shared_cross_entropy(logits, &self.probabilities, weight, scale)?;
        if self.share >= 1.0 {
            return Ok((taught, dlogits));
        }
        let (labelled, of_labels) = task.loss(logits, scale)?;
        let rest = 1.0 - self.share;
        let loss = map(&taught).add_scaled(&labelled, rest).eval()?;
        Ok((loss, map(&dlogits).add_scaled(&of_labels.gradient, rest).eval()?))
    }
}

/// `-weight` times the sum over `shares * log_softmax(logits)`, of 1 x 1, and `scale` times its gradient.
#[allow(clippy::type_complexity)] // a pair of matrices
pub(crate) fn shared_cross_entropy<B: TensorBackend, T: Float>(
    logits: &Dense<B, T>,
    shares: &Dense<B, T>,
    weight: f64,
    scale: f64,
) -> Result<(Dense<B, T::Real>, Dense<B, T>), B::Error> {
    let logarithms = log_softmax(logits)?;
    let classes = sum_columns(&map(&logarithms).multiply(shares).eval()?)?;
    let sum = sum_columns(&classes.reshaped(logits.ncols(), 1)?)?;
    let dlogits = log_softmax_backward(&logarithms, &map(shares).times(-weight * scale).eval()?)?;
    Ok((map(&sum).times(-weight).eval_as()?, dlogits))
}
