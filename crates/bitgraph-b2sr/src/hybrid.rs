//! The hybrid of tiles and lists: 8x8 tiles where they are filled, a list of columns for every other entry.
//!
//! # Invariants
//! Both parts have the shape of the matrix and keep their own invariants; no entry of the list lies in a tile that is stored.
//! Checked on construction from outside. The conversion decides per row band (the 8 rows of a tile row): a band whose filled
//! tiles hold too small a share of its entries is all list.
//!
//! # Bytes
//! Those of the tiles, `12 tiles + 4 (rows / 8 + 1)`, and of the list, `4 entries + 4 (rows + 1)`.

use crate::b2sr::{entries, tile_row_blocks};
use crate::convert::{Finder, fill, join, starts};
use crate::isa::{Work, with_bit_instructions};
use crate::keys::Keys;
use crate::{B2sr8, Tile, Tile8};
use bitgraph_sparse::parallel::rows_mut;
use bitgraph_sparse::{Buffer, Csr, Error, Format, FormatKind, OffsetInt, Offsets, Result, Section, SectionData, Sections, parallel};
use bitgraph_sparse::{section, with_offsets};
use std::ops::Range;

/// Up to so many entries of a band are sorted; beyond, bands that keep no tile are found out sooner by a bitmap.
const FEW: usize = 128;

/// When entries go to a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HybridConfig {
    /// A tile is stored if it holds at least this many entries. A tile costs 12 bytes, a listed entry 4.
    pub min_entries: u32,
    /// A band keeps its tiles if they hold at least this share of its entries.
    pub min_share: f64,
}

impl Default for HybridConfig {
    fn default() -> Self {
        Self { min_entries: 4, min_share: 0.125 }
    }
}

/// A sparse pattern as 8x8 tiles and a list. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    tiles: B2sr8,
    list: Csr,
}

impl Hybrid {
    /// From both parts; that no listed entry lies in a stored tile is checked, in parallel. O(tiles + listed entries).
    ///
    /// # Errors
    /// [`Error::Shape`] if the shapes differ, [`Error::Invalid`] at the first listed entry that lies in a stored tile.
    pub fn new(tiles: B2sr8, list: Csr) -> Result<Self> {
        if (tiles.nrows(), tiles.ncols()) != (list.nrows(), list.ncols()) {
            return Err(Error::Shape {
                expected_rows: tiles.nrows() as u64,
                expected_columns: tiles.ncols() as u64,
                found_rows: list.nrows() as u64,
                found_columns: list.ncols() as u64,
            });
        }
        let inside = |i: usize| {
            let stored = &tiles.tile_columns()[tiles.tile_range(i / 8)];
            let mut t = 0;
            list.row_range(i).find(|&k| {
                let column = list.indices()[k] >> 3;
                while t < stored.len() && stored[t] < column {
                    t += 1;
                }
                stored.get(t) == Some(&column)
            })
        };
        match parallel::first(list.nrows(), 1024, inside) {
            Some(k) => Err(Error::Invalid { array: "list_indices", position: k as u64, what: "the entry lies in a stored tile" }),
            None => Ok(Self { tiles, list }),
        }
    }
    /// From compressed rows, with the default configuration.
    #[must_use]
    pub fn from_csr(csr: &Csr) -> Self {
        Self::from_csr_with(csr, &HybridConfig::default())
    }
    /// From compressed rows. O(nnz), parallel. Peak memory: the result (twice on several threads, where arrays are joined), 5 bytes a
    /// row, and per thread (four tasks each) 3 / 16 of a byte for each tile column.
    #[must_use]
    pub fn from_csr_with(csr: &Csr, config: &HybridConfig) -> Self {
        with_offsets!(csr.offsets(), o => build(csr, o, config))
    }
    /// To compressed rows. O(tiles + nnz), parallel. Peak memory: the result and 16 bytes a row.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        let n = self.list.nrows();
        let offsets = self.row_offsets();
        let mut indices = vec![0u32; Format::nnz(self)];
        let wide: Vec<u64> = offsets.iter().map(|&o| o as u64).collect();
        rows_mut(&wide, &mut indices, |i, out| {
            // The list is already in order; each tile's run of columns is placed by merging.
            let mut list = self.list.row(i).iter().copied().peekable();
            let mut tiled = self.tiles.row(i).peekable();
            for place in out {
                let next = match (list.peek(), tiled.peek()) {
                    (Some(a), Some(b)) if a < b => list.next(),
                    (_, Some(_)) => tiled.next(),
                    _ => list.next(),
                };
                *place = next.unwrap_or_default();
            }
        });
        debug_assert_eq!(offsets.len(), n + 1);
        Csr::from_valid(n, self.list.ncols(), Offsets::from_usizes(&offsets), indices.into())
    }
    /// The tiles.
    #[must_use]
    pub fn tiles(&self) -> &B2sr8 {
        &self.tiles
    }
    /// The entries outside the tiles.
    #[must_use]
    pub fn list(&self) -> &Csr {
        &self.list
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.list.nrows()
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.list.ncols()
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tiles.bytes() + self.list.bytes()
    }
    /// Where the entries of each row, tiled and listed, start in the pattern's own order.
    #[must_use]
    pub fn row_offsets(&self) -> Vec<usize> {
        let mut offsets = self.tiles.row_offsets();
        parallel::update(&mut offsets, 8192, |i, o| *o += self.list.offsets().get(i));
        offsets
    }
    /// The transpose of both parts. Bands are not decided anew.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self { tiles: self.tiles.transpose(), list: self.list.transpose() }
    }
}

