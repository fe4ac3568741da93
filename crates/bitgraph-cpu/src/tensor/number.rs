//! The types that the fast kernels compute in, and rows of any element type read as and written from them.
//!
//! Invariant: a conversion rounds to nearest, ties to even, on every instruction set; a NaN stays one.

use crate::Isa;
use bitgraph_semiring::Scalar;
use bitgraph_tensor::Real;
use half::{bf16, f16};

macro_rules! every {
    ($($t:ident)*) => {
        /// What sums are formed in: `f32`, `f64`, `i32`.
        pub trait Sum: Scalar $( + Reading<$t> + Writing<$t> )* {}
    };
}
every!(f16 bf16 f32 f64 i8 u8 i16 i32);
impl Sum for f32 {}
impl Sum for f64 {}
impl Sum for i32 {}

/// What epilogues and everything else are computed in: `f32`, `f64`.
pub trait Number: Sum + Reading<Self> + Real + bitgraph_semiring::num_traits::Float + bitgraph_semiring::num_traits::NumAssign {
    /// The exponential, in a form that loops over it are vectorised; within 2 units in the last place. A NaN gives a NaN.
    fn exponential(self) -> Self;
}
impl Number for f32 {
    #[inline(always)]
    fn exponential(self) -> Self {
        // 2^n exp(r) with r within half of ln 2, whose lower bits are subtracted apart.
        let x = if self < -104.0 { -104.0 } else { self };
        let x = if x > 89.0 { 89.0 } else { x };
        let n = (x * std::f32::consts::LOG2_E).round_ties_even();
        let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
        // The Taylor polynomial of order 7: its first missing term is below 2^-27 of the value.
        let mut p = 1.0 / 5040.0;
        for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = p * r + c;
        }
        // Two factors, so that results below the normal numbers are rounded once. A NaN as a whole number is 0.
        let half = (n as i32) >> 1;
        let power = |n: i32| Self::from_bits(((n + 127) as u32) << 23);
        p * power(half) * power(n as i32 - half)
    }
}
impl Number for f64 {
    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
}

/// Elements of type `T` read as this type.
pub trait Reading<T>: Sized {
    /// Reads as many elements as both have.
    fn read(isa: Isa, from: &[T], to: &mut [Self]);
}
/// Numbers of this type written as elements of type `U`, rounded and saturated.
pub trait Writing<U>: Sized {
    /// Writes as many elements as both have.
    fn write(isa: Isa, from: &[Self], to: &mut [U]);
}

macro_rules! plain {
    ($($from:ident => $to:ident;)*) => { $(
        impl Reading<$from> for $to {
            #[inline(always)]
            fn read(_: Isa, from: &[$from], to: &mut [Self]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.cast();
                }
            }
        }
    )* };
    (writing $($from:ident => $to:ident;)*) => { $(
        impl Writing<$to> for $from {
            #[inline(always)]
            fn write(_: Isa, from: &[Self], to: &mut [$to]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.cast();
                }
            }
        }
    )* };
}
plain! {
    f32 => f32; f64 => f32; i8 => f32; u8 => f32; i16 => f32; i32 => f32;
    f16 => f64; bf16 => f64; f32 => f64; f64 => f64; i8 => f64; u8 => f64; i16 => f64; i32 => f64;
    f16 => i32; bf16 => i32; f32 => i32; f64 => i32; i8 => i32; u8 => i32; i16 => i32; i32 => i32;
}
plain! { writing
    f32 => f32; f32 => f64;
    f64 => f16; f64 => bf16; f64 => f32; f64 => f64;
    i32 => f16; i32 => bf16; i32 => f32; i32 => f64; i32 => i8; i32 => u8; i32 => i16; i32 => i32;
}

macro_rules! rounded {
    ($($from:ident => $($to:ident)*;)*) => { $( $(
        impl Writing<$to> for $from {
            #[inline(always)]
            fn write(_: Isa, from: &[Self], to: &mut [$to]) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.round_ties_even() as $to;
                }
            }
        }
    )* )* };
}
rounded! {
    f32 => i8 u8 i16 i32;
    f64 => i8 u8 i16 i32;
}

impl Reading<bf16> for f32 {
    #[inline(always)]
    fn read(_: Isa, from: &[bf16], to: &mut [Self]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = Self::from_bits(u32::from(from.to_bits()) << 16);
        }
    }
}
impl Writing<bf16> for f32 {
    #[inline(always)]
    fn write(_: Isa, from: &[Self], to: &mut [bf16]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = bf16::from_bits(bf16_bits(*from));
        }
    }
}

/// The nearest `bf16`: the upper half, after adding just under half of its last place, and that place, so that ties go to even.
#[inline(always)]
fn bf16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN is made quiet, so that cutting its lower half off leaves no infinity.
    (if x.is_nan() { bits >> 16 | 0x40 } else { rounded }) as u16
}

