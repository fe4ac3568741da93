//! A wide step top-down: every vertex of a level sets the bits of its neighbours, visited or not.
//!
//! Where degrees are much alike, a level just before the widest has few arcs for the vertices that it leads to: fewer than a
//! bottom-up step would look at. Setting a bit needs neither a branch nor a queue; each worker of the team has a bitmap of its
//! own, which stays in its cache, and no two write the same line. What is new is then read off all bitmaps in order.
//!
//! # Invariants
//! Workers' bitmaps are zero between steps. Indices are below the number of vertices, for each of which there is a bit.

#![allow(unsafe_code)]

use super::search::Rows;
use crate::Isa;
use bitgraph_sparse::ahead::fetch;

/// How many places ahead in the queue rows are fetched.
const AHEAD: usize = 10;

/// Sets the bits of all neighbours of a part of the queue.
pub(super) fn set_bits((offsets, indices): Rows<'_>, queue: &[u32], part: std::ops::Range<usize>, bits: &mut [u64]) {
    assert!(part.end <= queue.len() && bits.len() * 64 + 1 >= offsets.len());
    for h in part {
        if let Some(&next) = queue.get(h + AHEAD) {
            let first = offsets[next as usize] as usize;
            let row = indices.as_ptr().wrapping_add(first);
            fetch(row);
            fetch(row.wrapping_add(16));
            fetch(row.wrapping_add(32));
        }
        if let Some(&next) = queue.get(h + 2 * AHEAD) {
            fetch(offsets.as_ptr().wrapping_add(next as usize));
        }
        let v = queue[h] as usize;
        for &u in &indices[offsets[v] as usize..offsets[v + 1] as usize] {
            // SAFETY: an index is below the number of vertices, each of which has a bit, by the assertion.
            unsafe { *bits.get_unchecked_mut(u as usize >> 6) |= 1 << (u & 63) };
        }
    }
}

/// Words of the bitmaps, and the vertices that they stand for.
pub(super) struct Part<'a> {
    /// The words of every worker, one worker's after the other's; made zero.
    pub workers: Vec<&'a mut [u64]>,
    pub visited: &'a mut [u64],
    /// Set to what is new.
    pub next: &'a mut [u64],
    pub marks: &'a mut [u32],
}

/// Reads what is new off the workers' bitmaps and marks it; returns how many that were.
pub(super) fn collect(part: Part<'_>, mark: u32, isa: Isa) -> u64 {
    let words = part.visited.len();
    assert!(words == part.next.len() && part.workers.iter().all(|m| m.len() == words) && part.marks.len() <= words * 64);
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features.
        Isa::Avx512 => unsafe { collect_avx512(part, mark) },
        _ => collect_with(part, |marks, found| {
            let mut rest = found;
            while rest != 0 {
                marks[rest.trailing_zeros() as usize] = mark;
                rest &= rest - 1;
            }
        }),
    }
}

#[inline(always)]
fn collect_with(part: Part<'_>, mut set: impl FnMut(&mut [u32], u64)) -> u64 {
    let Part { mut workers, visited, next, marks } = part;
    let mut count = 0;
    for (i, marks) in marks.chunks_mut(64).enumerate() {
        let touched = workers.iter_mut().fold(0, |bits, m| bits | std::mem::take(&mut m[i]));
        // Bits past the last vertex are visited from the start.
        let found = touched & !visited[i];
        visited[i] |= found;
        next[i] = found;
        count += u64::from(found.count_ones());
        if found != 0 {
            set(marks, found);
        }
    }
    count
}

/// # Safety
/// The CPU has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn collect_avx512(part: Part<'_>, mark: u32) -> u64 {
    use std::arch::x86_64::{_mm512_mask_storeu_epi32, _mm512_set1_epi32};
    let mark = _mm512_set1_epi32(mark as i32);
    collect_with(part, |marks, found| {
        for quarter in 0..4 {
            // SAFETY: a masked store writes only to lanes whose bit is set, which are vertices with marks here.
            unsafe {
                _mm512_mask_storeu_epi32(marks.as_mut_ptr().wrapping_add(16 * quarter).cast(), (found >> (16 * quarter)) as u16, mark)
            };
        }
    })
}
