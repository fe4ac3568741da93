//! What an algorithm is to a graph and to a backend: a struct of settings. Nothing lists algorithms; anyone adds one.
//!
//! Invariant: settings and outputs that callers see are in the input's own vertex numbers. A layout may be renumbered;
//! [`Algorithm::renumbered`] and [`Algorithm::restored`] are the one place where an algorithm's numbers are translated.

use crate::{Arranged, Backend, Error, GraphData};
use bitgraph_sparse::Permutation;

/// The settings of an algorithm.
pub trait Algorithm: Clone + Send + Sync + 'static {
    /// What a run gives.
    type Output;
    /// The name in reports, plans and errors.
    const NAME: &'static str;
    /// Whether the values of the entries take part. Otherwise layouts are built from the pattern alone.
    const WEIGHTED: bool = false;
    /// Whether runs read the in-edges of a directed graph, so that its transpose is a part of the layout.
    const INCOMING: bool = true;

    /// What of the settings decides the layout: runs whose keys are equal share one. Default: nothing does.
    fn key(&self) -> u64 {
        0
    }
    /// How often one run passes over the layout, as a plan counts: iterations. Default: 1.
    fn passes(&self) -> u32 {
        1
    }
    /// Refuses settings that do not fit the graph, before anything is planned or built.
    ///
    /// # Errors
    /// A vertex out of range, a parameter out of range, a directed graph where an undirected one is needed, weights that the algorithm
    /// cannot take.
    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        let _ = graph;
        Ok(())
    }
    /// The same settings for a graph whose vertices are renumbered. Called after [`Algorithm::check`].
    #[must_use]
    fn renumbered(&self, numbers: &Permutation) -> Self {
        let _ = numbers;
        self.clone()
    }
    /// The output of a run on a renumbered graph in the input's numbers. `self` is what the caller asked for, before renumbering.
    fn restored(&self, output: Self::Output, graph: &GraphData, numbers: &Permutation) -> Self::Output;
}

/// An algorithm over operations that any backend with the operations can run: its GraphBLAS form.
pub trait Definition<B: Backend>: Algorithm {
    /// Runs on a graph laid out in some order and format, in that order's vertex numbers.
    ///
    /// # Errors
    /// Cancellation, or the backend's.
    fn define(&self, graph: &Arranged<B>) -> Result<Self::Output, B::Error>;
}
