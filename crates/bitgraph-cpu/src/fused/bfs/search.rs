//! The search itself: which direction each level takes, and on how many threads.
//!
//! # Invariants
//! Between levels, `queue[head..tail]` or the bits of `front` are the vertices of the level, each once. While a search runs
//! over marks, a vertex is visited if it has a mark; once it runs over bitmaps, if its bit in `visited` is set, which those
//! of closed vertices always are.

use super::{BfsLayout, down, spread, up};
use crate::{Isa, team, threads, trace};
use bitgraph_algorithms::UNREACHED;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A level is searched bottom-up when its arcs times this exceed those not yet looked at. Anything from 8 to 24 does about as well
/// on Kronecker, uniform and Mycielski graphs; 4 costs half as much again on uniform ones, and far more on two threads.
const ALPHA: u64 = 12;
/// Bottom-up ends when a level has shrunk below the vertices over this, and is smaller than what is unvisited.
const BETA: usize = 24;
/// Fewer arcs than this are pushed by one thread.
const SHARED_ARCS: u64 = 1 << 16;
/// And fewer than this for each thread: what threads found is gathered from lists of every thread for every range.
const WORKER_ARCS: u64 = 1 << 14;
/// Fewer vertices than this are pushed by one thread.
const SHARED_NODES: usize = 1 << 15;
/// A level turned bottom-up is spread over bitmaps instead if its arcs are fewer than the unvisited vertices times this.
const SPREAD: u64 = 9;
/// At most so many vertices: a bitmap of them stays in a core's cache.
const SPREAD_NODES: usize = 1 << 23;
/// Below this mean degree a queue over the marks is faster than vectors over a bitmap.
const LOW_DEGREE: usize = 8;

/// Words of a bitmap that are worth handing to a thread: microseconds of work.
const SHARE_WORDS: usize = 64;

/// Memory of a search.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub visited: Vec<u64>,
    pub front: Vec<u64>,
    pub next: Vec<u64>,
    /// A bitmap of each worker of a team, one after the other.
    pub touched: Vec<u64>,
    pub queue: Vec<u32>,
    /// What each worker of a team found, vertices with their parents, by ranges of vertices.
    pub found: Vec<Vec<(u32, u32)>>,
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

/// Writes the vertices of a bitmap to `queue`, ascending; how many.
fn list(bits: &[u64], queue: &mut [u32]) -> usize {
    let mut count = 0;
    for (i, &word) in bits.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            queue[count] = (i * 64) as u32 + rest.trailing_zeros();
            count += 1;
            rest &= rest - 1;
        }
    }
    count
}

/// A level of more arcs than this is pushed by so many threads together.
fn shared_arcs(threads: usize) -> u64 {
    SHARED_ARCS.max(WORKER_ARCS * threads as u64)
}

/// Where a search stands.
struct State {
    head: usize,
    tail: usize,
    level: u32,
    reached: u64,
    /// As many as can be reached: the source, and the vertices that an arc enters.
    most: u64,
    /// Arcs out of the vertices expanded so far.
    edges: u64,
}

