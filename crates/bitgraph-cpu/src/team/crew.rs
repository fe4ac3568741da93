//! A crew: workers that run one loop together in rounds, each for itself, and meet once between two rounds.
//!
//! A phase of a team is opened and closed by its leader, and its chunks are claimed one by one. Where a run has thousands of rounds of a few
//! microseconds, members post what they found instead, each to a cache line of its own; the leader reads these, and shows all of them and what
//! it has to tell in one place. What was posted is then dealt out in one range for each, in the order of the posts, so that who found things
//! that lie together goes on with them; only from large shares do others take pieces.
//!
//! # Invariants
//! All members meet equally often and decide what comes next from the posts and from what the leader tells, which are the same for all; so can
//! one that is admitted late. The leader admits who has come, and a member stays until the end. Posts, and what is shown, are kept twice, by the
//! parity of the meeting: they stay untouched until the next meeting but one, and whoever reads them has come to the next before. `tests/models`
//! runs this file under a model checker.
#![allow(unsafe_code)]

use crate::sync::{AtomicBool, AtomicUsize, Cell, Ordering, Wait};
use std::ops::Range;

/// Pieces that a share has at least if others may take some of them: to look into the shares of all others takes a microsecond.
const STEAL: usize = 8;
/// The most members.
const MEMBERS: usize = 1 << 10;

/// A post, and the meeting that it is for: with a post of 56 bytes one cache line.
#[repr(align(64))]
struct Slot<P> {
    epoch: AtomicUsize,
    post: Cell<Option<P>>,
}

/// What is read of a member.
#[repr(align(128))]
struct Side<P> {
    slots: [Slot<P>; 2],
    /// It has left.
    gone: AtomicBool,
}

/// Alone on its cache lines.
#[repr(align(64))]
struct Line<T>(T);

/// What the leader shows at a meeting: all posts, what it tells, and the members that come to the next.
struct Shown<P, S> {
    posts: Vec<P>,
    told: Option<(S, usize)>,
}

/// The pieces of a member's share that are taken, by the parity of the meeting before.
#[repr(align(128))]
struct Pieces([AtomicUsize; 2]);

/// Where a worker that has come waits: the meeting at which it is admitted, or 0.
#[repr(align(128))]
struct Start(AtomicUsize);

/// Where members meet.
pub(crate) struct Crew<P, S> {
    sides: Vec<Side<P>>,
    shown: [Line<Cell<Shown<P, S>>>; 2],
    /// The last meeting that the leader has shown.
    epoch: Line<AtomicUsize>,
    pieces: Vec<Pieces>,
    starts: Vec<Start>,
    /// Workers that have come, the leader included.
    arrived: AtomicUsize,
    /// The leader has left.
    over: AtomicBool,
}

// SAFETY: posts are written and read in turns, ordered by the epochs (the module's invariant).
unsafe impl<P: Send, S: Send> Sync for Crew<P, S> {}
// SAFETY: posts are values.
unsafe impl<P: Send, S: Send> Send for Crew<P, S> {}

impl<P: Copy, S: Copy> Crew<P, S> {
    /// For at most so many members.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, MEMBERS);
        let slot = || Slot { epoch: AtomicUsize::new(0), post: Cell::new(None) };
        let shown = || Line(Cell::new(Shown { posts: Vec::with_capacity(most), told: None }));
        Self {
            sides: (0..most).map(|_| Side { slots: [slot(), slot()], gone: AtomicBool::new(false) }).collect(),
            shown: [shown(), shown()],
            epoch: Line(AtomicUsize::new(0)),
            pieces: (0..most).map(|_| Pieces([AtomicUsize::new(0), AtomicUsize::new(0)])).collect(),
            starts: (0..most).map(|_| Start(AtomicUsize::new(0))).collect(),
            arrived: AtomicUsize::new(1),
            over: AtomicBool::new(false),
        }
    }
    /// The leader, who is a member from the start; called once.
    pub(crate) fn lead(&self) -> Member<'_, P, S> {
        Member { crew: self, me: 0, epoch: 0, members: 1 }
    }
    /// Comes as a worker, and waits to be admitted; none if the run ends first or has members enough. The posts of
    /// the meeting at which that was are put into `posts`; what the leader told there comes back.
    pub(crate) fn join(&self, posts: &mut Vec<P>) -> Option<(Member<'_, P, S>, S)> {
        if self.over.load(Ordering::Acquire) {
            return None;
        }
        let me = self.arrived.fetch_add(1, Ordering::AcqRel);
        let start = self.starts.get(me)?;
        let mut wait = Wait::default();
        let admitted = loop {
            let admitted = start.0.load(Ordering::Acquire);
            if admitted != 0 {
                break admitted;
            }
            if self.over.load(Ordering::Acquire) {
                return None;
            }
            wait.turn();
        };
        let mut member = Member { crew: self, me, epoch: admitted, members: 0 };
        let told = member.read(posts)?;
        Some((member, told))
    }
}

/// One of a crew.
pub(crate) struct Member<'a, P: Copy, S: Copy> {
    crew: &'a Crew<P, S>,
    me: usize,
    epoch: usize,
    members: usize,
}

