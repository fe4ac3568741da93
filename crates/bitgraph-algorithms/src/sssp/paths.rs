//! The tree of shortest paths, from the distances.

use crate::PathBackend;
use crate::UNREACHED;
use bitgraph_backend::ops::{apply, ewise_add, ewise_mult, mxm, mxv, select};
use bitgraph_backend::{Arranged, Matrix, Vector};
use bitgraph_semiring::{First, Identity, MinFirst, MinPlus, MinSecond, NotEqual, ValueBelow, ValueNonZero};
use bitgraph_sparse::Stored;

/// The vertex of smallest input number before each on a shortest path. Along arcs that add nothing a parent must be found earlier, so that
/// the parents form a tree.
pub(super) fn parents<B: PathBackend<T>, T: Stored>(
    graph: &Arranged<B>,
    incoming: &Matrix<B>,
    d: &Vector<B, T>,
    source: u32,
) -> Result<Vec<u32>, B::Error> {
    let (backend, on_diagonal, arcs) = (graph.backend(), Matrix::diagonal(d)?, incoming.pattern());
    // At (v, u) for an arc from u to v: what the distance of v is, what it is by this arc, and the distance of u.
    let own = mxm(MinFirst::<T>::new(), &on_diagonal, &arcs).eval()?;
    let by_arc = mxm(MinPlus::<T>::new(), incoming, &on_diagonal).eval()?;
    let before = mxm(MinSecond::<T>::new(), &arcs, &on_diagonal).eval()?;
    let differs = |a: &Matrix<B>| ewise_mult(NotEqual, a.typed::<T>(), own.typed::<T>());
    let tight = select(ValueBelow(T::ONE), differs(&by_arc).eval()?.typed::<T>()).eval()?.pattern();
    let nearer = select(ValueNonZero, differs(&before).mask(&tight).eval()?.typed::<T>()).eval()?.pattern();
    let numbers = match graph.permutation() {
        Some(p) => Vector::from_vec(backend, p.old_of_new().to_vec())?,
        None => Vector::iota(backend, graph.nodes())?,
    };
    let mut parents = apply(Identity, &numbers).mask(&Vector::from_indices(backend, graph.nodes(), &[source], true)?).eval()?;
    mxv(MinSecond, &nearer, &numbers).unless(&parents).into(&mut parents)?;
    // From the source too, of which there may be nothing nearer than what it reaches.
    loop {
        let found = mxv(MinSecond, &tight, &apply(Identity, &numbers).mask(&parents).eval()?).unless(&parents).eval()?;
        if found.is_empty()? {
            break;
        }
        ewise_add(First, &parents, &found).into(&mut parents)?;
    }
    let planned = |u: u32| graph.permutation().map_or(u, |p| if u == UNREACHED { u } else { p.new_of_old()[u as usize] });
    Ok(parents.to_host()?.to_vec_or(UNREACHED).into_iter().map(planned).collect())
}
