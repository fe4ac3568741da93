//! Arrays of dense matrices in the host's memory: the backend's own, or a caller's that is only read.

use crate::Cpu;
use bitgraph_backend::Error;
use bitgraph_sparse::Buffer;
use bitgraph_tensor::{Element, Tensor, Window};

/// The elements of a dense matrix.
#[derive(Debug)]
pub enum CpuArray<T> {
    /// Memory of its own.
    Own(Vec<T>),
    /// A caller's memory.
    Foreign(Buffer<T>),
}

impl<T: Copy> CpuArray<T> {
    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::Own(elements) => elements,
            Self::Foreign(elements) => elements,
        }
    }
    /// The elements to write to; a caller's are copied first.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if let Self::Foreign(elements) = self {
            *self = Self::Own(elements.to_vec());
        }
        match self {
            Self::Own(elements) => elements,
            Self::Foreign(_) => unreachable!("it was just copied"),
        }
    }
}

/// Memory for so many elements, or an error that says how much was wanted.
fn reserve<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut elements = Vec::new();
    let wanted = (len as u64).saturating_mul(size_of::<T>() as u64);
    elements.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { wanted, free: 0, what: "a dense matrix" })?;
    Ok(elements)
}

/// Asks for huge pages under a large array that has not been written to: rows that are gathered from all over it miss the table of pages less.
fn advise<T>(elements: &[T]) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 2 << 20;
        let start = (elements.as_ptr() as usize).next_multiple_of(LARGE);
        let end = elements.as_ptr() as usize + size_of_val(elements);
        if end > start && end - start >= LARGE {
            // SAFETY: the pages lie inside the array; advice changes no contents, and its failure is of no consequence.
            #[allow(unsafe_code)]
            unsafe {
                libc::madvise(start as *mut libc::c_void, (end - start) & !(LARGE - 1), libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = elements;
}

impl Tensor for Cpu {
    type Array<T: Element> = CpuArray<T>;

    fn array<T: Element>(&self, elements: Vec<T>) -> Result<CpuArray<T>, Error> {
        Ok(CpuArray::Own(elements))
    }
    fn array_of_buffer<T: Element>(&self, memory: Buffer<T>) -> Result<CpuArray<T>, Error> {
        Ok(CpuArray::Foreign(memory))
    }
    fn array_filled<T: Element>(&self, len: usize, value: T) -> Result<CpuArray<T>, Error> {
        // Asked first, so that there is an error and not an abort; zeros then come from the system without being written.
        drop(reserve::<T>(len)?);
        let elements = vec![value; len];
        advise(&elements);
        Ok(CpuArray::Own(elements))
    }
    fn array_copy<T: Element>(&self, array: &CpuArray<T>) -> Result<CpuArray<T>, Error> {
        let mut elements = reserve(array.as_slice().len())?;
        advise(elements.spare_capacity_mut());
        elements.extend_from_slice(array.as_slice());
        Ok(CpuArray::Own(elements))
    }
    fn array_is_writable<T: Element>(&self, array: &CpuArray<T>) -> bool {
        matches!(array, CpuArray::Own(_))
    }
    fn array_len<T: Element>(&self, array: &CpuArray<T>) -> usize {
        array.as_slice().len()
    }
    fn array_to_host<T: Element>(&self, array: &CpuArray<T>, window: Window) -> Result<Vec<T>, Error> {
        let mut elements = reserve(window.len())?;
        (0..window.rows()).for_each(|i| elements.extend_from_slice(&array.as_slice()[window.row(i)]));
        Ok(elements)
    }
    fn array_into_vec<T: Element>(&self, array: CpuArray<T>) -> Result<Vec<T>, Error> {
        Ok(match array {
            CpuArray::Own(elements) => elements,
            CpuArray::Foreign(elements) => elements.into_vec(),
        })
    }
}
