//! Builds vectors in parallel, 64 positions at a time.

use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{BitVector, Store, Stored, Vector};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Positions a task takes at least.
const GRAIN: usize = 1024;

/// The vector whose position `i` holds `f(i)`; full if every position does. `serial` runs in order on this thread.
pub(crate) fn vector<T: Stored>(len: usize, serial: bool, f: impl Fn(usize) -> Option<T> + Sync) -> Vector<T> {
    let word = |first: usize, slots: &mut [MaybeUninit<T>]| {
        let mut there = 0;
        for (k, slot) in slots.iter_mut().enumerate() {
            let value = f(first + k);
            there |= u64::from(value.is_some()) << k;
            slot.write(value.unwrap_or(T::ZERO));
        }
        there
    };
    // SAFETY: every slot is written.
    #[allow(unsafe_code)]
    unsafe {
        of_words(len, serial, &word)
    }
}

/// The vector whose words `word` makes, behind a pointer that is called for 64 positions, so that all but its loop is compiled once for a type
/// and not for every operation: given the first position and the places of the values, it says which positions hold one.
///
/// # Safety
/// `word` writes every place that it is given.
#[allow(unsafe_code)]
unsafe fn of_words<T: Stored>(len: usize, serial: bool, word: &(dyn Fn(usize, &mut [MaybeUninit<T>]) -> u64 + Sync)) -> Vector<T> {
    let mut present = BitVector::zeros(len);
    let (mut store, mut values) = (T::Store::filled(0, T::ZERO), Vec::new());
    let is_slice = store.as_bits().is_none();
    if is_slice {
        values.reserve_exact(len);
    } else {
        store = T::Store::filled(len, T::ZERO);
    }
    let words = len.div_ceil(64);
    let full = {
        let presence = DisjointSlice::new(present.words64_mut());
        let target = match store.as_bits_mut() {
            Some(bits) => Target::Bits(DisjointSlice::new(bits.words64_mut())),
            None => Target::Slice(DisjointSlice::new(&mut values.spare_capacity_mut()[..len])),
        };
        let full = |w: usize| {
            let positions = w * 64..(w * 64 + 64).min(len);
            let count = positions.len();
            let there = match &target {
                // SAFETY: these positions belong to word `w`, which one task owns.
                Target::Slice(slice) => word(w * 64, unsafe { slice.range(positions) }),
                Target::Bits(target) => {
                    let mut slots = [MaybeUninit::uninit(); 64];
                    let there = word(w * 64, &mut slots[..count]);
                    let bit = |(k, slot): (usize, &MaybeUninit<T>)| {
                        // SAFETY: `word` has written it.
                        u64::from(unsafe { slot.assume_init() }.is_non_zero()) << k
                    };
                    // SAFETY: one task owns the word.
                    unsafe { target.write(w, slots[..count].iter().enumerate().map(bit).sum()) };
                    there
                }
            };
            // SAFETY: one task owns the word.
            unsafe { presence.write(w, there) };
            there.count_ones() as usize == count
        };
        // Every word is to be built, so no short-circuit.
        let not_full = |words: Range<usize>| words.filter(|&w| !full(w)).count();
        if serial {
            not_full(0..words) == 0
        } else {
            let grain = (words / (16 * rayon::current_num_threads())).max(GRAIN / 64);
            parallel::reduce(words, grain, not_full, |a, b| a + b) == 0
        }
    };
    if is_slice {
        // SAFETY: there is room for so many, and a word's positions were all written, each by the task of its word.
        unsafe { values.set_len(len) };
        store = T::Store::from_vec(values);
    }
    Vector::from_parts(store, (!full).then_some(present)).unwrap_or_else(|_| Vector::empty(len))
}

enum Target<'a, T> {
    Slice(DisjointSlice<'a, MaybeUninit<T>>),
    Bits(DisjointSlice<'a, u64>),
}
