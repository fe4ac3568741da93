//! One batch of up to 512 sources: steps in either direction until no source finds anything new.
//!
//! While few vertices are active, each gives its newest bits to its neighbours (a push, on one thread). Otherwise every vertex
//! that some source has not seen ORs what its neighbours had seen before the step (a pull, on all threads): from one array of
//! rows into another, so that nothing but those rows is read at random.
//!
//! # Invariants
//! Between steps `seen[v]` are the sources that have seen `v`. After a push the lists hold the vertices with new bits, each
//! once, and these bits. After a pull `next` is `seen` of the step before, and the parts' lists hold the vertices with new
//! bits, which are the difference. A row that is in no part's open list is the same in both arrays then.

#![allow(unsafe_code)]

use super::LANES;
use super::count::Counts;
use super::kernel::{self, Fetched, Lists, Pull, Pulled};
use super::row::Row;
use crate::{Isa, team};
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use team::Team;

/// How many arcs a thread pulls in the time of a pushed one.
const ALPHA: u64 = 8;
/// Vertices of a part of a pull.
const PART: usize = 1024;
/// Rows of this many bytes do not stay in a cache from one step to the next.
const CACHED: usize = if cfg!(test) { 1 << 14 } else { 8 << 20 };

/// Memory of a batch.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    seen: Vec<Row>,
    next: Vec<Row>,
    /// Active vertices after a push.
    lists: Lists,
    /// Open and active vertices of each part of a pull, from the part's first place on.
    open: Vec<u32>,
    found: Vec<u32>,
    parts: Vec<Pulled>,
    counts: Vec<Counts>,
}

/// The graph, and how to search it.
pub(super) struct Batch<'a> {
    pub out: (&'a [u32], &'a [u32]),
    pub incoming: (&'a [u32], &'a [u32]),
    /// The vertices that an arc enters.
    pub entered: &'a [u32],
    pub isa: Isa,
    pub control: &'a Control,
}

/// What each source found.
pub(super) struct Part {
    pub reached: Vec<u64>,
    pub depth: Vec<u32>,
    pub sum_levels: Vec<u64>,
}

/// What the last step was, and how much the next would look at.
#[derive(Clone, Copy)]
struct State {
    pulled: bool,
    active: usize,
    active_arcs: u64,
    open_arcs: u64,
}

