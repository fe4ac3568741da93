#![doc = include_str!("../README.md")]

mod bfs;
mod cc;
mod on;
mod pagerank;
mod product;
mod sssp;
mod tc;
mod typed;

pub use bfs::{Bfs, BfsConfig, BfsOutput, MsBfs, MsBfsConfig, SearchGraph, UNREACHED};
pub use cc::{Cc, CcConfig, ComponentsOfGraph};
pub use on::On;
pub use pagerank::{Dangling, PageRank, PageRankConfig, RankGraph, ResidualLooks};
pub use product::{Factor, Product};
pub use sssp::{PathsOfGraph, Sssp, SsspConfig};
pub use tc::{Tc, TcConfig, TrianglesOfGraph};
pub use typed::Typed;

/// The algorithms in their GraphBLAS form, written once over the operations: what each algorithm is.
///
/// Nothing crosses to the host in a loop but what decides it. Vertices are in the numbers of the arranged graph at hand. Definitions are not
/// the fast path: fused forms are held against them, and they run on layouts that have no fused form.
pub mod definition {
    pub use crate::bfs::definition::{bfs, bfs_with};
    pub use crate::cc::definition::cc;
    pub use crate::pagerank::definition::pagerank;
    pub use crate::sssp::definition::{sssp, sssp_with};
    pub use crate::tc::definition::tc;
}

use bitgraph_backend::{Fused, MatrixOps, Mxm, Mxv, VectorOps};
use bitgraph_semiring::{LorLand, MinFirst, MinPlus, MinSecond, PlusPair, PlusSecond};
use bitgraph_sparse::Stored;

/// A backend with the operations that the definitions use, whatever their precision.
pub trait GraphBackend: VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxv<MinSecond<u32>> + Mxm<PlusPair<u64>> {}
impl<B: VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxv<MinSecond<u32>> + Mxm<PlusPair<u64>>> GraphBackend for B {}

/// A backend with what the definition of shortest paths uses beyond, with distances of type `T`.
pub trait PathBackend<T: Stored>: GraphBackend + Mxv<MinPlus<T>> + Mxm<MinPlus<T>> + Mxm<MinFirst<T>> + Mxm<MinSecond<T>> {}
impl<B: GraphBackend + Mxv<MinPlus<T>> + Mxm<MinPlus<T>> + Mxm<MinFirst<T>> + Mxm<MinSecond<T>>, T: Stored> PathBackend<T> for B {}

macro_rules! full_backend {
    ($($bound:path),* $(,)?) => {
        /// A backend that runs every algorithm of this crate, in the types that distances and scores usually have.
        pub trait FullBackend: GraphBackend $(+ $bound)* {}
        impl<B: GraphBackend $(+ $bound)*> FullBackend for B {}
    };
}
full_backend! {
    Mxv<PlusSecond<f32>>, Mxv<PlusSecond<f64>>,
    PathBackend<u32>, PathBackend<u64>, PathBackend<i64>, PathBackend<f32>, PathBackend<f64>,
    Fused<BfsConfig>, Fused<MsBfsConfig>, Fused<CcConfig>, Fused<TcConfig>,
    Fused<Typed<SsspConfig, u32>>, Fused<Typed<SsspConfig, u64>>, Fused<Typed<SsspConfig, i64>>,
    Fused<Typed<SsspConfig, f32>>, Fused<Typed<SsspConfig, f64>>,
    Fused<Typed<PageRankConfig, f32>>, Fused<Typed<PageRankConfig, f64>>,
    Fused<Product<f32>>, Fused<Product<f64>>, Fused<Product<bool>>,
}
