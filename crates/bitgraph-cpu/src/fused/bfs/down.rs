//! Top-down steps: every vertex of a level marks its unvisited neighbours.
//!
//! Three forms. Over marks, for low degrees: no bitmap, no branch on whether a neighbour is new; the rows of vertices further on in the queue are
//! fetched ahead, and what lies beside a vertex where neighbours are near; where rows differ in length, those of several vertices are joined. Over a
//! bitmap: sixteen neighbours at a time, the new ones compressed into the queue. Shared: sixteen neighbours at a time over marks, whose change decides
//! which of several threads has found a vertex. (Bits of a bitmap that all threads write to would be nearer together: its cache lines then go from core
//! to core.)
//!
//! # Invariants
//! Indices are below the number of vertices (a valid square pattern), for each of which there is a mark and a bit. Queues hold
//! vertices, every one at most once, and have room for all of them and 64 more.

#![allow(unsafe_code)]

use super::rounds::Part;
use super::search::Rows;
use super::{Ahead, BfsLayout};
use crate::{Isa, trace};
use bitgraph_algorithms::UNREACHED;
use bitgraph_sparse::ahead::{beside, fetch};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many places ahead in the queue rows are fetched.
const AHEAD: usize = 8;
/// The same over a bitmap.
const BITS_AHEAD: usize = 6;

/// Pushes `level` of the queue; new vertices get the mark, or else their parent. Returns where the queue ends, and the arcs.
pub(super) fn over_marks(
    rows: Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    mark: Option<u32>,
    layout: &BfsLayout,
) -> (usize, u64) {
    assert!(queue.len() >= marks.len() + 64 && rows.0.len() == marks.len() + 1 && level.end <= marks.len());
    let scattered = layout.ahead == Ahead::Marks;
    trace::enter(match (layout.uneven, scattered) {
        (true, true) => "bfs: over marks of joined rows, scattered",
        (true, false) => "bfs: over marks of joined rows",
        (false, true) => "bfs: over marks, scattered",
        (false, false) => "bfs: over marks",
    });
    // SAFETY: the assertion, and the module's invariants.
    unsafe {
        match (layout.uneven, mark.is_none()) {
            (true, true) => over_joined::<true>(rows, queue, level, marks, mark, layout.ahead),
            (true, false) => over_joined::<false>(rows, queue, level, marks, mark, layout.ahead),
            (false, _) => over_rows(rows, queue, level, marks, mark, layout.ahead),
        }
    }
}

/// Fetches what vertices further on in the queue, which ends at `end`, will want.
///
/// # Safety
/// The queue holds vertices up to there.
#[inline(always)]
unsafe fn fetch_ahead((offsets, indices): Rows<'_>, queue: *const u32, h: usize, end: usize, marks: *const u32, ahead: Ahead) {
    let (o, ids) = (offsets.as_ptr(), indices.as_ptr());
    // SAFETY: the contract; what is read are offsets of vertices, and ids at places that there are.
    unsafe {
        if h + 3 * AHEAD < end {
            fetch(o.add(*queue.add(h + 3 * AHEAD) as usize));
            let second = *o.add(*queue.add(h + 2 * AHEAD) as usize) as usize;
            fetch(ids.wrapping_add(second));
            if ahead == Ahead::Marks {
                let third = *o.add(*queue.add(h + AHEAD) as usize) as usize;
                for k in 0..4 {
                    fetch(marks.add(*ids.add((third + k).min(indices.len() - 1)) as usize));
                }
            }
        }
    }
}

/// Fetches what lies beside a vertex, whose row is `first..last`.
#[inline(always)]
fn fetch_beside((offsets, indices): Rows<'_>, v: usize, (first, last): (usize, usize), marks: *const u32) {
    beside(indices.as_ptr(), first..last);
    beside(offsets.as_ptr(), v..v);
    beside(marks, v..v);
}

/// Goes over an entry: a vertex without a mark gets the value, and is queued at `end`.
///
/// # Safety
/// The vertex has a mark, and the queue has room for it.
#[inline(always)]
unsafe fn visit(queue: *mut u32, marks: *mut u32, u: u32, value: u32, end: &mut usize) {
    // SAFETY: the contract.
    unsafe {
        let slot = marks.add(u as usize);
        let old = *slot;
        let new = old == UNREACHED;
        *queue.add(*end) = u;
        *slot = if new { value } else { old };
        *end += usize::from(new);
    }
}

