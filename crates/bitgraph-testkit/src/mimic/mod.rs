//! The dense mimics: vectors and matrices as plain arrays of optional values, and every operation on them, word for word as the
//! GraphBLAS C specification defines it.
//!
//! Invariant: an operation computes its result `t` in full; it is written back by the one rule of [`write()`].

mod elementwise;
mod movement;
mod product;
mod write;

pub use elementwise::{
    apply, apply_matrix, ewise_add, ewise_add_matrix, ewise_mult, ewise_mult_matrix, reduce, reduce_matrix, reduce_rows, select,
    select_matrix,
};
pub use movement::{assign, assign_matrix, extract, extract_matrix};
pub use product::{kronecker, mxm, mxm_reduce, mxv};
pub use write::{Accumulate, MimicMask, accumulate, write};

use bitgraph_semiring::Scalar;
use bitgraph_sparse::{Csr, Offsets, Stored, Values, Vector};

/// A vector: one optional value per position.
#[derive(Clone, Debug, PartialEq)]
pub struct MimicVector<T>(pub Vec<Option<T>>);

/// A matrix: one optional value per place, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct MimicMatrix<T> {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The entry at (i, j) is element `i * columns + j`.
    pub entries: Vec<Option<T>>,
}

impl<T: Scalar> MimicVector<T> {
    /// A vector without entries.
    #[must_use]
    pub fn empty(len: usize) -> Self {
        Self(vec![None; len])
    }
    /// A vector with an entry everywhere.
    #[must_use]
    pub fn full(values: &[T]) -> Self {
        Self(values.iter().copied().map(Some).collect())
    }
    /// The number of positions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there are no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        self.0.iter().flatten().count()
    }
    /// The selection of this vector as a mask.
    #[must_use]
    pub fn mask(&self, mode: bitgraph_sparse::MaskMode) -> MimicMask {
        MimicMask::new(&self.0, mode)
    }
}

impl<T: Stored> MimicVector<T> {
    /// From a sparse vector.
    #[must_use]
    pub fn from_vector(v: &Vector<T>) -> Self {
        Self((0..v.len()).map(|i| v.get(i)).collect())
    }
    /// As a sparse vector: full if every position has an entry.
    #[must_use]
    pub fn to_vector(&self) -> Vector<T> {
        if let Some(values) = self.0.iter().copied().collect::<Option<Vec<T>>>() {
            return Vector::from_vec(values);
        }
        let mut v = Vector::empty(self.len());
        for (i, entry) in self.0.iter().enumerate() {
            if let Some(value) = entry {
                v.insert(i, *value);
            }
        }
        v
    }
}

impl<T: Scalar> MimicMatrix<T> {
    /// A matrix without entries.
    #[must_use]
    pub fn empty(rows: usize, columns: usize) -> Self {
        Self { rows, columns, entries: vec![None; rows * columns] }
    }
    /// From a list of entries; a later one replaces an earlier one.
    #[must_use]
    pub fn from_entries(rows: usize, columns: usize, entries: &[(usize, usize, T)]) -> Self {
        let mut m = Self::empty(rows, columns);
        for &(i, j, value) in entries {
            m.set(i, j, Some(value));
        }
        m
    }
    /// From a pattern with values, or with the value one at every entry.
    #[must_use]
    pub fn from_csr(csr: &Csr, values: Option<&Values>) -> Self {
        let values = values.map(|v| v.as_slice::<T>().expect("values of the mimic's type"));
        let mut m = Self::empty(csr.nrows(), csr.ncols());
        for i in 0..csr.nrows() {
            for k in csr.row_range(i) {
                m.set(i, csr.indices()[k] as usize, Some(values.map_or(T::ONE, |v| v[k])));
            }
        }
        m
    }
    /// As a pattern and its values.
    #[must_use]
    pub fn to_csr(&self) -> (Csr, Values) {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..self.rows {
            for j in 0..self.columns {
                if let Some(v) = self.get(i, j) {
                    indices.push(j as u32);
                    values.push(v);
                }
            }
            offsets.push(indices.len());
        }
        let csr = Csr::new(self.rows, self.columns, Offsets::from_usizes(&offsets), indices.into()).expect("a mimic is valid");
        (csr, Values::from_vec(values))
    }
    /// The entry at (i, j).
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> Option<T> {
        assert!(i < self.rows && j < self.columns, "({i}, {j}) lies in {} x {}", self.rows, self.columns);
        self.entries[i * self.columns + j]
    }
    /// Sets or removes the entry at (i, j).
    pub fn set(&mut self, i: usize, j: usize, entry: Option<T>) {
        assert!(i < self.rows && j < self.columns, "({i}, {j}) lies in {} x {}", self.rows, self.columns);
        self.entries[i * self.columns + j] = entry;
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        self.entries.iter().flatten().count()
    }
    /// The transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self.get(j, i))
    }
    /// The selection of this matrix as a mask.
    #[must_use]
    pub fn mask(&self, mode: bitgraph_sparse::MaskMode) -> MimicMask {
        MimicMask::new(&self.entries, mode)
    }
    /// A matrix from a function of the place.
    #[must_use]
    pub fn from_fn(rows: usize, columns: usize, mut f: impl FnMut(usize, usize) -> Option<T>) -> Self {
        let entries = (0..rows * columns).map(|k| f(k / columns, k % columns)).collect();
        Self { rows, columns, entries }
    }
}
