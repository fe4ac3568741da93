//! Triangle counting, on undirected graphs; loops do not count.

use crate::Control;

/// What to compute.
#[derive(Clone, Debug, Default)]
pub struct TcConfig {
    /// Cancellation and progress.
    pub control: Control,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tc {
    /// The number of triangles.
    pub triangles: u64,
}
