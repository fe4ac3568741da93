//! Arrays of dense matrices in the host's memory: the backend's own, or a caller's that is only read.
//!
//! Memory for a result is not written before the result is: pages are then touched first by the thread that computes what is in them, and a large
//! array does not go through memory once more.
#![allow(unsafe_code)]

use crate::Cpu;
use bitgraph_backend::Error;
use bitgraph_sparse::{Buffer, parallel};
use bitgraph_tensor::{Element, Tensor, Window};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The elements of a dense matrix.
#[derive(Debug)]
pub struct CpuArray<T>(Memory<T>);

#[derive(Debug)]
enum Memory<T> {
    /// Its own: the elements from a position on, where a cache line begins if the backend made it.
    Own(Vec<T>, usize),
    /// Its own, for so many elements from a position on, none of which is there yet.
    Unwritten(Vec<T>, Range<usize>),
    /// A caller's.
    Foreign(Buffer<T>),
}

/// Elements that a task sets to zero at a time.
const ZEROED: usize = 1 << 16;
/// Bytes of a cache line.
const LINE: usize = 64;

impl<T: Element> CpuArray<T> {
    /// The number of elements.
    pub fn count(&self) -> usize {
        match &self.0 {
            Memory::Own(elements, start) => elements.len() - start,
            Memory::Unwritten(_, range) => range.len(),
            Memory::Foreign(elements) => elements.len(),
        }
    }
    /// The elements.
    ///
    /// # Panics
    /// If what was to write them has not.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Memory::Own(elements, start) => &elements[*start..],
            Memory::Unwritten(..) => unreachable!("an operation writes all of its result"),
            Memory::Foreign(elements) => elements,
        }
    }
    /// The elements to write to: zeros if none has been written, a copy of a caller's.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if let Memory::Foreign(elements) = &self.0 {
            self.0 = Memory::Own(elements.to_vec(), 0);
        }
        if let Some(elements) = self.unwritten() {
            parallel::chunks_mut(elements, ZEROED, |_, elements| elements.fill(MaybeUninit::new(T::ZERO)));
            // SAFETY: all elements have just been written.
            unsafe { self.written() };
        }
        match &mut self.0 {
            Memory::Own(elements, start) => &mut elements[*start..],
            Memory::Unwritten(..) | Memory::Foreign(_) => unreachable!("it was just written"),
        }
    }
    /// The elements, if none has been written; [`CpuArray::written`] follows.
    pub fn unwritten(&mut self) -> Option<&mut [MaybeUninit<T>]> {
        match &mut self.0 {
            Memory::Unwritten(elements, range) => Some(&mut elements.spare_capacity_mut()[range.clone()]),
            _ => None,
        }
    }
    /// Says that all elements have been written.
    ///
    /// # Safety
    /// They have, each of those that [`CpuArray::unwritten`] gave.
    pub unsafe fn written(&mut self) {
        if let Memory::Unwritten(elements, range) = &mut self.0 {
            elements.spare_capacity_mut()[..range.start].fill(MaybeUninit::new(T::ZERO));
            // SAFETY: what comes before the range was just written, and its elements by the contract.
            unsafe { elements.set_len(range.end) };
            self.0 = Memory::Own(std::mem::take(elements), range.start);
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
fn advise<T>(elements: &[MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 2 << 20;
        let start = (elements.as_ptr() as usize).next_multiple_of(LARGE);
        let end = elements.as_ptr() as usize + size_of_val(elements);
        if end > start && end - start >= LARGE {
            // SAFETY: the pages lie inside the array; advice changes no contents, and its failure is of no consequence.
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
        let mut array = self.array_unwritten(len)?;
        if let Some(elements) = array.unwritten() {
            parallel::chunks_mut(elements, ZEROED, |_, elements| elements.fill(MaybeUninit::new(value)));
            // SAFETY: all elements have just been written.
            unsafe { array.written() };
        }
        Ok(array)
    }
    fn array_unwritten<T: Element>(&self, len: usize) -> Result<CpuArray<T>, Error> {
        // Where there are no elements, nothing is written.
        if len == 0 {
            return self.array(Vec::new());
        }
        // A row that begins with a cache line is in fewer of them: a line more than the array needs lets the first one do so.
        let extra = LINE / size_of::<T>();
        let mut elements = reserve::<T>(len.saturating_add(extra))?;
        let start = unaligned(elements.as_ptr()).min(extra);
        advise(&elements.spare_capacity_mut()[start..start + len]);
        Ok(CpuArray(Memory::Unwritten(elements, start..start + len)))
    }
    fn array_copy<T: Element>(&self, array: &CpuArray<T>) -> Result<CpuArray<T>, Error> {
        let from = array.as_slice();
        let mut copy = self.array_unwritten(from.len())?;
        if let Some(elements) = copy.unwritten() {
            parallel::chunks_mut(elements, ZEROED, |k, elements| {
                elements.iter_mut().zip(&from[k * ZEROED..]).for_each(|(to, from)| *to = MaybeUninit::new(*from));
            });
            // SAFETY: all elements have just been written.
            unsafe { copy.written() };
        }
        Ok(copy)
    }
    fn array_is_writable<T: Element>(&self, array: &CpuArray<T>) -> bool {
        !matches!(array.0, Memory::Foreign(_))
    }
    fn array_len<T: Element>(&self, array: &CpuArray<T>) -> usize {
        array.count()
    }
    fn array_to_host<T: Element>(&self, array: &CpuArray<T>, window: Window) -> Result<Vec<T>, Error> {
        let mut elements = reserve(window.len())?;
        (0..window.rows()).for_each(|i| elements.extend_from_slice(&array.as_slice()[window.row(i)]));
        Ok(elements)
    }
    fn array_into_vec<T: Element>(&self, array: CpuArray<T>) -> Result<Vec<T>, Error> {
        Ok(match array.0 {
            Memory::Unwritten(..) => unreachable!("an operation writes all of its result"),
            Memory::Own(mut elements, start) => {
                elements.drain(..start);
                elements
            }
            Memory::Foreign(elements) => elements.into_vec(),
        })
    }
}
