//! The algorithms as users call them: translate vertices, ask for the fused form, fall back on the definition.

use crate::definition;
use bitgraph_backend::{
    Bfs, BfsConfig, BfsOutput, Cc, CcConfig, Error, Fused, Graph, MatrixOps, MsBfs, MsBfsConfig, Mxm, Mxv, PageRank, PageRankConfig, Sssp,
    SsspConfig, Tc, TcConfig, UNREACHED, Vector, VectorOps, ops::mxv,
};
use bitgraph_semiring::{Float, LorLand, MinFirst, MinPlus, MinSecond, PlusPair, PlusSecond};
use bitgraph_sparse::Stored;

/// A backend with everything that the algorithms use.
pub trait GraphBackend:
    Fused + VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxv<MinSecond<u32>> + Mxv<MinSecond<u64>> + Mxm<PlusPair<u64>>
{
}
impl<B: Fused + VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxv<MinSecond<u32>> + Mxv<MinSecond<u64>> + Mxm<PlusPair<u64>>> GraphBackend
    for B
{
}

/// A backend with what shortest paths with distances of type `T` use beyond.
pub trait PathBackend<T: Stored>: GraphBackend + Mxv<MinPlus<T>> + Mxm<MinPlus<T>> + Mxm<MinFirst<T>> + Mxm<MinSecond<T>> {}
impl<B: GraphBackend + Mxv<MinPlus<T>> + Mxm<MinPlus<T>> + Mxm<MinFirst<T>> + Mxm<MinSecond<T>>, T: Stored> PathBackend<T> for B {}

/// Breadth-first search. O(n + nnz) in the fused form.
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn bfs<B: GraphBackend>(graph: &Graph<B>, config: &BfsConfig) -> Result<Bfs, B::Error> {
    // The smallest parent is one of the input's numbers, so that a renumbered graph has to be asked for the levels.
    let renumbered = config.deterministic && config.output.parents() && graph.permutation().is_some();
    let output = if renumbered { BfsOutput::Levels } else { config.output };
    let inner = BfsConfig { source: graph.to_planned(config.source)?, output, ..config.clone() };
    let mut result = match graph.backend().bfs(graph, &inner) {
        Some(result) => result?,
        None => definition::bfs(graph, &inner)?,
    };
    result.source = config.source;
    if renumbered {
        result.parents = Some(smallest_parents(graph, result.levels.as_deref().unwrap_or(&[]))?);
        if !config.output.levels() {
            result.levels = None;
        }
    }
    result.levels = result.levels.map(|l| graph.restore(l));
    result.parents = result.parents.map(|p| graph.restore_vertices(p));
    Ok(result)
}

/// For every vertex, in the planned numbering, the parent of the smallest input number: the least (level, number) before it, since nothing
/// before a vertex is more than a level above. O(n + nnz).
fn smallest_parents<B: GraphBackend>(graph: &Graph<B>, levels: &[i32]) -> Result<Vec<u32>, B::Error> {
    let number = |v: usize| graph.permutation().map_or(v as u32, |p| p.old_of_new()[v]);
    let keys = levels.iter().enumerate().map(|(v, &level)| (level as u64) << 32 | u64::from(number(v)));
    let keys = Vector::from_vec(graph.backend(), keys.collect())?;
    let found = mxv(MinSecond, &graph.transpose()?.pattern(), &keys).eval()?.to_host()?;
    let planned = |key: u64| graph.permutation().map_or(key as u32, |p| p.new_of_old()[key as u32 as usize]);
    let parent = |(v, &level): (usize, &i32)| match level {
        -1 => UNREACHED,
        0 => v as u32,
        _ => found.get(v).map_or(UNREACHED, planned),
    };
    Ok(levels.iter().enumerate().map(parent).collect())
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
pub fn sssp<B: PathBackend<T>, T: Stored>(graph: &Graph<B>, config: &SsspConfig) -> Result<Sssp<T>, B::Error> {
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

/// `PageRank`, over any float. O(nnz) an iteration.
///
/// ```compile_fail
/// // Whole numbers cannot hold shares of 1.
/// fn ranks<B: bitgraph_algorithms::GraphBackend + bitgraph_backend::Mxv<bitgraph_semiring::PlusSecond<u32>>>(
///     graph: &bitgraph_backend::Graph<B>,
/// ) -> Result<bitgraph_backend::PageRank<u32>, B::Error> {
///     bitgraph_algorithms::pagerank::<B, u32>(graph, &Default::default())
/// }
/// ```
///
/// # Errors
/// [`Error::Parameter`], [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn pagerank<B: GraphBackend + Mxv<PlusSecond<T>>, T: Stored + Float>(
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
