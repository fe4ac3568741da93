//! Graph algorithms, generic over the backend. Each file holds one: settings, result, and how it reads on a graph.
//!
//! An algorithm runs in a backend's fused form where there is one, and as its definition elsewhere. The definitions, in
//! [`definition`], are the algorithms in their GraphBLAS form, written once over the operations; verification holds fused forms against
//! them. Vertices are the input's own numbers, in settings and in results.

mod bfs;
mod cc;
pub mod definition;
mod on;
mod pagerank;
mod product;
mod sssp;
mod tc;
mod typed;

pub use bfs::{Bfs, BfsConfig, BfsOutput, MsBfs, MsBfsConfig, UNREACHED};
pub use cc::{Cc, CcConfig};
pub use on::{Algorithms, On};
pub use pagerank::{Dangling, PageRank, PageRankConfig};
pub use product::{Factor, Product};
pub use sssp::{Sssp, SsspConfig};
pub use tc::{Tc, TcConfig};
pub use typed::Typed;

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
