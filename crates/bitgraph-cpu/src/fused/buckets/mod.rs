//! What searches by distance share: buckets of vertices that are queued under their distances, arcs that are relaxed from them, and threads that work
//! buckets off without waiting for each other.
//!
//! Shortest paths are such searches over packed or plain arcs with weights; a breadth-first search a long way across is one where every arc has length 1.

pub(crate) mod arcs;
mod bins;
pub(crate) mod distance;
pub(crate) mod free;
