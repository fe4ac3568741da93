//! A crew: workers that run one loop together in rounds, with one way there and back between two rounds.
//!
//! A phase of a team is opened and closed by its leader, and its chunks are claimed one by one. Where a run has thousands of rounds of a few
//! microseconds, a round has a few *turns* instead, one for each member that it is worth: the leader shows what the last round has posted,
//! opens the turns, takes the first itself, and waits for the posts of the others, each of which comes on a cache line of its own. Members that
//! a round has no turn for do not hear of it. What was posted is dealt out in one range for each turn, in the order of the posts, so that who
//! found things that lie together goes on with them; only from large shares do others take pieces.
//!
//! A turn is not bound to its member: one that has not begun it when the others are done, because its thread is late, asleep or does not run,
//! finds it taken, by the leader or by whoever waits. A round thus lasts as long as its work, not until every thread has run.
//!
//! # Invariants
//! A turn is open, taken or done, with the number of its round; it is taken once. What is shown is written while no turn is open or taken, and
//! read by those that have taken one; so are the places that belong to a turn's number, by whoever has taken it. `tests/models` runs this file
//! under a model checker.
#![allow(unsafe_code)]

use crate::sync::{AtomicBool, AtomicUsize, Cell, Ordering, PROMPT, Wait};
use std::ops::Range;

/// Pieces that a share has at least if others may take some of them, or as many as there are turns if those are fewer: to look into the shares of
/// all others takes a microsecond.
const STEAL: usize = 8;
/// The most members.
const MEMBERS: usize = 1 << 10;

/// What a turn is, in the last bits of a word; the next are its number, and the others the round.
const OPEN: usize = 1;
const TAKEN: usize = 2;
const DONE: usize = 3;
const STATES: usize = 4;
const ROUND: usize = STATES * MEMBERS;

/// The turn that is opened for a member, and what it posts: with a post of 56 bytes one cache line.
#[repr(align(128))]
struct Slot<P> {
    turn: AtomicUsize,
    post: Cell<Option<P>>,
}

/// Alone on its cache lines.
#[repr(align(128))]
struct Line<T>(T);

/// What the leader shows to those who take a turn: what it tells, the posts of the round before, and the turns of this one.
struct Shown<P, S> {
    told: Option<S>,
    posts: Vec<P>,
    turns: usize,
}

/// Where a round is shared out.
pub(crate) struct Crew<P, S> {
    slots: Vec<Slot<P>>,
    shown: Line<Cell<Shown<P, S>>>,
    /// The pieces of the share of a turn of this number that are taken, by the parity of the round.
    pieces: Vec<Line<[AtomicUsize; 2]>>,
    /// Workers that have come, the leader included.
    arrived: Line<AtomicUsize>,
    /// The last round of which there were several turns that their members did not take.
    late: Line<AtomicUsize>,
    /// The last round that a member has seen a turn of its own in.
    seen: Vec<Line<AtomicUsize>>,
    /// The leader has left.
    over: AtomicBool,
    /// A member has left in the middle of a turn.
    broken: AtomicBool,
}

// SAFETY: posts, and what is shown, are written and read in turns, ordered by the words of the slots (the module's invariant).
unsafe impl<P: Send, S: Send> Sync for Crew<P, S> {}
// SAFETY: posts are values.
unsafe impl<P: Send, S: Send> Send for Crew<P, S> {}

