//! What the rounds of a search by a crew are, which comes after which, and where windows end.
//!
//! Invariant: decided from the state and the sums of the posts alone, alike by all members.

/// The widest window, in buckets: what is queued from one reaches at most as far again, and fits the ring.
const WIDEST: u64 = 128;
/// Entries of a window for each member below which the next is twice as wide, and above four times which it is half as wide.
const ENTRIES: u64 = 48;
/// The part of the arcs that settled rows hold when the pull takes over.
const PULL_PART: f64 = 0.6;
/// A distance beyond which the arcs of most settled rows have all become due.
const LONG_WAY: u64 = 512;
/// And a shorter one, if the settled rows hold less than this part of the arcs that a pull begins at.
const SHORT_WAY: u64 = 256;
const SHORT_WAY_PART: u64 = 4;
/// The last pull looks at everything: when the mean of 2^class over the open vertices is below this.
const SMALL: u64 = 12;

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
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
pub(super) struct State {
    pub step: Step,
    /// The window at hand, in buckets.
    pub now: u64,
    pub end: u64,
    /// How wide the next one is.
    pub width: u64,
    pub horizon: u64,
    /// How far ahead the next horizon lies.
    pub ahead: u64,
    /// Entries are with the leader alone.
    pub led: bool,
    pub pulling: bool,
    pub nearest: u64,
    pub open: u64,
    /// The window from the start of which the open vertices were last counted.
    pub waited: u64,
    pub stopped: bool,
}

impl State {
    /// The window of the source alone.
    pub(super) fn start(horizon: u64, ahead: u64) -> Self {
        let (now, end, width, nearest, open, waited) = (0, 1, 1, 0, u64::MAX, 0);
        let (led, pulling, stopped) = (true, false, false);
        Self { step: Step::Window, now, end, width, horizon, ahead, led, pulling, nearest, open, waited, stopped }
    }
}

/// What members tell, added up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    /// Entries posted for the next window, and whether there are others than the leader's, there or later.
    pub posted: u64,
    pub others: bool,
    /// The first bucket that is queued behind it.
    pub first: u64,
    /// Whether settled rows have arcs left.
    pub pending: bool,
    pub size: u64,
    pub open: u64,
    pub open_size: u64,
    pub nearest: u64,
    pub found: bool,
}

impl Sums {
    /// Of no member.
    pub(super) fn new() -> Self {
        let (first, nearest) = (u64::MAX, u64::MAX);
        Self { posted: 0, others: false, first, pending: false, size: 0, open: 0, open_size: 0, nearest, found: false }
    }
}

/// Whether at a distance from the source rows are better pushed wholly, when the settled ones hold `size` arcs and a pull would begin at `limit`:
/// a mesh or a road is long, and what is left for later is pushed after all.
pub(super) fn long_way(distance: u64, size: u64, limit: u64) -> bool {
    distance >= LONG_WAY || distance >= SHORT_WAY && size < limit / SHORT_WAY_PART
}

/// Where windows stop and what they widen to is up to this; the same for all members.
pub(super) struct Rules {
    lazy: bool,
    step: u64,
    /// Arcs of settled rows from which on the rest is pulled.
    limit: u64,
}

impl Rules {
    /// Over so many arcs; where some are left for later, horizons lie `step` apart.
    pub(super) fn new(lazy: bool, step: u64, arcs: u64) -> Self {
        Self { lazy, step, limit: (arcs as f64 * PULL_PART) as u64 }
    }
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
    pub(super) fn following(&self, state: &State) -> u64 {
        state.end.saturating_add(state.width).min(state.horizon)
    }
    /// What comes after the round `state` of so many members.
    pub(super) fn next(&self, mut state: State, sums: &Sums, members: u64) -> State {
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
