//! Shortest paths by threads that do not wait for each other: every member has buckets of its own, works off the nearest of them, shows others
//! what is in it, and takes what others show where that is nearer than what it has itself.
//!
//! Method: delta-stepping without steps, with work taken by its distance (M. D'Antonio, T. S. Mai, P. Tsigas and H. Vandierendonck, "Wasp:
//! Efficient asynchronous single-source shortest path on multicore systems via work stealing", SC 2025). A member that is ahead of others may
//! find distances that are too large: whoever finds smaller ones queues the vertices again. That is more work where most arcs improve something
//! at first, as in graphs of many arcs a vertex, and little where there are few; and no one waits at the end of a bucket.
//!
//! # Invariants
//! As of `arcs`; what is queued may lie in a bucket that is too near, which costs time and nothing else. A member rests when nothing that it queued or
//! took is left; when all that have come rest, no valid entry is left, and the distances are final. They do not depend on who found them.
#![allow(unsafe_code)]

use super::arcs::{Arcs, Places, Task};
use super::distance::Native;
use crate::sync::{AtomicU64, Ordering, Wait};
use crate::team::{Rests, Team};
use crate::trace;
use bitgraph_backend::{Error, Result};
use bitgraph_semiring::Scalar;
use crossbeam_deque::{Steal, Stealer, Worker};

/// Entries that are shown, and taken, together.
const CHUNK: usize = if cfg!(test) { 4 } else { 64 };
/// The smallest of these where others have nothing to do.
const SMALLEST: usize = if cfg!(test) { 1 } else { 16 };
/// Others that a member looks at before it goes on to a bucket of its own.
const LOOKS: usize = 4;
/// Chunks that a member keeps to fill them again.
const SPARE: usize = 256;
/// Buckets between two looks at whether the search was cancelled.
const REPORT: u32 = 16;

/// Vertices with distances at which they were queued.
type Chunk<D> = Vec<(D, u32)>;

/// Alone on its cache lines.
#[repr(align(128))]
struct Line<T>(T);

/// What a member keeps from run to run.
#[derive(Debug)]
pub(crate) struct Own<D> {
    places: Places<D>,
    batch: Chunk<D>,
    /// What others may take.
    shown: Worker<Chunk<D>>,
    spare: Vec<Chunk<D>>,
    /// The search that these are of.
    run: u64,
}

impl<D: Native> Own<D> {
    fn new() -> Self {
        Self { places: Places::new(), batch: Vec::new(), shown: Worker::new_lifo(), spare: Vec::new(), run: 0 }
    }
    /// Begins a search, whatever is left of one that was cancelled.
    fn begin(&mut self, run: u64) {
        if self.run != run {
            self.run = run;
            self.places.clear();
            self.batch.clear();
            while self.shown.pop().is_some() {}
        }
    }
}

/// Fills `dist`, which holds the largest value everywhere, on a team. With a target, distances above the target's are upper bounds.
///
/// # Errors
/// [`Error::Cancelled`].
pub(crate) fn search<G: Arcs>(task: &Task<'_, G>, team: &Team<'_>, dist: &mut [G::D], own: &mut Vec<Own<G::D>>) -> Result<()> {
    trace::enter("sssp: by several at will");
    let members = team.workers();
    own.resize_with(members.max(own.len()), Own::new);
    dist[task.source as usize] = G::D::ZERO;
    let run = Run {
        task,
        dist: G::D::cells(dist),
        run: own[0].run + 1,
        shown: own[..members].iter().map(|own| own.shown.stealer()).collect(),
        levels: (0..members).map(|_| Line(AtomicU64::new(u64::MAX))).collect(),
        rests: Rests::new(),
        own: own.as_mut_ptr(),
    };
    // As many chunks as workers: each keeps its own until the search is over.
    team.run(members, |worker, _| run.member(worker, team));
    if task.control.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}

struct Run<'a, G: Arcs> {
    task: &'a Task<'a, G>,
    dist: &'a [<G::D as Native>::Cell],
    run: u64,
    /// What each member shows.
    shown: Vec<Stealer<Chunk<G::D>>>,
    /// And of which bucket it is.
    levels: Vec<Line<AtomicU64>>,
    rests: Rests,
    /// What belongs to the members.
    own: *mut Own<G::D>,
}

// SAFETY: a member touches its own, and of others what they show.
unsafe impl<G: Arcs> Sync for Run<'_, G> {}

