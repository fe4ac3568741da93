//! A search from its source: narrow levels on this thread, and the rest in rounds of a crew from the first wide level on.
//!
//! # Invariants
//! Between levels, `queue[head..tail]` are the vertices of the level, each once. A vertex is visited if it has a mark, and where there are
//! enough neighbours for vectors also if its bit in `visited` is set, which those of closed vertices always are.

use super::{BfsLayout, down, rounds, state};
use crate::{Isa, team, threads};
use bitgraph_algorithms::UNREACHED;
use bitgraph_backend::{Control, Result};
use std::time::Instant;

/// A level is searched bottom-up when its arcs times this exceed those not yet looked at. Anything from 8 to 24 does about as well
/// on Kronecker, uniform and Mycielski graphs; 4 costs half as much again on uniform ones, and far more on two threads.
pub(super) const ALPHA: u64 = 12;
/// The same of a level of less than one and a half times the arcs of the one before: what is not yet looked at lasts for as many levels as it is
/// larger, and bottom-up every one of them would look at all of it.
const STEADY_ALPHA: u64 = 3;
/// Bottom-up ends when a level has shrunk below the vertices over this, and is smaller than what is unvisited.
pub(super) const BETA: usize = 24;
/// Graphs of fewer vertices are searched by one thread, and levels of fewer arcs as long as no other thread is awake. A mesh of 4 thousand vertices
/// took 1.3 times as long with two that shared its last levels, and 2.1 times with sixteen.
const SHARED_NODES: usize = 1 << 14;
const SHARED_ARCS: u64 = 1 << 13;
/// A level turned bottom-up is spread over bitmaps instead if its arcs are fewer than the unvisited vertices times this.
pub(super) const SPREAD: u64 = 9;
/// At most so many vertices: a bitmap of them stays in a core's cache.
pub(super) const SPREAD_NODES: usize = 1 << 23;
/// Below this mean degree marks one by one are faster than vectors of them, or of bits.
pub(super) const LOW_DEGREE: usize = 8;

/// Memory of a search.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub visited: Vec<u64>,
    pub front: Vec<u64>,
    pub next: Vec<u64>,
    /// A bitmap of each worker of a team, one after the other.
    pub touched: Vec<u64>,
    pub queue: Vec<u32>,
    /// What each worker of a team found.
    pub own: Vec<rounds::Own>,
}

/// Offsets and indices.
pub(super) type Rows<'a> = (&'a [u32], &'a [u32]);

/// What a search found besides the marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub reached: u64,
    pub depth: u32,
    pub edges: u64,
}

/// One search.
pub(super) struct Search<'a> {
    pub layout: &'a BfsLayout,
    pub out: Rows<'a>,
    pub incoming: Rows<'a>,
    /// Marks are parents, else levels.
    pub parents: bool,
    pub isa: Isa,
    pub control: &'a Control,
}

/// Where the narrow levels at the start stand.
struct State {
    head: usize,
    tail: usize,
    level: u32,
    reached: u64,
    /// As many as can be reached: the source, and the vertices that an arc enters.
    most: u64,
    /// Arcs out of the vertices expanded so far, and out of those of the level before.
    edges: u64,
    before: u64,
}

