//! Training on batches: parts of a graph, sampled or cut, in place of all of it at every step.
//!
//! A batch is made in host memory from the pattern, the features of its nodes are gathered there, and both are uploaded as a
//! [`Graph`](crate::Graph) with features of its own, over which every layer runs unchanged. The next batches are prepared on other threads
//! while one is trained on. Batches of neighbours are drawn on the backend instead where it can and the features are there: the same batches, of
//! which nothing crosses but their sizes ([`why_drawn_on_host`]). Scores are those of the whole graph.
//!
//! | sampler | what a batch is | degrees and weights | what the loss of a training node counts |
//! |---|---|---|---|
//! | neighbours | training nodes, so many neighbours of each, and of these | degrees of the whole graph; an entry weighs degree / taken | batches / training nodes |
//! | GraphSAINT | what drawn nodes induce | degrees of the whole graph; an entry weighs one over its estimated probability | one over the node's |
//! | clusters | what joined parts induce | those of the batch, as in Cluster-GCN | batches / training nodes |
//!
//! *Invariants:* a batch is a function of settings, seed, epoch and number, whatever the threads; the losses of an epoch's batches estimate
//! the mean loss over training nodes; no batch without a training node is trained on.

mod batches;
mod cache;
mod device;
mod draws;
mod neighbours;
mod partition;
mod saint;
mod sampler;
mod upload;

pub use batches::{Batch, BatchSettings, Batches, Order};
pub use cache::PartsRemark;
pub(crate) use device::Drawing;
pub use device::why_drawn_on_host;
pub use neighbours::key as neighbours_key;
pub use partition::partition;
pub use sampler::Sampler;
pub(crate) use upload::{Uploaded, each};
