//! Top-down steps: every vertex of a level marks its unvisited neighbours.
//!
//! Three forms. Over marks, for low degrees: no bitmap, no branch on whether a neighbour is new, and the rows of vertices
//! further on in the queue are fetched ahead. Over a bitmap: sixteen neighbours at a time, the new ones compressed into the
//! queue. Shared: the same on several threads, first collecting the unvisited neighbours by ranges of vertices, then visiting
//! each range on one thread. (An atomic OR for each would be shorter, and made two threads several times slower than one.)
//!
//! # Invariants
//! Indices are below the number of vertices (a valid square pattern), for each of which there is a mark and a bit. Queues hold
//! vertices, every one at most once, and have room for all of them and 64 more.

#![allow(unsafe_code)]

use super::search::Rows;
use crate::{Isa, trace};
use bitgraph_algorithms::UNREACHED;
use std::ops::Range;

/// How many places ahead in the queue rows are fetched.
const AHEAD: usize = 8;

/// Asks for the cache line of an address, which need not be valid.
#[inline(always)]
pub(super) fn fetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Pushes `level` of the queue; new vertices get the mark, or else their parent. Returns where the queue ends, and the arcs.
pub(super) fn over_marks(
    rows: Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    mark: Option<u32>,
    scattered: bool,
) -> (usize, u64) {
    assert!(queue.len() >= marks.len() + 64 && rows.0.len() == marks.len() + 1 && level.end <= marks.len());
    // SAFETY: the assertion, and the module's invariants.
    unsafe {
        if scattered {
            trace::enter("bfs: over marks, scattered");
            over_marks_as::<true>(rows, queue, level, marks, mark)
        } else {
            trace::enter("bfs: over marks");
            over_marks_as::<false>(rows, queue, level, marks, mark)
        }
    }
}

/// # Safety
/// The module's invariants hold, and the lengths agree.
unsafe fn over_marks_as<const SCATTERED: bool>(
    (offsets, indices): Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    mark: Option<u32>,
) -> (usize, u64) {
    let (o, ids, q, m) = (offsets.as_ptr(), indices.as_ptr(), queue.as_mut_ptr(), marks.as_mut_ptr());
    let mut end = level.end;
    let mut arcs = 0;
    for h in level {
        // SAFETY: `end` grows only with vertices marked for the first time, so it never passes the number of vertices; the
        // queue holds vertices, and what is prefetched is never read here except through vertices already in the queue.
        unsafe {
            let v = *q.add(h) as usize;
            if h + 3 * AHEAD < end {
                fetch(o.add(*q.add(h + 3 * AHEAD) as usize));
                let second = *o.add(*q.add(h + 2 * AHEAD) as usize) as usize;
                fetch(ids.wrapping_add(second));
                if SCATTERED {
                    let third = *o.add(*q.add(h + AHEAD) as usize) as usize;
                    for k in 0..4 {
                        fetch(m.add(*ids.add((third + k).min(indices.len() - 1)) as usize));
                    }
                }
            }
            let (first, last) = (*o.add(v) as usize, *o.add(v + 1) as usize);
            arcs += (last - first) as u64;
            let value = mark.unwrap_or(v as u32);
            for k in first..last {
                let u = *ids.add(k);
                let slot = m.add(u as usize);
                let old = *slot;
                let new = old == UNREACHED;
                *q.add(end) = u;
                *slot = if new { value } else { old };
                end += usize::from(new);
            }
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
        Isa::Avx512 => unsafe { avx512::over_bits(rows, queue, level, marks, visited, mark) },
        _ => over_bits_portable(rows, queue, level, marks, visited, mark),
    }
}

fn over_bits_portable(
    (offsets, indices): Rows<'_>,
    queue: &mut [u32],
    level: Range<usize>,
    marks: &mut [u32],
    visited: &mut [u64],
    mark: Option<u32>,
) -> (usize, u64) {
    let mut end = level.end;
    let mut arcs = 0;
    for h in level {
        let v = queue[h];
        let row = &indices[offsets[v as usize] as usize..offsets[v as usize + 1] as usize];
        arcs += row.len() as u64;
        for &u in row {
            let (word, bit) = (&mut visited[u as usize >> 6], 1 << (u & 63));
            if *word & bit == 0 {
                *word |= bit;
                marks[u as usize] = mark.unwrap_or(v);
                queue[end] = u;
                end += 1;
            }
        }
    }
    (end, arcs)
}

/// Collects the unvisited neighbours of a part of a level, with their parents: into list `id >> shift` those of each range of
/// vertices. A neighbour of several is there several times.
pub(super) fn candidates(
    (offsets, indices): Rows<'_>,
    part: &[u32],
    visited: &[u64],
    shift: u32,
    lists: &mut [Vec<(u32, u32)>],
    simd: Isa,
) {
    assert!(visited.len() * 64 + 1 >= offsets.len());
    for (k, &v) in part.iter().enumerate() {
        if let Some(&next) = part.get(k + 4) {
            let row = indices.as_ptr().wrapping_add(offsets[next as usize] as usize);
            fetch(row);
            fetch(row.wrapping_add(16));
        }
        let row = &indices[offsets[v as usize] as usize..offsets[v as usize + 1] as usize];
        match simd {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                let mut new = [0u32; 16];
                for sixteen in row.chunks(16) {
                    // SAFETY: the instruction set says that the CPU has the features; every id has a bit.
                    let count = unsafe { avx512::unvisited(sixteen, visited.as_ptr(), &mut new) };
                    new[..count].iter().for_each(|&u| lists[(u >> shift) as usize].push((u, v)));
                }
            }
            _ => {
                let clear = |u: u32| visited[u as usize >> 6] >> (u & 63) & 1 == 0;
                row.iter().filter(|&&u| clear(u)).for_each(|&u| lists[(u >> shift) as usize].push((u, v)));
            }
        }
    }
}

