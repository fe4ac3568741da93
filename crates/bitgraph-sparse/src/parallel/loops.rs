//! Loops over numbers and arrays, in parallel.
//!
//! # Invariants
//! What deals with threads is compiled once, in [`each`]. The bodies of the other loops stand behind its pointer, so that a loop over
//! another type costs the code of its body and no more; the pointer is called for a block, never for an element. Blocks, and the order in
//! which their results are combined, do not depend on the number of threads.
#![allow(unsafe_code)]

use super::DisjointSlice;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Elements that a task takes of an array at once.
const BLOCK: usize = 1 << 14;

/// The numbers of block `k` of those below `count`, `grain` of them in each but the last.
#[inline]
fn block(k: usize, grain: usize, count: usize) -> Range<usize> {
    k * grain..count.min((k * grain).saturating_add(grain))
}

/// Calls `f(k)` once for every `k` below `count`, in parallel. `f` is behind a pointer, so that what deals with threads is compiled once and
/// not for every type: a call is to be long.
pub fn each(count: usize, f: &(dyn Fn(usize) + Sync)) {
    if count < 2 || rayon::current_num_threads() == 1 {
        (0..count).for_each(f);
    } else {
        (0..count).into_par_iter().with_max_len(1).for_each(f);
    }
}

/// Calls `f` once for every block of `grain` numbers below `count`, as [`each`] does.
///
/// # Panics
/// If `grain` is 0.
pub fn blocks(count: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
    each(count.div_ceil(grain), &|k| f(block(k, grain, count)));
}

/// Calls `f(k, item)` for every item, as [`each`] does.
pub fn each_mut<T: Send>(items: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
    let slots = DisjointSlice::new(items);
    each(slots.len(), &|k| {
        // SAFETY: each number below the length comes once.
        let slot = unsafe { slots.range(k..k + 1) };
        f(k, &mut slot[0]);
    });
}

/// Calls `f(k, piece)` for every piece of `size` elements, the last of which may be shorter, as [`each`] does.
///
/// # Panics
/// If `size` is 0.
pub fn chunks_mut<T: Send>(data: &mut [T], size: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let slots = DisjointSlice::new(data);
    each(slots.len().div_ceil(size), &|k| {
        // SAFETY: the blocks are disjoint and within the array.
        f(k, unsafe { slots.range(block(k, size, slots.len())) });
    });
}

/// Calls `f(i, element)` for every element, in blocks of `grain`.
///
/// # Panics
/// If `grain` is 0.
pub fn update<T: Send>(data: &mut [T], grain: usize, f: impl Fn(usize, &mut T) + Sync) {
    chunks_mut(data, grain, |k, piece| piece.iter_mut().zip(k * grain..).for_each(|(element, i)| f(i, element)));
}

/// The values of `f(0)`, `f(1)`, .., `f(count - 1)`, found as [`each`] does.
pub fn collect<T: Send>(count: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    tabulate(count, 1, f)
}

/// The values of `f(0)`, `f(1)`, .., `f(count - 1)`, in blocks of `grain`: for calls that are short.
///
/// # Panics
/// If `grain` is 0.
pub fn tabulate<T: Send>(count: usize, grain: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    update(&mut values.spare_capacity_mut()[..count], grain, |i, slot| {
        slot.write(f(i));
    });
    // SAFETY: there is room for so many, and each has been written; a call that panicked has not come here.
    unsafe { values.set_len(count) };
    values
}

/// What `f` makes of each of these items, found as [`each`] does: for items that own something, or that are borrowed for writing.
pub fn collect_from<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> T + Sync) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().map(|item| (Some(item), None)).collect();
    each_mut(&mut items, |_, (item, value)| *value = item.take().map(&f));
    items.into_iter().filter_map(|(_, value)| value).collect()
}

/// What `combine` makes of the values of `f` for all blocks of `grain` numbers below `count`, in their order, beginning with the default
/// value.
///
/// # Panics
/// If `grain` is 0.
pub fn reduce<T: Default + Send>(count: usize, grain: usize, f: impl Fn(Range<usize>) -> T + Sync, combine: impl FnMut(T, T) -> T) -> T {
    collect(count.div_ceil(grain), |k| f(block(k, grain, count))).into_iter().fold(T::default(), combine)
}