impl Format for Hybrid {
    const NAME: &'static str = FormatKind::Hybrid.name();
    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }
    fn nnz(&self) -> usize {
        self.tiles.nnz() + self.list.nnz()
    }
    fn sections(&self) -> Vec<Section> {
        let mut sections = self.tiles.sections();
        sections.push(Section { name: "list_offsets", data: self.list.offsets().to_section() });
        sections.push(Section { name: "list_indices", data: SectionData::U32(self.list.indices_buffer().clone()) });
        sections
    }
    fn from_sections(rows: usize, columns: usize, sections: &Sections) -> Result<Self> {
        let list: Buffer<u32> = section!(sections, "list_indices", U32)?;
        let list = Csr::new(rows, columns, Offsets::from_section(sections, "list_offsets")?, list)
            .map_err(|e| e.renamed(&[("offsets", "list_offsets"), ("indices", "list_indices")]))?;
        Self::new(B2sr8::from_sections(rows, columns, sections)?, list)
    }
}

/// A band of 8 rows: its entries, sorted or as the columns that they touch, and its tiles if some may be stored.
struct Band {
    finder: Finder,
    /// Whether the entries are sorted.
    sorted: bool,
    columns: Vec<u32>,
    tiles: Vec<Tile8>,
    /// Of the sorted entries' tiles, which are stored.
    kept: Vec<bool>,
}

impl Band {
    fn new(columns: usize) -> Self {
        let room = Keys::MOST;
        let (columns, finder) = (vec![0; room], Finder::new::<Tile8>(columns));
        Self { finder, sorted: false, columns, tiles: vec![0; room], kept: vec![false; room] }
    }
    /// Takes in tile row `t`, and returns how many of its tiles are stored and how many entries they hold. If there are any, they come
    /// first in the band's arrays, and [`Band::list`] knows the other entries until [`Band::clear`].
    #[inline(always)]
    fn collect<O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], t: usize, config: &HybridConfig) -> (usize, usize) {
        let rows = 8 * t..(8 * t + 8).min(offsets.len() - 1);
        let all = entries(offsets, indices, rows.clone());
        let wanted = config.min_share * all.len() as f64;
        let keys = self.finder.keys.as_mut().filter(|_| all.len() <= FEW);
        let (stored, held) = match keys {
            Some(keys) => {
                keys.load::<Tile8, O>(offsets, indices, rows);
                self.sorted = true;
                let count = keys.write_tiles(&mut self.columns, &mut self.tiles);
                keep_filled(&mut self.columns[..count], &mut self.tiles[..count], config, |k, _, keep| self.kept[k] = keep)
            }
            None => {
                let marks = &mut self.finder.marks;
                self.sorted = false;
                marks.insert_all(all, Tile8::SHIFT);
                // A tile of k entries has k - 1 beyond its first, so these bound what stored tiles can hold; rounding is allowed for.
                if config.min_entries > 1 {
                    let beyond = (all.len() - marks.count()) as f64;
                    if beyond * f64::from(config.min_entries) < 0.999 * wanted * f64::from(config.min_entries - 1) {
                        return (0, 0);
                    }
                }
                let count = marks.rank_all();
                self.columns.resize(self.columns.len().max(count), 0);
                self.tiles.resize(self.tiles.len().max(count), 0);
                self.tiles[..count].fill(0);
                fill(marks, offsets, indices, rows, &mut self.columns[..count], &mut self.tiles[..count]);
                keep_filled(&mut self.columns[..count], &mut self.tiles[..count], config, |_, column, keep| marks.remove_if(column, keep))
            }
        };
        if (held as f64) < wanted { (0, 0) } else { (stored, held) }
    }
    /// Writes the columns of the entries outside stored tiles to `list`, row by row, and how many each row has; how many there are.
    #[inline(always)]
    fn list<O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], rows: Range<usize>, list: &mut [u32], listed: &mut [u32]) -> usize {
        if let (true, Some(keys)) = (self.sorted, &mut self.finder.keys) {
            keys.drop_tiles::<Tile8>(&self.kept);
            return keys.list::<Tile8>(list, listed);
        }
        let mut length = 0;
        for (i, count) in rows.zip(listed) {
            let before = length;
            for &u in entries(offsets, indices, i..i + 1) {
                // An entry is written before it is known to stay.
                list[length] = u;
                length += usize::from(self.finder.marks.contains(u >> Tile8::SHIFT));
            }
            *count = (length - before) as u32;
        }
        length
    }
    #[inline(always)]
    fn clear(&mut self) {
        if !self.sorted {
            self.finder.marks.clear();
        }
    }
}

