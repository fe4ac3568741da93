//! Typed device memory.
//!
//! Invariant: a buffer's memory is freed once, in the order of the stream, when the last clone goes.

use super::driver::StreamHandle;
use super::recorder::{Pass, Pool};
use super::{Device, Stream};
use crate::Result;
use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// An address on the device, as a field of a kernel's parameters.
#[repr(transparent)]
pub struct DevicePtr<T>(u64, PhantomData<*const T>);

impl<T> DevicePtr<T> {
    /// No address.
    pub const NULL: Self = Self(0, PhantomData);
    /// The address as a number.
    #[must_use]
    pub fn address(self) -> u64 {
        self.0
    }
    pub(crate) fn new(address: u64) -> Self {
        Self(address, PhantomData)
    }
    /// The address of element `count` after this one.
    #[must_use]
    pub fn offset(self, count: usize) -> Self {
        Self(self.0 + (count * size_of::<T>()) as u64, PhantomData)
    }
    /// The same address, its content read as another type.
    #[must_use]
    pub fn cast<U>(self) -> DevicePtr<U> {
        DevicePtr(self.0, PhantomData)
    }
}
impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DevicePtr<T> {}
impl<T> std::fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
#[allow(unsafe_code)]
mod plain {
    use super::{DevicePtr, Pod, Zeroable};
    // SAFETY: a number that the host never follows; all-zero bytes are the null address.
    unsafe impl<T> Zeroable for DevicePtr<T> {}
    // SAFETY: as above, without padding: `repr(transparent)` over a u64.
    unsafe impl<T: 'static> Pod for DevicePtr<T> {}
    // SAFETY: only a number on this side.
    unsafe impl<T> Send for DevicePtr<T> {}
    // SAFETY: as above.
    unsafe impl<T> Sync for DevicePtr<T> {}
}

pub(super) struct Allocation {
    device: Device,
    address: u64,
    bytes: u64,
    /// Where the memory is of, if not of the stream.
    pool: Option<Arc<Pool>>,
}
impl Allocation {
    fn handle(&self) -> StreamHandle {
        self.device.stream().0.handle
    }
}
impl Drop for Allocation {
    fn drop(&mut self) {
        match &self.pool {
            Some(pool) => pool.give(self.address, self.bytes),
            None => self.device.release(self.address, self.bytes),
        }
    }
}

/// An array on the device. A clone shares the memory.
pub struct Buffer<T> {
    allocation: Option<Arc<Allocation>>,
    /// Bytes of the allocation before the first element.
    offset: u64,
    len: usize,
    element: PhantomData<T>,
}
impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self { allocation: self.allocation.clone(), offset: self.offset, len: self.len, element: PhantomData }
    }
}
impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer<{}>({})", std::any::type_name::<T>(), self.len)
    }
}
/// Without memory.
impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Self { allocation: None, offset: 0, len: 0, element: PhantomData }
    }
}

