//! Atomics, cells and waiting of the crate's own lock-free structures.
//!
//! Invariant: the files of these structures take them from here and from nowhere else, so that `tests/models` can compile the same
//! files over a model checker's.

use std::time::Duration;

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::thread::yield_now;

/// Pauses of a wait before the core is offered to others: 30 to 100 us.
const SPINS: u32 = 1 << 11;
/// Offers of the core before the thread sleeps: 100 us where no one else wants it, a few turns of others where someone does.
const YIELDS: u32 = 1 << 8;
/// The first sleeps, about as long as the system takes to wake a thread, and the longest.
const NAP: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(1);
/// Sleeps of one length; the next are twice as long, so that a sleep lasts no more than about an eighth of the wait before it.
const NAPS: u32 = 8;

/// Moments that are granted to a thread to begin what it was told: some microseconds, a way from core to core and back.
pub(crate) const PROMPT: usize = 64;

/// A wait for another thread: pauses, then offers of the core to others, then sleeps, so that a thread whose partner does not run takes little
/// from those that do, the partner among them.
#[derive(Default)]
pub(crate) struct Wait {
    turns: u32,
}

impl Wait {
    /// Waits a moment.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.turns = self.turns.saturating_add(1);
        match self.turns.checked_sub(SPINS) {
            None => std::hint::spin_loop(),
            Some(turns) if turns < YIELDS => yield_now(),
            Some(turns) => std::thread::sleep((NAP * (1 << ((turns - YIELDS) / NAPS).min(8))).min(LONGEST)),
        }
    }
}

/// A cell whose reads and writes are told apart; who may do which is for its owner to prove.
pub(crate) struct Cell<T>(std::cell::UnsafeCell<T>);

impl<T> Cell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }
    /// Calls `f` with a pointer to read from.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    /// Calls `f` with a pointer to write to.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