impl Reading<f16> for f32 {
    #[inline(always)]
    fn read(isa: Isa, from: &[f16], to: &mut [Self]) {
        #[cfg(target_arch = "x86_64")]
        if isa >= Isa::Avx2 {
            // SAFETY: this instruction set is in force only where the CPU has its features.
            #[allow(unsafe_code)]
            return unsafe { x86::read_f16(from, to) };
        }
        let _ = isa;
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.to_f32_const();
        }
    }
}
impl Writing<f16> for f32 {
    #[inline(always)]
    fn write(isa: Isa, from: &[Self], to: &mut [f16]) {
        #[cfg(target_arch = "x86_64")]
        if isa >= Isa::Avx2 {
            // SAFETY: this instruction set is in force only where the CPU has its features.
            #[allow(unsafe_code)]
            return unsafe { x86::write_f16(from, to) };
        }
        let _ = isa;
        for (to, from) in to.iter_mut().zip(from) {
            *to = f16::from_f32_const(*from);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use half::f16;
    use std::arch::x86_64::*;

    /// Eight at a time, the rest through a buffer.
    #[target_feature(enable = "avx,f16c")]
    pub fn read_f16(from: &[f16], to: &mut [f32]) {
        let n = from.len().min(to.len());
        let (from, to) = (&from[..n], &mut to[..n]);
        let eight = |from: &[f16; 8], to: &mut [f32; 8]| {
            // SAFETY: both arrays have eight elements.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) };
        };
        let (whole, rest) = from.as_chunks();
        let (slots, last) = to.as_chunks_mut();
        whole.iter().zip(slots).for_each(|(from, to)| eight(from, to));
        if !rest.is_empty() {
            let (mut buffer, mut numbers) = ([f16::ZERO; 8], [0.0; 8]);
            buffer[..rest.len()].copy_from_slice(rest);
            eight(&buffer, &mut numbers);
            last.copy_from_slice(&numbers[..rest.len()]);
        }
    }

    /// Eight at a time, the rest through a buffer.
    #[target_feature(enable = "avx,f16c")]
    pub fn write_f16(from: &[f32], to: &mut [f16]) {
        let n = from.len().min(to.len());
        let (from, to) = (&from[..n], &mut to[..n]);
        let eight = |from: &[f32; 8], to: &mut [f16; 8]| {
            // SAFETY: both arrays have eight elements.
            unsafe {
                let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
                _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
            }
        };
        let (whole, rest) = from.as_chunks();
        let (slots, last) = to.as_chunks_mut();
        whole.iter().zip(slots).for_each(|(from, to)| eight(from, to));
        if !rest.is_empty() {
            let (mut buffer, mut halves) = ([0.0; 8], [f16::ZERO; 8]);
            buffer[..rest.len()].copy_from_slice(rest);
            eight(&buffer, &mut halves);
            last.copy_from_slice(&halves[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around every rounding boundary of the half types, and the special ones.
    fn values() -> Vec<f32> {
        let mut all = vec![0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 65504.0, 65519.9, 65520.0, 1e-8, 6e-8, 3.4e38, -3.4e38];
        all.extend((0..20_000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9E37_79B9))));
        all.extend((0..500u32).map(|i| f32::from_bits(0x3f80_0000 + i * 0x800)));
        all
    }

    #[test]
    fn exponentials() {
        for k in 0..200_000 {
            let x = -106.0 + 200.0 * (k as f32 / 200_000.0);
            let (wanted, found) = (f64::from(x).exp(), f64::from(x.exponential()));
            let place = (f64::from(f32::MIN_POSITIVE) * 2f64.powi(-23)).max(wanted * 2f64.powi(-23));
            assert!((wanted as f32).is_infinite() && found.is_infinite() || (wanted - found).abs() <= 2.0 * place, "{x}: {wanted} {found}");
        }
        assert_eq!((0f32.exponential(), f32::NEG_INFINITY.exponential(), f32::INFINITY.exponential()), (1.0, 0.0, f32::INFINITY));
        assert!(f32::NAN.exponential().is_nan());
    }

    #[test]
    fn conversions_are_those_of_half() {
        let x = values();
        for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
            for n in [0, 1, 7, 8, 9, 33, x.len()] {
                let (mut h, mut b) = (vec![f16::ZERO; n], vec![bf16::ZERO; n]);
                f32::write(isa, &x[..n], &mut h);
                f32::write(isa, &x[..n], &mut b);
                let (mut from_h, mut from_b) = (vec![0f32; n], vec![0f32; n]);
                f32::read(isa, &h, &mut from_h);
                f32::read(isa, &b, &mut from_b);
                for k in 0..n {
                    let (wanted_h, wanted_b) = (f16::from_f32_const(x[k]), bf16::from_f32_const(x[k]));
                    assert!(h[k] == wanted_h || h[k].is_nan() && x[k].is_nan(), "{} {isa:?}", x[k]);
                    assert!(b[k] == wanted_b || b[k].is_nan() && x[k].is_nan(), "{} {isa:?}", x[k]);
                    assert!(from_h[k] == h[k].to_f32() || from_h[k].is_nan() && h[k].is_nan());
                    assert!(from_b[k] == b[k].to_f32() || from_b[k].is_nan() && b[k].is_nan());
                }
            }
        }
    }
}
