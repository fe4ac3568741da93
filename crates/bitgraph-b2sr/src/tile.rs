//! The four tiles: squares of bits, packed row by row.
//!
//! Invariant: bit `c` of [`Tile::row`]`(r)` is the entry at row `r`, column `c` of the tile; the packing is row-major, so the
//! words of a tile read in order give its rows in order. Column-major packing is that of the transposed tile.

use bitgraph_sparse::{Buffer, Error, FormatKind, Result, SectionData, Sections};
use bytemuck::Pod;
use std::fmt::Debug;

/// A 4x4 tile: row `r` is bits `4 r .. 4 r + 4`.
pub type Tile4 = u16;
/// An 8x8 tile: row `r` is byte `r`, column `c` its bit `c`.
pub type Tile8 = u64;
/// A 16x16 tile: one word a row.
pub type Tile16 = [u16; 16];
/// A 32x32 tile: one word a row.
pub type Tile32 = [u32; 32];

/// A square of bits. Implemented for [`Tile4`], [`Tile8`], [`Tile16`] and [`Tile32`].
pub trait Tile: Pod + PartialEq + Debug + Send + Sync {
    /// The unsigned integer that an array of tiles is stored in.
    type Word: Pod + PartialEq + Debug + Send + Sync;
    /// Rows and columns.
    const SIZE: usize;
    /// The logarithm of [`Tile::SIZE`].
    const SHIFT: u32;
    /// The format built of these tiles.
    const KIND: FormatKind;
    /// Bytes of a tile.
    const BYTES: usize = size_of::<Self>();

    /// The bits of row `r`.
    fn row(&self, r: usize) -> u32;
    /// Sets the bit at row `r`, column `c`.
    fn insert(&mut self, r: usize, c: u32);
    /// The number of bits set.
    fn count(&self) -> u32;
    /// Whether no bit is set.
    fn is_empty(&self) -> bool;
    /// The tile mirrored at its diagonal.
    #[must_use]
    fn transpose(&self) -> Self;
    /// Calls `f(row, column)` for the bits set, row by row.
    fn for_each(&self, f: impl FnMut(usize, u32));
    /// Words as a section of a container.
    fn to_section(words: &Buffer<Self::Word>) -> SectionData;
    /// Words from a section of a container.
    ///
    /// # Errors
    /// [`Error::Section`] if it is missing or of another type.
    fn from_section(sections: &Sections, name: &str) -> Result<Buffer<Self::Word>>;
}

macro_rules! sections {
    ($variant:ident) => {
        fn to_section(words: &Buffer<Self::Word>) -> SectionData {
            SectionData::$variant(words.clone())
        }
        fn from_section(sections: &Sections, name: &str) -> Result<Buffer<Self::Word>> {
            match sections.get(name) {
                Some(SectionData::$variant(words)) => Ok(words.clone()),
                _ => Err(Error::Section { name: name.to_string() }),
            }
        }
    };
}

