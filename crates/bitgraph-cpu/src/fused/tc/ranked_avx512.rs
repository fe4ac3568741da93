//! The AVX-512 kernels of the ranked form: splitting a row by rank, and counting with bit rows and filtered lists.
//!
//! Invariant: nothing outside the lists, the bit rows and the scratch is read or written; masked lanes are not touched.

#![allow(unsafe_code)]

use super::ranked::{BLOCK, COLLECTED, LISTS_AHEAD, Lists, Scratch, ends, fetch, fetch_ahead, row_blocks, row_word};
use std::arch::x86_64::*;
use std::ops::Range;

/// Lists longer than this fill a filter of 1024 bits too far; they are probed by gathers.
const FILTER_LIMIT: usize = 384;

/// The lowest `k` of 16 lanes.
#[inline(always)]
fn lanes(k: usize) -> __mmask16 {
    if k >= 16 { !0 } else { (1 << k) - 1 }
}

/// Writes the ranks of `row` that are below `own`: those below `hubs` to `near`, the others to `far`; returns how many of each.
///
/// # Safety
/// The CPU has the features; ids of `row` are below `rank.len()`; `near` and `far` have 16 elements more than `row`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn split(row: &[u32], rank: &[u32], own: u32, hubs: u32, near: &mut [u32], far: &mut [u32]) -> (usize, usize) {
    let (limit, hubs) = (_mm512_set1_epi32(own as i32), _mm512_set1_epi32(hubs as i32));
    let (mut n, mut f) = (0, 0);
    let mut i = 0;
    while i < row.len() {
        let inside = lanes(row.len() - i);
        // SAFETY: masked loads and gathers stay inside by the contract; a store of 16 starts at most `row.len()` elements in.
        unsafe {
            let ids = _mm512_maskz_loadu_epi32(inside, row.as_ptr().add(i).cast());
            let ranks = _mm512_mask_i32gather_epi32::<4>(_mm512_set1_epi32(-1), inside, ids, rank.as_ptr().cast());
            let below = _mm512_mask_cmplt_epu32_mask(inside, ranks, limit);
            let hub = _mm512_mask_cmplt_epu32_mask(below, ranks, hubs);
            let rest = below & !hub;
            _mm512_storeu_si512(near.as_mut_ptr().add(n).cast(), _mm512_maskz_compress_epi32(hub, ranks));
            n += hub.count_ones() as usize;
            if rest != 0 {
                _mm512_storeu_si512(far.as_mut_ptr().add(f).cast(), _mm512_maskz_compress_epi32(rest, ranks));
                f += rest.count_ones() as usize;
            }
        }
        i += 16;
    }
    (n, f)
}

/// Triangles whose last-ranked vertex is in `rows`.
///
/// # Safety
/// The CPU has the features; `lists` keeps its invariants; the scratch has a zero bit for every rank in whole blocks, and
/// room for `COLLECTED + 16` elements.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn count_rows(lists: &Lists, rows: Range<usize>, scratch: &mut Scratch) -> u64 {
    let list = lists.list.as_ptr();
    let matrix = lists.bits.as_ptr();
    let bits = scratch.bits.as_mut_ptr();
    let passed = scratch.collected.as_mut_ptr();
    let one = _mm512_set1_epi32(1);
    let mut sums = _mm512_setzero_si512();
    let mut count = 0u64;
    for v in rows {
        fetch_ahead(lists, v);
        let row = lists.rows[v];
        let (start, middle, end) = (row.start as usize, row.middle as usize, row.end as usize);
        if end - start < 2 {
            continue;
        }
        // SAFETY: lists are in bounds, their elements are ranks, for which the scratch has bits, the bit matrix has the rows
        // of all hubs and `spans` all lists; `passed` never holds more than `COLLECTED` before 16 more are stored.
        unsafe {
            let mut occupied = 0u64;
            for i in start..middle {
                let x = *list.add(i) as usize;
                *bits.add(x >> 6) |= 1 << (x & 63);
                occupied |= 1 << (x >> 9);
            }
            for i in middle..end {
                let x = *list.add(i) as usize;
                *bits.add(x >> 6) |= 1 << (x & 63);
            }
            for i in start..middle {
                let u = *list.add(i) as usize;
                let words = matrix.add(row_word(u));
                let mut blocks = occupied & ((1 << row_blocks(u)) - 1);
                while blocks != 0 {
                    let b = blocks.trailing_zeros() as usize * BLOCK;
                    blocks &= blocks - 1;
                    let both = _mm512_and_si512(_mm512_loadu_si512(words.add(b).cast()), _mm512_loadu_si512(bits.add(b).cast()));
                    sums = _mm512_add_epi64(sums, _mm512_popcnt_epi64(both));
                }
            }
            if middle < end {
                let filtered = end - start <= FILTER_LIMIT;
                let mut table = [0u64; 16];
                if filtered {
                    for i in start..end {
                        let x = *list.add(i);
                        table[(x >> 6 & 15) as usize] |= 1 << (x & 63);
                    }
                }
                crate::trace::enter(if filtered { "tc: ranked, filtered" } else { "tc: ranked, unfiltered" });
                let (low, high) = (_mm512_loadu_si512(table.as_ptr().cast()), _mm512_loadu_si512(table.as_ptr().add(8).cast()));
                let verify = |length: usize| {
                    (0..length)
                        .map(|i| {
                            let x = *passed.add(i) as usize;
                            *bits.add(x >> 6) >> (x & 63) & 1
                        })
                        .sum::<u64>()
                };
                let mut length = 0;
                for i in middle..end {
                    if i + LISTS_AHEAD < end {
                        fetch(list.wrapping_add(ends(*lists.spans.get_unchecked(*list.add(i + LISTS_AHEAD) as usize)).start));
                    }
                    let other = ends(*lists.spans.get_unchecked(*list.add(i) as usize));
                    let mut j = other.start;
                    while j < other.end {
                        let inside = lanes(other.end - j);
                        let x = _mm512_maskz_loadu_epi32(inside, list.add(j).cast());
                        _mm_prefetch::<_MM_HINT_T0>(list.wrapping_add(j + 64).cast());
                        if filtered {
                            let word = _mm512_permutex2var_epi32(low, _mm512_srli_epi32::<5>(x), high);
                            let pass = _mm512_mask_test_epi32_mask(inside, word, _mm512_rolv_epi32(one, x));
                            _mm512_storeu_si512(passed.add(length).cast(), _mm512_maskz_compress_epi32(pass, x));
                            length += pass.count_ones() as usize;
                            if length >= COLLECTED - 16 {
                                crate::trace::enter("tc: ranked, a full buffer");
                                count += verify(length);
                                length = 0;
                            }
                        } else {
                            let word =
                                _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, _mm512_srli_epi32::<5>(x), bits.cast());
                            count += u64::from(_mm512_test_epi32_mask(word, _mm512_rolv_epi32(one, x)).count_ones());
                        }
                        j += 16;
                    }
                }
                count += verify(length);
            }
            for i in start..end {
                *bits.add(*list.add(i) as usize >> 6) = 0;
            }
        }
    }
    count + _mm512_reduce_add_epi64(sums) as u64
}