impl<P: Copy, S: Copy> Crew<P, S> {
    /// For at most so many members.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, MEMBERS);
        Self {
            slots: (0..most).map(|_| Slot { turn: AtomicUsize::new(0), post: Cell::new(None) }).collect(),
            shown: Line(Cell::new(Shown { told: None, posts: Vec::with_capacity(most), turns: 0 })),
            pieces: (0..most).map(|_| Line([AtomicUsize::new(0), AtomicUsize::new(0)])).collect(),
            arrived: Line(AtomicUsize::new(1)),
            late: Line(AtomicUsize::new(0)),
            seen: (0..most).map(|_| Line(AtomicUsize::new(0))).collect(),
            over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }
    }
    /// The leader; called once.
    pub(crate) fn lead(&self) -> Leader<'_, P, S> {
        Leader { crew: self, round: 0, turns: 1, called: Vec::with_capacity(self.slots.len()), missed: vec![0; self.slots.len()] }
    }
    /// Comes as a member, and takes turns until the leader leaves: of one it posts `work(turn, told, posts)`, with the posts of the round before.
    pub(crate) fn follow(&self, work: impl Fn(&Turn<'_, P, S>, S, &[P]) -> P) {
        let me = self.arrived.0.fetch_add(1, Ordering::AcqRel);
        let Some(own) = self.slots.get(me) else { return };
        let (mut posts, mut told) = (Vec::with_capacity(self.slots.len()), None);
        let mut take = |slot: &Slot<P>, (round, number): (usize, usize)| {
            let leave = Leave(&self.broken);
            // The leader waits for a turn that is taken. Copied before it is worked on: all want these lines, and lie near afterwards.
            let members = self.shown.0.with(|shown| {
                // SAFETY: the turn is taken.
                let shown = unsafe { &*shown };
                posts.clear();
                posts.extend_from_slice(&shown.posts);
                told = shown.told;
                shown.turns
            });
            if let Some(told) = told {
                slot.post(round, number, || work(&self.turn(number, members, round), told, &posts));
            }
            std::mem::forget(leave);
        };
        let (mut wait, mut moments, mut helped, mut seen) = (Wait::default(), 0, 0, 0);
        loop {
            let word = own.turn.load(Ordering::Relaxed);
            if word / ROUND != seen {
                // There is work for this member, whoever has taken its turn: it sleeps no more.
                (seen, wait, moments) = (word / ROUND, Wait::default(), 0);
                self.seen[me].0.store(seen, Ordering::Relaxed);
                if let Some(turn) = own.take() {
                    take(own, turn);
                }
            }
            if self.over.load(Ordering::Acquire) {
                return;
            }
            moments += 1;
            if moments > PROMPT {
                let late = self.late.0.load(Ordering::Acquire);
                // The leader begins with the first.
                for slot in self.slots[if late == helped { self.slots.len() } else { 1 }..].iter().rev() {
                    if let Some(turn) = slot.take() {
                        take(slot, turn);
                    }
                }
                helped = late;
            }
            wait.turn();
        }
    }
    /// A turn of a round that has so many.
    fn turn(&self, me: usize, members: usize, round: usize) -> Turn<'_, P, S> {
        // The pieces of the next round, which those of the last but one do not look at any more.
        self.pieces[me].0[(round + 1) & 1].store(0, Ordering::Relaxed);
        Turn { crew: self, me, members, round }
    }
}

impl<P> Slot<P> {
    /// Takes the turn if it is open; its round and its number.
    fn take(&self) -> Option<(usize, usize)> {
        let turn = self.turn.load(Ordering::Relaxed);
        // One that another takes meanwhile is opened again for a later round alone, which has another word.
        let taken =
            turn % STATES == OPEN && self.turn.compare_exchange(turn, turn - OPEN + TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        taken.then_some((turn / ROUND, turn % ROUND / STATES))
    }
    /// Posts what the turn has come to, which this thread has taken.
    fn post(&self, round: usize, number: usize, work: impl FnOnce() -> P) {
        let post = work();
        // SAFETY: whoever has taken a turn writes its post, and the leader reads it when it is done.
        self.post.with_mut(|slot| unsafe { *slot = Some(post) });
        self.turn.store(round * ROUND + number * STATES + DONE, Ordering::Release);
    }
}

/// Raises a flag where it is dropped, after an error or a panic: whoever waits need not any longer.
struct Leave<'a>(&'a AtomicBool);
impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Who opens the rounds.
pub(crate) struct Leader<'a, P, S> {
    crew: &'a Crew<P, S>,
    round: usize,
    /// The turns of the last round that had more than one.
    turns: usize,
    /// The members that turns of the round are opened for, in the order of the turns' numbers, from 1 on.
    called: Vec<usize>,
    /// The last round in which the leader took a member's turn.
    missed: Vec<usize>,
}

