//! Shortest paths by a crew: every member has buckets of its own, and all work off the same window of them at the same time.
//!
//! Method: delta-stepping (U. Meyer and P. Sanders, J. Algorithms 49, 2003) with buckets of each thread's own and with what falls into the
//! window at hand worked off at once by whoever found it (Y. Zhang et al., "Optimizing ordered graph algorithms with GraphIt", CGO 2020), and
//! with windows that widen until they hold enough for all (X. Dong, Y. Gu, Y. Sun and Y. Zhang, "Efficient stepping algorithms and
//! implementations for parallel shortest paths", SPAA 2021). What a member has queued for the next window is posted when the one at hand is
//! empty, and shared out in pieces, its own first: one meeting a window. Over packed rows, arcs are relaxed up to a horizon only, and the rest
//! is pulled, as in `packed::horizon`.
//!
//! # Invariants
//! Whoever lowers the distance of a vertex queues it, under this distance: of all that is queued for a vertex, one entry is valid, that of
//! its distance. At the end of a window no valid entry lies below its end, so that distances below are final. What comes next is decided by
//! [`next`] from the leader's [`State`] and the sums of the posts, alike by all members. Distances do not depend on who found them.
#![allow(unsafe_code)]

use super::bins::Bins;
use super::distance::Native;
use crate::team::{self, Crew, Member, Team};
use crate::trace;
use bitgraph_backend::{Control, Error, Result};
use bitgraph_semiring::Scalar;
use std::ops::Range;

/// The widest window, in buckets: what is queued from one reaches at most as far again, and fits the ring.
const WIDEST: u64 = 128;
/// Entries of a window for each member below which the next is twice as wide, and above four times which it is half as wide.
const ENTRIES: u64 = 48;
/// Entries that are taken together from what a member posted.
const PIECE: usize = 32;
/// Fewer entries than this are worked off by the leader alone, if no other has any.
const ALONE: u64 = 64;
/// The part of the arcs that settled rows hold when the pull takes over.
const PULL_PART: f64 = 0.6;
/// Rows are pushed wholly, nearest first, until they hold this part of the arcs, before the first pull.
const WHOLE_PART: u64 = 64;
/// A distance beyond which the arcs of most settled rows have all become due.
const LONG_WAY: u64 = 512;
/// And a shorter one, if the settled rows hold less than this part of the arcs that a pull begins at.
const SHORT_WAY: u64 = 256;
const SHORT_WAY_PART: u64 = 4;
/// The last pull looks at everything: when the mean of 2^class over the open vertices is below this.
const SMALL: u64 = 12;

/// What members push and pull over.
pub(super) trait Arcs: Sync {
    /// What distances are.
    type D: Native;
    /// Whether arcs may be left for later, to be pushed when they are due or pulled.
    const LAZY: bool;
    /// The number of vertices.
    fn nodes(&self) -> usize;
    /// The bucket of a distance.
    fn key(&self, distance: Self::D) -> u64;
    /// Relaxes the arcs of the entries that are valid, those at least whose ends lie below the bucket `horizon`.
    fn expand(&self, entries: &[(Self::D, u32)], horizon: u64, out: &mut Out<'_, Self::D>);
    /// Relaxes the arcs of settled rows that end below `horizon` and were left.
    fn due(&self, _horizon: u64, _out: &mut Out<'_, Self::D>) {}
    /// Pushes settled rows wholly until they hold so many arcs; the distance of the first that is not.
    fn whole(&self, _arcs: u64, _out: &mut Out<'_, Self::D>) -> u64 {
        u64::MAX
    }
    /// Lists the vertices of the range that can be reached and are not below `now`, or keeps those in the list; the sum of their 2^class, about.
    fn open(&self, _range: Range<usize>, _now: u64, _list: &mut Vec<u32>, _listed: bool, _out: &Out<'_, Self::D>) -> u64 {
        0
    }
    /// Lowers the listed distances to what settled vertices, of distances from `nearest` to below `now`, bring below `horizon`.
    fn pull(&self, _list: &[u32], _now: u64, _horizon: u64, _nearest: u64, _out: &mut Out<'_, Self::D>) {}
    /// The arcs in all.
    fn arcs(&self) -> u64;
    /// How far a horizon lies ahead, in buckets.
    fn step(&self) -> u64 {
        u64::MAX
    }
}

/// Where a member puts what it finds.
pub(super) struct Out<'a, D: Native> {
    pub dist: &'a [D::Cell],
    pub bins: &'a mut Bins<D>,
    pub settled: &'a mut Settled<D>,
    /// Whether settled rows are kept, for what they have left.
    pub keeps: bool,
    /// No other member lowers distances.
    pub alone: bool,
}

impl<D: Native> Out<'_, D> {
    /// The distance of a vertex.
    #[inline(always)]
    pub fn known(&self, vertex: u32) -> D {
        D::load(&self.dist[vertex as usize])
    }
    /// Lowers the distance of a vertex, and queues it under the key if this did.
    #[inline(always)]
    pub fn relax(&mut self, vertex: u32, distance: D, key: impl FnOnce() -> u64) {
        if D::lower(&self.dist[vertex as usize], distance, self.alone) {
            self.bins.push(key(), distance, vertex);
        }
    }
}

/// Rows that a member settled and has not pushed wholly.
#[derive(Debug)]
pub(super) struct Settled<D> {
    /// Vertices with the distances at which they were settled, and how many of their arcs were relaxed.
    pub rows: Vec<(u32, D, u32)>,
    /// The bucket that the next arc of each leads to; the largest if there is none.
    pub keys: Vec<u32>,
    /// The arcs of all rows settled, about.
    pub size: u64,
}

/// What a member keeps from run to run.
#[derive(Debug)]
pub(super) struct Own<D> {
    bins: Bins<D>,
    settled: Settled<D>,
    lists: [Vec<(D, u32)>; 2],
    batch: Vec<(D, u32)>,
    open: Vec<u32>,
}

impl<D: Native> Own<D> {
    fn new() -> Self {
        let settled = Settled { rows: Vec::new(), keys: Vec::new(), size: 0 };
        Self { bins: Bins::new(), settled, lists: [Vec::new(), Vec::new()], batch: Vec::new(), open: Vec::new() }
    }
    fn clear(&mut self) {
        self.bins.clear();
        self.settled.rows.clear();
        self.settled.keys.clear();
        self.settled.size = 0;
        self.lists.iter_mut().for_each(Vec::clear);
        self.open.clear();
    }
}

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Works off a window.
    Window,
    /// Pushes what is due below the next horizon.
    Due,
    /// Pushes the nearest rows wholly.
    Whole,
    /// Lists the open vertices.
    Open,
    /// Pulls them below the next horizon.
    Pull,
    Done,
}

