//! A team of threads that runs many short phases, one after the other, without going to sleep in between.
//!
//! A fused algorithm has phases of microseconds; waking a sleeping thread takes longer than that. The leader occupies the
//! pool's other threads once, and they poll for its phases until it is done. A phase is a number of chunks; every chunk is
//! run exactly once, by whichever member claims it, first of all the member whose share it is, so that data stays near. A helper
//! that the system woke on the leader's core is let run there once, and moves to another ([`crate::place`]).
//!
//! Invariants: the leader alone can finish any phase, so a helper that comes late, or never, delays nobody; a phase has ended
//! for everybody when [`Team::run`] returns.
#![allow(unsafe_code)]

use crate::{place, threads};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The phase can be joined.
const OPEN: u64 = 1;
/// There will be no more phases.
const EXIT: u64 = 2;
/// One helper in the phase.
const HELPER: u64 = 4;
/// The number of the phase counts in these.
const PHASE: u64 = 1 << 20;
/// The helpers in the phase.
const HELPERS: u64 = PHASE - HELPER;
/// Polls before a thread offers its core to others.
const POLLS: u32 = 1 << 13;
/// Phases in which the leader offers its core to helpers that have not come.
const PATIENCE: u64 = 64;

/// What members do with a chunk: `work(member, chunk)`.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// The next chunk of a member's share, alone on its cache lines.
#[repr(align(128))]
struct Cursor(AtomicUsize);

struct Shared {
    state: AtomicU64,
    cursors: Vec<Cursor>,
    /// Helpers that have come.
    present: AtomicUsize,
    /// The core that the leader last offered.
    offered: AtomicUsize,
    job: UnsafeCell<Option<(*const Work<'static>, usize)>>,
}

// SAFETY: the job is written by the leader only while the phase is closed and without helpers, and read by helpers only
// between joining and leaving an open phase; `state` orders the two.
unsafe impl Sync for Shared {}

/// Where the share of `member` ends when `chunks` are dealt to `members`.
fn share(member: usize, members: usize, chunks: usize) -> usize {
    member * chunks / members
}

/// Waits a moment: a pause at first, then the core is offered to others.
fn pause(polls: &mut u32) {
    *polls += 1;
    if *polls < POLLS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

impl Shared {
    /// Claims and runs chunks until there are none left: the member's own share first, then those of the others.
    fn claim(&self, member: usize, work: &Work<'_>, chunks: usize) {
        let members = self.cursors.len();
        for k in 0..members {
            let owner = (member + k) % members;
            let end = share(owner + 1, members, chunks);
            loop {
                let chunk = self.cursors[owner].0.fetch_add(1, Ordering::Relaxed);
                if chunk >= end {
                    break;
                }
                work(member, chunk);
            }
        }
    }
    /// A helper's life: joins every phase that it sees, until there are no more.
    fn help(&self, member: usize) {
        self.present.fetch_add(1, Ordering::Relaxed);
        // Woken behind the leader on its core, a helper would wait for it to end.
        place::leave(self.offered.load(Ordering::Relaxed));
        let (mut seen, mut polls) = (0, 0);
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & EXIT != 0 {
                return;
            }
            let phase = state / PHASE;
            if state & OPEN == 0 || phase == seen {
                pause(&mut polls);
                continue;
            }
            if self.state.compare_exchange(state, state + HELPER, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                (seen, polls) = (phase, 0);
                let leave = Leave(self);
                // SAFETY: the phase is open and counts this helper, so the leader keeps the job alive and unchanged.
                if let Some((work, chunks)) = unsafe { *self.job.get() } {
                    // SAFETY: as above.
                    self.claim(member, unsafe { &*work }, chunks);
                }
                drop(leave);
            }
        }
    }
}

/// Leaves a phase, even by a panic.
struct Leave<'a>(&'a Shared);
impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(HELPER, Ordering::Release);
    }
}

