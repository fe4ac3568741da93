//! Compressed rows to tiles and back, in parallel, in two passes: count, then fill.
//!
//! Invariant: the result is the same whatever the number of threads.
//!
//! Method: the entries of a tile row are one run of the column array. A bitmap of tile columns takes them all; reading it in
//! ascending order gives the tiles in order without sorting. Bits are collected in a table of one tile for each tile column
//! where tiles are small, and written through a table of positions where they are large.

use crate::b2sr::{entries, pieces, tile_row_blocks};
use crate::isa::with_bit_instructions;
use crate::marks::Marks;
use crate::{B2sr, Tile};
use bitgraph_sparse::parallel::rows_mut;
use bitgraph_sparse::{Csr, OffsetInt, Offsets, with_offsets};
use rayon::prelude::*;
use std::ops::Range;

/// What a task needs to turn tile rows into tiles.
pub(crate) struct Scratch<T> {
    pub(crate) marks: Marks,
    /// One tile for each tile column, all empty between tile rows (tiles of at most eight bytes).
    pub(crate) table: Vec<T>,
    /// Where the tile of a tile column is in the tile row (larger tiles).
    slots: Vec<u32>,
}

impl<T: Tile> Scratch<T> {
    const TABLE: bool = T::BYTES <= 8;

    pub(crate) fn new(columns: usize) -> Self {
        let width = columns.div_ceil(T::SIZE);
        let (table, slots) = if Self::TABLE { (vec![T::zeroed(); width], Vec::new()) } else { (Vec::new(), vec![0; width]) };
        Self { marks: Marks::new(width), table, slots }
    }
    /// Marks the tile columns of a tile row and collects its bits in the table.
    #[inline(always)]
    pub(crate) fn collect<O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], rows: Range<usize>) {
        self.marks.insert_all(entries(offsets, indices, rows.clone()), T::SHIFT);
        for (r, row) in rows.clone().enumerate() {
            for &u in entries(offsets, indices, row..row + 1) {
                self.table[(u >> T::SHIFT) as usize].insert(r, u & (T::SIZE as u32 - 1));
            }
        }
    }
    /// Writes the tiles of a tile row; `tiles` is zero before.
    #[inline(always)]
    fn fill<O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], rows: Range<usize>, columns: &mut [u32], tiles: &mut [T]) {
        if Self::TABLE {
            self.collect(offsets, indices, rows);
            let found = self.marks.drain_ascending();
            columns.copy_from_slice(found);
            for (tile, &column) in tiles.iter_mut().zip(found) {
                *tile = std::mem::replace(&mut self.table[column as usize], T::zeroed());
            }
        } else {
            self.marks.insert_all(entries(offsets, indices, rows.clone()), T::SHIFT);
            let found = self.marks.drain_ascending();
            columns.copy_from_slice(found);
            for (slot, &column) in found.iter().enumerate() {
                self.slots[column as usize] = slot as u32;
            }
            for (r, row) in rows.enumerate() {
                for &u in entries(offsets, indices, row..row + 1) {
                    tiles[self.slots[(u >> T::SHIFT) as usize] as usize].insert(r, u & (T::SIZE as u32 - 1));
                }
            }
        }
    }
}

impl<T: Tile> B2sr<T> {
    /// From compressed rows. O(nnz), parallel. Peak memory: the result, 8 bytes a tile row, and per thread (four tasks each)
    /// one tile of at most 8 bytes or 4 bytes for each tile column, and 3 bits.
    #[must_use]
    pub fn from_csr(csr: &Csr) -> Self {
        with_offsets!(csr.offsets(), o => build(csr, o))
    }
    /// To compressed rows. O(tiles + nnz), parallel. Peak memory: the result and 8 bytes a row.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        let offsets = self.row_offsets();
        let mut indices = vec![0u32; self.nnz()];
        let starts: Vec<u64> = (0..=self.tile_rows()).map(|t| offsets[(t * T::SIZE).min(self.nrows())] as u64).collect();
        rows_mut(&starts, &mut indices, |t, out| {
            let mut next = [0usize; 32];
            for (n, row) in next.iter_mut().zip(t * T::SIZE..((t + 1) * T::SIZE).min(self.nrows())) {
                *n = offsets[row] - starts[t] as usize;
            }
            let range = self.tile_range(t);
            for (tile, &column) in self.tiles()[range.clone()].iter().zip(&self.tile_columns()[range]) {
                tile.for_each(|r, c| {
                    out[next[r]] = (column << T::SHIFT) + c;
                    next[r] += 1;
                });
            }
        });
        Csr::from_valid(self.nrows(), self.ncols(), Offsets::from_usizes(&offsets), indices.into())
    }
    /// Where the entries of each row start in the pattern's own order, and thereby in a value array: one element more than
    /// there are rows. O(tiles), parallel.
    #[must_use]
    pub fn row_offsets(&self) -> Vec<usize> {
        let mut offsets = vec![0usize; self.nrows() + 1];
        offsets[1..].par_chunks_mut(T::SIZE).enumerate().with_min_len(512).for_each(|(t, counts)| {
            for tile in &self.tiles()[self.tile_range(t)] {
                for (r, count) in counts.iter_mut().enumerate() {
                    *count += tile.row(r).count_ones() as usize;
                }
            }
        });
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        offsets
    }
}

fn build<T: Tile, O: OffsetInt>(csr: &Csr, offsets: &[O]) -> B2sr<T> {
    let (indices, size) = (csr.indices(), T::SIZE);
    let tile_rows = csr.nrows().div_ceil(size);
    let blocks = tile_row_blocks(csr, size);
    let mut starts = vec![0usize; tile_rows + 1];
    pieces(&mut starts[1..], blocks.iter().map(ExactSizeIterator::len)).into_par_iter().zip(&blocks).with_max_len(1).for_each_init(
        || Marks::new(csr.ncols().div_ceil(size)),
        |marks, (counts, block)| {
            with_bit_instructions(|| {
                for (count, t) in counts.iter_mut().zip(block.clone()) {
                    marks.insert_all(entries(offsets, indices, t * size..(t + 1) * size), T::SHIFT);
                    *count = marks.drain_count();
                }
            });
        },
    );
    for t in 1..=tile_rows {
        starts[t] += starts[t - 1];
    }
    let total = starts[tile_rows];
    let mut columns = vec![0u32; total];
    let mut words = vec![<T::Word as bytemuck::Zeroable>::zeroed(); total * (size_of::<T>() / size_of::<T::Word>())];
    let lengths = || blocks.iter().map(|b| starts[b.end] - starts[b.start]);
    let columns_of = pieces(&mut columns, lengths());
    let tiles_of = pieces(bytemuck::cast_slice_mut::<T::Word, T>(&mut words), lengths());
    columns_of.into_par_iter().zip(tiles_of).zip(&blocks).with_max_len(1).for_each_init(
        || Scratch::<T>::new(csr.ncols()),
        |scratch, ((columns, tiles), block)| {
            let base = starts[block.start];
            with_bit_instructions(|| {
                for t in block.clone() {
                    let range = starts[t] - base..starts[t + 1] - base;
                    scratch.fill(offsets, indices, t * size..(t + 1) * size, &mut columns[range.clone()], &mut tiles[range]);
                }
            });
        },
    );
    B2sr::from_valid((csr.nrows(), csr.ncols()), csr.nnz(), Offsets::from_usizes(&starts), columns.into(), words.into())
}
