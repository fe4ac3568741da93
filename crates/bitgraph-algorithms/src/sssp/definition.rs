//! Shortest paths by Bellman-Ford iteration over (min, plus), or any semiring.

use super::paths::parents;
use crate::{PathBackend, Sssp, SsspConfig};
use bitgraph_backend::ops::{assign, ewise_mult, mxv, reduce, select};
use bitgraph_backend::{Arranged, Control, Error, Matrix, Mxv, StorableSemiring, Vector, VectorOps};
use bitgraph_semiring::{BinaryOp, Lor, MinPlus, NotEqual, Scalar, Semiring, ValueBelow};
use bitgraph_sparse::Stored;

/// `d' = d add (A' d)` until nothing changes. O(n + nnz) a round, of which there are at most as many as vertices.
///
/// # Errors
/// [`Error::Cancelled`], or the backend's.
pub fn sssp_with<B: VectorOps + Mxv<S>, S: StorableSemiring<Out = <S as Semiring>::X, Add: BinaryOp<<S as Semiring>::X>>>(
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
pub fn sssp<B: PathBackend<T>, T: Stored>(graph: &Arranged<B>, config: &SsspConfig) -> Result<Sssp<T>, B::Error> {
    let (backend, n, source) = (graph.backend(), graph.nodes(), config.source);
    graph.check_vertex(source)?;
    let incoming = graph.transpose()?.cast::<T>()?;
    let mut start = Vector::filled(backend, n, T::largest())?;
    assign(T::ZERO).mask(&Vector::from_indices(backend, n, &[source], true)?).into(&mut start)?;
    let d = sssp_with(MinPlus::<T>::new(), &incoming, start, &config.control)?;
    let d = select(ValueBelow(T::largest()), &d).eval()?;
    // A path that leads to where there is no distance has one that saturated, or a weight that did.
    if !T::DTYPE.is_float() && !mxv(MinPlus, &incoming, &d).unless(&d).eval()?.is_empty()? {
        return Err(Error::Overflow { what: "a distance", dtype: T::DTYPE }.into());
    }
    let parents = if config.parents { Some(parents(graph, &incoming, &d, source)?) } else { None };
    Ok(Sssp { source, reached: d.nvals()? as u64, distances: d.to_host()?.to_vec_or(T::largest()), parents })
}