/// Moves filled tiles and their columns to the front, and tells of each tile's place and column whether it is filled; how many are, and
/// how many entries they hold. Which ones are filled is hard to foresee, so nothing branches on it.
#[inline(always)]
fn keep_filled(columns: &mut [u32], tiles: &mut [Tile8], config: &HybridConfig, mut tell: impl FnMut(usize, u32, bool)) -> (usize, usize) {
    let (mut stored, mut held) = (0, 0);
    for k in 0..columns.len() {
        let (tile, column) = (tiles[k], columns[k]);
        let entries = tile.count();
        let keep = entries >= config.min_entries;
        (tiles[stored], columns[stored]) = (tile, column);
        tell(k, column, keep);
        stored += usize::from(keep);
        held += entries as usize * usize::from(keep);
    }
    (stored, held)
}

/// What a block of tile rows becomes.
struct Block {
    /// Tiles of each tile row.
    tiles: Vec<u32>,
    /// Listed entries of each row.
    listed: Vec<u32>,
    columns: Vec<u32>,
    words: Vec<u64>,
    list: Vec<u32>,
}

/// Some tile rows of a matrix, and what goes through them.
struct TileRows<'a, O> {
    band: &'a mut Band,
    offsets: &'a [O],
    indices: &'a [u32],
    tile_rows: Range<usize>,
    config: &'a HybridConfig,
}

/// Builds a block of tile rows.
struct Build<'a, O>(TileRows<'a, O>);

impl<O: OffsetInt> Work for Build<'_, O> {
    type Out = Block;
    #[inline(always)]
    fn run(self) -> Block {
        let TileRows { band, offsets, indices, tile_rows, config } = self.0;
        let last = offsets.len() - 1;
        let (start, end) = (8 * tile_rows.start, last.min(8 * tile_rows.end));
        let room = entries(offsets, indices, start..end).len();
        let most = room / config.min_entries.max(1) as usize;
        // What is not used of this is not touched.
        let mut list = vec![0; room + Keys::SPARE];
        let mut block = Block {
            tiles: Vec::with_capacity(tile_rows.len()),
            listed: vec![0; end - start],
            columns: Vec::with_capacity(most),
            words: Vec::with_capacity(most),
            list: Vec::new(),
        };
        let mut length = 0;
        for (t, listed) in tile_rows.zip(block.listed.chunks_mut(8)) {
            let (stored, held) = band.collect(offsets, indices, t, config);
            let rows = 8 * t..8 * t + listed.len();
            block.tiles.push(stored as u32);
            if stored == 0 {
                let all = entries(offsets, indices, rows.clone());
                list[length..length + all.len()].copy_from_slice(all);
                length += all.len();
                rows.zip(listed).for_each(|(i, count)| *count = (offsets[i + 1].index() - offsets[i].index()) as u32);
            } else {
                block.columns.extend_from_slice(&band.columns[..stored]);
                block.words.extend_from_slice(&band.tiles[..stored]);
                if held < entries(offsets, indices, rows.clone()).len() {
                    length += band.list(offsets, indices, rows, &mut list[length..], listed);
                }
            }
            band.clear();
        }
        list.truncate(length);
        block.list = list;
        block
    }
}

