//! Small blocks of device memory kept for the next array of the same size: the driver's pool takes a microsecond to give one and another
//! to take it back, as long as a small kernel runs.
//!
//! # Invariants
//! The blocks are of one stream, so that one may be given out again at once: whatever still reads it comes before whatever writes it next. Few
//! bytes are kept, and none while memory is short.

use std::collections::HashMap;

/// The largest block kept, and the most bytes in all.
const BLOCK: u64 = 8 << 20;
const BYTES: u64 = 64 << 20;

/// Blocks by their exact size.
#[derive(Debug, Default)]
pub(super) struct Recycled {
    blocks: HashMap<u64, Vec<u64>>,
    bytes: u64,
}

impl Recycled {
    /// A block of exactly so many bytes, if there is one.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let address = self.blocks.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        Some(address)
    }
    /// Keeps a block, if it is small and there is room; whether it was kept.
    pub(super) fn keep(&mut self, bytes: u64, address: u64) -> bool {
        let fits = bytes <= BLOCK && self.bytes + bytes <= BYTES;
        if fits {
            self.blocks.entry(bytes).or_default().push(address);
            self.bytes += bytes;
        }
        fits
    }
    /// Gives everything up: addresses and their bytes.
    pub(super) fn drain(&mut self) -> Vec<(u64, u64)> {
        self.bytes = 0;
        let blocks = std::mem::take(&mut self.blocks).into_iter();
        blocks.flat_map(|(bytes, all)| all.into_iter().map(move |address| (address, bytes))).collect()
    }
    /// Bytes kept.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_by_their_size() {
        let mut kept = Recycled::default();
        assert!(kept.keep(100, 1) && kept.keep(100, 2) && kept.keep(200, 3));
        assert!(!kept.keep(BLOCK + 1, 4));
        assert_eq!((kept.take(100), kept.take(200), kept.take(200), kept.take(300)), (Some(2), Some(3), None, None));
        assert_eq!(kept.bytes(), 100);
        assert_eq!(kept.drain(), [(1, 100)]);
        assert_eq!(kept.bytes(), 0);
        assert_eq!((1..20).filter(|&i| kept.keep(BLOCK, i)).count() as u64, BYTES / BLOCK);
    }
}
