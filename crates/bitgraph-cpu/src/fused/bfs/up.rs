//! Bottom-up steps: every unvisited vertex looks for an arc from the level before.
//!
//! The heaviest neighbour, if the layout has it, is asked first, sixteen vertices at a time; then two neighbours one by one,
//! which on most graphs is enough; then sixteen at a time.
//!
//! # Invariants
//! `visited`, `next`, `heaviest` and `marks` are the part for the vertices from `first` on; `front` is whole and is not written.
//! Indices are below the number of vertices, for each of which `front` has a bit.

#![allow(unsafe_code)]

use super::search::Rows;
use crate::Level;

/// One step for the vertices from `first` on: sets `next` and `visited`, marks what it finds (with its parent if there is no
/// `mark`), and returns how many that were.
pub(super) fn pull(
    rows: Rows<'_>,
    heaviest: Option<&[u32]>,
    front: &[u64],
    first: usize,
    visited: &mut [u64],
    next: &mut [u64],
    marks: &mut [u32],
    mark: Option<u32>,
    level: Level,
) -> u64 {
    assert!(visited.len() == next.len() && marks.len() <= visited.len() * 64 && first + marks.len() < rows.0.len());
    assert!(heaviest.is_none_or(|h| h.len() == visited.len() * 64) && front.len() * 64 + 1 >= rows.0.len());
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the CPU has the features; the lengths agree, and the module's invariants hold.
        Level::Avx512 => unsafe { avx512::pull(rows, heaviest, front, first, visited, next, marks, mark) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that the CPU has the features.
        Level::Avx2 => unsafe { avx2(rows, heaviest, front, first, visited, next, marks, mark) },
        _ => portable(rows, heaviest, front, first, visited, next, marks, mark),
    }
}

#[inline(always)]
fn is_set(bits: &[u64], i: u32) -> bool {
    bits[i as usize >> 6] >> (i & 63) & 1 != 0
}

#[inline(always)]
fn portable(
    (offsets, indices): Rows<'_>,
    heaviest: Option<&[u32]>,
    front: &[u64],
    first: usize,
    visited: &mut [u64],
    next: &mut [u64],
    marks: &mut [u32],
    mark: Option<u32>,
) -> u64 {
    let mut count = 0;
    for i in 0..visited.len() {
        let mut open = !visited[i];
        let mut found = 0u64;
        while open != 0 {
            let bit = open.trailing_zeros() as usize;
            open &= open - 1;
            let local = i * 64 + bit;
            let v = first + local;
            // A vertex without incoming arcs is visited from the start, so a heaviest neighbour is one.
            let parent = match heaviest.map(|h| h[local]) {
                Some(u) if is_set(front, u) => Some(u),
                _ => indices[offsets[v] as usize..offsets[v + 1] as usize].iter().copied().find(|&u| is_set(front, u)),
            };
            if let Some(u) = parent {
                marks[local] = mark.unwrap_or(u);
                found |= 1 << bit;
            }
        }
        next[i] = found;
        visited[i] |= found;
        count += u64::from(found.count_ones());
    }
    count
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn avx2(
    rows: Rows<'_>,
    heaviest: Option<&[u32]>,
    front: &[u64],
    first: usize,
    visited: &mut [u64],
    next: &mut [u64],
    marks: &mut [u32],
    mark: Option<u32>,
) -> u64 {
    portable(rows, heaviest, front, first, visited, next, marks, mark)
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::Rows;
    use std::arch::x86_64::*;

    /// The lanes whose bit is set.
    ///
    /// # Safety
    /// The CPU has the features; the ids of lanes `inside` have bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn set(inside: __mmask16, ids: __m512i, bits: *const u64) -> __mmask16 {
        // SAFETY: by the contract; lanes outside read nothing.
        let words = unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, _mm512_srli_epi32::<5>(ids), bits.cast()) };
        _mm512_test_epi32_mask(words, _mm512_rolv_epi32(_mm512_set1_epi32(1), ids))
    }

    /// # Safety
    /// The CPU has the features; the lengths agree, and the module's invariants hold.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn pull(
        (offsets, indices): Rows<'_>,
        heaviest: Option<&[u32]>,
        front: &[u64],
        first: usize,
        visited: &mut [u64],
        next: &mut [u64],
        marks: &mut [u32],
        mark: Option<u32>,
    ) -> u64 {
        let (o, ids, bits, m) = (offsets.as_ptr(), indices.as_ptr(), front.as_ptr(), marks.as_mut_ptr());
        let parents = mark.is_none();
        let value = mark.unwrap_or(0);
        let mut count = 0;
        for i in 0..visited.len() {
            let mut open = !visited[i];
            if open == 0 {
                next[i] = 0;
                continue;
            }
            let mut found = 0u64;
            // SAFETY: unvisited bits are vertices of this part, which have rows and marks; ids have bits in `front`; masked
            // lanes are not touched.
            unsafe {
                if let Some(heaviest) = heaviest {
                    for part in 0..4 {
                        let inside = (open >> (16 * part)) as u16;
                        if inside == 0 {
                            continue;
                        }
                        let at = i * 64 + 16 * part;
                        let x = _mm512_maskz_loadu_epi32(inside, heaviest.as_ptr().add(at).cast());
                        let hit = set(inside, x, bits);
                        let values = if parents { x } else { _mm512_set1_epi32(value as i32) };
                        _mm512_mask_storeu_epi32(m.add(at).cast(), hit, values);
                        found |= u64::from(hit) << (16 * part);
                    }
                    open &= !found;
                }
                while open != 0 {
                    let bit = open.trailing_zeros() as usize;
                    open &= open - 1;
                    let local = i * 64 + bit;
                    let v = first + local;
                    let (mut k, stop) = (*o.add(v) as usize, *o.add(v + 1) as usize);
                    let mut probes = 2;
                    let parent = loop {
                        if k == stop {
                            break None;
                        }
                        if probes > 0 {
                            probes -= 1;
                            let u = *ids.add(k);
                            if *bits.add(u as usize >> 6) >> (u & 63) & 1 != 0 {
                                break Some(u);
                            }
                            k += 1;
                            continue;
                        }
                        let left = stop - k;
                        let inside = if left >= 16 { !0 } else { (1 << left) - 1 };
                        let x = _mm512_maskz_loadu_epi32(inside, ids.add(k).cast());
                        let hit = set(inside, x, bits);
                        if hit != 0 {
                            break Some(*ids.add(k + hit.trailing_zeros() as usize));
                        }
                        k += left.min(16);
                    };
                    if let Some(u) = parent {
                        *m.add(local) = if parents { u } else { value };
                        found |= 1 << bit;
                    }
                }
            }
            next[i] = found;
            visited[i] |= found;
            count += u64::from(found.count_ones());
        }
        count
    }
}
