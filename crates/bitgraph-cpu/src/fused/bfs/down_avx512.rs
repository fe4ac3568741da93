//! The top-down steps in AVX-512: sixteen neighbours at a time.
//!
//! Invariant: as [`super::down`].

#![allow(unsafe_code)]

use super::down::{claim, fetch_rows};
use super::search::Rows;
use std::arch::x86_64::*;
use std::ops::Range;
use std::sync::atomic::AtomicU32;

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

/// Sixteen neighbours at a time: those whose marks are unreached are listed, and kept if this changes the mark.
///
/// # Safety
/// The CPU has the features; all ids have marks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn push_row<const SHARED: bool>(row: &[u32], marks: &[AtomicU32], value: u32, found: &mut Vec<u32>) {
    for ids in row.chunks(16) {
        let inside = lanes(ids.len());
        // SAFETY: masked loads and gathers of what is there, each lane of which the processor reads at once, as a relaxed load does: a mark
        // that another member has changed meanwhile is looked at again before it is changed.
        let (x, new) = unsafe {
            let x = _mm512_maskz_loadu_epi32(inside, ids.as_ptr().cast());
            let known = _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, x, marks.as_ptr().cast());
            (x, _mm512_mask_cmpeq_epi32_mask(inside, known, _mm512_set1_epi32(-1)))
        };
        if new != 0 {
            found.reserve(16);
            // SAFETY: there is room for a register; the first of its lanes are written, and the length covers those alone.
            unsafe {
                let (first, place) = (found.len(), found.as_mut_ptr());
                let mut end = first;
                _mm512_storeu_si512(place.add(first).cast(), _mm512_maskz_compress_epi32(new, x));
                for k in first..first + new.count_ones() as usize {
                    let u = *place.add(k);
                    *place.add(end) = u;
                    end += usize::from(claim::<SHARED>(marks.get_unchecked(u as usize), value));
                }
                found.set_len(end);
            }
        }
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
            fetch_rows((offsets, indices), q, h, last);
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
