//! Who wants to know when a fused algorithm works on a device: harnesses that time it.
//!
//! Invariant: without an observer nothing is recorded, filled or waited for.

use super::{Device, Stream, lock};
use crate::{Error, Result};
use std::sync::Arc;
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
        let observer = self.begun()?;
        let result = work();
        if let Some(observer) = observer {
            self.ended(&*observer, result.is_ok())?;
        }
        result
    }
    /// Tells the observer, if one listens, that work begins; it hears of no other until that ends.
    fn begun(&self) -> Result<Option<Arc<dyn Observer>>> {
        let queue = &self.stream().0;
        if !queue.listens.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        let observer = lock(&queue.observer).clone();
        let begun = observer.as_ref().map_or(Ok(()), |o| o.begins(self.stream()));
        if observer.is_none() || begun.is_err() {
            self.listen();
        }
        begun.map(|()| observer)
    }
    /// Tells the observer that work ended, unless it failed.
    fn ended(&self, observer: &dyn Observer, done: bool) -> Result<()> {
        let told = if done { observer.ends(self.stream()) } else { Ok(()) };
        self.listen();
        told
    }
    fn listen(&self) {
        let queue = &self.stream().0;
        queue.listens.store(lock(&queue.observer).is_some(), Ordering::Relaxed);
    }
}
