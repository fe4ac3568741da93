//! What the CPU builds for an algorithm's fused form, and the fused forms' dispatch.

use crate::Cpu;
use bitgraph_backend::{Error, Fused, Graph, Plan};

/// Layouts of fused algorithms, built as the plan says.
#[derive(Debug, Default)]
pub struct Prepared {}

impl Prepared {
    /// Builds what the plan's algorithm wants.
    pub(crate) fn build(graph: &Graph<Cpu>, plan: &Plan) -> Result<Self, Error> {
        let _ = (graph, plan);
        Ok(Self::default())
    }
    /// Bytes of all layouts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        0
    }
}

impl Fused for Cpu {}
