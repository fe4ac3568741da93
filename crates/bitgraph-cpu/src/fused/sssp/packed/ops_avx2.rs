//! The steps of the packed search in vectors of eight.
//!
//! Invariant: as [`super::ops`].
#![allow(unsafe_code)]

use super::ops::{ID, Ops, Sink, relax};
use super::rows::HEAD;
use crate::fused::compress::{collect, lanes};
use std::arch::x86_64::*;

/// Eight lanes.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// Entries of a tail up to which they are relaxed one by one.
const FEW: usize = 3;

/// The lanes that are set, as bits.
///
/// # Safety
/// The CPU has AVX2; so for the functions below.
#[inline(always)]
unsafe fn bits(lanes: __m256i) -> u32 {
    // SAFETY: the contract.
    unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u32 }
}

/// The same number in every lane.
#[inline(always)]
unsafe fn all(x: u32) -> __m256i {
    // SAFETY: the contract.
    unsafe { _mm256_set1_epi32(x as i32) }
}

/// Lanes where `a` is at most `b`, as numbers without a sign.
#[inline(always)]
unsafe fn at_most(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the contract.
    unsafe { _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a) }
}

/// The lanes of the first `k` elements.
#[inline(always)]
unsafe fn first(k: usize) -> __m256i {
    // SAFETY: the contract.
    unsafe { _mm256_cmpgt_epi32(all(k.min(8) as u32), iota()) }
}

/// 0 to 7.
#[inline(always)]
unsafe fn iota() -> __m256i {
    // SAFETY: the contract.
    unsafe { _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7) }
}

/// Relaxes the entries of the lanes `near`, from a vertex at distance `base`.
#[inline(always)]
unsafe fn relax_lanes<S: Sink>(x: __m256i, near: __m256i, base: __m256i, sink: &mut S) {
    // SAFETY: the contract of the trait; lanes that are not near read nothing.
    unsafe {
        let id = _mm256_and_si256(x, all(ID));
        let known = _mm256_mask_i32gather_epi32::<4>(id, sink.dist().cast(), id, near);
        let sum = _mm256_add_epi32(_mm256_srli_epi32::<24>(x), base);
        let mut better = bits(_mm256_andnot_si256(at_most(known, sum), near));
        if S::LISTS {
            let (ids, sums) = sink.room();
            collect(ids, id, better);
            collect(sums, sum, better);
            sink.add(better.count_ones() as usize);
        } else if better != 0 {
            let (mut ids, mut sums) = ([0u32; 8], [0u32; 8]);
            _mm256_storeu_si256(ids.as_mut_ptr().cast(), id);
            _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
            while better != 0 {
                let k = better.trailing_zeros() as usize;
                sink.improve(*ids.get_unchecked(k), *sums.get_unchecked(k));
                better &= better - 1;
            }
        }
    }
}

/// The smallest of `best` and the distances over the entries `x` from vertices at `from` that are below `now`.
#[inline(always)]
unsafe fn smallest(x: __m256i, from: __m256i, now: u32, best: u32) -> u32 {
    // SAFETY: the contract.
    unsafe {
        // Lanes without a settled vertex give the largest value.
        let sum = _mm256_or_si256(_mm256_add_epi32(from, _mm256_srli_epi32::<24>(x)), at_most(all(now), from));
        let four = _mm_min_epu32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        let two = _mm_min_epu32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        let one = _mm_min_epu32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
        best.min(_mm_cvtsi128_si32(one) as u32)
    }
}

