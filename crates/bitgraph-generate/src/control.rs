//! Progress and cancellation of a generation.
//!
//! Invariant: asked once per block of edges or rows, never per edge.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a generation reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Units of work done.
    pub done: u64,
    /// Units of work in all.
    pub total: u64,
}

/// A cancellation flag and a progress callback, both optional. Cheap to clone.
#[derive(Clone, Default)]
pub struct GenerateControl {
    cancel: Option<Arc<AtomicBool>>,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl GenerateControl {
    /// Stops the work soon after `flag` becomes true.
    #[must_use]
    pub fn with_cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancel = Some(flag);
        self
    }
    /// Calls `report` as the work goes on, from whichever thread does it.
    #[must_use]
    pub fn with_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }
    /// An error if the work is to stop.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) { Err(Error::Cancelled) } else { Ok(()) }
    }
    /// A counter of work towards `total` units.
    pub(crate) fn meter(&self, total: u64) -> Meter<'_> {
        Meter { control: self, done: AtomicU64::new(0), total }
    }
}

impl std::fmt::Debug for GenerateControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GenerateControl").field("cancelled", &self.check().is_err()).finish_non_exhaustive()
    }
}

/// Counts finished work of all threads.
pub(crate) struct Meter<'a> {
    control: &'a GenerateControl,
    done: AtomicU64,
    total: u64,
}

impl Meter<'_> {
    /// Adds finished work; an error if the work is to stop.
    pub(crate) fn advance(&self, units: u64) -> Result<()> {
        self.control.check()?;
        if let Some(f) = &self.control.progress {
            f(Progress { done: self.done.fetch_add(units, Ordering::Relaxed) + units, total: self.total });
        }
        Ok(())
    }
}
