//! The rest of a search from its first wide level on, in rounds of a crew: a level top-down, a level bottom-up, and what lies between.
//!
//! A round has as many turns as it is worth. Each finds vertices for itself, in lists of its own, and posts them; a level top-down goes through
//! the lists of all, in pieces, and through long rows in parts. A level of one turn is searched by the leader alone, and as many after it as
//! are worth no more.
//!
//! # Invariants
//! What comes next is decided by the leader, by [`Rules::next`] from the [`State`] and the sums of the posts. A vertex is
//! visited if it has a mark; the bits of `visited` say so too once `Prepare` has run and as long as no level is searched top-down. Whoever
//! changes a mark from unreached has found the vertex, and no one else has. In a round over words a word and its vertices are one member's.
#![allow(unsafe_code)]

use super::search::{Scratch, Search};
use super::state::{Rules, State, Step, Sums};
use super::{down, marks, spread, up};
use crate::team::{self, Crew, Leader, Team, Turn};
use crate::trace;
use bitgraph_algorithms::UNREACHED;
use bitgraph_backend::{Error, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Words of a bitmap that are worth handing to a thread: microseconds of work.
const SHARE_WORDS: usize = LINE;
/// Words of a bitmap that are worth a turn of a round.
const TURN_WORDS: usize = 32;
/// Words of a cache line, twice: what processors fetch.
const LINE: usize = 16;
/// A part of a long row: the vertex, and the places of the part.
pub(super) type Part = (u32, u32, u32);

/// The vertices that a member found in a round, the long rows among them in parts too.
#[derive(Debug, Default)]
pub(super) struct Own {
    lists: [Vec<u32>; 2],
    rows: [Vec<Part>; 2],
    /// Which of them was filled last.
    filled: usize,
    /// The search that these are of.
    run: u64,
}

/// What a member posts.
#[derive(Clone, Copy)]
struct Post {
    sums: Sums,
    list: *const u32,
    rows: *const Part,
    len: u32,
    parts: u32,
}

// SAFETY: the lists are read in turns (see `Crew`), and outlive the crew.
unsafe impl Send for Post {}

/// What a turn has for those of the next round.
fn post(sums: Sums, own: &Own) -> Post {
    let (list, rows) = (&own.lists[own.filled], &own.rows[own.filled]);
    Post { sums, list: list.as_ptr(), rows: rows.as_ptr(), len: list.len() as u32, parts: rows.len() as u32 }
}

impl Post {
    /// # Safety
    /// The lists are those of the round before.
    unsafe fn lists<'a>(&self) -> (&'a [u32], &'a [Part]) {
        // SAFETY: the contract; lists are kept by the caller of the crew.
        unsafe { (std::slice::from_raw_parts(self.list, self.len as usize), std::slice::from_raw_parts(self.rows, self.parts as usize)) }
    }
}

/// The arrays of a search, which members read and write in turns.
pub(super) struct Round<'a> {
    search: &'a Search<'a>,
    rules: Rules<'a>,
    source: u32,
    nodes: usize,
    words: usize,
    marks: *mut u32,
    visited: *mut u64,
    bits: [*mut u64; 2],
    /// A bitmap of each member, `stride` words apart.
    touched: *mut u64,
    stride: usize,
    /// What belongs to the turns, so many as there may be members.
    own: *mut Own,
    members: usize,
    run: u64,
}

// SAFETY: the module's invariants say who touches what in which round; rounds are ordered by the meetings of a crew.
unsafe impl Sync for Round<'_> {}
// SAFETY: as above.
unsafe impl Send for Round<'_> {}

/// What is left of the search `state`, which is at the vertices of `level`, on a team. `marks` may be uninitialised if the state says so.
///
/// # Errors
/// [`Error::Cancelled`].
pub(super) fn run(
    search: &Search<'_>,
    team: &Team<'_>,
    marks: &mut [std::mem::MaybeUninit<u32>],
    scratch: &mut Scratch,
    (source, most): (u32, u64),
    state: State,
    level: &[u32],
) -> Result<State> {
    let (nodes, words, members) = (marks.len(), search.layout.closed.len(), team.workers());
    // Bitmaps of two workers share no cache line.
    let stride = words.next_multiple_of(16);
    let spreads = search.spreads();
    for (bits, len) in [(&mut scratch.front, words), (&mut scratch.next, words), (&mut scratch.visited, words)] {
        bits.resize(len, 0);
    }
    if spreads {
        scratch.touched.resize((stride * members).max(scratch.touched.len()), 0);
    }
    scratch.own.resize_with(members.max(scratch.own.len()), Own::default);
    let run = scratch.own[0].run + 1;
    let round = Round {
        search,
        rules: Rules { search, nodes, most, closed: search.closed_arcs(source) },
        source,
        nodes,
        words,
        marks: marks.as_mut_ptr().cast(),
        visited: scratch.visited.as_mut_ptr(),
        bits: [scratch.front.as_mut_ptr(), scratch.next.as_mut_ptr()],
        touched: scratch.touched.as_mut_ptr(),
        stride,
        own: scratch.own.as_mut_ptr(),
        members,
        run,
    };
    let first = round.own(0);
    first.lists[0].extend_from_slice(level);
    down::long_rows(search.out.0, &first.lists[0], &mut first.rows[0]);
    let state = if state.step == Step::Push { round.rules.settle(state, 1) } else { state };
    let lead = |leader: Leader<'_, Post, State>| round.lead(leader, state, team);
    let follow = |crew: &Crew<Post, State>| crew.follow(|turn, state, posts| round.turn(turn, &state, posts));
    let end = team::together(team, lead, follow).unwrap_or(state);
    if end.stopped { Err(Error::Cancelled) } else { Ok(end) }
}

