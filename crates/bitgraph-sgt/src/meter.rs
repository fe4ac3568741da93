//! Counts the finished work of all threads of a translation.
//!
//! Invariant: asked once a block of windows or rows, never per entry.

use crate::Result;
use bitgraph_sparse::Control;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter of work towards a known total.
pub(crate) struct Meter<'a> {
    control: &'a Control,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(control: &'a Control, total: u64) -> Self {
        Self { control, done: AtomicU64::new(0), total }
    }
    /// An error if the work is to stop.
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.control.check()?)
    }
    /// Adds finished work; an error if the rest is to stop.
    pub(crate) fn advance(&self, units: u64) -> Result<()> {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        Ok(self.control.step(done, Some(self.total))?)
    }
}
