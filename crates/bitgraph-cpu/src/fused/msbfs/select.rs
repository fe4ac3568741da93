//! Search from many sources: there is one variant.

use super::{MsBfsLayout, supports};
use crate::Cpu;
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, in_orders};
use bitgraph_algorithms::{MsBfs, MsBfsConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan};

impl Fused<MsBfsConfig> for Cpu {
    type Layout = MsBfsLayout;

    fn variants(&self, graph: &GraphData, _: &MsBfsConfig, _: u32) -> Vec<Candidate> {
        if self.is_reference() {
            return vec![Candidate::definition(graph)];
        }
        let run = 60.0 * graph.edges() as f64;
        in_orders(graph, "general", |_, _| Some(Cost { build: 0.0, run, why: "CSR, 512 sources to a step" }))
    }
    fn layout(&self, graph: &Arranged<Self>, _: &MsBfsConfig, _: &Plan) -> Result<Option<MsBfsLayout>, Error> {
        let found = lists(graph)?.filter(|(out, _)| supports(out));
        Ok(found.map(|(out, incoming)| MsBfsLayout::build(out, incoming.unwrap_or(out))))
    }
    fn run(&self, graph: &Arranged<Self>, layout: &MsBfsLayout, algorithm: &MsBfsConfig) -> Result<MsBfs, Error> {
        let (out, incoming) = built_lists(graph, "ms_bfs")?;
        layout.run(out, incoming.unwrap_or(out), algorithm)
    }
    fn layout_bytes(&self, layout: &MsBfsLayout) -> u64 {
        layout.bytes()
    }
}
