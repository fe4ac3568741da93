//! Connected components, weak on directed graphs.

use crate::Control;

/// What to compute.
#[derive(Clone, Debug, Default)]
pub struct CcConfig {
    /// Cancellation and progress.
    pub control: Control,
}

/// The result, the same on every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cc {
    /// The smallest vertex of every vertex's component.
    pub labels: Vec<u32>,
    /// The number of components; an isolated vertex is one.
    pub components: u64,
    /// The number of vertices of the largest component.
    pub largest: u64,
}

impl Cc {
    /// Counts components and the largest one. O(n).
    ///
    /// # Panics
    /// If a label is no vertex.
    #[must_use]
    pub fn from_labels(labels: Vec<u32>) -> Self {
        let mut sizes = vec![0u32; labels.len()];
        for &l in &labels {
            sizes[l as usize] += 1;
        }
        let components = sizes.iter().filter(|&&s| s > 0).count() as u64;
        let largest = sizes.iter().copied().max().unwrap_or(0).into();
        Self { labels, components, largest }
    }
}