macro_rules! one_word {
    ($word:ty, $size:literal, $shift:literal, $kind:ident, $section:ident, $swaps:expr) => {
        impl Tile for $word {
            type Word = $word;
            const SIZE: usize = $size;
            const SHIFT: u32 = $shift;
            const KIND: FormatKind = FormatKind::$kind;
            #[inline(always)]
            fn row(&self, r: usize) -> u32 {
                (*self >> (r * $size)) as u32 & ((1 << $size) - 1)
            }
            #[inline(always)]
            fn insert(&mut self, r: usize, c: u32) {
                *self |= 1 << (r as u32 * $size + c);
            }
            #[inline(always)]
            fn count(&self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn is_empty(&self) -> bool {
                *self == 0
            }
            #[inline]
            fn transpose(&self) -> Self {
                let mut x = *self;
                // Each step exchanges the off-diagonal blocks of one size: 1, 2, (4).
                for (distance, mask) in $swaps {
                    let swap = (x ^ (x >> distance)) & mask;
                    x ^= swap ^ (swap << distance);
                }
                x
            }
            #[inline(always)]
            fn for_each(&self, mut f: impl FnMut(usize, u32)) {
                let mut bits = *self;
                while bits != 0 {
                    let p = bits.trailing_zeros();
                    bits &= bits - 1;
                    f((p >> $shift) as usize, p & ($size - 1));
                }
            }
            sections!($section);
        }
    };
}
one_word!(u16, 4, 2, B2sr4, U16, [(3, 0x0a0a), (6, 0x00cc)]);
one_word!(u64, 8, 3, B2sr8, U64, [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]);

macro_rules! word_per_row {
    ($word:ty, $size:literal, $shift:literal, $kind:ident, $section:ident, $masks:expr) => {
        impl Tile for [$word; $size] {
            type Word = $word;
            const SIZE: usize = $size;
            const SHIFT: u32 = $shift;
            const KIND: FormatKind = FormatKind::$kind;
            #[inline(always)]
            fn row(&self, r: usize) -> u32 {
                u32::from(self[r])
            }
            #[inline(always)]
            fn insert(&mut self, r: usize, c: u32) {
                self[r] |= 1 << c;
            }
            #[inline]
            fn count(&self) -> u32 {
                self.iter().map(|w| w.count_ones()).sum()
            }
            #[inline]
            fn is_empty(&self) -> bool {
                self.iter().all(|&w| w == 0)
            }
            fn transpose(&self) -> Self {
                let mut rows = *self;
                let mut distance = $size / 2;
                // Each step exchanges the off-diagonal blocks of one size, the largest first.
                for mask in $masks {
                    for low in (0..$size).filter(|r| r & distance == 0) {
                        let swap = ((rows[low] >> distance) ^ rows[low | distance]) & mask;
                        rows[low] ^= swap << distance;
                        rows[low | distance] ^= swap;
                    }
                    distance /= 2;
                }
                rows
            }
            #[inline(always)]
            fn for_each(&self, mut f: impl FnMut(usize, u32)) {
                for (r, &word) in self.iter().enumerate() {
                    let mut bits = word;
                    while bits != 0 {
                        f(r, bits.trailing_zeros());
                        bits &= bits - 1;
                    }
                }
            }
            sections!($section);
        }
    };
}
word_per_row!(u16, 16, 4, B2sr16, U16, [0x00ffu16, 0x0f0f, 0x3333, 0x5555]);
word_per_row!(u32, 32, 5, B2sr32, U32, [0x0000_ffffu32, 0x00ff_00ff, 0x0f0f_0f0f, 0x3333_3333, 0x5555_5555]);

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Tile>() {
        let mut state = 1u64;
        for fill in [1, 3, T::SIZE, T::SIZE * T::SIZE / 2] {
            let mut tile = T::zeroed();
            let mut set = std::collections::BTreeSet::new();
            for _ in 0..fill {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (r, c) = ((state >> 40) as usize % T::SIZE, (state >> 20) as u32 % T::SIZE as u32);
                tile.insert(r, c);
                set.insert((r, c));
            }
            let mut seen = Vec::new();
            tile.for_each(|r, c| seen.push((r, c)));
            assert_eq!(seen, set.iter().copied().collect::<Vec<_>>());
            assert_eq!(tile.count() as usize, set.len());
            assert!(!tile.is_empty() && T::zeroed().is_empty());
            let t = tile.transpose();
            for r in 0..T::SIZE {
                for c in 0..T::SIZE {
                    assert_eq!(tile.row(r) >> c & 1 != 0, set.contains(&(r, c as u32)));
                    assert_eq!(t.row(c) >> r & 1, tile.row(r) >> c & 1);
                }
            }
            assert_eq!(t.transpose(), tile);
        }
        assert_eq!(1 << T::SHIFT, T::SIZE);
    }

    #[test]
    fn tiles_hold_what_was_inserted() {
        check::<Tile4>();
        check::<Tile8>();
        check::<Tile16>();
        check::<Tile32>();
    }
}
