//! The contracts of bitgraph: what a backend is, the operations, graphs, configs and results of the algorithms, the planner.
//! No implementation lives here.

mod algorithm;
mod control;
mod error;

pub use algorithm::{
    Bfs, BfsConfig, BfsOutput, Cc, CcConfig, Dangling, MsBfs, MsBfsConfig, PageRank, PageRankConfig, Sssp, SsspConfig, Tc, TcConfig,
    UNREACHED,
};
pub use control::{Control, Progress};
pub use error::{Error, Result};
