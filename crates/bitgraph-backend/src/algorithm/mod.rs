//! Configs and results of the algorithms: documented defaults in, named results out.

mod bfs;
mod cc;
mod pagerank;
mod sssp;
mod tc;

pub use bfs::{Bfs, BfsConfig, BfsOutput, MsBfs, MsBfsConfig, UNREACHED};
pub use cc::{Cc, CcConfig};
pub use pagerank::{Dangling, PageRank, PageRankConfig};
pub use sssp::{Sssp, SsspConfig};
pub use tc::{Tc, TcConfig};
