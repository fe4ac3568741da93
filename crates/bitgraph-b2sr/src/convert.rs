//! Compressed rows to tiles and back, in parallel.
//!
//! Invariant: the result is the same whatever the number of threads.
//!
//! Method: the entries of a tile row are one run of the column array. Few of them are sorted by tiles, in registers. Otherwise a bitmap
//! of tile columns takes them all, and the rank of a column in the bitmap is the place of its tile. Either way everything but the
//! entries and the result is in the first cache. Tiles of one word are written to arrays with room for all entries of a block of tile
//! rows, which are joined in the end; larger ones are counted first and written in place.

use crate::b2sr::{entries, pieces, tile_row_blocks};
use crate::isa::{Work, with_bit_instructions};
use crate::keys::Keys;
use crate::marks::Marks;
use crate::{B2sr, Tile};
use bitgraph_sparse::parallel::rows_mut;
use bitgraph_sparse::{Csr, OffsetInt, Offsets, parallel, with_offsets};
use bytemuck::Zeroable;
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

/// What finds the tiles of a tile row: by sorting where that is quicker, else by a bitmap.
pub(crate) struct Finder {
    pub keys: Option<Keys>,
    pub marks: Marks,
}

impl Finder {
    /// For tiles `T` of a matrix of so many columns.
    pub(crate) fn new<T: Tile>(columns: usize) -> Self {
        Self { keys: Keys::new::<T>(columns), marks: Marks::new(columns.div_ceil(T::SIZE)) }
    }
    /// Writes the tiles of rows `rows` to the first places, which are zero before, and their columns; how many.
    #[inline(always)]
    fn write<T: Tile, O: OffsetInt>(
        &mut self,
        offsets: &[O],
        indices: &[u32],
        rows: Range<usize>,
        columns: &mut [u32],
        tiles: &mut [T],
    ) -> usize {
        if let Some(keys) = &mut self.keys
            && keys.load::<T, O>(offsets, indices, rows.clone())
        {
            return keys.write_tiles(columns, tiles);
        }
        self.marks.insert_all(entries(offsets, indices, rows.clone()), T::SHIFT);
        let count = self.marks.rank_all();
        fill(&self.marks, offsets, indices, rows, &mut columns[..count], &mut tiles[..count]);
        self.marks.clear();
        count
    }
}

/// Some tile rows of a matrix.
struct TileRows<'a, O> {
    offsets: &'a [O],
    indices: &'a [u32],
    tile_rows: Range<usize>,
}

impl<O: OffsetInt> TileRows<'_, O> {
    /// The rows of each tile row of size `size`.
    #[inline(always)]
    fn each(&self, size: usize) -> impl Iterator<Item = Range<usize>> + use<O> {
        let last = self.offsets.len() - 1;
        self.tile_rows.clone().map(move |t| t * size..((t + 1) * size).min(last))
    }
}

/// Writes the tiles of tile rows one after the other, and their numbers in each tile row; how many they are in all.
struct Write<'a, T, O> {
    finder: &'a mut Finder,
    from: TileRows<'a, O>,
    columns: &'a mut [u32],
    tiles: &'a mut [T],
    counts: &'a mut [u32],
}

impl<T: Tile, O: OffsetInt> Work for Write<'_, T, O> {
    type Out = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let mut used = 0;
        for (rows, place) in self.from.each(T::SIZE).zip(self.counts) {
            let (columns, tiles) = (&mut self.columns[used..], &mut self.tiles[used..]);
            let count = self.finder.write::<T, O>(self.from.offsets, self.from.indices, rows, columns, tiles);
            *place = count as u32;
            used += count;
        }
        used
    }
}

/// Counts the tiles of tile rows, of `1 << shift` rows each.
struct Count<'a, O> {
    marks: &'a mut Marks,
    from: TileRows<'a, O>,
    shift: u32,
    counts: &'a mut [u32],
}

