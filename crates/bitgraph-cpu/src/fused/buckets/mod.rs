//! What searches by distance share: buckets of vertices that are queued under their distances, arcs that are relaxed from them, and threads that work
//! buckets off without waiting for each other.
//!
//! Shortest paths are such searches over packed or plain arcs with weights; a breadth-first search a long way across is one where every arc has length 1.

pub(crate) mod arcs;
mod bins;
pub(crate) mod distance;
pub(crate) mod free;
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) mod lanes {
    /// Distances; no vectors compare them.
    pub(crate) trait Lanes {}
    impl<T> Lanes for T {}
}

/// Vertices at most where vectors read distances: a gather takes places of 31 bits.
pub(crate) const MOST_NODES: usize = 1 << 31;