impl<P: Copy, S: Copy> Member<'_, P, S> {
    /// The number of this member; 0 is the leader.
    pub(crate) fn me(&self) -> usize {
        self.me
    }
    /// The members of this round.
    pub(crate) fn members(&self) -> usize {
        self.members
    }
    /// Posts, and waits until all others have; their posts, and this member's among them, are put into `posts` in order of the members. What the
    /// leader told comes back; of others `tell` is nothing. None if one has left instead of coming: the run is over. The leader admits workers
    /// that have come.
    pub(crate) fn meet(&mut self, post: P, tell: S, posts: &mut Vec<P>) -> Option<S> {
        let (crew, epoch) = (self.crew, self.epoch + 1);
        self.epoch = epoch;
        crew.pieces[self.me].0[epoch & 1].store(0, Ordering::Relaxed);
        if self.me == 0 {
            self.show(post, tell)?;
        } else {
            let slot = &crew.sides[self.me].slots[epoch & 1];
            // SAFETY: the leader has read the post before the last; it reads this one after the epoch.
            slot.post.with_mut(|slot| unsafe { *slot = Some(post) });
            slot.epoch.store(epoch, Ordering::Release);
            let mut wait = Wait::default();
            while crew.epoch.0.load(Ordering::Acquire) < epoch {
                if crew.over.load(Ordering::Acquire) && crew.epoch.0.load(Ordering::Acquire) < epoch {
                    return None;
                }
                wait.turn();
            }
        }
        self.read(posts)
    }
    /// The leader's part of a meeting.
    fn show(&self, post: P, tell: S) -> Option<()> {
        let (crew, epoch) = (self.crew, self.epoch);
        let next = self.members.max(crew.arrived.load(Ordering::Acquire).min(crew.sides.len()));
        crew.sides[1..self.members].iter().try_for_each(|side| {
            let slot = &side.slots[epoch & 1];
            let mut wait = Wait::default();
            while slot.epoch.load(Ordering::Acquire) < epoch {
                if side.gone.load(Ordering::Acquire) && slot.epoch.load(Ordering::Acquire) < epoch {
                    return None;
                }
                wait.turn();
            }
            Some(())
        })?;
        crew.shown[epoch & 1].0.with_mut(|shown| {
            // SAFETY: no thread reads it until the epoch is stored; all have come to this meeting, and so have read what was shown two before.
            let shown = unsafe { &mut *shown };
            shown.told = Some((tell, next));
            shown.posts.clear();
            shown.posts.push(post);
            for side in &crew.sides[1..self.members] {
                // SAFETY: the post was written before its epoch, and the next but one is not before the epoch that is stored below.
                shown.posts.extend(side.slots[epoch & 1].post.with(|post| unsafe { *post }));
            }
        });
        crew.epoch.0.store(epoch, Ordering::Release);
        for start in &crew.starts[self.members..next] {
            start.0.store(epoch, Ordering::Release);
        }
        Some(())
    }
    /// Reads what the leader shows at this meeting.
    fn read(&mut self, posts: &mut Vec<P>) -> Option<S> {
        self.crew.shown[self.epoch & 1].0.with(|shown| {
            // SAFETY: shown before the epoch that was seen, and unchanged until this member has come to the next meeting.
            let shown = unsafe { &*shown };
            posts.clear();
            posts.extend_from_slice(&shown.posts);
            let (told, members) = shown.told?;
            self.members = members;
            Some(told)
        })
    }
    /// Works off this member's share of `0..total`, which is dealt to the members in ranges in their order, and then pieces of the shares of
    /// others, if those have enough of them.
    #[inline(always)]
    pub(crate) fn share(&self, total: usize, piece: usize, mut work: impl FnMut(Range<usize>)) {
        let members = self.members;
        let own = self.me * total / members..(self.me + 1) * total / members;
        // Shares differ by one at most.
        if total / members < STEAL * piece {
            if !own.is_empty() {
                work(own);
            }
            return;
        }
        for k in 0..members {
            let owner = (self.me + k) % members;
            let (start, end) = (owner * total / members, (owner + 1) * total / members);
            let next = &self.crew.pieces[owner].0[self.epoch & 1];
            // Looked at first: an addition takes the cache line from whoever is claiming.
            while next.load(Ordering::Relaxed) * piece < end - start {
                let first = start + next.fetch_add(1, Ordering::Relaxed) * piece;
                if first >= end {
                    break;
                }
                work(first..end.min(first + piece));
            }
        }
    }
}

/// Calls `f(member, range)` for what of the lists of members, of these lengths and one behind the other, lies in a range of them all.
#[inline(always)]
pub(crate) fn parts_of(lengths: impl Iterator<Item = usize>, range: Range<usize>, mut f: impl FnMut(usize, Range<usize>)) {
    let mut start = 0;
    for (member, length) in lengths.enumerate() {
        let (first, end) = (range.start.max(start), range.end.min(start + length));
        if first < end {
            f(member, first - start..end - start);
        }
        start += length;
    }
}

impl<P: Copy, S: Copy> Drop for Member<'_, P, S> {
    fn drop(&mut self) {
        // Who waits for this member's next post, after an error or a panic, need not any longer.
        self.crew.sides[self.me].gone.store(true, Ordering::Release);
        if self.me == 0 {
            self.crew.over.store(true, Ordering::Release);
        }
    }
}
