//! Arrays of dense matrices in the host's memory: the backend's own, or a caller's that is only read.

use crate::Cpu;
use bitgraph_backend::Error;
use bitgraph_sparse::Buffer;
use bitgraph_tensor::{Element, Tensor, Window};

/// The elements of a dense matrix.
#[derive(Debug)]
pub struct CpuArray<T>(Memory<T>);

#[derive(Debug)]
enum Memory<T> {
    /// Its own: the elements from a position on, where a cache line begins if the backend made it.
    Own(Vec<T>, usize),
    /// A caller's.
    Foreign(Buffer<T>),
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl<T: Copy> CpuArray<T> {
    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Memory::Own(elements, start) => &elements[*start..],
            Memory::Foreign(elements) => elements,
        }
    }
    /// The elements to write to; a caller's are copied first.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if let Memory::Foreign(elements) = &self.0 {
            self.0 = Memory::Own(elements.to_vec(), 0);
        }
        match &mut self.0 {
            Memory::Own(elements, start) => &mut elements[*start..],
            Memory::Foreign(_) => unreachable!("it was just copied"),
        }
    }
}

/// Elements before the first cache line that begins within memory, if there are that many.
fn unaligned<T>(memory: *const T) -> usize {
    let offset = memory.align_offset(LINE);
    if offset < LINE { offset } else { 0 }
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
        Ok(CpuArray(Memory::Own(elements, 0)))
    }
    fn array_of_buffer<T: Element>(&self, memory: Buffer<T>) -> Result<CpuArray<T>, Error> {
        Ok(CpuArray(Memory::Foreign(memory)))
    }
    fn array_filled<T: Element>(&self, len: usize, value: T) -> Result<CpuArray<T>, Error> {
        // Asked first, so that there is an error and not an abort; zeros then come from the system without being written. A row that begins
        // with a cache line is in fewer of them: a line more than the array needs lets the first one do so.
        let extra = LINE / size_of::<T>();
        drop(reserve::<T>(len.saturating_add(extra))?);
        let mut elements = vec![value; len + extra];
        let start = unaligned(elements.as_ptr()).min(extra);
        elements.truncate(start + len);
        advise(&elements);
        Ok(CpuArray(Memory::Own(elements, start)))
    }
    fn array_copy<T: Element>(&self, array: &CpuArray<T>) -> Result<CpuArray<T>, Error> {
        let mut copy = self.array_filled(array.as_slice().len(), T::ZERO)?;
        copy.as_mut_slice().copy_from_slice(array.as_slice());
        Ok(copy)
    }
    fn array_is_writable<T: Element>(&self, array: &CpuArray<T>) -> bool {
        matches!(array.0, Memory::Own(..))
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
        Ok(match array.0 {
            Memory::Own(mut elements, start) => {
                elements.drain(..start);
                elements
            }
            Memory::Foreign(elements) => elements.into_vec(),
        })
    }
}
