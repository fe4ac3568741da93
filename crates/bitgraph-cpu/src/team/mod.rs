//! A team of threads that runs many short phases, one after the other, without going to sleep in between.
//!
//! A fused algorithm has phases of microseconds; waking a sleeping thread takes longer than that. The leader occupies the
//! pool's other threads once, and they poll for its phases until it is done. A phase is a number of chunks; every chunk is
//! run exactly once, by whichever worker claims it, first of all the worker whose share it is, so that data stays near. A worker
//! that the system woke on the leader's core is let run there once, and moves to another ([`crate::place`]).
//!
//! Invariants: the leader alone can finish any phase, so a worker that comes late, or never, does not block it; a phase has ended
//! for all workers when [`Team::run`] returns.

mod phases;

pub(crate) use phases::Team;

use phases::{Dismiss, Shared};

/// Runs `lead` with a team of at most `wanted` threads of the current pool; with one thread, or from inside a pool of one,
/// on the calling thread without further ado.
pub(crate) fn with<R: Send>(wanted: usize, lead: impl FnOnce(&Team<'_>) -> R + Send) -> R {
    let workers = wanted.min(crate::threads::allowed()).clamp(1, 1 << 10);
    if workers == 1 {
        return lead(&Team::alone());
    }
    let shared = &Shared::new(workers);
    rayon::scope(|scope| {
        for worker in 1..workers {
            scope.spawn(move |_| shared.serve(worker));
        }
        let _dismiss = Dismiss(shared);
        lead(&Team::of(shared))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_chunk_once_in_every_phase() {
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let done: Vec<AtomicUsize> = (0..37).map(|_| AtomicUsize::new(0)).collect();
            let workers = pool.install(|| {
                with(usize::MAX, |team| {
                    for phase in 0..500 {
                        team.run(phase % 38, |worker, chunk| {
                            assert!(worker < team.workers());
                            done[chunk].fetch_add(1, Ordering::Relaxed);
                        });
                        let expected = |chunk| (1..=phase).map(|p| usize::from(chunk < p % 38)).sum::<usize>();
                        if phase % 100 == 99 {
                            assert!(done.iter().enumerate().all(|(c, d)| d.load(Ordering::Relaxed) == expected(c)));
                        }
                    }
                    team.workers()
                })
            });
            assert_eq!(workers, threads);
        }
    }

    #[test]
    fn a_panic_leaves_no_one_waiting() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let caught = pool
            .install(|| std::panic::catch_unwind(|| with(2, |team| team.run(64, |_, chunk| assert!(chunk != 40, "a chunk that fails")))));
        assert!(caught.is_err());
    }
}
