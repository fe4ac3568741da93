//! Breadth-first search over any semiring: (or, and) for levels, (min, second) for parents.

use crate::{Bfs, BfsConfig, GraphBackend, UNREACHED};
use bitgraph_backend::ops::{apply, assign, ewise_add, mxv, reduce, reduce_rows};
use bitgraph_backend::{Arranged, Control, Error, Mxv, StorableSemiring, Vector, VectorOps};
use bitgraph_semiring::{DType, First, Identity, LorLand, MinSecond, Plus};

/// Levels, what a semiring found, and the depth.
type Searched<B, T> = (Vector<B, i32>, Vector<B, T>, u32);

/// The level of every vertex reached, what the semiring made of the `names` of the vertices before it, and the depth. An entry of the
/// frontier holds its vertex's name. O(depth (n + nnz)) at worst.
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Cancelled`], or the backend's.
pub fn bfs_with<B: VectorOps + Mxv<S>, S: StorableSemiring<Out = <S as bitgraph_semiring::Semiring>::X>>(
    semiring: S,
    graph: &Arranged<B>,
    source: u32,
    names: &Vector<B, S::X>,
    control: &Control,
) -> Result<Searched<B, S::Out>, B::Error> {
    let (backend, n, incoming) = (graph.backend(), graph.nodes(), graph.transpose()?.pattern());
    graph.check_vertex(source)?;
    let (mut levels, mut found) = (Vector::empty(backend, n)?, Vector::empty(backend, n)?);
    let mut next = apply(Identity, names).mask(&Vector::from_indices(backend, n, &[source], true)?).eval()?;
    for level in 0..i32::MAX {
        control.check()?;
        assign(level).mask(&next).into(&mut levels)?;
        ewise_add(First, &found, &next).into(&mut found)?;
        let frontier = apply(Identity, names).mask(&next).eval()?;
        next = mxv(semiring, &incoming, &frontier).unless(&levels).eval()?;
        if next.is_empty()? {
            return Ok((levels, found, level as u32));
        }
        control.report(level as u64 + 1, None);
    }
    Err(Error::Overflow { what: "the level", dtype: DType::I32 }.into())
}

/// Levels and, if asked for, the smallest parents.
///
/// # Errors
/// As [`bfs_with`].
pub fn bfs<B: GraphBackend>(graph: &Arranged<B>, config: &BfsConfig) -> Result<Bfs, B::Error> {
    let (backend, n, BfsConfig { source, output, control, .. }) = (graph.backend(), graph.nodes(), config);
    let (levels, parents, depth) = if output.parents() {
        let (levels, parents, depth) = bfs_with(MinSecond::new(), graph, *source, &Vector::iota(backend, n)?, control)?;
        (levels, Some(parents.to_host()?.to_vec_or(UNREACHED)), depth)
    } else {
        let (levels, _, depth) = bfs_with(LorLand::new(), graph, *source, &Vector::filled(backend, n, true)?, control)?;
        (levels, None, depth)
    };
    let degrees = reduce_rows(Plus, graph.matrix().pattern().typed::<u64>()).mask(&levels).eval()?;
    let (reached, edges_traversed) = (levels.nvals()? as u64, reduce(Plus, &degrees).eval()?.read()?);
    let levels = if output.levels() { Some(levels.to_host()?.to_vec_or(-1)) } else { None };
    Ok(Bfs { source: *source, levels, parents, reached, depth, edges_traversed })
}
