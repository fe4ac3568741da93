//! The inner loops over lists and slices: one plain form each, compiled for every instruction set.
//!
//! Sixteen independent scalar sums keep the load ports busy; gather instructions are slower than that for floats on the CPUs
//! measured (Zen 4, Zen 5).
//!
//! Invariant: the operands' lengths are checked by [`super::SpmvLayout`]; indices are in range by the layouts' invariants.
#![allow(unsafe_code)]

use super::Real;
use super::slices::{Index, LANES, Slices};
use crate::Isa;
use bitgraph_sparse::OffsetInt;

/// A function with the loop `$body`, compiled for each instruction set and chosen by its first argument.
macro_rules! per_level {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$($g:ident: $bound:path),*>($($arg:ident: $type:ty),*) $(-> $ret:ty)? = $body:ident) => {
        $(#[$doc])*
        $vis fn $name<$($g: $bound),*>(isa: Isa, $($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt")]
                fn avx2<$($g: $bound),*>($($arg: $type),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2,popcnt")]
                fn avx512<$($g: $bound),*>($($arg: $type),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                match isa {
                    // SAFETY: this instruction set is in force only where the CPU has its features.
                    Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: this instruction set is in force only where the CPU has its features.
                    Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    Isa::Portable => {}
                }
            }
            let _ = isa;
            $body($($arg),*)
        }
    };
}
pub(crate) use per_level;

/// Adds the sums of a block of `part` to `y`, an element for each of the part's rows.
pub(super) fn slices<T: Real, I: Index>(isa: Isa, part: &Slices<I>, block: usize, x: &[T], y: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2<T: Real, I: Index>(part: &Slices<I>, block: usize, x: &[T], y: &mut [T]) {
            slices_body::<T, I, T::Lanes>(part, block, x, y);
        }
        if isa >= Isa::Avx2 {
            // SAFETY: an instruction set is in force only where the CPU has its features.
            return unsafe { avx2(part, block, x, y) };
        }
    }
    let _ = isa;
    slices_body::<T, I, [T; LANES]>(part, block, x, y);
}

/// Sixteen sums at once.
pub trait Sums<T>: Copy {
    /// All zero.
    fn zero() -> Self;
    /// Adds `x[at(lane)]` to every lane.
    ///
    /// # Safety
    /// The CPU has AVX2 if this is a vector form; `x` has the elements.
    unsafe fn add(&mut self, x: *const T, at: impl Fn(usize) -> usize);
    /// The sums one by one.
    fn to_array(self) -> [T; LANES];
}

impl<T: Real> Sums<T> for [T; LANES] {
    #[inline(always)]
    fn zero() -> Self {
        [T::ZERO; LANES]
    }
    #[inline(always)]
    unsafe fn add(&mut self, x: *const T, at: impl Fn(usize) -> usize) {
        for (lane, sum) in self.iter_mut().enumerate() {
            // SAFETY: by the contract.
            *sum = *sum + unsafe { *x.add(at(lane)) };
        }
    }
    #[inline(always)]
    fn to_array(self) -> [T; LANES] {
        self
    }
}

#[cfg(target_arch = "x86_64")]
mod lanes {
    use super::{LANES, Sums};
    use std::arch::x86_64::*;

    impl Sums<f32> for [__m128; 4] {
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: SSE is part of the architecture.
            [unsafe { _mm_setzero_ps() }; 4]
        }
        #[inline(always)]
        unsafe fn add(&mut self, x: *const f32, at: impl Fn(usize) -> usize) {
            for (q, sum) in self.iter_mut().enumerate() {
                // SAFETY: by the contract.
                unsafe {
                    let load = |k: usize| _mm_load_ss(x.add(at(4 * q + k)));
                    let low = _mm_insert_ps::<0x10>(load(0), load(1));
                    let high = _mm_insert_ps::<0x10>(load(2), load(3));
                    *sum = _mm_add_ps(*sum, _mm_movelh_ps(low, high));
                }
            }
        }
        #[inline(always)]
        fn to_array(self) -> [f32; LANES] {
            let mut out = [0.0; LANES];
            for (q, sum) in self.into_iter().enumerate() {
                // SAFETY: four elements from `4 q` on are in the array.
                unsafe { _mm_storeu_ps(out.as_mut_ptr().add(4 * q), sum) };
            }
            out
        }
    }

    impl Sums<f64> for [__m128d; 8] {
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: SSE2 is part of the architecture.
            [unsafe { _mm_setzero_pd() }; 8]
        }
        #[inline(always)]
        unsafe fn add(&mut self, x: *const f64, at: impl Fn(usize) -> usize) {
            for (q, sum) in self.iter_mut().enumerate() {
                // SAFETY: by the contract.
                unsafe {
                    let low = _mm_load_sd(x.add(at(2 * q)));
                    *sum = _mm_add_pd(*sum, _mm_loadh_pd(low, x.add(at(2 * q + 1))));
                }
            }
        }
        #[inline(always)]
        fn to_array(self) -> [f64; LANES] {
            let mut out = [0.0; LANES];
            for (q, sum) in self.into_iter().enumerate() {
                // SAFETY: two elements from `2 q` on are in the array.
                unsafe { _mm_storeu_pd(out.as_mut_ptr().add(2 * q), sum) };
            }
            out
        }
    }
}

#[inline(always)]
fn slices_body<T: Real, I: Index, S: Sums<T>>(part: &Slices<I>, block: usize, x: &[T], y: &mut [T]) {
    let block = &part.blocks[block];
    let x = x[block.start..].as_ptr();
    let (mut index, mut row) = (part.indices[block.index..].as_ptr(), part.rows[block.row..].as_ptr());
    for r in &part.runs[block.runs.clone()] {
        for _ in 0..r.slices {
            let mut sums = S::zero();
            for _ in 0..r.length {
                // SAFETY: the run has `16 length` indices per slice, each inside the block or its zeros; the callers ask
                // for a vector form only where the CPU has it.
                unsafe {
                    sums.add(x, |lane| (*index.add(lane)).distance());
                    index = index.add(LANES);
                }
            }
            for (lane, sum) in sums.to_array().into_iter().enumerate() {
                // SAFETY: the run has 16 rows per slice, each below the part's number of rows.
                unsafe {
                    let y = y.get_unchecked_mut(*row.add(lane) as usize);
                    *y = *y + sum;
                }
            }
            // SAFETY: as above.
            row = unsafe { row.add(LANES) };
        }
    }
}

/// Sets `y` to the sums of the rows that `offsets` bound in `columns`. One form does: compiled for AVX2 the loop would become
/// gather instructions, which are slower.
pub(super) fn lists<T: Real, O: OffsetInt>(offsets: &[O], columns: &[u32], x: &[T], y: &mut [T]) {
    for (row, y) in y.iter_mut().enumerate() {
        let list = &columns[offsets[row].index()..offsets[row + 1].index()];
        // SAFETY: columns are below the number of columns, which `x` is at least as long as.
        let at = |c: u32| unsafe { *x.get_unchecked(c as usize) };
        let mut sums = [T::ZERO; 4];
        let (fours, rest) = list.as_chunks::<4>();
        for four in fours {
            for (sum, &c) in sums.iter_mut().zip(four) {
                *sum = *sum + at(c);
            }
        }
        let tail = rest.iter().fold(T::ZERO, |sum, &c| sum + at(c));
        *y = (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail;
    }
}
