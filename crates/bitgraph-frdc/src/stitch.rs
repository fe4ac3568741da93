//! Tiles of 4 x 4 put together to words of 32 or 64 columns: the dynamic coarsening of FRDC (BitGNN, section 3.2.1 and Algorithm 1).
//!
//! Invariant: bit `4 s + c` of word `r` is the entry at row `r`, column `c` of tile `s` of the group; slots past the last tile are zero.
//! (The paper puts the first tile into the highest bits; here it is in the lowest, as everywhere in this workspace.)

use bitgraph_b2sr::{Tile, Tile4};

/// An unsigned integer that tiles are stitched to: [`u32`] or [`u64`].
pub trait Word: sealed::Sealed + Copy + Default + Eq + Send + Sync + std::fmt::Debug + 'static {
    /// Bits, and so columns of a stitched word.
    const BITS: usize;
    /// Tiles that are stitched together: the paper's tile set.
    const TILES: usize = Self::BITS / Tile4::SIZE;

    /// The rows of up to [`Word::TILES`] tiles, one word each; more are ignored.
    fn stitch(tiles: &[Tile4]) -> [Self; 4];
    /// The number of bits set.
    fn count(self) -> u32;
    /// Bit `i`.
    fn bit(self, i: usize) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            const BITS: usize = <$word>::BITS as usize;

            #[inline(always)]
            fn stitch(tiles: &[Tile4]) -> [Self; 4] {
                let mut rows = [0; 4];
                for (s, &tile) in tiles.iter().take(Self::TILES).enumerate() {
                    for (r, row) in rows.iter_mut().enumerate() {
                        *row |= <$word>::from(tile >> (4 * r) & 0xf) << (4 * s);
                    }
                }
                rows
            }
            #[inline(always)]
            fn count(self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn bit(self, i: usize) -> bool {
                self >> i & 1 != 0
            }
        }
    };
}
word!(u32);
word!(u64);

/// Up to [`Word::TILES`] neighbouring tiles of a tile row, stitched: the words of four rows, and the columns that their bits stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stitched<'a, W> {
    /// The words of the four rows of the tile row.
    pub rows: [W; 4],
    /// The tile columns of the tiles: slot `s` holds columns `4 tile_columns[s] ..`.
    pub tile_columns: &'a [u32],
    /// The number of columns of the matrix.
    columns: u32,
}

impl<'a, W: Word> Stitched<'a, W> {
    /// Stitches tiles of a matrix of `columns` columns; `tiles` and `tile_columns` have the same length, at most [`Word::TILES`].
    #[inline(always)]
    pub(crate) fn new(tiles: &[Tile4], tile_columns: &'a [u32], columns: u32) -> Self {
        debug_assert!(tiles.len() == tile_columns.len() && tiles.len() <= W::TILES);
        Self { rows: W::stitch(tiles), tile_columns, columns }
    }
    /// The column of the matrix that bit `bit` of the words stands for; `None` in a slot without a tile, and past the last column.
    #[inline]
    #[must_use]
    pub fn column(&self, bit: usize) -> Option<u32> {
        // A tile column is below a quarter of 2^32, rounded up; its last column may be past 2^32.
        let column = u64::from(*self.tile_columns.get(bit / Tile4::SIZE)?) * 4 + (bit % Tile4::SIZE) as u64;
        (column < self.columns.into()).then_some(column as u32)
    }
    /// The columns of all bits, for a gather of the rows of a feature matrix: where a bit stands for no column, its word bits are zero, and
    /// the last column that there is is repeated, so that every number may be read at.
    ///
    /// # Panics
    /// If `out` has not [`Word::BITS`] elements.
    pub fn gather(&self, out: &mut [u32]) {
        assert_eq!(out.len(), W::BITS, "a column for each bit");
        let mut last = 0;
        for (bit, slot) in out.iter_mut().enumerate() {
            last = self.column(bit).unwrap_or(last);
            *slot = last;
        }
    }
    /// The entries as (row within the tile row, column of the matrix), row by row.
    pub fn entries(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.rows
            .iter()
            .enumerate()
            .flat_map(move |(r, &word)| (0..W::BITS).filter(move |&bit| word.bit(bit)).filter_map(move |bit| Some((r, self.column(bit)?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_go_where_they_belong() {
        // Tile s has bits that name it: row r is (s + r) mod 16.
        let tiles: Vec<Tile4> = (0..16u16).map(|s| (0..4).map(|r| ((s + r) % 16) << (4 * r)).sum()).collect();
        let word = |r: u64| (0..16u64).map(|s| ((s + r) % 16) << (4 * s)).fold(0, |all, nibble| all | nibble);
        assert_eq!(u64::stitch(&tiles), [0, 1, 2, 3].map(word));
        assert_eq!(u32::stitch(&tiles[..8]), [0, 1, 2, 3].map(|r| word(r) as u32));
        assert_eq!(u32::stitch(&tiles[..3]), [0, 1, 2, 3].map(|r| word(r) as u32 & 0xfff));
        assert_eq!(u64::stitch(&[]), [0; 4]);
        // Tiles past the word are ignored.
        assert_eq!(u32::stitch(&tiles), u32::stitch(&tiles[..8]));
    }

    #[test]
    fn columns_past_the_last_are_none() {
        let stitched = Stitched::<u32>::new(&[0x1111, 0x0001], &[2, 5], 22);
        assert_eq!(
            (stitched.column(0), stitched.column(3), stitched.column(4), stitched.column(5)),
            (Some(8), Some(11), Some(20), Some(21))
        );
        assert_eq!((stitched.column(6), stitched.column(8), stitched.column(31)), (None, None, None));
        let mut columns = [0; 32];
        stitched.gather(&mut columns);
        assert_eq!(columns[..8], [8, 9, 10, 11, 20, 21, 21, 21]);
        assert!(columns[8..].iter().all(|&c| c == 21));
        assert_eq!(stitched.entries().collect::<Vec<_>>(), [(0, 8), (0, 20), (1, 8), (2, 8), (3, 8)]);
        let far = Stitched::<u32>::new(&[1], &[u32::MAX / 4], u32::MAX);
        assert_eq!((far.column(2), far.column(3)), (Some(u32::MAX - 1), None));
    }
}
