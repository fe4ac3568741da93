//! The patterns that components are searched in: one symmetric pattern, or the arcs and their transpose.
//!
//! Invariant: `P` patterns of `nodes` rows and columns whose union is symmetric; what is not gives wrong labels, never a
//! wrong memory access.

use crate::sync::AtomicU32;
use bitgraph_sparse::{OffsetInt, ahead};
use std::mem::MaybeUninit;

/// An offset width, and whether the vector kernels take it.
pub(super) trait Width: OffsetInt {
    /// The offsets, if they are of 32 bits.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    fn narrow(offsets: &[Self]) -> Option<&[u32]>;
}
impl Width for u32 {
    fn narrow(offsets: &[u32]) -> Option<&[u32]> {
        Some(offsets)
    }
}
impl Width for u64 {
    fn narrow(_: &[u64]) -> Option<&[u32]> {
        None
    }
}

/// `P` patterns over the same vertices.
pub(super) struct Graph<'a, O, const P: usize> {
    pub(super) nodes: usize,
    pub(super) offsets: [&'a [O]; P],
    pub(super) columns: [&'a [u32]; P],
}

impl<'a, O: OffsetInt, const P: usize> Graph<'a, O, P> {
    /// The lists of vertex `v`, ascending each.
    #[inline(always)]
    pub(super) fn lists(&self, v: usize) -> [&'a [u32]; P] {
        std::array::from_fn(|p| &self.columns[p][self.offsets[p][v].index()..self.offsets[p][v + 1].index()])
    }
    /// Asks for what the lists of a vertex, or of the one behind the last, begin with.
    #[inline(always)]
    pub(super) fn fetch(&self, v: usize) {
        for p in 0..P {
            let list = self.columns[p].as_ptr().wrapping_add(self.offsets[p][v].index());
            ahead::fetch(list);
            ahead::fetch(list.wrapping_add(16));
        }
    }
    /// The number of entries of all patterns.
    pub(super) fn entries(&self) -> usize {
        self.columns.iter().map(|c| c.len()).sum()
    }
    /// The entries of vertex `v` in all patterns.
    #[inline(always)]
    pub(super) fn degree(&self, v: usize) -> usize {
        (0..P).map(|p| self.offsets[p][v + 1].index() - self.offsets[p][v].index()).sum()
    }
}

/// An array of labels as one that several threads may work on; an element is stored before it is loaded.
pub(super) fn atomic(labels: &mut [MaybeUninit<u32>]) -> &[AtomicU32] {
    // SAFETY: `AtomicU32` has the layout of `u32`, and the exclusive borrow lasts as long as the shared one. Whoever loads an element has
    // stored it before.
    #[allow(unsafe_code)]
    unsafe {
        &*(std::ptr::from_mut(labels) as *const [AtomicU32])
    }
}
