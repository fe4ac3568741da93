//! Connected components by FastSV (Zhang, Azad, Hu: FastSV, SIAM PP 2020), over (min, second).

use crate::{Cc, CcConfig, GraphBackend};
use bitgraph_backend::ops::{assign_at, ewise_add, ewise_mult, extract, mxv, reduce};
use bitgraph_backend::{Arranged, Vector};
use bitgraph_semiring::{Lor, Min, MinSecond, NotEqual};

/// `f` holds a parent per vertex, `gp` the grandparents. Each round takes the smallest grandparent among the neighbours, hooks the parents
/// onto it, hooks the vertices themselves, shortens the paths, and stops when no grandparent changes. Directed graphs are seen in both
/// directions. O(log n) rounds as a rule, O(n + nnz) each.
///
/// # Errors
/// [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the backend's.
pub fn cc<B: GraphBackend>(graph: &Arranged<B>, config: &CcConfig) -> Result<Cc, B::Error> {
    let (out, incoming) = (graph.matrix().pattern(), graph.transpose()?.pattern());
    let mut f = Vector::iota(graph.backend(), graph.nodes())?;
    let mut gp = f.clone();
    for round in 1.. {
        config.control.check()?;
        let mut smallest = gp.clone();
        mxv(MinSecond, &out, &gp).accum(Min).into(&mut smallest)?;
        if !graph.is_symmetric() {
            mxv(MinSecond, &incoming, &gp).accum(Min).into(&mut smallest)?;
        }
        assign_at(&smallest, &f.clone()).accum(Min).into(&mut f)?;
        ewise_add(Min, &smallest, &gp).accum(Min).into(&mut f)?;
        let next = extract(&f, &f).eval()?;
        let changed = ewise_mult(NotEqual, &gp, &next).eval()?;
        gp = next;
        config.control.report(round, None);
        if reduce(Lor, &changed).eval()?.read()? == 0 {
            break;
        }
    }
    Ok(Cc::from_labels(f.to_host()?.to_vec_or(0)))
}
