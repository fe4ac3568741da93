//! Builds vectors in parallel, 64 positions at a time.

use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{BitVector, Store, Stored, Vector};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Positions a task takes at least.
const GRAIN: usize = 1024;

/// The vector whose position `i` holds `f(i)`; full if every position does. `serial` runs in order on this thread.
pub(crate) fn vector<T: Stored>(len: usize, serial: bool, f: impl Fn(usize) -> Option<T> + Sync) -> Vector<T> {
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
        let word = |w: usize| {
            let (mut there, mut bits) = (0u64, 0u64);
            let end = (w * 64 + 64).min(len);
            for i in w * 64..end {
                let value = f(i);
                there |= u64::from(value.is_some()) << (i % 64);
                let value = value.unwrap_or(T::ZERO);
                match &target {
                    Target::Bits(_) => bits |= u64::from(value.is_non_zero()) << (i % 64),
                    // SAFETY: position `i` belongs to word `w`, which one task owns.
                    #[allow(unsafe_code)]
                    Target::Slice(slice) => unsafe { slice.write(i, MaybeUninit::new(value)) },
                }
            }
            // SAFETY: one task owns word `w` of both arrays.
            #[allow(unsafe_code)]
            unsafe {
                presence.write(w, there);
                if let Target::Bits(target) = &target {
                    target.write(w, bits);
                }
            }
            there.count_ones() as usize == end - w * 64
        };
        all_words(words, serial, &word)
    };
    if is_slice {
        // SAFETY: there is room for so many, and a word's positions were all written, each by the task of its word.
        #[allow(unsafe_code)]
        unsafe {
            values.set_len(len);
        }
        store = T::Store::from_vec(values);
    }
    Vector::from_parts(store, (!full).then_some(present)).unwrap_or_else(|_| Vector::empty(len))
}

/// Calls `word` for every word; whether all calls were true. Behind a pointer, so that threads are dealt with in one place and
/// not once for every type: a call is for 64 positions.
fn all_words(words: usize, serial: bool, word: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    // Every word is to be built, so no short-circuit.
    let not_full = |words: Range<usize>| words.filter(|&w| !word(w)).count();
    if serial {
        not_full(0..words) == 0
    } else {
        let grain = (words / (16 * rayon::current_num_threads())).max(GRAIN / 64);
        parallel::reduce(words, grain, not_full, |a, b| a + b) == 0
    }
}

enum Target<'a, T> {
    Slice(DisjointSlice<'a, MaybeUninit<T>>),
    Bits(DisjointSlice<'a, u64>),
}
