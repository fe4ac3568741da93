//! The CSR arrays that fused forms run on.

use crate::Cpu;
use bitgraph_backend::{Arranged, Error};
use bitgraph_sparse::Csr;

/// The pattern of a graph laid out as CSR with offsets of 32 bits, and its transpose if it is directed. `None` on any other layout.
///
/// # Errors
/// A transpose that cannot be built.
pub(crate) fn lists(graph: &Arranged<Cpu>) -> Result<Option<(&Csr, Option<&Csr>)>, Error> {
    let narrow = |csr: &&Csr| csr.offsets().as_u32().is_some();
    let Some(out) = graph.matrix().as_csr().filter(narrow) else { return Ok(None) };
    if graph.is_symmetric() {
        return Ok(Some((out, None)));
    }
    Ok(graph.transpose()?.as_csr().filter(narrow).map(|t| (out, Some(t))))
}

/// As [`lists`], of a graph that a layout was built from.
///
/// # Errors
/// Another graph than that.
pub(crate) fn built_lists<'a>(graph: &'a Arranged<Cpu>, operation: &'static str) -> Result<(&'a Csr, Option<&'a Csr>), Error> {
    let what =
        || Error::Unsupported { operation, what: format!("format {}", graph.matrix().format()), available: "CSR with offsets of 32 bits" };
    lists(graph)?.ok_or_else(what)
}
