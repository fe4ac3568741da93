//! The entries of a tile row as sorted numbers, for tile rows of few entries.
//!
//! Invariant: a key is `tile column << 2 s | row << s | column in the tile` for tiles of `1 << s` rows and columns, so that the keys of
//! a tile are neighbours once sorted, and say all that there is to say about it. Nothing branches on how entries fall into tiles.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::Tile;
use bitgraph_sparse::OffsetInt;
use std::ops::Range;

/// Places behind the keys that are written.
const BEHIND: usize = 64;

/// Whether the CPU has instructions for all this.
fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    return avx512::available();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Room for the keys of a tile row.
pub(crate) struct Keys {
    keys: Vec<u32>,
    len: usize,
}

impl Keys {
    /// The most entries that are sorted; a bitmap is as good for more.
    pub(crate) const MOST: usize = 512;
    /// Places that [`Keys::list`] needs beyond those of the columns.
    pub(crate) const SPARE: usize = 16;
    /// For tiles `T` of a matrix of so many columns, if the CPU has instructions for it and keys hold the columns.
    pub(crate) fn new<T: Tile>(columns: usize) -> Option<Self> {
        (columns < 1 << (32 - T::SHIFT) && available()).then(|| Self { keys: vec![0; Self::MOST + BEHIND], len: 0 })
    }
    /// Takes the entries of rows `rows`, which are not past the last, if there are not too many.
    #[inline(always)]
    pub(crate) fn load<T: Tile, O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], rows: Range<usize>) -> bool {
        let (start, end) = (offsets[rows.start].index(), offsets[rows.end].index());
        if end - start > Self::MOST || end > indices.len() {
            return false;
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: there are keys only where the CPU has the features, with room for so many entries; the rows' entries are those between
        // the bounds just looked at, as offsets ascend.
        unsafe {
            self.len = avx512::load::<T, O>(offsets, indices, rows, &mut self.keys);
        }
        true
    }
    /// The keys, ascending.
    #[inline(always)]
    pub(crate) fn sorted(&self) -> &[u32] {
        &self.keys[..self.len]
    }
    /// Writes tiles, which are zero before, and their columns; how many. There is room for as many as there are keys.
    #[inline(always)]
    pub(crate) fn write_tiles<T: Tile>(&self, columns: &mut [u32], tiles: &mut [T]) -> usize {
        let (mut count, mut last, mut tile) = (0, !0, T::zeroed());
        for &key in self.sorted() {
            let column = key >> (2 * T::SHIFT);
            count += usize::from(column != last);
            let (r, c) = ((key >> T::SHIFT) as usize & (T::SIZE - 1), key & (T::SIZE as u32 - 1));
            if T::BYTES <= 8 {
                // A tile in a register need not be read back.
                tile = if column == last { tile } else { T::zeroed() };
                tile.insert(r, c);
                tiles[count - 1] = tile;
            } else {
                tiles[count - 1].insert(r, c);
            }
            columns[count - 1] = column;
            last = column;
        }
        count
    }
    /// Drops the entries of the tiles, counted by columns, that are kept elsewhere.
    #[inline(always)]
    pub(crate) fn drop_tiles<T: Tile>(&mut self, kept: &[bool]) {
        let (mut count, mut last, mut length) = (0, !0, 0);
        let keys = &mut self.keys[..self.len];
        for k in 0..keys.len() {
            let key = keys[k];
            let column = key >> (2 * T::SHIFT);
            count += usize::from(column != last);
            last = column;
            keys[length] = key;
            length += usize::from(!kept[count - 1]);
        }
        self.len = length;
    }
    /// Writes the columns of the entries to `list`, row by row, and how many each row has to `counts`; how many there are.
    #[inline(always)]
    pub(crate) fn list<T: Tile>(&self, list: &mut [u32], counts: &mut [u32]) -> usize {
        let list = &mut list[..self.len + Self::SPARE];
        #[cfg(target_arch = "x86_64")]
        // SAFETY: there are keys only where the CPU has the features; the room was looked at.
        unsafe {
            avx512::list::<T>(self.sorted(), list, counts);
        }
        let _ = (list, counts);
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tile4, Tile8, Tile16, Tile32};
    use std::collections::{BTreeMap, BTreeSet};

    /// Rows of random columns below `width`: `lengths` of them at most in each.
    fn rows(lengths: &[usize], width: u64, seed: u64) -> (Vec<u32>, Vec<u32>) {
        let mut state = seed;
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        for &length in lengths {
            let row: BTreeSet<u32> = (0..length).map(|_| (crate::counts::split_mix(&mut state) % width) as u32).collect();
            indices.extend(row);
            offsets.push(indices.len() as u32);
        }
        (offsets, indices)
    }

    fn check<T: Tile>(lengths: &[usize], width: u64, seed: u64) {
        let Some(mut keys) = Keys::new::<T>(width as usize) else { return };
        let (offsets, indices) = rows(lengths, width, seed);
        let all = 0..lengths.len();
        assert!(keys.load::<T, u32>(&offsets, &indices, all.clone()));
        let mut wanted: BTreeMap<u32, T> = BTreeMap::new();
        for r in all.clone() {
            for &u in &indices[offsets[r] as usize..offsets[r + 1] as usize] {
                wanted.entry(u >> T::SHIFT).or_insert(T::zeroed()).insert(r, u & (T::SIZE as u32 - 1));
            }
        }
        let mut columns = vec![0; indices.len()];
        let mut tiles = vec![T::zeroed(); indices.len()];
        let count = keys.write_tiles(&mut columns, &mut tiles);
        assert!(columns[..count].iter().eq(wanted.keys()) && tiles[..count].iter().eq(wanted.values()), "{lengths:?} of {width}");
        // Every third tile is kept elsewhere.
        let kept: Vec<bool> = (0..count).map(|k| k % 3 == 0).collect();
        keys.drop_tiles::<T>(&kept);
        let (mut list, mut counts) = (vec![0; indices.len() + Keys::SPARE], vec![0; lengths.len()]);
        let listed = keys.list::<T>(&mut list, &mut counts);
        let is_listed = |u: &u32| columns[..count].binary_search(&(u >> T::SHIFT)).is_ok_and(|k| !kept[k]);
        let mut rest = list[..listed].iter();
        for r in all {
            let row: Vec<u32> = indices[offsets[r] as usize..offsets[r + 1] as usize].iter().copied().filter(is_listed).collect();
            assert_eq!(counts[r] as usize, row.len());
            assert!(row.iter().eq(rest.by_ref().take(row.len())));
        }
        assert!(rest.next().is_none());
    }

    #[test]
    fn keys_of_any_number_of_entries_are_the_tiles() {
        let mut seed = 0;
        for width in [3, 40, 1000, (1 << 27) - 1] {
            for length in [0, 1, 2, 3, 5, 9, 12, 15, 16, 17, 33, 40, 60] {
                seed += 1;
                check::<Tile4>(&[length; 4], width, seed);
                check::<Tile4>(&[2 * length, 0, length], width, seed);
                check::<Tile8>(&[length; 8], width, seed);
                check::<Tile8>(&[0, length, 0, 0, 3 * length], width, seed);
                check::<Tile16>(&[length / 2; 16], width, seed);
                check::<Tile32>(&[length / 4; 32], width, seed);
            }
        }
        check::<Tile8>(&[1000, 100], 300, 1);
    }

    #[test]
    fn many_entries_and_wide_matrices_are_left_to_bitmaps() {
        assert!(Keys::new::<Tile8>(1 << 29).is_none());
        if let Some(mut keys) = Keys::new::<Tile8>(10_000) {
            let (offsets, indices) = rows(&[600, 600], 10_000, 1);
            assert!(!keys.load::<Tile8, u32>(&offsets, &indices, 0..2));
            assert!(keys.load::<Tile8, u32>(&offsets, &indices, 2..2));
            assert!(keys.sorted().is_empty());
        }
    }
}
