//! Two searchers that share one run: each owns alternate blocks of vertices, keeps distances and buckets of its own, and sends what
//! it finds for the other's vertices once per bucket. No atomic operation but one store and one wait per meeting.
//!
//! # Invariants
//! As of [`Link`]. Reports and messages are kept twice, by the parity of the meeting: the other has read those of one
//! meeting when it comes to the next, so they may be written again after that. Distances of own vertices are written by their owner
//! alone, and read by the other only between two meetings between which the owner leaves them.
#![allow(unsafe_code)]

use super::link::{Link, Report};
use crate::sync::{AtomicBool, AtomicUsize, Cell, Ordering, Wait};
use bitgraph_sparse::ahead::fetch;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The first searcher leaves when it has waited for the second this long, and a quarter of the time that the run has taken, at one meeting: the
/// second does not run, and to search alone is faster.
const LATE: Duration = Duration::from_millis(1);
/// Moments of a wait between two looks at the clock.
const MOMENTS: u32 = 256;

/// Messages that there is room for at first.
const MESSAGES: usize = 1 << 10;

/// What one searcher shows the other at a meeting.
#[derive(Clone, Copy)]
struct Slot {
    report: Report,
    /// Its distances.
    dist: *const u32,
    messages: *const u64,
    count: usize,
}

#[repr(align(128))]
struct Side {
    epoch: AtomicUsize,
    gone: AtomicBool,
    slots: [Cell<Slot>; 2],
}

/// Where the two meet.
pub(crate) struct Board {
    sides: [Side; 2],
    /// log2 of the vertices of a block: owners alternate, so that any numbering spreads over both.
    block: u32,
}

// SAFETY: slots, and what they lead to, are accessed in turns, ordered by the epochs (the module's invariant).
unsafe impl Sync for Board {}

impl Board {
    /// A board for vertices owned in turns by blocks of `2^block`.
    pub fn new(block: u32) -> Self {
        let none = std::ptr::null;
        let slot = || Cell::new(Slot { report: Report::EMPTY, dist: none(), messages: std::ptr::null(), count: 0 });
        let side = || Side { epoch: AtomicUsize::new(0), gone: AtomicBool::new(false), slots: [slot(), slot()] };
        Self { sides: [side(), side()], block }
    }
}

/// One of two searchers.
pub(crate) struct Paired<'a> {
    board: &'a Board,
    me: usize,
    epoch: usize,
    messages: &'a mut [Vec<u64>; 2],
    /// The other's distances, known from the first meeting on.
    theirs: *const u32,
    /// When the run began, if this is the one that leaves where the other is late.
    since: Option<Instant>,
}

impl<'a> Paired<'a> {
    /// Searcher `me`, 0 or 1, of a board; `messages` is scratch. With the time at which the run began it leaves where the other is late.
    pub fn new(board: &'a Board, me: usize, messages: &'a mut [Vec<u64>; 2], since: Option<Instant>) -> Self {
        messages.iter_mut().for_each(Vec::clear);
        Self { board, me, epoch: 0, messages, theirs: std::ptr::null(), since }
    }
    /// Whether a wait that began at `start` is long.
    #[cold]
    fn is_late(&self, start: &mut Option<Instant>) -> bool {
        let Some(since) = self.since else { return false };
        let start = *start.get_or_insert_with(Instant::now);
        start.elapsed() > LATE + since.elapsed() / 4
    }
    fn blocks_of(&self, side: usize, nodes: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let block = self.board.block;
        (side << block..nodes).step_by(2 << block).map(move |start| start..nodes.min(start + (1 << block)))
    }
}

impl Drop for Paired<'_> {
    fn drop(&mut self) {
        // The other may still read what was sent at the last meeting, which must not be freed or written until it has left as well. One
        // that leaves early, by an error or a panic, is not waited for at a meeting: the other leaves when it comes to its next.
        self.board.sides[self.me].gone.store(true, Ordering::Release);
        let mut wait = Wait::default();
        while !self.board.sides[1 - self.me].gone.load(Ordering::Acquire) {
            wait.turn();
        }
    }
}

