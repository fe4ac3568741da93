//! What counts as a graph with uneven degrees, for every form on the device: the largest degree over the mean.
//!
//! Invariant: nothing else in the crate compares a longest row with a mean one.

/// From here on degrees are uneven: kernels that give every row the same lanes wait for the longest. A grid, a mesh and a random graph are
/// below 4, a Kronecker graph is above 100.
pub(crate) const SKEWED: f64 = 8.0;
/// From here on there are hubs, whose neighbourhoods hold a large part of the graph. Kronecker graphs of scale 10 and more are above.
pub(crate) const HUBS: f64 = 32.0;

/// The largest degree over the mean; 0 without entries.
pub(crate) fn ratio(longest: u32, rows: usize, entries: usize) -> f64 {
    if entries == 0 { 0.0 } else { f64::from(longest) * rows as f64 / entries as f64 }
}
