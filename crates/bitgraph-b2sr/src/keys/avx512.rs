//! Keys made, sorted and parted in registers of 16.
//!
//! Invariant: no step branches on a key, so that the cost follows from the numbers of rows and entries alone.
//!
//! The sort is bitonic: of two sorted runs, one of them turned round, the smaller numbers go to one half and the larger to the other, and
//! so on within the halves. Behind the last key are largest numbers, which never move down, so that registers past the end are left out.

#![allow(unsafe_code)]

use super::BEHIND;
use crate::Tile;
use bitgraph_sparse::OffsetInt;
use std::arch::x86_64::*;
use std::ops::Range;

/// Keys in a register.
const LANES: usize = 16;
/// Registers that are sorted without going through memory.
const HELD: usize = 16;

/// Whether the CPU has what this module needs.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("popcnt")
}

/// The first `count` lanes, or all.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
    (!(!0u32).checked_shl(count as u32).unwrap_or(0)) as __mmask16
}

/// The keys of the entries of `rows`, ascending, in the first places of `keys`; how many. The place behind them is the largest number.
///
/// # Safety
/// The CPU has the features. There are `rows`, their entries lie in `indices`, and `keys` has [`BEHIND`] places more than they have
/// entries.
#[target_feature(enable = "avx512f,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn load<T: Tile, O: OffsetInt>(offsets: &[O], indices: &[u32], rows: Range<usize>, keys: &mut [u32]) -> usize {
    let low = _mm512_set1_epi32(T::SIZE as i32 - 1);
    let shift = _mm512_set1_epi32(T::SHIFT as i32);
    let high = _mm512_set1_epi32(!0 << (2 * T::SHIFT));
    let largest = _mm512_set1_epi32(-1);
    let (from, to) = (indices.as_ptr(), keys.as_mut_ptr());
    let mut len = 0;
    let mut start = offsets[rows.start].index();
    for (r, row) in rows.enumerate() {
        let end = offsets[row + 1].index();
        let place = _mm512_set1_epi32((r << T::SHIFT) as i32);
        loop {
            let count = (end - start).min(LANES);
            // SAFETY: only lanes of the row are read; behind `len + count` keys there is room for a register.
            unsafe {
                let u = _mm512_maskz_loadu_epi32(first(count), from.add(start).cast());
                // The low bits of the column stay; those of the row come above them, and the tile column above these.
                let column = _mm512_and_si512(_mm512_sllv_epi32(u, shift), high);
                let key = _mm512_or_si512(_mm512_or_si512(_mm512_and_si512(u, low), column), place);
                _mm512_storeu_si512(to.add(len).cast(), key);
            }
            len += count;
            start += count;
            if start == end {
                break;
            }
        }
    }
    let registers = len.div_ceil(LANES);
    // SAFETY: there is room for that behind the keys, and registers that are sorted end there.
    unsafe {
        for k in 0..BEHIND / LANES {
            _mm512_storeu_si512(to.add(len + k * LANES).cast(), largest);
        }
        let at: *mut __m512i = to.cast();
        match registers {
            0 => {}
            1 => sort::<1>(at),
            2 => sort::<2>(at),
            3 => sort::<3>(at),
            4 => sort::<4>(at),
            5 | 6 => sort::<6>(at),
            7 | 8 => sort::<8>(at),
            9..=12 => sort::<12>(at),
            13..=HELD => sort::<HELD>(at),
            _ => sort_many(at, registers.next_multiple_of(4)),
        }
    }
    len
}

/// The smaller and the larger of each lane.
#[inline(always)]
unsafe fn halves(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    // SAFETY: the caller's CPU has the features.
    unsafe { (_mm512_min_epu32(a, b), _mm512_max_epu32(a, b)) }
}

/// Lanes turned round.
#[inline(always)]
unsafe fn turned(a: __m512i) -> __m512i {
    // SAFETY: the caller's CPU has the features.
    unsafe { _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), a) }
}

/// Each lane beside that of `other`: the larger where `upper` has a bit, else the smaller.
#[inline(always)]
unsafe fn beside(a: __m512i, other: __m512i, upper: __mmask16) -> __m512i {
    // SAFETY: the caller's CPU has the features.
    unsafe { _mm512_mask_max_epu32(_mm512_min_epu32(a, other), upper, a, other) }
}

