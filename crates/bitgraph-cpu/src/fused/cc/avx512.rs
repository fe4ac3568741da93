//! The inner loops of the search in AVX-512.
//!
//! Invariant: column ids are below the number of vertices, which [`bitgraph_sparse::Csr`] guarantees; bitmaps and queues have
//! the lengths that [`super::kernel::Kernel`] documents.
#![allow(unsafe_code)]

use super::kernel::{AHEAD, Labelled};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The lanes of the first `count` elements.
#[inline(always)]
fn first_lanes(count: usize) -> u16 {
    if count >= 16 { !0 } else { (1 << count) - 1 }
}

/// See [`super::kernel::Kernel::scan`].
///
/// # Safety
/// The CPU has AVX-512 F, and every array of offsets has `nodes + 1` elements.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn scan<const P: usize>(offsets: [&[u32]; P], nodes: usize, isolated: &mut [u64], first: usize) -> (usize, u32) {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let (mut best, mut at) = (_mm512_setzero_si512(), _mm512_set1_epi32(-1));
    for (i, word) in isolated.iter_mut().enumerate() {
        let mut bits = 0u64;
        for quarter in 0..4 {
            let v = (first + i) * 64 + quarter * 16;
            let mask = first_lanes(nodes.saturating_sub(v));
            let mut degree = _mm512_setzero_si512();
            if mask != 0 {
                for o in offsets {
                    // SAFETY: masked lanes `v..v + 16` and one more are below `nodes + 1`.
                    let (start, end) = unsafe {
                        (
                            _mm512_maskz_loadu_epi32(mask, o.as_ptr().add(v).cast()),
                            _mm512_maskz_loadu_epi32(mask, o.as_ptr().add(v + 1).cast()),
                        )
                    };
                    degree = _mm512_add_epi32(degree, _mm512_sub_epi32(end, start));
                }
            }
            bits |= u64::from(_mm512_testn_epi32_mask(degree, degree)) << (16 * quarter);
            let better = _mm512_cmpgt_epu32_mask(degree, best);
            best = _mm512_mask_mov_epi32(best, better, degree);
            at = _mm512_mask_mov_epi32(at, better, _mm512_add_epi32(lanes, _mm512_set1_epi32(v as i32)));
        }
        *word = bits;
    }
    let (mut degrees, mut vertices) = ([0u32; 16], [0u32; 16]);
    // SAFETY: the arrays hold 16 elements.
    unsafe {
        _mm512_storeu_si512(degrees.as_mut_ptr().cast(), best);
        _mm512_storeu_si512(vertices.as_mut_ptr().cast(), at);
    }
    let lane = (0..16).map(|k| (degrees[k], std::cmp::Reverse(vertices[k]))).max().unwrap_or((0, std::cmp::Reverse(u32::MAX)));
    // Without any edge there is no lane to report; the first vertex of the range does.
    (lane.0 as usize, if lane.0 == 0 { (first * 64) as u32 } else { lane.1.0 })
}

/// Visits the unvisited of an ascending list and appends them to the queue from `tail` on; the new end.
///
/// # Safety
/// The CPU has AVX-512 F; every element has its bit in `visited`, and `queue` holds 16 more elements than there are vertices.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) unsafe fn expand(list: &[u32], visited: &mut [u64], queue: &mut [u32], mut tail: usize) -> usize {
    let one = _mm512_set1_epi32(1);
    let (bits, out) = (visited.as_mut_ptr(), queue.as_mut_ptr());
    for start in (0..list.len()).step_by(16) {
        let mask = first_lanes(list.len() - start);
        // SAFETY: masked lanes are elements of the list, whose 32-bit words lie inside the bitmap.
        let (u, words) = unsafe {
            let u = _mm512_maskz_loadu_epi32(mask, list.as_ptr().add(start).cast());
            (u, _mm512_mask_i32gather_epi32::<4>(_mm512_set1_epi32(-1), mask, _mm512_srli_epi32::<5>(u), bits.cast_const().cast()))
        };
        let fresh = _mm512_testn_epi32_mask(words, _mm512_sllv_epi32(one, _mm512_and_si512(u, _mm512_set1_epi32(31))));
        if fresh != 0 {
            // SAFETY: every vertex is appended at most once, so 16 elements from `tail` on are in the queue; those read back
            // were just written, and their words lie inside the bitmap.
            unsafe {
                _mm512_storeu_si512(out.add(tail).cast(), _mm512_maskz_compress_epi32(fresh, u));
                let end = tail + fresh.count_ones() as usize;
                for k in tail..end {
                    let u = *out.add(k);
                    *bits.add(u as usize >> 6) |= 1 << (u & 63);
                }
                tail = end;
            }
        }
    }
    tail
}

