//! Triangle counting as a masked product (Azad, Buluc, Gilbert 2015; Bit-GraphBLAS section V): the sum of `L L'` within `L`.

use crate::GraphBackend;
use crate::{Tc, TcConfig};
use bitgraph_backend::ops::{mxm_reduce, select_matrix};
use bitgraph_backend::{Arranged, MatrixMask, NoAccum};
use bitgraph_semiring::{PlusPair, Tril};
use bitgraph_sparse::Descriptor;

/// `L` is the part of the matrix below the diagonal, so loops fall away and every triangle counts once.
///
/// # Errors
/// [`Error::Cancelled`](bitgraph_backend::Error::Cancelled), or the backend's.
pub fn tc<B: GraphBackend>(graph: &Arranged<B>, config: &TcConfig) -> Result<Tc, B::Error> {
    let backend = graph.backend();
    config.control.check()?;
    let pattern = backend.matrix_pattern(graph.matrix());
    let mut lower = pattern.clone();
    select_matrix::<B, u64, _, _>(backend, &mut lower, None, NoAccum, Tril { diagonal: -1 }, &pattern, Descriptor::DEFAULT)?;
    let mask = Some(MatrixMask::structure(&lower));
    let descriptor = Descriptor { transpose_b: true, ..Descriptor::DEFAULT };
    let sum = mxm_reduce(backend, mask, PlusPair::<u64>::new(), &lower, &lower, descriptor)?;
    Ok(Tc { triangles: backend.read(&sum)? })
}
