//! Bitmaps read off marks: the vertices that are visited, and those of one level.
//!
//! # Invariants
//! Bits past the last vertex are those of `closed`, and zero in a level.
#![allow(unsafe_code)]

use crate::Isa;
use bitgraph_algorithms::UNREACHED;

/// Words of bitmaps, and the marks of the vertices that they stand for.
pub(super) struct Part<'a> {
    pub marks: &'a [u32],
    pub closed: &'a [u64],
    /// Set to the vertices that are marked or closed.
    pub visited: &'a mut [u64],
    /// Set to the vertices with this mark.
    pub level: (&'a mut [u64], u32),
}

/// Reads both bitmaps off the marks.
pub(super) fn read(part: Part<'_>, isa: Isa) {
    let words = part.visited.len();
    assert!(words == part.closed.len() && words == part.level.0.len() && part.marks.len().div_ceil(64) <= words);
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features.
        Isa::Avx512 => unsafe { avx512(part) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features.
        Isa::Avx2 => unsafe { avx2(part) },
        _ => read_with(part, |marks, mark| few(marks, mark)),
    }
}

/// The bits of up to 64 marks: which are not unreached, and which are `mark`.
#[inline(always)]
fn few(marks: &[u32], mark: u32) -> (u64, u64) {
    let bits = |is: &dyn Fn(u32) -> bool| marks.iter().enumerate().fold(0, |bits, (i, &m)| bits | u64::from(is(m)) << i);
    (bits(&|m| m != UNREACHED), bits(&|m| m == mark))
}

#[inline(always)]
fn read_with(part: Part<'_>, whole: impl Fn(&[u32; 64], u32) -> (u64, u64)) {
    let Part { marks, closed, visited, level: (level, mark) } = part;
    let (full, rest) = marks.as_chunks::<64>();
    for (i, (visited, level)) in visited.iter_mut().zip(level).enumerate() {
        let (seen, of_level) = match full.get(i) {
            Some(marks) => whole(marks, mark),
            None => few(if i == full.len() { rest } else { &[] }, mark),
        };
        (*visited, *level) = (closed[i] | seen, of_level);
    }
}

/// # Safety
/// The CPU has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn avx512(part: Part<'_>) {
    use std::arch::x86_64::{_mm512_cmpeq_epi32_mask, _mm512_cmpneq_epi32_mask, _mm512_loadu_si512, _mm512_set1_epi32};
    read_with(part, |marks, mark| {
        let (unreached, mark) = (_mm512_set1_epi32(UNREACHED as i32), _mm512_set1_epi32(mark as i32));
        let (mut seen, mut level) = (0, 0);
        for quarter in 0..4 {
            // SAFETY: a quarter of the marks.
            let found = unsafe { _mm512_loadu_si512(marks.as_ptr().add(16 * quarter).cast()) };
            seen |= u64::from(_mm512_cmpneq_epi32_mask(found, unreached)) << (16 * quarter);
            level |= u64::from(_mm512_cmpeq_epi32_mask(found, mark)) << (16 * quarter);
        }
        (seen, level)
    });
}

/// # Safety
/// The CPU has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn avx2(part: Part<'_>) {
    use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_movemask_ps, _mm256_set1_epi32};
    read_with(part, |marks, mark| {
        let (unreached, mark) = (_mm256_set1_epi32(UNREACHED as i32), _mm256_set1_epi32(mark as i32));
        let (mut unseen, mut level) = (0, 0);
        for eighth in 0..8 {
            // SAFETY: an eighth of the marks.
            let found = unsafe { _mm256_loadu_si256(marks.as_ptr().add(8 * eighth).cast()) };
            let bits = |with| (_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(found, with))) as u64) << (8 * eighth);
            unseen |= bits(unreached);
            level |= bits(mark);
        }
        (!unseen, level)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_reads_the_same() {
        for n in [0usize, 1, 63, 64, 65, 200, 1000] {
            let words = n.div_ceil(64) + 1;
            let marks: Vec<u32> = (0..n as u32).map(|v| if v % 3 == 0 { UNREACHED } else { v.wrapping_mul(2_654_435_761) >> 29 }).collect();
            let closed: Vec<u64> = (0..words as u64).map(|w| 1 << (w * 7 % 64)).collect();
            for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
                let (mut visited, mut level) = (vec![u64::MAX; words], vec![u64::MAX; words]);
                read(Part { marks: &marks, closed: &closed, visited: &mut visited, level: (&mut level, 2) }, isa);
                for v in 0..words * 64 {
                    let (bit, is) = (|bits: &[u64]| bits[v / 64] >> (v % 64) & 1 != 0, marks.get(v));
                    assert_eq!(bit(&visited), bit(&closed) || is.is_some_and(|&m| m != UNREACHED), "{isa:?}, {n}: {v}");
                    assert_eq!(bit(&level), is == Some(&2), "{isa:?}, {n}: {v}");
                }
            }
        }
    }
}
