//! Pseudo-random operands of test cases: a function of a seed, the same everywhere.
//!
//! Invariant: values are small whole numbers, so that sums of a few hundred products are exact in every type of 16 bits or
//! more and results of any summation order are equal.

use crate::{MimicMatrix, MimicVector};
use bitgraph_generate::Stream;
use bitgraph_semiring::Scalar;
use bitgraph_sparse::Csr;

/// A whole number in -4..=4 (0..=4 where the type has no negative numbers), zero included; any `bool`.
fn value<T: Scalar>(bits: u64) -> T {
    let signed = T::from_f64(-1.0).to_f64() < 0.0;
    let v = (bits % 9) as i32 - 4;
    T::from_f64(f64::from(if signed { v } else { v.abs() }))
}

/// A vector with an entry at about `density` of its positions.
#[must_use]
pub fn vector<T: Scalar>(len: usize, density: f64, seed: u64) -> MimicVector<T> {
    let s = Stream::new(seed, 101);
    MimicVector((0..len as u64).map(|i| (s.unit(2 * i) < density).then(|| value(s.bits(2 * i + 1)))).collect())
}

/// A matrix with an entry at about `density` of its places.
#[must_use]
pub fn matrix<T: Scalar>(rows: usize, columns: usize, density: f64, seed: u64) -> MimicMatrix<T> {
    let s = Stream::new(seed, 102);
    MimicMatrix::from_fn(rows, columns, |i, j| {
        let k = (i * columns + j) as u64;
        (s.unit(2 * k) < density).then(|| value(s.bits(2 * k + 1)))
    })
}

/// Values for the entries of a pattern; entry (i, j) gets the same value in every order of the pattern.
#[must_use]
pub fn values<T: Scalar>(csr: &Csr, seed: u64) -> Vec<T> {
    let s = Stream::new(seed, 103);
    let row = |i: usize| csr.row(i).iter().map(move |&j| value(s.bits((i as u64) << 32 | u64::from(j))));
    (0..csr.nrows()).flat_map(row).collect()
}

/// Positive weights 1..=`max` for the entries of a pattern, the same for (i, j) and (j, i).
#[must_use]
pub fn weights<T: Scalar>(csr: &Csr, max: u32, seed: u64) -> Vec<T> {
    let s = Stream::new(seed, 104);
    let weight = move |i: u64, j: u64| T::from_f64(1.0 + s.below(i.min(j) << 32 | i.max(j), max.into()) as f64);
    (0..csr.nrows()).flat_map(|i| csr.row(i).iter().map(move |&j| weight(i as u64, j.into()))).collect()
}

/// `count` indices below `len`, repeats possible. Empty if `len` is 0.
#[must_use]
pub fn indices(count: usize, len: usize, seed: u64) -> Vec<u32> {
    let s = Stream::new(seed, 105);
    (0..if len == 0 { 0 } else { count as u64 }).map(|i| s.below(i, len as u64) as u32).collect()
}

/// `count` distinct indices below `len`, in random order.
#[must_use]
pub fn distinct_indices(count: usize, len: usize, seed: u64) -> Vec<u32> {
    let s = Stream::new(seed, 106);
    let mut all: Vec<u32> = (0..len as u32).collect();
    for i in (1..len).rev() {
        all.swap(i, s.below(i as u64, i as u64 + 1) as usize);
    }
    all.truncate(count);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deterministic_and_in_range() {
        let v = vector::<u8>(1000, 0.3, 1);
        assert_eq!(v, vector(1000, 0.3, 1));
        assert_ne!(v, vector(1000, 0.3, 2));
        assert!((230..370).contains(&v.nvals()) && v.0.iter().flatten().all(|&x| x <= 4));
        assert!(v.0.contains(&Some(0)));
        let m = matrix::<i8>(40, 50, 0.5, 1);
        assert!(m.entries.iter().flatten().any(|&x| x < 0) && (900..1100).contains(&m.nvals()));
        assert_eq!(matrix::<f32>(3, 3, 1.0, 4).nvals(), 9);
        assert_eq!(vector::<f32>(3, 0.0, 4).nvals(), 0);
        let mut d = distinct_indices(10, 10, 3);
        assert_ne!(d, (0..10).collect::<Vec<_>>());
        d.sort_unstable();
        assert_eq!(d, (0..10).collect::<Vec<_>>());
        assert!(indices(100, 7, 1).iter().all(|&i| i < 7) && indices(5, 0, 1).is_empty());
    }

    #[test]
    fn weights_are_symmetric_and_positive() {
        let (csr, _) = MimicMatrix::from_fn(9, 9, |i, j| ((i + j) % 3 == 0).then_some(1u32)).to_csr();
        let w = weights::<u32>(&csr, 255, 1);
        for i in 0..9 {
            for k in csr.row_range(i) {
                let mirror = csr.position(csr.indices()[k] as usize, i as u32).unwrap();
                assert!(w[k] == w[mirror] && (1..=255).contains(&w[k]));
            }
        }
        assert_eq!(values::<i32>(&csr, 1).len(), csr.nnz());
    }
}