/// Row by row.
///
/// # Safety
/// The module's invariants hold, and the lengths agree.
unsafe fn over_rows(
    rows: Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    mark: Option<u32>,
    ahead: Ahead,
) -> (usize, u64) {
    let (o, ids, q, m) = (rows.0.as_ptr(), rows.1.as_ptr(), queue.as_mut_ptr(), marks.as_mut_ptr());
    let mut end = level.end;
    let mut arcs = 0;
    for h in level {
        // SAFETY: `end` grows only with vertices marked for the first time, so it never passes the number of vertices; the queue holds
        // vertices.
        unsafe {
            let v = *q.add(h) as usize;
            fetch_ahead(rows, q, h, end, m, ahead);
            let (first, last) = (*o.add(v) as usize, *o.add(v + 1) as usize);
            if ahead == Ahead::Beside {
                fetch_beside(rows, v, (first, last), m);
            }
            arcs += (last - first) as u64;
            let value = mark.unwrap_or(v as u32);
            for k in first..last {
                visit(q, m, *ids.add(k), value, &mut end);
            }
        }
    }
    (end, arcs)
}

/// Vertices whose rows are gone over together.
const GROUP: usize = 32;
/// Entries of a short row at most, which is copied as if it had so many.
const SHORT: usize = 16;

/// The short rows of some vertices, one behind the other: one loop over all their entries, whose end is foreseen, where the end of each row is
/// not. Searches of a triangulation and of a census graph of 65 thousand vertices took 1.3 and 1.7 times as long row by row.
struct Joined {
    ids: [MaybeUninit<u32>; (GROUP + 1) * SHORT],
    /// The vertex whose row an entry is of, where marks are parents.
    tails: [MaybeUninit<u32>; (GROUP + 1) * SHORT],
    len: usize,
}

impl Joined {
    const fn new() -> Self {
        Self { ids: [MaybeUninit::uninit(); (GROUP + 1) * SHORT], tails: [MaybeUninit::uninit(); (GROUP + 1) * SHORT], len: 0 }
    }
    /// Appends the row of `v`, at `first..last`; false if it is not short, or so near the end of the lists that it cannot be copied so.
    ///
    /// # Safety
    /// There are fewer than [`GROUP`] rows since the length was 0.
    #[inline(always)]
    unsafe fn push<const PARENTS: bool>(&mut self, indices: &[u32], v: u32, first: usize, last: usize) -> bool {
        if last - first > SHORT || first + SHORT > indices.len() {
            return false;
        }
        // SAFETY: a short row can be read, and there is room for one more by the contract.
        unsafe {
            let (from, to) = (indices.as_ptr().add(first), self.ids.as_mut_ptr().cast::<u32>().add(self.len));
            to.cast::<[u32; SHORT]>().write_unaligned(from.cast::<[u32; SHORT]>().read_unaligned());
            if PARENTS {
                self.tails.as_mut_ptr().cast::<u32>().add(self.len).cast::<[u32; SHORT]>().write_unaligned([v; SHORT]);
            }
        }
        self.len += last - first;
        true
    }
}

