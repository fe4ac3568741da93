//! The loops over bands: a plain one, and one for each vector instruction set.
//!
//! Invariant: the elements of a span are in `x`, and the rows of a band in `y` or past its end, by the invariants of [`Bands`].
#![allow(unsafe_code)]

use super::Real;
use super::bands::{Bands, SIDE};

/// See [`Bands::sum`].
pub(super) fn plain<T: Real>(bands: &Bands, x: &[T], y: &mut [T]) {
    let (mut spans, mut order) = (&bands.spans[..], bands.order.iter());
    for group in &bands.groups {
        for &band in order.by_ref().take(group.slices as usize) {
            let (own, rest) = spans.split_at(group.length as usize);
            spans = rest;
            let mut sums = [T::ZERO; SIDE];
            for span in own {
                let x: &[T; SIDE] = x[span.column as usize..].first_chunk().expect("a span lies inside the operand");
                for (r, sum) in sums.iter_mut().enumerate() {
                    let pick = (span.picks >> (4 * r)) as usize;
                    *sum = *sum + if pick & SIDE == 0 { T::ZERO } else { x[pick % SIDE] };
                }
            }
            for (slot, sum) in y[SIDE * band as usize..].iter_mut().zip(sums) {
                *slot = sum;
            }
        }
    }
}

