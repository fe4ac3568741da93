//! The two kinds of step over the arcs, compiled for each instruction set.
//!
//! Invariant: a step never depends on the order in which vertices or parts of them are worked on.

#![allow(unsafe_code)]

use super::count::Counts;
use super::row::{Bits, Row};
use crate::Isa;
use bitgraph_sparse::parallel::DisjointSlice;

/// How many neighbours ahead a push fetches rows.
const AHEAD: usize = 64;
/// How many neighbours ahead a pull fetches rows into the first cache, and into the second, which can wait for more of them at a time.
const NEAR: usize = 16;
const FAR: usize = 256;
/// How many vertices ahead a pull fetches the rows of first neighbours.
const LATER: usize = 8;

/// What a part of the vertices did in a pull.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pulled {
    /// Vertices that are still open; they come first in the part's list.
    pub open: usize,
    /// Incoming arcs of these.
    pub open_arcs: u64,
    /// Vertices that got new bits.
    pub active: usize,
    /// Outgoing arcs of these.
    pub active_arcs: u64,
}

/// Which rows a pull asks for beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// None: they are in a near cache.
    Nothing,
    /// Those of all neighbours.
    All,
    /// Those of the first neighbours of each vertex, which most need no more of.
    First,
}

/// What every part of a pull reads.
#[derive(Clone, Copy)]
pub(super) struct Pull<'a> {
    /// Offsets and other ends of incoming arcs.
    pub incoming: (&'a [u32], &'a [u32]),
    /// Where the outgoing arcs of a vertex start.
    pub out: &'a [u32],
    pub seen: &'a [Row],
    /// Sources that may find something.
    pub alive: Row,
    /// Rows that are asked for beforehand.
    pub fetched: Fetched,
    /// Whether results go past the caches.
    pub stream: bool,
}

/// The active vertices of a push.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub active: Vec<u32>,
    /// Their newest bits, if there are no more of them than `most`.
    pub front: Vec<Row>,
    pub most: usize,
    /// A bit for each vertex that got bits in a push, and the words of these that are not zero; all zero between steps.
    touched: Vec<u64>,
    words: Vec<u32>,
}

/// Every active vertex gives its bits to its neighbours: afterwards the lists are the vertices that got new ones, and those,
/// which `seen` includes then. `next` is overwritten.
pub(super) fn push(isa: Isa, arcs: (&[u32], &[u32]), seen: &mut [Row], next: &mut [Row], lists: &mut Lists, counts: &mut Counts) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features.
        Isa::Avx512 => unsafe { wide::push_avx512(arcs, seen, next, lists, counts) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features.
        Isa::Avx2 => unsafe { wide::push_avx2(arcs, seen, next, lists, counts) },
        // SAFETY: the plain form needs no instructions of its own.
        _ => unsafe { push_body::<Row>(arcs, seen, next, lists, counts) },
    }
}

/// The vertices `open` take the bits of their neighbours: writes `next` for each of them, and who got new bits to `active`,
/// which is as long as `open`.
///
/// # Safety
/// `open` are distinct vertices, and no other thread touches their rows of `next`.
pub(super) unsafe fn pull(
    isa: Isa,
    graph: &Pull<'_>,
    open: &mut [u32],
    active: &mut [u32],
    next: &DisjointSlice<'_, Row>,
    counts: &mut Counts,
) -> Pulled {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features; the rest is this function's contract.
        Isa::Avx512 => unsafe { wide::pull_avx512(graph, open, active, next, counts) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { wide::pull_avx2(graph, open, active, next, counts) },
        // SAFETY: this function's contract.
        _ => unsafe { pull_body::<Row>(graph, open, active, next, counts) },
    }
}

/// Asks for the cache line of a row, which need not exist: to be in the first cache, or if `FAR` in the second.
#[inline(always)]
fn fetch<const FAR: bool>(rows: &[Row], v: u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let row = rows.as_ptr().wrapping_add(v as usize).cast();
        if FAR { _mm_prefetch::<_MM_HINT_T1>(row) } else { _mm_prefetch::<_MM_HINT_T0>(row) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, v);
}

