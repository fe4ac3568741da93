//! A set of vertices as 256 bits in one register, which eight ids at a time are sent through.
//!
//! AVX2 has no instruction that picks among more than eight words: this is a fourth of the filter of AVX-512.
//!
//! Invariant: an element of the set always passes; others pass as often as their bit is set.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// The bits of a set.
#[derive(Clone, Copy)]
pub(super) struct Filter(__m256i);

impl Filter {
    /// The set of these ids.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn of(ids: &[u32]) -> Self {
        // Neighbouring ids are in different words: a word that has just been written can be changed only after a wait.
        let mut words = [0u32; 8];
        for &x in ids {
            words[(x & 7) as usize] |= 1 << (!x >> 3 & 31);
        }
        // SAFETY: the words are a register long.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }
    /// The lanes of ids that pass.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn passes(self, ids: __m256i) -> u32 {
        // A permutation looks at the three lowest bits alone; a shift brings the bit of the next five to the sign.
        let word = _mm256_permutevar8x32_epi32(self.0, ids);
        let place = _mm256_and_si256(_mm256_srli_epi32::<3>(ids), _mm256_set1_epi32(31));
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(word, place))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_a_set_pass() {
        if crate::Isa::detect() < crate::Isa::Avx2 {
            println!("skipped: the processor has no AVX2");
            return;
        }
        let set: Vec<u32> = (0..20).map(|k| k * 1_000_003 % 70_000).collect();
        let bits: std::collections::BTreeSet<u32> = set.iter().map(|x| x % 256).collect();
        let ids: Vec<u32> = (0..70_000).collect();
        for eight in ids.chunks_exact(8) {
            // SAFETY: the CPU has AVX2; a register is read from eight ids.
            let passes = unsafe { Filter::of(&set).passes(_mm256_loadu_si256(eight.as_ptr().cast())) };
            let wanted = eight.iter().enumerate().map(|(lane, x)| u32::from(bits.contains(&(x % 256))) << lane).sum::<u32>();
            assert_eq!(passes, wanted, "{eight:?}");
        }
    }
}
