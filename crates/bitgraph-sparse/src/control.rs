//! Progress and cancellation of long work: one type for readers, generators, algorithms and backends.
//!
//! Invariant: asking is cheap enough for once per block, level, bucket or iteration; libraries never print.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What long work reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps done, in the work's own unit (bytes, edges, rows, levels, iterations).
    pub done: u64,
    /// Steps in all, where that is known beforehand.
    pub total: Option<u64>,
}

/// The work was stopped through its [`Control`]. Every crate's error is made from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// A cancellation flag and a progress callback, both optional. Cheap to clone.
///
/// ```
/// use bitgraph_sparse::{Cancelled, Control};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let stop = Arc::new(AtomicBool::new(false));
/// let control = Control::default().with_cancel(Arc::clone(&stop));
/// assert_eq!(control.check(), Ok(()));
/// stop.store(true, Ordering::Relaxed);
/// assert_eq!(control.check(), Err(Cancelled));
/// ```
#[derive(Clone, Default)]
pub struct Control {
    cancel: Option<Arc<AtomicBool>>,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Control {
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
    /// Whether the work is to stop.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed))
    }
    /// Whether anybody can cancel or wants to hear of progress.
    #[must_use]
    pub fn is_listened_to(&self) -> bool {
        self.cancel.is_some() || self.progress.is_some()
    }
    /// An error if the work is to stop.
    ///
    /// # Errors
    /// [`Cancelled`].
    #[inline]
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
    /// Reports progress, if anybody listens.
    #[inline]
    pub fn report(&self, done: u64, total: Option<u64>) {
        if let Some(f) = &self.progress {
            f(Progress { done, total });
        }
    }
    /// Reports progress, then asks whether the work is to stop.
    ///
    /// # Errors
    /// [`Cancelled`].
    #[inline]
    pub fn step(&self, done: u64, total: Option<u64>) -> Result<(), Cancelled> {
        self.report(done, total);
        self.check()
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}