/// Closes the phase and waits for its helpers, even after a panic: they use what the leader has borrowed.
struct Close<'a>(&'a Shared);
impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut polls = 0;
        while self.0.state.load(Ordering::Acquire) & HELPERS != 0 {
            pause(&mut polls);
        }
    }
}

/// Sends the helpers home, even after a panic.
struct Dismiss<'a>(&'a Shared);
impl Drop for Dismiss<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_or(EXIT, Ordering::Release);
    }
}

/// The leader's handle.
pub(crate) struct Team<'a> {
    shared: Option<&'a Shared>,
    members: usize,
}

impl Team<'_> {
    /// The number of members, the leader included.
    pub(crate) fn members(&self) -> usize {
        self.members
    }
    /// Runs `work(member, chunk)` once for every chunk below `chunks`; members are numbered from 0, the leader.
    pub(crate) fn run(&self, chunks: usize, work: impl Fn(usize, usize) + Sync) {
        let Some(shared) = self.shared.filter(|_| chunks > 1) else {
            (0..chunks).for_each(|chunk| work(0, chunk));
            return;
        };
        for (member, cursor) in shared.cursors.iter().enumerate() {
            cursor.0.store(share(member, self.members, chunks), Ordering::Relaxed);
        }
        let work: &Work<'_> = &work;
        // SAFETY: only the lifetime changes; `Close` ends every use of the job before `work` goes out of scope.
        let job = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        // SAFETY: the phase before is closed and without helpers, so nobody else reads or writes the job.
        unsafe { *shared.job.get() = Some((job, chunks)) };
        // Closed and without helpers: nobody else changes the state.
        let phase = shared.state.load(Ordering::Relaxed) / PHASE + 1;
        shared.state.store(phase * PHASE + OPEN, Ordering::Release);
        let close = Close(shared);
        if phase <= PATIENCE && shared.present.load(Ordering::Relaxed) + 1 < self.members {
            shared.offered.store(place::current().unwrap_or(usize::MAX), Ordering::Relaxed);
            std::thread::yield_now();
        }
        shared.claim(0, work, chunks);
        drop(close);
    }
}

/// Runs `lead` with a team of at most `wanted` threads of the current pool; with one thread, or from inside a pool of one,
/// on the calling thread without further ado.
pub(crate) fn with<R: Send>(wanted: usize, lead: impl FnOnce(&Team<'_>) -> R + Send) -> R {
    let members = wanted.min(threads::allowed()).clamp(1, 1 << 10);
    if members == 1 {
        return lead(&Team { shared: None, members });
    }
    let shared = Shared {
        state: AtomicU64::new(0),
        cursors: (0..members).map(|_| Cursor(AtomicUsize::new(0))).collect(),
        present: AtomicUsize::new(0),
        offered: AtomicUsize::new(usize::MAX),
        job: UnsafeCell::new(None),
    };
    let shared = &shared;
    rayon::scope(|scope| {
        for member in 1..members {
            scope.spawn(move |_| shared.help(member));
        }
        let _dismiss = Dismiss(shared);
        lead(&Team { shared: Some(shared), members })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_once_in_every_phase() {
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let done: Vec<AtomicUsize> = (0..37).map(|_| AtomicUsize::new(0)).collect();
            let members = pool.install(|| {
                with(usize::MAX, |team| {
                    for phase in 0..500 {
                        team.run(phase % 38, |member, chunk| {
                            assert!(member < team.members());
                            done[chunk].fetch_add(1, Ordering::Relaxed);
                        });
                        let expected = |chunk| (1..=phase).map(|p| usize::from(chunk < p % 38)).sum::<usize>();
                        if phase % 100 == 99 {
                            assert!(done.iter().enumerate().all(|(c, d)| d.load(Ordering::Relaxed) == expected(c)));
                        }
                    }
                    team.members()
                })
            });
            assert_eq!(members, threads);
        }
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let caught = pool
            .install(|| std::panic::catch_unwind(|| with(2, |team| team.run(64, |_, chunk| assert!(chunk != 40, "a chunk that fails")))));
        assert!(caught.is_err());
    }
}
