//! Masks: which positions of an output may be written.

use crate::Backend;
use bitgraph_sparse::MaskMode;

/// A mask over a vector. It is a boolean vector; make one of another type's with [`apply`](crate::ops::apply) and
/// [`IfNonZero`](bitgraph_semiring::IfNonZero).
pub struct VectorMask<'a, B: Backend> {
    /// The vector.
    pub vector: &'a B::Vector<bool>,
    /// How it selects.
    pub mode: MaskMode,
}

/// A mask over a matrix. A pattern's entries all count as true.
pub struct MatrixMask<'a, B: Backend> {
    /// The matrix.
    pub matrix: &'a B::Matrix,
    /// How it selects.
    pub mode: MaskMode,
}

impl<'a, B: Backend> VectorMask<'a, B> {
    /// Selects the positions that hold true.
    pub fn value(vector: &'a B::Vector<bool>) -> Self {
        Self { vector, mode: MaskMode::VALUE }
    }
    /// Selects the positions that hold an entry, whatever its value.
    pub fn structure(vector: &'a B::Vector<bool>) -> Self {
        Self { vector, mode: MaskMode::STRUCTURE }
    }
    /// The opposite selection.
    #[must_use]
    pub fn complement(mut self) -> Self {
        self.mode.complement = !self.mode.complement;
        self
    }
}
impl<'a, B: Backend> MatrixMask<'a, B> {
    /// Selects the positions that hold a non-zero value.
    pub fn value(matrix: &'a B::Matrix) -> Self {
        Self { matrix, mode: MaskMode::VALUE }
    }
    /// Selects the positions that hold an entry, whatever its value.
    pub fn structure(matrix: &'a B::Matrix) -> Self {
        Self { matrix, mode: MaskMode::STRUCTURE }
    }
    /// The opposite selection.
    #[must_use]
    pub fn complement(mut self) -> Self {
        self.mode.complement = !self.mode.complement;
        self
    }
}

// Derived impls would ask for `B: Copy`.
impl<B: Backend> Clone for VectorMask<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for VectorMask<'_, B> {}
impl<B: Backend> Clone for MatrixMask<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for MatrixMask<'_, B> {}
