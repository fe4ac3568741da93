//! B2SR: compressed rows of bit tiles (Bit-GraphBLAS, section III).
//!
//! # Invariants
//! The matrix is cut into squares of [`Tile::SIZE`] rows and columns. `offsets` has one element more than there are tile rows,
//! non-decreasing from 0 to the number of tiles; the tile columns of a tile row are strictly ascending and below the number
//! of tile columns; no tile is empty; bits beyond the last row or column of the matrix are zero. Checked on construction
//! from outside.
//!
//! # Bytes
//! `(4 + T) tiles + 4 (tile rows + 1)` with `T` = 2, 8, 32, 128 bytes for tiles of 4, 8, 16, 32; offsets take 8 bytes each from
//! 2^32 tiles on. (The paper stores a 4x4 tile in 4 bytes; here it is packed into 2.)

use crate::{Tile, Tile4, Tile8, Tile16, Tile32};
use bitgraph_sparse::{Buffer, Csr, Error, Format, Offsets, Result, Section, SectionData, Sections, parallel};
use bitgraph_sparse::{OffsetInt, section, with_offsets};
use std::ops::Range;

/// A sparse pattern as rows of bit tiles. Cheap to clone.
#[derive(Clone, Debug)]
pub struct B2sr<T: Tile> {
    rows: u32,
    columns: u32,
    nnz: usize,
    offsets: Offsets,
    tile_columns: Buffer<u32>,
    words: Buffer<T::Word>,
}

/// Tiles of 4x4 bits, 16 bits each.
pub type B2sr4 = B2sr<Tile4>;
/// Tiles of 8x8 bits, 64 bits each.
pub type B2sr8 = B2sr<Tile8>;
/// Tiles of 16x16 bits, 16 words of 16 bits each.
pub type B2sr16 = B2sr<Tile16>;
/// Tiles of 32x32 bits, 32 words of 32 bits each.
pub type B2sr32 = B2sr<Tile32>;

