//! Triangle counting as a masked product (Azad, Buluc, Gilbert 2015; Bit-GraphBLAS section V): the sum of `L L'` within `L`.

use crate::{GraphBackend, Tc, TcConfig};
use bitgraph_backend::Arranged;
use bitgraph_backend::ops::{mxm_reduce, select};
use bitgraph_semiring::{PlusPair, Tril};

/// `L` is the part of the matrix below the diagonal, so loops fall away and every triangle counts once.
///
/// # Errors
/// [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the backend's.
pub fn tc<B: GraphBackend>(graph: &Arranged<B>, config: &TcConfig) -> Result<Tc, B::Error> {
    config.control.check()?;
    let lower = select(Tril { diagonal: -1 }, graph.matrix().pattern().typed::<u64>()).eval()?;
    let triangles = mxm_reduce(PlusPair::<u64>::new(), &lower, &lower).transpose_b().mask(&lower).eval()?;
    Ok(Tc { triangles: triangles.read()? })
}
