//! Breadth-first search from one source, and from many at once.

pub(crate) mod definition;
mod many;

use crate::{GraphBackend, On};
use bitgraph_backend::{Algorithm, Arranged, Backend, Control, Definition, Error, Fused, Graph, GraphData, Renumber};
use bitgraph_sparse::Permutation;

/// The parent of a vertex that the search did not reach.
pub const UNREACHED: u32 = u32::MAX;

/// Which arrays a search fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BfsOutput {
    /// The level of every vertex.
    #[default]
    Levels,
    /// The parent of every vertex.
    Parents,
    /// Both.
    Both,
}

impl BfsOutput {
    /// Whether levels are wanted.
    #[must_use]
    pub const fn levels(self) -> bool {
        matches!(self, Self::Levels | Self::Both)
    }
    /// Whether parents are wanted.
    #[must_use]
    pub const fn parents(self) -> bool {
        matches!(self, Self::Parents | Self::Both)
    }
}

/// What to search for.
#[derive(Clone, Debug, Default)]
pub struct BfsConfig {
    /// The vertex to start from.
    pub source: u32,
    /// Which arrays to fill. Default: levels.
    pub output: BfsOutput,
    /// The parent is the smallest vertex of the level before that has an arc to the vertex; otherwise any such vertex.
    /// Levels are the same on every run either way. Default: false.
    pub deterministic: bool,
    /// Cancellation and progress (levels done).
    pub control: Control,
}

/// The result of a search. Arcs run from row to column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bfs {
    /// The source.
    pub source: u32,
    /// The level of every vertex, 0 for the source, -1 if unreached; if asked for.
    pub levels: Option<Vec<i32>>,
    /// The parent of every vertex, the source its own, [`UNREACHED`] if unreached; if asked for.
    pub parents: Option<Vec<u32>>,
    /// The number of reached vertices, the source included.
    pub reached: u64,
    /// The largest level.
    pub depth: u32,
    /// The sum of the out-degrees of the reached vertices.
    pub edges_traversed: u64,
}

/// What to search for from many sources.
#[derive(Clone, Debug, Default)]
pub struct MsBfsConfig {
    /// The vertices to start from; a vertex may occur more than once.
    pub sources: Vec<u32>,
    /// Fill [`MsBfs::levels`]. Default: false.
    pub levels: bool,
    /// Cancellation and progress (levels done).
    pub control: Control,
}

/// The result of a search from many sources: element `k` belongs to source `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MsBfs {
    /// The number of reached vertices.
    pub reached: Vec<u64>,
    /// The largest level.
    pub depth: Vec<u32>,
    /// The sum of the levels of the reached vertices.
    pub sum_levels: Vec<u64>,
    /// Level of vertex `v` from source `k` at `k * nodes + v`, -1 if unreached; if asked for.
    pub levels: Option<Vec<i32>>,
}

impl Algorithm for BfsConfig {
    type Output = Bfs;
    const NAME: &'static str = "bfs";

    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        graph.check_vertex(self.source)
    }
    fn renumbered(&self, numbers: &Permutation) -> Self {
        // The smallest parent is one of the input's numbers, so that a renumbered graph has to be asked for the levels.
        let output = if self.deterministic && self.output.parents() { BfsOutput::Levels } else { self.output };
        Self { source: numbers.new_of_old()[self.source as usize], output, ..self.clone() }
    }
    fn restored(&self, output: Bfs, graph: &GraphData, numbers: &Permutation) -> Bfs {
        let levels = output.levels.map(|l| numbers.restore_values(l));
        let parents = match output.parents {
            Some(parents) => Some(numbers.restore_vertices(parents)),
            None if self.output.parents() => levels.as_deref().map(|l| smallest_parents(graph, l)),
            None => None,
        };
        Bfs { source: self.source, levels: levels.filter(|_| self.output.levels()), parents, ..output }
    }
}

