//! The batches of a data set: how many an epoch has, and each of them by its number.

use super::draws::induced;
use super::saint::Saint;
use super::{PartsRemark, Sampler, cache, neighbours};
use crate::data::{Dataset, Features, Preparation};
use crate::{Error, Graph, graph::HostGraph};
use bitgraph_generate::Stream;
use bitgraph_sparse::{Control, Csr};
use bitgraph_tensor::{Real, TensorBackend};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::path::Path;

const ORDER: u64 = 0x6261_7463_6865_7300;

/// How a model is trained on batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSettings {
    /// How batches are taken.
    pub sampler: Sampler,
    /// The first of so many epochs is scored on the whole graph, and the last one of a run; 1 or more. Only these are chosen from.
    pub evaluate_every: u32,
}

/// A part of a graph to train on, in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The nodes of the data set, by their numbers in the batch.
    pub nodes: Vec<u32>,
    /// The first so many of them are the training nodes that a sampler of neighbours began from; 0 for others.
    pub seeds: usize,
    /// The entries between them.
    pub pattern: Csr,
    /// The degrees that layers scale by.
    pub degrees: Vec<usize>,
    /// What entries count for; degrees are those of the whole graph then.
    pub weights: Option<Vec<f32>>,
    /// What the loss of each node counts; 0 for those that are not trained on.
    pub shares: Vec<f32>,
}

impl Batch {
    /// Its graph on a backend, over which a model runs as over a whole one.
    ///
    /// # Errors
    /// Out of memory.
    pub fn graph<B: TensorBackend, R: Real>(self, backend: &B) -> Result<Graph<B, R>, B::Error> {
        Graph::on(backend, self.host_graph())
    }
    pub(super) fn host_graph(self) -> HostGraph {
        match self.weights {
            Some(weights) => HostGraph::sampled(self.pattern, self.degrees, weights),
            None => HostGraph::whole(self.pattern),
        }
    }
}

enum Plan {
    Neighbours { fanouts: Vec<u32>, batch: usize },
    Saint(Saint),
    Clusters { parts: Vec<Vec<u32>>, joined: usize },
}

/// What an epoch takes its batches from: training nodes, or numbers of parts, in the order of the epoch.
pub struct Order(Vec<u32>);

