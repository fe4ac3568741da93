//! The shapes of blocks: what one instruction of a tensor core multiplies.
//!
//! Invariant: a block has whole words of 32 places.

use crate::{Error, MOST_ROWS, Result};

/// Rows x condensed columns of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockShape {
    height: u32,
    width: u32,
}

impl BlockShape {
    /// 16 x 8: the first operand of tf32's `m16n8k8` (TC-GNN's SpMM).
    pub const TF32_16X8: Self = Self { height: 16, width: 8 };
    /// 16 x 16: the first operand of f16's and bf16's `m16n8k16`; also what one tf32 block of TC-GNN's SDDMM computes.
    pub const HALF_16X16: Self = Self { height: 16, width: 16 };
    /// 8 x 4: vectors of 8 rows, the sparse matrix being the second operand of tf32's `m16n8k4` (FlashSparse's form).
    pub const TF32_8X4: Self = Self { height: 8, width: 4 };
    /// 8 x 8: the same of tf32's and f16's `m16n8k8`.
    pub const VECTORS_8X8: Self = Self { height: 8, width: 8 };
    /// 8 x 16: the same of f16's and bf16's `m16n8k16`.
    pub const HALF_8X16: Self = Self { height: 8, width: 16 };
    /// 16 x 256: the first operand of the 1-bit `m16n8k256`.
    pub const BITS_16X256: Self = Self { height: 16, width: 256 };

    /// A block of `height` rows and `width` columns.
    ///
    /// # Errors
    /// [`Error::Block`] if there are no rows, more than [`MOST_ROWS`], no columns, or no multiple of 32 places.
    pub const fn new(height: u32, width: u32) -> Result<Self> {
        let places = height as u64 * width as u64;
        if height == 0 || height > MOST_ROWS || width == 0 || !places.is_multiple_of(32) {
            return Err(Error::Block { height, width });
        }
        Ok(Self { height, width })
    }
    /// Rows.
    #[must_use]
    pub const fn height(self) -> usize {
        self.height as usize
    }
    /// Columns.
    #[must_use]
    pub const fn width(self) -> usize {
        self.width as usize
    }
    /// Rows times columns.
    #[must_use]
    pub const fn places(self) -> usize {
        self.height as usize * self.width as usize
    }
    /// Words of 32 bits of a block's mask.
    #[must_use]
    pub const fn words(self) -> usize {
        self.places() / 32
    }
    /// Blocks that so many condensed columns take.
    #[must_use]
    pub const fn blocks(self, columns: usize) -> usize {
        columns.div_ceil(self.width as usize)
    }
    /// Bytes of a block: a column id for each column, and a bit for each place.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        4 * (self.width() + self.words()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_what_is_refused() {
        assert_eq!((BlockShape::TF32_16X8.words(), BlockShape::TF32_16X8.bytes()), (4, 48));
        assert_eq!((BlockShape::BITS_16X256.words(), BlockShape::TF32_8X4.words()), (128, 1));
        assert_eq!((BlockShape::HALF_16X16.blocks(0), BlockShape::HALF_16X16.blocks(16), BlockShape::HALF_16X16.blocks(17)), (0, 1, 2));
        for (height, width) in [(0, 32), (32, 0), (3, 8), (257, 32), (u32::MAX, u32::MAX)] {
            assert_eq!(BlockShape::new(height, width), Err(Error::Block { height, width }));
        }
        assert!(BlockShape::new(1, 32).is_ok() && BlockShape::new(256, 1).is_ok());
    }
}