/// Whether a vertex's bit is set.
///
/// # Safety
/// The bitmap has the word of `u`.
#[inline(always)]
unsafe fn is_set(bits: *const u64, u: u32) -> bool {
    // SAFETY: by the contract.
    unsafe { *bits.add(u as usize >> 6) >> (u & 63) & 1 != 0 }
}

/// Entries of a list that are looked at one by one before 16 at a time: mostly one of them is visited.
const PROBES: usize = 2;

/// See [`super::kernel::Kernel::bottom_up`].
///
/// # Safety
/// The CPU has AVX-512 F; offsets and columns are those of patterns over the vertices that the bitmap has bits for, bits past
/// the last vertex are set, and `words` are words of the bitmap.
#[target_feature(enable = "avx512f,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn bottom_up<const P: usize>(
    offsets: [&[u32]; P],
    columns: [&[u32]; P],
    visited: &mut [u64],
    words: Range<usize>,
) -> usize {
    let one = _mm512_set1_epi32(1);
    let bits = visited.as_mut_ptr();
    let mut found = 0;
    for i in words {
        // SAFETY: `i` is a word of the bitmap.
        let mut rest = unsafe { !*bits.add(i) };
        let mut hits = 0u64;
        'vertices: while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            let v = i * 64 + rest.trailing_zeros() as usize;
            rest ^= bit;
            for p in 0..P {
                let list = columns[p].as_ptr();
                // SAFETY: unset bits are vertices, so `v + 1` is an offset; offsets are in bounds of the columns, and columns
                // are vertices. The prefetch may point anywhere.
                unsafe {
                    let (mut k, end) = (*offsets[p].get_unchecked(v) as usize, *offsets[p].get_unchecked(v + 1) as usize);
                    let ahead = *offsets[p].get_unchecked((v + AHEAD).min(offsets[p].len() - 1));
                    _mm_prefetch::<_MM_HINT_T0>(list.wrapping_add(ahead as usize).cast());
                    _mm_prefetch::<_MM_HINT_T0>(list.wrapping_add(ahead as usize + 16).cast());
                    let probed = end.min(k + PROBES);
                    while k < probed {
                        if is_set(bits, *list.add(k)) {
                            *bits.add(i) |= bit;
                            hits += 1;
                            continue 'vertices;
                        }
                        k += 1;
                    }
                    while k < end {
                        let mask = first_lanes(end - k);
                        let u = _mm512_maskz_loadu_epi32(mask, list.add(k).cast());
                        let w = _mm512_mask_i32gather_epi32::<4>(
                            _mm512_setzero_si512(),
                            mask,
                            _mm512_srli_epi32::<5>(u),
                            bits.cast_const().cast(),
                        );
                        if _mm512_test_epi32_mask(w, _mm512_sllv_epi32(one, _mm512_and_si512(u, _mm512_set1_epi32(31)))) != 0 {
                            *bits.add(i) |= bit;
                            hits += 1;
                            continue 'vertices;
                        }
                        k += 16;
                    }
                }
            }
        }
        found += hits as usize;
    }
    found
}

/// See [`super::kernel::Kernel::label`].
///
/// # Safety
/// The CPU has AVX-512 F, BW and VPOPCNTDQ's scalar kin; `labels` has a vertex for every word but for the last one's tail, and
/// `rest` as many elements.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) unsafe fn label(
    visited: &[u64],
    isolated: &[u64],
    first: usize,
    giant: u32,
    labels: &mut [MaybeUninit<u32>],
    rest: &mut [u32],
) -> Labelled {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let giants = _mm512_set1_epi32(giant as i32);
    let mut found = Labelled::default();
    for (i, block) in labels.chunks_mut(64).enumerate() {
        let valid = if block.len() == 64 { !0 } else { (1u64 << block.len()) - 1 };
        let (members, unseen) = (visited[i] & !isolated[i] & valid, !visited[i] & valid);
        found.giant += members.count_ones() as usize;
        found.isolated += (isolated[i] & valid).count_ones() as usize;
        for (quarter, out) in block.chunks_mut(16).enumerate() {
            let ids = _mm512_add_epi32(_mm512_set1_epi32((first + i * 64 + quarter * 16) as i32), lanes);
            let label = _mm512_mask_mov_epi32(ids, (members >> (16 * quarter)) as u16, giants);
            // SAFETY: masked lanes are the elements of `out`.
            unsafe { _mm512_mask_storeu_epi32(out.as_mut_ptr().cast(), first_lanes(out.len()), label) };
            let mask = (unseen >> (16 * quarter)) as u16;
            if mask != 0 {
                let count = mask.count_ones() as usize;
                let out = &mut rest[found.rest..found.rest + count];
                // SAFETY: masked lanes are the elements of `out`.
                unsafe { _mm512_mask_storeu_epi32(out.as_mut_ptr().cast(), first_lanes(count), _mm512_maskz_compress_epi32(mask, ids)) };
                found.rest += count;
            }
        }
    }
    found
}
