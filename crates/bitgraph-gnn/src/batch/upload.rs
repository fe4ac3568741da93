//! A batch on its way to a backend: prepared on other threads while the one before is trained on, and uploaded with its loss.

use super::Batches;
use crate::data::Features;
use crate::graph::HostGraph;
use crate::teacher::shared_cross_entropy;
use crate::{Float, Graph};
use bitgraph_sparse::parallel;
use bitgraph_tensor::ops::map;
use bitgraph_tensor::{Dense, Element, TensorBackend};

/// Batches that are prepared ahead at most: host memory holds twice as many.
const AHEAD: usize = 8;

/// A batch as it is uploaded.
pub(crate) struct Prepared {
    graph: HostGraph,
    features: Features,
    /// Entries of a row of sparse features at most.
    longest: u32,
    classes: usize,
    /// For each node and class what the loss counts, over the largest of them.
    shares: Vec<f32>,
    largest: f32,
}

impl Prepared {
    fn new(batches: &Batches, order: &super::batches::Order, seed: u64, at: (u32, usize)) -> Option<Self> {
        let batch = batches.batch(order, seed, at);
        let largest = batch.shares.iter().fold(0.0f32, |most, s| most.max(*s));
        if largest == 0.0 {
            return None;
        }
        let classes = batches.classes;
        let mut shares = vec![0.0; batch.nodes.len() * classes];
        for (number, (&v, &share)) in batch.nodes.iter().zip(&batch.shares).enumerate() {
            // Only nodes of the split count, and those have labels.
            if share > 0.0 {
                shares[number * classes + batches.labels[v as usize] as usize] = share / largest;
            }
        }
        let features = batches.features.select(&batch.nodes).prepared(batches.preparation);
        let (neighbours, longest) = batches.longest;
        Some(Self { graph: batch.host_graph().short_lived(neighbours), features, longest, classes, shares, largest })
    }
    /// The graph and features on a backend, and what gives the loss.
    pub fn upload<B: TensorBackend, T: Float>(self, backend: &B) -> Result<Uploaded<B, T>, B::Error> {
        let nodes = self.graph.degrees.len();
        let shares = map(&Dense::from_vec(backend, nodes, self.classes, self.shares)?).eval_as()?;
        let features = match self.features.on(backend)? {
            crate::Features::Sparse { pattern, values } => crate::Features::Sparse { pattern: pattern.short_lived(self.longest), values },
            other => other,
        };
        Ok((Graph::on(backend, self.graph)?, features, BatchLoss::new(shares, self.largest)))
    }
}

/// A batch as a step takes it: graph, features, and what gives the loss.
pub(crate) type Uploaded<B, T> = (Graph<B, <T as Element>::Real>, crate::Features<B, T>, BatchLoss<B, T>);

/// What the loss of a batch counts.
pub(crate) struct BatchLoss<B: TensorBackend, T: Float> {
    shares: Dense<B, T>,
    largest: f64,
}

impl<B: TensorBackend, T: Float> BatchLoss<B, T> {
    /// From shares of nodes and classes over the largest of them.
    pub fn new(shares: Dense<B, T>, largest: f32) -> Self {
        Self { shares, largest: largest.into() }
    }
    /// The loss of logits, of 1 x 1, and `scale` times its gradient.
    #[allow(clippy::type_complexity)] // a pair of matrices
    pub fn of(&self, logits: &Dense<B, T>, scale: f64) -> Result<(Dense<B, T::Real>, Dense<B, T>), B::Error> {
        shared_cross_entropy(logits, &self.shares, self.largest, scale)
    }
}

/// Calls a function with each batch of an epoch from the `first` on, in order, while the next ones are prepared on other threads; none for a
/// batch without training nodes.
pub(crate) fn each<E>(
    batches: &Batches,
    (seed, epoch): (u64, u32),
    mut first: usize,
    mut with: impl FnMut(usize, Option<Prepared>) -> Result<(), E>,
) -> Result<(), E> {
    let count = batches.count();
    if first >= count {
        return Ok(());
    }
    let order = batches.order(seed, epoch);
    let prepare = |index: usize| Prepared::new(batches, &order, seed, (epoch, index));
    let width = |first: usize| rayon::current_num_threads().min(AHEAD).min(count - first);
    let mut ready = parallel::collect(width(first), |k| prepare(first + k));
    while first < count {
        let after = first + ready.len();
        let mut next: Vec<Option<Prepared>> = (0..width(after)).map(|_| None).collect();
        rayon::in_place_scope(|scope| {
            for (k, slot) in next.iter_mut().enumerate() {
                let prepare = &prepare;
                scope.spawn(move |_| *slot = prepare(after + k));
            }
            ready.drain(..).enumerate().try_for_each(|(k, batch)| with(first + k, batch))
        })?;
        (first, ready) = (after, next);
    }
    Ok(())
}
