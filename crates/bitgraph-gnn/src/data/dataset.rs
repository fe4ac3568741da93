//! A graph with features, labels and splits, in host memory.

use super::{Features, Result, split};
use crate::{NodeTask, Nodes, refused};
use bitgraph_sparse::Csr;
use bitgraph_tensor::TensorBackend;

/// A class for each node, or none; or for each class whether a node is of it.
///
/// Invariant: a matrix has a row of `classes` for each node, of 0 and 1, and the row of a node without labels is of zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    of: Vec<i32>,
    classes: usize,
    /// Where a node may be of several classes: nodes x classes.
    many: Option<Vec<u8>>,
}

impl Labels {
    /// What stands for no label.
    pub const NONE: i32 = -1;

    /// From the class of each node, 0 to below `classes`, or [`Labels::NONE`]. O(nodes).
    ///
    /// # Errors
    /// [`Content`](super::Error::Content) for another label, or a number of classes that 31 bits do not hold.
    pub fn new(of: Vec<i32>, classes: usize) -> Result<Self> {
        check_classes(classes)?;
        match of.iter().position(|&c| c < Self::NONE || c >= classes as i32) {
            None => Ok(Self { of, classes, many: None }),
            Some(node) => Err(crate::Error::Label { node: node as u64, label: of[node].into(), classes: classes as u32 }.into()),
        }
    }
    /// From a matrix of nodes x classes that is 1 where a node is of a class, 0 elsewhere; a node may be of several or of none. The nodes of
    /// `unlabelled` have no labels, whatever the matrix says. O(elements).
    ///
    /// # Errors
    /// [`Content`](super::Error::Content) for no classes, elements that make no rows of them, or a node that there is not;
    /// [`Element`](super::Error::Element) for another element.
    pub fn several(mut matrix: Vec<u8>, classes: usize, unlabelled: &[u32]) -> Result<Self> {
        check_classes(classes)?;
        let nodes = matrix.len() / classes;
        if nodes * classes != matrix.len() {
            let (expected, found) = ((nodes * classes) as u64, matrix.len() as u64);
            return Err(crate::Error::Size { what: "elements of the labels", expected, found }.into());
        }
        if let Some(position) = matrix.iter().position(|&b| b > 1) {
            let (found, wanted) = (matrix[position].into(), "labels in a matrix are 0 and 1");
            return Err(super::Error::Element { position: position as u64, found, wanted });
        }
        let mut of = vec![0; nodes];
        for &v in unlabelled {
            let (what, node) = ("nodes without labels", u64::from(v));
            *of.get_mut(v as usize).ok_or(crate::Error::Node { what, node, nodes: nodes as u64 })? = Self::NONE;
            matrix[v as usize * classes..(v as usize + 1) * classes].fill(0);
        }
        Ok(Self { of, classes, many: Some(matrix) })
    }
    /// Where a node may be of several classes: 1 where it is of one, nodes x classes row by row.
    #[must_use]
    pub fn matrix(&self) -> Option<&[u8]> {
        self.many.as_deref()
    }
    /// The class of each node. Where a node may be of several: 0 of those that have labels, [`Labels::NONE`] of the others.
    #[must_use]
    pub fn of(&self) -> &[i32] {
        &self.of
    }
    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }
    /// The nodes that have one, ascending.
    pub fn labelled(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.of).filter(|(_, c)| **c != Self::NONE).map(|(v, _)| v)
    }
}

/// Refuses a number of classes that labels cannot tell apart.
fn check_classes(classes: usize) -> Result<()> {
    if classes == 0 || i32::try_from(classes).is_err() {
        let allowed = "from 1 to below 2^31";
        return Err(crate::Error::Setting { what: "the number of classes", found: classes as f64, allowed }.into());
    }
    Ok(())
}

/// A data set for the classification of nodes.
///
/// Invariant: the graph is square, features and labels have a row for each node, and every split names labelled nodes, none twice.
#[derive(Clone, Debug)]
pub struct Dataset {
    name: String,
    graph: Csr,
    features: Features,
    labels: Labels,
    splits: Vec<Nodes>,
}

impl Dataset {
    /// Checks that the parts fit. O(nodes + splits).
    ///
    /// # Errors
    /// [`Content`](super::Error::Content) with what does not fit.
    pub fn new(name: impl Into<String>, graph: Csr, features: Features, labels: Labels, mut splits: Vec<Nodes>) -> Result<Self> {
        let nodes = graph.nrows();
        if !graph.is_square() {
            let (expected, found) = (nodes as u64, graph.ncols() as u64);
            return Err(crate::Error::Size { what: "columns of the adjacency", expected, found }.into());
        }
        for (what, found) in [("rows of the features", features.shape().0), ("labels", labels.of.len())] {
            if found != nodes {
                return Err(crate::Error::Size { what, expected: nodes as u64, found: found as u64 }.into());
            }
        }
        for (k, part) in splits.iter_mut().enumerate() {
            split::check(k, part, &labels)?;
        }
        Ok(Self { name: name.into(), graph, features, labels, splits })
    }
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The adjacency.
    #[must_use]
    pub fn graph(&self) -> &Csr {
        &self.graph
    }
    /// The features.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }
    /// The labels.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
    /// The splits, each ascending.
    #[must_use]
    pub fn splits(&self) -> &[Nodes] {
        &self.splits
    }
    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.graph.nrows()
    }
    /// Bytes of graph, features and labels in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let labels = size_of_val(self.labels.of()) + self.labels.matrix().map_or(0, <[u8]>::len);
        self.graph.bytes() + self.features.bytes() + labels as u64
    }
    /// The same with other features, such as [`Features::normalised`] ones.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn with_features(self, features: Features) -> Result<Self> {
        Self::new(self.name, self.graph, features, self.labels, self.splits)
    }
    /// The same with other splits.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn with_splits(self, splits: Vec<Nodes>) -> Result<Self> {
        Self::new(self.name, self.graph, self.features, self.labels, splits)
    }
    /// Split `k` of the set on a backend, ready for training.
    ///
    /// # Errors
    /// [`crate::Error::Size`] for a split that there is not; out of memory.
    pub fn task<B: TensorBackend, T: crate::Float>(&self, backend: &B, k: usize) -> Result<NodeTask<B, T>, B::Error> {
        self.task_with(self.features.on(backend)?, k)
    }
    /// The same with features that are elsewhere, or were made into others.
    ///
    /// # Errors
    /// As [`Dataset::task`]; [`crate::Error::Size`] for features of another number of nodes.
    pub fn task_with<B: TensorBackend, T: crate::Float>(
        &self,
        features: crate::Features<B, T>,
        k: usize,
    ) -> Result<NodeTask<B, T>, B::Error> {
        let none = || crate::Error::Size { what: "splits", expected: k as u64 + 1, found: self.splits.len() as u64 };
        let nodes = self.splits.get(k).ok_or_else(|| refused::<B>(none()))?;
        match self.labels.matrix() {
            Some(matrix) => NodeTask::of_several(&self.graph, features, matrix, self.labels.classes, nodes),
            None => NodeTask::new(&self.graph, features, self.labels.of(), self.labels.classes, nodes),
        }
    }
}
