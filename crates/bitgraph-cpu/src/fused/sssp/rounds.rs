//! Shortest paths by a crew: every member has buckets of its own, and all work off the same window of them at the same time.
//!
//! Method: delta-stepping (U. Meyer and P. Sanders, J. Algorithms 49, 2003) with buckets of each thread's own and with what falls into the
//! window at hand worked off at once by whoever found it (Y. Zhang et al., "Optimizing ordered graph algorithms with GraphIt", CGO 2020), and
//! with windows that widen until they hold enough for all (X. Dong, Y. Gu, Y. Sun and Y. Zhang, "Efficient stepping algorithms and
//! implementations for parallel shortest paths", SPAA 2021). What a member has queued for the next window is posted when the one at hand is
//! empty, and shared out in pieces, its own first: one meeting a window, or several where a member finds much more for it. Over packed rows,
//! arcs are relaxed up to a horizon only, and the rest is pulled, as in `packed::horizon`.
//!
//! # Invariants
//! Whoever lowers the distance of a vertex queues it, under this distance: of all that is queued for a vertex, one entry is valid, that of
//! its distance. At the end of a window no valid entry lies below its end, so that distances below are final. What comes next is decided by
//! [`Rules::next`] from the leader's [`State`] and the sums of the posts, alike by all members. Distances do not depend on who found them.
#![allow(unsafe_code)]

use super::state::{Rules, State, Step, Sums};
use crate::fused::buckets::arcs::{Arcs, Places, Task};
use crate::fused::buckets::distance::Native;
use crate::team::{self, Crew, Leader, Team, Turn};
use crate::trace;
use bitgraph_backend::{Error, Result};
use bitgraph_semiring::Scalar;

/// Entries that are taken together of what a member posted: where rows are long a few of them are a member's share of a window, and one with hubs among
/// them would keep the others waiting.
const PIECE: usize = 32;
/// And of its own: the first of them make some of the next stale, and memory for the first is not asked for beforehand.
const BATCH: usize = 64;
/// Fewer entries than this are worked off by the leader alone, if no other has any.
const ALONE: u64 = 64;
/// Rows are pushed wholly, nearest first, until they hold this part of the arcs, before the first pull.
const WHOLE_PART: u64 = 64;

/// What a member keeps from run to run.
#[derive(Debug)]
pub(super) struct Own<D> {
    places: Places<D>,
    lists: [Vec<(D, u32)>; 2],
    /// Which of them was filled last.
    filled: usize,
    /// The search that these are of.
    run: u64,
    batch: Vec<(D, u32)>,
    open: Vec<u32>,
}

impl<D: Native> Own<D> {
    fn new() -> Self {
        Self { places: Places::new(), lists: [Vec::new(), Vec::new()], filled: 0, run: 0, batch: Vec::new(), open: Vec::new() }
    }
    fn clear(&mut self) {
        self.places.clear();
        self.lists.iter_mut().for_each(Vec::clear);
        self.open.clear();
        self.filled = 0;
    }
}

/// What a member posts.
#[derive(Clone, Copy)]
struct Post<D> {
    list: *const (D, u32),
    open: *const u32,
    first: u64,
    size: u64,
    open_size: u64,
    nearest: u32,
    len: u32,
    opens: u32,
    pending: bool,
    found: bool,
}

impl<D> Post<D> {
    /// # Safety
    /// The list is that of the round before.
    unsafe fn list<'a>(&self) -> &'a [(D, u32)] {
        // SAFETY: the contract; lists are kept by the caller of the crew.
        unsafe { std::slice::from_raw_parts(self.list, self.len as usize) }
    }
}

// SAFETY: the lists are read in turns (see `Crew`), and outlive the crew.
unsafe impl<D> Send for Post<D> {}