/// The loop with four vectors of sums at once; `$picked` is the vector that a span adds.
#[cfg(target_arch = "x86_64")]
macro_rules! bands {
    ($(#[$doc:meta])* $name:ident: $t:ty, $features:literal, $zero:expr, $add:expr, $store:expr, $shifts:expr, $picked:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The CPU has the features; `x` is as long as [`Bands::sum`] demands, `y` has an element for each of the part's rows.
        #[target_feature(enable = $features)]
        pub(in crate::spmv) unsafe fn $name(bands: &Bands, x: &[$t], y: &mut [$t]) {
            let (rows, out, x) = (y.len(), y.as_mut_ptr(), x.as_ptr());
            let (mut span, mut order) = (bands.spans.as_ptr(), bands.order.as_ptr());
            let (zero, shifts) = ($zero, $shifts);
            for group in &bands.groups {
                let length = group.length as usize;
                for _ in 0..group.slices {
                    let mut sums = [zero; 4];
                    // SAFETY: the group has `length` spans per band, each inside `x`.
                    unsafe {
                        let rest = span.add(length / 4 * 4);
                        while span < rest {
                            for (k, sum) in sums.iter_mut().enumerate() {
                                *sum = $add(*sum, $picked(x, &*span.add(k), zero, shifts));
                            }
                            span = span.add(4);
                        }
                        // Not spread over the sums: those stay in registers only if none is chosen by a variable.
                        for _ in 0..length % 4 {
                            sums[0] = $add(sums[0], $picked(x, &*span, zero, shifts));
                            span = span.add(1);
                        }
                    }
                    let total = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
                    // SAFETY: `order` has an element per band; rows past the last one are cut.
                    unsafe {
                        let row = SIDE * *order as usize;
                        order = order.add(1);
                        if rows - row >= SIDE {
                            $store(out.add(row), total);
                        } else {
                            let mut cut = [0.0; SIDE];
                            $store(cut.as_mut_ptr(), total);
                            std::ptr::copy_nonoverlapping(cut.as_ptr(), out.add(row), rows - row);
                        }
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::spmv::bands::Span;
    use std::arch::x86_64::*;

    /// Row `r`'s nibble at the bottom of lane `r`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn nibbles() -> __m256i {
        _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28)
    }
    /// Picks 8 to 15 are elements of the second table, `x`; 0 is one of the first, zeros.
    ///
    /// # Safety
    /// The span is inside `x`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn picked_f32(x: *const f32, span: &Span, zero: __m256, shifts: __m256i) -> __m256 {
        let picks = _mm256_srlv_epi32(_mm256_set1_epi32(span.picks as i32), shifts);
        // SAFETY: by the contract.
        let x = unsafe { _mm256_loadu_ps(x.add(span.column as usize)) };
        _mm256_permutex2var_ps(zero, picks, x)
    }
    bands! {
        /// Single precision: a permutation of two tables.
        avx512_f32: f32, "avx512f,avx512vl", _mm256_setzero_ps(), _mm256_add_ps, _mm256_storeu_ps, nibbles(), picked_f32
    }
    /// As [`picked_f32`].
    ///
    /// # Safety
    /// The span is inside `x`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn picked_f64(x: *const f64, span: &Span, zero: __m512d, shifts: __m512i) -> __m512d {
        // SAFETY: a span is as long as the number, whose upper half are the picks.
        let both = unsafe { std::ptr::from_ref(span).cast::<i64>().read_unaligned() };
        let picks = _mm512_srlv_epi64(_mm512_set1_epi64(both), shifts);
        // SAFETY: by the contract.
        let x = unsafe { _mm512_loadu_pd(x.add(span.column as usize)) };
        _mm512_permutex2var_pd(zero, picks, x)
    }
    bands! {
        /// Double precision: the same in registers of twice the width.
        avx512_f64: f64, "avx512f,avx512vl", _mm512_setzero_pd(), _mm512_add_pd, _mm512_storeu_pd,
        _mm512_setr_epi64(32, 36, 40, 44, 48, 52, 56, 60), picked_f64
    }
    /// A permutation, and zeros where the upper bit of a pick is not set.
    ///
    /// # Safety
    /// The span is inside `x`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn picked_f32_avx2(x: *const f32, span: &Span, zero: __m256, shifts: __m256i) -> __m256 {
        let picks = _mm256_srlv_epi32(_mm256_set1_epi32(span.picks as i32), shifts);
        // SAFETY: by the contract.
        let x = unsafe { _mm256_loadu_ps(x.add(span.column as usize)) };
        let wanted = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(picks));
        _mm256_blendv_ps(zero, _mm256_permutevar8x32_ps(x, picks), wanted)
    }
    bands! {
        /// Single precision without AVX-512.
        avx2_f32: f32, "avx2", _mm256_setzero_ps(), _mm256_add_ps, _mm256_storeu_ps, nibbles(), picked_f32_avx2
    }

    /// Eight sums in double precision.
    type Halves = [__m256d; 2];
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_halves(a: Halves, b: Halves) -> Halves {
        [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])]
    }
    /// # Safety
    /// There is room for eight.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store_halves(to: *mut f64, sums: Halves) {
        // SAFETY: by the contract.
        unsafe {
            _mm256_storeu_pd(to, sums[0]);
            _mm256_storeu_pd(to.add(4), sums[1]);
        }
    }
    /// Element by element as two halves of 32 bits, from both halves of the span; the upper bits of a pick choose among these and
    /// zero.
    ///
    /// # Safety
    /// The span is inside `x`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn picked_f64_avx2(x: *const f64, span: &Span, zero: Halves, shifts: [__m256i; 2]) -> Halves {
        // SAFETY: by the contract.
        let (low, high) = unsafe { (_mm256_loadu_pd(x.add(span.column as usize)), _mm256_loadu_pd(x.add(span.column as usize + 4))) };
        let (low, high) = (_mm256_castpd_ps(low), _mm256_castpd_ps(high));
        let both = _mm256_set1_epi64x(span.picks.into());
        let upper = _mm256_set1_epi64x(1 << 32);
        let mut out = zero;
        for (out, shifts) in out.iter_mut().zip(shifts) {
            let picks = _mm256_srlv_epi64(both, shifts);
            let twice = _mm256_slli_epi64::<1>(picks);
            let halves = _mm256_or_si256(_mm256_blend_epi32::<0b1010_1010>(twice, _mm256_slli_epi64::<33>(picks)), upper);
            let low = _mm256_castps_pd(_mm256_permutevar8x32_ps(low, halves));
            let high = _mm256_castps_pd(_mm256_permutevar8x32_ps(high, halves));
            let all = _mm256_blendv_pd(low, high, _mm256_castsi256_pd(_mm256_slli_epi64::<61>(picks)));
            *out = _mm256_blendv_pd(*out, all, _mm256_castsi256_pd(_mm256_slli_epi64::<60>(picks)));
        }
        out
    }
    bands! {
        /// Double precision without AVX-512.
        avx2_f64: f64, "avx2", [_mm256_setzero_pd(); 2], add_halves, store_halves,
        [_mm256_setr_epi64x(0, 4, 8, 12), _mm256_setr_epi64x(16, 20, 24, 28)], picked_f64_avx2
    }
}
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{avx2_f32, avx2_f64, avx512_f32, avx512_f64};
