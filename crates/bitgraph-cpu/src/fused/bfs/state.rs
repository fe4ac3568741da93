//! What the rounds of a search are, and which comes after which.
//!
//! Invariant: decided from the state and the sums of what was found alone.

use super::search::{BETA, SPREAD, Search};

/// A level of fewer arcs and twice its vertices is searched by the leader alone: microseconds, which to share it out and the way of what was found
/// from core to core take too.
const ALONE: u64 = 1 << 12;
/// As many of others are worth another turn.
const TURN: u64 = 1 << 9;
/// A level with an arc for so many vertices is dense: marks that one worker finds are on lines that others look at, and a line takes as long from
/// core to core as a hundred arcs. It is the leader's up to so many arcs, and spread over bitmaps from there on.
const DENSE: u64 = 16;
/// Where neighbours are near each other, so many workers look at lines of their own each, and would have many bitmaps to join: levels of up to so many
/// arcs for a vertex are found in one array all the same. On 16 cores five stencils of 27 to 600 thousand vertices took 0.5 to 0.8 times as long so with
/// sixteen threads and 0.7 to 1.0 times with eight, but 1.1 to 1.2 times with four, and communities of two thousand, whose levels are wider, 1.1 times.
const LOCAL_WORKERS: usize = if cfg!(test) { 4 } else { 8 };
const LOCAL_ARCS: u64 = 2;
const ALONE_DENSE: u64 = 1 << 13;
/// Marks that a turn fills in one round: some pages, tens of microseconds where memory is new.
const FILL: usize = 1 << 16;

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Fills marks that are not initialised.
    Fill,
    /// A level top-down.
    Push,
    /// Reads the visited vertices off the marks, and the level; where marks are parents it clears the level's bitmap.
    Prepare,
    /// Sets the bits of the level, where marks are parents.
    Mark,
    /// Lists the level anew, in order.
    Sort,
    /// A level top-down over bitmaps, and the reading off of it.
    Spread,
    Collect,
    /// A level bottom-up.
    Pull,
    /// Lists a level that was found in a bitmap.
    List,
    Done,
}

/// Where a search stands, the same for all turns of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub step: Step,
    pub level: u32,
    pub reached: u64,
    /// Arcs out of the vertices expanded so far.
    pub edges: u64,
    /// Vertices of the level, and the arcs out of them.
    pub width: u64,
    pub arcs: u64,
    /// The arcs out of the level before.
    pub before: u64,
    /// Marks that are filled.
    pub filled: usize,
    /// Bottom-up steps have begun, or are over.
    pub turned: bool,
    /// The level is spread, before bottom-up steps or instead of them.
    pub spread: bool,
    /// It is spread instead of being found by several in one array, and is listed afterwards.
    pub once: bool,
    /// `visited` is what the marks say.
    pub exact: bool,
    /// Which of the two bitmaps is the level.
    pub flip: bool,
    pub stopped: bool,
}

impl State {
    /// At a level of so many vertices and arcs; so many vertices are reached, and so many arcs gone over.
    pub(super) fn at(level: u32, reached: u64, edges: u64, width: u64, arcs: u64) -> Self {
        let step = Step::Push;
        let [turned, spread, once, exact, flip, stopped] = [false; 6];
        Self { step, level, reached, edges, width, arcs, before: 0, filled: usize::MAX, turned, spread, once, exact, flip, stopped }
    }
    /// Before the marks are filled; the level is the source.
    pub(super) fn unfilled(arcs: u64) -> Self {
        Self { step: Step::Fill, filled: 0, ..Self::at(0, 1, 0, 1, arcs) }
    }
}

/// What the turns of a round found, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub found: u64,
    pub arcs: u64,
    /// Arcs out of vertices that are not reached.
    pub missing: u64,
}

/// What the order of rounds depends on besides the state.
pub(super) struct Rules<'a> {
    pub search: &'a Search<'a>,
    pub nodes: usize,
    /// As many vertices as can be reached.
    pub most: u64,
    /// The arcs out of all others.
    pub closed: u64,
}

