//! The one audited place for parallel writes to disjoint parts of an array.
//!
//! Safe forms come first: [`rows_mut`] hands every row of a CSR-shaped array to one task. [`DisjointSlice`] is the unsafe
//! form for scatter patterns whose disjointness only the algorithm knows.

mod loops;
mod once;
mod pages;

pub use loops::{
    all, blocks, chunks_mut, collect, collect_from, concat, each, each_mut, first, map, position, reduce, tabulate, try_each, try_each_mut,
    update,
};
pub use once::once;
pub use pages::{filled_by, write_pages};

use crate::OffsetInt;
use std::marker::PhantomData;

/// A mutable slice that several tasks may write to, each its own elements.
#[derive(Clone, Copy)]
pub struct DisjointSlice<'a, T> {
    ptr: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: the methods that touch memory are unsafe and demand disjoint elements; `T: Send` lets a value be written elsewhere.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for DisjointSlice<'_, T> {}
// SAFETY: as above; sharing the wrapper gives no safe access to the elements.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for DisjointSlice<'_, T> {}

#[allow(unsafe_code)]
impl<'a, T> DisjointSlice<'a, T> {
    /// Wraps a slice.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { ptr: slice.as_mut_ptr(), len: slice.len(), life: PhantomData }
    }
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Writes element `i`.
    ///
    /// # Safety
    /// `i < len`, and no other task reads or writes element `i` while this one may.
    #[inline(always)]
    pub unsafe fn write(&self, i: usize, value: T) {
        debug_assert!(i < self.len);
        // SAFETY: in bounds and exclusive by the contract.
        unsafe { self.ptr.add(i).write(value) }
    }
    /// The elements of `range`.
    ///
    /// # Safety
    /// The range is in bounds, and no other task touches its elements while the slice lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn range(&self, range: std::ops::Range<usize>) -> &'a mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in bounds and exclusive by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(range.start), range.end - range.start) }
    }
}

/// Calls `f(row, slice)` for every row of an array laid out by `offsets`, in parallel, each row's slice handed out once.
///
/// # Panics
/// If the offsets decrease or reach past the array.
pub fn rows_mut<O: OffsetInt, T: Send>(offsets: &[O], data: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    rows_mut_blocks(offsets, data, |first, slices, block| {
        let mut rest = block;
        for (k, window) in slices.windows(2).enumerate() {
            let (row, tail) = rest.split_at_mut(window[1].index() - window[0].index());
            f(first + k, row);
            rest = tail;
        }
    });
}

/// Calls `f(first row, offsets of the block's rows, slice)` for blocks of consecutive rows of about equal length, in parallel.
///
/// # Panics
/// If the offsets decrease or reach past the array.
pub fn rows_mut_blocks<O: OffsetInt, T: Send>(offsets: &[O], data: &mut [T], f: impl Fn(usize, &[O], &mut [T]) + Sync) {
    let mut blocks = Vec::new();
    let mut rest = data;
    for rows in balanced_rows(offsets, rayon::current_num_threads() * 8) {
        let (block, tail) = rest.split_at_mut(offsets[rows.end].index() - offsets[rows.start].index());
        blocks.push((rows, block));
        rest = tail;
    }
    each_mut(&mut blocks, |_, (rows, block)| f(rows.start, &offsets[rows.start..=rows.end], block));
}

/// Splits rows into at most `parts` consecutive ranges of about equal work, a row counting one more than its entries.
/// With one thread in the current pool there is one range.
#[must_use]
pub fn balanced_rows<O: OffsetInt>(offsets: &[O], parts: usize) -> Vec<std::ops::Range<usize>> {
    let rows = offsets.len().saturating_sub(1);
    if rows == 0 {
        return Vec::new();
    }
    let total = offsets[rows].index() - offsets[0].index() + rows;
    let parts = if rayon::current_num_threads() == 1 || total < 8192 { 1 } else { parts.clamp(1, rows) };
    let work = |row: usize| offsets[row].index() - offsets[0].index() + row;
    let mut bounds: Vec<usize> = (1..parts)
        .map(|p| {
            let target = (total as u128 * p as u128 / parts as u128) as usize;
            let (mut lo, mut hi) = (0, rows);
            while lo < hi {
                let mid = (lo + hi) / 2;
                if work(mid) < target { lo = mid + 1 } else { hi = mid }
            }
            lo
        })
        .collect();
    bounds.push(rows);
    let mut start = 0;
    bounds.into_iter().map(|end| std::mem::replace(&mut start, end)..end).filter(|rows| !rows.is_empty()).collect()
}

/// Bins that a task of [`stack`] takes at once.
const BINS: usize = 1 << 13;

/// From how many entries of every bin each of several tasks has, to the place of its first: bins follow each other, and in a bin the tasks.
/// The number of all entries. All tasks count the same bins.
#[allow(unsafe_code)]
pub fn stack<O: OffsetInt>(counts: &mut [Vec<O>]) -> usize {
    let bins = counts.iter().map(Vec::len).min().unwrap_or(0);
    let sum = |bins: std::ops::Range<usize>| counts.iter().flat_map(|count| &count[bins.clone()]).map(|c| c.index()).sum::<usize>();
    let mut starts = collect(bins.div_ceil(BINS), |k| sum(k * BINS..bins.min((k + 1) * BINS)));
    let mut total = 0;
    for start in &mut starts {
        total += std::mem::replace(start, total);
    }
    let tasks: Vec<_> = counts.iter_mut().map(|count| DisjointSlice::new(&mut count[..])).collect();
    blocks(bins, BINS, |block| {
        let mut next = starts[block.start / BINS];
        // SAFETY: blocks are disjoint ranges of bins.
        let mut tasks: Vec<_> = tasks.iter().map(|task| unsafe { task.range(block.clone()) }).collect();
        for bin in 0..block.len() {
            for task in &mut tasks {
                let count = task[bin].index();
                task[bin] = O::from_index(next);
                next += count;
            }
        }
    });
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_bins_and_tasks() {
        for bins in [0, 1, 5, 3 * BINS + 7] {
            let counts: Vec<Vec<u32>> = (0..3).map(|task| (0..bins).map(|bin| ((bin * 31 + task * 17) % 5) as u32).collect()).collect();
            let mut places = counts.clone();
            let total = stack(&mut places);
            let mut next = 0;
            for bin in 0..bins {
                for task in 0..3 {
                    assert_eq!(places[task][bin], next);
                    next += counts[task][bin];
                }
            }
            assert_eq!(total, next as usize);
        }
        assert_eq!(stack::<u64>(&mut []), 0);
    }

    #[test]
    fn every_row_once() {
        let counts: Vec<usize> = (0..5000).map(|i| (i * 7919) % 13).collect();
        let offsets: Vec<u32> = std::iter::once(0)
            .chain(counts.iter().scan(0u32, |s, &c| {
                *s += c as u32;
                Some(*s)
            }))
            .collect();
        let mut data = vec![0u32; offsets[5000] as usize];
        rows_mut(&offsets, &mut data, |row, slice| slice.iter_mut().for_each(|x| *x += row as u32 + 1));
        for row in 0..5000 {
            assert!(data[offsets[row] as usize..offsets[row + 1] as usize].iter().all(|&x| x == row as u32 + 1));
        }
        rows_mut::<u32, u32>(&[0], &mut [], |_, _| panic!("no rows"));
    }
}