/// Ends the search, after a panic as well.
struct End<'a>(&'a Rests);
impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<G: Arcs> Run<'_, G> {
    /// What one member does, from the time it comes until the search is over.
    fn member(&self, me: usize, team: &Team<'_>) {
        if self.rests.is_over() {
            return;
        }
        let _end = End(&self.rests);
        // SAFETY: a worker has a number of its own.
        let own = unsafe { &mut *self.own.add(me) };
        own.begin(self.run);
        if me == 0 {
            own.places.bins.push(0, G::D::ZERO, self.task.source);
        } else {
            self.rests.join();
        }
        let (mut buckets, mut last) = (0u32, me);
        while !self.rests.is_over() {
            if let Some(chunk) = own.shown.pop() {
                self.expand(own, chunk);
                continue;
            }
            buckets += 1;
            if me == 0 && !self.tend(team, own, buckets) {
                return;
            }
            let first = own.places.bins.first();
            let looks = if first.is_some() { LOOKS } else { self.shown.len() };
            if let Some(chunk) = self.take(me, first.unwrap_or(u64::MAX), looks, &mut last) {
                self.expand(own, chunk);
            } else if let Some(key) = first {
                self.bucket(me, own, key);
            } else if let Some(chunk) = self.wait(me, team, own, &mut last) {
                self.expand(own, chunk);
            }
        }
    }
    /// What the leader does now and then; false if the search was cancelled.
    fn tend(&self, team: &Team<'_>, own: &mut Own<G::D>, buckets: u32) -> bool {
        team.tend();
        if !buckets.is_multiple_of(REPORT) {
            return true;
        }
        self.task.control.report(own.places.bins.first().unwrap_or(0), None);
        !self.task.control.is_cancelled()
    }
    /// Works off a bucket of one's own: shows most of it if it is large, and begins with the rest.
    fn bucket(&self, me: usize, own: &mut Own<G::D>, key: u64) {
        own.places.bins.advance(key);
        let mut batch = std::mem::take(&mut own.batch);
        own.places.bins.swap(key, &mut batch);
        let piece = match self.rests.resting() {
            0 => CHUNK,
            resting => (batch.len() / (2 * resting + 2)).clamp(SMALLEST, CHUNK),
        };
        if self.shown.len() > 1 && batch.len() >= 2 * piece {
            self.levels[me].0.store(key, Ordering::Relaxed);
            for part in batch[piece..].chunks(piece) {
                let mut chunk = own.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
                chunk.extend_from_slice(part);
                own.shown.push(chunk);
            }
            batch.truncate(piece);
        }
        self.relax(own, &mut batch);
        own.batch = batch;
    }
    /// Relaxes the arcs of a chunk, and keeps it to fill it again.
    fn expand(&self, own: &mut Own<G::D>, mut chunk: Chunk<G::D>) {
        self.relax(own, &mut chunk);
        if own.spare.len() < SPARE {
            own.spare.push(chunk);
        }
    }
    /// Relaxes the arcs of entries, and empties the list.
    fn relax(&self, own: &mut Own<G::D>, entries: &mut Chunk<G::D>) {
        let mut out = own.places.out(self.dist, false, self.shown.len() == 1);
        if let Some(target) = self.task.target {
            // Where arcs may have length 0, what is as far as the target leads to more that is.
            let end = out.known(target);
            entries.retain(|&(distance, _)| distance <= end);
        }
        // The first make some of the next stale.
        entries.chunks(CHUNK).for_each(|entries| self.task.graph.expand(entries, u64::MAX, &mut out));
        entries.clear();
    }
    /// Takes a chunk of a bucket before `limit` from one of the next so many others, beginning with the one behind `last`.
    fn take(&self, me: usize, limit: u64, looks: usize, last: &mut usize) -> Option<Chunk<G::D>> {
        let members = self.shown.len();
        for _ in 0..looks {
            let from = (*last + 1) % members;
            *last = from;
            if from == me || self.levels[from].0.load(Ordering::Relaxed) >= limit {
                continue;
            }
            let shown = &self.shown[from];
            while !shown.is_empty() {
                if let Steal::Success(chunk) = shown.steal() {
                    // The same is asked first the next time.
                    *last = (from + members - 1) % members;
                    return Some(chunk);
                }
            }
        }
        None
    }
    /// Waits until someone shows something, and takes it; none if the search is over.
    fn wait(&self, me: usize, team: &Team<'_>, own: &mut Own<G::D>, last: &mut usize) -> Option<Chunk<G::D>> {
        self.rests.rest();
        let (mut wait, mut moments) = (Wait::default(), 0u32);
        while !self.rests.is_over() {
            if self.shown.iter().any(|shown| !shown.is_empty()) {
                self.rests.rise();
                let taken = self.take(me, u64::MAX, self.shown.len(), last);
                if taken.is_some() {
                    return taken;
                }
                self.rests.rest();
            }
            wait.turn();
            moments = moments.wrapping_add(1);
            if me == 0 && !self.tend(team, own, moments) {
                self.rests.end();
            }
        }
        None
    }
}
