//! Vectors and single values as users hold them: what is on the device, and the backend that it belongs to.
//!
//! Invariant: a handle is cheap to clone. Clones share their content until one of them is written to.

use crate::{Backend, Error};
use bitgraph_sparse::{Stored, Vector as HostVector};
use std::fmt::{Debug, Formatter};
use std::ops::Deref;
use std::sync::Arc;

/// A vector on a backend: a value, or none, at each position. It dereferences to the backend's own form.
pub struct Vector<B: Backend, T: Stored> {
    backend: B,
    raw: Arc<B::Vector<T>>,
}

impl<B: Backend, T: Stored> Vector<B, T> {
    /// From a host vector. O(n).
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_host(backend: &B, host: HostVector<T>) -> Result<Self, B::Error> {
        Ok(Self::from_raw(backend, backend.vector(host)?))
    }
    /// A full vector from an array. O(n).
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_vec(backend: &B, values: Vec<T>) -> Result<Self, B::Error> {
        Self::from_host(backend, HostVector::from_vec(values))
    }
    /// A vector without any entry, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn empty(backend: &B, len: usize) -> Result<Self, B::Error> {
        Ok(Self::from_raw(backend, backend.vector_empty(len)?))
    }
    /// A full vector of one value, made on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn filled(backend: &B, len: usize, value: T) -> Result<Self, B::Error> {
        Ok(Self::from_raw(backend, backend.vector_filled(len, value)?))
    }
    /// The handle of what a backend made.
    pub fn from_raw(backend: &B, raw: B::Vector<T>) -> Self {
        Self { backend: backend.clone(), raw: Arc::new(raw) }
    }
    /// The backend's own form.
    #[must_use]
    pub fn raw(&self) -> &B::Vector<T> {
        &self.raw
    }
    pub(crate) fn share(&self) -> Arc<B::Vector<T>> {
        Arc::clone(&self.raw)
    }
    /// The backend's own form, to write to: copied first if it is shared.
    pub(crate) fn raw_mut(&mut self) -> &mut B::Vector<T> {
        Arc::make_mut(&mut self.raw)
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// The vector on the host. O(n).
    ///
    /// # Errors
    /// Whatever went wrong in the work before it.
    pub fn to_host(&self) -> Result<HostVector<T>, B::Error> {
        self.backend.vector_to_host(&self.raw)
    }
    /// The number of positions.
    // Entries are on the device: to count them may fail, and a vector of some positions may be without.
    #[allow(clippy::len_without_is_empty)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.backend.vector_len(&self.raw)
    }
    /// The number of entries: one number crosses to the host. O(n).
    ///
    /// # Errors
    /// Whatever went wrong in the work before it.
    pub fn nvals(&self) -> Result<usize, B::Error> {
        self.backend.vector_nvals(&self.raw)
    }
    /// Whether there are no entries, as by [`Vector::nvals`].
    ///
    /// # Errors
    /// As [`Vector::nvals`].
    pub fn is_empty(&self) -> Result<bool, B::Error> {
        Ok(self.nvals()? == 0)
    }
}

impl<B: Backend> Vector<B, u32> {
    /// 0, 1, 2, ... made on the device.
    ///
    /// # Errors
    /// Out of memory; [`Error::Overflow`] for more than 2^32 positions.
    pub fn iota(backend: &B, len: usize) -> Result<Self, B::Error> {
        if len as u64 > 1 << 32 {
            return Err(Error::Overflow { what: "a position", dtype: bitgraph_semiring::DType::U32 }.into());
        }
        Ok(Self::from_raw(backend, backend.vector_iota(len)?))
    }
}

impl<B: Backend, T: Stored> Clone for Vector<B, T> {
    fn clone(&self) -> Self {
        Self { backend: self.backend.clone(), raw: Arc::clone(&self.raw) }
    }
}
impl<B: Backend, T: Stored> Deref for Vector<B, T> {
    type Target = B::Vector<T>;
    fn deref(&self) -> &B::Vector<T> {
        &self.raw
    }
}
impl<B: Backend, T: Stored> Debug for Vector<B, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector<{}>({} on {})", T::DTYPE, self.len(), self.backend.name())
    }
}

/// A single value on a backend, so that a loop's condition need not cross to the host before it is wanted.
pub struct Value<B: Backend, T: Stored> {
    backend: B,
    raw: B::Value<T>,
}

impl<B: Backend, T: Stored> Value<B, T> {
    /// The handle of what a backend made.
    pub fn from_raw(backend: &B, raw: B::Value<T>) -> Self {
        Self { backend: backend.clone(), raw }
    }
    /// The backend's own form.
    #[must_use]
    pub fn raw(&self) -> &B::Value<T> {
        &self.raw
    }
    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// Waits for the value and brings it to the host.
    ///
    /// # Errors
    /// Whatever went wrong in the work before it.
    pub fn read(&self) -> Result<T, B::Error> {
        self.backend.read(&self.raw)
    }
}
impl<B: Backend, T: Stored> Clone for Value<B, T> {
    fn clone(&self) -> Self {
        Self { backend: self.backend.clone(), raw: self.raw.clone() }
    }
}
impl<B: Backend, T: Stored> Debug for Value<B, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value<{}>(on {})", T::DTYPE, self.backend.name())
    }
}
