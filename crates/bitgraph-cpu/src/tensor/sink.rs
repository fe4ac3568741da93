//! Where results go: rows of numbers written to an output of any element type.
//!
//! What writes is made once for an operation and called through a pointer, so that operations are compiled for the types that they compute in
//! and not for those that they store.
#![allow(unsafe_code)]

use super::number::{Sum, Writing};
use crate::{Cpu, Isa};
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_tensor::{AnyMut, Element, Out, Window, with_out};
use std::any::TypeId;

/// Writes consecutive rows, from a row on.
type Write<'a, S> = Box<dyn Fn(usize, &[S]) + Sync + 'a>;

/// An output that tasks write to, each its own rows.
pub struct Sink<'a, S> {
    window: Window,
    write: Write<'a, S>,
    direct: Option<DisjointSlice<'a, S>>,
}

impl<'a, S: Sum> Sink<'a, S> {
    pub fn new(isa: Isa, out: AnyMut<'a, Cpu>) -> Self {
        with_out!(out, out => Self::typed(isa, out))
    }
    fn typed<U: Element>(isa: Isa, out: Out<'a, Cpu, U>) -> Self
    where
        S: Writing<U>,
    {
        let window = out.window;
        let all = out.array.as_mut_slice();
        assert!(window.end() <= all.len(), "a window of {} elements in an array of {}", window.end(), all.len());
        let direct = (TypeId::of::<U>() == TypeId::of::<S>()).then(|| {
            // SAFETY: the element types are the same; both wrappers are written through by the rules of this type.
            DisjointSlice::new(unsafe { std::slice::from_raw_parts_mut(all.as_mut_ptr().cast::<S>(), all.len()) })
        });
        let all = DisjointSlice::new(all);
        let write = move |first: usize, values: &[S]| {
            let columns = window.columns();
            assert!(columns > 0 && first + values.len() / columns <= window.rows());
            if window.is_contiguous() {
                let start = window.offset() + first * columns;
                // SAFETY: the rows are within the window, and by the contract of `rows` no other task writes to them.
                S::write(isa, values, unsafe { all.range(start..start + values.len()) });
            } else {
                for (k, row) in values.chunks_exact(columns).enumerate() {
                    // SAFETY: as above.
                    S::write(isa, row, unsafe { all.range(window.row(first + k)) });
                }
            }
        };
        Self { window, write: Box::new(write), direct }
    }
    /// Where the rows are.
    pub fn window(&self) -> Window {
        self.window
    }
    /// The output itself, if it is of the numbers' type.
    pub fn direct(&self) -> Option<&DisjointSlice<'a, S>> {
        self.direct.as_ref()
    }
    /// Writes consecutive rows, from a row on; nothing if there are no columns.
    ///
    /// # Safety
    /// No other task writes to these rows, here or through [`Sink::direct`].
    pub unsafe fn rows(&self, first: usize, values: &[S]) {
        if !values.is_empty() {
            (self.write)(first, values);
        }
    }
}