impl Ops for Avx2 {
    #[inline(always)]
    unsafe fn head<S: Sink>(head: *const u32, most: u32, base: u32, sink: &mut S) -> usize {
        const { assert!(HEAD == 8) };
        // SAFETY: the trait's contract; a head has 8 entries.
        unsafe {
            let x = _mm256_loadu_si256(head.cast());
            let near = at_most(x, all(most));
            relax_lanes(x, near, all(base), sink);
            bits(near).count_ones() as usize
        }
    }
    #[inline(always)]
    unsafe fn tail<S: Sink>(run: &[u32], most: u32, base: u32, sink: &mut S) -> usize {
        let mut at = 0;
        while at < run.len() {
            // SAFETY: the trait's contract: loads may pass the run's end by up to `PAD`; masked lanes are not gathered.
            unsafe {
                let x = _mm256_loadu_si256(run.as_ptr().add(at).cast());
                let near = _mm256_and_si256(at_most(x, all(most)), first(run.len() - at));
                let count = bits(near).count_ones() as usize;
                if count <= FEW && !S::LISTS {
                    for &entry in run.get_unchecked(at..at + count) {
                        relax(entry, base, sink);
                    }
                    return at + count;
                }
                relax_lanes(x, near, all(base), sink);
                at += count;
                if count < 8 {
                    return at;
                }
            }
        }
        at
    }
    #[inline(always)]
    unsafe fn fours<S: Sink>(rows: [*const u32; 4], bases: [u32; 4], sink: &mut S) {
        // SAFETY: the trait's contract; rows have four entries.
        unsafe {
            for k in [0, 2] {
                let x = _mm256_set_m128i(_mm_loadu_si128(rows[k + 1].cast()), _mm_loadu_si128(rows[k].cast()));
                let base = _mm256_set_m128i(_mm_set1_epi32(bases[k + 1] as i32), _mm_set1_epi32(bases[k] as i32));
                relax_lanes(x, all(u32::MAX), base, sink);
            }
        }
    }
    #[inline(always)]
    unsafe fn pull_head(head: *const u32, dist: *const u32, now: u32, best: u32) -> u32 {
        // SAFETY: the trait's contract; a head has 8 entries.
        unsafe {
            let x = _mm256_loadu_si256(head.cast());
            let from = _mm256_i32gather_epi32::<4>(dist.cast(), _mm256_and_si256(x, all(ID)));
            smallest(x, from, now, best)
        }
    }
    #[inline(always)]
    unsafe fn pull_tail(run: &[u32], dist: *const u32, now: u32, nearest: u32, mut best: u32) -> u32 {
        let mut at = 0;
        while at < run.len() {
            // SAFETY: the trait's contract: loads may pass the run's end by up to `PAD`; masked lanes are not gathered.
            unsafe {
                if (run.get_unchecked(at) >> 24) + nearest >= best {
                    return best;
                }
                let x = _mm256_loadu_si256(run.as_ptr().add(at).cast());
                let id = _mm256_and_si256(x, all(ID));
                let from = _mm256_mask_i32gather_epi32::<4>(all(u32::MAX), dist.cast(), id, first(run.len() - at));
                best = smallest(x, from, now, best);
            }
            at += 8;
        }
        best
    }
    #[inline(always)]
    unsafe fn open(dist: *const u32, classes: *const u8, start: u32, len: usize, now: u32, out: *mut u32) -> usize {
        let mut count = 0;
        for k in (0..len).step_by(8) {
            // SAFETY: the trait's contract; loads of distances are masked to the range.
            unsafe {
                let at = start as usize + k;
                let known = _mm256_maskload_epi32(dist.add(at).cast(), first(len - k));
                let classes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(classes.add(at).cast()));
                let open = _mm256_and_si256(at_most(all(now), known), _mm256_cmpgt_epi32(classes, _mm256_setzero_si256()));
                count += collect(out.add(count), _mm256_add_epi32(all(at as u32), iota()), bits(open) & lanes(len - k));
            }
        }
        count
    }
    #[inline(always)]
    unsafe fn due(keys: &[u32], limit: u32, out: *mut u32) -> usize {
        let mut count = 0;
        for k in (0..keys.len()).step_by(8) {
            // SAFETY: the trait's contract; loads are masked to the slice.
            unsafe {
                let key = _mm256_maskload_epi32(keys.as_ptr().add(k).cast(), first(keys.len() - k));
                let due = !bits(at_most(all(limit), key)) & lanes(keys.len() - k);
                count += collect(out.add(count), _mm256_add_epi32(all(k as u32), iota()), due);
            }
        }
        count
    }
}
