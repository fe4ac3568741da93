//! Shortest paths from one source.

pub(crate) mod definition;
mod paths;

use crate::{On, PathBackend, Typed};
use bitgraph_backend::{Algorithm, Arranged, Backend, Control, Definition, Error, Fused, Graph, GraphData, Renumber};
use bitgraph_sparse::{Permutation, Stored};

/// What to search for. Weights are the matrix's values; a pattern has weight 1 everywhere.
#[derive(Clone, Debug, Default)]
pub struct SsspConfig {
    /// The vertex to start from.
    pub source: u32,
    /// Stop once this vertex's distance is final; distances of farther vertices are then upper bounds. Default: none.
    pub target: Option<u32>,
    /// The width of a bucket of delta-stepping. Default: chosen from weights and degrees.
    pub delta: Option<f64>,
    /// Fill [`Sssp::parents`]. Default: false.
    pub parents: bool,
    /// Cancellation and progress (buckets done).
    pub control: Control,
}

/// The result. Distances do not depend on the number of threads for integer weights; for floats each is the smallest, over all
/// paths, of the left-to-right sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Sssp<T> {
    /// The source.
    pub source: u32,
    /// The distance of every vertex, the largest value of `T` if unreached.
    pub distances: Vec<T>,
    /// The parent of every vertex on a shortest path, the source its own, [`UNREACHED`](crate::UNREACHED) if unreached; if asked for.
    /// Among equals it is the smallest nearer vertex; where only arcs of length 0 lead on, the smallest of those fewest arcs away from
    /// a vertex that has a nearer parent.
    pub parents: Option<Vec<u32>>,
    /// The number of reached vertices, the source included.
    pub reached: u64,
}

impl<T: Stored> Algorithm for Typed<SsspConfig, T> {
    type Output = Sssp<T>;
    const NAME: &'static str = "sssp";
    const WEIGHTED: bool = true;

    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        graph.check_vertex(self.source)?;
        self.target.map_or(Ok(()), |t| graph.check_vertex(t))?;
        graph.weights().map(drop)
    }
    fn renumbered(&self, numbers: &Permutation) -> Self {
        let number = |v: u32| numbers.new_of_old()[v as usize];
        Self::new(SsspConfig { source: number(self.source), target: self.target.map(number), ..self.settings.clone() })
    }
    fn restored(&self, output: Sssp<T>, _: &GraphData, numbers: &Permutation) -> Sssp<T> {
        Sssp {
            source: self.source,
            distances: numbers.restore_values(output.distances),
            parents: output.parents.map(|p| numbers.restore_vertices(p)),
            ..output
        }
    }
}

impl<B: PathBackend<T>, T: Stored> Definition<B> for Typed<SsspConfig, T> {
    fn define(&self, graph: &Arranged<B>) -> Result<Sssp<T>, B::Error> {
        definition::sssp::<B, T>(graph, self)
    }
}

impl<B: Backend> On<'_, B, SsspConfig> {
    /// Finds the parents on shortest paths as well.
    pub fn parents(mut self) -> Self {
        self.algorithm.parents = true;
        self
    }
    /// Stops once this vertex's distance is final.
    pub fn target(mut self, target: u32) -> Self {
        self.algorithm.target = Some(target);
        self
    }
    /// The width of a bucket of delta-stepping.
    pub fn delta(mut self, delta: f64) -> Self {
        self.algorithm.delta = Some(delta);
        self
    }
    /// Cancellation and progress (buckets done).
    pub fn control(mut self, control: Control) -> Self {
        self.algorithm.control = control;
        self
    }
    /// Finds shortest paths, with distances of type `T`: weights are converted to it, and 1 where there are none.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`], [`Error::Weight`], [`Error::Overflow`], [`Error::Cancelled`], or the backend's.
    pub fn run<T: Stored>(&self) -> Result<Sssp<T>, B::Error>
    where
        B: PathBackend<T> + Fused<Typed<SsspConfig, T>>,
    {
        self.in_type::<T>().run_algorithm()
    }
}

/// Shortest paths as a method of a graph.
pub trait PathsOfGraph<B: Backend> {
    /// Shortest paths from a vertex, over the graph's weights.
    fn sssp(&self, source: u32) -> On<'_, B, SsspConfig>;
}

impl<B: Backend> PathsOfGraph<B> for Graph<B> {
    fn sssp(&self, source: u32) -> On<'_, B, SsspConfig> {
        On::new(self, SsspConfig { source, ..SsspConfig::default() })
    }
}
