//! Counts the finished work of all threads of a conversion.
//!
//! Invariant: asked once a block of about [`BLOCK`] elements, never per element.

use crate::Result;
use bitgraph_sparse::Control;
use std::sync::atomic::{AtomicU64, Ordering};

/// Elements that a task takes at once.
pub(crate) const BLOCK: usize = 1 << 16;

/// A counter of elements towards a known total.
pub(crate) struct Meter<'a> {
    control: &'a Control,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(control: &'a Control, total: usize) -> Self {
        Self { control, done: AtomicU64::new(0), total: total as u64 }
    }
    /// Adds finished elements; an error if the work is to stop.
    pub(crate) fn advance(&self, elements: usize) -> Result<()> {
        let done = self.done.fetch_add(elements as u64, Ordering::Relaxed) + elements as u64;
        Ok(self.control.step(done, Some(self.total))?)
    }
}