impl Search<'_> {
    /// The marks and what else was found. A long search fills the marks with all threads, and wakes them by that.
    pub fn run(&self, source: u32, scratch: &mut Scratch) -> Result<(Vec<u32>, Found)> {
        let n = self.layout.nodes;
        let most = self.layout.open + u64::from(self.is_closed(source));
        if !self.layout.growing && threads::allowed() > 1 {
            let mut marks: Vec<u32> = Vec::with_capacity(n);
            let start = state::State::unfilled(self.degree(source as usize));
            let places = &mut marks.spare_capacity_mut()[..n];
            let end = team::with(usize::MAX, |team| rounds::run(self, team, places, scratch, (source, most), start, &[source]))?;
            // SAFETY: a search that has begun has filled the marks.
            #[allow(unsafe_code)]
            unsafe {
                marks.set_len(n);
            }
            return Ok((marks, Found::of(&end)));
        }
        let mut marks = vec![UNREACHED; n];
        marks[source as usize] = if self.parents { source } else { 0 };
        scratch.queue.resize((n + 64).max(scratch.queue.len()), 0);
        scratch.queue[0] = source;
        let mut state = State { head: 0, tail: 1, level: 0, reached: 1, most, edges: 0, before: 0 };
        let since = self.layout.growing.then(Instant::now);
        let low = self.low();
        if !low {
            scratch.visited.clear();
            scratch.visited.extend_from_slice(&self.layout.closed);
            scratch.visited[source as usize >> 6] |= 1 << (source & 63);
        }
        let mean = (self.out.1.len() / n) as u64 + 1;
        let shares = n >= SHARED_NODES && threads::allowed() > 1;
        // Narrow levels first, on this thread.
        loop {
            if self.ends(&mut state, scratch) {
                return Ok((marks, Found { reached: state.reached, depth: state.level.saturating_sub(1), edges: state.edges }));
            }
            self.control.check()?;
            self.control.report(state.level.into(), None);
            let width = state.tail - state.head;
            let shared = shares && width as u64 * mean > SHARED_ARCS;
            if width > 16 && (!low || width >= n / 256 || shared) {
                let arcs = self.arcs(&scratch.queue[state.head..state.tail]);
                if self.turns(arcs, state.before, state.edges, width) || shares && arcs > SHARED_ARCS {
                    let level = scratch.queue[state.head..state.tail].to_vec();
                    let mut start = state::State::at(state.level, state.reached, state.edges, width as u64, arcs);
                    start.exact = !low;
                    start.before = state.before;
                    #[allow(unsafe_code)]
                    // SAFETY: numbers as places for numbers; only numbers are written to them.
                    let places = unsafe { std::slice::from_raw_parts_mut(marks.as_mut_ptr().cast(), n) };
                    let end = team::with_growth(if shares { usize::MAX } else { 1 }, since, |team| {
                        rounds::run(self, team, places, scratch, (source, most), start, &level)
                    })?;
                    return Ok((marks, Found::of(&end)));
                }
            }
            self.push(&mut marks, scratch, &mut state, low);
        }
    }
    /// Whether vertices have few neighbours.
    fn low(&self) -> bool {
        self.out.1.len() < LOW_DEGREE * self.layout.nodes
    }
    /// The instructions that levels are pushed with by a crew.
    pub fn pushes(&self) -> Isa {
        if self.low() { Isa::Portable } else { self.isa }
    }
    /// Whether no arc enters the vertex.
    pub fn is_closed(&self, v: u32) -> bool {
        self.layout.closed[v as usize >> 6] >> (v & 63) & 1 != 0
    }
    /// The arcs out of the vertices that no arc enters, other than the source.
    pub fn closed_arcs(&self, source: u32) -> u64 {
        self.layout.closed_degrees - if self.is_closed(source) { self.degree(source as usize) } else { 0 }
    }
    /// The arcs out of a vertex.
    pub fn degree(&self, v: usize) -> u64 {
        u64::from(self.out.0[v + 1] - self.out.0[v])
    }
    /// Whether the level is empty. If it cannot have a successor, it is gone over without being searched.
    fn ends(&self, state: &mut State, scratch: &Scratch) -> bool {
        if state.head < state.tail && state.reached == state.most {
            state.edges += self.arcs(&scratch.queue[state.head..state.tail]);
            state.head = state.tail;
            state.level += 1;
        }
        state.head == state.tail
    }
    /// The arcs out of these vertices.
    fn arcs(&self, vertices: &[u32]) -> u64 {
        vertices.iter().map(|&v| self.degree(v as usize)).sum()
    }
    /// Whether a level of `width` vertices with so many arcs, the one before with `before`, is searched bottom-up when `edges` arcs have been gone
    /// over.
    pub fn turns(&self, arcs: u64, before: u64, edges: u64, width: usize) -> bool {
        let rest = (self.out.1.len() as u64).saturating_sub(edges);
        let alpha = if 2 * arcs >= 3 * before { ALPHA } else { STEADY_ALPHA };
        arcs * alpha > rest && (arcs > 1024 && width * 256 > self.layout.nodes || arcs > self.layout.nodes as u64 / 8)
    }
    /// Whether a level that is turned may be spread over bitmaps instead.
    pub fn spreads(&self) -> bool {
        !self.parents && self.layout.max_neighbour.is_none() && self.layout.nodes <= SPREAD_NODES
    }
    /// One level top-down on this thread.
    fn push(&self, marks: &mut [u32], scratch: &mut Scratch, state: &mut State, over_marks: bool) {
        let mark = (!self.parents).then_some(state.level + 1);
        let queue = &mut scratch.queue[..];
        let (end, arcs) = if over_marks {
            down::over_marks(self.out, queue, state.head..state.tail, marks, mark, self.layout)
        } else {
            down::over_bits(self.out, queue, state.head..state.tail, marks, &mut scratch.visited, mark, self.isa)
        };
        state.edges += arcs;
        state.before = arcs;
        state.reached += (end - state.tail) as u64;
        (state.head, state.tail) = (state.tail, end);
        state.level += 1;
    }
}

impl Found {
    fn of(end: &state::State) -> Self {
        Self { reached: end.reached, depth: end.level.saturating_sub(1), edges: end.edges }
    }
}
