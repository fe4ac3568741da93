//! Connected components by FastSV (Zhang, Azad, Hu: FastSV, SIAM PP 2020), over (min, second).

use crate::GraphBackend;
use crate::{Cc, CcConfig};
use bitgraph_backend::ops::{assign, ewise_add, ewise_mult, extract, mxv, reduce};
use bitgraph_backend::{Accum, Arranged, NoAccum};
use bitgraph_semiring::{Lor, Min, MinSecond, NotEqual};
use bitgraph_sparse::{Descriptor, Vector};

/// `f` holds a parent per vertex, `gp` the grandparents. Each round takes the smallest grandparent among the neighbours,
/// hooks the parents onto it, hooks the vertices themselves, shortens the paths, and stops when no grandparent changes.
/// Directed graphs are seen in both directions. O(log n) rounds as a rule, O(n + nnz) each.
///
/// # Errors
/// [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the backend's.
pub fn cc<B: GraphBackend>(graph: &Arranged<B>, config: &CcConfig) -> Result<Cc, B::Error> {
    let (backend, n) = (graph.backend(), graph.nodes());
    let out = backend.matrix_pattern(graph.matrix());
    let incoming = if graph.is_symmetric() { None } else { Some(backend.matrix_pattern(graph.transpose()?)) };
    let plain = Descriptor::DEFAULT;
    let mut f = backend.vector(Vector::from_vec((0..n as u32).collect::<Vec<_>>()))?;
    let mut gp = f.clone();
    for round in 1u64.. {
        config.control.check()?;
        // The smallest grandparent in the closed neighbourhood.
        let mut smallest = gp.clone();
        mxv(backend, &mut smallest, None, Accum(Min), MinSecond::<u32>::new(), &out, &gp, plain)?;
        if let Some(t) = &incoming {
            mxv(backend, &mut smallest, None, Accum(Min), MinSecond::<u32>::new(), t, &gp, plain)?;
        }
        let parents = backend.vector_to_host(&f)?.to_vec_or(0);
        assign(backend, &mut f, None, Accum(Min), &smallest, &parents, plain)?;
        let before = f.clone();
        ewise_add(backend, &mut f, None, NoAccum, Min, &before, &smallest, plain)?;
        let before = f.clone();
        ewise_add(backend, &mut f, None, NoAccum, Min, &before, &gp, plain)?;
        let parents = backend.vector_to_host(&f)?.to_vec_or(0);
        let mut next = backend.vector(Vector::filled(n, 0u32))?;
        extract(backend, &mut next, None, NoAccum, &f, &parents, plain)?;
        let mut changed = backend.vector(Vector::filled(n, 0u32))?;
        ewise_mult(backend, &mut changed, None, NoAccum, NotEqual, &gp, &next, plain)?;
        gp = next;
        config.control.report(round, None);
        if backend.read(&reduce(backend, Lor, &changed)?)? == 0 {
            break;
        }
    }
    Ok(Cc::from_labels(backend.vector_to_host(&f)?.to_vec_or(0)))
}
