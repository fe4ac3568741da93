//! The lock-free structures of the crate under a model checker: every interleaving of two threads, and every value that
//! the memory orders allow a load to see.
//!
//! Invariant: the files checked are those that the crate is made of, over loom's atomics and cells in place of the standard library's
//! ([`sync`]). A model fails if a memory order that it needs is weakened, or a compare-and-swap becomes a store.

// A model uses a part of each file.
#![allow(dead_code)]

mod crew;
mod forest;
mod meeting;
mod packed;
mod pair;
mod rests;
mod team;

/// What the files find as `crate::sync`.
mod sync {
    #[allow(clippy::unsafe_removed_from_name)] // as the crate itself names it
    pub(crate) use loom::cell::UnsafeCell as Cell;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    use loom::thread::yield_now;

    /// Whoever has not begun when another is done is late.
    pub(crate) const PROMPT: usize = 1;

    pub(crate) fn offer() -> bool {
        yield_now();
        true
    }

    /// Another thread has its turn, however long the wait.
    #[derive(Default)]
    pub(crate) struct Wait {
        turns: usize,
    }
    impl Wait {
        pub(crate) fn turn(&mut self) {
            self.turns += 1;
            yield_now();
        }
    }
}

/// Cores, of which a model knows nothing.
mod place {
    pub(crate) fn current() -> Option<usize> {
        None
    }
    pub(crate) fn leave(_: usize) {}
}

/// Checks every execution in which a thread is interrupted at most so often where it need not wait.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}
