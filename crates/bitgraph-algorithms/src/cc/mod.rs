//! Connected components, weak on directed graphs.

pub(crate) mod definition;

use crate::{GraphBackend, On};
use bitgraph_backend::{Algorithm, Arranged, Backend, Control, Definition, Fused, Graph, GraphData, Renumber};
use bitgraph_sparse::Permutation;

/// What to compute.
#[derive(Clone, Debug, Default)]
pub struct CcConfig {
    /// Cancellation and progress.
    pub control: Control,
}

/// The result, the same on every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cc {
    /// The smallest vertex of every vertex's component.
    pub labels: Vec<u32>,
    /// The number of components; an isolated vertex is one.
    pub components: u64,
    /// The number of vertices of the largest component.
    pub largest: u64,
}

impl Cc {
    /// Counts components and the largest one. O(n).
    ///
    /// # Panics
    /// If a label is no vertex.
    #[must_use]
    pub fn from_labels(labels: Vec<u32>) -> Self {
        let mut sizes = vec![0u32; labels.len()];
        for &l in &labels {
            sizes[l as usize] += 1;
        }
        let components = sizes.iter().filter(|&&s| s > 0).count() as u64;
        let largest = sizes.iter().copied().max().unwrap_or(0).into();
        Self { labels, components, largest }
    }
}

impl Algorithm for CcConfig {
    type Output = Cc;
    const NAME: &'static str = "cc";

    fn restored(&self, output: Cc, _: &GraphData, numbers: &Permutation) -> Cc {
        Cc { labels: numbers.restore_labels(output.labels), ..output }
    }
}

impl<B: GraphBackend> Definition<B> for CcConfig {
    fn define(&self, graph: &Arranged<B>) -> Result<Cc, B::Error> {
        definition::cc(graph, self)
    }
}

impl<B: Backend> On<'_, B, CcConfig> {
    /// Cancellation and progress.
    pub fn control(mut self, control: Control) -> Self {
        self.algorithm.control = control;
        self
    }
    /// Finds the components.
    ///
    /// # Errors
    /// [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the backend's.
    pub fn run(&self) -> Result<Cc, B::Error>
    where
        B: GraphBackend + Fused<CcConfig>,
    {
        self.run_algorithm()
    }
}

/// Connected components as a method of a graph.
pub trait ComponentsOfGraph<B: Backend> {
    /// Connected components, weak on directed graphs.
    fn cc(&self) -> On<'_, B, CcConfig>;
}

impl<B: Backend> ComponentsOfGraph<B> for Graph<B> {
    fn cc(&self) -> On<'_, B, CcConfig> {
        On::new(self, CcConfig::default())
    }
}
