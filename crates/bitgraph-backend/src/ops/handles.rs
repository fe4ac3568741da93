//! Methods of vectors and matrices that are operations, or that operations take a handle by.

use super::backend::{MatrixOps, VectorOps};
use super::movement::assign_at;
use super::operation::Truth;
use crate::{Backend, Matrix, Vector, same_type};
use bitgraph_sparse::Stored;
use std::sync::Arc;

impl<B: Backend, T: Stored> Vector<B, T> {
    /// A vector with entries at some positions; a later one replaces an earlier one. Only these cross to the device.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange), or out of memory.
    pub fn from_entries(backend: &B, len: usize, entries: impl IntoIterator<Item = (u32, T)>) -> Result<Self, B::Error>
    where
        B: VectorOps,
    {
        let (indices, values): (Vec<u32>, Vec<T>) = entries.into_iter().unzip();
        let mut vector = Self::empty(backend, len)?;
        assign_at(&Self::from_vec(backend, values)?, &indices).into(&mut vector)?;
        Ok(vector)
    }
    /// As [`Vector::from_entries`], with one value for all of them.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange), or out of memory.
    pub fn from_indices(backend: &B, len: usize, indices: &[u32], value: T) -> Result<Self, B::Error>
    where
        B: VectorOps,
    {
        let mut vector = Self::empty(backend, len)?;
        assign_at(&Self::filled(backend, indices.len(), value)?, indices).into(&mut vector)?;
        Ok(vector)
    }
    /// What decides where this vector, as a mask, lets a result be written, and whether that is by presence: its own bits if it has some.
    pub(crate) fn truth(&self, structural: bool) -> Result<Truth<B>, B::Error> {
        match same_type(self.share()) {
            Some(bits) => Ok((bits, structural)),
            None => Ok((Arc::new(self.backend().vector_truth(self.raw(), structural)?), false)),
        }
    }
}

impl<B: Backend> Matrix<B> {
    /// The square matrix, as lists, whose entry (i, i) is the vector's entry at i, made on the device.
    ///
    /// # Errors
    /// Out of memory, or more rows than ids reach.
    pub fn diagonal<T: Stored>(vector: &Vector<B, T>) -> Result<Self, B::Error>
    where
        B: MatrixOps,
    {
        Ok(Self::from_raw(vector.backend(), vector.backend().matrix_diagonal(vector.raw())?))
    }
    /// The same matrix with its values converted to `T`, rounded and saturated; a pattern stays one, and what is of that type is shared.
    ///
    /// # Errors
    /// Out of memory.
    pub fn cast<T: Stored>(&self) -> Result<Self, B::Error>
    where
        B: MatrixOps,
    {
        match self.dtype() {
            Some(found) if found != T::DTYPE => Ok(Self::from_raw(self.backend(), self.backend().matrix_cast::<T>(self.raw())?)),
            _ => Ok(self.clone()),
        }
    }
}
