//! Triangle counting, on undirected graphs; loops do not count.

pub(crate) mod definition;

use crate::{GraphBackend, On};
use bitgraph_backend::{Algorithm, Arranged, Backend, Control, Definition, Error, Fused, Graph, GraphData};
use bitgraph_sparse::Permutation;

/// What to compute.
#[derive(Clone, Debug, Default)]
pub struct TcConfig {
    /// Cancellation and progress.
    pub control: Control,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tc {
    /// The number of triangles.
    pub triangles: u64,
}

impl Algorithm for TcConfig {
    type Output = Tc;
    const NAME: &'static str = "tc";
    const INCOMING: bool = false;

    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        if graph.is_symmetric() { Ok(()) } else { Err(Error::Directed { algorithm: Self::NAME }) }
    }
    fn restored(&self, output: Tc, _: &GraphData, _: &Permutation) -> Tc {
        output
    }
}

impl<B: GraphBackend> Definition<B> for TcConfig {
    fn define(&self, graph: &Arranged<B>) -> Result<Tc, B::Error> {
        definition::tc(graph, self)
    }
}

impl<B: Backend> On<'_, B, TcConfig> {
    /// Cancellation and progress.
    pub fn control(mut self, control: Control) -> Self {
        self.algorithm.control = control;
        self
    }
    /// Counts the triangles.
    ///
    /// # Errors
    /// [`Error::Directed`], [`Error::Cancelled`], or the backend's.
    pub fn run(&self) -> Result<Tc, B::Error>
    where
        B: GraphBackend + Fused<TcConfig>,
    {
        self.run_algorithm()
    }
}

/// Triangle counting as a method of a graph.
pub trait TrianglesOfGraph<B: Backend> {
    /// Triangle counting on an undirected graph.
    fn tc(&self) -> On<'_, B, TcConfig>;
}

impl<B: Backend> TrianglesOfGraph<B> for Graph<B> {
    fn tc(&self) -> On<'_, B, TcConfig> {
        On::new(self, TcConfig::default())
    }
}
