//! Vectors of words: bit-sliced addition, and counting ones lane by lane.
//!
//! Invariant: a part of a vector is read and written without touching a word beyond it; words that are not read are zero.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Counters have at most as many planes: counts fit 32 bits.
pub const MOST_PLANES: usize = 32;

/// A vector of words of 32 bits.
///
/// # Safety of the functions
/// The CPU has the vector's instruction set; pointers have `count` words, of at most [`Words::LEN`].
pub trait Words: Copy {
    /// Words of a vector.
    const LEN: usize;

    /// Zeros.
    ///
    /// # Safety
    /// See the trait: so for every function here.
    unsafe fn zero() -> Self;
    /// A word everywhere.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn splat(word: u32) -> Self;
    /// Reads the first `count` words; all of them if `WHOLE`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn load<const WHOLE: bool>(from: *const u32, count: usize) -> Self;
    /// Writes the first `count` words.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn store(self, to: *mut u32, count: usize);
    /// Writes all words, past the caches where the vector can and a line begins at `to`: for what is not read again soon. Such stores are
    /// ordered before others by a fence alone.
    ///
    /// # Safety
    /// See the trait.
    #[inline(always)]
    unsafe fn stream(self, to: *mut u32) {
        // SAFETY: by the contract.
        unsafe { self.store(to, Self::LEN) }
    }
    /// `self & x`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn and(self, x: Self) -> Self;
    /// `self | x`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn or(self, x: Self) -> Self;
    /// `self ^ x`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn xor(self, x: Self) -> Self;
    /// The full adder: `sum` becomes the lower bits of the sum of three, the upper ones are returned.
    ///
    /// # Safety
    /// See the trait.
    #[inline(always)]
    unsafe fn carry(sum: &mut Self, b: Self, c: Self) -> Self {
        // SAFETY: by the contract.
        unsafe {
            let (a, differ) = (*sum, sum.xor(b));
            *sum = differ.xor(c);
            a.and(b).or(differ.and(c))
        }
    }
    /// Adds to every lane of 32 bits the number of ones of `x` there.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn add_ones(self, x: Self) -> Self;
    /// Counters, bit-sliced in planes of `words` words, to numbers: element `32 w + b` of `to` is the number at bit `b` of word `w`.
    ///
    /// # Safety
    /// See the trait; `to` has `32 * words` elements.
    #[inline(always)]
    unsafe fn numbers(planes: &[Self], words: usize, to: *mut i32) {
        let mut all = [0u32; MOST_PLANES * 16];
        for (plane, all) in planes.iter().zip(all.chunks_exact_mut(16)) {
            // SAFETY: a chunk has as many words as the widest vector.
            unsafe { plane.store(all.as_mut_ptr(), words) };
        }
        for w in 0..words {
            // SAFETY: by the contract.
            let to = unsafe { std::slice::from_raw_parts_mut(to.add(32 * w), 32) };
            to.fill(0);
            for k in 0..planes.len() {
                let word = all[16 * k + w];
                for (b, number) in to.iter_mut().enumerate() {
                    *number += ((word >> b & 1) << k) as i32;
                }
            }
        }
    }
    /// As [`Words::numbers`], each number `n` as `2 n - messages` of 16 bits; only the first `columns`. Whether it was done: a vector
    /// may have no form of it.
    ///
    /// # Safety
    /// See the trait; `to` has `columns` elements, and `messages` is below 2^15.
    #[inline(always)]
    unsafe fn differences(planes: &[Self], messages: usize, columns: usize, to: *mut i16) -> bool {
        let _ = (planes, messages, columns, to);
        false
    }
}

/// The portable vector.
pub type Plain = [u32; 8];

impl Words for Plain {
    const LEN: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        [0; 8]
    }
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        [word; 8]
    }
    #[inline(always)]
    unsafe fn load<const WHOLE: bool>(from: *const u32, count: usize) -> Self {
        let mut words = [0; 8];
        // SAFETY: by the contract.
        words[..count].copy_from_slice(unsafe { std::slice::from_raw_parts(from, count) });
        words
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, count: usize) {
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts_mut(to, count) }.copy_from_slice(&self[..count]);
    }
    #[inline(always)]
    unsafe fn and(self, x: Self) -> Self {
        std::array::from_fn(|k| self[k] & x[k])
    }
    #[inline(always)]
    unsafe fn or(self, x: Self) -> Self {
        std::array::from_fn(|k| self[k] | x[k])
    }
    #[inline(always)]
    unsafe fn xor(self, x: Self) -> Self {
        std::array::from_fn(|k| self[k] ^ x[k])
    }
    #[inline(always)]
    unsafe fn add_ones(self, x: Self) -> Self {
        std::array::from_fn(|k| self[k] + x[k].count_ones())
    }
}

/// Eight words in a register of AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Ymm(__m256i);

