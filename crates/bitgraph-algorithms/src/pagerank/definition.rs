//! `PageRank` by power iteration over (plus, second).

use crate::{Dangling, GraphBackend, PageRank, PageRankConfig};
use bitgraph_backend::ops::{apply, assign, ewise_add, ewise_mult, mxv, reduce, reduce_rows};
use bitgraph_backend::{Arranged, Mxv, Vector};
use bitgraph_semiring::{Absolute, Float, Identity, Minus, Plus, PlusSecond, Quotient, Scale, Times};
use bitgraph_sparse::Stored;

/// `r' = (1 - d) p + d (A' (r / outdegree) + dangling mass p)`, Jacobi, until the L1 change is below the tolerance. O(n + nnz) an iteration.
///
/// # Errors
/// [`Error::Parameter`](bitgraph_backend::Error::Parameter), [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the backend's.
pub fn pagerank<B: GraphBackend + Mxv<PlusSecond<T>>, T: Stored + Float>(
    graph: &Arranged<B>,
    config: &PageRankConfig,
) -> Result<PageRank<T>, B::Error> {
    let (backend, n, d) = (graph.backend(), graph.nodes(), config.damping);
    config.validate(n)?;
    let incoming = graph.transpose()?.pattern();
    let degrees = reduce_rows(Plus, graph.matrix().pattern().typed::<u64>()).eval()?;
    let mut inverse = Vector::filled(backend, n, T::ZERO)?;
    apply(Quotient::of(d), &degrees).mask(&degrees).into(&mut inverse)?;
    let teleport = match config.teleport(n) {
        Some(p) => Vector::from_vec(backend, p.into_iter().map(T::from_f64).collect())?,
        None => Vector::filled(backend, n, T::from_f64(1.0 / n as f64))?,
    };
    let base = apply(Scale(T::from_f64(1.0 - d)), &teleport).eval()?;
    let damped = apply(Scale(T::from_f64(d)), &teleport).eval()?;
    let mut result = PageRank { scores: Vec::new(), iterations: 0, residual: f64::INFINITY, converged: n == 0 };
    let mut scores = teleport;
    while result.iterations < config.max_iterations && !result.converged {
        config.control.check()?;
        let mut next = base.clone();
        if config.dangling == Dangling::Spread {
            let lost = reduce(Plus, &apply(Identity, &scores).unless(&degrees).eval()?).eval()?;
            let mut share = scores.clone();
            assign(&lost).into(&mut share)?;
            ewise_mult(Times, &share, &damped).accum(Plus).into(&mut next)?;
        }
        let spread = ewise_mult(Times, &scores, &inverse).eval()?;
        mxv(PlusSecond, &incoming, &spread).accum(Plus).into(&mut next)?;
        let change = apply(Absolute, &ewise_add(Minus, &next, &scores).eval()?).eval()?;
        result.residual = reduce(Plus, &change).eval()?.read()?.to_f64();
        (scores, result.iterations) = (next, result.iterations + 1);
        result.converged = result.residual < config.tolerance;
        config.control.report(result.iterations.into(), Some(config.max_iterations.into()));
    }
    Ok(PageRank { scores: scores.to_host()?.to_vec_or(T::ZERO), ..result })
}
