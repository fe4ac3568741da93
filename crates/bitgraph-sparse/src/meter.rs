//! Counts the finished work of all threads towards a known total.
//!
//! Invariant: asked once a block of rows, never per entry.

use crate::{Cancelled, Control};
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter of work towards a known total, for many threads.
#[derive(Debug)]
pub struct Meter<'a> {
    control: &'a Control,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    /// Nothing of `total` is done.
    #[must_use]
    pub fn new(control: &'a Control, total: u64) -> Self {
        Self { control, done: AtomicU64::new(0), total }
    }
    /// Adds finished work.
    ///
    /// # Errors
    /// [`Cancelled`] if the rest is not to be done.
    pub fn advance(&self, units: u64) -> Result<(), Cancelled> {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        self.control.step(done, Some(self.total))
    }
    /// Says nothing.
    ///
    /// # Errors
    /// [`Cancelled`] if the work is to stop.
    pub fn check(&self) -> Result<(), Cancelled> {
        self.control.check()
    }
}
