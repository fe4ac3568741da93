//! A set of vertices as 256 bits in one register, which eight ids at a time are sent through; and what passed, one id close behind the other.
//!
//! AVX2 has no instruction that picks among more than eight words, none that stores some lanes next to each other: a fourth of the filter of
//! AVX-512, and a table in place of a compression.
//!
//! Invariant: an element of the set always passes; others pass as often as their bit is set.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// For every choice of eight lanes, the numbers of those lanes in order, a byte each.
static CHOSEN: [u64; 256] = {
    let mut table = [0; 256];
    let mut choice = 0;
    while choice < 256 {
        let (mut lane, mut place) = (0, 0);
        while lane < 8 {
            if choice >> lane & 1 == 1 {
                table[choice] |= lane << (8 * place);
                place += 1;
            }
            lane += 1;
        }
        choice += 1;
    }
    table
};

/// The lanes of `k` ids, at most all eight.
#[inline(always)]
pub(super) fn lanes(k: usize) -> u32 {
    (1 << k.min(8)) - 1
}

/// Writes the chosen lanes of `x` close behind each other and returns how many they are.
///
/// # Safety
/// The CPU has AVX2; eight elements can be written at `out`; `choice` is below 256.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn collect(out: *mut u32, x: __m256i, choice: u32) -> usize {
    // SAFETY: the table has an entry for each choice of eight lanes; the caller's `out` has room.
    unsafe {
        let order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(*CHOSEN.get_unchecked(choice as usize) as i64));
        _mm256_storeu_si256(out.cast(), _mm256_permutevar8x32_epi32(x, order));
    }
    choice.count_ones() as usize
}

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
    fn elements_of_a_set_pass_and_are_collected_in_order() {
        if crate::Isa::detect() < crate::Isa::Avx2 {
            println!("skipped: the processor has no AVX2");
            return;
        }
        let set: Vec<u32> = (0..20).map(|k| k * 1_000_003 % 70_000).collect();
        let ids: Vec<u32> = (0..70_000).collect();
        let (mut passed, mut length) = (vec![0; ids.len() + 8], 0);
        for eight in ids.chunks_exact(8) {
            // SAFETY: the CPU has AVX2; there is room for all ids and eight more.
            unsafe {
                let x = _mm256_loadu_si256(eight.as_ptr().cast());
                length += collect(passed.as_mut_ptr().add(length), x, Filter::of(&set).passes(x) & lanes(9));
            }
        }
        let bits: std::collections::BTreeSet<u32> = set.iter().map(|x| x % 256).collect();
        let wanted: Vec<u32> = ids.into_iter().filter(|x| bits.contains(&(x % 256))).collect();
        assert_eq!(passed[..length], wanted);
        assert_eq!([0, 1, 7, 8, 99].map(lanes), [0, 1, 127, 255, 255]);
    }
}