/// Fills `dist`, which holds the largest value everywhere, on a team. With a target, distances above the target's are upper bounds.
///
/// # Errors
/// [`Error::Cancelled`].
pub(super) fn search<G: Arcs>(task: &Task<'_, G>, team: &Team<'_>, dist: &mut [G::D], own: &mut Vec<Own<G::D>>) -> Result<()> {
    let members = team.workers();
    own.resize_with(members.max(own.len()), Own::new);
    dist[task.source as usize] = G::D::ZERO;
    let step = task.graph.step();
    let rules = Rules::new(G::LAZY, step, task.graph.arcs());
    let run = Run { task, rules, dist: G::D::cells(dist), run: own[0].run + 1, own: own.as_mut_ptr(), members };
    let state = State::start(if G::LAZY { step } else { u64::MAX }, step);
    let lead = |leader: Leader<'_, Post<G::D>, State>| run.lead(leader, state, team);
    let follow = |crew: &Crew<Post<G::D>, State>| crew.follow(|turn, state, posts| run.turn(turn, state, posts));
    if team::together(team, lead, follow).is_some_and(|end| end.stopped) { Err(Error::Cancelled) } else { Ok(()) }
}

struct Run<'a, G: Arcs> {
    task: &'a Task<'a, G>,
    rules: Rules,
    dist: &'a [<G::D as Native>::Cell],
    /// What belongs to the turns, so many as there may be members.
    own: *mut Own<G::D>,
    members: usize,
    run: u64,
}

// SAFETY: a member touches its own, and of others what they posted.
unsafe impl<G: Arcs> Sync for Run<'_, G> {}
// SAFETY: as above.
unsafe impl<G: Arcs> Send for Run<'_, G> {}

