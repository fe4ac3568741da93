//! Shortest paths by Bellman-Ford iteration over (min, plus).

use crate::GraphBackend;
use bitgraph_backend::ops::{ewise_mult, mxv, reduce};
use bitgraph_backend::{Accum, Error, Graph, Mxv, NoAccum, Sssp, SsspConfig, UNREACHED};
use bitgraph_semiring::{Lor, Min, MinPlus, NotEqual};
use bitgraph_sparse::{Csr, Descriptor, Stored, Values, Vector};

/// `d' = min(d, A' (min, plus) d)` until nothing changes. O(n + nnz) an iteration, at most as many as a shortest path has
/// arcs. A target does not shorten it. Weights of another type than `T` are converted first, in O(nnz).
///
/// # Errors
/// [`Error::VertexOutOfRange`], [`Error::Overflow`], [`Error::Cancelled`], or the backend's.
pub fn sssp<B: GraphBackend + Mxv<MinPlus<T>>, T: Stored>(graph: &Graph<B>, config: &SsspConfig) -> Result<Sssp<T>, B::Error> {
    let (backend, n) = (graph.backend(), graph.nodes());
    if config.source as usize >= n {
        return Err(Error::VertexOutOfRange { vertex: config.source.into(), nodes: n as u64 }.into());
    }
    let (csr, values) = backend.matrix_to_host(graph.transpose()?)?;
    let values = values.map(|v| v.cast::<T>());
    let converted;
    let incoming = match backend.matrix_dtype(graph.transpose()?) {
        Some(found) if found != T::DTYPE => {
            converted = backend.matrix(&csr, values.as_ref(), backend.matrix_format(graph.transpose()?))?;
            &converted
        }
        _ => graph.transpose()?,
    };
    let mut distances = Vector::filled(n, T::greatest());
    distances.insert(config.source as usize, T::ZERO);
    let mut d = backend.vector(distances)?;
    for round in 1u64.. {
        config.control.check()?;
        let mut next = d.clone();
        mxv(backend, &mut next, None, Accum(Min), MinPlus::<T>::new(), incoming, &d, Descriptor::DEFAULT)?;
        let mut changed = backend.vector(Vector::filled(n, T::ZERO))?;
        ewise_mult(backend, &mut changed, None, NoAccum, NotEqual, &d, &next, Descriptor::DEFAULT)?;
        d = next;
        config.control.report(round, None);
        if !backend.read(&reduce(backend, Lor, &changed)?)?.is_non_zero() {
            break;
        }
    }
    let distances = backend.vector_to_host(&d)?.to_vec_or(T::greatest());
    if !T::DTYPE.is_float() {
        check_overflow(&csr, &distances)?;
    }
    let parents = config.parents.then(|| parents(graph, &csr, values.as_ref(), &distances, config.source));
    let reached = distances.iter().filter(|&&x| x != T::greatest()).count() as u64;
    Ok(Sssp { source: config.source, distances, parents, reached })
}

/// An unreached vertex next to a reached one means that a sum saturated, or a weight that the type of distances does not hold.
fn check_overflow<T: Stored>(csr: &Csr, distances: &[T]) -> Result<(), Error> {
    let reached = |&u: &u32| distances[u as usize] != T::greatest();
    let saturated = (0..csr.nrows()).any(|v| distances[v] == T::greatest() && csr.row(v).iter().any(reached));
    if saturated { Err(Error::Overflow { what: "a distance", dtype: T::DTYPE }) } else { Ok(()) }
}

/// The vertex of smallest input number before each on a shortest path. Along arcs of weight 0 a parent must be found earlier, so that
/// the parents form a tree.
fn parents<B: GraphBackend, T: Stored>(graph: &Graph<B>, csr: &Csr, values: Option<&Values>, distances: &[T], source: u32) -> Vec<u32> {
    let n = csr.nrows();
    let number = |u: u32| graph.permutation().map_or(u, |p| p.old_of_new()[u as usize]);
    let typed = values.and_then(|v| v.as_slice::<T>());
    let weight = |k: usize| typed.map_or(T::ONE, |w| w[k]);
    let mut parent = vec![UNREACHED; n];
    parent[source as usize] = source;
    let smallest = |v: usize, fits: &dyn Fn(usize) -> bool| {
        let before = csr.row_range(v).map(|k| (k, csr.indices()[k] as usize));
        let tight = before.filter(|&(k, u)| fits(u) && weight(k).plus_saturating(distances[u]) == distances[v]);
        tight.map(|(_, u)| u as u32).min_by_key(|&u| number(u))
    };
    for v in (0..n).filter(|&v| distances[v] != T::greatest() && v != source as usize) {
        parent[v] = smallest(v, &|u| distances[u] < distances[v]).unwrap_or(UNREACHED);
    }
    // What is left hangs on vertices of the same distance through arcs of weight 0: grow the tree from what has parents.
    loop {
        let found: Vec<(usize, u32)> = (0..n)
            .filter(|&v| parent[v] == UNREACHED && distances[v] != T::greatest())
            .filter_map(|v| smallest(v, &|u| parent[u] != UNREACHED).map(|u| (v, u)))
            .collect();
        if found.is_empty() {
            return parent;
        }
        for (v, u) in found {
            parent[v] = u;
        }
    }
}