#[cfg(target_arch = "x86_64")]
impl Ymm {
    /// All bits of the first `count` lanes.
    #[inline(always)]
    unsafe fn mask(count: usize) -> __m256i {
        const MASK: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: eight numbers from `8 - count` on are within the array; the instruction set is by the contract.
        unsafe { _mm256_loadu_si256(MASK.as_ptr().add(8 - count).cast()) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for Ymm {
    const LEN: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: by the contract, here and below.
        unsafe { Self(_mm256_setzero_si256()) }
    }
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_set1_epi32(word.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn load<const WHOLE: bool>(from: *const u32, count: usize) -> Self {
        // SAFETY: as above; lanes that are masked out are not read.
        unsafe { Self(if WHOLE { _mm256_loadu_si256(from.cast()) } else { _mm256_maskload_epi32(from.cast(), Self::mask(count)) }) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, count: usize) {
        // SAFETY: as above; lanes that are masked out are not written.
        unsafe { _mm256_maskstore_epi32(to.cast(), Self::mask(count), self.0) }
    }
    #[inline(always)]
    unsafe fn and(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_and_si256(self.0, x.0)) }
    }
    #[inline(always)]
    unsafe fn or(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_or_si256(self.0, x.0)) }
    }
    #[inline(always)]
    unsafe fn xor(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_xor_si256(self.0, x.0)) }
    }
    #[inline(always)]
    unsafe fn add_ones(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe {
            // The ones of a nibble, by a table; pairs of bytes and of their sums are added up.
            let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
            let low = _mm256_set1_epi8(15);
            let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(x.0, low));
            let upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(x.0), low));
            let pairs = _mm256_maddubs_epi16(_mm256_add_epi8(lower, upper), _mm256_set1_epi8(1));
            Self(_mm256_add_epi32(self.0, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))))
        }
    }
}

/// Sixteen words in a register of AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Zmm(__m512i);

