//! Progress and cancellation of long work, passed through every config.
//!
//! Invariant: asking is cheap enough for once per level, bucket or iteration; algorithms never print.

use crate::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What an algorithm reports about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps done, in the algorithm's own unit (levels, iterations, rows).
    pub done: u64,
    /// Steps in all, where that is known beforehand.
    pub total: Option<u64>,
}

/// A cancellation flag and a progress callback, both optional. Cheap to clone.
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
    /// [`Error::Cancelled`].
    #[inline]
    pub fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
    /// Reports progress, if anybody listens.
    #[inline]
    pub fn report(&self, done: u64, total: Option<u64>) {
        if let Some(f) = &self.progress {
            f(Progress { done, total });
        }
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}