/// Where a search stands, the same for all members.
#[derive(Clone, Copy, Debug)]
struct State {
    step: Step,
    /// The window at hand, in buckets.
    now: u64,
    end: u64,
    /// How wide the next one is.
    width: u64,
    horizon: u64,
    /// How far ahead the next horizon lies.
    ahead: u64,
    /// Entries are with the leader alone.
    led: bool,
    pulling: bool,
    nearest: u64,
    open: u64,
    /// The window from the start of which the open vertices were last counted.
    waited: u64,
    stopped: bool,
}

/// What members tell, added up.
#[derive(Clone, Copy, Debug)]
struct Sums {
    /// Entries posted for the next window, and whether there are others than the leader's, there or later.
    posted: u64,
    others: bool,
    /// The first bucket that is queued behind it.
    first: u64,
    /// Whether settled rows have arcs left.
    pending: bool,
    size: u64,
    open: u64,
    open_size: u64,
    nearest: u64,
    found: bool,
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

/// What to search, and from where.
pub(super) struct Task<'a, G: Arcs> {
    pub graph: &'a G,
    pub source: u32,
    pub target: Option<u32>,
    pub control: &'a Control,
}

/// Whether at a distance from the source rows are better pushed wholly, when the settled ones hold `size` arcs and a pull would begin at `limit`:
/// a mesh or a road is long, and what is left for later is pushed after all.
pub(super) fn long_way(distance: u64, size: u64, limit: u64) -> bool {
    distance >= LONG_WAY || distance >= SHORT_WAY && size < limit / SHORT_WAY_PART
}

/// Where windows stop and what they widen to is up to this; the same for all members.
struct Rules {
    lazy: bool,
    step: u64,
    /// Arcs of settled rows from which on the rest is pulled.
    limit: u64,
}

