//! What a backend is: memory for matrices and vectors. The operations are traits of their own, cut by family.
//!
//! Invariant: shapes, widths and types are checked in [`crate::ops`] before a backend is called, so that an implementation
//! may rely on them.

use crate::Error;
use bitgraph_b2sr::Layout;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Stored, Values, Vector};
use std::fmt::Debug;

/// A device that matrices and vectors live on. Cheap to clone; a clone is the same device.
pub trait Backend: Clone + Debug + Send + Sync + Sized + 'static {
    /// The backend's errors.
    type Error: std::error::Error + Send + Sync + 'static + From<Error>;
    /// A matrix on the device: a handle over one of the formats, cheap to clone.
    type Matrix: Clone + Send + Sync;
    /// A vector on the device; `bool` is packed bits.
    type Vector<T: Stored>: Clone + Send + Sync;
    /// A single value on the device, so that a loop's condition need not cross to the host.
    type Value<T: Stored>: Clone + Send + Sync;

    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Runs `work` with at most so many of the threads that it could use; 0 leaves that to the backend. By default that is all it does.
    fn with_threads<R>(&self, threads: usize, work: impl FnOnce() -> R) -> R {
        let _ = threads;
        work()
    }

    /// Puts a matrix on the device, in a format.
    ///
    /// # Errors
    /// Out of memory, or a matrix that the format cannot hold.
    fn matrix(&self, csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<Self::Matrix, Self::Error>;
    /// Puts a pattern that is laid out already on the device: as it is where the format is its own, through lists otherwise.
    ///
    /// # Errors
    /// As [`Backend::matrix`].
    fn matrix_from(&self, layout: &Layout, values: Option<&Values>, format: FormatKind) -> Result<Self::Matrix, Self::Error> {
        self.matrix(&layout.to_csr(), values, format)
    }
    /// The matrix as CSR on the host.
    ///
    /// # Errors
    /// Out of memory.
    fn matrix_to_host(&self, matrix: &Self::Matrix) -> Result<(Csr, Option<Values>), Self::Error>;
    /// The same matrix without its values: cheap, the pattern is shared.
    fn matrix_pattern(&self, matrix: &Self::Matrix) -> Self::Matrix;
    /// The transposed matrix in the same format.
    ///
    /// # Errors
    /// Out of memory.
    fn matrix_transposed(&self, matrix: &Self::Matrix) -> Result<Self::Matrix, Self::Error> {
        let (csr, values) = self.matrix_to_host(matrix)?;
        let format = self.matrix_format(matrix);
        let Some(values) = values else { return self.matrix(&csr.transpose(), None, format) };
        let (transpose, positions) = csr.transpose_with_positions();
        self.matrix(&transpose, Some(&values.gather(&positions)), format)
    }
    /// Rows and columns.
    fn matrix_shape(&self, matrix: &Self::Matrix) -> (usize, usize);
    /// The number of entries.
    fn matrix_nvals(&self, matrix: &Self::Matrix) -> usize;
    /// The type of the values; `None` for a pattern.
    fn matrix_dtype(&self, matrix: &Self::Matrix) -> Option<DType>;
    /// The storage format.
    fn matrix_format(&self, matrix: &Self::Matrix) -> FormatKind;
    /// Bytes on the device.
    fn matrix_bytes(&self, matrix: &Self::Matrix) -> u64;

    /// Puts a vector on the device.
    ///
    /// # Errors
    /// Out of memory.
    fn vector<T: Stored>(&self, host: Vector<T>) -> Result<Self::Vector<T>, Self::Error>;
    /// The vector on the host.
    ///
    /// # Errors
    /// Out of memory.
    fn vector_to_host<T: Stored>(&self, vector: &Self::Vector<T>) -> Result<Vector<T>, Self::Error>;
    /// The number of positions.
    fn vector_len<T: Stored>(&self, vector: &Self::Vector<T>) -> usize;
    /// Waits for a value and brings it to the host.
    ///
    /// # Errors
    /// Whatever went wrong in the work before it.
    fn read<T: Stored>(&self, value: &Self::Value<T>) -> Result<T, Self::Error>;
}
