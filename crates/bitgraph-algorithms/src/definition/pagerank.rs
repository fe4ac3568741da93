//! `PageRank` by power iteration over (plus, second).

use crate::GraphBackend;
use crate::{Dangling, PageRank, PageRankConfig};
use bitgraph_backend::ops::{apply, ewise_add, ewise_mult, mxv, reduce, reduce_rows};
use bitgraph_backend::{Accum, Arranged, Mxv, NoAccum};
use bitgraph_semiring::{Absolute, Minus, Plus, PlusSecond, Scale, Times};
use bitgraph_sparse::{Descriptor, Stored, Vector};

/// `r' = (1 - d) p + d (A' (r / outdegree) + dangling mass p)`, Jacobi, until the L1 change is below the tolerance.
/// O(n + nnz) an iteration.
///
/// # Errors
/// [`Error::Parameter`](bitgraph_backend::Error::Parameter), [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the
/// backend's.
pub fn pagerank<B: GraphBackend + Mxv<PlusSecond<T>>, T: Stored>(
    graph: &Arranged<B>,
    config: &PageRankConfig,
) -> Result<PageRank<T>, B::Error> {
    let (backend, n) = (graph.backend(), graph.nodes());
    config.validate(n)?;
    if n == 0 {
        return Ok(PageRank { scores: Vec::new(), iterations: 0, residual: 0.0, converged: true });
    }
    let plain = Descriptor::DEFAULT;
    let incoming = backend.matrix_pattern(graph.transpose()?);
    let mut degrees = backend.vector(Vector::filled(n, 0u64))?;
    reduce_rows(backend, &mut degrees, None, Accum(Plus), Plus, &backend.matrix_pattern(graph.matrix()), plain)?;
    let degrees = backend.vector_to_host(&degrees)?.to_vec_or(0);
    let inverse = degrees.iter().map(|&d| T::from_f64(if d > 0 { config.damping / d as f64 } else { 0.0 })).collect();
    let inverse = backend.vector(Vector::from_vec(inverse))?;
    let dangling = degrees.iter().map(|&d| if d == 0 { T::ONE } else { T::ZERO }).collect();
    let dangling = backend.vector(Vector::from_vec(dangling))?;
    let teleport = config.teleport(n).unwrap_or_else(|| vec![1.0 / n as f64; n]);
    let teleport = backend.vector(Vector::from_vec(teleport.into_iter().map(T::from_f64).collect()))?;
    let mut scores = teleport.clone();
    let (mut iterations, mut residual, mut converged) = (0, f64::INFINITY, false);
    while iterations < config.max_iterations && !converged {
        config.control.check()?;
        let mut spread = backend.vector(Vector::filled(n, T::ZERO))?;
        ewise_mult(backend, &mut spread, None, NoAccum, Times, &scores, &inverse, plain)?;
        let mut mass = 1.0 - config.damping;
        if config.dangling == Dangling::Spread {
            let mut lost = backend.vector(Vector::filled(n, T::ZERO))?;
            ewise_mult(backend, &mut lost, None, NoAccum, Times, &scores, &dangling, plain)?;
            mass += config.damping * backend.read(&reduce(backend, Plus, &lost)?)?.to_f64();
        }
        let mut next = backend.vector(Vector::filled(n, T::ZERO))?;
        apply(backend, &mut next, None, NoAccum, Scale(T::from_f64(mass)), &teleport, plain)?;
        mxv(backend, &mut next, None, Accum(Plus), PlusSecond::<T>::new(), &incoming, &spread, plain)?;
        let mut change = backend.vector(Vector::filled(n, T::ZERO))?;
        ewise_add(backend, &mut change, None, NoAccum, Minus, &next, &scores, plain)?;
        let mut magnitude = backend.vector(Vector::filled(n, T::ZERO))?;
        apply(backend, &mut magnitude, None, NoAccum, Absolute, &change, plain)?;
        residual = backend.read(&reduce(backend, Plus, &magnitude)?)?.to_f64();
        scores = next;
        iterations += 1;
        converged = residual < config.tolerance;
        config.control.report(iterations.into(), Some(config.max_iterations.into()));
    }
    Ok(PageRank { scores: backend.vector_to_host(&scores)?.to_vec_or(T::ZERO), iterations, residual, converged })
}
