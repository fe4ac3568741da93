//! The special cases of mxv that have kernels of their own: reachability and float sums of patterns.
//!
//! Invariant: each gives what the general form gives (float sums within rounding), presence included. A semiring of a user's own with a
//! built-in one's formulas is that semiring.

use super::selection::Selection;
use crate::matrix::{CpuMatrix, Layout};
use crate::tile::{RowMask, mxv_boolean, mxv_boolean_hybrid, mxv_boolean_lists, mxv_sum, mxv_sum_hybrid};
use bitgraph_backend::{StorableSemiring, same_type};
use bitgraph_semiring::builtin_name;
use bitgraph_sparse::{BitVector, Store, Stored, Vector, parallel};
use std::any::{Any, TypeId};

/// The product of a pattern with a vector, where there is a kernel for this semiring, format and vector. Rows that the
/// selection leaves out may hold anything.
pub(super) fn mxv<S: StorableSemiring>(a: &CpuMatrix, u: &Vector<S::X>, selection: Selection<'_>) -> Option<Vector<S::Out>> {
    if TypeId::of::<S::Out>() == TypeId::of::<bool>() && builtin_name::<S>() == Some("lor_land") {
        return boolean::<S>(a, u, selection);
    }
    if !u.is_full() {
        return None;
    }
    sum::<S, f32>(a, u).or_else(|| sum::<S, f64>(a, u))
}

/// (or, and) over bits. What is present reaches presence as what is true reaches truth: one product if that is the same, as in a frontier.
fn boolean<S: StorableSemiring>(a: &CpuMatrix, u: &Vector<S::X>, selection: Selection<'_>) -> Option<Vector<S::Out>> {
    let truth = u.store().as_bits()?;
    let mask = selection.bits();
    let mask = mask.as_ref().map(|(bits, complement)| RowMask { bits, complement: *complement });
    let Some(present) = u.present() else {
        return same_type(Vector::<bool>::from_parts(reached(a, truth, mask), a.nonempty_rows().cloned()).ok()?);
    };
    let there = reached(a, present, mask);
    let all_true = present.words64().iter().zip(truth.words64()).all(|(p, t)| p & !t == 0);
    let values = if all_true {
        there.clone()
    } else {
        let words = present.words64().iter().zip(truth.words64()).map(|(p, t)| p & t).collect();
        reached(a, &BitVector::from_words64(words, u.len()), mask)
    };
    same_type(Vector::<bool>::from_parts(values, Some(there)).ok()?)
}

/// The rows with an entry in a column of `x`.
fn reached(a: &CpuMatrix, x: &BitVector, mask: Option<RowMask<'_>>) -> BitVector {
    let mut y = BitVector::zeros(a.shape().0);
    match a.layout() {
        Layout::Csr(m) => mxv_boolean_lists(m, x, mask, &mut y),
        Layout::B2sr4(m) => mxv_boolean(m, x, mask, &mut y),
        Layout::B2sr8(m) => mxv_boolean(m, x, mask, &mut y),
        Layout::B2sr16(m) => mxv_boolean(m, x, mask, &mut y),
        Layout::B2sr32(m) => mxv_boolean(m, x, mask, &mut y),
        Layout::Hybrid(m) => mxv_boolean_hybrid(m, x, mask, &mut y),
    }
    y
}

/// The element types that have kernels for sums.
trait Summed: Stored {
    /// Sets every element of `y`; false if there is no kernel, and nothing was written.
    fn sum(a: &CpuMatrix, x: &[Self], y: &mut [Self]) -> bool;
}
macro_rules! summed {
    ($t:ty) => {
        impl Summed for $t {
            fn sum(a: &CpuMatrix, x: &[Self], y: &mut [Self]) -> bool {
                if let Some(planned) = a.sums() {
                    planned.run(x, y);
                    return true;
                }
                match a.layout() {
                    Layout::Csr(_) => return false,
                    Layout::B2sr4(m) => mxv_sum(m, x, None, y),
                    Layout::B2sr8(m) => mxv_sum(m, x, None, y),
                    Layout::B2sr16(m) => mxv_sum(m, x, None, y),
                    Layout::B2sr32(m) => mxv_sum(m, x, None, y),
                    Layout::Hybrid(m) => mxv_sum_hybrid(m, x, None, y),
                }
                true
            }
        }
    };
}
summed!(f32);
summed!(f64);

/// Sums of neighbours, written to a vector that is there already; whether there is a kernel for this semiring, format and vector,
/// and the vector is one that all rows can be written to.
pub(super) fn sum_into<S: StorableSemiring>(a: &CpuMatrix, u: &Vector<S::X>, w: &mut Vector<S::Out>) -> bool {
    fn into<S: StorableSemiring, T: Summed>(a: &CpuMatrix, u: &Vector<S::X>, w: &mut Vector<S::Out>) -> bool {
        if !is_sum::<S, T>() || w.len() != a.shape().0 || !u.is_full() {
            return false;
        }
        let (Some(u), Some(w)) = ((u as &dyn Any).downcast_ref::<Vector<T>>(), (w as &mut dyn Any).downcast_mut::<Vector<T>>()) else {
            return false;
        };
        let (Some(x), Some(y)) = (u.store().as_slice(), w.store_mut().as_mut_slice()) else { return false };
        let done = T::sum(a, x, y);
        if done {
            w.set_present(a.nonempty_rows().cloned());
        }
        done
    }
    into::<S, f32>(a, u, w) || into::<S, f64>(a, u, w)
}

/// Whether a semiring adds up the vector's elements: (plus, second), and (plus, times) since a pattern's values are 1.
fn is_sum<S: StorableSemiring, T: Summed>() -> bool {
    TypeId::of::<S::Out>() == TypeId::of::<T>() && matches!(builtin_name::<S>(), Some("plus_second" | "plus_times"))
}

/// Sums of neighbours.
fn sum<S: StorableSemiring, T: Summed>(a: &CpuMatrix, u: &Vector<S::X>) -> Option<Vector<S::Out>> {
    if !is_sum::<S, T>() {
        return None;
    }
    let u = (u as &dyn Any).downcast_ref::<Vector<T>>()?;
    let mut y = parallel::tabulate(a.shape().0, 1 << 14, |_| T::ZERO);
    T::sum(a, u.store().as_slice()?, &mut y).then_some(())?;
    same_type(Vector::<T>::from_parts(T::Store::from_vec(y), a.nonempty_rows().cloned()).ok()?)
}