#[cfg(target_arch = "x86_64")]
impl Zmm {
    #[inline(always)]
    fn mask(count: usize) -> u16 {
        ((1u32 << count) - 1) as u16
    }
    /// Planes one after the other, 16 words each.
    #[inline(always)]
    unsafe fn stored(planes: &[Self]) -> [u32; 16 * 16] {
        let mut all = [0u32; 16 * 16];
        for (plane, all) in planes.iter().zip(all.as_chunks_mut::<16>().0) {
            // SAFETY: by the contract; a chunk has 16 words.
            unsafe { _mm512_storeu_si512(all.as_mut_ptr().cast(), plane.0) };
        }
        all
    }
    /// The 32 numbers of 16 bits of word `w`: `start` plus, for each of so many planes `k`, `2^(k + shift)` where its bit is 1.
    #[inline(always)]
    unsafe fn sixteens(all: &[u32; 16 * 16], planes: usize, w: usize, start: __m512i, shift: u32) -> __m512i {
        let mut numbers = start;
        for k in 0..planes.min(16) {
            // SAFETY: by the contract.
            unsafe {
                let weight = _mm512_set1_epi16((1u16 << (k as u32 + shift)).cast_signed());
                numbers = _mm512_mask_add_epi16(numbers, all[16 * k + w], numbers, weight);
            }
        }
        numbers
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for Zmm {
    const LEN: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: by the contract, here and below.
        unsafe { Self(_mm512_setzero_si512()) }
    }
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_set1_epi32(word.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn load<const WHOLE: bool>(from: *const u32, count: usize) -> Self {
        // SAFETY: as above; lanes that are masked out are not read.
        unsafe { Self(if WHOLE { _mm512_loadu_si512(from.cast()) } else { _mm512_maskz_loadu_epi32(Self::mask(count), from.cast()) }) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, count: usize) {
        // SAFETY: as above; lanes that are masked out are not written.
        unsafe { _mm512_mask_storeu_epi32(to.cast(), Self::mask(count), self.0) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut u32) {
        // SAFETY: as above.
        unsafe {
            if (to as usize).is_multiple_of(64) {
                _mm512_stream_si512(to.cast(), self.0);
            } else {
                _mm512_storeu_si512(to.cast(), self.0);
            }
        }
    }
    #[inline(always)]
    unsafe fn and(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_and_si512(self.0, x.0)) }
    }
    #[inline(always)]
    unsafe fn or(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_or_si512(self.0, x.0)) }
    }
    #[inline(always)]
    unsafe fn xor(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_xor_si512(self.0, x.0)) }
    }
    #[inline(always)]
    unsafe fn carry(sum: &mut Self, b: Self, c: Self) -> Self {
        // SAFETY: as above. 0x96 is the exclusive or of three bits, 0xe8 their majority.
        unsafe {
            let a = sum.0;
            *sum = Self(_mm512_ternarylogic_epi32::<0x96>(a, b.0, c.0));
            Self(_mm512_ternarylogic_epi32::<0xe8>(a, b.0, c.0))
        }
    }
    #[inline(always)]
    unsafe fn add_ones(self, x: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_add_epi32(self.0, _mm512_popcnt_epi32(x.0))) }
    }
    #[inline(always)]
    unsafe fn numbers(planes: &[Self], words: usize, to: *mut i32) {
        let (lower, upper) = planes.split_at(planes.len().min(16));
        // SAFETY: as above.
        unsafe {
            let (low, zero) = (Self::stored(lower), _mm512_setzero_si512());
            for w in 0..words {
                let (numbers, to) = (Self::sixteens(&low, lower.len(), w, zero, 0), to.add(32 * w));
                _mm512_storeu_si512(to.cast(), _mm512_cvtepu16_epi32(_mm512_castsi512_si256(numbers)));
                _mm512_storeu_si512(to.add(16).cast(), _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(numbers)));
            }
            if upper.is_empty() {
                return;
            }
            let high = Self::stored(upper);
            for w in 0..words {
                let numbers = Self::sixteens(&high, upper.len(), w, zero, 0);
                for (k, high) in [_mm512_castsi512_si256(numbers), _mm512_extracti64x4_epi64::<1>(numbers)].into_iter().enumerate() {
                    let to = to.add(32 * w + 16 * k);
                    let low = _mm512_loadu_si512(to.cast());
                    _mm512_storeu_si512(to.cast(), _mm512_or_si512(low, _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(high))));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn differences(planes: &[Self], messages: usize, columns: usize, to: *mut i16) -> bool {
        // Whole cache lines that are written once go past the caches.
        let streams = (to as usize).is_multiple_of(64) && columns.is_multiple_of(32);
        // SAFETY: as above; the last word's numbers are written as far as there are columns.
        unsafe {
            let (all, start) = (Self::stored(planes), _mm512_set1_epi16(-(messages as i16)));
            for w in 0..columns.div_ceil(32) {
                let (numbers, to) = (Self::sixteens(&all, planes.len(), w, start, 1), to.add(32 * w));
                if streams {
                    _mm512_stream_si512(to.cast(), numbers);
                } else {
                    let left = (columns - 32 * w).min(32);
                    _mm512_mask_storeu_epi16(to, ((1u64 << left) - 1) as u32, numbers);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of every pattern.
    fn words(seed: u32) -> [u32; 16] {
        std::array::from_fn(|k| (seed + k as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(seed % 31))
    }

    /// # Safety
    /// The CPU has the vector's instruction set.
    unsafe fn holds<V: Words>() {
        // SAFETY: arrays have 16 words, as many as the widest vector.
        unsafe {
            for count in 0..=V::LEN {
                let (a, b, c) = (words(1), words(2), words(3));
                let load = |x: &[u32; 16]| V::load::<false>(x.as_ptr(), count);
                let mut sum = load(&a);
                let carry = V::carry(&mut sum, load(&b), load(&c));
                let (mut low, mut high, mut ones) = ([7u32; 16], [7u32; 16], [7u32; 16]);
                sum.store(low.as_mut_ptr(), count);
                carry.store(high.as_mut_ptr(), count);
                V::splat(5).add_ones(load(&a)).store(ones.as_mut_ptr(), count);
                for k in 0..16 {
                    let wanted = if k < count {
                        let majority = a[k] & b[k] | a[k] & c[k] | b[k] & c[k];
                        (a[k] ^ b[k] ^ c[k], majority, 5 + a[k].count_ones())
                    } else {
                        (7, 7, 7)
                    };
                    assert_eq!((low[k], high[k], ones[k]), wanted, "word {k} of {count}");
                }
                for planes in [0, 1, 3, 15, 17, 20] {
                    let slices: Vec<[u32; 16]> = (0..planes).map(words).collect();
                    let vectors: Vec<V> = slices.iter().map(load).collect();
                    let number = |i: usize| slices.iter().enumerate().map(|(k, s)| ((s[i / 32] >> (i % 32) & 1) << k) as i32).sum::<i32>();
                    let mut found = vec![-1; 32 * 16];
                    V::numbers(&vectors, count, found.as_mut_ptr());
                    for (i, &found) in found.iter().enumerate() {
                        assert_eq!(found, if i < 32 * count { number(i) } else { -1 }, "{planes} planes, number {i}");
                    }
                    for columns in [32 * count, (32 * count).saturating_sub(5)] {
                        let mut halves = vec![77i16; 32 * 16];
                        if planes < 15 && V::differences(&vectors, 1000, columns, halves.as_mut_ptr()) {
                            for (i, &half) in halves.iter().enumerate() {
                                assert_eq!(
                                    i32::from(half),
                                    if i < columns { 2 * number(i) - 1000 } else { 77 },
                                    "{planes} planes, number {i}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_vector_counts() {
        // SAFETY: the portable vector needs nothing; the others run where the CPU has their features.
        unsafe {
            holds::<Plain>();
            #[cfg(target_arch = "x86_64")]
            {
                let isa = crate::Isa::detect();
                if isa >= crate::Isa::Avx2 {
                    holds::<Ymm>();
                }
                if isa >= crate::Isa::Avx512 {
                    holds::<Zmm>();
                }
            }
        }
    }
}
