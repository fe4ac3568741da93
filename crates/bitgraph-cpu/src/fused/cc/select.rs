//! Which variant of connected components runs: the one place that chooses.

use super::{CcLayout, CcVariant};
use crate::Cpu;
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, gather, in_orders, mesh_like};
use bitgraph_algorithms::{Cc, CcConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats};
use bitgraph_sparse::ordering::Ordering;

/// Entries per vertex from which a search for the giant component looks at few of them.
const DENSE: f64 = 8.0;

impl CcVariant {
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Hook => "hook",
        }
    }
    /// The variant that is expected to be faster.
    #[must_use]
    pub fn choose(entries: usize, nodes: usize) -> Self {
        if entries as f64 >= DENSE * nodes as f64 { Self::Search } else { Self::Hook }
    }
}

fn nanoseconds(s: &Stats, ordering: Ordering, far: bool) -> f64 {
    let entries = s.entries as f64;
    // Hooking to the first neighbour wants rows before columns, which Cuthill-McKee does not keep.
    if ordering == Ordering::Rcm && mesh_like(s) {
        return 2.5 * entries;
    }
    0.2 * entries * if mesh_like(s) { gather(far) * 7.0 } else { 1.0 } + 0.5 * s.nodes as f64
}

impl Fused<CcConfig> for Cpu {
    type Layout = (CcLayout, CcVariant);

    fn variants(&self, graph: &GraphData, _: &CcConfig, _: u32) -> Vec<Candidate> {
        if self.is_reference() {
            return vec![Candidate::definition(graph)];
        }
        let s = graph.stats();
        let best = CcVariant::choose(s.entries, s.nodes);
        let cost = |variant| {
            move |ordering, far| {
                let slower = if variant == best { 1.0 } else { 2.0 };
                Some(Cost { build: 0.0, run: slower * nanoseconds(s, ordering, far), why: "CSR" })
            }
        };
        let mut all = in_orders(graph, CcVariant::Search.name(), cost(CcVariant::Search));
        all.extend(in_orders(graph, CcVariant::Hook.name(), cost(CcVariant::Hook)));
        all
    }
    fn layout(&self, graph: &Arranged<Self>, _: &CcConfig, plan: &Plan) -> Result<Option<(CcLayout, CcVariant)>, Error> {
        let variant = if plan.variant() == CcVariant::Hook.name() { CcVariant::Hook } else { CcVariant::Search };
        Ok(lists(graph)?.map(|_| (CcLayout::default(), variant)))
    }
    fn run(&self, graph: &Arranged<Self>, (layout, variant): &(CcLayout, CcVariant), algorithm: &CcConfig) -> Result<Cc, Error> {
        let (out, incoming) = built_lists(graph, "cc")?;
        layout.run_as(out, incoming, algorithm, *variant)
    }
}
