//! Where the bit of an element is: the direction of packing, the padding, and the words of a line.
//!
//! # Invariants
//! A *line* is a row ([`Packing::Rows`]) or a column ([`Packing::Columns`]); its bits lie in consecutive words, bit `i` of a line in bit
//! `i % 32` of its word `i / 32`. Lines follow each other at a fixed stride. The number of lines and the bits of a line are multiples of
//! those of the tile that the layout is padded to, and bits beyond the matrix are zero.
//!
//! # Bytes
//! `4 * stride * padded_lines` a plane.

use crate::packing::WORD;
use crate::{Error, Packing, Result, TileShape};

impl TileShape {
    /// Tiles of `lines` lines x `bits` bits.
    ///
    /// # Errors
    /// [`Error::Tile`] if `lines` is 0, or `bits` is not a positive multiple of 32.
    pub const fn new(lines: u32, bits: u32) -> Result<Self> {
        if lines == 0 || bits == 0 || !bits.is_multiple_of(WORD as u32) {
            return Err(Error::Tile { lines, bits });
        }
        Ok(Self { lines, bits })
    }
}

/// The layout of one plane of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BitLayout {
    rows: u32,
    columns: u32,
    packing: Packing,
    padding: TileShape,
    stride: usize,
    padded_lines: usize,
}

