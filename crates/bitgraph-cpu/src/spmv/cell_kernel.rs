//! The loop over cells. One form does for every instruction set: it is bound by reading and writing sums one at a time.
//!
//! Invariant: rows and columns are in range by the invariants of [`Cells`].
#![allow(unsafe_code)]

use super::Real;
use super::cells::{Cells, MOST_ROWS};
use std::mem::MaybeUninit;

/// Words of the layout that are fetched ahead of their use: it is read once, and faster than the CPU would fetch it unasked. They last
/// about as long as a word takes to come from memory.
const AHEAD: usize = 256;
/// Words between two looks ahead: half a line of a cache, and as many as have their rows in one word.
const STEP: usize = 4;

/// Has the line at `pointer` fetched, which need not be valid.
#[inline(always)]
fn fetch<V>(pointer: *const V) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: fetching ahead of use has no effect but on time, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(pointer.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = pointer;
}

/// Sets `y` to the sums of the rows.
pub(super) fn sum<T: Real>(part: &Cells, x: &[T], y: &mut [T]) {
    let mut sums = [const { MaybeUninit::<T>::uninit() }; MOST_ROWS + 1];
    let (mut cells, mut words, mut y) = (&part.cells[..], &part.words[..], y);
    for strip in &part.strips {
        let (own, others) = cells.split_at(strip.cells as usize);
        let (out, below) = std::mem::take(&mut y).split_at_mut(strip.rows as usize);
        let sums = zeroed(&mut sums[..=out.len()]);
        for cell in own {
            let x = &x[cell.column as usize..];
            let (fours, rest) = words.split_at(cell.fours as usize);
            let (rows, rest) = rest.split_at(fours.len().div_ceil(4));
            let (pairs, rest) = rest.split_at(cell.pairs as usize);
            // SAFETY: the columns of a cell's entries are in range, and so are their rows.
            unsafe {
                add_fours(fours, rows, x, sums);
                add_pairs(pairs, x, sums);
            }
            words = rest;
        }
        out.copy_from_slice(&sums[..out.len()]);
        (cells, y) = (others, below);
    }
}

/// The same places, all zero.
fn zeroed<T: Real>(sums: &mut [MaybeUninit<T>]) -> &mut [T] {
    sums.fill(MaybeUninit::new(T::ZERO));
    // SAFETY: every place has been written.
    unsafe { sums.assume_init_mut() }
}

/// Adds four elements of `x` to a sum, for every four.
///
/// # Safety
/// Columns are below the length of `x`, rows below that of `sums`.
#[inline(always)]
unsafe fn add_fours<T: Real>(fours: &[u64], rows: &[u64], x: &[T], sums: &mut [T]) {
    let add = |four: u64, row: u64, sums: &mut [T]| {
        // SAFETY: by the contract.
        unsafe {
            let at = |k: u32| *x.get_unchecked((four >> (16 * k)) as usize & 0xffff);
            let sum = sums.get_unchecked_mut(row as usize & 0xffff);
            *sum = *sum + ((at(0) + at(1)) + (at(2) + at(3)));
        }
    };
    let (steps, rest) = fours.as_chunks::<STEP>();
    for (step, rows) in steps.iter().zip(rows) {
        fetch(step.as_ptr().wrapping_add(AHEAD));
        for (k, &four) in step.iter().enumerate() {
            add(four, rows >> (16 * k), sums);
        }
    }
    if let Some(&rows) = rows.get(steps.len()) {
        rest.iter().enumerate().for_each(|(k, &four)| add(four, rows >> (16 * k), sums));
    }
}

/// Adds two elements of `x` to a sum each, for every pair.
///
/// # Safety
/// As for [`add_fours`].
#[inline(always)]
unsafe fn add_pairs<T: Real>(pairs: &[u64], x: &[T], sums: &mut [T]) {
    // SAFETY: by the contract.
    let mut add = |pair: u64| unsafe {
        let (a, b) = (*x.get_unchecked(pair as usize & 0xffff), *x.get_unchecked((pair >> 32) as usize & 0xffff));
        let sum = sums.get_unchecked_mut((pair >> 16) as usize & 0xffff);
        *sum = *sum + a;
        let sum = sums.get_unchecked_mut((pair >> 48) as usize);
        *sum = *sum + b;
    };
    let (steps, rest) = pairs.as_chunks::<STEP>();
    for pair in steps {
        fetch(pair.as_ptr().wrapping_add(AHEAD));
        pair.iter().for_each(|&pair| add(pair));
    }
    rest.iter().for_each(|&pair| add(pair));
}