/// The rows of a group of vertices at a time.
///
/// # Safety
/// The module's invariants hold, and the lengths agree.
unsafe fn over_joined<const PARENTS: bool>(
    rows: Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    mark: Option<u32>,
    ahead: Ahead,
) -> (usize, u64) {
    let (o, q, m) = (rows.0.as_ptr(), queue.as_mut_ptr(), marks.as_mut_ptr());
    let (mut end, mut arcs, mut joined, mark) = (level.end, 0, Joined::new(), mark.unwrap_or(0));
    let mut h = level.start;
    while h < level.end {
        let stop = level.end.min(h + GROUP);
        let mut long = None;
        joined.len = 0;
        while h < stop && long.is_none() {
            // SAFETY: the queue holds vertices; rows of one group are joined.
            unsafe {
                fetch_ahead(rows, q, h, end, m, ahead);
                let v = *q.add(h);
                let (first, last) = (*o.add(v as usize) as usize, *o.add(v as usize + 1) as usize);
                if ahead == Ahead::Beside {
                    fetch_beside(rows, v as usize, (first, last), m);
                }
                arcs += (last - first) as u64;
                if !joined.push::<PARENTS>(rows.1, v, first, last) {
                    long = Some((v, first..last));
                }
            }
            h += 1;
        }
        for (u, tail) in joined.ids.iter().zip(&joined.tails).take(joined.len) {
            // SAFETY: so many have been written, and their tails where they are looked at; `end` grows only with vertices marked for the first
            // time, so it never passes the number of vertices.
            unsafe { visit(q, m, u.assume_init(), if PARENTS { tail.assume_init() } else { mark }, &mut end) };
        }
        if let Some((v, row)) = long {
            // SAFETY: as above.
            rows.1[row].iter().for_each(|&u| unsafe { visit(q, m, u, if PARENTS { v } else { mark }, &mut end) });
        }
    }
    (end, arcs)
}

/// Pushes `level` of the queue over the bitmap `visited`. Returns where the queue ends, and the arcs.
pub(super) fn over_bits(
    rows: Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    visited: &mut [u64],
    mark: Option<u32>,
    simd: Isa,
) -> (usize, u64) {
    assert!(queue.len() >= marks.len() + 64 && rows.0.len() == marks.len() + 1 && level.end <= marks.len() + 1);
    assert!(visited.len() * 64 >= marks.len());
    trace::enter("bfs: over bits");
    match simd {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features; the lengths agree, and the module's invariants hold.
        Isa::Avx512 => unsafe { super::down_avx512::over_bits(rows, queue, level, marks, visited, mark) },
        // SAFETY: the lengths agree, and the module's invariants hold.
        _ => unsafe { over_bits_portable(rows, queue, level, marks, visited, mark) },
    }
}

/// Fetches the rows of vertices further on in the queue, of a level that ends at `last`.
///
/// # Safety
/// The queue holds vertices up to there.
#[inline(always)]
pub(super) unsafe fn fetch_rows((offsets, indices): Rows<'_>, queue: *const u32, h: usize, last: usize) {
    if h + 2 * BITS_AHEAD < last {
        // SAFETY: the contract; a vertex has an offset.
        unsafe {
            fetch(offsets.as_ptr().add(*queue.add(h + 2 * BITS_AHEAD) as usize));
            let row = *offsets.as_ptr().add(*queue.add(h + BITS_AHEAD) as usize);
            fetch(indices.as_ptr().wrapping_add(row as usize));
            fetch(indices.as_ptr().wrapping_add(row as usize + 16));
        }
    }
}

/// A neighbour at a time.
///
/// # Safety
/// The module's invariants hold, and the lengths agree.
unsafe fn over_bits_portable(
    (offsets, indices): Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    visited: &mut [u64],
    mark: Option<u32>,
) -> (usize, u64) {
    let (o, ids, q, m, bits) = (offsets.as_ptr(), indices.as_ptr(), queue.as_mut_ptr(), marks.as_mut_ptr(), visited.as_mut_ptr());
    let (mut end, last) = (level.end, level.end);
    let mut arcs = 0;
    for h in level {
        // SAFETY: `end` grows with vertices visited for the first time only, so that a place behind it is free; ids of a row are distinct, so
        // that none is queued twice.
        unsafe {
            fetch_rows((offsets, indices), q, h, last);
            let v = *q.add(h);
            let (first, stop) = (*o.add(v as usize) as usize, *o.add(v as usize + 1) as usize);
            arcs += (stop - first) as u64;
            let value = mark.unwrap_or(v);
            for k in first..stop {
                let u = *ids.add(k);
                let (word, bit) = (bits.add(u as usize >> 6), 1 << (u & 63));
                if *word & bit == 0 {
                    *word |= bit;
                    *m.add(u as usize) = value;
                    *q.add(end) = u;
                    end += 1;
                }
            }
        }
    }
    (end, arcs)
}

/// Arcs of a row from which on it is pushed in parts, of so many arcs, where several members push.
const LONG_ROW: u32 = 1 << 12;

