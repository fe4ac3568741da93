//! The schemes of the Bit-GraphBLAS paper under their own names (Tables II and III): instances of the general operations.
//!
//! Invariant: a scheme's name gives the widths of its matrix, its vector and its output: `bin` is one bit an element, `full` a
//! number. Every scheme takes tiles of all four sizes. A masked form computes the rows that are *not* visited when given
//! [`RowMask::complement`], which is what a breadth-first search asks for.

use super::{BitTile, RowMask, TileSum, bmm_sum, bmm_sum_masked, mxv_boolean, mxv_count, mxv_sum};
use bitgraph_b2sr::B2sr;
use bitgraph_sparse::BitVector;

/// Table II, row 1: bits times bits to bits, over (or, and). Section V uses it for breadth-first search.
///
/// # Panics
/// If `x` has not one bit for each column.
#[must_use]
pub fn bmv_bin_bin_bin<T: BitTile>(a: &B2sr<T>, x: &BitVector) -> BitVector {
    let mut y = BitVector::zeros(a.nrows());
    mxv_boolean(a, x, None, &mut y);
    y
}

/// Table II, row 4: as [`bmv_bin_bin_bin`], only for the rows of the mask.
///
/// # Panics
/// If `x` or the mask does not fit the matrix.
#[must_use]
pub fn bmv_bin_bin_bin_masked<T: BitTile>(a: &B2sr<T>, x: &BitVector, mask: RowMask<'_>) -> BitVector {
    let mut y = BitVector::zeros(a.nrows());
    mxv_boolean(a, x, Some(mask), &mut y);
    y
}

/// Table II, row 2: bits times bits to counts, over (plus, times) by and and population count (Listing 1).
///
/// # Panics
/// If `x` has not one bit for each column.
#[must_use]
pub fn bmv_bin_bin_full<T: BitTile>(a: &B2sr<T>, x: &BitVector) -> Vec<u32> {
    let mut y = vec![0; a.nrows()];
    mxv_count(a, x, None, &mut y);
    y
}

/// Table II, row 5: as [`bmv_bin_bin_full`], only for the rows of the mask; the others are 0.
///
/// # Panics
/// If `x` or the mask does not fit the matrix.
#[must_use]
pub fn bmv_bin_bin_full_masked<T: BitTile>(a: &B2sr<T>, x: &BitVector, mask: RowMask<'_>) -> Vec<u32> {
    let mut y = vec![0; a.nrows()];
    mxv_count(a, x, Some(mask), &mut y);
    y
}

/// Table II, row 3: bits times numbers to numbers, over (plus, times). Other semirings (shortest paths, components) are
/// [`super::mxv_tiles`].
///
/// # Panics
/// If `x` has not one element for each column.
#[must_use]
pub fn bmv_bin_full_full<T: TileSum<F>, F: Copy + Default + Send + Sync>(a: &B2sr<T>, x: &[F]) -> Vec<F> {
    let mut y = vec![F::default(); a.nrows()];
    mxv_sum(a, x, None, &mut y);
    y
}

/// Table II, row 6: as [`bmv_bin_full_full`], only for the rows of the mask; the others are 0.
///
/// # Panics
/// If `x` or the mask does not fit the matrix.
#[must_use]
pub fn bmv_bin_full_full_masked<T: TileSum<F>, F: Copy + Default + Send + Sync>(a: &B2sr<T>, x: &[F], mask: RowMask<'_>) -> Vec<F> {
    let mut y = vec![F::default(); a.nrows()];
    mxv_sum(a, x, Some(mask), &mut y);
    y
}

/// Table III, row 1: the sum of the elements of a product of two bit matrices. `None` if the shapes do not fit.
#[must_use]
pub fn bmm_bin_bin_sum<T: BitTile>(a: &B2sr<T>, b: &B2sr<T>) -> Option<u64> {
    bmm_sum(a, b)
}

/// Table III, row 2: the sum of the elements of `A B` at the entries of a mask, `b_transposed` being the transpose of `B`. Triangle
/// counting is `bmm_bin_bin_sum_masked(&l, &l, &l)` with the lower triangle `l`. `None` if the shapes do not fit.
#[must_use]
pub fn bmm_bin_bin_sum_masked<T: BitTile>(a: &B2sr<T>, b_transposed: &B2sr<T>, mask: &B2sr<T>) -> Option<u64> {
    bmm_sum_masked(a, b_transposed, mask)
}
