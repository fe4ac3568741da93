//! What the CPU knows about its own speed: the cost model behind `--format auto`.

use crate::Cpu;
use bitgraph_backend::{Candidate, CostModel, Workload};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind};

/// What is measured of a graph before anything is predicted.
#[derive(Clone, Debug)]
pub struct GraphProfile {
    nodes: f64,
    entries: f64,
}

impl CostModel for Cpu {
    type Profile = GraphProfile;

    fn profile(&self, csr: &Csr, _symmetric: bool, _weighted: bool, _workload: &Workload) -> GraphProfile {
        GraphProfile { nodes: csr.nrows() as f64, entries: csr.nnz() as f64 }
    }

    fn predict(
        &self,
        profile: &GraphProfile,
        _workload: &Workload,
        ordering: Ordering,
        format: FormatKind,
        prepared: bool,
    ) -> Option<Candidate> {
        (format == FormatKind::Csr && ordering == Ordering::None && !prepared).then(|| Candidate {
            ordering,
            format,
            prepared,
            build_seconds: 0.0,
            run_seconds: 1e-9 * (profile.entries + profile.nodes),
            why: "lists".to_string(),
        })
    }
}
