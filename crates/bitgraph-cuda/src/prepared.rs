//! What the GPU builds for an algorithm beyond the matrix, and the dispatch of its fused forms.
//!
//! Invariant: a fused form runs on lists with 32-bit offsets; on any other layout it answers `None` and the definition runs.

use crate::fused::bfs::BfsLayout;
use crate::fused::cc::CcLayout;
use crate::fused::msbfs::MsBfsLayout;
use crate::fused::pagerank::RankLayout;
use crate::fused::sssp::{Arcs, Distance, SsspLayout, SsspOptions};
use crate::fused::tc::TcLayout;
use crate::layout::DeviceCsr;
use crate::matrix::CudaMatrix;
use crate::spmv::SpmvLayout;
use crate::{Cuda, Error, Result};
use bitgraph_backend::{
    Algorithm, Bfs, BfsConfig, Cc, CcConfig, Fused, Graph, MsBfs, MsBfsConfig, PageRank, PageRankConfig, Plan, Sssp, SsspConfig, Tc,
    TcConfig, same_type,
};
use bitgraph_semiring::DType;
use bitgraph_sparse::Stored;

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
    PageRank(Box<RankLayout>),
    Cc(Box<CcLayout>),
    Tc(Box<TcLayout>),
}

/// The patterns of a graph laid out as lists: out-arcs, and in-arcs of a directed graph.
fn lists(graph: &Graph<Cuda>) -> Result<Option<(&DeviceCsr, Option<&DeviceCsr>)>> {
    let Some(out) = graph.matrix().as_csr().filter(|c| c.offsets.as_u32().is_some()) else { return Ok(None) };
    // Triangles are of undirected graphs, and nothing else leaves the transpose of a directed one unbuilt.
    if graph.is_symmetric() || !graph.plan().workload.algorithm.wants_incoming() {
        return Ok(Some((out, None)));
    }
    Ok(graph.transpose()?.as_csr().map(|t| (out, Some(t))))
}

/// The arcs of a matrix with their weights.
fn arcs(matrix: &CudaMatrix) -> Option<Arcs> {
    Arcs::of(matrix.as_csr()?, matrix.values())
}

impl Prepared {
    /// Builds what the plan's algorithm wants.
    pub(crate) fn build(graph: &Graph<Cuda>, plan: &Plan) -> Result<Self> {
        let Some((out, incoming)) = lists(graph)? else { return Ok(Self::default()) };
        let device = graph.backend().device();
        fn boxed<L>(layout: Option<L>, variant: impl FnOnce(Box<L>) -> Layout) -> Layout {
            layout.map_or(Layout::None, |l| variant(Box::new(l)))
        }
        Ok(Self(match plan.workload.algorithm {
            Algorithm::Bfs => boxed(BfsLayout::build(device, out, incoming, plan)?, Layout::Bfs),
            Algorithm::MsBfs => boxed(MsBfsLayout::build(device, out, incoming, plan)?, Layout::MsBfs),
            Algorithm::Sssp => {
                let incoming = if graph.is_symmetric() { None } else { arcs(graph.transpose()?) };
                let Some(out) = arcs(graph.matrix()) else { return Ok(Self::default()) };
                let wide_sums = plan.workload.dtype == DType::F64;
                let options = SsspOptions { wide_sums, plain: !plan.chosen.prepared, ..SsspOptions::default() };
                Layout::Sssp(Box::new(SsspLayout::build(device, out, incoming, options)?))
            }
            Algorithm::PageRank => boxed(RankLayout::build(device, out, incoming, plan)?, Layout::PageRank),
            Algorithm::Cc => boxed(CcLayout::build(device, out, incoming, plan)?, Layout::Cc),
            Algorithm::Tc if graph.is_symmetric() => boxed(TcLayout::build(device, out, incoming, plan)?, Layout::Tc),
            Algorithm::MxvFloat if plan.chosen.prepared => {
                let matrix = graph.matrix();
                let values = matrix.values().filter(|v| v.dtype == DType::F32).map(|v| v.data.cast());
                if (values.is_some() || matrix.values().is_none())
                    && let Some(layout) = SpmvLayout::build(device, out, values.as_ref(), plan.workload.passes)?
                {
                    matrix.keep_sums(layout);
                }
                Layout::None
            }
            _ => Layout::None,
        }))
    }
    /// Bytes of the layout, the matrix it was built from not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Layout::None => 0,
            Layout::Bfs(l) => l.bytes(),
            Layout::MsBfs(l) => l.bytes(),
            Layout::Sssp(l) => l.bytes(),
            Layout::PageRank(l) => l.bytes(),
            Layout::Cc(l) => l.bytes(),
            Layout::Tc(l) => l.bytes(),
        }
    }
}

/// The lists of a graph that something was prepared for.
fn prepared_lists(graph: &Graph<Cuda>) -> Option<(&DeviceCsr, Option<&DeviceCsr>)> {
    lists(graph).ok().flatten()
}

impl Fused for Cuda {
    fn bfs(&self, graph: &Graph<Self>, config: &BfsConfig) -> Option<Result<Bfs, Error>> {
        let Layout::Bfs(layout) = &graph.prepared().0 else { return None };
        let (out, incoming) = prepared_lists(graph)?;
        Some(layout.run(self.device(), out, incoming, config))
    }
    fn ms_bfs(&self, graph: &Graph<Self>, config: &MsBfsConfig) -> Option<Result<MsBfs, Error>> {
        let Layout::MsBfs(layout) = &graph.prepared().0 else { return None };
        let (out, incoming) = prepared_lists(graph)?;
        Some(layout.run(self.device(), out, incoming, config))
    }
    fn sssp<T: Stored>(&self, graph: &Graph<Self>, config: &SsspConfig) -> Option<Result<Sssp<T>, Error>> {
        fn run<D: Distance, T: Stored>(cuda: &Cuda, layout: &SsspLayout, config: &SsspConfig) -> Option<Result<Sssp<T>, Error>> {
            same_type(layout.run::<D>(cuda.device(), config))
        }
        let Layout::Sssp(layout) = &graph.prepared().0 else { return None };
        match T::DTYPE {
            DType::U32 => run::<u32, T>(self, layout, config),
            DType::U64 => run::<u64, T>(self, layout, config),
            DType::I32 => run::<i32, T>(self, layout, config),
            DType::I64 => run::<i64, T>(self, layout, config),
            DType::F32 => run::<f32, T>(self, layout, config),
            DType::F64 => run::<f64, T>(self, layout, config),
            _ => None,
        }
    }
    fn pagerank<T: Stored>(&self, graph: &Graph<Self>, config: &PageRankConfig) -> Option<Result<PageRank<T>, Error>> {
        let Layout::PageRank(layout) = &graph.prepared().0 else { return None };
        match T::DTYPE {
            DType::F32 => same_type(layout.run::<f32>(self.device(), config)),
            DType::F64 => same_type(layout.run::<f64>(self.device(), config)),
            _ => None,
        }
    }
    fn cc(&self, graph: &Graph<Self>, config: &CcConfig) -> Option<Result<Cc, Error>> {
        let Layout::Cc(layout) = &graph.prepared().0 else { return None };
        let (out, incoming) = prepared_lists(graph)?;
        Some(layout.run(self.device(), out, incoming, config))
    }
    fn tc(&self, graph: &Graph<Self>, config: &TcConfig) -> Option<Result<Tc, Error>> {
        let Layout::Tc(layout) = &graph.prepared().0 else { return None };
        Some(layout.run(self.device(), config))
    }
}