impl Round<'_> {
    /// What comes after the round `state` of those who posted, of so many workers.
    fn after(&self, state: State, posts: &[Post], workers: usize) -> State {
        let mut sums = Sums::default();
        for post in posts {
            sums.found += post.sums.found;
            sums.arcs += post.sums.arcs;
            sums.missing += post.sums.missing;
        }
        self.rules.next(state, sums, posts.len(), workers)
    }
    /// The rounds of the leader, from the one of `state` on.
    fn lead(&self, mut leader: Leader<'_, Post, State>, mut state: State, team: &Team<'_>) -> State {
        // What the search came with is shared out in the first round.
        let mut posts = Vec::with_capacity(team.workers());
        posts.push(post(Sums::default(), self.own(0)));
        while state.step != Step::Done {
            // The lists of a level are handed on by their turns until its bits are set.
            let fewest = if state.step == Step::Prepare { posts.len() } else { 1 };
            let workers = leader.present(usize::MAX, team.coming());
            let turns = self.worth(&state, workers).min(workers).max(fewest);
            if state.step == Step::Push && turns == 1 {
                let sums;
                (sums, state) = self.alone(state, self.own(0), &posts, workers);
                posts.clear();
                posts.push(post(sums, self.own(0)));
            } else if leader.round(turns, state, &mut posts, |turn, state, posts| self.turn(turn, &state, posts)).is_none() {
                return State { stopped: true, ..state };
            }
            self.search.control.report(state.level.into(), None);
            state.stopped = self.search.control.is_cancelled();
            team.tend();
            state = self.after(state, &posts, workers);
        }
        state
    }
    /// The turns that a round is worth.
    fn worth(&self, state: &State, workers: usize) -> usize {
        if state.step == Step::Push { self.rules.worth(state, workers) } else { self.words.div_ceil(TURN_WORDS) }
    }
    /// What belongs to a turn.
    #[allow(clippy::mut_from_ref)]
    fn own(&self, turn: usize) -> &mut Own {
        debug_assert!(turn < self.members);
        // SAFETY: whoever has a turn has what belongs to it, of which no other touches more than what is posted; the leader's is its own.
        let own = unsafe { &mut *self.own.add(turn) };
        if own.run != self.run {
            own.lists.iter_mut().for_each(Vec::clear);
            own.rows.iter_mut().for_each(Vec::clear);
            (own.filled, own.run) = (0, self.run);
        }
        own
    }
    fn marks(&self) -> &[AtomicU32] {
        // SAFETY: an atomic has the layout of its number; marks are filled.
        unsafe { std::slice::from_raw_parts(self.marks.cast(), self.nodes) }
    }
    /// Elements of an array.
    ///
    /// # Safety
    /// They are this member's in this round.
    unsafe fn range<'a, T>(array: *mut T, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: ranges are cut to what arrays hold.
        unsafe { std::slice::from_raw_parts_mut(array.add(range.start), range.len()) }
    }
    /// The vertices of words.
    fn vertices(&self, words: &Range<usize>) -> Range<usize> {
        self.nodes.min(words.start * 64)..self.nodes.min(words.end * 64)
    }
    /// Which words are the share of one of so many members.
    fn words_of(&self, member: usize, members: usize) -> Range<usize> {
        let share = self.words.div_ceil(members).next_multiple_of(LINE);
        self.words.min(member * share)..self.words.min((member + 1) * share)
    }

    /// The leader's levels top-down until one is worth a round of the workers, or nothing is left; what the last of them found.
    fn alone(&self, mut state: State, own: &mut Own, posts: &[Post], workers: usize) -> (Sums, State) {
        let (search, Own { lists, rows, filled, .. }) = (self.search, own);
        // What others found joins what is the leader's own.
        for post in posts.iter().skip(1) {
            // SAFETY: posts of the round before.
            lists[*filled].extend_from_slice(unsafe { post.lists() }.0);
        }
        loop {
            let mark = (!search.parents).then_some(state.level + 1);
            let (level, next) = lists.split_at_mut(1);
            let (level, next) = if *filled == 0 { (&level[0], &mut next[0]) } else { (&next[0], &mut level[0]) };
            next.clear();
            down::push::<false>(search.out, level, self.marks(), mark, next, search.pushes(), search.layout.ahead);
            *filled ^= 1;
            let (found, rows) = (&lists[*filled], &mut rows[*filled]);
            rows.clear();
            let sums = Sums { found: found.len() as u64, arcs: down::long_rows(search.out.0, found, rows), missing: 0 };
            let next = self.rules.next(state, sums, 1, workers);
            if next.step != Step::Push || self.rules.worth(&next, workers) > 1 || search.control.is_cancelled() {
                return (sums, state);
            }
            state = next;
        }
    }

    /// A turn of a round; what it has to post.
    fn turn(&self, turn: &Turn<'_, Post, State>, state: &State, posts: &[Post]) -> Post {
        let search = self.search;
        let (me, members, own) = (turn.me(), turn.members(), self.own(turn.me()));
        let Own { lists, rows, filled, .. } = &mut *own;
        let mut sums = Sums::default();
        let (front, next) = (self.bits[usize::from(state.flip)], self.bits[usize::from(!state.flip)]);
        match state.step {
            Step::Fill => {
                let end = self.rules.fills(state, members);
                let share = (end - state.filled).div_ceil(members);
                let start = end.min(state.filled + me * share);
                let range = start..end.min(start + share);
                for v in range.clone() {
                    // SAFETY: the ranges of members are disjoint; nothing reads the marks before all are filled.
                    unsafe { self.marks.add(v).write(UNREACHED) };
                }
                if range.contains(&(self.source as usize)) {
                    // SAFETY: as above.
                    unsafe { self.marks.add(self.source as usize).write(if search.parents { self.source } else { 0 }) };
                }
            }
            Step::Push => {
                trace::enter(if self.rules.is_dense(state, 1) { "bfs: a dense level shared top-down" } else { "bfs: shared top-down" });
                *filled ^= 1;
                let (found, rows) = (&mut lists[*filled], &mut rows[*filled]);
                found.clear();
                rows.clear();
                let piece = (state.width as usize / (members * 16)).clamp(64, 1024);
                let mark = (!search.parents).then_some(state.level + 1);
                self.share_lists(turn, piece, posts, |list| {
                    let before = found.len();
                    down::push::<true>(search.out, list, self.marks(), mark, found, search.pushes(), search.layout.ahead);
                    sums.arcs += down::long_rows(search.out.0, &found[before..], rows);
                });
                // Parts of long rows are dealt in turns.
                // SAFETY: posts of the round before.
                let parts = posts.iter().flat_map(|post| unsafe { post.lists() }.1).skip(me).step_by(members);
                for &part in parts {
                    trace::enter("bfs: a part of a long row");
                    let before = found.len();
                    let push = if state.width == 1 { down::push_part::<false> } else { down::push_part::<true> };
                    push(search.out, part, self.marks(), mark, found, search.pushes());
                    sums.arcs += down::long_rows(search.out.0, &found[before..], rows);
                }
                sums.found = found.len() as u64;
            }
            Step::Prepare => {
                let words = self.words_of(me, members);
                // SAFETY: a member's share of the words.
                let (front, visited) = unsafe { (Self::range(front, words.clone()), Self::range(self.visited, words.clone())) };
                if search.parents && state.exact {
                    front.fill(0);
                } else {
                    let vertices = self.vertices(&words);
                    // SAFETY: no mark is written to in this round.
                    let marks = unsafe { std::slice::from_raw_parts(self.marks.add(vertices.start).cast_const(), vertices.len()) };
                    // No vertex is its own parent but the source, whose bit is set with the others of its level.
                    let level = if search.parents { UNREACHED } else { state.level };
                    marks::read(marks::Part { marks, closed: &search.layout.closed[words], visited, level: (front, level) }, search.isa);
                    if search.parents {
                        front.fill(0);
                    }
                }
            }
            Step::Mark => {
                // SAFETY: an atomic has the layout of its number; all members use it as one in this round.
                let front: &[AtomicU64] = unsafe { std::slice::from_raw_parts(front.cast(), self.words) };
                let piece = (state.width as usize / (members * 16)).max(64);
                self.share_lists(turn, piece, posts, |list| {
                    for &v in list {
                        let (word, bit) = (&front[v as usize >> 6], 1 << (v & 63));
                        if members == 1 {
                            word.store(word.load(Ordering::Relaxed) | bit, Ordering::Relaxed);
                        } else {
                            word.fetch_or(bit, Ordering::Relaxed);
                        }
                    }
                });
            }
            Step::Sort | Step::List => {
                *filled ^= 1;
                let (found, rows) = (&mut lists[*filled], &mut rows[*filled]);
                found.clear();
                rows.clear();
                let words = self.words_of(me, members);
                // SAFETY: bitmaps are not written to in this round.
                let (front, visited) = unsafe {
                    (std::slice::from_raw_parts(front, self.words), std::slice::from_raw_parts(self.visited.cast_const(), self.words))
                };
                for i in words {
                    each_bit(front[i], |bit| found.push((i * 64) as u32 + bit));
                    if state.step == Step::List && !state.once {
                        each_bit(!visited[i], |bit| sums.missing += search.degree(i * 64 + bit as usize));
                    }
                }
                if state.step == Step::List {
                    sums.arcs = down::long_rows(search.out.0, found, rows);
                    if me == 0 {
                        sums.missing += self.rules.closed;
                    }
                }
            }
            Step::Spread => {
                trace::enter(if state.once { "bfs: one level spread" } else { "bfs: spread" });
                // SAFETY: a bitmap of the member's own.
                let bits = unsafe { Self::range(self.touched, me * self.stride..me * self.stride + self.words) };
                let piece = (state.width as usize / (members * 16)).max(64);
                self.share_lists(turn, piece, posts, |list| spread::set_bits(search.out, list, 0..list.len(), bits));
            }
            Step::Collect => {
                let block = (self.words / (members * 4)).max(256);
                self.share_words(turn, block, |words| {
                    // SAFETY: the words, and the vertices of them, are this member's; no bitmap of a member is written to any more.
                    let part = unsafe {
                        spread::Part {
                            workers: (0..posts.len())
                                .map(|m| Self::range(self.touched, m * self.stride + words.start..m * self.stride + words.end))
                                .collect(),
                            visited: Self::range(self.visited, words.clone()),
                            next: Self::range(next, words.clone()),
                            marks: Self::range(self.marks, self.vertices(&words)),
                        }
                    };
                    sums.found += spread::collect(part, state.level + 1, search.isa);
                });
            }
            Step::Pull => {
                trace::enter(if search.layout.max_neighbour.is_some() {
                    "bfs: bottom-up by max-degree neighbours"
                } else {
                    "bfs: bottom-up"
                });
                // SAFETY: the level's bitmap is not written to in this round.
                let front = unsafe { std::slice::from_raw_parts(front.cast_const(), self.words) };
                let step = up::Step { rows: search.incoming, front, mark: (!search.parents).then_some(state.level + 1) };
                let block = (self.words / (members * 16)).max(SHARE_WORDS);
                self.share_words(turn, block, |words| {
                    let vertices = self.vertices(&words);
                    let max_neighbour = search.layout.max_neighbour.as_ref().map(|h| &h[words.start * 64..words.end * 64]);
                    // SAFETY: the words, and the vertices of them, are this member's.
                    let part = unsafe {
                        up::Part {
                            first: vertices.start,
                            max_neighbour,
                            visited: Self::range(self.visited, words.clone()),
                            next: Self::range(next, words.clone()),
                            marks: Self::range(self.marks, vertices),
                        }
                    };
                    sums.found += up::pull(&step, part, search.isa);
                });
            }
            Step::Done => {}
        }
        post(sums, own)
    }
    /// Shares out what was posted.
    fn share_lists(&self, turn: &Turn<'_, Post, State>, piece: usize, posts: &[Post], mut work: impl FnMut(&[u32])) {
        let lengths = || posts.iter().map(|post| post.len as usize);
        turn.share(lengths().sum(), piece, |range| {
            team::parts_of(lengths(), range, |owner, range| {
                // SAFETY: posts of the round before.
                work(&unsafe { posts[owner].lists() }.0[range]);
            });
        });
    }
    /// Shares out all words, in blocks.
    fn share_words(&self, turn: &Turn<'_, Post, State>, block: usize, mut work: impl FnMut(Range<usize>)) {
        // Whole cache lines of bitmaps.
        turn.share(self.words.div_ceil(LINE), block.div_ceil(LINE), |lines| {
            work(lines.start * LINE..self.words.min(lines.end * LINE));
        });
    }
}

/// Calls `f` with the place of every set bit.
#[inline(always)]
fn each_bit(mut word: u64, mut f: impl FnMut(u32)) {
    while word != 0 {
        f(word.trailing_zeros());
        word &= word - 1;
    }
}
