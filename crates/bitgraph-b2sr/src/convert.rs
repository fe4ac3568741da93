//! Compressed rows to tiles and back, in parallel.
//!
//! Invariant: the result is the same whatever the number of threads.
//!
//! Method: the entries of a tile row are one run of the column array. A bitmap of tile columns takes them all; the rank of a
//! column in the bitmap is the place of its tile, so that nothing is sorted, and everything but the entries and the result is in the
//! first cache. Tiles of one word are appended to arrays that grow with blocks of tile rows and are joined in the end; larger ones
//! are counted first and filled in place.

use crate::b2sr::{entries, pieces, tile_row_blocks};
use crate::isa::with_bit_instructions;
use crate::marks::Marks;
use crate::{B2sr, Tile};
use bitgraph_sparse::parallel::rows_mut;
use bitgraph_sparse::{Csr, OffsetInt, Offsets, with_offsets};
use bytemuck::Zeroable;
use rayon::prelude::*;
use std::ops::Range;

/// Writes the tiles of a tile row whose columns are in `marks`, ranked; `tiles` is zero before.
#[inline(always)]
pub(crate) fn fill<T: Tile, O: OffsetInt>(
    marks: &Marks,
    offsets: &[O],
    indices: &[u32],
    rows: Range<usize>,
    columns: &mut [u32],
    tiles: &mut [T],
) {
    // Where tiles hold an entry or two, writing the column with each of them is cheaper than reading the columns off the bitmap.
    let few = entries(offsets, indices, rows.clone()).len() < 2 * tiles.len();
    if !few {
        marks.write_columns(columns);
    }
    for (r, row) in rows.enumerate() {
        for &u in entries(offsets, indices, row..row + 1) {
            let column = u >> T::SHIFT;
            let place = marks.rank(column);
            if few {
                columns[place] = column;
            }
            tiles[place].insert(r, u & (T::SIZE as u32 - 1));
        }
    }
}

/// Appends the tiles, of one word each, of a tile row; how many.
#[inline(always)]
fn append<T: Tile, O: OffsetInt>(
    marks: &mut Marks,
    offsets: &[O],
    indices: &[u32],
    rows: Range<usize>,
    columns: &mut Vec<u32>,
    words: &mut Vec<T::Word>,
) -> usize {
    marks.insert_all(entries(offsets, indices, rows.clone()), T::SHIFT);
    let (count, first) = (marks.rank_all(), words.len());
    columns.resize(first + count, 0);
    words.resize(first + count, Zeroable::zeroed());
    fill(marks, offsets, indices, rows, &mut columns[first..], bytemuck::cast_slice_mut::<T::Word, T>(&mut words[first..]));
    marks.clear();
    count
}

impl<T: Tile> B2sr<T> {
    /// From compressed rows. O(nnz), parallel. Peak memory: the result (twice, for tiles of at most 8 bytes on several threads),
    /// 8 bytes a tile row, and per thread (four tasks each) 3 / 16 of a byte for each tile column.
    #[must_use]
    pub fn from_csr(csr: &Csr) -> Self {
        with_offsets!(csr.offsets(), o => if T::BYTES <= 8 { build_small(csr, o) } else { build_large(csr, o) })
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

/// The pieces joined; one alone is moved. Parallel.
pub(crate) fn join<D: bytemuck::Pod + Send + Sync>(mut parts: Vec<Vec<D>>) -> Vec<D> {
    if let [part] = &mut parts[..] {
        part.shrink_to_fit();
        return std::mem::take(part);
    }
    let mut all = vec![D::zeroed(); parts.iter().map(Vec::len).sum()];
    let places = pieces(&mut all, parts.iter().map(Vec::len));
    places.into_par_iter().zip(&parts).with_max_len(1).for_each(|(place, part)| place.copy_from_slice(part));
    all
}

/// The tiles of a block of tile rows.
struct Block<W> {
    counts: Vec<usize>,
    columns: Vec<u32>,
    words: Vec<W>,
}

/// Tiles of one word.
fn build_small<T: Tile, O: OffsetInt>(csr: &Csr, offsets: &[O]) -> B2sr<T> {
    let (indices, size) = (csr.indices(), T::SIZE);
    let tile_rows = csr.nrows().div_ceil(size);
    let alone = rayon::current_num_threads() == 1;
    let ranges = if alone { std::iter::once(0..tile_rows).collect() } else { tile_row_blocks(csr, size) };
    let mut blocks: Vec<Block<T::Word>> = ranges
        .into_par_iter()
        .with_max_len(1)
        .map_init(
            || Marks::new(csr.ncols().div_ceil(size)),
            |marks, block| {
                let most = entries(offsets, indices, block.start * size..block.end * size).len();
                let mut out = Block { counts: Vec::with_capacity(block.len()), columns: Vec::new(), words: Vec::new() };
                // What is not used of this is not touched.
                out.columns.reserve_exact(most);
                out.words.reserve_exact(most);
                with_bit_instructions(|| {
                    for t in block {
                        let rows = t * size..(t + 1) * size;
                        out.counts.push(append::<T, O>(marks, offsets, indices, rows, &mut out.columns, &mut out.words));
                    }
                });
                out
            },
        )
        .collect();
    let mut starts = Vec::with_capacity(tile_rows + 1);
    starts.push(0usize);
    for count in blocks.iter().flat_map(|b| &b.counts) {
        starts.push(starts[starts.len() - 1] + count);
    }
    let columns = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.columns)).collect());
    let words = join(blocks.into_iter().map(|b| b.words).collect());
    B2sr::from_valid((csr.nrows(), csr.ncols()), csr.nnz(), Offsets::from_usizes(&starts), columns.into(), words.into())
}

fn build_large<T: Tile, O: OffsetInt>(csr: &Csr, offsets: &[O]) -> B2sr<T> {
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
    let mut words = vec![<T::Word as Zeroable>::zeroed(); total * (size_of::<T>() / size_of::<T::Word>())];
    let lengths = || blocks.iter().map(|b| starts[b.end] - starts[b.start]);
    let columns_of = pieces(&mut columns, lengths());
    let tiles_of = pieces(bytemuck::cast_slice_mut::<T::Word, T>(&mut words), lengths());
    columns_of.into_par_iter().zip(tiles_of).zip(&blocks).with_max_len(1).for_each_init(
        || Marks::new(csr.ncols().div_ceil(size)),
        |marks, ((columns, tiles), block)| {
            let base = starts[block.start];
            with_bit_instructions(|| {
                for t in block.clone() {
                    let range = starts[t] - base..starts[t + 1] - base;
                    let rows = t * size..(t + 1) * size;
                    marks.insert_all(entries(offsets, indices, rows.clone()), T::SHIFT);
                    marks.rank_all();
                    fill(marks, offsets, indices, rows, &mut columns[range.clone()], &mut tiles[range]);
                    marks.clear();
                }
            });
        },
    );
    B2sr::from_valid((csr.nrows(), csr.ncols()), csr.nnz(), Offsets::from_usizes(&starts), columns.into(), words.into())
}
