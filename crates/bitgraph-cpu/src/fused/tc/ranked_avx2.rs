//! The AVX2 kernels of the ranked form: splitting a row by rank, and counting with bit rows as in the plain form and filtered lists.
//!
//! Invariant: nothing outside the lists and what they have to spare, the bit rows and the scratch is read or written.

#![allow(unsafe_code)]

use super::filter_avx2::Filter;
use super::ranked::{BLOCK, COLLECTED, LISTS_AHEAD, Lists, Scratch, common_hubs, ends, fetch, fetch_ahead};
use crate::fused::compress::{collect, lanes};
use std::arch::x86_64::*;
use std::ops::Range;

/// Lists longer than this fill a filter of 256 bits too far; others are looked up in the bits of the row.
const FILTER_LIMIT: usize = 128;

/// Writes the ranks of `row` that are below `own`: those below `hubs` to `near`, the others to `far`; returns how many of each.
///
/// # Safety
/// The CPU has the features; ids of `row` are below `rank.len()`; `near` and `far` have 16 elements more than `row`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn split(row: &[u32], rank: &[u32], own: u32, hubs: u32, near: &mut [u32], far: &mut [u32]) -> (usize, usize) {
    let (own, hubs) = (_mm256_set1_epi32(own as i32), _mm256_set1_epi32(hubs as i32));
    let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let is_below = |ranks: __m256i, limit: __m256i| {
        !_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(ranks, limit), ranks))) as u32
    };
    let (mut n, mut f) = (0, 0);
    for i in (0..row.len()).step_by(8) {
        let inside = _mm256_cmpgt_epi32(_mm256_set1_epi32((row.len() - i).min(8) as i32), lane);
        // SAFETY: masked loads and gathers stay inside by the contract; a store of 8 starts at most `row.len()` elements in.
        unsafe {
            let ids = _mm256_maskload_epi32(row.as_ptr().add(i).cast(), inside);
            let ranks = _mm256_mask_i32gather_epi32::<4>(_mm256_set1_epi32(-1), rank.as_ptr().cast(), ids, inside);
            let below = is_below(ranks, own) & lanes(row.len() - i);
            let hub = below & is_below(ranks, hubs);
            n += collect(near.as_mut_ptr().add(n), ranks, hub);
            if below != hub {
                f += collect(far.as_mut_ptr().add(f), ranks, below & !hub);
            }
        }
    }
    (n, f)
}

/// Triangles whose last-ranked vertex is in `rows`.
///
/// # Safety
/// The CPU has the features; `lists` keeps its invariants; the scratch has a zero bit for every rank in whole blocks, and
/// room for `COLLECTED + 16` elements.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn count_rows(lists: &Lists, rows: Range<usize>, scratch: &mut Scratch) -> u64 {
    let list = lists.list.as_ptr();
    let bits = &mut scratch.bits[..];
    let passed = scratch.collected.as_mut_ptr();
    let mut sums = _mm256_setzero_si256();
    let mut count = 0u64;
    for v in rows {
        fetch_ahead(lists, v);
        let row = lists.rows[v];
        if row.end - row.start < 2 {
            continue;
        }
        let all = &lists.list[row.start as usize..row.end as usize];
        let (near, far) = all.split_at((row.middle - row.start) as usize);
        all.iter().for_each(|&x| bits[x as usize >> 6] |= 1 << (x & 63));
        common_hubs(&lists.bits, bits, near, |x, y| sums = _mm256_add_epi64(sums, common_bits(x, y)));
        let is_marked = |x: u32| bits[x as usize >> 6] >> (x & 63) & 1;
        if all.len() > FILTER_LIMIT {
            crate::trace::enter("tc: ranked, unfiltered");
            for &u in far {
                count += lists.list[ends(lists.spans[u as usize])].iter().map(|&x| is_marked(x)).sum::<u64>();
            }
        } else if !far.is_empty() {
            crate::trace::enter("tc: ranked, filtered");
            let filter = Filter::of(all);
            // SAFETY: so many elements were written.
            let verify = |length: usize| (0..length).map(|i| is_marked(unsafe { *passed.add(i) })).sum::<u64>();
            let mut length = 0;
            for (i, &u) in far.iter().enumerate() {
                // SAFETY: lists are in bounds and have 16 elements to spare; all ranks have spans; `passed` never holds more than `COLLECTED`
                // before eight more are stored.
                unsafe {
                    if let Some(&u) = far.get(i + LISTS_AHEAD) {
                        fetch(list.wrapping_add(ends(*lists.spans.get_unchecked(u as usize)).start));
                    }
                    let other = ends(*lists.spans.get_unchecked(u as usize));
                    let mut j = other.start;
                    while j < other.end {
                        let x = _mm256_loadu_si256(list.add(j).cast());
                        length += collect(passed.add(length), x, filter.passes(x) & lanes(other.end - j));
                        j += 8;
                        if length >= COLLECTED - 8 {
                            crate::trace::enter("tc: ranked, a full buffer");
                            count += verify(length);
                            length = 0;
                        }
                    }
                }
            }
            count += verify(length);
        }
        all.iter().for_each(|&x| bits[x as usize >> 6] = 0);
    }
    let mut four = [0u64; 4];
    // SAFETY: the array is a register long.
    unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), sums) };
    count + four.iter().sum::<u64>()
}

/// The bits that two blocks share, in four parts: a table tells those of four bits.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn common_bits(x: &[u64; BLOCK], y: &[u64; BLOCK]) -> __m256i {
    let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let nibble = _mm256_set1_epi8(15);
    let bytes = |half: usize| {
        // SAFETY: a block is two registers long.
        let (x, y) = unsafe { (_mm256_loadu_si256(x.as_ptr().add(4 * half).cast()), _mm256_loadu_si256(y.as_ptr().add(4 * half).cast())) };
        let both = _mm256_and_si256(x, y);
        let (low, high) = (_mm256_and_si256(both, nibble), _mm256_and_si256(_mm256_srli_epi64::<4>(both), nibble));
        _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high))
    };
    _mm256_sad_epu8(_mm256_add_epi8(bytes(0), bytes(1)), _mm256_setzero_si256())
}
