//! Memory for intermediate results, taken in pieces and used again.
//!
//! Invariant: a piece is given out twice only after every array of its block is gone; the stream orders what still reads it before what
//! writes it next.

use super::{Buffer, Device};
use crate::Result;
use bytemuck::Pod;

/// Every array starts at a multiple of so many bytes, as those of the driver do.
const ALIGNMENT: usize = 256;

/// Arrays for the time of a computation: the first run of it finds out how much memory it takes, the next ones allocate nothing.
///
/// Arrays share a block of memory. Once all of them are dropped the block is used again from its start; until then what does not fit
/// comes from a larger block.
#[derive(Debug)]
pub struct Workspace {
    device: Device,
    block: Buffer<u8>,
    used: usize,
    /// Bytes taken since the block was last empty, those of blocks given up included: the size of the next one.
    wanted: usize,
}

impl Workspace {
    /// Without memory; the arrays to come are on the device's stream.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone(), block: Buffer::default(), used: 0, wanted: 0 }
    }
    /// An array of unspecified content.
    ///
    /// # Errors
    /// Out of memory.
    pub fn take<T: Pod>(&mut self, len: usize) -> Result<Buffer<T>> {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes == 0 {
            return self.device.alloc(len);
        }
        if self.block.is_alone() {
            (self.used, self.wanted) = (0, 0);
        }
        let rounded = bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(bytes);
        self.wanted = self.wanted.saturating_add(rounded);
        if rounded > self.block.len() - self.used {
            self.block = self.device.alloc_for(self.wanted, "a workspace")?;
            self.used = 0;
        }
        let from = self.used;
        self.used += rounded;
        Ok(self.block.part(from..from + bytes).cast())
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.block.bytes()
    }
}
