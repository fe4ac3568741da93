//! Breadth-first search from one source, and from many at once.

use crate::Control;

/// The parent of a vertex that the search did not reach.
pub const UNREACHED: u32 = u32::MAX;

/// Which arrays a search fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BfsOutput {
    /// The level of every vertex.
    #[default]
    Levels,
    /// The parent of every vertex.
    Parents,
    /// Both.
    Both,
}

impl BfsOutput {
    /// Whether levels are wanted.
    #[must_use]
    pub const fn levels(self) -> bool {
        matches!(self, Self::Levels | Self::Both)
    }
    /// Whether parents are wanted.
    #[must_use]
    pub const fn parents(self) -> bool {
        matches!(self, Self::Parents | Self::Both)
    }
}

/// What to search for.
#[derive(Clone, Debug, Default)]
pub struct BfsConfig {
    /// The vertex to start from.
    pub source: u32,
    /// Which arrays to fill. Default: levels.
    pub output: BfsOutput,
    /// The parent is the smallest vertex of the level before that has an arc to the vertex; otherwise any such vertex.
    /// Levels are the same on every run either way. Default: false.
    pub deterministic: bool,
    /// Cancellation and progress (levels done).
    pub control: Control,
}

/// The result of a search. Arcs run from row to column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bfs {
    /// The source.
    pub source: u32,
    /// The level of every vertex, 0 for the source, -1 if unreached; if asked for.
    pub levels: Option<Vec<i32>>,
    /// The parent of every vertex, the source its own, [`UNREACHED`] if unreached; if asked for.
    pub parents: Option<Vec<u32>>,
    /// The number of reached vertices, the source included.
    pub reached: u64,
    /// The largest level.
    pub depth: u32,
    /// The sum of the out-degrees of the reached vertices.
    pub edges_traversed: u64,
}

/// What to search for from many sources.
#[derive(Clone, Debug, Default)]
pub struct MsBfsConfig {
    /// The vertices to start from; a vertex may occur more than once.
    pub sources: Vec<u32>,
    /// Fill [`MsBfs::levels`]. Default: false.
    pub levels: bool,
    /// Cancellation and progress (levels done).
    pub control: Control,
}

/// The result of a search from many sources: element `k` belongs to source `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MsBfs {
    /// The number of reached vertices.
    pub reached: Vec<u64>,
    /// The largest level.
    pub depth: Vec<u32>,
    /// The sum of the levels of the reached vertices.
    pub sum_levels: Vec<u64>,
    /// Level of vertex `v` from source `k` at `k * nodes + v`, -1 if unreached; if asked for.
    pub levels: Option<Vec<i32>>,
}
