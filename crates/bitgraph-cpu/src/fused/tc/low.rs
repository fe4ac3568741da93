//! Triangles where degrees are small: for every two smaller neighbours of a vertex, look for the edge between them.
//!
//! Nothing is prepared and nothing is stored; a row of four is scanned faster than any index over it is built. With vectors a
//! row is compared sixteen or eight entries at a time, so that nothing depends on where in it the edge would be.
//! O(sum of d^3) at worst, so the caller takes this form for small mean degrees without skew only.

#![allow(unsafe_code)]

use crate::Isa;
use std::ops::Range;

/// Triangles whose largest vertex is in `rows`, of a square pattern. Loops are passed over. `isa` must be one that the CPU has.
pub(super) fn count_rows(offsets: &[u32], indices: &[u32], rows: Range<usize>, isa: Isa) -> u64 {
    assert!(rows.end < offsets.len());
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features; the pattern is valid, and has the rows.
        Isa::Avx512 => unsafe { avx512(offsets, indices, rows) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as before.
        Isa::Avx2 => unsafe { avx2(offsets, indices, rows) },
        _ => count(offsets, rows, indices, |other, smaller| {
            // Both ascend.
            smaller.iter().map(|w| u64::from(other.iter().find(|x| *x >= w) == Some(w))).sum()
        }),
    }
}

/// The sum, over all vertices and their smaller neighbours, of what `common` finds of the row of the one among those before it.
#[inline(always)]
fn count(offsets: &[u32], rows: Range<usize>, indices: &[u32], common: impl Fn(&[u32], &[u32]) -> u64) -> u64 {
    let mut count = 0u64;
    let mut start = offsets[rows.start] as usize;
    for v in rows {
        let end = offsets[v + 1] as usize;
        let row = &indices[start..end];
        start = end;
        for (i, &u) in row.iter().enumerate().skip(1) {
            if u as usize >= v {
                break;
            }
            count += common(&indices[offsets[u as usize] as usize..offsets[u as usize + 1] as usize], &row[..i]);
        }
    }
    count
}

/// # Safety
/// The CPU has the features; the pattern is valid and square, and `rows` are rows of it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn avx512(offsets: &[u32], indices: &[u32], rows: Range<usize>) -> u64 {
    use std::arch::x86_64::*;
    let (o, ids) = (offsets.as_ptr(), indices.as_ptr());
    let mut count = 0u64;
    let mut start = offsets[rows.start] as usize;
    for v in rows {
        // SAFETY: `v` is a row; ids are rows; offsets ascend up to the number of indices; a masked load reads inside a row.
        unsafe {
            let end = *o.add(v + 1) as usize;
            let mut k = start + 1;
            while k < end && (*ids.add(k) as usize) < v {
                let (u, last) = (*ids.add(k) as usize, *ids.add(k - 1));
                let (mut at, stop) = (*o.add(u) as usize, *o.add(u + 1) as usize);
                while at < stop {
                    let inside = if stop - at >= 16 { !0 } else { (1 << (stop - at)) - 1 };
                    let x = _mm512_maskz_loadu_epi32(inside, ids.add(at).cast());
                    for w in start..k {
                        let hit = _mm512_mask_cmpeq_epi32_mask(inside, x, _mm512_set1_epi32(*ids.add(w) as i32));
                        count += u64::from(hit.count_ones());
                    }
                    at += 16;
                    // Both ascend: what follows is above all that it is compared with.
                    if at >= stop || *ids.add(at) > last {
                        break;
                    }
                }
                k += 1;
            }
            start = end;
        }
    }
    count
}

/// As [`avx512`], eight entries at a time.
///
/// # Safety
/// The CPU has the features; the pattern is valid and square, and `rows` are rows of it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn avx2(offsets: &[u32], indices: &[u32], rows: Range<usize>) -> u64 {
    use std::arch::x86_64::*;
    let (o, ids) = (offsets.as_ptr(), indices.as_ptr());
    let (lane, low) = (_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi64x(0xffff_ffff));
    let mut sums = _mm256_setzero_si256();
    let mut start = offsets[rows.start] as usize;
    for v in rows {
        // Of a row: a lane counts fewer than the 2^32 entries of the pattern.
        let mut hits = _mm256_setzero_si256();
        // SAFETY: `v` is a row; ids are rows; offsets ascend up to the number of indices; a masked load reads inside a row.
        unsafe {
            let end = *o.add(v + 1) as usize;
            let mut k = start + 1;
            while k < end && (*ids.add(k) as usize) < v {
                let (u, last) = (*ids.add(k) as usize, *ids.add(k - 1));
                let (mut at, stop) = (*o.add(u) as usize, *o.add(u + 1) as usize);
                while at < stop {
                    let inside = _mm256_cmpgt_epi32(_mm256_set1_epi32((stop - at).min(8) as i32), lane);
                    // What is outside is no id: all bits.
                    let x = _mm256_maskload_epi32(ids.add(at).cast(), inside);
                    let x = _mm256_or_si256(x, _mm256_xor_si256(inside, _mm256_set1_epi32(-1)));
                    for w in start..k {
                        hits = _mm256_sub_epi32(hits, _mm256_cmpeq_epi32(x, _mm256_set1_epi32(*ids.add(w) as i32)));
                    }
                    at += 8;
                    // Both ascend: what follows is above all that it is compared with.
                    if at >= stop || *ids.add(at) > last {
                        break;
                    }
                }
                k += 1;
            }
            start = end;
        }
        sums = _mm256_add_epi64(sums, _mm256_add_epi64(_mm256_and_si256(hits, low), _mm256_srli_epi64::<32>(hits)));
    }
    let mut lanes = [0u64; 4];
    // SAFETY: the array is a register long.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums) };
    lanes.iter().sum()
}