impl Batch<'_> {
    pub fn run(&self, sources: &[u32], mut levels: Option<&mut [i32]>, scratch: &mut Scratch) -> Result<Part> {
        let n = self.out.0.len() - 1;
        let mut part = Part { reached: vec![1; sources.len()], depth: vec![0; sources.len()], sum_levels: vec![0; sources.len()] };
        let workers = if self.out.1.len() < 1 << 14 { 1 } else { usize::MAX };
        team::with(workers, |team| {
            self.clear(team, n, levels.is_some(), scratch);
            for (k, &s) in sources.iter().enumerate() {
                let row = &mut scratch.seen[s as usize];
                if *row == Row::default() {
                    scratch.lists.active.push(s);
                }
                row.0[k / 64] |= 1 << (k % 64);
                if let Some(levels) = levels.as_deref_mut() {
                    levels[k * n + s as usize] = 0;
                }
            }
            let Lists { active, front, .. } = &mut scratch.lists;
            front.extend(active.iter().map(|&v| scratch.seen[v as usize]));
            let mut alive = Row::first(sources.len());
            // Vertices that each source can reach at most: those that an arc enters, and itself.
            let entered = |s: &u32| self.incoming.0[*s as usize] < self.incoming.0[*s as usize + 1];
            let most: Vec<u64> = sources.iter().map(|s| self.entered.len() as u64 + u64::from(!entered(s))).collect();
            let mut state = self.pushed(scratch);
            let mut step = 0u32;
            while state.active > 0 && alive != Row::default() {
                self.control.check()?;
                self.control.report(step.into(), None);
                step += 1;
                if state.active <= scratch.lists.most && state.active_arcs * ALPHA * (team.workers() as u64) < state.open_arcs {
                    if state.pulled {
                        crate::trace::enter("msbfs: back to push");
                        self.turn_to_push(scratch);
                    }
                    let Scratch { seen, next, lists, counts, .. } = scratch;
                    crate::trace::enter("msbfs: push");
                    kernel::push(self.isa, self.out, seen, next, lists, &mut counts[0]);
                    state = self.pushed(scratch);
                } else {
                    if !state.pulled {
                        self.turn_to_pull(sources, scratch);
                    }
                    let late = part.reached.iter().sum::<u64>() > most.iter().sum::<u64>() / 2;
                    state = self.pull(team, alive, late, scratch);
                }
                let mut found = [0u64; LANES];
                if state.pulled {
                    let counts = DisjointSlice::new(&mut scratch.counts);
                    // SAFETY: every one is emptied by one call.
                    team.run(counts.len(), |_, k| unsafe { counts.range(k..k + 1) }[0].flush());
                } else {
                    scratch.counts[0].flush();
                }
                for counts in &mut scratch.counts {
                    found.iter_mut().zip(&mut counts.totals).for_each(|(sum, total)| *sum += std::mem::take(total));
                }
                for (k, &count) in found.iter().enumerate().take(sources.len()) {
                    if count > 0 {
                        part.reached[k] += count;
                        part.depth[k] = step;
                        part.sum_levels[k] += count * u64::from(step);
                    }
                    // A source without a newest level will never have one again, and one that has reached all can reach no more.
                    if count == 0 || part.reached[k] == most[k] {
                        alive.0[k / 64] &= !(1 << (k % 64));
                    }
                }
                if let Some(levels) = levels.as_deref_mut() {
                    scratch.write_levels(team, levels, n, step as i32, state.pulled);
                }
            }
            // Rows of sources that no arc enters are the only ones that a next batch would not overwrite.
            for &s in sources {
                scratch.next[s as usize] = Row::default();
            }
            Ok::<(), bitgraph_backend::Error>(())
        })?;
        Ok(part)
    }
    /// Empties the memory. Newest bits are kept for all vertices if `all`, else for as many as a push could do with.
    fn clear(&self, team: &Team<'_>, n: usize, all: bool, scratch: &mut Scratch) {
        scratch.seen.resize(n, Row::default());
        scratch.next.resize(n, Row::default());
        zero(team, &mut scratch.seen);
        scratch.lists.active.clear();
        scratch.lists.front.clear();
        scratch.lists.most = if all { n } else { n / 4 + LANES };
        scratch.counts.resize_with(team.workers().max(scratch.counts.len()), Counts::default);
    }
    /// The state after a push.
    fn pushed(&self, scratch: &Scratch) -> State {
        let arcs = |&v: &u32| u64::from(self.out.0[v as usize + 1] - self.out.0[v as usize]);
        State {
            pulled: false,
            active: scratch.lists.active.len(),
            active_arcs: scratch.lists.active.iter().map(arcs).sum(),
            open_arcs: self.out.1.len() as u64,
        }
    }
    /// Makes lists of all vertices that may be open. What no arc enters keeps its row.
    fn turn_to_pull(&self, sources: &[u32], scratch: &mut Scratch) {
        for &s in sources {
            scratch.next[s as usize] = scratch.seen[s as usize];
        }
        scratch.open.clear();
        scratch.open.extend_from_slice(self.entered);
        scratch.found.resize(self.entered.len(), 0);
        scratch.parts.clear();
        scratch.parts.extend(self.entered.chunks(PART).map(|p| Pulled { open: p.len(), ..Pulled::default() }));
    }
    /// Collects the newest bits.
    fn turn_to_push(&self, scratch: &mut Scratch) {
        let mut lists = std::mem::take(&mut scratch.lists);
        lists.active.clear();
        lists.front.clear();
        lists.active.extend(scratch.pulled());
        lists.front.extend(lists.active.iter().map(|&v| scratch.newest(v)));
        scratch.lists = lists;
    }
    /// Every open vertex takes the bits of its neighbours, on all threads. If it is `late`, most have nearly all bits already.
    fn pull(&self, team: &Team<'_>, alive: Row, late: bool, scratch: &mut Scratch) -> State {
        crate::trace::enter(if late { "msbfs: pull, late" } else { "msbfs: pull" });
        let Scratch { seen, next, open, found, parts, counts, .. } = scratch;
        let stream = size_of_val(&seen[..]) > CACHED;
        let fetched = match (stream, late) {
            (false, _) => Fetched::Nothing,
            (true, false) => Fetched::All,
            (true, true) => Fetched::First,
        };
        let graph = Pull { incoming: self.incoming, out: self.out.0, seen, alive, fetched, stream };
        {
            let count = parts.len();
            let (next, open, found) = (DisjointSlice::new(next), DisjointSlice::new(open), DisjointSlice::new(found));
            let (parts, counts) = (DisjointSlice::new(parts), DisjointSlice::new(counts));
            team.run(count, |worker, k| {
                // SAFETY: a worker works on one part at a time, every part is worked on once, and the workers' counts and the
                // parts' vertices and places in the lists are their own.
                unsafe {
                    let part = &mut parts.range(k..k + 1)[0];
                    let places = k * PART..k * PART + part.open;
                    let counts = &mut counts.range(worker..worker + 1)[0];
                    *part = kernel::pull(self.isa, &graph, open.range(places.clone()), found.range(places), &next, counts);
                }
            });
        }
        std::mem::swap(seen, next);
        let total = |f: fn(&Pulled) -> u64| parts.iter().map(f).sum::<u64>();
        State {
            pulled: true,
            active: total(|p| p.active as u64) as usize,
            active_arcs: total(|p| p.active_arcs),
            open_arcs: total(|p| p.open_arcs),
        }
    }
}

