//! A hint to fetch memory ahead of its use, for traversals whose next rows are known but scattered.
//!
//! Invariant: a hint never changes a result; an index out of range is ignored.
#![allow(unsafe_code)]

/// Asks for the cache line of `slice[index]`.
#[inline(always)]
pub(super) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the element lies inside the slice, and a prefetch neither reads nor writes architecturally; SSE is part of
        // every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().add(index).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