impl Link for Paired<'_> {
    const ALONE: bool = false;
    #[inline(always)]
    fn owns(&self, vertex: u32) -> bool {
        (vertex >> self.board.block & 1) as usize == self.me
    }
    fn leads(&self) -> bool {
        self.me == 0
    }
    #[inline(always)]
    fn blocks(&self, nodes: usize) -> impl Iterator<Item = Range<usize>> {
        self.blocks_of(self.me, nodes)
    }
    #[inline(always)]
    fn send_if(&mut self, vertex: u32, distance: u32, really: bool) {
        let messages = &mut self.messages[self.epoch & 1];
        if messages.len() == messages.capacity() {
            messages.reserve(MESSAGES);
        }
        messages.spare_capacity_mut()[0].write(u64::from(distance) << 32 | u64::from(vertex));
        // SAFETY: there is room for one more, which was just written.
        unsafe { messages.set_len(messages.len() + usize::from(really)) };
    }
    #[inline(always)]
    fn meet(&mut self, dist: *const u32, report: Report, mut deliver: impl FnMut(u32, u32)) -> Report {
        let parity = self.epoch & 1;
        let (own, other) = (&self.board.sides[self.me], &self.board.sides[1 - self.me]);
        let messages = &self.messages[parity];
        let slot = Slot { report, dist, messages: messages.as_ptr(), count: messages.len() };
        // SAFETY: the other reads this slot only between this meeting and the next.
        own.slots[parity].with_mut(|own| unsafe { *own = slot });
        self.epoch += 1;
        own.epoch.store(self.epoch, Ordering::Release);
        let (mut wait, mut moments, mut start) = (Wait::default(), 0, None);
        while other.epoch.load(Ordering::Acquire) < self.epoch {
            moments += 1;
            if other.gone.load(Ordering::Acquire) && other.epoch.load(Ordering::Acquire) < self.epoch
                || moments % MOMENTS == 0 && self.is_late(&mut start)
            {
                return Report { stop: true, ..report };
            }
            wait.turn();
        }
        // SAFETY: the other wrote this slot and these messages before it stored its epoch, and leaves them until the next
        // meeting but one.
        let theirs = other.slots[parity].with(|slot| unsafe { *slot });
        if theirs.count > 0 {
            // SAFETY: as above.
            let messages = unsafe { std::slice::from_raw_parts(theirs.messages, theirs.count) };
            for (i, &message) in messages.iter().enumerate() {
                fetch(dist.wrapping_add(messages[(i + 8).min(messages.len() - 1)] as u32 as usize));
                deliver(message as u32, (message >> 32) as u32);
            }
        }
        self.theirs = theirs.dist;
        // The other has read these, or it would not be here.
        self.messages[self.epoch & 1].clear();
        let r = theirs.report;
        Report {
            live: report.live + r.live,
            settled: report.settled + r.settled,
            open: report.open + r.open,
            open_size: report.open_size + r.open_size,
            nearest: report.nearest.min(r.nearest),
            pending: report.pending | r.pending,
            found: report.found | r.found,
            stop: report.stop | r.stop,
        }
    }
    fn adopt(&mut self, dist: *mut u32, nodes: usize, now: u32) {
        for block in self.blocks_of(1 - self.me, nodes) {
            // SAFETY: both arrays have an element per vertex; the other wrote these before the last meeting, and again after the one
            // below at the earliest, being here itself.
            let (own, theirs) = unsafe {
                let theirs = std::slice::from_raw_parts(self.theirs.add(block.start), block.len());
                (std::slice::from_raw_parts_mut(dist.add(block.start), block.len()), theirs)
            };
            for (own, &theirs) in own.iter_mut().zip(theirs) {
                *own = if theirs < now { theirs } else { *own };
            }
        }
        self.meet(dist, Report::EMPTY, |_, _| {});
    }
}