impl<O: OffsetInt> Work for Count<'_, O> {
    type Out = ();
    #[inline(always)]
    fn run(self) {
        for (rows, count) in self.from.each(1 << self.shift).zip(self.counts) {
            self.marks.insert_all(entries(self.from.offsets, self.from.indices, rows), self.shift);
            *count = self.marks.drain_count() as u32;
        }
    }
}

/// Where each part starts, by the sizes of all: one element more than there are.
pub(crate) fn starts<'a>(counts: impl Iterator<Item = &'a [u32]> + Clone, parts: usize) -> Offsets {
    fn sums<'a, O: OffsetInt>(counts: impl Iterator<Item = &'a [u32]>, parts: usize) -> Vec<O> {
        let (mut starts, mut sum) = (Vec::with_capacity(parts + 1), 0);
        starts.push(O::from_index(0));
        for counts in counts {
            starts.extend(counts.iter().map(|&count| {
                sum += count as usize;
                O::from_index(sum)
            }));
        }
        starts
    }
    let total: u64 = counts.clone().map(|c| c.iter().map(|&count| u64::from(count)).sum::<u64>()).sum();
    if Offsets::are_narrow(total) { Offsets::U32(sums(counts, parts).into()) } else { Offsets::U64(sums(counts, parts).into()) }
}