impl<T: Pod> Buffer<T> {
    pub(super) fn allocate(device: &Device, len: usize, what: &'static str) -> Result<Self> {
        if len == 0 || size_of::<T>() == 0 {
            return Ok(Self { len, ..Self::default() });
        }
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let pool = device.stream().0.recorded.pool();
        let address = match &pool {
            Some(pool) => pool.take(bytes, what)?,
            None => device.reserve(bytes, what)?,
        };
        let allocation = Allocation { device: device.clone(), address, bytes, pool };
        Ok(Self { allocation: Some(Arc::new(allocation)), offset: 0, len, element: PhantomData })
    }
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.allocation.as_ref().map_or(0, |a| a.bytes)
    }
    /// The address of the first element, for a kernel's parameters; null if there are none.
    #[must_use]
    pub fn ptr(&self) -> DevicePtr<T> {
        DevicePtr::new(self.allocation.as_ref().map_or(0, |a| {
            if a.pool.is_none() {
                a.device.stream().0.recorded.hold(a);
            }
            a.address + self.offset
        }))
    }
    /// The same memory read as another type; the bytes stay.
    ///
    /// The length is rounded down.
    #[must_use]
    pub fn cast<U: Pod>(&self) -> Buffer<U> {
        let len = (self.len * size_of::<T>()).checked_div(size_of::<U>()).unwrap_or(0);
        Buffer { allocation: self.allocation.clone(), offset: self.offset, len, element: PhantomData }
    }
    /// The first `len` elements of the same memory.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        Self { len: len.min(self.len), ..self.clone() }
    }
    /// Elements of the same memory; the range lies within.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let offset = self.offset + (range.start * size_of::<T>()) as u64;
        Self { offset, len: range.len(), ..self.clone() }
    }
    /// Whether no other array shares the memory.
    pub(super) fn is_alone(&self) -> bool {
        self.allocation.as_ref().is_some_and(|a| Arc::strong_count(a) == 1)
    }
    /// The stream that orders what is done with the memory; none without memory.
    #[must_use]
    pub fn stream(&self) -> Option<&Stream> {
        self.allocation.as_ref().map(|a| a.device.stream())
    }
    /// The elements on the host; waits for the work before. O(bytes).
    ///
    /// # Errors
    /// Whatever went wrong in the work before.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.range_to_vec(0..self.len)
    }
    /// Some of the elements on the host.
    ///
    /// # Errors
    /// As [`Buffer::to_vec`]; out of range is an error, too.
    pub fn range_to_vec(&self, range: Range<usize>) -> Result<Vec<T>> {
        let mut out = vec![T::zeroed(); range.len()];
        self.check(&range)?;
        if let Some(a) = &self.allocation {
            let _pass = a.device.crosses()?;
            a.device.count_download();
            a.device.driver().download(a.handle(), bytemuck::cast_slice_mut(&mut out), self.ptr().offset(range.start).address())?;
        }
        Ok(out)
    }
    /// One element on the host.
    ///
    /// # Errors
    /// As [`Buffer::range_to_vec`].
    pub fn get(&self, index: usize) -> Result<T> {
        self.range_to_vec(index..index + 1).map(|v| v[0])
    }
    /// Sets every byte.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill_bytes(&self, byte: u8) -> Result<()> {
        match &self.allocation {
            Some(a) => {
                let _pass = Pass::new();
                a.device.driver().fill(a.handle(), self.ptr().address(), byte, (self.len * size_of::<T>()) as u64)
            }
            None => Ok(()),
        }
    }
    /// Overwrites elements from `offset` on.
    ///
    /// # Errors
    /// The driver's; out of range is an error, too.
    pub fn copy_from_slice(&self, offset: usize, from: &[T]) -> Result<()> {
        self.check(&(offset..offset + from.len()))?;
        match &self.allocation {
            Some(a) if !from.is_empty() => {
                let _pass = a.device.crosses()?;
                a.device.count_upload();
                a.device.driver().upload(a.handle(), self.ptr().offset(offset).address(), bytemuck::cast_slice(from))
            }
            _ => Ok(()),
        }
    }
    /// Overwrites elements from `offset` on with those of another buffer.
    ///
    /// # Errors
    /// The driver's; out of range is an error, too.
    pub fn copy_from(&self, offset: usize, from: &Self) -> Result<()> {
        self.check(&(offset..offset + from.len))?;
        match &self.allocation {
            Some(a) if from.len > 0 => {
                let _pass = Pass::new();
                let (to, bytes) = (self.ptr().offset(offset).address(), (from.len * size_of::<T>()) as u64);
                a.device.driver().copy(a.handle(), to, from.ptr().address(), bytes)
            }
            _ => Ok(()),
        }
    }
    /// A copy with memory of its own.
    ///
    /// # Errors
    /// Out of memory.
    pub fn duplicate(&self) -> Result<Self> {
        let Some(a) = &self.allocation else { return Ok(self.clone()) };
        let copy = Self::allocate(&a.device, self.len, "a copy")?;
        copy.copy_from(0, self)?;
        Ok(copy)
    }
    fn check(&self, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.len {
            return Ok(());
        }
        let (expected, found) = (self.len as u64, range.end as u64);
        Err(bitgraph_backend::Error::Shape { operation: "device copy", operand: "range", expected, found }.into())
    }
}
