//! What the GPU builds for an algorithm beyond the matrix, and the dispatch of its fused forms.
//!
//! Invariant: a fused form runs on lists with 32-bit offsets; on any other layout it answers `None` and the definition runs.

use crate::layout::DeviceCsr;
use crate::{Cuda, Result};
use bitgraph_backend::{Fused, Graph, Plan};

/// The layout of one algorithm's fused form; none on tile formats.
#[derive(Default)]
pub struct Prepared(Layout);

#[derive(Default)]
enum Layout {
    #[default]
    None,
}

/// The patterns of a graph laid out as lists: out-arcs, and in-arcs of a directed graph.
fn lists(graph: &Graph<Cuda>) -> Result<Option<(&DeviceCsr, Option<&DeviceCsr>)>> {
    let Some(out) = graph.matrix().as_csr().filter(|c| c.offsets.as_u32().is_some()) else { return Ok(None) };
    if graph.is_symmetric() {
        return Ok(Some((out, None)));
    }
    Ok(graph.transpose()?.as_csr().map(|t| (out, Some(t))))
}

impl Prepared {
    /// Builds what the plan's algorithm wants.
    pub(crate) fn build(graph: &Graph<Cuda>, plan: &Plan) -> Result<Self> {
        let Some((_out, _incoming)) = lists(graph)? else { return Ok(Self::default()) };
        Ok(Self(match plan.workload.algorithm {
            _ => Layout::None,
        }))
    }
    /// Bytes of the layout, the matrix it was built from not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Layout::None => 0,
        }
    }
}

impl Fused for Cuda {}
