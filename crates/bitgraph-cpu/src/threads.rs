//! How many of the current pool's threads a run may use: what the plan says, for as long as the run goes on.
//!
//! Invariant: a limit holds on the thread that runs the algorithm; its phases hand out no more shares than that.

use std::cell::Cell;

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The threads that a run on this thread may use, itself included: none beyond the cores. Tests use them all, whatever the machine has.
pub(crate) fn allowed() -> usize {
    LIMIT.get().min(if cfg!(test) { rayon::current_num_threads() } else { available() }).max(1)
}

/// The threads of the current pool that can run at a time: those beyond the cores only take turns with the others.
pub(crate) fn available() -> usize {
    rayon::current_num_threads().min(crate::place::cores())
}

/// Runs `work` with at most so many threads; 0 leaves it at those of the pool.
pub(crate) fn limited<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _restore = Restore(LIMIT.replace(if threads == 0 { usize::MAX } else { threads }));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_with_its_run() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            assert_eq!(allowed(), 3);
            assert_eq!(limited(2, || (allowed(), limited(0, allowed))), (2, 3));
            let caught = std::panic::catch_unwind(|| limited(1, || panic!("in the middle")));
            assert!(caught.is_err() && allowed() == 3);
        });
    }
}
