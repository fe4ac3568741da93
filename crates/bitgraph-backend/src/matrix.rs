//! Matrices as users hold them: what is on the device, and the backend that it belongs to.
//!
//! Invariant: a handle is cheap to clone, and clones share what is computed from a matrix at first use.

use crate::{Backend, Error};
use bitgraph_b2sr::Layout;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Stored, Values};
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::ops::Deref;

/// A matrix on a backend, of values or a pattern alone, in one of the formats. It dereferences to the backend's own form.
pub struct Matrix<B: Backend> {
    backend: B,
    raw: B::Matrix,
    /// Whether the pattern is known to equal its transpose.
    symmetric: bool,
}

impl<B: Backend> Matrix<B> {
    /// Puts a matrix on the device, in a format. O(nnz).
    ///
    /// # Errors
    /// Out of memory, or a matrix that the format cannot hold.
    pub fn new(backend: &B, csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<Self, B::Error> {
        Ok(Self::from_raw(backend, backend.matrix(csr, values, format)?))
    }
    /// As [`Matrix::new`], of a pattern that is laid out already.
    ///
    /// # Errors
    /// As [`Matrix::new`].
    pub fn from_layout(backend: &B, layout: &Layout, values: Option<&Values>, format: FormatKind) -> Result<Self, B::Error> {
        Ok(Self::from_raw(backend, backend.matrix_from(layout, values, format)?))
    }
    /// A pattern without entries, made on the device.
    ///
    /// # Errors
    /// Out of memory, or more rows or columns than ids reach.
    pub fn empty(backend: &B, rows: usize, columns: usize, format: FormatKind) -> Result<Self, B::Error> {
        Ok(Self::from_raw(backend, backend.matrix_empty(rows, columns, format)?))
    }
    /// The same matrix as one of few products, such as a part of a larger one that is trained on once: nothing is made for it that only many
    /// products pay for. Rows have `longest` entries at most; the order of sums depends on that bound, and on no row.
    #[must_use]
    pub fn short_lived(self, longest: u32) -> Self {
        Self { raw: self.backend.matrix_short_lived(self.raw, longest), ..self }
    }
    /// The same matrix, of a pattern that equals its transpose, as [`Csr::is_symmetric`] tells: the caller answers for it. What goes over the
    /// pattern's transpose alone then goes over the pattern, and no transpose is made and kept. One that is not square is not symmetric, whoever says so.
    #[must_use]
    pub fn with_symmetric_pattern(self) -> Self {
        let (rows, columns) = self.shape();
        Self { symmetric: rows == columns, ..self }
    }
    /// Whether the pattern is known to equal its transpose: [`Matrix::with_symmetric_pattern`].
    #[must_use]
    pub fn has_symmetric_pattern(&self) -> bool {
        self.symmetric
    }
    /// The handle of what a backend made.
    pub fn from_raw(backend: &B, raw: B::Matrix) -> Self {
        Self { backend: backend.clone(), raw, symmetric: false }
    }
    /// The backend's own form.
    #[must_use]
    pub fn raw(&self) -> &B::Matrix {
        &self.raw
    }
    pub(crate) fn raw_mut(&mut self) -> &mut B::Matrix {
        // What is written may have another pattern.
        self.symmetric = false;
        &mut self.raw
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// The matrix as CSR on the host. O(nnz).
    ///
    /// # Errors
    /// Out of memory.
    pub fn to_host(&self) -> Result<(Csr, Option<Values>), B::Error> {
        self.backend.matrix_to_host(&self.raw)
    }
    /// The same matrix without its values: cheap, the pattern is shared.
    #[must_use]
    pub fn pattern(&self) -> Self {
        Self { symmetric: self.symmetric, ..Self::from_raw(&self.backend, self.backend.matrix_pattern(&self.raw)) }
    }
    /// The transposed matrix in the same format, as a matrix of its own. As an operand a transpose is a view:
    /// [`transpose_a`](crate::ops::Operation::transpose_a).
    ///
    /// # Errors
    /// Out of memory.
    pub fn transposed(&self) -> Result<Self, B::Error> {
        Ok(Self { symmetric: self.symmetric, ..Self::from_raw(&self.backend, self.backend.matrix_transposed(&self.raw)?) })
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.backend.matrix_shape(&self.raw)
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        self.backend.matrix_nvals(&self.raw)
    }
    /// The type of the values; `None` for a pattern.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        self.backend.matrix_dtype(&self.raw)
    }
    /// The storage format.
    #[must_use]
    pub fn format(&self) -> FormatKind {
        self.backend.matrix_format(&self.raw)
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.backend.matrix_bytes(&self.raw)
    }
    /// The matrix as an operand of values of type `T`, for operations whose operator does not say the type. A pattern fits every type: all
    /// of its values are 1.
    #[must_use]
    pub fn typed<T: Stored>(&self) -> Typed<B, T> {
        Typed { matrix: self.clone(), transposed: false, element: PhantomData }
    }
}

impl<B: Backend> Clone for Matrix<B> {
    fn clone(&self) -> Self {
        Self { backend: self.backend.clone(), raw: self.raw.clone(), symmetric: self.symmetric }
    }
}
impl<B: Backend> Deref for Matrix<B> {
    type Target = B::Matrix;
    fn deref(&self) -> &B::Matrix {
        &self.raw
    }
}
impl<B: Backend> Debug for Matrix<B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, columns) = self.shape();
        write!(f, "Matrix({rows} x {columns}, {} entries, {} on {})", self.nvals(), self.format(), self.backend.name())
    }
}

/// A matrix as an operand: the type its values are of, and whether it is seen transposed. Made by [`Matrix::typed`].
pub struct Typed<B: Backend, T> {
    matrix: Matrix<B>,
    transposed: bool,
    element: PhantomData<fn() -> T>,
}

impl<B: Backend, T: Stored> Typed<B, T> {
    pub(crate) fn backend(&self) -> &B {
        &self.matrix.backend
    }
    pub(crate) fn flip(&mut self) {
        self.transposed = !self.transposed;
    }
    /// Rows and columns, as seen.
    pub(crate) fn shape(&self) -> (usize, usize) {
        let (rows, columns) = self.matrix.shape();
        if self.transposed { (columns, rows) } else { (rows, columns) }
    }
    pub(crate) fn format(&self) -> FormatKind {
        self.matrix.format()
    }
    pub(crate) fn view(&self) -> View<'_, B> {
        View { matrix: &self.matrix.raw, transposed: self.transposed }
    }
    /// Refuses values of another type; a pattern fits every type.
    pub(crate) fn check(&self, operation: &'static str) -> Result<(), Error> {
        match self.matrix.dtype() {
            Some(found) if found != T::DTYPE => Err(Error::Type { operation, expected: T::DTYPE, found }),
            _ => Ok(()),
        }
    }
}

/// A matrix as an operand, seen transposed perhaps.
pub struct View<'a, B: Backend> {
    /// The matrix.
    pub matrix: &'a B::Matrix,
    /// Whether its transpose is meant.
    pub transposed: bool,
}
// Derived impls would ask for `B: Copy`.
impl<B: Backend> Clone for View<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for View<'_, B> {}
