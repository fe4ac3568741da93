//! The search over packed rows: exact buckets, arcs relaxed only up to a moving horizon, and a pull for the rest.
//!
//! A settled row is pushed as far as its arcs end below the horizon; a cursor and the distance that its next arc leads to
//! stay behind, and when the search comes to the horizon the rows that are due go on. Most arcs of most rows are thus
//! never touched: once the settled rows hold most of the arcs, the open vertices look back at them instead, each until its
//! next arc could not improve it (rows are sorted by weight).
//!
//! # Invariants
//! At the start of bucket `now` every arc from a vertex below `now` to an end below the horizon has been relaxed, by a push
//! or by a pull, so that what the bucket holds is final. Every weight is at least 1 and at most 255: a bucket does not grow while
//! it is worked off, and the 256 buckets are never ambiguous.
#![allow(unsafe_code)]

use super::super::state::long_way;
use super::buckets::Buckets;
use super::link::{Link, Report};
use super::ops::{Ops, Sink, below};
use super::rows::{HEAD, PAD, Rows};
use bitgraph_backend::{Control, Error, Result};
use bitgraph_sparse::ahead::{beside, fetch};

/// The pull takes over when the settled rows hold this part of the arcs.
const PULL_PART: f64 = 0.8;
/// Rows are pushed wholly, nearest first, until they hold this part of the arcs, before the first pull.
const WHOLE_PART: usize = 64;
/// The last pull looks at everything: when the mean of 2^class over the open vertices is below this.
const SMALL: u64 = 12;
/// How many vertices ahead memory is asked for.
const AHEAD: usize = 8;
/// The class of the smallest degree that is not below `HEAD`.
const LONG: u8 = HEAD.trailing_zeros() as u8 + 1;

/// What a searcher needs besides the distances: 16 bytes per vertex and the buckets; of two searchers the messages too.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub buckets: Buckets,
    settled: Vec<u32>,
    cursors: Vec<u32>,
    keys: Vec<u32>,
    list: Vec<u32>,
    /// What one of two searchers sends.
    pub messages: [Vec<u64>; 2],
}

impl Default for Scratch {
    /// Only buckets, for the search over fixed rows.
    fn default() -> Self {
        let none = Vec::new;
        let (buckets, messages) = (Buckets::new(), [Vec::new(), Vec::new()]);
        Self { buckets, settled: none(), cursors: none(), keys: none(), list: none(), messages }
    }
}

impl Scratch {
    /// Makes room for so many vertices.
    pub fn reserve(&mut self, nodes: usize) {
        for array in [&mut self.settled, &mut self.cursors, &mut self.keys, &mut self.list] {
            array.resize(array.len().max(nodes + PAD), 0);
        }
    }
}

/// What to search: both directions of the graph (one object if it is symmetric), and from where.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub out: &'a Rows,
    pub incoming: &'a Rows,
    pub source: u32,
    pub target: Option<u32>,
    pub step: u32,
    /// Whether what lies beside a vertex is fetched.
    pub near: bool,
    pub control: &'a Control,
}

/// Distances, and where improvements go.
struct State<'a, L> {
    dist: *mut u32,
    buckets: &'a mut Buckets,
    live: u64,
    sent: u64,
    link: &'a mut L,
}

impl<L: Link> State<'_, L> {
    /// Meets the other searcher; afterwards everything that it sent is queued here.
    #[inline(always)]
    fn meet(&mut self, mut report: Report) -> Report {
        report.live = self.live + self.sent;
        self.sent = 0;
        let (dist, buckets, live) = (self.dist, &mut *self.buckets, &mut self.live);
        self.link.meet(dist, report, |vertex, distance| {
            // SAFETY: the other searcher sends vertices of the same graph.
            let known = unsafe { &mut *dist.add(vertex as usize) };
            if distance < *known {
                *known = distance;
                buckets.push(distance, vertex);
                *live += 1;
            }
        })
    }
}

