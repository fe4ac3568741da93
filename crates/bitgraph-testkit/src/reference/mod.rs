//! Plain algorithms to hold fast ones against, and validators for answers that are not unique.
//!
//! Arcs run from row to column. A validator returns one sentence about the first thing that is wrong.

mod bfs;
mod components;
mod pagerank;
mod sssp;
mod triangles;

pub use bfs::{Reach, levels, reach, validate_parents};
pub use components::components;
pub use pagerank::{PageRankParameters, pagerank};
pub use sssp::{dijkstra, validate_shortest_parents};
pub use triangles::triangles;

/// The parent of a vertex that was not reached.
pub const UNREACHED: u32 = u32::MAX;