impl<P: Copy, S: Copy> Leader<'_, P, S> {
    /// The workers that have come, this one included.
    pub(crate) fn arrived(&self) -> usize {
        self.crew.arrived.0.load(Ordering::Acquire).min(self.crew.slots.len())
    }
    /// Of the turns that a round is worth, how many there are members for: those that have come, and the next of so many that will, but for one that
    /// missed its turn and has not seen so, since it sleeps, or does not run. One that comes in the middle of the round finds its turn, or finds it
    /// taken: by the leader, which is why there is one such turn and not more.
    pub(crate) fn present(&self, worth: usize, coming: usize) -> usize {
        let arrived = self.arrived();
        let there = arrived.max((arrived + 1).min(coming).min(self.crew.slots.len()));
        worth.min(there - (1..arrived).filter(|&member| self.misses(member)).count())
    }
    /// Whether a member has not seen yet that it missed a turn.
    fn misses(&self, member: usize) -> bool {
        let missed = self.missed[member];
        missed > 0 && self.crew.seen[member].0.load(Ordering::Relaxed) < missed
    }
    /// A round of so many turns. `posts` are those of the round before, and then of this one, in the order of the turns; others than those have
    /// nothing to post. None if a member has left in the middle of its turn: the run is over.
    pub(crate) fn round(&mut self, turns: usize, told: S, posts: &mut Vec<P>, work: impl Fn(&Turn<'_, P, S>, S, &[P]) -> P) -> Option<()> {
        let crew = self.crew;
        let turns = turns.clamp(1, crew.slots.len());
        if turns == 1 {
            let post = work(&crew.turn(0, 1, self.round), told, posts);
            posts.clear();
            posts.push(post);
            return Some(());
        }
        self.round += 1;
        let round = self.round;
        crew.shown.0.with_mut(|shown| {
            // SAFETY: all turns are done, or have never been open.
            let shown = unsafe { &mut *shown };
            (shown.told, shown.turns) = (Some(told), turns);
            shown.posts.clear();
            shown.posts.extend_from_slice(posts);
        });
        // Those that had no turn in the last round have not prepared for this one.
        for pieces in &crew.pieces[self.turns.min(turns)..turns] {
            pieces.0[round & 1].store(0, Ordering::Relaxed);
        }
        self.turns = turns;
        // Those that missed a turn last, if need be; rather than they, those that are to come.
        let missing = (1..self.arrived()).filter(|&member| self.misses(member)).count();
        let end = (turns + missing).min(crew.slots.len());
        let mut others = end - turns;
        let mut called = std::mem::take(&mut self.called);
        called.clear();
        called.extend((1..end).filter(|&member| {
            let passed = others > 0 && self.misses(member);
            others -= usize::from(passed);
            !passed
        }));
        called.truncate(turns - 1);
        let word = |number: usize, state: usize| round * ROUND + number * STATES + state;
        for (&member, number) in called.iter().zip(1..) {
            crew.slots[member].turn.store(word(number, OPEN), Ordering::Release);
        }
        let own = work(&crew.turn(0, turns, round), told, posts);
        let (mut wait, mut moments) = (Wait::default(), 0);
        for (&member, number) in called.iter().zip(1..) {
            while crew.slots[member].turn.load(Ordering::Acquire) != word(number, DONE) {
                if crew.broken.load(Ordering::Acquire) {
                    return None;
                }
                moments += 1;
                // One that is not there yet is not waited for.
                if moments == PROMPT || moments == 1 && member >= self.arrived() {
                    self.help(&called, |number| work(&crew.turn(number, turns, round), told, posts));
                } else {
                    wait.turn();
                }
            }
        }
        posts.clear();
        posts.push(own);
        // SAFETY: the turns are done.
        posts.extend(called.iter().filter_map(|&member| crew.slots[member].post.with(|post| unsafe { *post })));
        self.called = called;
        Some(())
    }
    /// Takes those of the turns behind the first that no one has begun, and has waiting members do so.
    fn help(&mut self, called: &[usize], work: impl Fn(usize) -> P) {
        let crew = self.crew;
        let slot = |member: &usize| &crew.slots[*member];
        if called.iter().filter(|member| slot(member).turn.load(Ordering::Relaxed) % STATES == OPEN).count() > 1 {
            crew.late.0.store(self.round, Ordering::Release);
        }
        for member in called {
            if let Some((round, number)) = slot(member).take() {
                self.missed[*member] = round;
                slot(member).post(round, number, || work(number));
            }
        }
    }
}

impl<P, S> Drop for Leader<'_, P, S> {
    fn drop(&mut self) {
        // Members go home, after an error or a panic as well.
        self.crew.over.store(true, Ordering::Release);
    }
}

/// A turn of a round.
pub(crate) struct Turn<'a, P, S> {
    crew: &'a Crew<P, S>,
    me: usize,
    members: usize,
    round: usize,
}

impl<P, S> Turn<'_, P, S> {
    /// The number of this turn; 0 is the leader's.
    pub(crate) fn me(&self) -> usize {
        self.me
    }
    /// The turns of this round.
    pub(crate) fn members(&self) -> usize {
        self.members
    }
    /// Works off this turn's share of `0..total`, which is dealt to the turns in ranges in their order, and then pieces of the shares of
    /// others, if those have enough of them.
    #[inline(always)]
    pub(crate) fn share(&self, total: usize, piece: usize, mut work: impl FnMut(Range<usize>)) {
        let members = self.members;
        let own = self.me * total / members..(self.me + 1) * total / members;
        // Shares differ by one at most.
        if members == 1 || total / members < STEAL.min(members) * piece {
            if !own.is_empty() {
                work(own);
            }
            return;
        }
        for k in 0..members {
            let owner = (self.me + k) % members;
            let (start, end) = (owner * total / members, (owner + 1) * total / members);
            let next = &self.crew.pieces[owner].0[self.round & 1];
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

/// Calls `f(turn, range)` for what of the lists of turns, of these lengths and one behind the other, lies in a range of them all.
#[inline(always)]
pub(crate) fn parts_of(lengths: impl Iterator<Item = usize>, range: Range<usize>, mut f: impl FnMut(usize, Range<usize>)) {
    let mut start = 0;
    for (turn, length) in lengths.enumerate() {
        let (first, end) = (range.start.max(start), range.end.min(start + length));
        if first < end {
            f(turn, first - start..end - start);
        }
        start += length;
    }
}