/// The first of the values that `f(0)`, `f(1)`, .., `f(count - 1)` have, in blocks of `grain`; blocks behind one with a value are not begun.
///
/// # Panics
/// If `grain` is 0.
pub fn first<T: Send>(count: usize, grain: usize, f: impl Fn(usize) -> Option<T> + Sync) -> Option<T> {
    let (nearest, found) = (AtomicUsize::new(usize::MAX), Mutex::new(None));
    blocks(count, grain, |mut block| {
        let start = block.start;
        if nearest.load(Ordering::Relaxed) > start
            && let Some(value) = block.find_map(&f)
        {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            if nearest.load(Ordering::Relaxed) > start {
                nearest.store(start, Ordering::Relaxed);
                *found = Some(value);
            }
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f(k)` for the numbers below `count`, as [`each`] does, until one fails.
///
/// # Errors
/// That of the smallest number of those that failed. Numbers behind one that failed may not have been called.
pub fn try_each<E: Send>(count: usize, f: impl Fn(usize) -> Result<(), E> + Sync) -> Result<(), E> {
    first(count, 1, |k| f(k).err()).map_or(Ok(()), Err)
}

/// Calls `f(k, item)` for the items as [`try_each`] does for numbers.
///
/// # Errors
/// As [`try_each`].
pub fn try_each_mut<T: Send, E: Send>(items: &mut [T], f: impl Fn(usize, &mut T) -> Result<(), E> + Sync) -> Result<(), E> {
    let slots = DisjointSlice::new(items);
    try_each(slots.len(), |k| {
        // SAFETY: each number below the length comes at most once.
        let slot = unsafe { slots.range(k..k + 1) };
        f(k, &mut slot[0])
    })
}

/// Whether `f` is true of every number below `count`, in blocks of `grain`; few are begun once it was false.
///
/// # Panics
/// If `grain` is 0.
pub fn all(count: usize, grain: usize, f: impl Fn(usize) -> bool + Sync) -> bool {
    let failed = AtomicBool::new(false);
    blocks(count, grain, |mut block| {
        if !failed.load(Ordering::Relaxed) && !block.all(&f) {
            failed.store(true, Ordering::Relaxed);
        }
    });
    !failed.into_inner()
}

/// The elements of another array that `f` makes of those of this one, block by block in parallel.
pub fn map<T: Sync, U: Send>(data: &[T], f: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let mut values = Vec::with_capacity(data.len());
    chunks_mut(&mut values.spare_capacity_mut()[..data.len()], BLOCK, |k, slots| {
        for (slot, element) in slots.iter_mut().zip(&data[k * BLOCK..]) {
            slot.write(f(element));
        }
    });
    // SAFETY: as in `tabulate`.
    unsafe { values.set_len(data.len()) };
    values
}

/// The elements of these pieces, one piece behind the other, each copied by one task.
pub fn concat<T: Copy + Send + Sync>(pieces: &[&[T]]) -> Vec<T> {
    let starts = pieces.iter().scan(0, |end, piece| {
        *end += piece.len();
        Some(*end - piece.len())
    });
    let starts: Vec<usize> = starts.collect();
    let total = pieces.iter().map(|piece| piece.len()).sum();
    let mut values = Vec::with_capacity(total);
    let slots = DisjointSlice::new(&mut values.spare_capacity_mut()[..total]);
    each(pieces.len(), &|k| {
        // SAFETY: the pieces' places are disjoint and within the room that was made.
        let slots = unsafe { slots.range(starts[k]..starts[k] + pieces[k].len()) };
        slots.write_copy_of_slice(pieces[k]);
    });
    // SAFETY: as in `tabulate`.
    unsafe { values.set_len(total) };
    values
}

/// The first element that `wanted` takes, in parallel. Every element before it is looked at, blocks of them without a branch: `wanted` is to
/// be cheap, and the element rare.
pub fn position<T: Sync>(data: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    let first = AtomicUsize::new(usize::MAX);
    blocks(data.len(), BLOCK, |block| {
        let start = block.start;
        let elements = &data[block];
        if first.load(Ordering::Relaxed) > start && elements.iter().fold(false, |found, x| found | wanted(x)) {
            // Asked of single elements only where there is one.
            let found = elements.iter().position(&wanted).map_or(usize::MAX, |k| start + k);
            first.fetch_min(found, Ordering::Relaxed);
        }
    });
    Some(first.into_inner()).filter(|&first| first != usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs on one thread and on four.
    fn on_threads(f: impl Fn() + Sync) {
        for threads in [1, 4] {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&f);
        }
    }

    #[test]
    fn the_first_position() {
        let mut data = vec![0u8; 100_000];
        assert_eq!(position(&data, |&x| x > 0), None);
        for k in [99_999, 70_000, 70_001, 16_384, 16_383, 0] {
            data[k] = 1;
            assert_eq!(position(&data, |&x| x > 0), data.iter().position(|&x| x > 0));
        }
        assert_eq!(position(&[], |_: &u8| true), None);
    }

    #[test]
    fn every_number_once_and_in_order() {
        on_threads(|| {
            for (count, grain) in [(0, 1), (1, 1), (1, 100), (99, 100), (100, 100), (101, 100), (5000, 7), (7, usize::MAX)] {
                let expected: Vec<usize> = (0..count).map(|i| i * i).collect();
                assert_eq!(tabulate(count, grain, |i| i * i), expected);
                assert_eq!(collect(count, |i| i * i), expected);
                assert_eq!(collect_from((0..count).collect(), |i| i * i), expected);
                let mut squares: Vec<usize> = (0..count).collect();
                update(&mut squares, grain, |i, x| *x *= i);
                assert_eq!(squares, expected);
                let joined = reduce(count, grain, |block| block.collect::<Vec<_>>(), |a, b| [a, b].concat());
                assert_eq!(joined, (0..count).collect::<Vec<_>>());
            }
        });
    }

    #[test]
    fn pieces_follow_each_other() {
        on_threads(|| {
            let pieces: Vec<Vec<u16>> = [5, 0, 1, 3000, 0].iter().map(|&n| (0..n).collect()).collect();
            let borrowed: Vec<&[u16]> = pieces.iter().map(Vec::as_slice).collect();
            assert_eq!(concat(&borrowed), pieces.concat());
            assert_eq!(concat::<u16>(&[]), Vec::new());
        });
    }

    #[test]
    fn pieces_are_numbered() {
        on_threads(|| {
            let mut data = vec![0; 1003];
            chunks_mut(&mut data, 10, |k, piece| {
                assert_eq!(piece.len(), if k < 100 { 10 } else { 3 });
                piece.fill(k);
            });
            assert!(data.iter().enumerate().all(|(i, &k)| k == i / 10));
        });
    }

    #[test]
    fn the_first_of_several_is_found_and_one_exception_is_enough() {
        on_threads(|| {
            for wanted in [&[][..], &[0], &[999], &[640, 641, 10, 998], &[9, 10], &[500, 501]] {
                let is = |i: usize| wanted.contains(&i);
                assert_eq!(first(1000, 10, |i| is(i).then_some(i)), wanted.iter().copied().min());
                assert_eq!(all(1000, 10, |i| !is(i)), wanted.is_empty());
            }
            assert_eq!(first(0, 1, Some), None);
            let mut items = vec![0; 50];
            let fails = |k: usize| if k % 20 == 19 { Err(k) } else { Ok(()) };
            assert_eq!(
                try_each_mut(&mut items, |k, item| {
                    *item = k;
                    fails(k)
                }),
                Err(19)
            );
            assert!(items[..20].iter().enumerate().all(|(k, &item)| item == k));
            assert_eq!(try_each(19, fails), Ok(()));
            assert!(all(0, 1, |_| false));
        });
    }
}
