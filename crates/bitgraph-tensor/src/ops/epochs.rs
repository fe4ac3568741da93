//! The epochs of training a small model as one operation, for backends that have it.

use super::AdamSettings;
use crate::{Dense, Tensor};
use bitgraph_backend::Matrix;
use bitgraph_sparse::Control;
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Which state of a run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// That of the lowest validation loss, the earliest among equals.
    LowestLoss,
    /// That of the best validation accuracy, among equals that of the lower loss.
    BestAccuracy,
    /// The last one.
    Last,
}

/// Training of two layers with dropout before both, cross entropy over the training nodes, and Adam: `rates.len()` epochs over the whole graph.
pub struct EpochsOp<'a, B: Tensor> {
    /// What the layers are.
    pub layers: EpochsLayers<'a, B>,
    /// `A`, without loops, n x n.
    pub adjacency: &'a Matrix<B>,
    /// The pattern of the features, n x columns.
    pub features: &'a Matrix<B>,
    /// Their values, in the order of the pattern's CSR form.
    pub values: &'a Dense<B, f32>,
    /// The class of each node, 0 to below `classes`, of nodes in one of `parts`.
    pub labels: &'a [i32],
    /// The nodes for training, validation and test; none is in two.
    pub parts: [&'a [u32]; 3],
    /// What runs over all of the above share.
    pub shared: &'a SharedByRuns<B>,
    /// The parameters before the first epoch, flat.
    pub parameters: &'a Dense<B, f32>,
    /// Columns of the hidden layer.
    pub hidden: usize,
    /// Columns of the result.
    pub classes: usize,
    /// The numbers of Adam, but for the rate.
    pub adam: AdamSettings,
    /// The learning rate of every epoch.
    pub rates: &'a [f64],
    /// The probabilities that an entry of the features and an element of the hidden layer is dropped.
    pub dropout: [f64; 2],
    /// The seed of dropout.
    pub seed: u64,
    /// The draws in every epoch of both dropouts, and of those of the attention of both layers.
    pub draws: &'a [[u32; 4]],
    /// Which state is kept.
    pub kept: Kept,
    /// Epochs without a better state after which it ends.
    pub stale: Option<u32>,
    /// Cancellation.
    pub control: &'a Control,
}

/// Where a parameter lies in the flat ones, row by row, and its weight decay.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Its elements.
    pub place: Range<usize>,
    /// Its weight decay.
    pub decay: f64,
}

/// Two layers that a backend may train as one operation.
pub enum EpochsLayers<'a, B: Tensor> {
    /// `A' relu(A' X W1 + b1) W2 + b2` with `A' = D (A + I) D`.
    Gcn {
        /// The diagonal of `D`, n x 1.
        scales: &'a Dense<B, f32>,
        /// `W1`, `b1`, `W2` and `b2`.
        parameters: [Placed; 4],
    },
    /// Graph attention over a node and its neighbours, heads side by side plus `b1`, ELU; then again, the mean of heads plus `b2`.
    Gat(GatLayers),
}

/// What graph attention of two layers is.
pub struct GatLayers {
    /// Of each layer: the weight, the attention vectors of the node and of those that it hears from, and the bias.
    pub parameters: [[Placed; 4]; 2],
    /// Heads of each layer.
    pub heads: [usize; 2],
    /// The slope of LeakyReLU.
    pub slope: f64,
    /// The factor of ELU.
    pub alpha: f64,
    /// The probability that an entry of the softmax is dropped, in each layer.
    pub dropout: [f64; 2],
}

/// What a backend made of the operands that several runs share, kept from the first of them on. One for each graph, with its features, labels
/// and parts.
pub struct SharedByRuns<B: Tensor>(Mutex<Option<Made<B>>>);

struct Made<B: Tensor> {
    /// The operands that it was made of, held so that no other array takes their place in memory.
    operands: [Dense<B, f32>; 2],
    what: Arc<dyn Any + Send + Sync>,
}

impl<B: Tensor> Default for SharedByRuns<B> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<B: Tensor> SharedByRuns<B> {
    /// What `make` made in an earlier run over the same scales and values, or else makes now. What is none is not kept.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or_make<T: Any + Send + Sync, E>(
        &self,
        operands: [&Dense<B, f32>; 2],
        make: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Option<Arc<T>>, E> {
        // What a thread that panicked left is whole.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |made: &&Made<B>| operands.iter().zip(&made.operands).all(|(a, b)| a.array_id() == b.array_id());
        if let Some(what) = kept.as_ref().filter(same).and_then(|made| Arc::clone(&made.what).downcast().ok()) {
            return Ok(Some(what));
        }
        let made = make()?.map(Arc::new);
        *kept = made.clone().map(|what| Made { operands: operands.map(Dense::clone), what });
        Ok(made)
    }
}

/// An epoch of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochScores {
    /// The training loss of the step, with its dropout.
    pub loss: f64,
    /// The validation loss of the state after the step.
    pub validation_loss: f64,
    /// The share of nodes of each part that the state after the step classifies right.
    pub accuracies: [f64; 3],
}

/// What came of it.
pub struct Epochs<B: Tensor> {
    /// The parameters of the state that was kept, flat; places outside of parameters are zero.
    pub parameters: Dense<B, f32>,
    /// The epochs that were run.
    pub epochs: Vec<EpochScores>,
    /// The epoch that the state is of, from 1.
    pub best: usize,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// What a backend that may lack an operation says.
pub enum Whole<R> {
    /// It was done.
    Done(R),
    /// It was not, for this reason; nothing has changed.
    Declined(String),
}