impl<L: Link> Sink for State<'_, L> {
    #[inline(always)]
    fn dist(&self) -> *mut u32 {
        self.dist
    }
    #[inline(always)]
    unsafe fn improve(&mut self, id: u32, distance: u32) {
        // SAFETY: the trait's contract.
        unsafe { *self.dist.add(id as usize) = distance };
        // Which of two searchers a vertex belongs to is anybody's guess: no branch on it.
        let own = L::ALONE || self.link.owns(id);
        self.buckets.push_if(distance, id, own);
        self.live += u64::from(own);
        if !L::ALONE {
            self.link.send_if(id, distance, !own);
            self.sent += u64::from(!own);
        }
    }
}

/// Fills `dist`, which holds the largest value everywhere. With a target, distances above the target's are upper bounds.
///
/// # Errors
/// [`Error::Cancelled`].
///
/// # Safety
/// `dist` has an element per vertex, `scratch` is for as many, and the CPU has the instructions of `O`.
#[inline(always)]
pub(crate) unsafe fn search<O: Ops, L: Link>(task: Task<'_>, dist: &mut [u32], scratch: &mut Scratch, link: &mut L) -> Result<()> {
    let Task { out, incoming, source, target, step, near, control } = task;
    let nodes = out.nodes;
    debug_assert!(dist.len() == nodes && scratch.list.len() >= nodes + PAD);
    let Scratch { buckets, settled, cursors, keys, list, .. } = scratch;
    buckets.clear();
    let dist = dist.as_mut_ptr();
    let (heads, entries, offsets, classes) = (out.heads.as_ptr(), out.entries.as_ptr(), out.offsets.as_ptr(), out.classes.as_ptr());
    let mut state = State { dist, buckets, live: 0, sent: 0, link };
    // SAFETY: for the whole body, vertices come from the source, from entries or from lists of vertices, and are below
    // `nodes`; positions in `settled`, `cursors` and `keys` are below `count`, which is at most the number of own vertices since a
    // vertex is settled once; a row's cursor is inside the row while its key says that entries are left.
    unsafe {
        *dist.add(source as usize) = 0;
        if state.link.owns(source) {
            state.buckets.push(0, source);
            state.live = 1;
        }
        // The rest of a row behind its first `from` entries.
        let rest = |v: usize, from: usize| {
            let (start, end) = (*offsets.add(v) as usize + from, *offsets.add(v + 1) as usize);
            std::slice::from_raw_parts(entries.add(start), end - start)
        };
        // An undirected vertex of degree 1 has no arc but the one that it was reached over.
        let leaf = u8::from(std::ptr::eq(out, incoming));
        let whole = out.offsets[nodes] as usize / if L::ALONE { WHOLE_PART } else { 2 * WHOLE_PART };
        let limit = (out.offsets[nodes] as f64 * PULL_PART * 0.75) as u64;
        let (mut now, mut horizon, mut width) = (0u32, step, step);
        let (mut count, mut size, mut total) = (0usize, 0u64, 0u64);
        let (mut pulling, mut last) = (false, false);
        let (mut open, mut nearest) = (usize::MAX, 0u32);
        let (mut open_before, mut width_before) = (u64::MAX, 0u32);
        loop {
            if !last && now == horizon {
                if pulling || total > limit {
                    let mut own_nearest = u32::MAX;
                    if !pulling {
                        crate::trace::enter("sssp: packed, pulling");
                        pulling = true;
                        // The nearest rows, hubs among them, are pushed to their ends: pulls need not look back that far.
                        let (mut i, mut sum) = (0, 0usize);
                        while i < count {
                            let v = *settled.get_unchecked(i) as usize;
                            sum += (*offsets.add(v + 1) - *offsets.add(v)) as usize;
                            if sum > whole {
                                own_nearest = *dist.add(v);
                                break;
                            }
                            // The cursor of a finished row counts padding.
                            if *keys.get_unchecked(i) != u32::MAX {
                                O::tail(rest(v, *cursors.get_unchecked(i) as usize), u32::MAX, *dist.add(v), &mut state);
                            }
                            i += 1;
                        }
                    }
                    let mut size = 0u64;
                    if open == usize::MAX {
                        open = 0;
                        for block in state.link.blocks(nodes) {
                            let at = list.as_mut_ptr().add(open);
                            open += O::open(dist, incoming.classes.as_ptr(), block.start as u32, block.len(), now, at);
                        }
                    } else {
                        let mut kept = 0;
                        for i in 0..open {
                            let v = *list.get_unchecked(i);
                            *list.get_unchecked_mut(kept) = v;
                            kept += usize::from(*dist.add(v as usize) >= now);
                        }
                        open = kept;
                    }
                    for i in (0..open).step_by(16) {
                        size += 16 << *incoming.classes.get_unchecked(*list.get_unchecked(i) as usize);
                    }
                    let all = state.meet(Report { open: open as u64, open_size: size, nearest: own_nearest, ..Report::EMPTY });
                    // A window of the largest weight that settled nothing: the rest cannot be reached.
                    if all.open == 0 || (all.open == open_before && width_before >= 256) {
                        break;
                    }
                    state.link.adopt(dist, nodes, now);
                    if nearest == 0 && all.nearest != u32::MAX {
                        nearest = all.nearest;
                    }
                    last = all.open_size < all.open * SMALL;
                    if last {
                        crate::trace::enter("sssp: packed, the last horizon");
                    }
                    let next = if last { u32::MAX } else { horizon.saturating_add(width) };
                    (open_before, width_before) = (all.open, next - now);
                    width = width.saturating_mul(2);
                    pull::<O, L>(incoming, &list[..open], now, next, nearest, &mut state);
                    horizon = next;
                } else {
                    // A long way: the arcs of most rows have all become due, and what is left is pushed wholly.
                    last = long_way(now.into(), total, limit);
                    let next = if last { u32::MAX } else { horizon + step };
                    let due = O::due(keys.get_unchecked(..count), next, list.as_mut_ptr());
                    for k in 0..due {
                        let ahead = *list.get_unchecked((k + AHEAD).min(due - 1)) as usize;
                        let (v, from) = (*settled.get_unchecked(ahead) as usize, *cursors.get_unchecked(ahead) as usize);
                        fetch(if from < HEAD { heads.add(v * HEAD + from) } else { entries.add(*offsets.add(v) as usize + from) });
                        let i = *list.get_unchecked(k) as usize;
                        let v = *settled.get_unchecked(i) as usize;
                        let base = *dist.add(v);
                        let most = below(next - base);
                        let mut from = *cursors.get_unchecked(i) as usize;
                        let mut key = u32::MAX;
                        while from < HEAD {
                            let entry = *heads.add(v * HEAD + from);
                            if entry > most {
                                key = base + (entry >> 24);
                                break;
                            }
                            O::one(entry, base, &mut state);
                            from += 1;
                        }
                        if from >= HEAD && *classes.add(v) >= LONG {
                            let row = rest(v, from);
                            let done = O::tail(row, most, base, &mut state);
                            from += done;
                            key = row.get(done).map_or(u32::MAX, |entry| base + (entry >> 24));
                        }
                        *cursors.get_unchecked_mut(i) = from as u32;
                        *keys.get_unchecked_mut(i) = key;
                    }
                    horizon = next;
                    // Whether anything is left matters only when nothing is queued, or may be on the other side.
                    let pending = (!L::ALONE || state.live == 0) && keys.get_unchecked(..count).iter().any(|&k| k != u32::MAX);
                    let all = state.meet(Report { settled: size, pending, ..Report::EMPTY });
                    if all.live == 0 && !all.pending {
                        break;
                    }
                }
            }
            let mut chunk = Some(state.buckets.last(now));
            while let Some(run) = chunk {
                chunk = run.before();
                let ids = run.ids();
                state.live -= ids.len() as u64;
                let most = if last { u32::MAX } else { below(horizon - now) };
                // First what every vertex is looked up in, then, read from that, the rest of a row that is near to the end of its head.
                let first = |i: usize| {
                    let v = *ids.get_unchecked(i) as usize;
                    fetch(heads.add(v * HEAD));
                    fetch(dist.add(v));
                    fetch(offsets.add(v));
                    fetch(classes.add(v));
                };
                let second = |i: usize| {
                    let v = *ids.get_unchecked(i) as usize;
                    if *heads.add(v * HEAD + HEAD - 1) <= most {
                        let row = entries.wrapping_add(*offsets.add(v) as usize + HEAD);
                        fetch(row);
                        fetch(row.wrapping_add(15));
                    }
                };
                (0..ids.len().min(2 * AHEAD)).for_each(first);
                (0..ids.len().min(AHEAD)).for_each(second);
                for (i, &v) in ids.iter().enumerate() {
                    first((i + 2 * AHEAD).min(ids.len() - 1));
                    second((i + AHEAD).min(ids.len() - 1));
                    let v = v as usize;
                    if *dist.add(v) != now {
                        continue;
                    }
                    if near {
                        beside(heads, v * HEAD..v * HEAD);
                        beside(dist.cast_const(), v..v);
                        beside(offsets, v..v);
                    }
                    let class = *classes.add(v);
                    let head = heads.add(v * HEAD);
                    if last {
                        if class > leaf {
                            O::head(head, u32::MAX, now, &mut state);
                            if class >= LONG {
                                O::tail(rest(v, HEAD), u32::MAX, now, &mut state);
                            }
                        }
                        continue;
                    }
                    let mut from = O::head(head, most, now, &mut state);
                    let mut key = u32::MAX;
                    if from < HEAD {
                        key = now + (*head.add(from) >> 24);
                    } else if class >= LONG {
                        let row = rest(v, HEAD);
                        let done = O::tail(row, most, now, &mut state);
                        from += done;
                        key = row.get(done).map_or(u32::MAX, |entry| now + (entry >> 24));
                    }
                    if !pulling {
                        size += 1 << class;
                        *settled.get_unchecked_mut(count) = v as u32;
                        *cursors.get_unchecked_mut(count) = from as u32;
                        *keys.get_unchecked_mut(count) = key;
                        count += 1;
                    }
                }
            }
            state.buckets.release(now);
            let found = target.is_some_and(|t| state.link.owns(t) && *dist.add(t as usize) <= now);
            let stop = state.link.leads() && control.is_cancelled();
            if state.link.leads() {
                control.report(u64::from(now) + 1, None);
            }
            let all = state.meet(Report { settled: size, found, stop, ..Report::EMPTY });
            if all.stop {
                return Err(Error::Cancelled);
            }
            if all.found {
                break;
            }
            total = all.settled;
            now += 1;
            if all.live == 0 {
                if last {
                    break;
                }
                now = horizon;
            }
        }
    }
    Ok(())
}

