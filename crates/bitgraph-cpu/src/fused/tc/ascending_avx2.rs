//! The AVX2 kernels of the ascending form: copying the parts below, and filtered intersections.
//!
//! Invariant: nothing is read outside the lists but seven elements behind them, which are there.

#![allow(unsafe_code)]

use super::ascending::{PASSED, Scratch, ends, fetch_ahead, portable};
use super::filter_avx2::Filter;
use crate::fused::compress::{collect, lanes};
use std::arch::x86_64::*;
use std::ops::Range;

/// Rows with more smaller neighbours than this fill the filter too far; they probe a bitmap.
const FILTER_LIMIT: usize = 96;
/// Up to so many, what passed is compared with each of them; of longer rows it is looked up in the bitmap.
const COMPARED: usize = 16;

/// As the portable form.
///
/// # Safety
/// The CPU has the features; the pattern is valid and has the rows; there is a span for each of them, and in `list` an element for each
/// of their entries.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn copy_below(offsets: &[u32], indices: &[u32], rows: Range<usize>, spans: &mut [u64], list: &mut [u32]) {
    let (base, ids, out) = (offsets[rows.start] as usize, indices.as_ptr(), list.as_mut_ptr());
    let flip = _mm256_set1_epi32(i32::MIN);
    let mut place = 0;
    for (v, span) in rows.zip(spans) {
        let (start, own) = (place, _mm256_set1_epi32((v as i32) ^ i32::MIN));
        let (mut i, end) = (offsets[v] as usize, offsets[v + 1] as usize);
        while i < end {
            // SAFETY: eight are inside the row, or one is; the list has an element for each entry before them, and for these.
            unsafe {
                if end - i >= 8 {
                    let x = _mm256_loadu_si256(ids.add(i).cast());
                    _mm256_storeu_si256(out.add(place).cast(), x);
                    let below = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(own, _mm256_xor_si256(x, flip))));
                    place += below.count_ones() as usize;
                    if below != 0xff {
                        break;
                    }
                    i += 8;
                } else {
                    let x = *ids.add(i);
                    if x as usize >= v {
                        break;
                    }
                    *out.add(place) = x;
                    place += 1;
                    i += 1;
                }
            }
        }
        *span = ((base + start) as u64) << 32 | (place - start) as u64;
    }
}

/// # Safety
/// The CPU has the features; spans are in bounds of `indices`, which has seven elements behind the last; ids are below `spans.len()`; the
/// scratch is sized.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn count_rows(indices: &[u32], spans: &[u64], rows: Range<usize>, scratch: &mut Scratch) -> u64 {
    let ids = indices.as_ptr();
    let passed = scratch.passed.as_mut_ptr();
    let mut count = 0u64;
    for v in rows.clone() {
        fetch_ahead(indices, spans, v, rows.end);
        let row = &indices[ends(spans[v])];
        if row.len() < 2 {
            continue;
        }
        if row.len() > FILTER_LIMIT {
            crate::trace::enter("tc: ascending, a long row");
            count += portable(indices, spans, v..v + 1, &mut scratch.bits);
            continue;
        }
        let filter = Filter::of(row);
        let bits = &mut scratch.bits[..];
        let looked_up = row.len() > COMPARED;
        if looked_up {
            row.iter().for_each(|&x| bits[x as usize >> 6] |= 1 << (x & 63));
        }
        let verify = |bits: &[u64], length: usize| {
            let mut found = 0;
            if looked_up {
                for i in 0..length {
                    // SAFETY: `length` ids were written; the bitmap has a bit for each.
                    found += unsafe {
                        let x = *passed.add(i) as usize;
                        bits.get_unchecked(x >> 6) >> (x & 63) & 1
                    };
                }
                return found;
            }
            for i in (0..length).step_by(8) {
                // SAFETY: the buffer has room for eight more than were written.
                let x = unsafe { _mm256_loadu_si256(passed.add(i).cast()) };
                let equal = |hit, y: &u32| _mm256_or_si256(hit, _mm256_cmpeq_epi32(x, _mm256_set1_epi32(*y as i32)));
                let hit = row.iter().fold(_mm256_setzero_si256(), equal);
                found += u64::from((_mm256_movemask_ps(_mm256_castsi256_ps(hit)) as u32 & lanes(length - i)).count_ones());
            }
            found
        };
        let mut length = 0;
        for &u in &row[1..] {
            // SAFETY: ids are below the number of spans.
            let other = ends(unsafe { *spans.get_unchecked(u as usize) });
            let mut i = other.start;
            while i < other.end {
                // SAFETY: seven elements behind the last are there; at most 8 elements are stored after fewer than `PASSED`.
                unsafe {
                    let x = _mm256_loadu_si256(ids.add(i).cast());
                    length += collect(passed.add(length), x, filter.passes(x) & lanes(other.end - i));
                }
                i += 8;
                if length >= PASSED - 8 {
                    crate::trace::enter("tc: ascending, a full buffer");
                    count += verify(bits, length);
                    length = 0;
                }
            }
        }
        count += verify(bits, length);
        if looked_up {
            row.iter().for_each(|&x| bits[x as usize >> 6] = 0);
        }
    }
    count
}
