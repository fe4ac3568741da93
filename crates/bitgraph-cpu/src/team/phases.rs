//! The phases of a team: how the leader opens one, how workers join and leave it, and how chunks are claimed.
//!
//! Invariant: the job is written while the phase is closed and without workers, and read between joining and leaving an open one.
//! `tests/models` runs this file under a model checker.
#![allow(unsafe_code)]

use crate::place;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Cell, Ordering, Wait, offer};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

/// The phase can be joined.
const OPEN: u64 = 1;
/// There will be no more phases.
const EXIT: u64 = 2;
/// One worker in the phase.
const WORKER: u64 = 4;
/// The number of the phase counts in these.
const PHASE: u64 = 1 << 20;
/// The workers in the phase.
const WORKERS: u64 = PHASE - WORKER;
/// Phases in which the leader offers its core to workers that have not come.
const YIELD_PHASES: u64 = 64;

/// What workers do with a chunk: `work(worker, chunk)`.
type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// The next chunk of a worker's share, alone on its cache lines.
#[repr(align(128))]
struct Cursor(AtomicUsize);

pub(crate) struct Shared {
    state: AtomicU64,
    cursors: Vec<Cursor>,
    /// Workers that have been woken. Changed and read by the leader alone: no model need look at it.
    woken: std::sync::atomic::AtomicUsize,
    /// Workers that have come.
    present: AtomicUsize,
    /// The core that the leader last offered.
    offered: AtomicUsize,
    job: Cell<Option<(*const Work<'static>, usize)>>,
    /// A worker has panicked, and `panic` says why.
    panicked: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the job is written by the leader only while the phase is closed and without workers, and read by workers only
// between joining and leaving an open phase; `state` orders the two.
unsafe impl Sync for Shared {}
// SAFETY: nothing is done with the job's pointer where it is dropped.
unsafe impl Send for Shared {}

/// Where the share of `worker` ends when `chunks` are dealt to `workers`.
fn share(worker: usize, workers: usize, chunks: usize) -> usize {
    worker * chunks / workers
}

impl Shared {
    /// Of a team of so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            state: AtomicU64::new(0),
            cursors: (0..workers).map(|_| Cursor(AtomicUsize::new(0))).collect(),
            woken: 0.into(),
            present: AtomicUsize::new(0),
            offered: AtomicUsize::new(usize::MAX),
            job: Cell::new(None),
            panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
        }
    }
    /// The number of workers, the leader included.
    pub(crate) fn workers(&self) -> usize {
        self.cursors.len()
    }
    /// The workers that have been woken; the leader, who is none of them, says so beforehand.
    pub(crate) fn woken(&self) -> usize {
        self.woken.load(Ordering::Relaxed)
    }
    /// So many workers are about to be woken in all.
    pub(crate) fn will_wake(&self, workers: usize) {
        self.woken.store(workers, Ordering::Relaxed);
    }
    /// Whether there will be no more phases.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & EXIT != 0
    }
    /// Claims and runs chunks until there are none left: the worker's own share first, then those of the others.
    fn claim(&self, worker: usize, work: &Work<'_>, chunks: usize) {
        let workers = self.cursors.len();
        for k in 0..workers {
            let owner = (worker + k) % workers;
            let end = share(owner + 1, workers, chunks);
            let next = &self.cursors[owner].0;
            // Looked at first: an addition takes the cache line from whoever is claiming.
            while next.load(Ordering::Relaxed) < end {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= end {
                    break;
                }
                work(worker, chunk);
            }
        }
    }
    /// A worker's life: joins every phase that it sees, until there are no more.
    pub(crate) fn serve(&self, worker: usize) {
        self.present.fetch_add(1, Ordering::Relaxed);
        // Woken behind the leader on its core, a worker would wait for it to end.
        place::leave(self.offered.load(Ordering::Relaxed));
        let (mut seen, mut wait) = (0, Wait::default());
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & EXIT != 0 {
                return;
            }
            let phase = state / PHASE;
            if state & OPEN == 0 || phase == seen {
                wait.turn();
                continue;
            }
            if self.state.compare_exchange(state, state + WORKER, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                (seen, wait) = (phase, Wait::default());
                let leave = Leave(self);
                // SAFETY: the phase is open and counts this worker, so the leader keeps the job alive and unchanged.
                if let Some((work, chunks)) = self.job.with(|job| unsafe { *job }) {
                    // SAFETY: as above.
                    let claim = AssertUnwindSafe(|| self.claim(worker, unsafe { &*work }, chunks));
                    if let Err(panic) = catch_unwind(claim) {
                        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
                        self.panicked.store(true, Ordering::Relaxed);
                    }
                }
                drop(leave);
            }
        }
    }
}