impl BitLayout {
    /// The layout of `rows` x `columns` bits.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if a dimension does not fit 32 bits, or the words of 16 planes would not fit an address space.
    pub fn new(rows: usize, columns: usize, packing: Packing, padding: TileShape) -> Result<Self> {
        let too_large = || Error::TooLarge { rows: rows as u64, columns: columns as u64, planes: 16 };
        let (r, c) = (u32::try_from(rows).map_err(|_| too_large())?, u32::try_from(columns).map_err(|_| too_large())?);
        let (lines, length) = match packing {
            Packing::Rows => (rows, columns),
            Packing::Columns => (columns, rows),
        };
        let padded_lines = lines.checked_next_multiple_of(padding.lines()).ok_or_else(too_large)?;
        let stride = length.checked_next_multiple_of(padding.bits()).ok_or_else(too_large)? / WORD;
        // The widest codes have 16 planes of 4-byte words: one check here makes every later product of sizes safe.
        stride.checked_mul(padded_lines).and_then(|w| w.checked_mul(64)).filter(|&b| isize::try_from(b).is_ok()).ok_or_else(too_large)?;
        Ok(Self { rows: r, columns: c, packing, padding, stride, padded_lines })
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.rows as usize
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.columns as usize
    }
    /// The direction of packing.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.packing
    }
    /// The tiles that it is padded to.
    #[must_use]
    pub fn padding(&self) -> TileShape {
        self.padding
    }
    /// Lines of the matrix: its rows, or its columns.
    #[must_use]
    pub fn lines(&self) -> usize {
        match self.packing {
            Packing::Rows => self.nrows(),
            Packing::Columns => self.ncols(),
        }
    }
    /// Bits of a line that belong to the matrix: its columns, or its rows.
    #[must_use]
    pub fn length(&self) -> usize {
        match self.packing {
            Packing::Rows => self.ncols(),
            Packing::Columns => self.nrows(),
        }
    }
    /// Lines with the padding.
    #[must_use]
    pub fn padded_lines(&self) -> usize {
        self.padded_lines
    }
    /// Words of a line, with the padding.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }
    /// Words of a plane, with the padding.
    #[must_use]
    pub fn words(&self) -> usize {
        self.stride * self.padded_lines
    }
    /// Bytes of a plane, with the padding.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        4 * self.words() as u64
    }
    /// The word of a plane that holds an element, and the bit in it.
    ///
    /// # Panics
    /// If the element is outside the matrix.
    #[inline]
    #[must_use]
    pub fn position(&self, row: usize, column: usize) -> (usize, u32) {
        assert!(row < self.nrows() && column < self.ncols(), "element ({row}, {column}) of {} x {}", self.rows, self.columns);
        let (line, bit) = match self.packing {
            Packing::Rows => (row, column),
            Packing::Columns => (column, row),
        };
        (line * self.stride + bit / WORD, (bit % WORD) as u32)
    }
    /// The words of a line in a plane.
    ///
    /// # Panics
    /// If the line is not in the plane.
    #[inline]
    #[must_use]
    pub fn line<'a>(&self, plane: &'a [u32], line: usize) -> &'a [u32] {
        &plane[line * self.stride..(line + 1) * self.stride]
    }
    /// The layout of the transpose, in which every bit is where it was.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self { rows: self.columns, columns: self.rows, packing: self.packing.other(), ..*self }
    }
    /// The first word of `planes` planes that has a bit beyond the matrix.
    pub(crate) fn breach(&self, words: &[u32]) -> Option<usize> {
        let (full, rest) = (self.length() / WORD, self.length() % WORD);
        let inside = |w: usize| match w.cmp(&full) {
            std::cmp::Ordering::Less => !0,
            std::cmp::Ordering::Equal => (1u32 << rest) - 1,
            std::cmp::Ordering::Greater => 0,
        };
        if self.words() == 0 {
            return None;
        }
        words.chunks_exact(self.words()).enumerate().find_map(|(p, plane)| {
            plane.chunks_exact(self.stride).enumerate().find_map(|(l, line)| {
                let past = l >= self.lines();
                // Within a line only the words from the last partial one on can hold bits that do not belong there.
                let from = if past { 0 } else { full };
                let w =
                    from + line[from..].iter().enumerate().position(|(i, &word)| word & !(if past { 0 } else { inside(from + i) }) != 0)?;
                Some(p * self.words() + l * self.stride + w)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_words() {
        let a = BitLayout::new(13, 70, Packing::Rows, TileShape::TILE_8X128).unwrap();
        assert_eq!((a.lines(), a.length(), a.padded_lines(), a.stride(), a.words(), a.bytes()), (13, 70, 16, 4, 64, 256));
        assert_eq!(a.position(2, 33), (2 * 4 + 1, 1));
        let b = BitLayout::new(13, 70, Packing::Columns, TileShape::WORD).unwrap();
        assert_eq!((b.lines(), b.length(), b.padded_lines(), b.stride()), (70, 13, 70, 1));
        assert_eq!(b.position(12, 69), (69, 12));
        assert_eq!(b.transposed(), BitLayout::new(70, 13, Packing::Rows, TileShape::WORD).unwrap());
        assert_eq!(b.transposed().position(69, 12), (69, 12));
        let none = BitLayout::new(0, 5, Packing::Rows, TileShape::TILE_8X128).unwrap();
        assert_eq!((none.words(), none.padded_lines()), (0, 0));
        assert_eq!(BitLayout::new(5, 0, Packing::Rows, TileShape::TILE_8X128).unwrap().words(), 0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(TileShape::new(0, 32), Err(Error::Tile { lines: 0, bits: 32 }));
        assert!(TileShape::new(1, 0).is_err() && TileShape::new(1, 33).is_err() && TileShape::new(3, 96).is_ok());
        let new = |r, c| BitLayout::new(r, c, Packing::Rows, TileShape::WORD);
        assert!(matches!(new(1 << 32, 1), Err(Error::TooLarge { .. })));
        assert!(matches!(new(1, 1 << 32), Err(Error::TooLarge { .. })));
        // The bytes of one plane, 2^61, would fit; those of 16 planes do not.
        assert!(matches!(new(u32::MAX as usize, u32::MAX as usize), Err(Error::TooLarge { .. })));
        assert!(new(1 << 30, 1 << 20).is_ok());
    }

    #[test]
    fn bits_beyond_the_matrix_are_found() {
        let a = BitLayout::new(3, 40, Packing::Rows, TileShape::new(4, 96).unwrap()).unwrap();
        let good = vec![!0u32, 0xff, 0, !0, 0xff, 0, !0, 0xff, 0, 0, 0, 0];
        assert_eq!(a.breach(&good), None);
        for (word, bits) in [(1, 0x100), (2, 1), (5, 1), (9, 1), (11, 1 << 31)] {
            let mut bad = good.clone();
            bad[word] |= bits;
            assert_eq!(a.breach(&bad), Some(word));
            assert_eq!(a.breach(&[good.clone(), bad].concat()), Some(12 + word));
        }
    }
}
