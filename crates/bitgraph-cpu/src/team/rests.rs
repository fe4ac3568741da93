//! Who of a team has nothing to do, and whether no one has.
//!
//! Invariant: work is made by members that do not rest, and a member rests only when all that it made is done, or taken by another; who takes
//! something has stopped resting before. So there is none left when all that have joined rest, and none will come. `tests/models` runs this
//! file under a model checker.

use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// One member in the count of those that have joined; below it, those that rest are counted.
const JOINED: usize = 1 << 16;

/// Alone on its cache lines.
#[repr(align(128))]
struct Line<T>(T);

pub(crate) struct Rests {
    counts: Line<AtomicUsize>,
    over: Line<AtomicBool>,
}

impl Rests {
    /// Of one member, which has work.
    pub(crate) fn new() -> Self {
        Self { counts: Line(AtomicUsize::new(JOINED)), over: Line(AtomicBool::new(false)) }
    }
    /// One more member comes, and does not rest yet.
    pub(crate) fn join(&self) {
        self.counts.0.fetch_add(JOINED, Ordering::AcqRel);
    }
    /// A member has nothing to do.
    pub(crate) fn rest(&self) {
        let counts = self.counts.0.fetch_add(1, Ordering::AcqRel) + 1;
        if counts / JOINED == counts % JOINED {
            self.end();
        }
    }
    /// A member that rests is about to take something.
    pub(crate) fn rise(&self) {
        self.counts.0.fetch_sub(1, Ordering::AcqRel);
    }
    /// How many rest.
    pub(crate) fn resting(&self) -> usize {
        self.counts.0.load(Ordering::Relaxed) % JOINED
    }
    /// Ends it, whatever there is to do.
    pub(crate) fn end(&self) {
        self.over.0.store(true, Ordering::Release);
    }
    /// Whether all have rested, or it was ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.0.load(Ordering::Acquire)
    }
}