impl<T: Tile> B2sr<T> {
    /// From compressed rows. O(nnz), parallel. Peak memory: the result (as if every entry had a tile, though only what is used of it is
    /// touched, for tiles of at most 8 bytes; on several threads the result once more),
    /// 4 bytes a tile row, and per thread (four tasks each) 3 / 16 of a byte for each tile column.
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
        parallel::chunks_mut(&mut offsets[1..], 512 * T::SIZE, |block, counts| {
            for (t, counts) in (512 * block..).zip(counts.chunks_mut(T::SIZE)) {
                for tile in &self.tiles()[self.tile_range(t)] {
                    for (r, count) in counts.iter_mut().enumerate() {
                        *count += tile.row(r).count_ones() as usize;
                    }
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
    let mut places = pieces(&mut all, parts.iter().map(Vec::len));
    parallel::each_mut(&mut places, |p, place| place.copy_from_slice(&parts[p]));
    all
}

/// The tiles of a block of tile rows.
struct Block<W> {
    counts: Vec<u32>,
    columns: Vec<u32>,
    words: Vec<W>,
}

/// Tiles of one word.
fn build_small<T: Tile, O: OffsetInt>(csr: &Csr, offsets: &[O]) -> B2sr<T> {
    let (indices, size) = (csr.indices(), T::SIZE);
    let ranges = tile_row_blocks(csr, size);
    let mut blocks: Vec<Block<T::Word>> = parallel::collect(ranges.len(), |b| {
        let (finder, tile_rows) = (&mut Finder::new::<T>(csr.ncols()), ranges[b].clone());
        let most = entries(offsets, indices, tile_rows.start * size..tile_rows.end * size).len();
        // What is not used of this is not touched.
        let (mut columns, mut words) = (vec![0; most], vec![T::Word::zeroed(); most]);
        let mut counts = vec![0; tile_rows.len()];
        let tiles = bytemuck::cast_slice_mut(&mut words);
        let from = TileRows { offsets, indices, tile_rows };
        let used = with_bit_instructions(Write::<T, O> { finder, from, columns: &mut columns, tiles, counts: &mut counts });
        columns.truncate(used);
        words.truncate(used);
        Block { counts, columns, words }
    });
    let starts = starts(blocks.iter().map(|b| &b.counts[..]), csr.nrows().div_ceil(size));
    let columns = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.columns)).collect());
    let words = join(blocks.into_iter().map(|b| b.words).collect());
    B2sr::from_valid((csr.nrows(), csr.ncols()), csr.nnz(), starts, columns.into(), words.into())
}

fn build_large<T: Tile, O: OffsetInt>(csr: &Csr, offsets: &[O]) -> B2sr<T> {
    let (indices, size) = (csr.indices(), T::SIZE);
    let tile_rows = csr.nrows().div_ceil(size);
    let blocks = tile_row_blocks(csr, size);
    let from = |block: &Range<usize>| TileRows { offsets, indices, tile_rows: block.clone() };
    let mut counts = vec![0u32; tile_rows];
    let mut counts_of = pieces(&mut counts, blocks.iter().map(ExactSizeIterator::len));
    parallel::each_mut(&mut counts_of, |b, counts| {
        let marks = &mut Marks::new(csr.ncols().div_ceil(size));
        with_bit_instructions(Count { marks, from: from(&blocks[b]), shift: T::SHIFT, counts });
    });
    let starts = starts(std::iter::once(&counts[..]), tile_rows);
    let total = starts.last();
    let mut columns = vec![0u32; total];
    let mut words = vec![T::Word::zeroed(); total * (size_of::<T>() / size_of::<T::Word>())];
    let lengths = || blocks.iter().map(|b| starts.get(b.end) - starts.get(b.start));
    let columns_of = pieces(&mut columns, lengths());
    let tiles_of = pieces(bytemuck::cast_slice_mut::<T::Word, T>(&mut words), lengths());
    let counts_of = pieces(&mut counts, blocks.iter().map(ExactSizeIterator::len));
    let mut tasks: Vec<_> = columns_of.into_iter().zip(tiles_of).zip(counts_of).collect();
    parallel::each_mut(&mut tasks, |b, ((columns, tiles), counts)| {
        let finder = &mut Finder::new::<T>(csr.ncols());
        with_bit_instructions(Write::<T, O> { finder, from: from(&blocks[b]), columns, tiles, counts });
    });
    B2sr::from_valid((csr.nrows(), csr.ncols()), csr.nnz(), starts, columns.into(), words.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tile4, Tile8, Tile32};

    /// Sorting and bitmaps find the same tiles.
    fn both_ways<T: Tile>() {
        let (rows, columns) = (3 * T::SIZE - 1, 5000u32);
        for step in [1u32, 3, 61, 997] {
            let (mut offsets, mut indices) = (vec![0u32], Vec::new());
            for i in 0..rows as u32 {
                indices.extend((i * 7 % step..columns).step_by(step as usize).filter(|u| u % (i % 5 + 2) == 0).take(200));
                offsets.push(indices.len() as u32);
            }
            let tiles = |sort: bool| {
                let mut finder = Finder::new::<T>(columns as usize);
                finder.keys = finder.keys.filter(|_| sort);
                let (mut columns, mut tiles) = (vec![0; indices.len()], vec![T::zeroed(); indices.len()]);
                let mut counts = [0; 3];
                let from = TileRows { offsets: &offsets, indices: &indices, tile_rows: 0..3 };
                let work = Write { finder: &mut finder, from, columns: &mut columns, tiles: &mut tiles, counts: &mut counts };
                let used = with_bit_instructions(work);
                (columns[..used].to_vec(), tiles[..used].to_vec(), counts)
            };
            assert_eq!(tiles(true), tiles(false));
        }
    }

    #[test]
    fn starts_stay_wide_where_they_must() {
        let of = |counts: &[u32]| starts([counts].into_iter(), counts.len());
        assert!(matches!(of(&[u32::MAX, 1]), Offsets::U64(_)));
        assert!(matches!(of(&[u32::MAX, 0]), Offsets::U32(_)));
        assert_eq!(of(&[u32::MAX, 1, 2]).last() as u64, (1 << 32) + 2);
    }

    #[test]
    fn sorting_and_bitmaps_find_the_same_tiles() {
        both_ways::<Tile4>();
        both_ways::<Tile8>();
        both_ways::<Tile32>();
    }
}
