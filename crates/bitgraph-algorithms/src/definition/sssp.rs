//! Shortest paths by Bellman-Ford iteration over (min, plus), or any semiring.

use crate::PathBackend;
use bitgraph_backend::ops::{apply, assign, ewise_add, ewise_mult, mxm, mxv, reduce, select};
use bitgraph_backend::{Control, Error, Graph, Matrix, Mxv, Ring, Sssp, SsspConfig, UNREACHED, Vector, VectorOps};
use bitgraph_semiring::{BinaryOp, First, Identity, Lor, MinFirst, MinPlus, MinSecond, NotEqual, Scalar, Semiring, ValueBelow, ValueNonZero};
use bitgraph_sparse::Stored;

/// `d' = d add (A' d)` until nothing changes. O(n + nnz) a round, of which there are at most as many as vertices.
///
/// # Errors
/// [`Error::Cancelled`], or the backend's.
pub fn sssp_with<B: VectorOps + Mxv<S>, S: Ring<Out = <S as Semiring>::X, Add: BinaryOp<<S as Semiring>::X>>>(
    semiring: S,
    incoming: &Matrix<B>,
    mut d: Vector<B, S::X>,
    control: &Control,
) -> Result<Vector<B, S::X>, B::Error> {
    for round in 1..=d.len() as u64 {
        control.check()?;
        let before = d.clone();
        mxv(semiring, incoming, &before).accum(S::Add::default()).into(&mut d)?;
        control.report(round, None);
        let changed = ewise_mult(NotEqual, &before, &d).eval()?;
        if !reduce(Lor, &changed).eval()?.read()?.is_non_zero() {
            break;
        }
    }
    Ok(d)
}

/// Distances and, if asked for, parents. A target does not shorten it. Weights of another type than `T` are converted first, in O(nnz).
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Overflow`], [`Error::Cancelled`], or the backend's.
pub fn sssp<B: PathBackend<T>, T: Stored>(graph: &Graph<B>, config: &SsspConfig) -> Result<Sssp<T>, B::Error> {
    let (backend, n, source) = (graph.backend(), graph.nodes(), config.source);
    graph.to_planned(source)?;
    let incoming = graph.transpose()?.cast::<T>()?;
    let mut start = Vector::filled(backend, n, T::GREATEST)?;
    assign(T::ZERO).mask(&Vector::from_indices(backend, n, &[source], true)?).into(&mut start)?;
    let d = sssp_with(MinPlus::<T>::new(), &incoming, start, &config.control)?;
    let d = select(ValueBelow(T::GREATEST), &d).eval()?;
    // A path that leads to where there is no distance has one that saturated, or a weight that did.
    if !T::DTYPE.is_float() && !mxv(MinPlus, &incoming, &d).unless(&d).eval()?.is_empty()? {
        return Err(Error::Overflow { what: "a distance", dtype: T::DTYPE }.into());
    }
    let parents = if config.parents { Some(parents(graph, &incoming, &d, source)?) } else { None };
    Ok(Sssp { source, reached: d.nvals()? as u64, distances: d.to_host()?.to_vec_or(T::GREATEST), parents })
}

/// The vertex of smallest input number before each on a shortest path. Along arcs that add nothing a parent must be found earlier, so that
/// the parents form a tree.
fn parents<B: PathBackend<T>, T: Stored>(graph: &Graph<B>, incoming: &Matrix<B>, d: &Vector<B, T>, source: u32) -> Result<Vec<u32>, B::Error> {
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
    let mut found = mxv(MinSecond, &nearer, &numbers).unless(&parents).eval()?;
    while !found.is_empty()? {
        ewise_add(First, &parents, &found).into(&mut parents)?;
        found = mxv(MinSecond, &tight, &apply(Identity, &numbers).mask(&parents).eval()?).unless(&parents).eval()?;
    }
    let planned = |u: u32| graph.permutation().map_or(u, |p| if u == UNREACHED { u } else { p.new_of_old()[u as usize] });
    Ok(parents.to_host()?.to_vec_or(UNREACHED).into_iter().map(planned).collect())
}
