//! Memory mapping: the one unsafe call of this crate.
//!
//! Invariant: a mapping is private and read-only, so that this process never writes through it. That no other process shortens the
//! file or writes to it cannot be made sure of; `ReadMode` says what happens then.
#![allow(unsafe_code)]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;

/// Maps a file for reading.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and kept alive by whoever borrows from it. A file that another process changes meanwhile
    // is outside what can be checked here; it is documented, and reading into memory is offered instead.
    unsafe { MmapOptions::new().map(file) }
}
