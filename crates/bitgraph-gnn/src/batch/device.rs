//! Batches of neighbours that a backend draws itself, from the graph and the features that it has: they are those of host memory, bit for bit.
//!
//! What crosses to the backend is the order of the training nodes, once for an epoch; what comes back are two numbers a batch, three where features
//! are sparse.

use super::Batches;
use super::neighbours::key;
use super::upload::{BatchLoss, Uploaded};
use crate::degrees::WholeDegrees;
use crate::{Features, Float, Graph, NodeTask};
use bitgraph_tensor::TensorBackend;
use bitgraph_tensor::ops::{NeighboursOp, SparseRows, Whole, map};
use std::sync::Arc;

/// Draws the batches of a run on its backend.
pub(crate) struct Drawing<B: TensorBackend, T: Float> {
    degrees: Arc<WholeDegrees<B, T::Real>>,
    features: Features<B, T>,
    batch: usize,
}

impl<B: TensorBackend, T: Float> Drawing<B, T> {
    /// Over a task whose graph and features are those of the batches. Declined with the reason where batches are to be made in host memory.
    ///
    /// # Errors
    /// The backend's.
    pub fn new(task: &NodeTask<B, T>, batches: &Batches) -> Result<Whole<Self>, B::Error> {
        let (fanouts, batch) = match batches.by_neighbours() {
            Ok(found) => found,
            Err(reason) => return Ok(Whole::Declined(reason.into())),
        };
        let declined = |reason: &str| Ok(Whole::Declined(reason.into()));
        let values = match &task.features {
            Features::Dense(_) => None,
            Features::Sparse { values, .. } => Some(values.any()),
            Features::Streamed(_) => return declined("the features are streamed"),
        };
        let sparse = match (&task.features, &values) {
            (Features::Sparse { pattern, .. }, Some(values)) => Some(SparseRows { pattern, values }),
            _ => None,
        };
        let (backend, adjacency) = (task.graph.backend(), task.graph.adjacency()?);
        let Some(degrees) = task.graph.host_degrees() else { return declined("the graph was drawn itself") };
        if adjacency.nvals() != batches.pattern().nnz() {
            return declined("the graph on the device has other entries");
        }
        let (labels, classes) = (&batches.labels[..], batches.classes);
        let op = NeighboursOp { adjacency, fanouts, batch, labels, classes, sparse };
        let sampler = match backend.neighbours(&op)? {
            Whole::Done(sampler) => sampler,
            Whole::Declined(reason) => return Ok(Whole::Declined(reason)),
        };
        let degrees = Arc::new(WholeDegrees::new(backend, sampler, Arc::clone(degrees))?);
        Ok(Whole::Done(Self { degrees, features: task.features.clone(), batch }))
    }
    /// Begins an epoch.
    ///
    /// # Errors
    /// Out of memory.
    pub fn begin(&self, batches: &Batches, seed: u64, epoch: u32) -> Result<(), B::Error> {
        self.degrees.sampler().set_order(batches.order(seed, epoch).as_slice())
    }
    /// A batch of the epoch that was begun last; declined where memory runs out.
    ///
    /// # Errors
    /// The backend's.
    pub fn batch(&self, batches: &Batches, seed: u64, at: (u32, usize)) -> Result<Whole<Uploaded<B, T>>, B::Error> {
        let mut drawn = match self.degrees.sampler().draw(batches.seeds(self.batch, at.1), key(seed, at))? {
            Whole::Done(drawn) => drawn,
            Whole::Declined(reason) => return Ok(Whole::Declined(reason)),
        };
        let shares = match drawn.targets.any().get() {
            Some(shares) => shares,
            None => map(&drawn.targets).eval_as()?,
        };
        let features = match (&self.features, drawn.sparse.take()) {
            (Features::Dense(x), _) => Features::Dense(self.degrees.gather(x, &drawn.nodes)?),
            (_, Some((pattern, values))) => match values.get() {
                Some(values) => Features::Sparse { pattern, values },
                None => unreachable!("gathered values are of their matrix's type"),
            },
            (_, None) => unreachable!("sparse rows are gathered where they were given"),
        };
        let graph = Graph::drawn(self.features.backend(), drawn, &self.degrees)?;
        Ok(Whole::Done((graph, features, BatchLoss::new(shares, batches.share()))))
    }
}

/// Why the batches of a task are made in host memory, as far as that is known before training; none where its backend draws them. O(nodes).
///
/// # Errors
/// The backend's.
pub fn why_drawn_on_host<B: TensorBackend, T: Float>(task: &NodeTask<B, T>, batches: &Batches) -> Result<Option<String>, B::Error> {
    Ok(match Drawing::new(task, batches)? {
        Whole::Done(_) => None,
        Whole::Declined(reason) => Some(reason),
    })
}
