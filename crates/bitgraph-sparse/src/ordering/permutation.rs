//! A renumbering of vertices.
//!
//! # Invariants
//! `new_of_old` is a bijection on `0..len`; `old_of_new` is its inverse.

use crate::ahead::{fetch, scattered};
use crate::{Buffer, Csr, Error, OffsetInt, Offsets, Result, Values, parallel, with_offsets};

/// A renumbering: vertex `old` becomes `new_of_old[old]`. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutation {
    new_of_old: Buffer<u32>,
    old_of_new: Buffer<u32>,
}

impl Permutation {
    /// From the new number of every old vertex.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a number is out of range or taken twice.
    pub fn from_new_of_old(new_of_old: Vec<u32>) -> Result<Self> {
        let inverse = invert(&new_of_old)?;
        Ok(Self { new_of_old: new_of_old.into(), old_of_new: inverse.into() })
    }
    /// From the old vertices in their new order.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a vertex is out of range or listed twice.
    pub fn from_old_of_new(old_of_new: Vec<u32>) -> Result<Self> {
        let inverse = invert(&old_of_new)?;
        Ok(Self { new_of_old: inverse.into(), old_of_new: old_of_new.into() })
    }
    /// From an order that is known to list every vertex once, for the orderings. O(n).
    ///
    /// # Panics
    /// If a vertex is out of range.
    pub(crate) fn of_valid_order(old_of_new: Vec<u32>) -> Self {
        let mut new_of_old = vec![0u32; old_of_new.len()];
        for (new, &old) in old_of_new.iter().enumerate() {
            new_of_old[old as usize] = new as u32;
        }
        debug_assert!(invert(&old_of_new).is_ok());
        Self { new_of_old: new_of_old.into(), old_of_new: old_of_new.into() }
    }
    /// The renumbering that undoes this one, sharing its arrays.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { new_of_old: self.old_of_new.clone(), old_of_new: self.new_of_old.clone() }
    }
    /// The number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.new_of_old.len()
    }
    /// Whether there are no vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.new_of_old.is_empty()
    }
    /// The new number of every old vertex.
    #[must_use]
    pub fn new_of_old(&self) -> &[u32] {
        &self.new_of_old
    }
    /// The old number of every new vertex.
    #[must_use]
    pub fn old_of_new(&self) -> &[u32] {
        &self.old_of_new
    }
    /// A renumbered square pattern: entry (i, j) becomes (new(i), new(j)). O(nnz log degree), parallel.
    ///
    /// # Errors
    /// [`Error::Shape`] if the pattern is not square of this size.
    pub fn apply(&self, csr: &Csr) -> Result<Csr> {
        self.apply_with(csr, None).map(|(a, _)| a)
    }
    /// A renumbered square pattern and its values.
    ///
    /// # Errors
    /// [`Error::Shape`] if the pattern is not square of this size.
    pub fn apply_with(&self, csr: &Csr, values: Option<&Values>) -> Result<(Csr, Option<Values>)> {
        let n = self.len();
        if csr.nrows() != n || csr.ncols() != n {
            return Err(Error::Shape {
                expected_rows: n as u64,
                expected_columns: n as u64,
                found_rows: csr.nrows() as u64,
                found_columns: csr.ncols() as u64,
            });
        }
        let counts = parallel::map(&self.old_of_new, |&v| csr.degree(v as usize));
        let offsets = crate::csr::prefix(&counts);
        let wide: Vec<u64> = offsets.iter().map(|&o| o as u64).collect();
        // Near each other in the old order, they are mostly there in time.
        let (source, far) = (csr.indices(), scattered(csr));
        let Some(values) = values else {
            let mut indices = vec![0u32; csr.nnz()];
            parallel::rows_mut(&wide, &mut indices, |new, row| {
                if far {
                    self.ask_ahead(csr, new);
                }
                for (slot, &c) in row.iter_mut().zip(csr.row(self.old_of_new[new] as usize)) {
                    *slot = self.new_of_old[c as usize];
                }
                row.sort_unstable();
            });
            return Ok((Csr::from_valid(n, n, Offsets::from_usizes(&offsets), indices.into()), None));
        };
        let mut pairs = vec![(0u32, 0usize); csr.nnz()];
        parallel::rows_mut(&wide, &mut pairs, |new, row| {
            if far {
                self.ask_ahead(csr, new);
            }
            for (slot, k) in row.iter_mut().zip(csr.row_range(self.old_of_new[new] as usize)) {
                *slot = (self.new_of_old[source[k] as usize], k);
            }
            row.sort_unstable();
        });
        let indices = parallel::map(&pairs, |p| p.0);
        let positions = parallel::map(&pairs, |p| p.1);
        drop(pairs);
        let values = values.gather(&positions);
        Ok((Csr::from_valid(n, n, Offsets::from_usizes(&offsets), indices.into()), Some(values)))
    }
    /// Asks for what the rows of new numbers further on will want: where they were, their entries, and the new numbers of these.
    #[inline(always)]
    fn ask_ahead(&self, csr: &Csr, new: usize) {
        let old = |ahead: usize| self.old_of_new.get(new + ahead).map(|&v| v as usize);
        with_offsets!(csr.offsets(), o => {
            if let Some(v) = old(3 * AHEAD) {
                fetch(o.as_ptr().wrapping_add(v));
            }
            if let Some(v) = old(2 * AHEAD) {
                fetch(csr.indices().as_ptr().wrapping_add(o[v].index()));
                fetch(csr.indices().as_ptr().wrapping_add(o[v].index() + ASKED - 1));
            }
            if let Some(v) = old(AHEAD) {
                for &c in csr.row(v).iter().take(ASKED) {
                    fetch(self.new_of_old.as_ptr().wrapping_add(c as usize));
                }
            }
        });
    }
    /// Values indexed by new numbers, put back in the order of the old ones. O(n).
    ///
    /// # Panics
    /// If there are fewer values than vertices.
    #[must_use]
    pub fn restore<T: Copy + Send + Sync>(&self, by_new: &[T]) -> Vec<T> {
        parallel::map(&self.new_of_old, |&new| by_new[new as usize])
    }
    /// Values indexed by old numbers, put in the order of the new ones. O(n).
    ///
    /// # Panics
    /// If there are fewer values than vertices.
    #[must_use]
    pub fn permute<T: Copy + Send + Sync>(&self, by_old: &[T]) -> Vec<T> {
        parallel::map(&self.old_of_new, |&old| by_old[old as usize])
    }
}