impl Order {
    /// The training nodes or parts, those of the first batch first; none where batches are drawn of all nodes.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

/// The batches of one split of a data set.
pub struct Batches {
    settings: BatchSettings,
    graph: Csr,
    pub(super) features: Features,
    pub(super) preparation: Preparation,
    pub(super) labels: Vec<i32>,
    pub(super) classes: usize,
    train: Vec<u32>,
    is_trained: Vec<bool>,
    plan: Plan,
    /// Entries of a row of a batch's adjacency and of its features at most: bounds that every batch has, wherever it is made.
    pub(super) longest: (u32, u32),
    on_host: bool,
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("settings", &self.settings).field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Batches {
    /// The batches of split `k`. Features of a batch are prepared as `preparation` says, which must not divide by columns: those have no sums
    /// in a batch. Partitions are read from `cache` and kept there. O(entries), GraphSAINT's estimates, or METIS's time.
    ///
    /// # Errors
    /// [`Error::Size`] for a split that there is not, [`Error::Setting`], [`Error::Partition`]; [`Error::Combination`] for columns, or a
    /// sampler that the graph has nothing for; [`Error::Cancelled`].
    pub fn new(
        set: &Dataset,
        k: usize,
        settings: &BatchSettings,
        preparation: impl Into<Preparation>,
        cache: Option<&Path>,
        control: &Control,
        tell: impl FnMut(&PartsRemark),
    ) -> Result<Self, Error> {
        let none = || Error::Size { what: "splits", expected: k as u64 + 1, found: set.splits().len() as u64 };
        let train = set.splits().get(k).ok_or_else(none)?.train.clone();
        if settings.evaluate_every == 0 {
            return Err(Error::Setting { what: "the number of epochs between scores", found: 0.0, allowed: "1 or more" });
        }
        let preparation = preparation.into();
        if preparation.normalise().takes_columns() {
            let why = "a batch does not have all rows of a column";
            return Err(Error::Combination { what: "features divided by the mean of their column as they are gathered", why });
        }
        let (graph, _) = set.graph().filter_with_positions(|i, j| i != j);
        let plan = match &settings.sampler {
            Sampler::Neighbours { fanouts, batch } => Plan::Neighbours { fanouts: fanouts.clone(), batch: *batch as usize },
            sampler @ (Sampler::SaintNodes { .. } | Sampler::SaintEdges { .. } | Sampler::SaintWalks { .. }) => {
                Plan::Saint(Saint::new(&graph, sampler, control)?)
            }
            Sampler::Clusters { parts, joined } => {
                let of = cache::parts(&graph, *parts, cache, tell)?;
                let mut all = vec![Vec::new(); *parts as usize];
                (0u32..).zip(&of).for_each(|(v, &part)| all[part as usize].push(v));
                all.retain(|part| !part.is_empty());
                Plan::Clusters { parts: all, joined: *joined as usize }
            }
        };
        let rows = |of: &Csr| (0..of.nrows()).map(|i| of.degree(i) as u32).max().unwrap_or(0);
        let most = match &settings.sampler {
            Sampler::Neighbours { fanouts, .. } => fanouts.iter().copied().max().unwrap_or(0),
            _ => u32::MAX,
        };
        let longest = (most.min(rows(&graph)), set.features().pattern().map_or(0, rows));
        let mut is_trained = vec![false; graph.nrows()];
        train.iter().for_each(|&v| is_trained[v as usize] = true);
        Ok(Self {
            settings: settings.clone(),
            graph,
            features: set.features().clone(),
            preparation,
            labels: set.labels().of().to_vec(),
            classes: set.labels().classes(),
            train,
            is_trained,
            plan,
            longest,
            on_host: false,
        })
    }
    /// The same, drawn in host memory where a backend could draw them itself: for comparisons.
    #[must_use]
    pub fn drawn_on_host(self) -> Self {
        Self { on_host: true, ..self }
    }
    /// Nodes and columns of the features.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.features.shape()
    }
    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &BatchSettings {
        &self.settings
    }
    /// Batches of an epoch.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.plan {
            Plan::Neighbours { batch, .. } => self.train.len().div_ceil(*batch),
            Plan::Saint(saint) => saint.count,
            Plan::Clusters { parts, joined } => parts.len().div_ceil(*joined),
        }
    }
    /// The order of an epoch, by a seed. O(training nodes or parts, times their logarithm).
    #[must_use]
    pub fn order(&self, seed: u64, epoch: u32) -> Order {
        let mut all = match &self.plan {
            Plan::Neighbours { .. } => self.train.clone(),
            Plan::Saint(_) => Vec::new(),
            Plan::Clusters { parts, .. } => (0..parts.len() as u32).collect(),
        };
        let keys = Stream::new(seed, ORDER ^ u64::from(epoch) << 32);
        all.sort_unstable_by_key(|&v| (keys.bits(v.into()), v));
        Order(all)
    }
    /// A batch of an epoch, from 0 to below [`Batches::count`], whose order it is. O(entries of its nodes' rows).
    ///
    /// # Panics
    /// For the order of other batches.
    #[must_use]
    pub fn batch(&self, order: &Order, seed: u64, (epoch, index): (u32, usize)) -> Batch {
        let share = self.share();
        let is_trained = |v: u32| self.is_trained[v as usize];
        match &self.plan {
            Plan::Neighbours { fanouts, batch } => {
                let seeds = &order.0[self.seeds(*batch, index)];
                let mut made = neighbours::around(&self.graph, seeds, fanouts, neighbours::key(seed, (epoch, index)));
                // Training nodes that are only heard from are trained on in a batch of their own.
                made.shares = (0..made.nodes.len()).map(|number| if number < seeds.len() { share } else { 0.0 }).collect();
                made
            }
            Plan::Saint(saint) => saint.batch(&self.graph, seed, (epoch, index), is_trained, self.train.len()),
            Plan::Clusters { parts, joined } => {
                let taken = &order.0[index * joined..parts.len().min((index + 1) * joined)];
                let mut nodes: Vec<u32> = taken.iter().flat_map(|&p| &parts[p as usize]).copied().collect();
                nodes.sort_unstable();
                let (pattern, _) = induced(&self.graph, &nodes);
                let degrees = (0..pattern.nrows()).map(|i| pattern.degree(i)).collect();
                let shares = nodes.iter().map(|&v| if is_trained(v) { share } else { 0.0 }).collect();
                Batch { nodes, seeds: 0, pattern, degrees, weights: None, shares }
            }
        }
    }
    /// Fan-outs and training nodes of a batch, where a backend may draw the batches from the graph and the features that it has.
    pub(super) fn by_neighbours(&self) -> Result<(&[u32], usize), &'static str> {
        match &self.plan {
            _ if self.on_host => Err("this was asked for"),
            Plan::Neighbours { .. } if !self.preparation.is_nothing() => Err("features are divided or multiplied as they are gathered"),
            Plan::Neighbours { fanouts, batch } => Ok((fanouts, *batch)),
            _ => Err("only those of neighbours can be drawn on a device"),
        }
    }
    /// The places in the order of an epoch from which a batch of neighbours of so many training nodes begins.
    pub(super) fn seeds(&self, batch: usize, index: usize) -> Range<usize> {
        index * batch..self.train.len().min((index + 1) * batch)
    }
    /// What the loss of a training node counts where every one is in one batch.
    pub(super) fn share(&self) -> f32 {
        (self.count() as f64 / self.train.len() as f64) as f32
    }
    /// The pattern without loops.
    pub(super) fn pattern(&self) -> &Csr {
        &self.graph
    }
    /// Whether an epoch, of so many, is scored.
    pub(crate) fn is_scored(&self, epoch: u32, epochs: u32) -> bool {
        (epoch - 1).is_multiple_of(self.settings.evaluate_every) || epoch == epochs
    }
}
