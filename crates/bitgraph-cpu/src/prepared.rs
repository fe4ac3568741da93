//! What the CPU builds for an algorithm beyond the matrix, and the dispatch of its fused forms.
//!
//! Invariant: a fused form runs on lists with 32-bit offsets; on any other layout it answers `None` and the definition runs.

use crate::Cpu;
use crate::fused::bfs::{self, BfsLayout, BfsOptions};
use crate::fused::cc::CcLayout;
use crate::fused::msbfs::{self, MsBfsLayout};
use crate::fused::pagerank::{PageRankLayout, out_degrees};
use crate::fused::sssp::{Distance, SsspLayout, SsspOptions};
use crate::fused::tc::{self, TcLayout};
use crate::spmv::{Real, SpmvLayout};
use bitgraph_backend::{
    Algorithm, Bfs, BfsConfig, Cc, CcConfig, Error, Fused, Graph, MsBfs, MsBfsConfig, PageRank, PageRankConfig, Plan, Sssp, SsspConfig, Tc,
    TcConfig, same_type,
};
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, Stored};
use std::sync::OnceLock;

/// The layout of one algorithm's fused form; none on tile formats.
#[derive(Default)]
pub struct Prepared(Layout);

#[derive(Default)]
enum Layout {
    #[default]
    None,
    Bfs(Box<BfsLayout>),
    MsBfs(Box<MsBfsLayout>),
    Sssp(Box<SsspLayout>),
    Cc(Box<CcLayout>),
    Tc(Box<TcLayout>),
    PageRank(Box<Ranks>),
}

/// Layouts for `PageRank` in either type: the planned one is built beforehand, the other at first use.
struct Ranks {
    passes: u32,
    single: OnceLock<PageRankLayout<f32>>,
    double: OnceLock<PageRankLayout<f64>>,
}

impl Ranks {
    fn layout<T: Real>(&self, slot: &OnceLock<PageRankLayout<T>>, out: &Csr, incoming: Option<&Csr>) -> Result<(), Error> {
        if slot.get().is_none() {
            let layout = PageRankLayout::build(incoming.unwrap_or(out), &out_degrees(out), self.passes)?;
            let _ = slot.set(layout);
        }
        Ok(())
    }
}

/// The patterns of a graph laid out as lists: out-arcs, and in-arcs of a directed graph.
fn lists(graph: &Graph<Cpu>) -> Result<Option<(&Csr, Option<&Csr>)>, Error> {
    let Some(out) = graph.matrix().as_csr().filter(|c| c.offsets().as_u32().is_some()) else { return Ok(None) };
    if graph.is_symmetric() {
        return Ok(Some((out, None)));
    }
    Ok(graph.transpose()?.as_csr().map(|t| (out, Some(t))))
}

impl Prepared {
    /// Builds what the plan's algorithm wants.
    pub(crate) fn build(graph: &Graph<Cpu>, plan: &Plan) -> Result<Self, Error> {
        let Some((out, incoming)) = lists(graph)? else { return Ok(Self::default()) };
        let values = graph.matrix().values();
        Ok(Self(match plan.workload.algorithm {
            Algorithm::Bfs if bfs::supports(out) => {
                let options = BfsOptions { heaviest: plan.chosen.prepared };
                Layout::Bfs(Box::new(BfsLayout::build_with(out, incoming.unwrap_or(out), options)))
            }
            Algorithm::MsBfs if msbfs::supports(out) => Layout::MsBfs(Box::new(MsBfsLayout::build(out, incoming.unwrap_or(out)))),
            Algorithm::Sssp => {
                let incoming = match incoming {
                    Some(t) => Some((t, graph.transpose()?.values())),
                    None => None,
                };
                let options = SsspOptions { wide_sums: plan.workload.dtype == DType::F64, unpacked: !plan.chosen.prepared };
                Layout::Sssp(Box::new(SsspLayout::build_with(out, incoming, values, options)?.with_numbers(graph.permutation())))
            }
            Algorithm::Cc => Layout::Cc(Box::default()),
            Algorithm::PageRank => {
                let passes = plan.workload.passes.saturating_mul(plan.workload.iterations);
                let ranks = Ranks { passes, single: OnceLock::new(), double: OnceLock::new() };
                if plan.workload.dtype == DType::F64 {
                    ranks.layout(&ranks.double, out, incoming)?;
                } else {
                    ranks.layout(&ranks.single, out, incoming)?;
                }
                Layout::PageRank(Box::new(ranks))
            }
            Algorithm::MxvFloat if values.is_none() && plan.chosen.prepared => {
                graph.matrix().keep_sums(SpmvLayout::build_auto(out, plan.workload.passes));
                Layout::None
            }
            Algorithm::Tc if tc::supports(out) => Layout::Tc(Box::default()),
            _ => Layout::None,
        }))
    }
    /// Bytes of the layout, the matrix it was built from not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Layout::Bfs(l) => l.bytes(),
            Layout::MsBfs(l) => l.bytes(),
            Layout::Sssp(l) => l.bytes(),
            Layout::PageRank(l) => l.single.get().map_or(0, PageRankLayout::bytes) + l.double.get().map_or(0, PageRankLayout::bytes),
            _ => 0,
        }
    }
}

