//! The arrays that dense matrices are views of.
//!
//! Invariant: an array's memory belongs to it alone; elements lie as on the host.

use super::instance;
use super::params::dense;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::{Cuda, Result, bytes};
use bitgraph_tensor::{Element, Tensor, Window};
use std::marker::PhantomData;

/// An array of elements on a GPU.
#[derive(Debug)]
pub struct CudaArray<T> {
    bytes: Buffer<u8>,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> CudaArray<T> {
    /// An array of unspecified content.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn uninitialised(device: &Device, len: usize) -> Result<Self> {
        // More bytes than there are do not fit either.
        let bytes = device.alloc_for(len.saturating_mul(size_of::<T>()), "a dense matrix")?;
        Ok(Self { bytes, len, element: PhantomData })
    }
    /// The bytes of the elements.
    #[must_use]
    pub fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }
    /// The address of the first element.
    #[must_use]
    pub fn ptr(&self) -> DevicePtr<T> {
        self.bytes.ptr().cast()
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
}

parameters! {
    struct FillElementsParams = "tensor/array.cu" "bg::FillElementsParams" {
        data: DevicePtr<u8>,
        n: u64,
        value: u64,
        bytes: u32,
        reserved: u32,
    }
    struct PackRowsParams = "tensor/array.cu" "bg::PackRowsParams" {
        from: DevicePtr<u8>,
        to: DevicePtr<u8>,
        rows: u64,
        columns: u64,
        stride: u64,
        bytes: u32,
        reserved: u32,
    }
}

const MODULE: &str = "tensor/array";

/// The bytes of an element as a number.
fn bits<T: Element>(value: T) -> u64 {
    let mut word = [0u8; 8];
    word[..size_of::<T>()].copy_from_slice(bytes::of(&[value]));
    u64::from_le_bytes(word)
}

/// A window's rows next to each other.
fn packed<T: Element>(device: &Device, array: &CudaArray<T>, window: Window) -> Result<Buffer<u8>> {
    let to = device.alloc_for(window.len() * size_of::<T>(), "a copy of a dense matrix")?;
    let params = PackRowsParams {
        from: dense(array.ptr(), window).cast(),
        to: to.ptr(),
        rows: window.rows() as u64,
        columns: window.columns() as u64,
        stride: window.stride() as u64,
        bytes: size_of::<T>() as u32,
        reserved: 0,
    };
    // SAFETY: the window lies within the array, and the copy has as many elements as the window.
    unsafe { instance::strided(device, &device.kernel(MODULE, "tensor_pack")?, window.len() as u64, &params) }?;
    Ok(to)
}

impl Tensor for Cuda {
    type Array<T: Element> = CudaArray<T>;

    fn array<T: Element>(&self, elements: Vec<T>) -> Result<CudaArray<T>> {
        let array = CudaArray::uninitialised(self.device(), elements.len())?;
        array.bytes.copy_from_slice(0, bytes::of(&elements))?;
        Ok(array)
    }
    fn array_filled<T: Element>(&self, len: usize, value: T) -> Result<CudaArray<T>> {
        let array = CudaArray::uninitialised(self.device(), len)?;
        let word = bits(value);
        if word == 0 {
            array.bytes.fill_bytes(0)?;
            return Ok(array);
        }
        let params = FillElementsParams { data: array.bytes.ptr(), n: len as u64, value: word, bytes: size_of::<T>() as u32, reserved: 0 };
        // SAFETY: the array was made above for so many elements.
        unsafe { instance::strided(self.device(), &self.device().kernel(MODULE, "tensor_fill")?, len as u64, &params) }?;
        Ok(array)
    }
    fn array_unwritten<T: Element>(&self, len: usize) -> Result<CudaArray<T>> {
        let array = CudaArray::uninitialised(self.device(), len)?;
        // What reads it all the same is found there.
        if self.device().properties().emulated {
            array.bytes.fill_bytes(0xff)?;
        }
        Ok(array)
    }
    fn array_copy<T: Element>(&self, array: &CudaArray<T>) -> Result<CudaArray<T>> {
        Ok(CudaArray { bytes: array.bytes.duplicate()?, len: array.len, element: PhantomData })
    }
    fn writes_down(&self) -> bool {
        self.device().writes_down()
    }
    fn array_len<T: Element>(&self, array: &CudaArray<T>) -> usize {
        array.len
    }
    fn array_to_host<T: Element>(&self, array: &CudaArray<T>, window: Window) -> Result<Vec<T>> {
        let size = size_of::<T>();
        let found = if window.is_empty() {
            Vec::new()
        } else if window.is_contiguous() {
            array.bytes.range_to_vec(window.offset() * size..(window.offset() + window.len()) * size)?
        } else {
            packed(self.device(), array, window)?.to_vec()?
        };
        bytes::filled(window.len(), |out| {
            out.copy_from_slice(&found);
            Ok(())
        })
    }
}