/// Queues every open vertex that settled ones bring below `next`.
///
/// # Safety
/// As of [`search`]; `open` lists vertices.
#[inline(always)]
unsafe fn pull<O: Ops, L: Link>(rows: &Rows, open: &[u32], now: u32, next: u32, nearest: u32, state: &mut State<'_, L>) {
    let (heads, entries, offsets, classes) = (rows.heads.as_ptr(), rows.entries.as_ptr(), rows.offsets.as_ptr(), rows.classes.as_ptr());
    let Some(end) = open.len().checked_sub(1) else { return };
    for (i, &v) in open.iter().enumerate() {
        // SAFETY: listed vertices have rows and distances.
        unsafe {
            let ahead = *open.get_unchecked((i + AHEAD).min(end)) as usize;
            fetch(heads.add(ahead * HEAD));
            if *classes.add(ahead) >= LONG {
                fetch(entries.add(*offsets.add(ahead) as usize + HEAD));
            }
            let at = v as usize;
            let known = *state.dist.add(at);
            let head = heads.add(at * HEAD);
            let mut best = O::pull_head(head, state.dist, now, known.min(next));
            if *classes.add(at) >= LONG && (*head.add(HEAD - 1) >> 24) + nearest < best {
                let (start, stop) = (*offsets.add(at) as usize + HEAD, *offsets.add(at + 1) as usize);
                best = O::pull_tail(std::slice::from_raw_parts(entries.add(start), stop - start), state.dist, now, nearest, best);
            }
            if best < known && best < next {
                *state.dist.add(at) = best;
                state.buckets.push(best, v);
                state.live += 1;
            }
        }
    }
}
