//! Trainings side by side: each in a pool with its share of the caller's threads.
//!
//! Invariant: what a job gives does not depend on how many run at once, nor on which pool it runs in, for no result of a backend depends on the
//! number of threads.

use rayon::{ThreadPool, ThreadPoolBuilder, current_num_threads};
use std::sync::Mutex;

/// Pools that jobs run in side by side.
pub struct Abreast {
    /// None where jobs run one after the other, in the caller's pool.
    pools: Vec<ThreadPool>,
}

impl Abreast {
    /// Pools for so many jobs at once, at most one for each of the caller's threads, which they share evenly. Where fewer threads can be started
    /// than are wanted, fewer jobs run at once.
    #[must_use]
    pub fn new(width: usize) -> Self {
        let threads = current_num_threads();
        let width = width.clamp(1, threads);
        if width == 1 {
            return Self { pools: Vec::new() };
        }
        let share = |k: usize| threads * (k + 1) / width - threads * k / width;
        Self { pools: (0..width).map_while(|k| ThreadPoolBuilder::new().num_threads(share(k)).build().ok()).collect() }
    }
    /// How many jobs run at once.
    #[must_use]
    pub fn width(&self) -> usize {
        self.pools.len().max(1)
    }
    /// What every job gives, in the order of the jobs. Jobs are begun in that order; after a failure no further one is begun, and the failure of
    /// the first of those that failed is given.
    ///
    /// # Errors
    /// Those of the jobs.
    pub fn run<J: Send, R: Send, E: Send>(&self, jobs: Vec<J>, run: impl Fn(J) -> Result<R, E> + Sync) -> Result<Vec<R>, E> {
        if self.pools.len() < 2 || jobs.len() < 2 {
            return jobs.into_iter().map(run).collect();
        }
        let mut results: Vec<Option<Result<R, E>>> = jobs.iter().map(|_| None).collect();
        // A thread that panicked took its job with it: what is left in the queue is whole.
        let queue = Mutex::new((jobs.into_iter().zip(results.iter_mut()), false));
        let next = || {
            let mut queue = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if queue.1 { None } else { queue.0.next() }
        };
        std::thread::scope(|scope| {
            for pool in &self.pools {
                let (next, queue, run) = (&next, &queue, &run);
                scope.spawn(move || {
                    while let Some((job, result)) = next() {
                        let made = pool.install(|| run(job));
                        if made.is_err() {
                            queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1 = true;
                        }
                        *result = Some(made);
                    }
                });
            }
        });
        drop(queue);
        // Those that were not begun come after one that failed.
        results.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_back_in_order_and_the_first_failure_ends_them() {
        let pool = ThreadPoolBuilder::new().num_threads(5).build().unwrap();
        for width in [1, 2, 3, 5, 9] {
            let abreast = pool.install(|| Abreast::new(width));
            assert_eq!(abreast.width(), width.min(5));
            let share = abreast.run((0..20).collect(), |k: u32| Ok::<_, u32>((k * k, current_num_threads()))).unwrap();
            assert_eq!(share.iter().map(|(k, _)| *k).collect::<Vec<_>>(), (0..20).map(|k| k * k).collect::<Vec<_>>());
            if width > 1 {
                assert!(share.iter().all(|(_, threads)| (5 / abreast.width()..=5usize.div_ceil(abreast.width())).contains(threads)));
            }
            let failed = abreast.run((0..20).collect(), |k: u32| if k % 7 == 3 { Err(k) } else { Ok(k) });
            assert_eq!(failed, Err(3));
            assert_eq!(abreast.run(Vec::<u32>::new(), Ok::<_, u32>), Ok(Vec::new()));
        }
    }
}