impl Rules {
    /// The step at a horizon.
    fn at_horizon(&self, state: State, size: u64) -> State {
        let step = match () {
            () if state.pulling => Step::Open,
            () if size > self.limit => Step::Whole,
            () => Step::Due,
        };
        // A long way: what is left is pushed wholly, and there is no horizon any more.
        let far = step == Step::Due && long_way(state.end, size, self.limit);
        let horizon = if far { u64::MAX } else { state.horizon.saturating_add(self.step) };
        State { step, now: state.end, horizon: if step == Step::Due { horizon } else { state.horizon }, ..state }
    }
    /// Where the window after the one at hand ends: the members take what lies before it when that is empty.
    fn following(&self, state: &State) -> u64 {
        state.end.saturating_add(state.width).min(state.horizon)
    }
    /// What comes after the round `state` of so many members.
    fn next(&self, mut state: State, sums: &Sums, members: u64) -> State {
        if state.stopped || sums.found {
            return State { step: Step::Done, ..state };
        }
        state.led = !sums.others;
        let nothing = sums.posted == 0 && sums.first == u64::MAX;
        match state.step {
            Step::Window => {
                if self.lazy && state.end == state.horizon {
                    return self.at_horizon(state, sums.size);
                }
                if nothing {
                    // Rows that have arcs left may reach something behind the horizon.
                    let more = self.lazy && state.horizon != u64::MAX;
                    return if more {
                        self.at_horizon(State { end: state.horizon, ..state }, sums.size)
                    } else {
                        State { step: Step::Done, ..state }
                    };
                }
                self.window(state, sums, members)
            }
            Step::Due if nothing && !sums.pending => State { step: Step::Done, ..state },
            Step::Due | Step::Pull if nothing => self.at_horizon_again(state, sums),
            Step::Due | Step::Pull => {
                state.step = Step::Window;
                self.window(state, sums, members)
            }
            Step::Whole => {
                let nearest = if sums.nearest == u64::MAX { 0 } else { sums.nearest };
                State { step: Step::Open, pulling: true, nearest, open: u64::MAX, ..state }
            }
            Step::Open => {
                // A window of the largest weight that settled nothing: the rest cannot be reached.
                if sums.open == 0 || sums.open == state.open && state.waited >= 256 {
                    return State { step: if nothing { Step::Done } else { Step::Window }, now: state.end, horizon: u64::MAX, ..state };
                }
                let last = sums.open_size < sums.open * SMALL;
                let horizon = if last { u64::MAX } else { state.horizon.saturating_add(state.ahead) };
                let waited = horizon - state.horizon;
                State { step: Step::Pull, open: sums.open, waited, horizon, ahead: state.ahead.saturating_mul(2), ..state }
            }
            Step::Done => state,
        }
    }
    /// Nothing is queued before the horizon just set.
    fn at_horizon_again(&self, state: State, sums: &Sums) -> State {
        if state.horizon == u64::MAX {
            State { step: Step::Done, ..state }
        } else {
            self.at_horizon(State { end: state.horizon, ..state }, sums.size)
        }
    }
    /// The window that was posted, or where the next begins.
    fn window(&self, mut state: State, sums: &Sums, members: u64) -> State {
        let end = self.following(&state);
        state.now = state.end;
        if sums.posted > 0 {
            state.end = end;
            if sums.posted < ENTRIES * members {
                state.width = (state.width * 2).min(WIDEST);
            } else if sums.posted > 4 * ENTRIES * members {
                state.width = (state.width / 2).max(1);
            }
        } else {
            // An empty window that ends where the next one begins.
            state.end = sums.first.min(state.horizon);
            state.now = state.end;
        }
        state
    }
}

/// Fills `dist`, which holds the largest value everywhere, on a team. With a target, distances above the target's are upper bounds.
///
/// # Errors
/// [`Error::Cancelled`].
pub(super) fn search<G: Arcs>(task: &Task<'_, G>, team: &Team<'_>, dist: &mut [G::D], own: &mut Vec<Own<G::D>>) -> Result<()> {
    let members = team.workers();
    own.resize_with(members.max(own.len()), Own::new);
    dist[task.source as usize] = G::D::ZERO;
    let step = task.graph.step();
    let rules = Rules { lazy: G::LAZY, step, limit: (task.graph.arcs() as f64 * PULL_PART) as u64 };
    let run = Run { task, rules, dist: G::D::cells(dist), own: own.as_mut_ptr(), members };
    let horizon = if G::LAZY { step } else { u64::MAX };
    let (now, end, width, ahead) = (0, 1, 1, step);
    let state = State {
        step: Step::Window,
        now,
        end,
        width,
        horizon,
        ahead,
        led: true,
        pulling: false,
        nearest: 0,
        open: u64::MAX,
        waited: 0,
        stopped: false,
    };
    let lead = |member: Member<'_, Post<G::D>, State>| run.member(member, state, &mut Vec::with_capacity(members), Some(team));
    let follow = |crew: &Crew<Post<G::D>, State>| {
        let mut posts: Vec<Post<G::D>> = Vec::with_capacity(members);
        if let Some((member, state)) = crew.join(&mut posts) {
            let state = run.after(state, &posts);
            run.member(member, state, &mut posts, None);
        }
    };
    if team::together(team, lead, follow).is_some_and(|end| end.stopped) { Err(Error::Cancelled) } else { Ok(()) }
}

struct Run<'a, G: Arcs> {
    task: &'a Task<'a, G>,
    rules: Rules,
    dist: &'a [<G::D as Native>::Cell],
    own: *mut Own<G::D>,
    members: usize,
}

