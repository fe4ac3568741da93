//! Builds vectors in parallel, 64 positions at a time.

use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_sparse::{BitVector, Store, Stored, Vector};
use std::ops::Range;

/// Positions a task takes at least.
const GRAIN: usize = 1024;

/// The vector whose position `i` holds `f(i)`; full if every position does. `serial` runs in order on this thread.
pub(crate) fn vector<T: Stored>(len: usize, serial: bool, f: impl Fn(usize) -> Option<T> + Sync) -> Vector<T> {
    words(len, serial, &|first, slots: &mut [T]| {
        let mut there = 0;
        for (k, slot) in slots.iter_mut().enumerate() {
            if let Some(value) = f(first + k) {
                (*slot, there) = (value, there | 1 << k);
            }
        }
        there
    })
}

/// The vector whose words `word` makes: given the first position and the places of 64 values (the last word's may be fewer), which are zero,
/// it sets those that are there and says which. It stands behind a pointer, so that all but its loop is compiled once for a type and not for
/// every operation.
pub(super) fn words<T: Stored>(len: usize, serial: bool, word: &(dyn Fn(usize, &mut [T]) -> u64 + Sync)) -> Vector<T> {
    let mut present = BitVector::zeros(len);
    let mut store = T::Store::filled(0, T::ZERO);
    let mut values = Vec::new();
    let bits = if store.as_bits().is_some() {
        store = T::Store::filled(len, T::ZERO);
        store.as_bits_mut().map(|bits| DisjointSlice::new(bits.words64_mut()))
    } else {
        values.reserve_exact(len);
        None
    };
    let is_slice = bits.is_none();
    let presence = DisjointSlice::new(present.words64_mut());
    let places = DisjointSlice::new(&mut values.spare_capacity_mut()[..if is_slice { len } else { 0 }]);
    let full = |w: usize| {
        let positions = w * 64..(w * 64 + 64).min(len);
        let mut slots = [T::ZERO; 64];
        let slots = &mut slots[..positions.len()];
        let there = word(w * 64, slots);
        // SAFETY: these positions and the words belong to word `w`, which one task owns.
        #[allow(unsafe_code)]
        unsafe {
            match &bits {
                Some(bits) => bits.write(w, slots.iter().enumerate().map(|(k, value)| u64::from(value.is_non_zero()) << k).sum()),
                None => places.range(positions).iter_mut().zip(&*slots).for_each(|(place, value)| {
                    place.write(*value);
                }),
            }
            presence.write(w, there);
        }
        there.count_ones() as usize == slots.len()
    };
    // Every word is to be built, so no short-circuit.
    let not_full = |words: Range<usize>| words.filter(|&w| !full(w)).count();
    let count = len.div_ceil(64);
    let full = if serial {
        not_full(0..count) == 0
    } else {
        let grain = (count / (16 * rayon::current_num_threads())).max(GRAIN / 64);
        parallel::reduce(count, grain, not_full, |a, b| a + b) == 0
    };
    if is_slice {
        // SAFETY: there is room for so many, and each has been written, by the task of its word.
        #[allow(unsafe_code)]
        unsafe {
            values.set_len(len);
        }
        store = T::Store::from_vec(values);
    }
    Vector::from_parts(store, (!full).then_some(present)).unwrap_or_else(|_| Vector::empty(len))
}
