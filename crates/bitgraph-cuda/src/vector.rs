//! Vectors and single values on the device.
//!
//! # Invariants
//! A vector without presence bits is full; a value at an absent position is unspecified. `bool` is packed into 32-bit words, bits past
//! the end are zero, in values and in presence bits alike.

use crate::device::{Buffer, Device};
use crate::{Error, Result};
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{BitVector, Store, Stored, Vector};
use std::marker::PhantomData;

/// A vector on a GPU. A clone shares the memory, which operations never write to while it is shared with another vector.
#[derive(Debug)]
pub struct CudaVector<T> {
    pub(crate) device: Device,
    pub(crate) len: usize,
    /// Elements as bytes; packed words for `bool`.
    pub(crate) store: Buffer<u8>,
    pub(crate) present: Option<Buffer<u32>>,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for CudaVector<T> {
    fn clone(&self) -> Self {
        Self { device: self.device.clone(), len: self.len, store: self.store.clone(), present: self.present.clone(), element: PhantomData }
    }
}

/// Words of a packed vector of bits.
pub(crate) fn words(len: usize) -> usize {
    len.div_ceil(32)
}

/// Bytes of the elements of a vector.
pub(crate) fn store_bytes<T: Scalar>(len: usize) -> usize {
    if T::DTYPE == DType::Bool { 4 * words(len) } else { len * size_of::<T>() }
}

fn upload_bits(device: &Device, bits: &BitVector) -> Result<Buffer<u32>> {
    device.upload(&bits.words32()[..words(bits.len())])
}

fn download_bits(words32: &Buffer<u32>, len: usize) -> Result<BitVector> {
    let mut host = words32.to_vec()?;
    host.resize(len.div_ceil(64) * 2, 0);
    let wide = host.chunks_exact(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
    Ok(BitVector::from_words64(wide, len))
}

impl<T: Stored> CudaVector<T> {
    /// A vector of unspecified values, all present or none of it said.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn uninitialised(device: &Device, len: usize, with_presence: bool) -> Result<Self> {
        let store = device.alloc_for(store_bytes::<T>(len), "a vector")?;
        let present = if with_presence { Some(device.alloc_for(words(len), "a vector")?) } else { None };
        Ok(Self { device: device.clone(), len, store, present, element: PhantomData })
    }
    pub(crate) fn from_parts(device: &Device, len: usize, store: Buffer<u8>, present: Option<Buffer<u32>>) -> Self {
        Self { device: device.clone(), len, store, present, element: PhantomData }
    }
    /// From the host.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload(device: &Device, host: &Vector<T>) -> Result<Self> {
        let store = match (host.store().as_bits(), host.store().as_slice()) {
            (Some(bits), _) => upload_bits(device, bits)?.cast(),
            (None, Some(values)) => device.upload(crate::bytes::of(values))?,
            (None, None) => device.upload(&[])?,
        };
        let present = host.present().map(|p| upload_bits(device, p)).transpose()?;
        Ok(Self::from_parts(device, host.len(), store, present))
    }
    /// On the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_host(&self) -> Result<Vector<T>> {
        let store = if T::DTYPE == DType::Bool {
            let bits = download_bits(&self.store.cast(), self.len)?;
            let mut store = T::Store::filled(self.len, T::ZERO);
            if let Some(target) = store.as_bits_mut() {
                *target = bits;
            }
            store
        } else {
            let bytes = self.store.to_vec()?;
            let values = crate::bytes::filled::<T>(self.len, |out| {
                out.copy_from_slice(&bytes[..out.len()]);
                Ok(())
            })?;
            T::Store::from_vec(values)
        };
        let present = self.present.as_ref().map(|p| download_bits(p, self.len)).transpose()?;
        Vector::from_parts(store, present).map_err(|e| Error::Base(e.into()))
    }
}

/// A single value on a GPU, in the order of the work that makes it.
#[derive(Clone, Debug)]
pub struct CudaValue<T> {
    /// One element; a `bool` is a byte.
    pub(crate) store: Buffer<u8>,
    element: PhantomData<fn() -> T>,
}

impl<T: Scalar> CudaValue<T> {
    pub(crate) fn new(store: Buffer<u8>) -> Self {
        Self { store, element: PhantomData }
    }
    /// Waits for it and brings it to the host.
    ///
    /// # Errors
    /// Whatever went wrong in the work before.
    pub fn read(&self) -> Result<T> {
        let bytes = self.store.range_to_vec(0..size_of::<T>())?;
        let value = crate::bytes::filled::<T>(1, |out| {
            out.copy_from_slice(&bytes);
            Ok(())
        })?;
        Ok(value[0])
    }
}
