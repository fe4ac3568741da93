//! Some of eight lanes written next to each other: what AVX-512 has an instruction for, and AVX2 a permutation by a table.
//!
//! Invariant: the table has every choice of eight lanes.

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
pub(crate) fn lanes(k: usize) -> u32 {
    (1 << k.min(8)) - 1
}

/// Writes the chosen lanes of `x` close behind each other and returns how many they are.
///
/// # Safety
/// The CPU has AVX2; eight elements can be written at `out`; `choice` is below 256.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(crate) unsafe fn collect(out: *mut u32, x: __m256i, choice: u32) -> usize {
    // SAFETY: the table has an entry for each choice of eight lanes; the caller's `out` has room.
    unsafe {
        let order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(*CHOSEN.get_unchecked(choice as usize) as i64));
        _mm256_storeu_si256(out.cast(), _mm256_permutevar8x32_epi32(x, order));
    }
    choice.count_ones() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_lanes_are_written_in_order() {
        if crate::Isa::detect() < crate::Isa::Avx2 {
            println!("skipped: the processor has no AVX2");
            return;
        }
        for choice in 0..256 {
            let mut out = [99; 8];
            // SAFETY: the CPU has AVX2; there is room for eight.
            let length = unsafe { collect(out.as_mut_ptr(), _mm256_setr_epi32(10, 11, 12, 13, 14, 15, 16, 17), choice) };
            let wanted: Vec<u32> = (0..8).filter(|lane| choice >> lane & 1 == 1).map(|lane| 10 + lane).collect();
            assert_eq!(out[..length], wanted, "{choice}");
        }
        assert_eq!([0, 1, 7, 8, 99].map(lanes), [0, 1, 127, 255, 255]);
    }
}