/// For every vertex the smallest one of the level before with an arc to it, all by the input's numbers. O(n + nnz).
fn smallest_parents(graph: &GraphData, levels: &[i32]) -> Vec<u32> {
    let csr = graph.csr();
    let mut parents = vec![UNREACHED; levels.len()];
    for row in 0..csr.nrows() {
        let tail = graph.number(row as u32);
        let level = levels[tail as usize];
        if level < 0 {
            continue;
        }
        if level == 0 {
            parents[tail as usize] = tail;
        }
        for &column in csr.row(row) {
            let head = graph.number(column) as usize;
            if levels[head] == level + 1 {
                parents[head] = parents[head].min(tail);
            }
        }
    }
    parents
}

impl<B: GraphBackend> Definition<B> for BfsConfig {
    fn define(&self, graph: &Arranged<B>) -> Result<Bfs, B::Error> {
        definition::bfs(graph, self)
    }
}

impl<B: Backend> On<'_, B, BfsConfig> {
    /// Finds parents instead of levels.
    pub fn parents(mut self) -> Self {
        self.algorithm.output = BfsOutput::Parents;
        self
    }
    /// Finds levels and parents.
    pub fn levels_and_parents(mut self) -> Self {
        self.algorithm.output = BfsOutput::Both;
        self
    }
    /// Makes parents the same on every run: the smallest ones.
    pub fn deterministic(mut self) -> Self {
        self.algorithm.deterministic = true;
        self
    }
    /// Cancellation and progress (levels done).
    pub fn control(mut self, control: Control) -> Self {
        self.algorithm.control = control;
        self
    }
    /// Searches.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
    pub fn run(&self) -> Result<Bfs, B::Error>
    where
        B: GraphBackend + Fused<BfsConfig>,
    {
        self.run_algorithm()
    }
}

impl Algorithm for MsBfsConfig {
    type Output = MsBfs;
    const NAME: &'static str = "ms_bfs";

    fn check(&self, graph: &GraphData) -> Result<(), Error> {
        self.sources.iter().try_for_each(|&s| graph.check_vertex(s))
    }
    fn renumbered(&self, numbers: &Permutation) -> Self {
        Self { sources: self.sources.iter().map(|&s| numbers.new_of_old()[s as usize]).collect(), ..self.clone() }
    }
    fn restored(&self, output: MsBfs, graph: &GraphData, numbers: &Permutation) -> MsBfs {
        let rows = |levels: Vec<i32>| levels.chunks(graph.nodes().max(1)).flat_map(|row| numbers.restore(row)).collect();
        MsBfs { levels: output.levels.map(rows), ..output }
    }
}

impl<B: GraphBackend> Definition<B> for MsBfsConfig {
    fn define(&self, graph: &Arranged<B>) -> Result<MsBfs, B::Error> {
        many::ms_bfs(graph, self)
    }
}

impl<B: Backend> On<'_, B, MsBfsConfig> {
    /// Fills the levels of every vertex from every source.
    pub fn levels(mut self) -> Self {
        self.algorithm.levels = true;
        self
    }
    /// Cancellation and progress (levels done).
    pub fn control(mut self, control: Control) -> Self {
        self.algorithm.control = control;
        self
    }
    /// Searches from all sources.
    ///
    /// # Errors
    /// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
    pub fn run(&self) -> Result<MsBfs, B::Error>
    where
        B: GraphBackend + Fused<MsBfsConfig>,
    {
        self.run_algorithm()
    }
}

/// Searches as methods of a graph.
pub trait SearchGraph<B: Backend> {
    /// Breadth-first search from a vertex.
    fn bfs(&self, source: u32) -> On<'_, B, BfsConfig>;
    /// Breadth-first search from many vertices at once.
    fn ms_bfs(&self, sources: impl IntoIterator<Item = u32>) -> On<'_, B, MsBfsConfig>;
}

impl<B: Backend> SearchGraph<B> for Graph<B> {
    fn bfs(&self, source: u32) -> On<'_, B, BfsConfig> {
        On::new(self, BfsConfig { source, ..BfsConfig::default() })
    }
    fn ms_bfs(&self, sources: impl IntoIterator<Item = u32>) -> On<'_, B, MsBfsConfig> {
        On::new(self, MsBfsConfig { sources: sources.into_iter().collect(), ..MsBfsConfig::default() })
    }
}