impl Fused for Cpu {
    fn bfs(&self, graph: &Graph<Self>, config: &BfsConfig) -> Option<Result<Bfs, Error>> {
        let Layout::Bfs(layout) = &graph.prepared().0 else { return None };
        let (out, incoming) = lists(graph).transpose()?.ok()?;
        Some(layout.run(out, incoming.unwrap_or(out), config))
    }
    fn ms_bfs(&self, graph: &Graph<Self>, config: &MsBfsConfig) -> Option<Result<MsBfs, Error>> {
        let Layout::MsBfs(layout) = &graph.prepared().0 else { return None };
        let (out, incoming) = lists(graph).transpose()?.ok()?;
        Some(layout.run(out, incoming.unwrap_or(out), config))
    }
    fn sssp<T: Stored>(&self, graph: &Graph<Self>, config: &SsspConfig) -> Option<Result<Sssp<T>, Error>> {
        fn run<D: Distance, T: Stored>(layout: &SsspLayout, config: &SsspConfig) -> Option<Result<Sssp<T>, Error>> {
            same_type(layout.run::<D>(config))
        }
        let Layout::Sssp(layout) = &graph.prepared().0 else { return None };
        match T::DTYPE {
            DType::U32 => run::<u32, T>(layout, config),
            DType::U64 => run::<u64, T>(layout, config),
            DType::I32 => run::<i32, T>(layout, config),
            DType::I64 => run::<i64, T>(layout, config),
            DType::F32 => run::<f32, T>(layout, config),
            DType::F64 => run::<f64, T>(layout, config),
            _ => None,
        }
    }
    fn pagerank<T: Stored>(&self, graph: &Graph<Self>, config: &PageRankConfig) -> Option<Result<PageRank<T>, Error>> {
        let Layout::PageRank(ranks) = &graph.prepared().0 else { return None };
        let (out, incoming) = lists(graph).transpose()?.ok()?;
        match T::DTYPE {
            DType::F32 => match ranks.layout(&ranks.single, out, incoming) {
                Ok(()) => same_type(ranks.single.get()?.run(config)),
                Err(e) => Some(Err(e)),
            },
            DType::F64 => match ranks.layout(&ranks.double, out, incoming) {
                Ok(()) => same_type(ranks.double.get()?.run(config)),
                Err(e) => Some(Err(e)),
            },
            _ => None,
        }
    }
    fn cc(&self, graph: &Graph<Self>, config: &CcConfig) -> Option<Result<Cc, Error>> {
        let Layout::Cc(layout) = &graph.prepared().0 else { return None };
        let (out, incoming) = lists(graph).transpose()?.ok()?;
        Some(layout.run(out, incoming, config))
    }
    fn tc(&self, graph: &Graph<Self>, config: &TcConfig) -> Option<Result<Tc, Error>> {
        let Layout::Tc(layout) = &graph.prepared().0 else { return None };
        let (out, _) = lists(graph).transpose()?.ok()?;
        Some(layout.run(out, config))
    }
}