/// A register whose lanes rise and fall, sorted.
#[inline(always)]
unsafe fn clean(a: __m512i) -> __m512i {
    // SAFETY: the caller's CPU has the features.
    unsafe {
        let a = beside(a, _mm512_shuffle_i64x2::<0b01_00_11_10>(a, a), 0xff00);
        let a = beside(a, _mm512_shuffle_i64x2::<0b10_11_00_01>(a, a), 0xf0f0);
        let a = beside(a, _mm512_shuffle_epi32::<0b01_00_11_10>(a), 0xcccc);
        beside(a, _mm512_shuffle_epi32::<0b10_11_00_01>(a), 0xaaaa)
    }
}

/// A register sorted.
#[inline(always)]
unsafe fn sort_lanes(a: __m512i) -> __m512i {
    // SAFETY: the caller's CPU has the features.
    unsafe {
        let a = beside(a, _mm512_shuffle_epi32::<0b10_11_00_01>(a), 0xaaaa);
        let a = beside(a, _mm512_shuffle_epi32::<0b00_01_10_11>(a), 0xcccc);
        let a = beside(a, _mm512_shuffle_epi32::<0b10_11_00_01>(a), 0xaaaa);
        let in_eights = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
        let a = beside(a, _mm512_permutexvar_epi32(in_eights, a), 0xf0f0);
        let a = beside(a, _mm512_shuffle_epi32::<0b01_00_11_10>(a), 0xcccc);
        let a = beside(a, _mm512_shuffle_epi32::<0b10_11_00_01>(a), 0xaaaa);
        clean_turned(a)
    }
}

/// A register of two sorted halves, sorted.
#[inline(always)]
unsafe fn clean_turned(a: __m512i) -> __m512i {
    // SAFETY: the caller's CPU has the features.
    unsafe {
        let a = beside(a, turned(a), 0xff00);
        let a = beside(a, _mm512_shuffle_i64x2::<0b10_11_00_01>(a, a), 0xf0f0);
        let a = beside(a, _mm512_shuffle_epi32::<0b01_00_11_10>(a), 0xcccc);
        beside(a, _mm512_shuffle_epi32::<0b10_11_00_01>(a), 0xaaaa)
    }
}

/// `N` registers sorted in place.
///
/// # Safety
/// There are `N` registers at `at`, and the CPU has the features.
#[target_feature(enable = "avx512f")]
unsafe fn sort<const N: usize>(at: *mut __m512i) {
    // SAFETY: this function's contract.
    unsafe {
        let mut a = [_mm512_setzero_si512(); N];
        for k in 0..N {
            a[k] = sort_lanes(_mm512_loadu_si512(at.add(k)));
        }
        if N > 1 {
            meet::<N, 1>(&mut a);
        }
        if N > 2 {
            meet::<N, 2>(&mut a);
        }
        if N > 4 {
            meet::<N, 4>(&mut a);
        }
        if N > 8 {
            meet::<N, 8>(&mut a);
        }
        for k in 0..N {
            _mm512_storeu_si512(at.add(k), a[k]);
        }
    }
}

/// Runs of `HALF` sorted registers become runs of twice as many.
#[inline(always)]
unsafe fn meet<const N: usize, const HALF: usize>(a: &mut [__m512i; N]) {
    // SAFETY: the caller's CPU has the features.
    unsafe {
        for k in 0..N {
            let other = k ^ (2 * HALF - 1);
            if k & HALF == 0 && other < N {
                (a[k], a[other]) = halves(a[k], turned(a[other]));
            }
        }
        part::<N, HALF>(a);
    }
}

/// Runs of `RUN` registers that rise and fall become sorted.
#[inline(always)]
unsafe fn part<const N: usize, const RUN: usize>(a: &mut [__m512i; N]) {
    // SAFETY: the caller's CPU has the features.
    unsafe {
        for distance in [8, 4, 2, 1] {
            if distance < RUN {
                for k in 0..N {
                    if k & distance == 0 && k + distance < N {
                        (a[k], a[k + distance]) = halves(a[k], a[k + distance]);
                    }
                }
            }
        }
        for k in 0..N {
            a[k] = clean(a[k]);
        }
    }
}