/// Sets all rows to zero, on all threads.
fn zero(team: &Team<'_>, rows: &mut [Row]) {
    let block = 1 << 12;
    let (n, rows) = (rows.len(), DisjointSlice::new(rows));
    team.run(n.div_ceil(block), |_, k| {
        // SAFETY: blocks are disjoint, and each is one call's.
        unsafe { rows.range(k * block..n.min((k + 1) * block)) }.fill(Row::default());
    });
}

impl Scratch {
    /// The vertices with new bits after a pull.
    fn pulled(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().zip(self.found.chunks(PART)).flat_map(|(part, places)| places[..part.active].iter().copied())
    }
    /// The newest bits of a vertex, after a pull.
    fn newest(&self, v: u32) -> Row {
        let (new, old) = (self.seen[v as usize].0, self.next[v as usize].0);
        Row(std::array::from_fn(|k| new[k] & !old[k]))
    }
    /// Writes `step` where the newest level of a source is, for the vertices with new bits, on all threads.
    fn write_levels(&self, team: &Team<'_>, levels: &mut [i32], n: usize, step: i32, pulled: bool) {
        let levels = DisjointSlice::new(levels);
        let write = |v: u32, new: Row| {
            for (word, &bits) in new.0.iter().enumerate() {
                let mut rest = bits;
                while rest != 0 {
                    let k = word * 64 + rest.trailing_zeros() as usize;
                    // SAFETY: a vertex is in one list, once, and bits are those of sources, each of which has `n` levels.
                    unsafe { levels.write(k * n + v as usize, step) };
                    rest &= rest - 1;
                }
            }
        };
        if pulled {
            let parts: Vec<_> = self.parts.iter().zip(self.found.chunks(PART)).map(|(part, places)| &places[..part.active]).collect();
            team.run(parts.len(), |_, k| parts[k].iter().for_each(|&v| write(v, self.newest(v))));
        } else {
            let Lists { active, front, .. } = &self.lists;
            team.run(active.len().div_ceil(PART), |_, k| {
                active.iter().zip(front).skip(k * PART).take(PART).for_each(|(&v, &new)| write(v, new));
            });
        }
    }
}