/// Visits the candidates of the range of vertices from `first` on, keeping each once in the list.
pub(super) fn claim(list: &mut Vec<(u32, u32)>, first: usize, marks: &mut [u32], visited: &mut [u64], mark: Option<u32>) {
    list.retain(|&(u, v)| {
        let u = u as usize - first;
        let (word, bit) = (&mut visited[u >> 6], 1 << (u & 63));
        let new = *word & bit == 0;
        if new {
            *word |= bit;
            marks[u] = mark.unwrap_or(v);
        }
        new
    });
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Range, Rows, fetch};
    use std::arch::x86_64::*;

    /// The lowest `k` of 16 lanes.
    #[inline(always)]
    fn lanes(k: usize) -> __mmask16 {
        if k >= 16 { !0 } else { (1 << k) - 1 }
    }

    /// The lanes whose bit in `bits` is not set.
    ///
    /// # Safety
    /// The CPU has the features; the ids of lanes `inside` have bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn clear(inside: __mmask16, ids: __m512i, bits: *const u64) -> __mmask16 {
        // SAFETY: by the contract; lanes outside read nothing.
        let words = unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_set1_epi32(-1), inside, _mm512_srli_epi32::<5>(ids), bits.cast()) };
        _mm512_testn_epi32_mask(words, _mm512_rolv_epi32(_mm512_set1_epi32(1), ids))
    }

    /// Writes the ids of at most 16 whose bit is not set to `new`; how many.
    ///
    /// # Safety
    /// The CPU has the features; all ids have bits.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn unvisited(ids: &[u32], bits: *const u64, new: &mut [u32; 16]) -> usize {
        let inside = lanes(ids.len());
        // SAFETY: masked loads and gathers of what is there; `new` is one register long.
        unsafe {
            let x = _mm512_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let found = clear(inside, x, bits);
            _mm512_storeu_si512(new.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(found, x));
            found.count_ones() as usize
        }
    }

    /// # Safety
    /// The CPU has the features, the lengths agree, and the module's invariants hold.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn over_bits(
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
            // SAFETY: `end` grows with vertices visited for the first time only, so that 16 places behind it are free; ids of
            // a row are distinct, so that none is queued twice.
            unsafe {
                if h + 12 < last {
                    fetch(o.add(*q.add(h + 12) as usize));
                    let row = ids.wrapping_add(*o.add(*q.add(h + 6) as usize) as usize);
                    fetch(row);
                    fetch(row.wrapping_add(16));
                }
                let v = *q.add(h);
                let (mut k, stop) = (*o.add(v as usize) as usize, *o.add(v as usize + 1) as usize);
                arcs += (stop - k) as u64;
                let value = mark.unwrap_or(v);
                while k < stop {
                    let inside = lanes(stop - k);
                    let x = _mm512_maskz_loadu_epi32(inside, ids.add(k).cast());
                    let new = clear(inside, x, bits);
                    if new != 0 {
                        _mm512_storeu_si512(q.add(end).cast(), _mm512_maskz_compress_epi32(new, x));
                        for i in end..end + new.count_ones() as usize {
                            let u = *q.add(i) as usize;
                            *m.add(u) = value;
                            *bits.add(u >> 6) |= 1 << (u & 63);
                        }
                        end += new.count_ones() as usize;
                    }
                    k += 16;
                }
            }
        }
        (end, arcs)
    }
}
