//! Rows of 512 bits: in memory, and in the registers of each instruction set.
//!
//! Invariant: every form of [`Bits`] gives the same results as [`Row`], the plain one.

#![allow(unsafe_code)]

/// 512 bits of one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Row(pub [u64; 8]);

impl Row {
    /// The first `count` bits.
    pub fn first(count: usize) -> Self {
        Self(std::array::from_fn(|k| !(!0u64).checked_shl(count.saturating_sub(64 * k) as u32).unwrap_or(0)))
    }
}

/// 512 bits in registers.
///
/// # Safety
/// Of all methods: the CPU has the form's instructions.
pub(super) trait Bits: Copy {
    unsafe fn load(row: &Row) -> Self;
    unsafe fn row(self) -> Row;
    /// Writes past the caches where the CPU can.
    ///
    /// # Safety
    /// `to` is valid for writes.
    unsafe fn stream(self, to: *mut Row);
    unsafe fn is_zero(self) -> bool;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// The bits of `self` that are not in `other`.
    unsafe fn and_not(self, other: Self) -> Self;
    /// All bits if `keep`, else none.
    unsafe fn if_set(self, keep: bool) -> Self;
    /// Adds three bits at every position: the sums, and the carries.
    #[inline(always)]
    unsafe fn full_add(self, b: Self, c: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let half = self.xor(b);
            (half.xor(c), self.and(b).or(half.and(c)))
        }
    }
}

impl Bits for Row {
    #[inline(always)]
    unsafe fn load(row: &Row) -> Self {
        *row
    }
    #[inline(always)]
    unsafe fn row(self) -> Row {
        self
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut Row) {
        // SAFETY: the trait's contract.
        unsafe { to.write(self) };
    }
    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        self.0.iter().fold(0, |a, b| a | b) == 0
    }
    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] ^ other.0[k]))
    }
    #[inline(always)]
    unsafe fn and_not(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] & !other.0[k]))
    }
    #[inline(always)]
    unsafe fn if_set(self, keep: bool) -> Self {
        let mask = u64::from(keep).wrapping_neg();
        Self(self.0.map(|word| word & mask))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::{Bits, Row};
    use std::arch::x86_64::*;

    /// Two registers of AVX2.
    #[derive(Clone, Copy)]
    pub struct Avx2(__m256i, __m256i);

    impl Bits for Avx2 {
        #[inline(always)]
        unsafe fn load(row: &Row) -> Self {
            let at: *const __m256i = row.0.as_ptr().cast();
            // SAFETY: the trait's contract; a row is two aligned vectors.
            unsafe { Self(_mm256_load_si256(at), _mm256_load_si256(at.add(1))) }
        }
        #[inline(always)]
        unsafe fn row(self) -> Row {
            let mut row = Row::default();
            let to: *mut __m256i = row.0.as_mut_ptr().cast();
            // SAFETY: as above.
            unsafe {
                _mm256_store_si256(to, self.0);
                _mm256_store_si256(to.add(1), self.1);
            }
            row
        }
        #[inline(always)]
        unsafe fn stream(self, to: *mut Row) {
            let to: *mut __m256i = to.cast();
            // SAFETY: as above.
            unsafe {
                _mm256_stream_si256(to, self.0);
                _mm256_stream_si256(to.add(1), self.1);
            }
        }
        #[inline(always)]
        unsafe fn is_zero(self) -> bool {
            // SAFETY: the trait's contract.
            unsafe {
                let any = _mm256_or_si256(self.0, self.1);
                _mm256_testz_si256(any, any) == 1
            }
        }
        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm256_or_si256(self.0, other.0), _mm256_or_si256(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn and(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm256_and_si256(self.0, other.0), _mm256_and_si256(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm256_xor_si256(self.0, other.0), _mm256_xor_si256(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn and_not(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm256_andnot_si256(other.0, self.0), _mm256_andnot_si256(other.1, self.1)) }
        }
        #[inline(always)]
        unsafe fn if_set(self, keep: bool) -> Self {
            // SAFETY: the trait's contract.
            unsafe {
                let mask = _mm256_set1_epi64x(-i64::from(keep));
                self.and(Self(mask, mask))
            }
        }
    }

    /// One register of AVX-512.
    #[derive(Clone, Copy)]
    pub struct Avx512(__m512i);

    impl Bits for Avx512 {
        #[inline(always)]
        unsafe fn load(row: &Row) -> Self {
            // SAFETY: the trait's contract; a row is one aligned vector.
            unsafe { Self(_mm512_load_si512(row.0.as_ptr().cast())) }
        }
        #[inline(always)]
        unsafe fn row(self) -> Row {
            let mut row = Row::default();
            // SAFETY: as above.
            unsafe { _mm512_store_si512(row.0.as_mut_ptr().cast(), self.0) };
            row
        }
        #[inline(always)]
        unsafe fn stream(self, to: *mut Row) {
            // SAFETY: as above.
            unsafe { _mm512_stream_si512(to.cast(), self.0) };
        }
        #[inline(always)]
        unsafe fn is_zero(self) -> bool {
            // SAFETY: the trait's contract.
            unsafe { _mm512_test_epi64_mask(self.0, self.0) == 0 }
        }
        #[inline(always)]
        unsafe fn or(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm512_or_si512(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn and(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm512_and_si512(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm512_xor_si512(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn and_not(self, other: Self) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm512_andnot_si512(other.0, self.0)) }
        }
        #[inline(always)]
        unsafe fn if_set(self, keep: bool) -> Self {
            // SAFETY: the trait's contract.
            unsafe { Self(_mm512_maskz_mov_epi64(u8::from(keep).wrapping_neg(), self.0)) }
        }
        #[inline(always)]
        unsafe fn full_add(self, b: Self, c: Self) -> (Self, Self) {
            // SAFETY: the trait's contract. The constants are the truth tables of parity and majority.
            unsafe {
                (Self(_mm512_ternarylogic_epi64::<0x96>(self.0, b.0, c.0)), Self(_mm512_ternarylogic_epi64::<0xe8>(self.0, b.0, c.0)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bits() {
        for count in [0, 1, 63, 64, 65, 511, 512] {
            let row = Row::first(count);
            assert!((0..512).all(|k| (row.0[k / 64] >> (k % 64) & 1 == 1) == (k < count)), "{count}");
        }
    }
}