/// # Safety
/// The CPU has the instructions of `B`.
#[inline(always)]
unsafe fn push_body<B: Bits>(
    (offsets, indices): (&[u32], &[u32]),
    seen: &mut [Row],
    next: &mut [Row],
    lists: &mut Lists,
    counts: &mut Counts,
) {
    let Lists { active, front, most, touched, words } = lists;
    touched.resize(next.len().div_ceil(64), 0);
    words.resize(touched.len() + 1, 0);
    let mut count = 0;
    // SAFETY: this function's contract; there are fewer places for words than words.
    unsafe {
        for (i, (&v, bits)) in active.iter().zip(front.iter()).enumerate() {
            let bits = B::load(bits);
            let (start, end) = (offsets[v as usize] as usize, offsets[v as usize + 1] as usize);
            if let Some(&v) = active.get(i + 1) {
                let (start, end) = (offsets[v as usize] as usize, offsets[v as usize + 1] as usize);
                indices[start..end.min(start + AHEAD)].iter().for_each(|&u| fetch::<false>(next, u));
            }
            for k in start..end {
                if k + AHEAD < end {
                    fetch::<false>(next, indices[k + AHEAD]);
                }
                let u = indices[k] as usize;
                let word = &mut touched[u / 64];
                // No branch: which rows are new to the step cannot be guessed.
                words[count] = (u / 64) as u32;
                count += usize::from(*word == 0);
                let row = &mut next[u];
                *row = B::load(row).if_set(*word >> (u % 64) & 1 == 1).or(bits).row();
                *word |= 1 << (u % 64);
            }
        }
        active.clear();
        front.clear();
        words[..count].sort_unstable();
        for &word in &words[..count] {
            let mut rest = std::mem::take(&mut touched[word as usize]);
            while rest != 0 {
                let u = word as usize * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let row = &mut seen[u];
                let old = B::load(row);
                let new = B::load(&next[u]).and_not(old);
                if !new.is_zero() {
                    *row = old.or(new).row();
                    counts.add(new);
                    active.push(u as u32);
                    if front.len() < *most {
                        front.push(new.row());
                    }
                }
            }
        }
    }
}

/// `bits` and those of the rows `indices[start..end]`, or as many of them as it takes to see all of `alive`. Rows further on are
/// fetched if `FETCH`.
///
/// # Safety
/// The CPU has the instructions of `B`, the places are in `indices`, and what these name are rows.
#[inline(always)]
unsafe fn gather<B: Bits, const FETCH: bool>(seen: &[Row], alive: B, mut bits: B, indices: &[u32], start: usize, end: usize) -> B {
    // SAFETY: this function's contract; the places lie between `start` and `end`, and so far before the end that others are in `indices`.
    unsafe {
        if end - start < 4 || end + FAR > indices.len() {
            for &u in indices.get_unchecked(start..end) {
                bits = bits.or(B::load(seen.get_unchecked(u as usize)));
            }
            return bits;
        }
        let mut k = start;
        loop {
            // The last four may overlap those before, which changes nothing.
            let from = k.min(end - 4);
            for j in from..from + 4 {
                if FETCH {
                    fetch::<false>(seen, *indices.get_unchecked(j + NEAR));
                    fetch::<true>(seen, *indices.get_unchecked(j + FAR));
                }
                bits = bits.or(B::load(seen.get_unchecked(*indices.get_unchecked(j) as usize)));
            }
            k += 4;
            if k >= end || alive.and_not(bits).is_zero() {
                return bits;
            }
        }
    }
}

