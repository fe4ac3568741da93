//! The contracts of bitgraph: what a backend is, the operations with their front end, graphs, configs and results of the
//! algorithms, the hook for fused forms, and the planner. No implementation lives here, and nothing here names a device.

mod algorithm;
mod backend;
mod control;
mod error;
mod fused;
mod graph;
mod matrix;
pub mod ops;
mod plan;
mod ring;
mod same_type;
mod vector;
mod weights;

pub use algorithm::{
    Bfs, BfsConfig, BfsOutput, Cc, CcConfig, Dangling, MsBfs, MsBfsConfig, PageRank, PageRankConfig, Sssp, SsspConfig, Tc, TcConfig,
    UNREACHED,
};
pub use backend::Backend;
pub use control::{Control, Progress};
pub use error::{Error, Result};
pub use fused::Fused;
pub use graph::{BuildTimes, Graph};
pub use matrix::{Matrix, Typed};
pub use ops::{MatrixOps, Mxm, Mxv, VectorOps};
pub use plan::{Algorithm, Candidate, CostModel, Plan, PlanRequest, Planner, StoredCost, Workload};
pub use ring::{Accum, Accumulate, NoAccum, Ring};
pub use same_type::same_type;
pub use vector::{Value, Vector};
