//! How bits are grouped: the direction in which they share a word, and the tiles that kernels read.

use std::fmt;

/// Bits of a word.
pub(crate) const WORD: usize = 32;

/// The direction in which 32 elements share a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Packing {
    /// A word holds 32 neighbouring columns of one row: the first operand of a product. (QGTC, section 4.2, calls it column-wise.)
    #[default]
    Rows,
    /// A word holds 32 neighbouring rows of one column: the second operand of a product. (QGTC calls it row-wise.)
    Columns,
}

impl Packing {
    /// The other direction.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Rows => Self::Columns,
            Self::Columns => Self::Rows,
        }
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "rows",
            Self::Columns => "columns",
        })
    }
}

/// The tiles that a kernel reads: lines x bits of a line. A layout is padded with zeros to whole tiles of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileShape {
    pub(crate) lines: u32,
    pub(crate) bits: u32,
}

impl TileShape {
    /// One word: no more padding than packing itself needs.
    pub const WORD: Self = Self { lines: 1, bits: 32 };
    /// 8 lines x 128 bits: an operand of the 1-bit tensor core's `m8n8k128` (QGTC's PAD8 and PAD128).
    pub const TILE_8X128: Self = Self { lines: 8, bits: 128 };
    /// 16 lines x 256 bits: the first operand of `m16n8k256`.
    pub const TILE_16X256: Self = Self { lines: 16, bits: 256 };
    /// 128 x 128 bits: for a result that becomes an operand packed the other way (QGTC's padding of hidden layers).
    pub const TILE_128X128: Self = Self { lines: 128, bits: 128 };

    /// Lines of a tile.
    #[must_use]
    pub const fn lines(self) -> usize {
        self.lines as usize
    }
    /// Bits of a line of a tile.
    #[must_use]
    pub const fn bits(self) -> usize {
        self.bits as usize
    }
    /// Words of a line of a tile.
    #[must_use]
    pub const fn words(self) -> usize {
        self.bits as usize / WORD
    }
}

impl Default for TileShape {
    fn default() -> Self {
        Self::WORD
    }
}
