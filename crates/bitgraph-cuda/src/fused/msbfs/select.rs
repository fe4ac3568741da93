//! The one variant of a search from many sources.
//!
//! Invariant: it searches any square pattern with offsets of 32 bits.

use super::MsBfsLayout;
use crate::fused::Lists;
use crate::fused::select::{Facts, Kernels, Offer, candidates, variants};
use crate::{Cuda, Result};
use bitgraph_algorithms::{MsBfs, MsBfsConfig};
use bitgraph_backend::{Arranged, Candidate, Fused, GraphData, Plan};

variants! {
    /// How a graph is searched from many sources.
    Variant {
        /// The whole device, one bit for each source.
        General = "general",
    }
}

/// Lane numbers are added to vertices times four.
const MOST_NODES: usize = u32::MAX as usize / 4 - 1;

impl Kernels for MsBfsConfig {
    const MODULES: &'static [&'static str] = &["graph/msbfs"];
}

impl Fused<MsBfsConfig> for Cuda {
    type Layout = MsBfsLayout;

    fn warm_up(&self) -> Result<()> {
        self.load_kernels::<MsBfsConfig>()
    }
    fn variants(&self, graph: &GraphData, config: &MsBfsConfig, _: u32) -> Vec<Candidate> {
        let Some(facts) = Facts::of(self, graph, graph.is_symmetric(), MOST_NODES) else { return vec![Candidate::definition(graph)] };
        let launches = config.sources.len().div_ceil(super::LANES).max(1) as f64;
        let general = facts.general_seconds(launches * facts.stats().levels, 1.0);
        candidates([Offer::general(Variant::General.name(), facts.nodes as f64 / 2e10)], general)
    }
    fn layout(&self, graph: &Arranged<Self>, _: &MsBfsConfig, _: &Plan) -> Result<Option<MsBfsLayout>> {
        let Some(lists) = Lists::of(graph, true)? else { return Ok(None) };
        MsBfsLayout::build(self.device(), lists.out, lists.incoming)
    }
    fn run(&self, graph: &Arranged<Self>, layout: &MsBfsLayout, config: &MsBfsConfig) -> Result<MsBfs> {
        let lists = Lists::built(graph, true)?;
        layout.run(self.device(), lists.out, lists.incoming, config)
    }
    fn layout_bytes(&self, layout: &MsBfsLayout) -> u64 {
        layout.bytes()
    }
}