/// Runs of [`HELD`] registers that rise and fall become sorted; the last of `count` registers may be of fewer, a multiple of four.
///
/// # Safety
/// There are `count` registers at `at`, and the CPU has the features.
#[target_feature(enable = "avx512f")]
unsafe fn part_each(at: *mut __m512i, count: usize) {
    /// # Safety
    /// There are `N` registers at `at`, and the CPU has the features.
    #[inline(always)]
    unsafe fn one<const N: usize>(at: *mut __m512i) {
        // SAFETY: this function's contract.
        unsafe {
            let mut a = [_mm512_setzero_si512(); N];
            for k in 0..N {
                a[k] = _mm512_loadu_si512(at.add(k));
            }
            part::<N, HELD>(&mut a);
            for k in 0..N {
                _mm512_storeu_si512(at.add(k), a[k]);
            }
        }
    }
    for k in (0..count).step_by(HELD) {
        // SAFETY: this function's contract.
        unsafe {
            match count - k {
                4 => one::<4>(at.add(k)),
                8 => one::<8>(at.add(k)),
                12 => one::<12>(at.add(k)),
                _ => one::<HELD>(at.add(k)),
            }
        }
    }
}

/// Any number of registers sorted, a multiple of four: runs of [`HELD`] first.
///
/// # Safety
/// There are `count` registers at `at`, and the CPU has the features.
#[target_feature(enable = "avx512f")]
unsafe fn sort_many(at: *mut __m512i, count: usize) {
    // SAFETY: this function's contract; registers past the end are left out.
    unsafe {
        for k in (0..count).step_by(HELD) {
            match count - k {
                4 => sort::<4>(at.add(k)),
                8 => sort::<8>(at.add(k)),
                12 => sort::<12>(at.add(k)),
                _ => sort::<HELD>(at.add(k)),
            }
        }
        let pair = |k: usize, other: usize, turn: bool| {
            let (a, b) = (_mm512_loadu_si512(at.add(k)), _mm512_loadu_si512(at.add(other)));
            let (low, high) = halves(a, if turn { turned(b) } else { b });
            _mm512_storeu_si512(at.add(k), low);
            _mm512_storeu_si512(at.add(other), high);
        };
        let mut half = HELD;
        while half < count {
            for run in (0..count).step_by(2 * half) {
                let end = run + 2 * half;
                (run.max((2 * run + 2 * half).saturating_sub(count))..run + half).for_each(|k| pair(k, run + end - 1 - k, true));
            }
            let mut distance = half / 2;
            while distance >= HELD {
                for run in (0..count).step_by(2 * distance) {
                    (run..(run + distance).min(count.saturating_sub(distance))).for_each(|k| pair(k, k + distance, false));
                }
                distance /= 2;
            }
            part_each(at, count);
            half *= 2;
        }
    }
}

/// Writes the columns of `keys`, which ascend, to `list`, row by row, and how many each row has to `counts`.
///
/// # Safety
/// The CPU has the features; `list` has a register more places than there are keys.
#[target_feature(enable = "avx512f,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn list<T: Tile>(keys: &[u32], list: &mut [u32], counts: &mut [u32]) {
    let low = _mm512_set1_epi32(T::SIZE as i32 - 1);
    let shift = _mm512_set1_epi32(T::SHIFT as i32);
    let place = _mm512_set1_epi32(((T::SIZE - 1) << T::SHIFT) as i32);
    let to = list.as_mut_ptr();
    let mut len = 0;
    for (r, count) in counts.iter_mut().enumerate() {
        let wanted = _mm512_set1_epi32((r << T::SHIFT) as i32);
        let before = len;
        for k in (0..keys.len()).step_by(LANES) {
            let lanes = first(keys.len() - k);
            // SAFETY: only lanes of the keys are read; no more is kept than there are keys, and behind these there is a register.
            unsafe {
                let key = _mm512_maskz_loadu_epi32(lanes, keys.as_ptr().add(k).cast());
                let here = _mm512_mask_cmpeq_epi32_mask(lanes, _mm512_and_si512(key, place), wanted);
                let column = _mm512_andnot_si512(low, _mm512_srlv_epi32(key, shift));
                let column = _mm512_or_si512(column, _mm512_and_si512(key, low));
                _mm512_storeu_si512(to.add(len).cast(), _mm512_maskz_compress_epi32(here, column));
                len += here.count_ones() as usize;
            }
        }
        *count = (len - before) as u32;
    }
}
