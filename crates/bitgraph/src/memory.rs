//! An allocator that knows its high-water mark, and puts big arrays on huge pages.
//!
//! Invariant: a block of [`LARGE`] bytes or more starts on a 2 MiB boundary and lies, with a header that holds the start of the
//! underlying block, inside one block of the system's allocator; a smaller block is the system's own. Which of the two it is
//! follows from its size alone, so that freeing needs no lookup.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks of this many bytes or more are aligned to it and advised to use huge pages: the size of a huge page.
pub const LARGE: usize = 2 << 20;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static REFUSED: OnceLock<fn(usize)> = OnceLock::new();

/// A global allocator that counts live and peak bytes. Use it in a binary:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: bitgraph::memory::TrackingAllocator = bitgraph::memory::TrackingAllocator;
///
/// let block = vec![1u8; 3 << 20];
/// assert!(bitgraph::memory::peak_bytes() >= block.len() as u64);
/// assert_eq!(block.as_ptr() as usize % bitgraph::memory::LARGE, 0);
/// ```
///
/// Counted are the bytes asked for, wherever the system takes them from (heap or anonymous map); not thread stacks, code, or
/// mapped files. Random gathers from big arrays are bound by address translation, which huge pages make cheap; where the system
/// grants none, nothing is lost but the alignment.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrackingAllocator;

/// The most bytes that were live at once; 0 if [`TrackingAllocator`] is not the global allocator.
#[must_use]
pub fn peak_bytes() -> u64 {
    PEAK.load(Ordering::Relaxed) as u64
}

/// Begins to count the most bytes anew; gives those that are live now.
pub fn restart_peak() -> u64 {
    let live = LIVE.load(Ordering::Relaxed);
    PEAK.store(live, Ordering::Relaxed);
    live as u64
}

/// Has a function called with the bytes that were asked for whenever the system refuses a block, before the asker is told: a program that
/// would be aborted then can say so and end. The first function stays.
pub fn when_refused(tell: fn(usize)) {
    let _ = REFUSED.set(tell);
}

/// The system has no block of so many bytes.
#[cold]
fn refused(bytes: usize) {
    if let Some(tell) = REFUSED.get() {
        tell(bytes);
    }
}

