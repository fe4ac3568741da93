//! Vectors of sixteen sums, and how sixteen elements of each type are read into one.
//!
//! Invariant: reading a part of a vector touches no element beyond it.
#![allow(unsafe_code)]

use half::{bf16, f16};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Elements of a vector.
pub const LANES: usize = 16;

/// Sixteen sums.
pub trait Lanes: Copy {
    /// One of them.
    type S: Copy;
    /// Whether sixteen vectors fit the registers.
    const WIDE: bool;
    /// Sixteen times a value.
    ///
    /// # Safety
    /// The CPU has the vector's instruction set: so for every function here.
    unsafe fn splat(value: Self::S) -> Self;
    /// `self + x`.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn add(self, x: Self) -> Self;
    /// `self + x * w`.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn add_product(self, x: Self, w: Self) -> Self;
    /// `self * w`.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn times(self, w: Self) -> Self;
    /// `x` where it is larger than `self`.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn larger(self, x: Self) -> Self;
    /// `x` where it is smaller than `self`.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn smaller(self, x: Self) -> Self;
    /// The sum of all sixteen, halves first.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn total(self) -> Self::S;
    /// Writes the first `count` of sixteen.
    ///
    /// # Safety
    /// As [`Lanes::splat`]; `to` has so many elements.
    unsafe fn store(self, to: *mut Self::S, count: usize);
    /// As `store` of all sixteen, past the caches where the CPU can.
    ///
    /// # Safety
    /// As [`Lanes::store`]; `to` is where a cache line begins.
    #[inline(always)]
    unsafe fn stream(self, to: *mut Self::S) {
        // SAFETY: by the contract.
        unsafe { self.store(to, LANES) };
    }
}

/// Sums that elements of type `T` are read into.
pub trait Loads<T>: Lanes {
    /// Reads sixteen.
    ///
    /// # Safety
    /// As [`Lanes::splat`]; `from` has sixteen elements.
    unsafe fn load(from: *const T) -> Self;
    /// Reads the first `count` of sixteen.
    ///
    /// # Safety
    /// As [`Lanes::splat`]; `from` has so many elements.
    unsafe fn load_part(from: *const T, count: usize) -> Self;
}