impl Rules<'_> {
    /// What comes after the round `state` of so many turns, which found this; so many workers are there for the next.
    pub(super) fn next(&self, mut state: State, sums: Sums, members: usize, workers: usize) -> State {
        if state.stopped {
            return State { step: Step::Done, ..state };
        }
        match state.step {
            Step::Fill => {
                state.filled = self.fills(&state, members);
                if state.filled < self.nodes {
                    return state;
                }
                self.settle(state, workers)
            }
            Step::Push => {
                state.edges += state.arcs;
                state.level += 1;
                state.reached += sums.found;
                (state.width, state.arcs, state.before, state.exact) = (sums.found, sums.arcs, state.arcs, false);
                self.settle(state, workers)
            }
            Step::Prepare if self.search.parents => State { step: Step::Mark, ..state },
            Step::Prepare | Step::Mark => State { step: if state.spread { Step::Sort } else { Step::Pull }, ..state },
            Step::Sort => State { step: Step::Spread, ..state },
            Step::Spread => State { step: Step::Collect, ..state },
            Step::Collect | Step::Pull => {
                state.level += 1;
                state.reached += sums.found;
                state.flip = !state.flip;
                let shrinks = sums.found < state.width;
                state.width = sums.found;
                let left = self.most - state.reached;
                if left == 0 {
                    // All arcs but those of vertices out of reach; what was found cannot have a successor.
                    state.edges = self.search.out.1.len() as u64 - self.closed;
                    state.level += u32::from(sums.found > 0);
                    return State { width: 0, step: Step::Done, ..state };
                }
                let narrow = shrinks && sums.found < (self.nodes / BETA) as u64 && sums.found < left;
                state.step = if sums.found == 0 || narrow || state.once { Step::List } else { Step::Pull };
                state
            }
            Step::List => {
                // Arcs of levels found bottom-up were not added: all but those of the vertices that are not reached.
                let all = self.search.out.1.len() as u64;
                state.edges = if state.once { state.edges + state.arcs } else { all - sums.missing - sums.arcs };
                (state.arcs, state.before) = (sums.arcs, state.arcs);
                self.settle(state, workers)
            }
            Step::Done => state,
        }
    }
    /// How the level of the state is searched.
    pub(super) fn settle(&self, mut state: State, workers: usize) -> State {
        // A level that was spread is listed in order, and all visited vertices have their bits.
        let ready = state.step == Step::List && state.once;
        state.step = Step::Push;
        if state.width == 0 {
            state.step = Step::Done;
        } else if state.reached == self.most {
            // It cannot have a successor: gone over without being searched.
            state.edges += state.arcs;
            state.level += 1;
            (state.width, state.step) = (0, Step::Done);
        } else if !state.turned && self.search.turns(state.arcs, state.before, state.edges, state.width as usize) {
            state.step = Step::Prepare;
            (state.turned, state.once) = (true, false);
            state.spread = self.search.spreads() && state.arcs <= SPREAD * (self.most - state.reached);
        } else if workers > 1 && self.is_dense(&state, workers) && self.worth(&state, workers) > 1 && self.search.spreads() {
            state.step = if ready { Step::Spread } else { Step::Prepare };
            (state.spread, state.once) = (true, true);
        }
        state
    }
    /// Whether marks that one worker finds are on lines that others look at.
    pub(super) fn is_dense(&self, state: &State, workers: usize) -> bool {
        let nodes = self.nodes as u64;
        let apart = self.search.layout.local && workers >= LOCAL_WORKERS && state.arcs <= LOCAL_ARCS * nodes;
        state.arcs * DENSE > nodes && !apart
    }
    /// The turns that a level top-down is worth, of so many workers.
    pub(super) fn worth(&self, state: &State, workers: usize) -> usize {
        let cost = state.arcs + 2 * state.width;
        let alone = if self.is_dense(state, workers) { ALONE_DENSE } else { ALONE };
        if cost < alone { 1 } else { (cost / TURN) as usize }
    }
    /// Where a round of filling ends.
    pub(super) fn fills(&self, state: &State, members: usize) -> usize {
        self.nodes.min(state.filled + members * FILL)
    }
}