/// Keeps freed blocks of up to 64 MiB for the next ones instead of giving them back to the system: a result array of the next
/// run then costs no page faults. For programs that run an algorithm many times; elsewhere than on glibc it does nothing.
pub fn keep_freed_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` only sets parameters of the allocator, and takes any value.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 64 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
}

fn grown(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if live > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

fn shrunk(bytes: usize) {
    LIVE.fetch_sub(bytes, Ordering::Relaxed);
}

/// Whether a block is laid out with a header; stricter alignments than a huge page's are left to the system.
fn is_large(layout: Layout) -> bool {
    cfg!(target_os = "linux") && layout.size() >= LARGE && layout.align() <= LARGE
}

/// The layout of the block underneath a large one.
fn underlying(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(LARGE)?, 16).ok()
}

/// Where the large block starts in the underlying one: at the next boundary that leaves room for a header.
fn start_in(base: *mut u8) -> *mut u8 {
    let skip = LARGE - (base as usize & (LARGE - 1));
    base.wrapping_add(skip)
}

/// Writes the header of a large block and advises huge pages for it.
///
/// # Safety
/// `base` is an underlying block for `size` bytes, and not null.
unsafe fn adopt(base: *mut u8, size: usize) -> *mut u8 {
    let start = start_in(base);
    // SAFETY: the underlying block is aligned to 16, so at least 16 bytes lie between `base` and `start`.
    unsafe { start.cast::<*mut u8>().sub(1).write(base) };
    advise(start, size);
    start
}

#[cfg(target_os = "linux")]
fn advise(start: *mut u8, size: usize) {
    // SAFETY: the pages lie inside the caller's block; advice changes no contents, and its failure is of no consequence.
    unsafe { libc::madvise(start.cast(), size & !(LARGE - 1), libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

/// The underlying block of a large one.
///
/// # Safety
/// `start` came from [`adopt`] and is live.
unsafe fn base_of(start: *mut u8) -> *mut u8 {
    // SAFETY: `adopt` wrote the header there.
    unsafe { start.cast::<*mut u8>().sub(1).read() }
}

impl TrackingAllocator {
    fn allocate(self, layout: Layout, zeroed: bool) -> *mut u8 {
        let large = is_large(layout);
        let Some(inner) = (if large { underlying(layout.size()) } else { Some(layout) }) else { return std::ptr::null_mut() };
        // SAFETY: a layout for an allocation is never of size zero, and a header only adds to it.
        let base = unsafe { if zeroed { System.alloc_zeroed(inner) } else { System.alloc(inner) } };
        if base.is_null() {
            refused(layout.size());
            return base;
        }
        grown(layout.size());
        if large {
            // SAFETY: `base` was allocated with the underlying layout just now.
            unsafe { adopt(base, layout.size()) }
        } else {
            base
        }
    }
}

// SAFETY: every block is, or lies inside, one of the system's allocator, with the size and alignment asked for; `dealloc` and
// `realloc` find the system's block again from the layout, which callers repeat faithfully; the counters never allocate.
unsafe impl GlobalAlloc for TrackingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.allocate(layout, false)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.allocate(layout, true)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        shrunk(layout.size());
        match underlying(layout.size()) {
            // SAFETY: a block of this layout came from `adopt`, on top of a block of the underlying layout.
            Some(inner) if is_large(layout) => unsafe { System.dealloc(base_of(block), inner) },
            // SAFETY: a block of this layout came from the system as it is.
            _ => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return std::ptr::null_mut() };
        let moved = match (is_large(layout), is_large(wanted)) {
            // SAFETY: the block is the system's own and stays it.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            (true, true) => {
                let (Some(old), Some(new)) = (underlying(layout.size()), underlying(size)) else { return std::ptr::null_mut() };
                // SAFETY: the underlying block goes with the underlying layout, and both blocks hold what is kept: the
                // contents at their old distance from the base, and at the new one, within `LARGE` of it.
                unsafe {
                    let distance = block.offset_from_unsigned(base_of(block));
                    let base = System.realloc(base_of(block), old, new.size());
                    if base.is_null() {
                        refused(size);
                        return base;
                    }
                    let start = start_in(base);
                    let found = base.add(distance);
                    if found != start {
                        std::ptr::copy(found, start, layout.size().min(size));
                    }
                    adopt(base, size)
                }
            }
            _ => {
                let moved = self.allocate(wanted, false);
                if !moved.is_null() {
                    // SAFETY: both blocks hold as many bytes, they are distinct, and the old one is given back once.
                    unsafe {
                        std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                }
                return moved;
            }
        };
        if moved.is_null() {
            refused(size);
        } else if size >= layout.size() {
            grown(size - layout.size());
        } else {
            shrunk(layout.size() - size);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_contents_across_sizes() {
        let sizes = [64, LARGE - 1, LARGE, LARGE + 1, 5 * LARGE + 17, 3 * LARGE, 100 * LARGE, LARGE, 40, LARGE * 2];
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        // SAFETY: every block is used within its size, and given back once with its last layout.
        unsafe {
            let mut size = 32;
            let mut block = TrackingAllocator.alloc_zeroed(layout(size));
            block.write_bytes(7, size);
            for next in sizes {
                block = TrackingAllocator.realloc(block, layout(size), next);
                assert!(!block.is_null());
                if next >= LARGE {
                    assert_eq!(block as usize % LARGE, 0);
                }
                let kept = size.min(next);
                assert!((0..kept).all(|i| *block.add(i) == 7), "{size} -> {next}");
                block.write_bytes(7, next);
                size = next;
            }
            TrackingAllocator.dealloc(block, layout(size));
            let zeros = TrackingAllocator.alloc_zeroed(layout(3 * LARGE));
            assert!((0..3 * LARGE).all(|i| *zeros.add(i) == 0));
            TrackingAllocator.dealloc(zeros, layout(3 * LARGE));
        }
    }

    #[test]
    fn strict_alignments_and_impossible_sizes() {
        // SAFETY: the block is given back once; the impossible one is never used.
        unsafe {
            let strict = Layout::from_size_align(4 * LARGE, 2 * LARGE).unwrap();
            let block = TrackingAllocator.alloc(strict);
            assert_eq!(block as usize % (2 * LARGE), 0);
            TrackingAllocator.dealloc(block, strict);
            let impossible = Layout::from_size_align(isize::MAX as usize - 4096, 8).unwrap();
            assert!(TrackingAllocator.alloc(impossible).is_null());
        }
    }
}
