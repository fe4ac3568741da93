//! Whether the second of two searchers comes in time.
//!
//! Invariant: either the second is told that it has joined and the first that it is not alone, or neither.

use crate::sync::{AtomicUsize, Ordering, Wait};

/// The second searcher may still come, has come, is too late.
const OPEN: usize = 0;
const JOINED: usize = 1;
const CLOSED: usize = 2;

/// Where the first waits for the second.
pub(super) struct Meeting(AtomicUsize);

impl Meeting {
    /// To which no thread has come.
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(OPEN))
    }
    /// The second comes; whether it is in time.
    pub(super) fn join(&self) -> bool {
        self.0.compare_exchange(OPEN, JOINED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
    /// The first waits until `late()`; whether the second has come.
    pub(super) fn wait(&self, late: impl Fn() -> bool) -> bool {
        let mut wait = Wait::default();
        while self.0.load(Ordering::Acquire) == OPEN {
            if late() {
                return self.0.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_err();
            }
            wait.turn();
        }
        true
    }
}
