//! The hook for fused forms: whole algorithms that a backend runs in one piece.
//!
//! Invariant: a fused form gives what the definition gives (floats within rounding). Vertices are in the graph's own
//! numbering, the planned one; the algorithms crate translates.

use crate::{Backend, Bfs, BfsConfig, Cc, CcConfig, Graph, MsBfs, MsBfsConfig, PageRank, PageRankConfig, Sssp, SsspConfig, Tc, TcConfig};
use bitgraph_sparse::Stored;

/// Fused forms; each returns `None` where the backend has none for this graph's layout, and the definition runs.
pub trait Fused: Backend {
    /// Breadth-first search from one source.
    fn bfs(&self, graph: &Graph<Self>, config: &BfsConfig) -> Option<Result<Bfs, Self::Error>> {
        let _ = (graph, config);
        None
    }
    /// Breadth-first search from many sources at once.
    fn ms_bfs(&self, graph: &Graph<Self>, config: &MsBfsConfig) -> Option<Result<MsBfs, Self::Error>> {
        let _ = (graph, config);
        None
    }
    /// Shortest paths from one source, with distances of type `T`.
    fn sssp<T: Stored>(&self, graph: &Graph<Self>, config: &SsspConfig) -> Option<Result<Sssp<T>, Self::Error>> {
        let _ = (graph, config);
        None
    }
    /// `PageRank` with scores of type `T`.
    fn pagerank<T: Stored>(&self, graph: &Graph<Self>, config: &PageRankConfig) -> Option<Result<PageRank<T>, Self::Error>> {
        let _ = (graph, config);
        None
    }
    /// Connected components; labels are the smallest vertex of each, in the planned numbering.
    fn cc(&self, graph: &Graph<Self>, config: &CcConfig) -> Option<Result<Cc, Self::Error>> {
        let _ = (graph, config);
        None
    }
    /// Triangles of an undirected graph.
    fn tc(&self, graph: &Graph<Self>, config: &TcConfig) -> Option<Result<Tc, Self::Error>> {
        let _ = (graph, config);
        None
    }
}
