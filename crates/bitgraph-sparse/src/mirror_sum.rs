//! A test of symmetry in one pass, for claims that come from outside.
//!
//! Every vertex v has two pseudo-random numbers a(v) and b(v), and a matrix A the sum of A(u, v) (a(u) b(v) - b(u) a(v)) over its
//! entries, in 64-bit arithmetic; with values, A(u, v) is a hash of the value. The sum of a symmetric matrix is 0, because opposite entries
//! cancel. That of any other is 0 with a chance of about 2^-32, as a and b have 32 bits; the key is drawn anew for each test, so that a
//! file cannot be made to pass. (Freivalds' test of A = A^T; "Probabilistic machines can use less running time", IFIP 1977.)
//!
//! Invariant: a sum does not depend on the order of the entries, so that every format can count its own in parallel.

use crate::{Csr, Values, parallel, with_values};
use bitgraph_semiring::Scalar;
use std::hash::{BuildHasher, RandomState};

/// The numbers of one test.
#[derive(Clone, Copy, Debug)]
pub struct MirrorSum {
    key: u64,
}

impl Default for MirrorSum {
    fn default() -> Self {
        Self { key: RandomState::new().hash_one(0) }
    }
}

impl MirrorSum {
    /// A test with a key that cannot be foreseen.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// a and b of a vertex.
    #[inline(always)]
    fn numbers(self, vertex: u32) -> (u64, u64) {
        let x = mixed(u64::from(vertex) ^ self.key);
        (x >> 32, x & 0xffff_ffff)
    }
    /// The sum of entries of one row without values.
    #[inline]
    #[must_use]
    pub fn row(self, row: u32, columns: impl Iterator<Item = u32>) -> u64 {
        self.weighted_row(row, columns.map(|c| (c, 1)))
    }
    /// The sum of entries of one row: column and factor of each.
    #[inline(always)]
    fn weighted_row(self, row: u32, entries: impl Iterator<Item = (u32, u64)>) -> u64 {
        let (mut left, mut right) = (0u64, 0u64);
        for (column, factor) in entries {
            let (a, b) = self.numbers(column);
            left = left.wrapping_add(factor.wrapping_mul(b));
            right = right.wrapping_add(factor.wrapping_mul(a));
        }
        let (a, b) = self.numbers(row);
        a.wrapping_mul(left).wrapping_sub(b.wrapping_mul(right))
    }
    /// The sum of a matrix. O(nnz), parallel.
    #[must_use]
    pub fn csr(self, csr: &Csr, values: Option<&Values>) -> u64 {
        match values {
            None => self.rows(csr.nrows(), |u| self.row(u as u32, csr.row(u).iter().copied())),
            Some(values) => with_values!(values, v => {
                let row = |u| self.weighted_row(u as u32, csr.row(u).iter().zip(&v[csr.row_range(u)]).map(|(&c, x)| (c, self.factor(x))));
                self.rows(csr.nrows(), row)
            }),
        }
    }
    /// The sum of `count` rows, given that of each. Parallel.
    #[must_use]
    pub fn rows(self, count: usize, row: impl Fn(usize) -> u64 + Sync) -> u64 {
        parallel::reduce(count, 1024, |rows| rows.map(&row).fold(0, u64::wrapping_add), u64::wrapping_add)
    }
    /// What stands for a value: equal ones, the two zeros too, have one.
    #[inline(always)]
    fn factor<T: Scalar + bytemuck::NoUninit>(self, value: &T) -> u64 {
        let mut bits = [0u8; 8];
        if *value != T::ZERO {
            let bytes = bytemuck::bytes_of(value);
            bits[..bytes.len()].copy_from_slice(bytes);
        }
        // Odd, so that it has an inverse.
        mixed(u64::from_le_bytes(bits) ^ self.key.rotate_left(32)) | 1
    }
}

/// Two rounds of multiply and shift.
#[inline(always)]
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

impl Csr {
    /// Whether pattern and values equal their transpose, as far as a [`MirrorSum`] tells: a symmetric matrix always passes, another with a
    /// chance of about 2^-32. O(nnz) in one pass over the arrays, parallel; [`Csr::is_symmetric_with`] is certain and slower.
    ///
    /// # Panics
    /// If there are fewer values than entries.
    #[must_use]
    pub fn seems_symmetric(&self, values: Option<&Values>) -> bool {
        self.is_square() && MirrorSum::new().csr(self, values) == 0
    }
}

#[cfg(test)]
mod tests {
    use crate::{Coo, Csr, Duplicates, Values};

    fn build(n: usize, entries: &[(u32, u32)]) -> Csr {
        let (rows, columns) = entries.iter().copied().unzip();
        Coo::pattern(n, n, rows, columns).into_csr(Duplicates::First).unwrap().0
    }

    #[test]
    fn agrees_with_the_certain_test() {
        let mut seed = 7u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % n) as u32
        };
        let mut found = [0; 2];
        for round in 0..400 {
            let n = 2 + next(9);
            let mut entries: Vec<(u32, u32)> = (0..next(12)).map(|_| (next(n.into()), next(n.into()))).collect();
            if round % 2 == 0 {
                entries.extend(entries.clone().iter().map(|&(u, v)| (v, u)));
            }
            let csr = build(n as usize, &entries);
            assert_eq!(csr.seems_symmetric(None), csr.is_symmetric(), "{entries:?}");
            found[usize::from(csr.is_symmetric())] += 1;
            // A cycle has every degree in common with its transpose.
            let values = Values::from_vec((0..csr.nnz()).map(|_| f64::from(next(2)) - 0.5).collect::<Vec<_>>());
            assert_eq!(csr.seems_symmetric(Some(&values)), csr.is_symmetric_with(Some(&values)), "{entries:?}");
        }
        assert!(found.iter().all(|&f| f > 50), "{found:?}");
        assert!(!build(3, &[(0, 1), (1, 2), (2, 0)]).seems_symmetric(None));
        assert!(!Csr::empty(2, 3).unwrap().seems_symmetric(None));
    }

    #[test]
    fn values_count_to_the_last_bit() {
        let csr = build(2, &[(0, 1), (1, 0)]);
        let seems = |values: Values| csr.seems_symmetric(Some(&values));
        assert!(seems(vec![1i64 << 60, 1 << 60].into()) && !seems(vec![1i64 << 60, (1 << 60) + 1].into()));
        assert!(seems(vec![0.0f64, -0.0].into()) && !seems(vec![0.0f64, f64::MIN_POSITIVE].into()));
        assert!(seems(vec![true, true].into()) && !seems(vec![true, false].into()));
    }
}
