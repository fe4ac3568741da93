//! Who wants to know when a fused algorithm works on a device: harnesses that time it.
//!
//! Invariant: without an observer nothing is recorded, filled or waited for.

use super::{Device, Stream, lock};
use crate::{Error, Result};
use std::sync::atomic::Ordering;

/// Is told of the runs of fused algorithms on a stream, see [`Stream::observe`].
pub trait Observer: Send + Sync {
    /// A run is about to be given to the stream; its arrays are there.
    ///
    /// # Errors
    /// End the run.
    fn begins(&self, stream: &Stream) -> Result<()>;
    /// All of a run was given to the stream; its results are still on the device. Not called after a run that failed.
    ///
    /// # Errors
    /// End the run.
    fn ends(&self, stream: &Stream) -> Result<()>;
}

impl Device {
    /// Gives a run to the device, and tells the stream's observer. A run within another is a part of it.
    ///
    /// # Errors
    /// The work's, or the observer's.
    pub fn span<R, E: From<Error>>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        let queue = &self.stream().0;
        if !queue.listens.swap(false, Ordering::Relaxed) {
            return work();
        }
        let observer = lock(&queue.observer).clone();
        let told = || {
            let Some(observer) = observer else { return work() };
            observer.begins(self.stream())?;
            let result = work()?;
            observer.ends(self.stream())?;
            Ok(result)
        };
        let result = told();
        queue.listens.store(lock(&queue.observer).is_some(), Ordering::Relaxed);
        result
    }
}