/// One element as one of another type, by the shortest way.
trait As<S> {
    fn to(self) -> S;
}
macro_rules! as_number {
    ($($t:ident => $($s:ident)*;)*) => { $( $( impl As<$s> for $t {
        #[inline(always)]
        fn to(self) -> $s {
            self as $s
        }
    } )* )* };
}
as_number! {
    i8 => i32; u8 => i32; i16 => i32; i32 => i32;
    f32 => f32; f64 => f64;
}
impl As<f32> for f16 {
    #[inline(always)]
    fn to(self) -> f32 {
        self.to_f32_const()
    }
}
impl As<f32> for bf16 {
    #[inline(always)]
    fn to(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}

macro_rules! array {
    ($($s:ident $add:expr, $mul:expr;)*) => { $(
        impl Lanes for [$s; LANES] {
            type S = $s;
            const WIDE: bool = false;
            #[inline(always)]
            unsafe fn splat(value: $s) -> Self {
                [value; LANES]
            }
            #[inline(always)]
            unsafe fn add(mut self, x: Self) -> Self {
                (0..LANES).for_each(|k| self[k] = $add(self[k], x[k]));
                self
            }
            #[inline(always)]
            unsafe fn add_product(mut self, x: Self, w: Self) -> Self {
                (0..LANES).for_each(|k| self[k] = $add(self[k], $mul(x[k], w[k])));
                self
            }
            #[inline(always)]
            unsafe fn times(mut self, w: Self) -> Self {
                (0..LANES).for_each(|k| self[k] = $mul(self[k], w[k]));
                self
            }
            #[inline(always)]
            unsafe fn larger(mut self, x: Self) -> Self {
                (0..LANES).for_each(|k| self[k] = if x[k] > self[k] { x[k] } else { self[k] });
                self
            }
            #[inline(always)]
            unsafe fn smaller(mut self, x: Self) -> Self {
                (0..LANES).for_each(|k| self[k] = if x[k] < self[k] { x[k] } else { self[k] });
                self
            }
            #[inline(always)]
            unsafe fn total(mut self) -> $s {
                for half in [8, 4, 2, 1] {
                    (0..half).for_each(|k| self[k] = $add(self[k], self[k + half]));
                }
                self[0]
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $s, count: usize) {
                // SAFETY: by the contract there are so many elements, and an array has sixteen.
                unsafe { std::ptr::copy_nonoverlapping(self.as_ptr(), to, count.min(LANES)) };
            }
        }
        impl<T: As<$s> + Copy> Loads<T> for [$s; LANES] {
            #[inline(always)]
            unsafe fn load(from: *const T) -> Self {
                // SAFETY: by the contract there are sixteen elements.
                std::array::from_fn(|k| unsafe { *from.add(k) }.to())
            }
            #[inline(always)]
            unsafe fn load_part(from: *const T, count: usize) -> Self {
                let mut lanes = [$s::default(); LANES];
                for (k, lane) in lanes.iter_mut().enumerate().take(count) {
                    // SAFETY: by the contract there are so many elements.
                    *lane = unsafe { *from.add(k) }.to();
                }
                lanes
            }
        }
    )* };
}
array! {
    f32 |a: f32, b: f32| a + b, |a: f32, b: f32| a * b;
    f64 |a: f64, b: f64| a + b, |a: f64, b: f64| a * b;
    i32 i32::wrapping_add, i32::wrapping_mul;
}

/// Sixteen `f32` in a register of AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Zmm(__m512);

/// Sixteen `f32` in two registers of AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Ymm(__m256, __m256);

/// The lanes below `count`.
#[inline(always)]
fn first(count: usize) -> u16 {
    ((1u32 << count.min(LANES)) - 1) as u16
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Zmm {
    type S = f32;
    const WIDE: bool = true;
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: by the contract; so everywhere below.
        Self(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    unsafe fn add(self, x: Self) -> Self {
        // SAFETY: by the contract.
        Self(unsafe { _mm512_add_ps(self.0, x.0) })
    }
    #[inline(always)]
    unsafe fn add_product(self, x: Self, w: Self) -> Self {
        // SAFETY: by the contract.
        Self(unsafe { _mm512_fmadd_ps(x.0, w.0, self.0) })
    }
    #[inline(always)]
    unsafe fn times(self, w: Self) -> Self {
        // SAFETY: by the contract.
        Self(unsafe { _mm512_mul_ps(self.0, w.0) })
    }
    #[inline(always)]
    unsafe fn larger(self, x: Self) -> Self {
        // SAFETY: by the contract. The second operand is the result where one is a NaN.
        Self(unsafe { _mm512_max_ps(x.0, self.0) })
    }
    #[inline(always)]
    unsafe fn smaller(self, x: Self) -> Self {
        // SAFETY: by the contract. The second operand is the result where one is a NaN.
        Self(unsafe { _mm512_min_ps(x.0, self.0) })
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        // SAFETY: by the contract.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, count: usize) {
        // SAFETY: by the contract; lanes beyond the count are not written.
        unsafe {
            if count >= LANES {
                _mm512_storeu_ps(to, self.0);
            } else {
                _mm512_mask_storeu_ps(to, first(count), self.0);
            }
        }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        // SAFETY: by the contract.
        unsafe { _mm512_stream_ps(to, self.0) };
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Ymm {
    type S = f32;
    const WIDE: bool = false;
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: by the contract; so everywhere below.
        let v = unsafe { _mm256_set1_ps(value) };
        Self(v, v)
    }
    #[inline(always)]
    unsafe fn add(self, x: Self) -> Self {
        // SAFETY: by the contract.
        unsafe { Self(_mm256_add_ps(self.0, x.0), _mm256_add_ps(self.1, x.1)) }
    }
    #[inline(always)]
    unsafe fn add_product(self, x: Self, w: Self) -> Self {
        // SAFETY: by the contract.
        unsafe { Self(_mm256_fmadd_ps(x.0, w.0, self.0), _mm256_fmadd_ps(x.1, w.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn times(self, w: Self) -> Self {
        // SAFETY: by the contract.
        unsafe { Self(_mm256_mul_ps(self.0, w.0), _mm256_mul_ps(self.1, w.1)) }
    }
    #[inline(always)]
    unsafe fn larger(self, x: Self) -> Self {
        // SAFETY: by the contract. The second operand is the result where one is a NaN.
        unsafe { Self(_mm256_max_ps(x.0, self.0), _mm256_max_ps(x.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn smaller(self, x: Self) -> Self {
        // SAFETY: by the contract. The second operand is the result where one is a NaN.
        unsafe { Self(_mm256_min_ps(x.0, self.0), _mm256_min_ps(x.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        // SAFETY: by the contract.
        unsafe {
            let eight = _mm256_add_ps(self.0, self.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, count: usize) {
        // SAFETY: by the contract; a part goes through a buffer.
        unsafe {
            if count >= LANES {
                _mm256_storeu_ps(to, self.0);
                _mm256_storeu_ps(to.add(8), self.1);
            } else {
                let mut buffer = [0f32; LANES];
                _mm256_storeu_ps(buffer.as_mut_ptr(), self.0);
                _mm256_storeu_ps(buffer.as_mut_ptr().add(8), self.1);
                std::ptr::copy_nonoverlapping(buffer.as_ptr(), to, count);
            }
        }
    }
}

/// How sixteen elements become a register of AVX-512, whole and in part.
macro_rules! zmm {
    ($($t:ident |$from:ident| $whole:expr, |$mask:ident| $part:expr;)*) => { $(
        #[cfg(target_arch = "x86_64")]
        impl Loads<$t> for Zmm {
            #[inline(always)]
            unsafe fn load($from: *const $t) -> Self {
                // SAFETY: by the contract.
                Self(unsafe { $whole })
            }
            #[inline(always)]
            unsafe fn load_part($from: *const $t, count: usize) -> Self {
                let $mask = first(count);
                // SAFETY: by the contract; masked lanes are not read.
                Self(unsafe { $part })
            }
        }
    )* };
}
zmm! {
    f32 |p| _mm512_loadu_ps(p), |m| _mm512_maskz_loadu_ps(m, p);
    f16 |p| _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())), |m| _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p.cast()));
    bf16 |p| widen(_mm256_loadu_si256(p.cast())), |m| widen(_mm256_maskz_loadu_epi16(m, p.cast()));
}

/// Sixteen `bf16` as `f32`: the upper halves.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn widen(halves: __m256i) -> __m512 {
    // SAFETY: by the contract of the callers.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves))) }
}

/// Through a buffer of `f32`.
#[cfg(target_arch = "x86_64")]
impl Loads<bf16> for Ymm {
    #[inline(always)]
    unsafe fn load(from: *const bf16) -> Self {
        // SAFETY: by the contract; the buffer has sixteen elements.
        unsafe { Self::load(<[f32; LANES] as Loads<bf16>>::load(from).as_ptr()) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const bf16, count: usize) -> Self {
        // SAFETY: by the contract; the buffer has sixteen elements.
        unsafe { Self::load(<[f32; LANES] as Loads<bf16>>::load_part(from, count).as_ptr()) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Loads<f32> for Ymm {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: by the contract.
        unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> Self {
        // SAFETY: by the contract; the buffer has sixteen elements.
        unsafe { Self::load(<[f32; LANES] as Loads<f32>>::load_part(from, count).as_ptr()) }
    }
}
#[cfg(target_arch = "x86_64")]
impl Loads<f16> for Ymm {
    #[inline(always)]
    unsafe fn load(from: *const f16) -> Self {
        let half = |k| {
            // SAFETY: by the contract there are sixteen elements.
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.add(k).cast())) }
        };
        Self(half(0), half(8))
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f16, count: usize) -> Self {
        let mut buffer = [f16::ZERO; LANES];
        // SAFETY: by the contract there are so many elements; the buffer has sixteen.
        unsafe {
            std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), count.min(LANES));
            Self::load(buffer.as_ptr())
        }
    }
}