/// # Safety
/// As for [`pull`], and the CPU has the instructions of `B`.
#[inline(always)]
unsafe fn pull_body<B: Bits>(
    graph: &Pull<'_>,
    open: &mut [u32],
    active: &mut [u32],
    next: &DisjointSlice<'_, Row>,
    counts: &mut Counts,
) -> Pulled {
    let &Pull { incoming: (offsets, indices), out, seen, ref alive, fetched, stream } = graph;
    let mut pulled = Pulled::default();
    // SAFETY: this function's contract; the ends of arcs are vertices, and a row of an adjacency lies in the list of all.
    unsafe {
        let alive = B::load(alive);
        for i in 0..open.len() {
            let vertex = open[i];
            let v = vertex as usize;
            let own = B::load(&seen[v]);
            if alive.and_not(own).is_zero() {
                put(next, v, own, stream);
                continue;
            }
            let (start, end) = (offsets[v] as usize, offsets[v + 1] as usize);
            open[pulled.open] = vertex;
            pulled.open += 1;
            pulled.open_arcs += (end - start) as u64;
            let bits = match fetched {
                Fetched::Nothing => gather::<B, false>(seen, alive, own, indices, start, end),
                Fetched::All => gather::<B, true>(seen, alive, own, indices, start, end),
                Fetched::First => {
                    if let Some(&later) = open.get(i + LATER) {
                        let start = offsets[later as usize] as usize;
                        let end = offsets[later as usize + 1] as usize;
                        indices[start..end.min(start + 4)].iter().for_each(|&u| fetch::<false>(seen, u));
                    }
                    gather::<B, false>(seen, alive, own, indices, start, end)
                }
            };
            put(next, v, bits, stream);
            let new = bits.and_not(own);
            if !new.is_zero() {
                active[pulled.active] = vertex;
                pulled.active += 1;
                pulled.active_arcs += u64::from(out[v + 1] - out[v]);
                counts.add(new);
            }
        }
    }
    if stream {
        settle();
    }
    pulled
}

/// Orders writes past the caches before whatever tells other threads of them.
#[inline(always)]
fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU has the instruction, which touches nothing.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// # Safety
/// As for [`DisjointSlice::write`], and the CPU has the instructions of `B`.
#[inline(always)]
unsafe fn put<B: Bits>(rows: &DisjointSlice<'_, Row>, v: usize, bits: B, stream: bool) {
    // SAFETY: this function's contract.
    unsafe {
        if stream {
            bits.stream(&mut rows.range(v..v + 1)[0]);
        } else {
            rows.write(v, bits.row());
        }
    }
}

/// The bodies in vectors.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::super::row::x86::{Avx2, Avx512};
    use super::{Counts, DisjointSlice, Lists, Pull, Pulled, Row, pull_body, push_body};

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn push_avx2(arcs: (&[u32], &[u32]), seen: &mut [Row], next: &mut [Row], lists: &mut Lists, counts: &mut Counts) {
        // SAFETY: the CPU has the features.
        unsafe { push_body::<Avx2>(arcs, seen, next, lists, counts) };
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn push_avx512(arcs: (&[u32], &[u32]), seen: &mut [Row], next: &mut [Row], lists: &mut Lists, counts: &mut Counts) {
        // SAFETY: the CPU has the features.
        unsafe { push_body::<Avx512>(arcs, seen, next, lists, counts) };
    }
    /// # Safety
    /// As for [`super::pull`], and the CPU has the features.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn pull_avx2(
        graph: &Pull<'_>,
        open: &mut [u32],
        active: &mut [u32],
        next: &DisjointSlice<'_, Row>,
        counts: &mut Counts,
    ) -> Pulled {
        // SAFETY: the same contract.
        unsafe { pull_body::<Avx2>(graph, open, active, next, counts) }
    }
    /// # Safety
    /// As for [`super::pull`], and the CPU has the features.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn pull_avx512(
        graph: &Pull<'_>,
        open: &mut [u32],
        active: &mut [u32],
        next: &DisjointSlice<'_, Row>,
        counts: &mut Counts,
    ) -> Pulled {
        // SAFETY: the same contract.
        unsafe { pull_body::<Avx512>(graph, open, active, next, counts) }
    }
}