// SAFETY: a member touches its own, and of others what they posted.
unsafe impl<G: Arcs> Sync for Run<'_, G> {}
// SAFETY: as above.
unsafe impl<G: Arcs> Send for Run<'_, G> {}

impl<G: Arcs> Run<'_, G> {
    /// What comes after the round `state` of those who posted.
    fn after(&self, state: State, posts: &[Post<G::D>]) -> State {
        let (first, nearest) = (u64::MAX, u64::MAX);
        let mut sums = Sums { posted: 0, others: false, first, pending: false, size: 0, open: 0, open_size: 0, nearest, found: false };
        for (member, post) in posts.iter().enumerate() {
            sums.others |= member > 0 && (post.len > 0 || post.first != u64::MAX);
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
        self.rules.next(state, &sums, posts.len() as u64)
    }
    fn member(
        &self,
        mut member: Member<'_, Post<G::D>, State>,
        mut state: State,
        posts: &mut Vec<Post<G::D>>,
        team: Option<&Team<'_>>,
    ) -> State {
        debug_assert!(member.me() < self.members);
        // SAFETY: every member has its own, which no other touches but by what is posted.
        let own = unsafe { &mut *self.own.add(member.me()) };
        own.clear();
        let mut filled = 0;
        if team.is_some() {
            own.lists[0].push((G::D::ZERO, self.task.source));
            posts.push(post(own, filled));
        }
        while state.step != Step::Done {
            let mut post = self.round(&member, state, own, &mut filled, posts, team.is_some());
            if let Some(team) = team {
                self.task.control.report(state.now, None);
                state.stopped = self.task.control.is_cancelled();
                team.tend();
                if let Some(target) = self.task.target {
                    let distance = G::D::load(&self.dist[target as usize]);
                    post.found = state.step == Step::Window && distance != G::D::largest() && self.task.graph.key(distance) < state.end;
                }
            }
            let Some(told) = member.meet(post, state, posts) else { return State { stopped: true, ..state } };
            state = self.after(told, posts);
        }
        state
    }
    /// A member's part of a round.
    fn round(
        &self,
        member: &Member<'_, Post<G::D>, State>,
        state: State,
        own: &mut Own<G::D>,
        filled: &mut usize,
        posts: &[Post<G::D>],
        leads: bool,
    ) -> Post<G::D> {
        let graph = self.task.graph;
        let (me, members) = (member.me(), member.members());
        let nodes = graph.nodes();
        let share = nodes.div_ceil(members);
        let (mut open_size, mut pending, mut nearest) = (0, false, u64::MAX);
        let Own { bins, settled, lists, batch, open } = own;
        let keeps = G::LAZY && !state.pulling && state.horizon != u64::MAX;
        let mut out = Out { dist: self.dist, bins, settled, keeps, alone: members == 1 };
        let mut takes = None;
        match state.step {
            Step::Window => {
                out.bins.advance(state.now);
                let alone = posts.iter().map(|post| u64::from(post.len)).sum::<u64>() < ALONE && state.led;
                if !alone && members > 1 {
                    trace::enter("sssp: a shared window");
                }
                if !alone || leads {
                    let lengths = || posts.iter().map(|post| post.len as usize);
                    let mut work = |range| {
                        team::parts_of(lengths(), range, |owner, range| {
                            // SAFETY: posts of the round before.
                            graph.expand(&unsafe { posts[owner].list() }[range], state.horizon, &mut out);
                        });
                    };
                    match alone {
                        true => work(0..lengths().sum()),
                        false => member.share(lengths().sum(), PIECE, work),
                    }
                    // What has fallen into the window meanwhile.
                    while let Some(key) = out.bins.first().filter(|&key| key < state.end) {
                        out.bins.swap(key, batch);
                        graph.expand(batch, state.horizon, &mut out);
                        batch.clear();
                    }
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
                member.share(lengths().sum(), piece, |range| {
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
            out.bins.advance(state.end);
            out.bins.take(end, &mut lists[*filled]);
        } else if matches!(state.step, Step::Window) {
            *filled ^= 1;
            lists[*filled].clear();
        }
        Post { pending, open_size, nearest: u32::try_from(nearest).unwrap_or(u32::MAX), ..post(own, *filled) }
    }
}

/// What a member has for the others.
fn post<D: Native>(own: &mut Own<D>, filled: usize) -> Post<D> {
    let (list, open) = (&own.lists[filled], &own.open);
    Post {
        list: list.as_ptr(),
        open: open.as_ptr(),
        first: own.bins.first().unwrap_or(u64::MAX),
        size: own.settled.size,
        open_size: 0,
        nearest: u32::MAX,
        len: list.len() as u32,
        opens: open.len() as u32,
        pending: false,
        found: false,
    }
}