impl<T: Tile> B2sr<T> {
    /// From arrays that come from outside: every invariant is checked, in parallel. O(tiles).
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Length`] or [`Error::Invalid`], naming the first breach found.
    pub fn new(rows: usize, columns: usize, offsets: Offsets, tile_columns: Buffer<u32>, words: Buffer<T::Word>) -> Result<Self> {
        let (r, c) = Csr::ids(rows as u64, columns as u64)?;
        let (tile_rows, width) = (rows.div_ceil(T::SIZE), columns.div_ceil(T::SIZE));
        // The tiles are themselves a sparse pattern, whose invariants are those of compressed rows.
        let structure = Csr::new(tile_rows, width, offsets, tile_columns)
            .map_err(|e| e.renamed(&[("offsets", "tile_offsets"), ("indices", "tile_columns")]))?;
        let per_tile = size_of::<T>() / size_of::<T::Word>();
        if words.len() != structure.nnz() * per_tile {
            let expected = (structure.nnz() * per_tile) as u64;
            return Err(Error::Length { array: "tile_words", expected, found: words.len() as u64 });
        }
        let tiles: &[T] = bytemuck::cast_slice(&words);
        let breach = |t: usize, k: usize| {
            let (tile, column) = (&tiles[k], structure.indices()[k] as usize);
            let (rows_in, columns_in) = ((rows - t * T::SIZE).min(T::SIZE), (columns - column * T::SIZE).min(T::SIZE));
            let past = if columns_in == 32 { 0 } else { !0u32 << columns_in };
            tile.is_empty() || (0..T::SIZE).any(|i| tile.row(i) & if i < rows_in { past } else { !0 } != 0)
        };
        let first = parallel::first(tile_rows, 1024, |t| {
            let edge = t + 1 == tile_rows;
            structure.row_range(t).find(|&k| {
                // Only the last tile row and column have bits beyond the edge.
                let inner = !edge && structure.indices()[k] as usize + 1 < width;
                if inner { tiles[k].is_empty() } else { breach(t, k) }
            })
        });
        if let Some(k) = first {
            let what = if tiles[k].is_empty() { "an empty tile" } else { "a bit beyond the edge of the matrix" };
            return Err(Error::Invalid { array: "tile_words", position: (k * per_tile) as u64, what });
        }
        let entries = |some: Range<usize>| tiles[some].iter().map(|t| t.count() as usize).sum();
        let nnz = parallel::reduce(tiles.len(), 4096, entries, |a: usize, b| a + b);
        Ok(Self { rows: r, columns: c, nnz, offsets: structure.offsets().clone(), tile_columns: structure.indices_buffer().clone(), words })
    }
    /// From arrays that the conversions of this crate made.
    pub(crate) fn from_valid(
        shape: (usize, usize),
        nnz: usize,
        offsets: Offsets,
        tile_columns: Buffer<u32>,
        words: Buffer<T::Word>,
    ) -> Self {
        debug_assert!(Self::new(shape.0, shape.1, offsets.clone(), tile_columns.clone(), words.clone()).is_ok_and(|m| m.nnz == nnz));
        Self { rows: shape.0 as u32, columns: shape.1 as u32, nnz, offsets, tile_columns, words }
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
    /// The number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }
    /// The number of tile rows.
    #[must_use]
    pub fn tile_rows(&self) -> usize {
        self.offsets.len() - 1
    }
    /// The number of tiles.
    #[must_use]
    pub fn tile_count(&self) -> usize {
        self.tile_columns.len()
    }
    /// Where each tile row starts in [`B2sr::tiles`].
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }
    /// The tile column of each tile.
    #[must_use]
    pub fn tile_columns(&self) -> &[u32] {
        &self.tile_columns
    }
    /// The tiles.
    #[must_use]
    pub fn tiles(&self) -> &[T] {
        bytemuck::cast_slice(&self.words)
    }
    /// The tiles' words, for an upload.
    #[must_use]
    pub fn words(&self) -> &Buffer<T::Word> {
        &self.words
    }
    /// Where the tiles of tile row `t` are.
    ///
    /// # Panics
    /// If `t` is out of range.
    #[inline]
    #[must_use]
    pub fn tile_range(&self, t: usize) -> Range<usize> {
        self.offsets.get(t)..self.offsets.get(t + 1)
    }
    /// The columns of row `i`, ascending. O(tiles of its tile row).
    ///
    /// # Panics
    /// If `i` is out of range.
    pub fn row(&self, i: usize) -> impl Iterator<Item = u32> + '_ {
        assert!(i < self.nrows(), "row {i} of {}", self.nrows());
        let range = self.tile_range(i / T::SIZE);
        self.tiles()[range.clone()].iter().zip(&self.tile_columns[range]).flat_map(move |(tile, &column)| {
            let bits = tile.row(i % T::SIZE);
            std::iter::successors((bits != 0).then_some(bits), |b| (b & (b - 1) != 0).then_some(b & (b - 1)))
                .map(move |b| (column << T::SHIFT) + b.trailing_zeros())
        })
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offsets.bytes() + (self.tile_columns.len() * (4 + T::BYTES)) as u64
    }
    /// Exact size in bytes of a matrix of `rows` rows and `tiles` tiles.
    #[must_use]
    pub fn bytes_of(rows: usize, tiles: u64) -> u64 {
        bytes_of(T::BYTES, rows.div_ceil(T::SIZE), tiles)
    }
    /// The pattern of the non-empty tiles as a sparse matrix, sharing the arrays.
    #[must_use]
    pub fn structure(&self) -> Csr {
        Csr::from_valid(self.tile_rows(), self.ncols().div_ceil(T::SIZE), self.offsets.clone(), self.tile_columns.clone())
    }
    /// The transpose: the tile structure transposed, and each tile mirrored. O(tiles), parallel; peak memory the result, 8
    /// bytes a tile, and 4 bytes per tile column and thread.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let (structure, positions) = self.structure().transpose_with_positions();
        let tiles = self.tiles();
        let mut words = vec![<T::Word as bytemuck::Zeroable>::zeroed(); self.words.len()];
        let out = bytemuck::cast_slice_mut::<T::Word, T>(&mut words);
        parallel::update(out, 4096, |slot, tile| *tile = tiles[positions[slot]].transpose());
        let shape = (self.ncols(), self.nrows());
        Self::from_valid(shape, self.nnz, structure.offsets().clone(), structure.indices_buffer().clone(), words.into())
    }
}

/// Bytes of `tiles` tiles of `tile` bytes in `tile_rows` tile rows.
pub(crate) fn bytes_of(tile: usize, tile_rows: usize, tiles: u64) -> u64 {
    let width = if Offsets::are_narrow(tiles) { 4 } else { 8 };
    (4 + tile as u64) * tiles + width * (tile_rows as u64 + 1)
}

impl<T: Tile> PartialEq for B2sr<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.columns) == (other.rows, other.columns)
            && self.offsets == other.offsets
            && self.tile_columns == other.tile_columns
            && self.words == other.words
    }
}

impl<T: Tile> Format for B2sr<T> {
    const NAME: &'static str = T::KIND.name();
    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }
    fn nnz(&self) -> usize {
        self.nnz
    }
    fn sections(&self) -> Vec<Section> {
        vec![
            Section { name: "tile_offsets", data: self.offsets.to_section() },
            Section { name: "tile_columns", data: SectionData::U32(self.tile_columns.clone()) },
            Section { name: "tile_words", data: T::to_section(&self.words) },
        ]
    }
    fn from_sections(rows: usize, columns: usize, sections: &Sections) -> Result<Self> {
        let offsets = Offsets::from_section(sections, "tile_offsets")?;
        Self::new(rows, columns, offsets, section!(sections, "tile_columns", U32)?, T::from_section(sections, "tile_words")?)
    }
}

/// Ranges of whole tile rows of `csr` with about equal numbers of entries: one if the current pool has one thread.
pub(crate) fn tile_row_blocks(csr: &Csr, size: usize) -> Vec<Range<usize>> {
    let parts = rayon::current_num_threads() * 4;
    let mut start = 0;
    with_offsets!(csr.offsets(), o => bitgraph_sparse::parallel::balanced_rows(o, parts))
        .into_iter()
        .filter_map(|rows| {
            let end = rows.end.div_ceil(size);
            (end > start).then(|| std::mem::replace(&mut start, end)..end)
        })
        .collect()
}

/// Cuts `data` into consecutive pieces of the given lengths.
pub(crate) fn pieces<D>(mut data: &mut [D], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [D]> {
    lengths
        .into_iter()
        .map(|length| {
            let (piece, rest) = std::mem::take(&mut data).split_at_mut(length);
            data = rest;
            piece
        })
        .collect()
}

/// The entries of rows `rows` (which may reach past the last) in an array laid out by `offsets`.
#[inline(always)]
pub(crate) fn entries<'a, O: OffsetInt>(offsets: &[O], indices: &'a [u32], rows: Range<usize>) -> &'a [u32] {
    let last = offsets.len() - 1;
    &indices[offsets[rows.start.min(last)].index()..offsets[rows.end.min(last)].index()]
}
