//! The algorithms as users call them: translate vertices, ask for the fused form, fall back on the definition.

use crate::definition;
use bitgraph_backend::{
    Bfs, BfsConfig, Cc, CcConfig, Error, Fused, Graph, MatrixOps, MsBfs, MsBfsConfig, Mxm, Mxv, PageRank, PageRankConfig, Sssp, SsspConfig,
    Tc, TcConfig, VectorOps,
};
use bitgraph_semiring::{LorLand, MinPlus, MinSecond, PlusPair, PlusSecond};
use bitgraph_sparse::Stored;

/// A backend with everything that the algorithms use.
pub trait GraphBackend: Fused + VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxv<MinSecond<u32>> + Mxm<PlusPair<u64>> {}
impl<B: Fused + VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxv<MinSecond<u32>> + Mxm<PlusPair<u64>>> GraphBackend for B {}

/// Breadth-first search. O(n + nnz) in the fused form.
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn bfs<B: GraphBackend>(graph: &Graph<B>, config: &BfsConfig) -> Result<Bfs, B::Error> {
    let inner = BfsConfig { source: graph.to_planned(config.source)?, ..config.clone() };
    let mut result = match graph.backend().bfs(graph, &inner) {
        Some(result) => result?,
        None => definition::bfs(graph, &inner)?,
    };
    result.source = config.source;
    result.levels = result.levels.map(|l| graph.restore(l));
    result.parents = result.parents.map(|p| graph.restore_vertices(p));
    Ok(result)
}

/// Breadth-first search from many sources at once.
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn ms_bfs<B: GraphBackend>(graph: &Graph<B>, config: &MsBfsConfig) -> Result<MsBfs, B::Error> {
    let sources = config.sources.iter().map(|&s| graph.to_planned(s)).collect::<Result<Vec<_>, Error>>()?;
    let inner = MsBfsConfig { sources, ..config.clone() };
    let mut result = match graph.backend().ms_bfs(graph, &inner) {
        Some(result) => result?,
        None => definition::ms_bfs(graph, &inner)?,
    };
    if let (Some(levels), Some(p)) = (&mut result.levels, graph.permutation()) {
        *levels = levels.chunks(graph.nodes().max(1)).flat_map(|row| p.restore(row)).collect();
    }
    Ok(result)
}

/// Shortest paths. Weights are the matrix's values converted to `T`, or 1 for a pattern.
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Overflow`], [`Error::Cancelled`], or
/// the backend's.
pub fn sssp<B: GraphBackend + Mxv<MinPlus<T>>, T: Stored>(graph: &Graph<B>, config: &SsspConfig) -> Result<Sssp<T>, B::Error> {
    let target = config.target.map(|t| graph.to_planned(t)).transpose()?;
    let inner = SsspConfig { source: graph.to_planned(config.source)?, target, ..config.clone() };
    let mut result = match graph.backend().sssp::<T>(graph, &inner) {
        Some(result) => result?,
        None => definition::sssp::<B, T>(graph, &inner)?,
    };
    result.source = config.source;
    result.distances = graph.restore(result.distances);
    result.parents = result.parents.map(|p| graph.restore_vertices(p));
    Ok(result)
}

/// `PageRank`. O(nnz) an iteration.
///
/// # Errors
/// [`Error::Parameter`], [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn pagerank<B: GraphBackend + Mxv<PlusSecond<T>>, T: Stored>(
    graph: &Graph<B>,
    config: &PageRankConfig,
) -> Result<PageRank<T>, B::Error> {
    config.validate(graph.nodes())?;
    let mut inner = config.clone();
    if let Some(p) = &mut inner.personalization {
        for (vertex, _) in p {
            *vertex = graph.to_planned(*vertex)?;
        }
    }
    let mut result = match graph.backend().pagerank::<T>(graph, &inner) {
        Some(result) => result?,
        None => definition::pagerank::<B, T>(graph, &inner)?,
    };
    result.scores = graph.restore(result.scores);
    Ok(result)
}

/// Connected components, weak on directed graphs.
///
/// # Errors
/// [`Error::Cancelled`], or the backend's.
pub fn cc<B: GraphBackend>(graph: &Graph<B>, config: &CcConfig) -> Result<Cc, B::Error> {
    let mut result = match graph.backend().cc(graph, config) {
        Some(result) => result?,
        None => definition::cc(graph, config)?,
    };
    result.labels = graph.restore_labels(result.labels);
    Ok(result)
}

/// Triangle counting on an undirected graph; loops do not count.
///
/// # Errors
/// [`Error::Directed`], [`Error::Cancelled`], or the backend's.
pub fn tc<B: GraphBackend>(graph: &Graph<B>, config: &TcConfig) -> Result<Tc, B::Error> {
    if !graph.is_symmetric() {
        return Err(Error::Directed { algorithm: "tc" }.into());
    }
    match graph.backend().tc(graph, config) {
        Some(result) => result,
        None => definition::tc(graph, config),
    }
}
