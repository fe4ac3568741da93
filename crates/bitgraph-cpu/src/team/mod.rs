//! A team of threads that runs many short phases, one after the other, without going to sleep in between.
//!
//! A fused algorithm has phases of microseconds; waking a sleeping thread takes longer than that, for the one that wakes as well. So the
//! leader wakes one thread of the pool, and each that wakes does so with two more before it serves: the team grows while there is work, and
//! a run that ends before it has grown has paid for one. Those that wake later find the team dismissed and no one waits for them. A phase
//! is a number of chunks; every chunk is run exactly once, by whichever worker claims it, first of all the worker whose share it is, so that
//! data stays near. A worker that the system woke on the leader's core is let run there once, and moves to another ([`crate::place`]).
//!
//! Invariants: the leader alone can finish any phase, so a worker that comes late, or never, does not block it; a phase has ended
//! for all workers when [`Team::run`] returns; nothing of the leader's is used after it.

mod crew;
mod phases;
mod rests;

pub(crate) use crew::{Crew, Leader, Turn, parts_of};
pub(crate) use phases::Team;
pub(crate) use rests::Rests;

use phases::{Dismiss, Shared};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs `lead` with a team of at most `wanted` threads of the current pool; with one thread, or from inside a pool of one,
/// on the calling thread without further ado.
pub(crate) fn with<R>(wanted: usize, lead: impl FnOnce(&Team<'_>) -> R) -> R {
    with_growth(wanted, None, lead)
}

/// As [`with`]; of a run that began at `since` the leader begins alone, and the more threads it wakes the longer the run lasts. A team of two
/// comes at once: one thread more never made a run much longer.
pub(crate) fn with_growth<R>(wanted: usize, since: Option<Instant>, lead: impl FnOnce(&Team<'_>) -> R) -> R {
    let workers = wanted.min(crate::threads::allowed()).clamp(1, 1 << 10);
    if workers == 1 {
        return lead(&Team::alone());
    }
    let shared = Arc::new(Shared::new(workers));
    let _dismiss = Dismiss(&shared);
    let Some(since) = since.filter(|_| workers > 2) else {
        shared.will_wake(workers - 1);
        hire(&shared, 1);
        return lead(&Team::of(&shared, None));
    };
    let between = || grow(&shared, since);
    lead(&Team::of(&shared, Some(&between)))
}

/// Runs `lead` on this thread as the leader of a crew, and `follow` on every worker of the team that comes meanwhile.
pub(crate) fn together<P: Copy + Send, S: Copy + Send, R: Send>(
    team: &Team<'_>,
    lead: impl FnOnce(Leader<'_, P, S>) -> R + Send,
    follow: impl Fn(&Crew<P, S>) + Sync,
) -> Option<R> {
    let crew = Crew::new(team.workers());
    let (lead, result) = (Mutex::new(Some(lead)), Mutex::new(None));
    // A worker that follows keeps its chunk until the end, so that one of as many chunks as workers is left for the leader.
    team.run(team.workers(), |worker, _| {
        if worker != 0 {
            follow(&crew);
        } else if let Some(lead) = lead.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let found = lead(crew.lead());
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A run that has taken this long is worth a second thread; one that has taken twice as long two more, and so on. To wake a thread takes
/// some microseconds, and one that serves slows others down: on 16 cores a search of 54 us took 82 with all of them.
const DOUBLING: Duration = Duration::from_micros(40);

/// Wakes as many threads as a run that began at `since` is worth by now.
fn grow(shared: &Arc<Shared>, since: Instant) {
    let before = shared.woken();
    if before + 1 == shared.workers() {
        return;
    }
    let doublings = since.elapsed().as_nanos() / DOUBLING.as_nanos();
    let workers = (1 << doublings.min(10)).min(shared.workers());
    if workers <= before + 1 {
        return;
    }
    shared.will_wake(workers - 1);
    for worker in before + 1..workers {
        let shared = shared.clone();
        rayon::spawn(move || {
            if !shared.is_dismissed() {
                shared.serve(worker);
            }
        });
    }
}

/// Wakes a thread of the pool for a worker; it wakes those for the workers of twice its number.
fn hire(shared: &Arc<Shared>, worker: usize) {
    if worker < shared.workers() {
        let shared = shared.clone();
        rayon::spawn(move || {
            if !shared.is_dismissed() {
                hire(&shared, 2 * worker);
                hire(&shared, 2 * worker + 1);
                shared.serve(worker);
            }
        });
    }
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
    fn a_team_grows_with_the_time_that_has_passed() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        let woken_since = |since, chunks| {
            let shared = Arc::new(Shared::new(8));
            let _dismiss = Dismiss(&shared);
            let between = || grow(&shared, since);
            let sum = AtomicUsize::new(0);
            pool.install(|| Team::of(&shared, Some(&between)).run(chunks, |_, chunk| _ = sum.fetch_add(chunk, Ordering::Relaxed)));
            assert_eq!(sum.into_inner(), chunks * (chunks - 1) / 2);
            shared.woken()
        };
        assert_eq!(woken_since(Instant::now() + Duration::from_secs(60), 100), 0);
        assert_eq!(woken_since(Instant::now() - Duration::from_secs(1), 100), 7);
        // One chunk is no reason to wake anyone.
        assert_eq!(woken_since(Instant::now() - Duration::from_secs(1), 1), 0);
    }

    #[test]
    fn a_phase_that_lasts_wakes_threads_while_it_runs() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let workers = pool.install(|| {
            with_growth(3, Some(Instant::now()), |team| {
                let others = AtomicUsize::new(0);
                team.run(1 << 20, |worker, _| {
                    others.fetch_add(worker, Ordering::Relaxed);
                    if others.load(Ordering::Relaxed) == 0 {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                });
                others.into_inner()
            })
        });
        assert!(workers > 0, "no one came");
    }

    #[test]
    fn every_turn_once_whoever_is_late() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        let all = pool.install(|| {
            with(8, |team| {
                let work = |turn: &Turn<'_, (usize, usize), usize>, round: usize, posts: &[(usize, usize)]| {
                    assert!(posts.iter().enumerate().all(|(number, post)| *post == (number, round - 1)), "{round}: {posts:?}");
                    // Some hold others up, and let those that wait for a core have it.
                    if (turn.me() + round).is_multiple_of(97) {
                        std::thread::sleep(Duration::from_micros(300));
                    }
                    (turn.me(), round)
                };
                let lead = |mut leader: Leader<'_, (usize, usize), usize>| {
                    let mut posts = vec![(0, 0)];
                    (1..2000).all(|round| {
                        let turns = if round % 3 == 0 { leader.arrived() } else { leader.present(1 + round % 8, round % 5 * 2) };
                        leader.round(turns, round, &mut posts, work).is_some() && posts.len() == turns
                    })
                };
                together(team, lead, |crew: &Crew<_, _>| crew.follow(work))
            })
        });
        assert_eq!(all, Some(true));
    }

    /// Turns that a round had none of come back, with a share of their own. No member comes: the leader takes all.
    #[test]
    fn shares_of_turns_that_come_back_are_whole() {
        let crew = Crew::<(), usize>::new(5);
        let (mut leader, mut posts) = (crew.lead(), Vec::new());
        for (round, turns) in [5, 2, 5, 5, 1, 3, 1, 5, 4, 2, 3, 5, 2, 2, 5].into_iter().enumerate() {
            let total = 8 * 5 * (round + 3) + round;
            let done: Vec<AtomicUsize> = (0..total).map(|_| AtomicUsize::new(0)).collect();
            let work = |turn: &Turn<'_, (), usize>, _, _: &[()]| {
                turn.share(total, 1, |range| range.for_each(|k| _ = done[k].fetch_add(1, Ordering::Relaxed)));
            };
            leader.round(turns, round, &mut posts, work).expect("no one leaves");
            assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1), "round {round} of {turns} turns");
        }
    }

    #[test]
    fn a_panic_leaves_no_one_waiting() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let caught = pool
            .install(|| std::panic::catch_unwind(|| with(2, |team| team.run(64, |_, chunk| assert!(chunk != 40, "a chunk that fails")))));
        assert!(caught.is_err());
    }

    #[test]
    fn a_panic_of_a_worker_is_the_leaders() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let caught = pool.install(|| {
            std::panic::catch_unwind(|| {
                with(2, |team| {
                    // The leader keeps its chunk until the worker has come for its own.
                    let came = AtomicUsize::new(0);
                    team.run(2, |worker, _| {
                        came.fetch_add(1, Ordering::SeqCst);
                        while worker == 0 && came.load(Ordering::SeqCst) < 2 {
                            std::thread::yield_now();
                        }
                        assert_eq!(worker, 0, "not the leader");
                    });
                });
            })
        });
        let message = caught.unwrap_err();
        assert!(message.downcast_ref::<String>().is_some_and(|m| m.contains("not the leader")));
    }

    #[test]
    fn whoever_wakes_late_finds_no_team() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        pool.install(|| {
            for _ in 0..200 {
                let calls = AtomicUsize::new(0);
                with(4, |team| {
                    team.run(3, |_, _| {
                        calls.fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert_eq!(calls.into_inner(), 3);
            }
        });
    }
}
