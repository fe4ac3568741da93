//! Which variants a run enters, for the tests that say that it does; nothing outside of them.
//!
//! Invariant: what the threads of a [`Traced`] pool enter is recorded with that pool alone, so that tests side by side do not see each
//! other's.

/// Says that the variant of this name is entered.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn enter(_: &'static str) {}

#[cfg(test)]
pub(crate) use recorded::{Traced, enter};

#[cfg(test)]
mod recorded {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex, PoisonError};

    type Names = Arc<Mutex<BTreeSet<&'static str>>>;

    thread_local! {
        /// The record of the pool that the thread is of.
        static RECORD: RefCell<Option<Names>> = const { RefCell::new(None) };
    }

    /// Says that the variant of this name is entered.
    pub(crate) fn enter(name: &'static str) {
        RECORD.with_borrow(|record| {
            if let Some(names) = record {
                names.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
            }
        });
    }

    /// A pool of threads that record the variants they enter.
    pub(crate) struct Traced {
        pool: rayon::ThreadPool,
        names: Names,
    }

    impl Traced {
        /// A pool of so many threads.
        pub(crate) fn new(threads: usize) -> Self {
            let names = Names::default();
            let of_thread = names.clone();
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .start_handler(move |_| RECORD.set(Some(of_thread.clone())))
                .build()
                .expect("a pool");
            Self { pool, names }
        }
        /// Runs `f` on the pool; what it returns, and the names that were entered meanwhile.
        pub(crate) fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> (R, BTreeSet<&'static str>) {
            let lock = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
            lock().clear();
            let result = self.pool.install(f);
            (result, std::mem::take(&mut *lock()))
        }
    }
}