/// The arcs out of `found`, and the parts of the long rows among them.
pub(super) fn long_rows(offsets: &[u32], found: &[u32], parts: &mut Vec<Part>) -> u64 {
    let mut arcs = 0;
    for &v in found {
        let (first, end) = (offsets[v as usize], offsets[v as usize + 1]);
        arcs += u64::from(end - first);
        if end - first > LONG_ROW {
            parts.extend((first..end).step_by(LONG_ROW as usize).map(|k| (v, k, end.min(k.saturating_add(LONG_ROW)))));
        }
    }
    arcs
}

/// Pushes vertices over marks and appends those that it found; new vertices get the mark, or else their parent. With `SHARED`, other
/// members push at the same time, and long rows are left to [`push_part`].
pub(super) fn push<const SHARED: bool>(
    rows: Rows<'_>,
    level: &[u32],
    marks: &[AtomicU32],
    mark: Option<u32>,
    found: &mut Vec<u32>,
    isa: Isa,
    ahead: Ahead,
) {
    let (offsets, indices) = rows;
    assert!(offsets.len() == marks.len() + 1);
    // A vertex further on, whose row is fetched; one between, whose marks are.
    let at = |k: usize| level.get(k).map(|&v| offsets[v as usize] as usize);
    for (k, &v) in level.iter().enumerate() {
        if let Some(&far) = level.get(k + 3 * AHEAD) {
            fetch(offsets.as_ptr().wrapping_add(far as usize));
        }
        if let Some(row) = at(k + 2 * AHEAD) {
            fetch(indices.as_ptr().wrapping_add(row));
            fetch(indices.as_ptr().wrapping_add(row + 16));
        }
        if ahead == Ahead::Marks
            && let Some(row) = at(k + AHEAD)
        {
            for &u in indices[row..].iter().take(4) {
                fetch(marks.as_ptr().wrapping_add(u as usize));
            }
        }
        let (first, end) = (offsets[v as usize], offsets[v as usize + 1]);
        if ahead == Ahead::Beside {
            fetch_beside(rows, v as usize, (first as usize, end as usize), marks.as_ptr().cast());
        }
        if !SHARED || end - first <= LONG_ROW {
            push_row::<SHARED>(&indices[first as usize..end as usize], marks, mark.unwrap_or(v), found, isa);
        }
    }
}

/// Pushes a part of a long row, as [`push`] does; `SHARED` unless all that is pushed is one row, whose ends are distinct.
pub(super) fn push_part<const SHARED: bool>(
    rows: Rows<'_>,
    part: Part,
    marks: &[AtomicU32],
    mark: Option<u32>,
    found: &mut Vec<u32>,
    isa: Isa,
) {
    let (v, first, end) = part;
    push_row::<SHARED>(&rows.1[first as usize..end as usize], marks, mark.unwrap_or(v), found, isa);
}

#[inline(always)]
fn push_row<const SHARED: bool>(row: &[u32], marks: &[AtomicU32], value: u32, found: &mut Vec<u32>, isa: Isa) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features; ids have marks.
        Isa::Avx512 => unsafe { super::down_avx512::push_row::<SHARED>(row, marks, value, found) },
        _ => {
            found.reserve(row.len());
            let mut end = found.len();
            for &u in row {
                // SAFETY: ids have marks; there is room for the whole row, of which the length covers what is new.
                unsafe {
                    *found.as_mut_ptr().add(end) = u;
                    end += usize::from(claim::<SHARED>(marks.get_unchecked(u as usize), value));
                }
            }
            // SAFETY: as above.
            unsafe { found.set_len(end) };
        }
    }
}

/// Changes a mark from unreached; whether this did.
#[inline(always)]
pub(super) fn claim<const SHARED: bool>(mark: &AtomicU32, value: u32) -> bool {
    let known = mark.load(Ordering::Relaxed);
    let unreached = known == UNREACHED;
    if SHARED {
        return unreached && mark.compare_exchange(UNREACHED, value, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    }
    // Without a branch: which neighbours are new is anybody's guess.
    mark.store(if unreached { value } else { known }, Ordering::Relaxed);
    unreached
}
