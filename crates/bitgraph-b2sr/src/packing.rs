//! Row-major and column-major packing of one tile (Bit-GraphBLAS, Figure 2 and Table I).
//!
//! Invariant: packing then unpacking in the same order is the identity; the column-major words of a tile are the row-major
//! words of its transpose.

use crate::Tile;

/// The order in which the bits of a tile are packed into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Word `r` holds row `r`, its bit `c` column `c`: the order of the formats.
    #[default]
    RowMajor,
    /// Word `c` holds column `c`, its bit `r` row `r`.
    ColumnMajor,
}

/// The tile of a dense square of `T::SIZE * T::SIZE` elements, row after row: a bit for each element that is not zero.
///
/// # Panics
/// If `dense` has another length.
#[must_use]
pub fn tile_of<T: Tile, V: Copy + PartialEq + Default>(dense: &[V]) -> T {
    assert_eq!(dense.len(), T::SIZE * T::SIZE, "a dense tile of {0} x {0}", T::SIZE);
    let mut tile = T::zeroed();
    for (i, &value) in dense.iter().enumerate() {
        if value != V::default() {
            tile.insert(i / T::SIZE, (i % T::SIZE) as u32);
        }
    }
    tile
}

/// The `T::SIZE` words of a tile, each holding `T::SIZE` bits.
#[must_use]
pub fn pack<T: Tile>(tile: &T, packing: Packing) -> Vec<u32> {
    let tile = match packing {
        Packing::RowMajor => *tile,
        Packing::ColumnMajor => tile.transpose(),
    };
    (0..T::SIZE).map(|i| tile.row(i)).collect()
}

/// The tile of `T::SIZE` words; bits past the tile's size are ignored.
///
/// # Panics
/// If there are not `T::SIZE` words.
#[must_use]
pub fn unpack<T: Tile>(words: &[u32], packing: Packing) -> T {
    assert_eq!(words.len(), T::SIZE, "one word for each row or column of the tile");
    let mut tile = T::zeroed();
    for (r, &word) in words.iter().enumerate() {
        (0..T::SIZE as u32).filter(|c| word >> c & 1 != 0).for_each(|c| tile.insert(r, c));
    }
    match packing {
        Packing::RowMajor => tile,
        Packing::ColumnMajor => tile.transpose(),
    }
}

/// A 4x4 tile as the paper stores it: four bytes, a row in the low half of each.
#[must_use]
pub fn to_nibbles(tile: u16) -> [u8; 4] {
    [0, 4, 8, 12].map(|shift| (tile >> shift) as u8 & 0xf)
}

/// The 4x4 tile of four bytes; their high halves are ignored.
#[must_use]
pub fn from_nibbles(rows: [u8; 4]) -> u16 {
    rows.iter().rev().fold(0, |tile, &row| tile << 4 | u16::from(row & 0xf))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tile4, Tile8, Tile16, Tile32};

    fn both_ways<T: Tile>() {
        let dense: Vec<f32> = (0..T::SIZE * T::SIZE).map(|i| if i * i % 7 == 2 || i < 3 { 1.5 } else { 0.0 }).collect();
        let tile: T = tile_of(&dense);
        let (rows, columns) = (pack(&tile, Packing::RowMajor), pack(&tile, Packing::ColumnMajor));
        for r in 0..T::SIZE {
            for c in 0..T::SIZE {
                let set = dense[r * T::SIZE + c] != 0.0;
                assert_eq!(rows[r] >> c & 1 != 0, set);
                assert_eq!(columns[c] >> r & 1 != 0, set);
            }
        }
        assert_eq!(unpack::<T>(&rows, Packing::RowMajor), tile);
        assert_eq!(unpack::<T>(&columns, Packing::ColumnMajor), tile);
    }

    #[test]
    fn packing_in_both_orders() {
        both_ways::<Tile4>();
        both_ways::<Tile8>();
        both_ways::<Tile16>();
        both_ways::<Tile32>();
        assert_eq!(to_nibbles(0x8421), [1, 2, 4, 8]);
        assert!((0..=u16::MAX).step_by(37).all(|t| from_nibbles(to_nibbles(t)) == t));
    }
}
