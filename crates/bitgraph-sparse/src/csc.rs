//! The pattern of a sparse matrix in compressed sparse columns: the CSR form of the transpose, under its own name.
//!
//! # Invariants
//! Those of [`Csr`], with rows and columns exchanged.

use crate::{Buffer, Csr, Offsets, Result};

/// A sparse pattern by columns. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Csc {
    transposed: Csr,
}

impl Csc {
    /// From arrays that come from outside: the offsets of the columns and the rows of each, ascending.
    ///
    /// # Errors
    /// Those of [`Csr::new`], which speaks of the transpose.
    pub fn new(rows: usize, columns: usize, offsets: Offsets, indices: Buffer<u32>) -> Result<Self> {
        Ok(Self { transposed: Csr::new(columns, rows, offsets, indices)? })
    }
    /// By columns. O(nnz) time; peak memory that of [`Csr::transpose`].
    #[must_use]
    pub fn from_csr(csr: &Csr) -> Self {
        Self { transposed: csr.transpose() }
    }
    /// By rows. O(nnz) time; peak memory that of [`Csr::transpose`].
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        self.transposed.transpose()
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.transposed.ncols()
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.transposed.nrows()
    }
    /// The number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.transposed.nnz()
    }
    /// The rows of column `j`, ascending.
    ///
    /// # Panics
    /// If `j` is out of range.
    #[must_use]
    pub fn column(&self, j: usize) -> &[u32] {
        self.transposed.row(j)
    }
    /// The column offsets.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        self.transposed.offsets()
    }
    /// The row ids, column by column.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        self.transposed.indices()
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.transposed.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coo, Duplicates};

    #[test]
    fn columns_and_back() {
        let (a, _) = Coo::pattern(2, 3, vec![0, 1, 1], vec![2, 0, 2]).into_csr(Duplicates::First).unwrap();
        let c = Csc::from_csr(&a);
        assert_eq!((c.nrows(), c.ncols(), c.column(2)), (2, 3, &[0u32, 1][..]));
        assert_eq!(c.to_csr(), a);
    }
}
