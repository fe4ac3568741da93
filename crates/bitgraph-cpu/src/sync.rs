//! Atomics, cells and waiting of the crate's own lock-free structures.
//!
//! Invariant: the files of these structures take them from here and from nowhere else, so that `tests/models` can compile the same
//! files over a model checker's.

use std::sync::OnceLock;
use std::thread::yield_now;
use std::time::{Duration, Instant};

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Pauses of a wait before the core is offered to others: 30 to 100 us.
const SPINS: u32 = 1 << 11;
/// Offers of the core before the thread sleeps: 100 us where no one else wants it, a few turns of others where someone does.
const YIELDS: u32 = 1 << 8;
/// The first sleeps, about as long as the system takes to wake a thread, and the longest.
const NAP: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_millis(1);
/// Sleeps of one length; the next are twice as long, so that a sleep lasts no more than about an eighth of the wait before it.
const NAPS: u32 = 8;

/// An offer that lasts so long was taken by who gives the core back only at the end of a slice of the scheduler's, some milliseconds, however
/// little share it has of it; for so long the process offers no more, and sleeps instead: who wakes from a sleep is let in at once. On 16 cores
/// beside as many niced processes that never sleep, searches of .2 to 5 ms took 2.7 to 6.3 times as long as alone when they went on offering;
/// so, in another run, five of six took 1.3 to 2.0 times, and one of .17 ms 3.8.
const TAKEN: Duration = Duration::from_millis(1);
const CROWDED: Duration = Duration::from_millis(50);

/// Offers the core to others unless such an offer was taken for long of late; whether it did.
pub(crate) fn offer() -> bool {
    static START: OnceLock<Instant> = OnceLock::new();
    /// Nanoseconds after the start until which the core is not offered.
    static UNTIL: AtomicU64 = AtomicU64::new(0);
    let start = START.get_or_init(Instant::now);
    let before = start.elapsed();
    if (before.as_nanos() as u64) < UNTIL.load(Ordering::Relaxed) {
        return false;
    }
    yield_now();
    let after = start.elapsed();
    if after - before > TAKEN {
        UNTIL.store((after + CROWDED).as_nanos() as u64, Ordering::Relaxed);
    }
    true
}

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
            Some(turns) if turns < YIELDS && offer() => {}
            Some(turns) => std::thread::sleep((NAP * (1 << (turns.saturating_sub(YIELDS) / NAPS).min(8))).min(LONGEST)),
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
