//! An immutable array, owned or borrowed from whoever keeps it alive (a memory-mapped file, another library's matrix).
//!
//! Invariant: `ptr` and `len` describe initialised, aligned, never-written memory for as long as `owner` lives.

use crate::{Error, Result};
use bytemuck::Pod;
use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

/// An immutable array that is cheap to clone.
pub struct Buffer<T>(Repr<T>);

enum Repr<T> {
    Owned(Arc<Vec<T>>),
    Foreign { owner: Arc<dyn Any + Send + Sync>, ptr: *const T, len: usize },
}

// SAFETY: the memory is never written while a buffer exists, and the owner may be dropped on any thread.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Send for Buffer<T> {}
// SAFETY: shared references only ever read.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Sync for Buffer<T> {}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Repr::Owned(v) => Repr::Owned(Arc::clone(v)),
            Repr::Foreign { owner, ptr, len } => Repr::Foreign { owner: Arc::clone(owner), ptr: *ptr, len: *len },
        })
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Repr::Owned(v) => v,
            // SAFETY: the type's invariant.
            #[allow(unsafe_code)]
            Repr::Foreign { ptr, len, .. } => unsafe { std::slice::from_raw_parts(*ptr, *len) },
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(v: Vec<T>) -> Self {
        Self(Repr::Owned(Arc::new(v)))
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().take(16)).finish_non_exhaustive()
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod> Buffer<T> {
    /// Borrows `len` elements that start `byte_offset` bytes into the memory of `owner`, without copying.
    ///
    /// # Errors
    /// [`Error::Length`] if the memory is too short, [`Error::Invalid`] if the start is not aligned for `T`.
    pub fn from_owner<O>(owner: Arc<O>, byte_offset: usize, len: usize, array: &'static str) -> Result<Self>
    where
        O: AsRef<[u8]> + Any + Send + Sync,
    {
        let bytes: &[u8] = (*owner).as_ref();
        let wanted = len.checked_mul(size_of::<T>()).and_then(|b| b.checked_add(byte_offset));
        if wanted.is_none_or(|w| w > bytes.len()) {
            let found = bytes.len().saturating_sub(byte_offset) / size_of::<T>().max(1);
            return Err(Error::Length { array, expected: len as u64, found: found as u64 });
        }
        let slice: &[T] = bytemuck::try_cast_slice(&bytes[byte_offset..byte_offset + len * size_of::<T>()])
            .map_err(|_| Error::Invalid { array, position: byte_offset as u64, what: "not aligned for its element type" })?;
        let (ptr, len) = (slice.as_ptr(), slice.len());
        Ok(Self(Repr::Foreign { owner, ptr, len }))
    }
}

impl<T: Send + Sync + 'static> Buffer<T> {
    /// Borrows the elements of `owner`, without copying.
    pub fn from_slice_owner<O>(owner: Arc<O>) -> Self
    where
        O: AsRef<[T]> + Any + Send + Sync,
    {
        let slice: &[T] = (*owner).as_ref();
        let (ptr, len) = (slice.as_ptr(), slice.len());
        Self(Repr::Foreign { owner, ptr, len })
    }
}

impl<T: Clone> Buffer<T> {
    /// The elements as a vector: moved out if this is the only owner, copied otherwise.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Repr::Owned(v) => Arc::try_unwrap(v).unwrap_or_else(|shared| shared.to_vec()),
            Repr::Foreign { .. } => self.to_vec(),
        }
    }
}

/// The same bytes as elements of another type of the same size and alignment, in the same memory.
#[allow(unsafe_code)]
pub(crate) fn cast_vec<A: Pod, B: Pod>(elements: Vec<A>) -> Vec<B> {
    const { assert!(size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()) };
    let mut elements = std::mem::ManuallyDrop::new(elements);
    let (start, length, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
    // SAFETY: the memory is a vector's that is used no longer; both types are plain data of the same layout.
    unsafe { Vec::from_raw_parts(start.cast(), length, capacity) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrows_and_checks() {
        let owner = Arc::new(vec![1u64, 2, 3]);
        let whole = Buffer::<u64>::from_slice_owner(Arc::clone(&owner));
        assert_eq!(&whole[..], &[1, 2, 3]);
        let bytes = Arc::new(vec![0u8; 24]);
        assert!(Buffer::<u64>::from_owner(Arc::clone(&bytes), 0, 4, "a").is_err());
        assert!(Buffer::<u8>::from_owner(bytes, 20, 4, "a").is_ok());
        assert_eq!(whole.clone().into_vec(), vec![1, 2, 3]);
    }
}
