//! The inner loops: one plain form each, compiled for every level, and the tile loops in AVX-512.
//!
//! Sixteen independent scalar sums keep the load ports busy; gather instructions are slower than that for floats on the CPUs
//! measured (Zen 4, Zen 5).
//!
//! Invariant: the operands' lengths are checked by [`super::SpmvLayout`]; indices are in range by the layouts' invariants.
#![allow(unsafe_code)]

use super::Real;
use super::slices::{Index, LANES, Slices};
use super::tiles::{SIDE, TileRows};
use crate::Level;
use bitgraph_sparse::OffsetInt;

/// A function with the loop `$body`, compiled for each level and chosen by its first argument.
macro_rules! per_level {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$($g:ident: $bound:path),*>($($arg:ident: $type:ty),*) $(-> $ret:ty)? = $body:ident) => {
        $(#[$doc])*
        $vis fn $name<$($g: $bound),*>(level: Level, $($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
                fn avx2<$($g: $bound),*>($($arg: $type),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2")]
                fn avx512<$($g: $bound),*>($($arg: $type),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                match level {
                    // SAFETY: this level is in force only where the CPU has its features.
                    Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: this level is in force only where the CPU has its features.
                    Level::Avx2 => return unsafe { avx2($($arg),*) },
                    Level::Portable => {}
                }
            }
            let _ = level;
            $body($($arg),*)
        }
    };
}
pub(crate) use per_level;

/// Sets `y` to the sums of the rows of `part`.
pub(super) fn slices<T: Real, I: Index>(level: Level, part: &Slices<I>, x: &[T], y: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
        fn avx2<T: Real, I: Index>(part: &Slices<I>, x: &[T], y: &mut [T]) {
            slices_body::<T, I, T::Lanes>(part, x, y);
        }
        if level >= Level::Avx2 {
            // SAFETY: a level is in force only where the CPU has its features.
            return unsafe { avx2(part, x, y) };
        }
    }
    let _ = level;
    slices_body::<T, I, [T; LANES]>(part, x, y);
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
fn slices_body<T: Real, I: Index, S: Sums<T>>(part: &Slices<I>, x: &[T], y: &mut [T]) {
    y.fill(T::ZERO);
    let (mut index, mut row, mut run) = (part.indices.as_ptr(), part.rows.as_ptr(), 0);
    for block in &part.blocks {
        let x = x[block.start..].as_ptr();
        for r in &part.runs[run..block.runs_end] {
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
        run = block.runs_end;
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

/// See [`TileRows::sum`].
///
/// # Safety
/// The CPU has AVX-512 F, VL and DQ; `x` reaches to the end of the last tile column, `y` has an element per row of the part.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,fma")]
pub(super) unsafe fn tiles_f32(rows: &TileRows, x: &[f32], y: &mut [f32]) {
    use std::arch::x86_64::*;
    let transpose = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let (x, out, last) = (x.as_ptr(), y.as_mut_ptr(), y.len());
    let (mut column, mut tile, mut order) = (rows.columns.as_ptr(), rows.tiles.as_ptr(), rows.order.as_ptr());
    for group in &rows.groups {
        for _ in 0..group.slices {
            let (mut even, mut odd) = (_mm512_setzero_ps(), _mm512_setzero_ps());
            // SAFETY: the group has `length` columns and tiles per tile row; tiles lie inside `x`.
            unsafe {
                for _ in 0..group.length / 2 {
                    let (a, b) = (*column as usize * SIDE, *column.add(1) as usize * SIDE);
                    even = _mm512_mask_add_ps(even, *tile, even, _mm512_broadcast_f32x4(_mm_loadu_ps(x.add(a))));
                    odd = _mm512_mask_add_ps(odd, *tile.add(1), odd, _mm512_broadcast_f32x4(_mm_loadu_ps(x.add(b))));
                    (column, tile) = (column.add(2), tile.add(2));
                }
                if group.length % 2 == 1 {
                    let a = *column as usize * SIDE;
                    even = _mm512_mask_add_ps(even, *tile, even, _mm512_broadcast_f32x4(_mm_loadu_ps(x.add(a))));
                    (column, tile) = (column.add(1), tile.add(1));
                }
            }
            // Row `i` is in lanes `4 i..`; transposed, four vectors of one column each are to be added.
            let sums = _mm512_permutexvar_ps(transpose, _mm512_add_ps(even, odd));
            let half = _mm256_add_ps(_mm512_castps512_ps256(sums), _mm512_extractf32x8_ps::<1>(sums));
            let sums = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
            // SAFETY: `order` has an element per tile row; a tile row past the last row is cut.
            unsafe {
                let row = *order as usize * SIDE;
                order = order.add(1);
                let mask = if last - row >= SIDE { 0xf } else { (1u8 << (last - row)) - 1 };
                _mm_mask_storeu_ps(out.add(row), mask, sums);
            }
        }
    }
}

/// See [`TileRows::sum`].
///
/// # Safety
/// As for [`tiles_f32`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,fma")]
pub(super) unsafe fn tiles_f64(rows: &TileRows, x: &[f64], y: &mut [f64]) {
    use std::arch::x86_64::*;
    let (x, out, last) = (x.as_ptr(), y.as_mut_ptr(), y.len());
    let (mut column, mut tile, mut order) = (rows.columns.as_ptr(), rows.tiles.as_ptr(), rows.order.as_ptr());
    for group in &rows.groups {
        for _ in 0..group.slices {
            // Rows 0 and 1 above, 2 and 3 below, four columns each.
            let (mut top, mut bottom) = (_mm512_setzero_pd(), _mm512_setzero_pd());
            for _ in 0..group.length {
                // SAFETY: the group has `length` columns and tiles per tile row; tiles lie inside `x`.
                unsafe {
                    let four = _mm512_broadcast_f64x4(_mm256_loadu_pd(x.add(*column as usize * SIDE)));
                    top = _mm512_mask_add_pd(top, *tile as u8, top, four);
                    bottom = _mm512_mask_add_pd(bottom, (*tile >> 8) as u8, bottom, four);
                    (column, tile) = (column.add(1), tile.add(1));
                }
            }
            let (r0, r1) = (_mm512_castpd512_pd256(top), _mm512_extractf64x4_pd::<1>(top));
            let (r2, r3) = (_mm512_castpd512_pd256(bottom), _mm512_extractf64x4_pd::<1>(bottom));
            // Sums of neighbours, 128 bits apart: (r0 low, r1 low, r0 high, r1 high), the same of r2 and r3.
            let (a, b) = (_mm256_hadd_pd(r0, r1), _mm256_hadd_pd(r2, r3));
            let sums = _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b));
            // SAFETY: `order` has an element per tile row; a tile row past the last row is cut.
            unsafe {
                let row = *order as usize * SIDE;
                order = order.add(1);
                let mask = if last - row >= SIDE { 0xf } else { (1u8 << (last - row)) - 1 };
                _mm256_mask_storeu_pd(out.add(row), mask, sums);
            }
        }
    }
}