/// Leaves a phase.
struct Leave<'a>(&'a Shared);
impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(WORKER, Ordering::Release);
    }
}

/// Closes the phase and waits for its workers, even after a panic: they use what the leader has borrowed.
struct Close<'a>(&'a Shared);
impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut wait = Wait::default();
        while self.0.state.load(Ordering::Acquire) & WORKERS != 0 {
            wait.turn();
        }
    }
}

/// Sends the workers home, even after a panic.
pub(crate) struct Dismiss<'a>(pub(crate) &'a Shared);
impl Drop for Dismiss<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_or(EXIT, Ordering::Release);
    }
}

/// The leader's handle.
pub(crate) struct Team<'a> {
    shared: Option<&'a Shared>,
    workers: usize,
    /// What the leader does between chunks.
    between: Option<&'a (dyn Fn() + Sync)>,
}

impl<'a> Team<'a> {
    /// Of the leader alone.
    pub(crate) fn alone() -> Self {
        Self { shared: None, workers: 1, between: None }
    }
    /// Of the leader, and of those that serve `shared`. The leader does `between` before every phase, and after every chunk.
    pub(crate) fn of(shared: &'a Shared, between: Option<&'a (dyn Fn() + Sync)>) -> Self {
        Self { shared: Some(shared), workers: shared.cursors.len(), between }
    }
    /// The number of workers, the leader included.
    pub(crate) fn workers(&self) -> usize {
        self.workers
    }
    /// The workers that are there or have been woken, the leader included.
    pub(crate) fn coming(&self) -> usize {
        self.shared.map_or(1, |shared| shared.woken() + 1)
    }
    /// What the leader does between chunks, in the middle of one that lasts.
    pub(crate) fn tend(&self) {
        if let Some(between) = self.between {
            between();
        }
    }
    /// Runs `work(worker, chunk)` once for every chunk below `chunks`; workers are numbered from 0, the leader.
    ///
    /// # Panics
    /// As `work` does, on whichever thread.
    pub(crate) fn run(&self, chunks: usize, work: impl Fn(usize, usize) + Sync) {
        let Some(shared) = self.shared.filter(|_| chunks > 1) else {
            (0..chunks).for_each(|chunk| work(0, chunk));
            return;
        };
        if let Some(between) = self.between {
            between();
        }
        for (worker, cursor) in shared.cursors.iter().enumerate() {
            cursor.0.store(share(worker, self.workers, chunks), Ordering::Relaxed);
        }
        let work: &Work<'_> = &work;
        // SAFETY: only the lifetime changes; `Close` ends every use of the job before `work` goes out of scope.
        let job = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        // SAFETY: the phase before is closed and without workers, so no other thread reads or writes the job.
        shared.job.with_mut(|slot| unsafe { *slot = Some((job, chunks)) });
        // Closed and without workers: no other thread changes the state.
        let phase = shared.state.load(Ordering::Relaxed) / PHASE + 1;
        shared.state.store(phase * PHASE + OPEN, Ordering::Release);
        let close = Close(shared);
        if phase <= YIELD_PHASES && shared.present.load(Ordering::Relaxed) < shared.woken() {
            shared.offered.store(place::current().unwrap_or(usize::MAX), Ordering::Relaxed);
            offer();
        }
        match self.between {
            None => shared.claim(0, work, chunks),
            Some(between) => shared.claim(0, &|worker, chunk| (work(worker, chunk), between()).1, chunks),
        }
        drop(close);
        // Ordered by the worker's leave.
        if shared.panicked.load(Ordering::Relaxed) {
            let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            resume_unwind(panic.unwrap_or_else(|| Box::new("a worker of the team panicked")));
        }
    }
}