fn build<O: OffsetInt>(csr: &Csr, offsets: &[O], config: &HybridConfig) -> Hybrid {
    let indices = csr.indices();
    let blocks = tile_row_blocks(csr, 8);
    let mut blocks: Vec<Block> = parallel::collect(blocks.len(), |b| {
        let (band, tile_rows) = (&mut Band::new(csr.ncols()), blocks[b].clone());
        with_bit_instructions(Build(TileRows { band, offsets, indices, tile_rows, config }))
    });
    let (rows, ncols) = (csr.nrows(), csr.ncols());
    let columns = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.columns)).collect());
    let words = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.words)).collect());
    let list = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.list)).collect());
    let tile_starts = starts(blocks.iter().map(|b| &b.tiles[..]), rows.div_ceil(8));
    let list_starts = starts(blocks.iter().map(|b| &b.listed[..]), rows);
    let tiles = B2sr8::from_valid((rows, ncols), csr.nnz() - list.len(), tile_starts, columns.into(), words.into());
    let list = Csr::from_valid(rows, ncols, list_starts, list.into());
    debug_assert!(Hybrid::new(tiles.clone(), list.clone()).is_ok());
    Hybrid { tiles, list }
}

/// Counts the stored tiles of tile rows, and the entries in them.
struct Count<'a, O>(TileRows<'a, O>);

impl<O: OffsetInt> Work for Count<'_, O> {
    type Out = (u64, u64);
    #[inline(always)]
    fn run(self) -> (u64, u64) {
        let TileRows { band, offsets, indices, tile_rows, config } = self.0;
        let (mut tiles, mut held) = (0, 0);
        for t in tile_rows {
            let found = band.collect(offsets, indices, t, config);
            band.clear();
            tiles += found.0 as u64;
            held += found.1 as u64;
        }
        (tiles, held)
    }
}

/// Tiles and listed entries that [`Hybrid::from_csr_with`] would store, without building it. O(nnz), parallel.
#[must_use]
pub fn hybrid_counts(csr: &Csr, config: &HybridConfig) -> (u64, u64) {
    let (indices, blocks) = (csr.indices(), tile_row_blocks(csr, 8));
    let counts = parallel::collect(blocks.len(), |b| {
        let (band, tile_rows) = (&mut Band::new(csr.ncols()), blocks[b].clone());
        with_offsets!(csr.offsets(), offsets => with_bit_instructions(Count(TileRows { band, offsets, indices, tile_rows, config })))
    });
    let (tiles, held) = counts.into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    (tiles, csr.nnz() as u64 - held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_and_bitmaps_build_the_same_bands() {
        let (mut offsets, mut indices) = (vec![0u32], Vec::new());
        for i in 0..83u32 {
            // Bands of few entries and of many, clustered and scattered.
            indices.extend((0..1 + i % 17).map(|k| i + k * if i % 16 < 8 { 1 } else { 2 + i % 5 }));
            indices.extend((0..i % 29).map(|k| 200 + i + k * 11));
            offsets.push(indices.len() as u32);
        }
        let csr = Csr::new(83, 1000, Offsets::U32(offsets.clone().into()), indices.clone().into()).expect("a valid pattern");
        for (min_entries, min_share) in [(4, 0.125), (1, 0.0), (2, 0.6), (9, 0.0), (0, 0.5), (100, 0.0)] {
            let config = HybridConfig { min_entries, min_share };
            let build = |sort: bool| {
                let mut band = Band::new(1000);
                band.finder.keys = band.finder.keys.filter(|_| sort);
                let (band, tile_rows) = (&mut band, 0..83usize.div_ceil(8));
                let block =
                    with_bit_instructions(Build(TileRows { band, offsets: &offsets, indices: &indices, tile_rows, config: &config }));
                (block.tiles, block.listed, block.columns, block.words, block.list)
            };
            assert_eq!(build(true), build(false));
            let hybrid = Hybrid::from_csr_with(&csr, &config);
            assert_eq!(hybrid.to_csr(), csr);
            let counts = (hybrid.tiles().tile_count() as u64, hybrid.list().nnz() as u64);
            assert_eq!(hybrid_counts(&csr, &config), counts);
        }
    }
}
