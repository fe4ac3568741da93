//! One batch of up to 512 sources: steps in either direction until no source finds anything new.
//!
//! # Invariants
//! Between steps, `front[v]` are the sources that have `v` in their newest level, `active` the vertices for which these are not
//! none, each once, ascending or not; `seen[v]` includes `front[v]`; `next` is zero throughout.

#![allow(unsafe_code)]

use super::LANES;
use super::count::{Counts, Row};
use crate::{Level, team};
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;

/// A level whose arcs times this stay below all arcs is pushed, else pulled.
const ALPHA: u64 = 16;
/// How many neighbours ahead rows are fetched.
const AHEAD: usize = 12;

/// Memory of a batch.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    seen: Vec<Row>,
    front: Vec<Row>,
    next: Vec<Row>,
    active: Vec<u32>,
    /// Vertices that some source has not seen and that an arc enters.
    open: Vec<u32>,
    members: Vec<Member>,
}

/// What a thread finds in a step.
#[derive(Debug, Default)]
struct Member {
    counts: Counts,
}

/// The graph, and how to search it.
pub(super) struct Batch<'a> {
    pub out: (&'a [u32], &'a [u32]),
    pub incoming: (&'a [u32], &'a [u32]),
    pub entered: &'a [u32],
    pub level: Level,
    pub control: &'a Control,
}

/// What each source found.
pub(super) struct Part {
    pub reached: Vec<u64>,
    pub depth: Vec<u32>,
    pub sum_levels: Vec<u64>,
}

impl Batch<'_> {
    pub fn run(&self, sources: &[u32], mut levels: Option<&mut [i32]>, scratch: &mut Scratch) -> Result<Part> {
        let n = self.out.0.len() - 1;
        let mut part = Part { reached: vec![1; sources.len()], depth: vec![0; sources.len()], sum_levels: vec![0; sources.len()] };
        for rows in [&mut scratch.seen, &mut scratch.front, &mut scratch.next] {
            rows.clear();
            rows.resize(n, Row::default());
        }
        scratch.active.clear();
        scratch.open.clear();
        scratch.open.extend_from_slice(self.entered);
        // Lanes without a source count as having seen everything, so that a full row is a full row.
        let unused = Row(std::array::from_fn(|k| {
            let used = sources.len().saturating_sub(64 * k).min(64);
            (!0u64).checked_shl(used as u32).unwrap_or(0)
        }));
        if sources.len() < LANES {
            scratch.seen.fill(unused);
        }
        for (k, &s) in sources.iter().enumerate() {
            let v = s as usize;
            if scratch.front[v].is_zero() {
                scratch.active.push(s);
            }
            scratch.front[v].0[k / 64] |= 1 << (k % 64);
            scratch.seen[v].0[k / 64] |= 1 << (k % 64);
            if let Some(levels) = levels.as_deref_mut() {
                levels[k * n + v] = 0;
            }
        }
        let members = if self.out.1.len() < 1 << 14 { 1 } else { usize::MAX };
        team::with(members, |team| {
            scratch.members.resize_with(team.members().max(scratch.members.len()), Member::default);
            let mut step = 0u32;
            while !scratch.active.is_empty() {
                self.control.check()?;
                self.control.report(step.into(), None);
                step += 1;
                let arcs: u64 = scratch.active.iter().map(|&v| u64::from(self.out.0[v as usize + 1] - self.out.0[v as usize])).sum();
                if arcs * ALPHA < self.out.1.len() as u64 {
                    self.push(scratch);
                } else {
                    self.pull(team, scratch);
                }
                let mut found = vec![0u64; LANES];
                for member in &mut scratch.members {
                    member.counts.flush();
                    found.iter_mut().zip(&mut member.counts.totals).for_each(|(sum, total)| *sum += std::mem::take(total));
                }
                for (k, &count) in found.iter().enumerate().take(sources.len()) {
                    if count > 0 {
                        part.reached[k] += count;
                        part.depth[k] = step;
                        part.sum_levels[k] += count * u64::from(step);
                    }
                }
                if let Some(levels) = levels.as_deref_mut() {
                    write_levels(levels, n, &scratch.active, &scratch.front, step as i32);
                }
            }
            Ok::<(), bitgraph_backend::Error>(())
        })?;
        Ok(part)
    }
    /// Every active vertex gives its bits to its neighbours, on this thread.
    fn push(&self, scratch: &mut Scratch) {
        let Scratch { seen, front, next, active, members, .. } = scratch;
        let counts = &mut members[0].counts;
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level says that the CPU has the features.
            Level::Avx512 => unsafe { push_avx512(self.out, seen, front, next, active, counts) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level says that the CPU has the features.
            Level::Avx2 => unsafe { push_avx2(self.out, seen, front, next, active, counts) },
            _ => push(self.out, seen, front, next, active, counts),
        }
    }
    /// Every open vertex takes the bits of its neighbours, on all threads.
    fn pull(&self, team: &team::Team<'_>, scratch: &mut Scratch) {
        let Scratch { seen, front, next, active, open, members } = scratch;
        let block = (open.len() / (team.members() * 32)).max(256);
        {
            let (seen, next, members, parts) = (DisjointSlice::new(seen), DisjointSlice::new(next), DisjointSlice::new(members), &open[..]);
            let front = &front[..];
            team.run(parts.len().div_ceil(block), |member, chunk| {
                let part = &parts[chunk * block..parts.len().min(chunk * block + block)];
                // SAFETY: a member works on one chunk at a time and has counts of its own.
                let counts = unsafe { &mut members.range(member..member + 1)[0].counts };
                match self.level {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the level says that the CPU has the features; parts are disjoint lists of distinct vertices.
                    Level::Avx512 => unsafe { pull_avx512(self.incoming, part, front, &seen, &next, counts) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Level::Avx2 => unsafe { pull_avx2(self.incoming, part, front, &seen, &next, counts) },
                    // SAFETY: parts are disjoint lists of distinct vertices.
                    _ => unsafe { pull(self.incoming, part, front, &seen, &next, counts) },
                }
            });
        }
        // What was the front becomes the rows that must be zero.
        for &v in active.iter() {
            front[v as usize] = Row::default();
        }
        std::mem::swap(front, next);
        active.clear();
        open.retain(|&v| {
            if !front[v as usize].is_zero() {
                active.push(v);
            }
            seen[v as usize] != Row::ONES
        });
    }
}

