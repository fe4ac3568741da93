//! What a backend is: memory for matrices and vectors. The operations are traits of their own, cut by family.
//!
//! Invariant: shapes, widths and types are checked in [`crate::ops`] before a backend is called, so that an implementation
//! may rely on them. Users hold [`Matrix`](crate::Matrix), [`Vector`](crate::Vector) and [`Value`](crate::Value), which know their backend.

use crate::Error;
use bitgraph_b2sr::Layout;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Cancelled, Csr, FormatKind, Stored, Values, Vector};
use std::fmt::Debug;

/// A device that matrices and vectors live on. Cheap to clone; a clone is the same device.
pub trait Backend: Clone + Debug + Send + Sync + Sized + 'static {
    /// The backend's errors; those of the contracts, and a stop through a [`Control`](crate::Control), are among them.
    type Error: std::error::Error + Send + Sync + 'static + From<Error> + From<Cancelled>;
    /// What [`Matrix`](crate::Matrix) holds: a matrix on the device in one of the formats, cheap to clone.
    type Matrix: Clone + Send + Sync + 'static;
    /// What [`Vector`](crate::Vector) holds: a vector on the device; `bool` is packed bits.
    type Vector<T: Stored>: Clone + Send + Sync + 'static;
    /// What [`Value`](crate::Value) holds: a single value on the device.
    type Value<T: Stored>: Clone + Send + Sync + 'static;

    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Whether operations of this handle may take what `other` made: both reach the same memory, and the work of both is done in one order.
    /// Clones always may. Operations refuse operands of a handle that may not be mixed with that of their output.
    fn shares_with(&self, other: &Self) -> bool;
    /// The handle in words, for errors: handles that do not share have different ones.
    fn label(&self) -> String {
        self.name().to_owned()
    }

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
    /// A pattern without entries.
    ///
    /// # Errors
    /// Out of memory, or more rows or columns than ids reach.
    fn matrix_empty(&self, rows: usize, columns: usize, format: FormatKind) -> Result<Self::Matrix, Self::Error>;
    /// The matrix as CSR on the host.
    ///
    /// # Errors
    /// Out of memory.
    fn matrix_to_host(&self, matrix: &Self::Matrix) -> Result<(Csr, Option<Values>), Self::Error>;
    /// The same matrix as one of few products, whose rows have so many entries at most: a backend makes nothing for it that only many products pay
    /// for, and asks nothing of the device to choose by. By default it is as any other.
    fn matrix_short_lived(&self, matrix: Self::Matrix, longest: u32) -> Self::Matrix {
        let _ = longest;
        matrix
    }
    /// The same matrix without its values: cheap, the pattern is shared.
    fn matrix_pattern(&self, matrix: &Self::Matrix) -> Self::Matrix;
    /// The transposed matrix in the same format.
    ///
    /// # Errors
    /// Out of memory.
    fn matrix_transposed(&self, matrix: &Self::Matrix) -> Result<Self::Matrix, Self::Error>;
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
    /// A vector without entries, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    fn vector_empty<T: Stored>(&self, len: usize) -> Result<Self::Vector<T>, Self::Error>;
    /// A full vector of one value, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    fn vector_filled<T: Stored>(&self, len: usize, value: T) -> Result<Self::Vector<T>, Self::Error>;
    /// 0, 1, 2, ... up to `len`, which is at most 2^32, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    fn vector_iota(&self, len: usize) -> Result<Self::Vector<u32>, Self::Error>;
    /// The number of entries; waits.
    ///
    /// # Errors
    /// Whatever went wrong in the work before it.
    fn vector_nvals<T: Stored>(&self, vector: &Self::Vector<T>) -> Result<usize, Self::Error>;
    /// Bits that are true where there is an entry, or, unless `structural`, one that is not zero.
    ///
    /// # Errors
    /// Out of memory.
    fn vector_truth<T: Stored>(&self, vector: &Self::Vector<T>, structural: bool) -> Result<Self::Vector<bool>, Self::Error>;
    /// The number of positions.
    fn vector_len<T: Stored>(&self, vector: &Self::Vector<T>) -> usize;
    /// Waits for a value and brings it to the host.
    ///
    /// # Errors
    /// Whatever went wrong in the work before it.
    fn read<T: Stored>(&self, value: &Self::Value<T>) -> Result<T, Self::Error>;
}