impl Search<'_> {
    /// Fills `marks`, which are all unreached.
    pub fn run(&self, source: u32, marks: &mut [u32], scratch: &mut Scratch) -> Result<Found> {
        let n = marks.len();
        scratch.queue.resize((n + 64).max(scratch.queue.len()), 0);
        marks[source as usize] = if self.parents { source } else { 0 };
        scratch.queue[0] = source;
        let closed = self.layout.closed[source as usize >> 6] >> (source & 63) & 1;
        let mut state = State { head: 0, tail: 1, level: 0, reached: 1, most: self.layout.open + closed, edges: 0 };
        let since = self.layout.growing.then(Instant::now);
        let low = self.out.1.len() < LOW_DEGREE * n;
        if !low {
            self.start_bits(marks, scratch, source);
        }
        // Narrow levels first, on this thread.
        let wide = loop {
            if self.ends(&mut state, scratch) {
                break false;
            }
            self.control.check()?;
            self.control.report(state.level.into(), None);
            let width = state.tail - state.head;
            if !(low && width < n / 256) && width > 16 {
                let arcs = self.arcs(&scratch.queue[state.head..state.tail]);
                let shared = n >= SHARED_NODES && threads::allowed() > 1 && arcs > shared_arcs(threads::allowed());
                if self.turns(arcs, &state, width) || shared {
                    break true;
                }
            }
            self.push(marks, scratch, &mut state, low);
        };
        if wide {
            if low {
                self.start_bits(marks, scratch, source);
            }
            team::with_growth(usize::MAX, since, |team| self.run_wide(team, marks, scratch, &mut state))?;
        }
        Ok(Found { reached: state.reached, depth: state.level.saturating_sub(1), edges: state.edges })
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
    /// The bitmap of visited vertices.
    fn start_bits(&self, marks: &[u32], scratch: &mut Scratch, source: u32) {
        scratch.visited.clear();
        scratch.visited.extend_from_slice(&self.layout.closed);
        if self.out.1.len() < LOW_DEGREE * marks.len() {
            for (word, marks) in scratch.visited.iter_mut().zip(marks.chunks(64)) {
                *word |= marks.iter().enumerate().fold(0, |bits, (i, &mark)| bits | u64::from(mark != UNREACHED) << i);
            }
        }
        scratch.visited[source as usize >> 6] |= 1 << (source & 63);
    }
    /// The arcs out of these vertices.
    fn arcs(&self, vertices: &[u32]) -> u64 {
        let offsets = self.out.0;
        vertices.iter().map(|&v| u64::from(offsets[v as usize + 1] - offsets[v as usize])).sum()
    }
    /// The arcs out of these vertices, or out of so many of them that they are more than `enough`.
    fn arcs_up_to(&self, vertices: &[u32], enough: u64) -> u64 {
        let mut arcs = 0;
        for part in vertices.chunks(1024) {
            arcs += self.arcs(part);
            if arcs > enough {
                break;
            }
        }
        arcs
    }
    /// Whether a level of `width` vertices with so many arcs is searched bottom-up.
    fn turns(&self, arcs: u64, state: &State, width: usize) -> bool {
        let rest = (self.out.1.len() as u64).saturating_sub(state.edges);
        arcs * ALPHA > rest && arcs > 1024 && width * 256 > self.layout.nodes || arcs * ALPHA > rest && arcs > self.layout.nodes as u64 / 8
    }
    /// One level top-down on this thread.
    fn push(&self, marks: &mut [u32], scratch: &mut Scratch, state: &mut State, over_marks: bool) {
        let mark = (!self.parents).then_some(state.level + 1);
        let queue = &mut scratch.queue[..];
        let (end, arcs) = if over_marks {
            down::over_marks(self.out, queue, state.head..state.tail, marks, mark, self.layout.scattered)
        } else {
            down::over_bits(self.out, queue, state.head..state.tail, marks, &mut scratch.visited, mark, self.isa)
        };
        state.edges += arcs;
        state.reached += (end - state.tail) as u64;
        (state.head, state.tail) = (state.tail, end);
        state.level += 1;
    }
    /// The rest of a search whose levels are wide.
    fn run_wide(&self, team: &team::Team<'_>, marks: &mut [u32], scratch: &mut Scratch, state: &mut State) -> Result<()> {
        let n = marks.len();
        let mut turned = false;
        while !self.ends(state, scratch) {
            self.control.check()?;
            self.control.report(state.level.into(), None);
            // A level with as many arcs as this turns the search, however many more they are.
            let rest = (self.out.1.len() as u64).saturating_sub(state.edges);
            let enough = if turned { u64::MAX } else { (rest / ALPHA).max(n as u64 / 8) };
            let arcs = self.arcs_up_to(&scratch.queue[state.head..state.tail], enough);
            if !turned && self.turns(arcs, state, state.tail - state.head) {
                turned = true;
                self.pull(team, marks, scratch, state)?;
            } else if team.workers() > 1 && arcs > shared_arcs(team.workers()) {
                self.push_shared(team, marks, scratch, state, arcs);
            } else {
                self.push(marks, scratch, state, false);
            }
        }
        if turned {
            // Arcs of levels found bottom-up were not added: all but those of the vertices that were not reached.
            let degree = |v: usize| u64::from(self.out.0[v + 1] - self.out.0[v]);
            let mut missing = self.layout.closed_degrees;
            for (i, &word) in scratch.visited.iter().enumerate() {
                let mut rest = !word;
                while rest != 0 {
                    missing += degree(i * 64 + rest.trailing_zeros() as usize);
                    rest &= rest - 1;
                }
            }
            let first = scratch.queue[0] as usize;
            if self.layout.closed[first >> 6] >> (first & 63) & 1 != 0 {
                missing -= degree(first);
            }
            state.edges = self.out.1.len() as u64 - missing;
        }
        debug_assert!(state.reached <= n as u64);
        Ok(())
    }
    /// Levels bottom-up until they are narrow, the first of them perhaps spread; leaves the last one in the queue, behind what is
    /// there (its first element, the source, is kept).
    fn pull(&self, team: &team::Team<'_>, marks: &mut [u32], scratch: &mut Scratch, state: &mut State) -> Result<()> {
        let n = marks.len();
        let words = scratch.visited.len();
        scratch.front.clear();
        scratch.front.resize(words, 0);
        scratch.next.resize(words, 0);
        let mut spread = self.spreads(&scratch.queue[state.head..state.tail], state);
        for &v in &scratch.queue[state.head..state.tail] {
            scratch.front[v as usize >> 6] |= 1 << (v & 63);
        }
        if spread {
            // In order, so that rows are read in order.
            list(&scratch.front, &mut scratch.queue[state.head..]);
        }
        let mut width = state.tail - state.head;
        loop {
            self.control.check()?;
            self.control.report(state.level.into(), None);
            let found = if spread { self.spread(team, marks, scratch, state) } else { self.bottom_up(team, marks, scratch, state) };
            spread = false;
            state.level += 1;
            state.reached += found as u64;
            std::mem::swap(&mut scratch.front, &mut scratch.next);
            let shrinks = found < width;
            width = found;
            let left = state.most - state.reached;
            if found == 0 || left == 0 || shrinks && found < n / BETA && (found as u64) < left {
                break;
            }
        }
        state.head = 1;
        state.tail = 1 + list(&scratch.front[..words], &mut scratch.queue[1..]);
        if width == 0 {
            // The empty level was counted as one; pushing an empty level would count it too.
            state.tail = state.head;
        }
        Ok(())
    }
    /// One level bottom-up on all threads, from `front` to `next`; how many it found.
    fn bottom_up(&self, team: &team::Team<'_>, marks: &mut [u32], scratch: &mut Scratch, state: &State) -> usize {
        trace::enter(if self.layout.max_neighbour.is_some() { "bfs: bottom-up by max-degree neighbours" } else { "bfs: bottom-up" });
        let (n, words) = (marks.len(), scratch.visited.len());
        let block = (words / (team.workers() * 16)).max(SHARE_WORDS);
        let found = AtomicU64::new(0);
        let visited = DisjointSlice::new(&mut scratch.visited);
        let next = DisjointSlice::new(&mut scratch.next[..words]);
        let marks = DisjointSlice::new(marks);
        let step = up::Step { rows: self.incoming, front: &scratch.front, mark: (!self.parents).then_some(state.level + 1) };
        team.run(words.div_ceil(block), |_, chunk| {
            let range = chunk * block..words.min(chunk * block + block);
            let vertices = range.start * 64..n.min(range.end * 64);
            // SAFETY: the chunks are disjoint ranges of words, and of the vertices of those words.
            #[allow(unsafe_code)]
            let (visited, next, marks) =
                unsafe { (visited.range(range.clone()), next.range(range.clone()), marks.range(vertices.clone())) };
            let max_neighbour = self.layout.max_neighbour.as_ref().map(|h| &h[range.start * 64..range.end * 64]);
            let part = up::Part { first: vertices.start, max_neighbour, visited, next, marks };
            found.fetch_add(up::pull(&step, part, self.isa), Ordering::Relaxed);
        });
        found.into_inner() as usize
    }
    /// Whether a level about to be searched bottom-up has fewer arcs than that would look at.
    fn spreads(&self, queue: &[u32], state: &State) -> bool {
        let enough = SPREAD * (state.most - state.reached);
        !self.parents
            && self.layout.max_neighbour.is_none()
            && self.layout.nodes <= SPREAD_NODES
            && self.arcs_up_to(queue, enough) <= enough
    }
    /// One level top-down over bitmaps on all threads, from the queue to `next`; how many it found.
    fn spread(&self, team: &team::Team<'_>, marks: &mut [u32], scratch: &mut Scratch, state: &State) -> usize {
        trace::enter("bfs: spread");
        let (n, words, workers) = (marks.len(), scratch.visited.len(), team.workers());
        // Bitmaps of two workers share no cache line.
        let stride = words.next_multiple_of(16);
        scratch.touched.resize((stride * workers).max(scratch.touched.len()), 0);
        let (queue, touched) = (&scratch.queue[..state.tail], DisjointSlice::new(&mut scratch.touched));
        let width = state.tail - state.head;
        let block = (width / (workers * 16)).max(64);
        team.run(width.div_ceil(block), |worker, chunk| {
            let first = state.head + chunk * block;
            // SAFETY: a worker works on one chunk at a time, and has a bitmap of its own.
            #[allow(unsafe_code)]
            let bits = unsafe { touched.range(worker * stride..worker * stride + words) };
            spread::set_bits(self.out, queue, first..state.tail.min(first + block), bits);
        });
        let found = AtomicU64::new(0);
        let visited = DisjointSlice::new(&mut scratch.visited);
        let next = DisjointSlice::new(&mut scratch.next[..words]);
        let marks = DisjointSlice::new(marks);
        let block = (words / (workers * 4)).max(256);
        team.run(words.div_ceil(block), |_, chunk| {
            let range = chunk * block..words.min(chunk * block + block);
            // SAFETY: the chunks are disjoint ranges of words, of every worker's too, and of the vertices of those words; no
            // bitmap is written to any more.
            #[allow(unsafe_code)]
            let part = unsafe {
                spread::Part {
                    workers: (0..workers).map(|m| touched.range(m * stride + range.start..m * stride + range.end)).collect(),
                    visited: visited.range(range.clone()),
                    next: next.range(range.clone()),
                    marks: marks.range(range.start * 64..n.min(range.end * 64)),
                }
            };
            found.fetch_add(spread::collect(part, state.level + 1, self.isa), Ordering::Relaxed);
        });
        found.into_inner() as usize
    }
    /// One level top-down on all threads.
    fn push_shared(&self, team: &team::Team<'_>, marks: &mut [u32], scratch: &mut Scratch, state: &mut State, arcs: u64) {
        trace::enter("bfs: shared top-down");
        let n = marks.len();
        let (queue, lists) = (&mut scratch.queue, &mut scratch.found);
        let workers = team.workers();
        // Ranges of vertices that are whole words, some for every worker.
        let shift = (n / (workers * 4)).max(64).next_power_of_two().trailing_zeros();
        let ranges = n.div_ceil(1 << shift);
        lists.resize_with((workers * ranges).max(lists.len()), Vec::new);
        let lists = &mut lists[..workers * ranges];
        let width = state.tail - state.head;
        let block = (width / (workers * 16)).clamp(1, 1024);
        {
            let (segment, visited) = (&queue[state.head..state.tail], &scratch.visited[..]);
            let lists = DisjointSlice::new(lists);
            team.run(width.div_ceil(block), |worker, chunk| {
                let part = &segment[chunk * block..width.min(chunk * block + block)];
                // SAFETY: a worker works on one chunk at a time, and has lists of its own.
                #[allow(unsafe_code)]
                let lists = unsafe { lists.range(worker * ranges..(worker + 1) * ranges) };
                down::candidates(self.out, part, visited, shift, lists, self.isa);
            });
        }
        {
            let mark = (!self.parents).then_some(state.level + 1);
            let (lists, marks) = (DisjointSlice::new(lists), DisjointSlice::new(marks));
            let visited = DisjointSlice::new(&mut scratch.visited);
            team.run(ranges, |_, range| {
                let (first, end) = (range << shift, n.min((range + 1) << shift));
                // SAFETY: the ranges are disjoint, and made of whole words.
                #[allow(unsafe_code)]
                let (marks, visited) = unsafe { (marks.range(first..end), visited.range(first / 64..end.div_ceil(64))) };
                for worker in 0..workers {
                    let list = worker * ranges + range;
                    // SAFETY: each range has its own list of every worker.
                    #[allow(unsafe_code)]
                    let list = unsafe { &mut lists.range(list..list + 1)[0] };
                    down::claim(list, first, marks, visited, mark);
                }
            });
        }
        let mut end = state.tail;
        for list in lists {
            for (slot, &(u, _)) in queue[end..].iter_mut().zip(&*list) {
                *slot = u;
            }
            end += list.len();
            list.clear();
        }
        state.edges += arcs;
        state.reached += (end - state.tail) as u64;
        (state.head, state.tail) = (state.tail, end);
        state.level += 1;
    }
}