/// Rows further on that are asked for, and entries of each.
const AHEAD: usize = 8;
const ASKED: usize = 16;

fn invert(map: &[u32]) -> Result<Vec<u32>> {
    let mut inverse = vec![u32::MAX; map.len()];
    for (i, &target) in map.iter().enumerate() {
        match inverse.get_mut(target as usize) {
            Some(slot) if *slot == u32::MAX => *slot = i as u32,
            Some(_) => return Err(Error::Invalid { array: "permutation", position: i as u64, what: "a number is taken twice" }),
            None => return Err(Error::Invalid { array: "permutation", position: i as u64, what: "a number is out of range" }),
        }
    }
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coo, Duplicates};

    #[test]
    fn applies_and_restores() {
        let (a, _) = Coo::pattern(3, 3, vec![0, 1, 1, 2], vec![1, 0, 2, 1]).into_csr(Duplicates::First).unwrap();
        let p = Permutation::from_new_of_old(vec![2, 0, 1]).unwrap();
        let (b, v) = p.apply_with(&a, Some(&Values::from_vec(vec![1i32, 2, 3, 4]))).unwrap();
        assert_eq!((b.row(0), b.row(1), b.row(2)), (&[1u32, 2][..], &[0u32][..], &[0u32][..]));
        assert_eq!(v.unwrap(), Values::from_vec(vec![3i32, 2, 4, 1]));
        assert_eq!(p.restore(&p.permute(&[10, 20, 30])), vec![10, 20, 30]);
        assert_eq!(p.apply(&a).unwrap(), b);
        assert!(Permutation::from_new_of_old(vec![0, 0]).is_err());
        assert!(Permutation::from_new_of_old(vec![0, 2]).is_err());
    }

    /// Of a graph whose rows are asked for ahead: there and back is the same.
    #[test]
    fn scattered_rows_come_back() {
        let n = 1usize << 16;
        let ends: Vec<u32> = (0..n).map(|v| ((v + n / 2 + 3) % n) as u32).collect();
        let ring = Csr::from_valid(n, n, Offsets::from_usizes(&(0..=n).collect::<Vec<_>>()), ends.into());
        assert!(scattered(&ring));
        let values = Values::from_vec((0..n as u32).collect());
        let there = Permutation::from_new_of_old((0..n as u32).map(|v| v.wrapping_mul(40_503) % n as u32).collect()).unwrap();
        let back = Permutation::from_new_of_old(there.old_of_new().to_vec()).unwrap();
        let (far, moved) = there.apply_with(&ring, Some(&values)).unwrap();
        assert!(far == there.apply(&ring).unwrap() && far != ring);
        let (near, restored) = back.apply_with(&far, moved.as_ref()).unwrap();
        assert!(near == ring && restored.unwrap() == values);
    }
}