/// Asks for the cache line of a row, which need not exist.
#[inline(always)]
fn fetch(rows: &[Row], v: u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(rows.as_ptr().wrapping_add(v as usize).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, v);
}

#[inline(always)]
fn push(
    (offsets, indices): (&[u32], &[u32]),
    seen: &mut [Row],
    front: &mut [Row],
    next: &mut [Row],
    active: &mut Vec<u32>,
    counts: &mut Counts,
) {
    let mut found = Vec::new();
    for &v in active.iter() {
        let bits = std::mem::take(&mut front[v as usize]);
        let (start, end) = (offsets[v as usize] as usize, offsets[v as usize + 1] as usize);
        for k in start..end {
            if let Some(&ahead) = indices.get(k + AHEAD) {
                fetch(seen, ahead);
                fetch(next, ahead);
            }
            let u = indices[k] as usize;
            let new = bits.and_not(seen[u]);
            if new.is_zero() {
                continue;
            }
            let old = next[u];
            if old.is_zero() {
                found.push(u as u32);
            }
            next[u] = old.or(new);
        }
    }
    for &u in &found {
        let new = std::mem::take(&mut next[u as usize]);
        seen[u as usize] = seen[u as usize].or(new);
        front[u as usize] = new;
        counts.add(new);
    }
    *active = found;
}

/// # Safety
/// `part` are distinct vertices that no other thread works on.
#[inline(always)]
unsafe fn pull(
    (offsets, indices): (&[u32], &[u32]),
    part: &[u32],
    front: &[Row],
    seen: &DisjointSlice<'_, Row>,
    next: &DisjointSlice<'_, Row>,
    counts: &mut Counts,
) {
    for &v in part {
        let v = v as usize;
        let (start, end) = (offsets[v] as usize, offsets[v + 1] as usize);
        // SAFETY: the vertex is this call's own.
        let seen = unsafe { &mut seen.range(v..v + 1)[0] };
        let mut bits = *seen;
        let mut k = start;
        while k < end {
            let stop = (k + 4).min(end);
            for j in k..stop {
                if let Some(&ahead) = indices.get(j + AHEAD) {
                    fetch(front, ahead);
                }
                bits = bits.or(front[indices[j] as usize]);
            }
            if bits == Row::ONES {
                break;
            }
            k = stop;
        }
        let new = bits.and_not(*seen);
        if !new.is_zero() {
            *seen = bits;
            // SAFETY: as above; `next` was zero.
            unsafe { next.write(v, new) };
            counts.add(new);
        }
    }
}

/// The plain bodies again, compiled for wider vectors.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Counts, DisjointSlice, Row, pull, push};

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn push_avx2(
        rows: (&[u32], &[u32]),
        seen: &mut [Row],
        front: &mut [Row],
        next: &mut [Row],
        active: &mut Vec<u32>,
        counts: &mut Counts,
    ) {
        push(rows, seen, front, next, active, counts);
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn push_avx512(
        rows: (&[u32], &[u32]),
        seen: &mut [Row],
        front: &mut [Row],
        next: &mut [Row],
        active: &mut Vec<u32>,
        counts: &mut Counts,
    ) {
        push(rows, seen, front, next, active, counts);
    }
    /// # Safety
    /// As for [`pull`], and the CPU has the features.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn pull_avx2(
        rows: (&[u32], &[u32]),
        part: &[u32],
        front: &[Row],
        seen: &DisjointSlice<'_, Row>,
        next: &DisjointSlice<'_, Row>,
        counts: &mut Counts,
    ) {
        // SAFETY: the same contract.
        unsafe { pull(rows, part, front, seen, next, counts) }
    }
    /// # Safety
    /// As for [`pull`], and the CPU has the features.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn pull_avx512(
        rows: (&[u32], &[u32]),
        part: &[u32],
        front: &[Row],
        seen: &DisjointSlice<'_, Row>,
        next: &DisjointSlice<'_, Row>,
        counts: &mut Counts,
    ) {
        // SAFETY: the same contract.
        unsafe { pull(rows, part, front, seen, next, counts) }
    }
}
#[cfg(target_arch = "x86_64")]
use wide::{pull_avx2, pull_avx512, push_avx2, push_avx512};

/// Writes `step` where the newest level of a source is.
fn write_levels(levels: &mut [i32], n: usize, active: &[u32], front: &[Row], step: i32) {
    for &v in active {
        for (word, &bits) in front[v as usize].0.iter().enumerate() {
            let mut rest = bits;
            while rest != 0 {
                let k = word * 64 + rest.trailing_zeros() as usize;
                levels[k * n + v as usize] = step;
                rest &= rest - 1;
            }
        }
    }
}