impl<G: Arcs> Run<'_, G> {
    /// What comes after the round `state`, which has posted this.
    fn after(&self, state: State, posts: &[Post<G::D>], members: usize) -> State {
        let mut sums = Sums::new();
        for (turn, post) in posts.iter().enumerate() {
            sums.others |= turn > 0 && (post.len > 0 || post.first != u64::MAX || post.size > 0 && state.horizon != u64::MAX);
            sums.posted += u64::from(post.len);
            sums.size += post.size;
            sums.open += u64::from(post.opens);
            sums.open_size += post.open_size;
            sums.first = sums.first.min(post.first);
            if post.nearest != u32::MAX {
                sums.nearest = sums.nearest.min(post.nearest.into());
            }
            sums.pending |= post.pending;
            sums.found |= post.found;
        }
        self.rules.next(state, &sums, members as u64)
    }
    /// The rounds of the leader, from the one of `state` on.
    fn lead(&self, mut leader: Leader<'_, Post<G::D>, State>, mut state: State, team: &Team<'_>) -> State {
        let own = self.own(0);
        own.lists[0].push((G::D::ZERO, self.task.source));
        let mut posts = Vec::with_capacity(self.members);
        posts.push(post(own));
        while state.step != Step::Done {
            // Alone where no other turn has anything queued, nor rows that it settled and may have to go on with.
            let members = leader.arrived();
            let few = posts.iter().map(|post| u64::from(post.len)).sum::<u64>() < ALONE;
            let turns = if state.step == Step::Window && state.led && few { 1 } else { members };
            if leader.round(turns, state, &mut posts, |turn, state, posts| self.turn(turn, state, posts)).is_none() {
                return State { stopped: true, ..state };
            }
            self.task.control.report(state.now, None);
            state.stopped = self.task.control.is_cancelled();
            team.tend();
            if let Some(target) = self.task.target {
                let distance = G::D::load(&self.dist[target as usize]);
                let ended = state.step == Step::Window;
                posts[0].found = ended && distance != G::D::largest() && self.task.graph.key(distance) < state.end;
            }
            state = self.after(state, &posts, members);
        }
        state
    }
    /// What belongs to a turn.
    #[allow(clippy::mut_from_ref)]
    fn own(&self, turn: usize) -> &mut Own<G::D> {
        debug_assert!(turn < self.members);
        // SAFETY: whoever has a turn has what belongs to it, of which no other touches more than what is posted; the leader's is its own.
        let own = unsafe { &mut *self.own.add(turn) };
        if own.run != self.run {
            own.clear();
            own.run = self.run;
        }
        own
    }
    /// A turn of a round; what it has to post.
    fn turn(&self, turn: &Turn<'_, Post<G::D>, State>, state: State, posts: &[Post<G::D>]) -> Post<G::D> {
        let graph = self.task.graph;
        let (me, members, own) = (turn.me(), turn.members(), self.own(turn.me()));
        let nodes = graph.nodes();
        let share = nodes.div_ceil(members);
        let (mut open_size, mut pending, mut nearest) = (0, false, u64::MAX);
        let Own { places, lists, filled, batch, open, .. } = &mut *own;
        let keeps = G::LAZY && !state.pulling && state.horizon != u64::MAX;
        let mut out = places.out(self.dist, keeps, members == 1);
        let mut takes = None;
        match state.step {
            Step::Window => {
                out.bins.advance(state.now);
                if members > 1 {
                    trace::enter("sssp: a shared window");
                }
                let lengths = || posts.iter().map(|post| post.len as usize);
                turn.share(lengths().sum(), PIECE, |range| {
                    team::parts_of(lengths(), range, |owner, range| {
                        // SAFETY: posts of the round before.
                        graph.expand(&unsafe { posts[owner].list() }[range], state.horizon, &mut out);
                    });
                });
                // What has fallen into the window meanwhile.
                while let Some(key) = out.bins.first().filter(|&key| key < state.end) {
                    out.bins.swap(key, batch);
                    batch.chunks(BATCH).for_each(|entries| graph.expand(entries, state.horizon, &mut out));
                    batch.clear();
                }
                if !(G::LAZY && state.end == state.horizon) {
                    takes = Some(self.rules.following(&state));
                }
            }
            Step::Due => {
                out.bins.advance(state.now);
                graph.due(state.horizon, &mut out);
                pending = state.horizon != u64::MAX && out.settled.keys.iter().any(|&key| key != u32::MAX);
                takes = Some(self.rules.following(&state));
            }
            Step::Whole => {
                out.bins.advance(state.now);
                nearest = graph.whole(graph.arcs() / WHOLE_PART / members as u64, &mut out);
            }
            Step::Open => {
                let range = nodes.min(me * share)..nodes.min((me + 1) * share);
                let listed = state.open != u64::MAX;
                open_size = graph.open(range, state.now, open, listed, &out);
            }
            Step::Pull => {
                trace::enter(if state.horizon == u64::MAX { "sssp: packed, the last horizon" } else { "sssp: packed, pulling" });
                out.bins.advance(state.now);
                let piece = (state.open as usize / (members * 16)).clamp(64, 2048);
                let lengths = || posts.iter().map(|post| post.opens as usize);
                turn.share(lengths().sum(), piece, |range| {
                    team::parts_of(lengths(), range, |owner, range| {
                        // SAFETY: a post of the round before, whose list no one changes in this one.
                        let list = unsafe { std::slice::from_raw_parts(posts[owner].open, posts[owner].opens as usize) };
                        graph.pull(&list[range], state.now, state.horizon, state.nearest, &mut out);
                    });
                });
                takes = Some(self.rules.following(&state));
            }
            Step::Done => {}
        }
        if let Some(end) = takes {
            *filled ^= 1;
            lists[*filled].clear();
            if G::LAZY {
                out.bins.advance(state.end);
            }
            out.bins.take(end, &mut lists[*filled]);
        } else if matches!(state.step, Step::Window) {
            *filled ^= 1;
            lists[*filled].clear();
        }
        Post { pending, open_size, nearest: u32::try_from(nearest).unwrap_or(u32::MAX), ..post(own) }
    }
}

/// What a turn has for those of the next round.
fn post<D: Native>(own: &mut Own<D>) -> Post<D> {
    let (list, open) = (&own.lists[own.filled], &own.open);
    Post {
        list: list.as_ptr(),
        open: open.as_ptr(),
        first: own.places.bins.first().unwrap_or(u64::MAX),
        size: own.places.settled.size,
        open_size: 0,
        nearest: u32::MAX,
        len: list.len() as u32,
        opens: open.len() as u32,
        pending: false,
        found: false,
    }
}
