//! Shortest paths from one source.

use crate::Control;

/// What to search for. Weights are the matrix's values; a pattern has weight 1 everywhere.
#[derive(Clone, Debug, Default)]
pub struct SsspConfig {
    /// The vertex to start from.
    pub source: u32,
    /// Stop once this vertex's distance is final; distances of farther vertices are then upper bounds. Default: none.
    pub target: Option<u32>,
    /// The width of a bucket of delta-stepping. Default: chosen from weights and degrees.
    pub delta: Option<f64>,
    /// Fill [`Sssp::parents`]. Default: false.
    pub parents: bool,
    /// Cancellation and progress (buckets done).
    pub control: Control,
}

/// The result. Distances do not depend on the number of threads for integer weights; for floats each is the least, over all
/// paths, of the left-to-right sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Sssp<T> {
    /// The source.
    pub source: u32,
    /// The distance of every vertex, the greatest value of `T` if unreached.
    pub distances: Vec<T>,
    /// The parent of every vertex on a shortest path, the source its own, [`UNREACHED`](crate::UNREACHED) if unreached; if asked for.
    /// Among equals it is the smallest nearer vertex; where only arcs of length 0 lead on, the smallest of those fewest arcs away from
    /// a vertex that has a nearer parent.
    pub parents: Option<Vec<u32>>,
    /// The number of reached vertices, the source included.
    pub reached: u64,
}
