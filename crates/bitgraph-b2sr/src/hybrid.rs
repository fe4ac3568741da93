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
use crate::convert::{fill, join};
use crate::isa::with_bit_instructions;
use crate::marks::Marks;
use crate::{B2sr8, Tile, Tile8};
use bitgraph_sparse::parallel::rows_mut;
use bitgraph_sparse::{Buffer, Csr, Error, Format, FormatKind, OffsetInt, Offsets, Result, Section, SectionData, Sections};
use bitgraph_sparse::{section, with_offsets};
use rayon::prelude::*;

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
        match (0..list.nrows()).into_par_iter().with_min_len(1024).filter_map(inside).min() {
            Some(k) => Err(Error::Invalid { array: "list_indices", position: k as u64, what: "the entry lies in a stored tile" }),
            None => Ok(Self { tiles, list }),
        }
    }
    /// From compressed rows, with the default configuration.
    #[must_use]
    pub fn from_csr(csr: &Csr) -> Self {
        Self::from_csr_with(csr, &HybridConfig::default())
    }
    /// From compressed rows. O(nnz), parallel. Peak memory: the result (twice on several threads, where arrays are joined), 9 bytes a
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
        offsets.par_iter_mut().with_min_len(8192).enumerate().for_each(|(i, o)| *o += self.list.offsets().get(i));
        offsets
    }
    /// The transpose of both parts. Bands are not decided anew.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self { tiles: self.tiles.transpose(), list: self.list.transpose() }
    }
}

impl Format for Hybrid {
    const KIND: FormatKind = FormatKind::Hybrid;
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

/// A band of 8 rows: the columns that it touches, and its tiles if some may be stored.
struct Band {
    marks: Marks,
    columns: Vec<u32>,
    tiles: Vec<Tile8>,
}

impl Band {
    fn new(columns: usize) -> Self {
        Self { marks: Marks::new(columns.div_ceil(8)), columns: Vec::new(), tiles: Vec::new() }
    }
    /// Takes in tile row `t`, and returns how many of its tiles are stored and how many entries they hold. If there are any, they come
    /// first in the band's arrays, and the marks hold the columns of the other tiles until [`Band::clear`].
    #[inline(always)]
    fn collect<O: OffsetInt>(&mut self, offsets: &[O], indices: &[u32], t: usize, config: &HybridConfig) -> (usize, usize) {
        let rows = 8 * t..8 * t + 8;
        let all = entries(offsets, indices, rows.clone());
        self.marks.insert_all(all, Tile8::SHIFT);
        let wanted = config.min_share * all.len() as f64;
        // A tile of k entries has k - 1 beyond its first, so these bound what stored tiles can hold; rounding is allowed for.
        if config.min_entries > 1 {
            let beyond = (all.len() - self.marks.count()) as f64;
            if beyond * f64::from(config.min_entries) < 0.999 * wanted * f64::from(config.min_entries - 1) {
                return (0, 0);
            }
        }
        let count = self.marks.rank_all();
        self.columns.resize(self.columns.len().max(count), 0);
        self.tiles.clear();
        self.tiles.resize(count, 0);
        fill(&self.marks, offsets, indices, rows, &mut self.columns, &mut self.tiles);
        // Filled tiles move to the front, and their columns leave the marks. Which ones are filled is hard to foresee, so nothing
        // branches on it.
        let (mut stored, mut held) = (0, 0);
        for k in 0..count {
            let (tile, column) = (self.tiles[k], self.columns[k]);
            let entries = tile.count();
            let keep = entries >= config.min_entries;
            (self.tiles[stored], self.columns[stored]) = (tile, column);
            self.marks.remove_if(column, keep);
            stored += usize::from(keep);
            held += entries as usize * usize::from(keep);
        }
        if (held as f64) < wanted { (0, 0) } else { (stored, held) }
    }
    #[inline(always)]
    fn clear(&mut self) {
        self.marks.clear();
    }
}

/// What a block of tile rows becomes.
struct Block {
    /// Tiles of each tile row.
    tiles: Vec<usize>,
    /// Listed entries of each row.
    listed: Vec<usize>,
    columns: Vec<u32>,
    words: Vec<u64>,
    list: Vec<u32>,
}

impl Block {
    /// With room for so many tile rows and entries: what is not used of it is not touched.
    fn with_room(tile_rows: usize, entries: usize, config: &HybridConfig) -> Self {
        let tiles = entries / config.min_entries.max(1) as usize;
        Self {
            tiles: Vec::with_capacity(tile_rows),
            listed: Vec::with_capacity(8 * tile_rows),
            columns: Vec::with_capacity(tiles),
            words: Vec::with_capacity(tiles),
            list: Vec::with_capacity(entries + 1),
        }
    }
    /// Appends tile row `t`.
    #[inline(always)]
    fn append<O: OffsetInt>(&mut self, band: &mut Band, offsets: &[O], indices: &[u32], t: usize, config: &HybridConfig) {
        let (stored, held) = band.collect(offsets, indices, t, config);
        let last = offsets.len() - 1;
        let rows = 8 * t..(8 * t + 8).min(last);
        self.tiles.push(stored);
        if stored == 0 {
            self.list.extend_from_slice(entries(offsets, indices, rows.clone()));
            self.listed.extend(rows.map(|i| offsets[i + 1].index() - offsets[i].index()));
        } else {
            self.columns.extend_from_slice(&band.columns[..stored]);
            self.words.extend_from_slice(&band.tiles[..stored]);
            let all = entries(offsets, indices, rows.clone()).len();
            if held == all {
                self.listed.extend(rows.map(|_| 0));
            } else {
                let first = self.list.len();
                // One place more: an entry is written before it is known to stay.
                self.list.resize(first + all - held + 1, 0);
                let (list, mut length) = (&mut self.list[first..], 0);
                for i in rows {
                    let before = length;
                    for &u in entries(offsets, indices, i..i + 1) {
                        list[length] = u;
                        length += usize::from(band.marks.contains(u >> Tile8::SHIFT));
                    }
                    self.listed.push(length - before);
                }
                self.list.truncate(first + length);
            }
        }
        band.clear();
    }
}

/// Where each part starts, one element more than there are parts.
fn starts<'a>(counts: impl Iterator<Item = &'a usize>) -> Offsets {
    let mut sum = 0;
    let starts: Vec<usize> = std::iter::once(0)
        .chain(counts.map(|count| {
            sum += count;
            sum
        }))
        .collect();
    Offsets::from_usizes(&starts)
}

fn build<O: OffsetInt>(csr: &Csr, offsets: &[O], config: &HybridConfig) -> Hybrid {
    let indices = csr.indices();
    let mut blocks: Vec<Block> = tile_row_blocks(csr, 8)
        .into_par_iter()
        .with_max_len(1)
        .map_init(
            || Band::new(csr.ncols()),
            |band, rows| {
                let mut block = Block::with_room(rows.len(), entries(offsets, indices, 8 * rows.start..8 * rows.end).len(), config);
                with_bit_instructions(|| {
                    for t in rows {
                        block.append(band, offsets, indices, t, config);
                    }
                });
                block
            },
        )
        .collect();
    let tile_starts = starts(blocks.iter().flat_map(|b| &b.tiles));
    let list_starts = starts(blocks.iter().flat_map(|b| &b.listed));
    let columns = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.columns)).collect());
    let words = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.words)).collect());
    let list = join(blocks.iter_mut().map(|b| std::mem::take(&mut b.list)).collect());
    let (rows, ncols) = (csr.nrows(), csr.ncols());
    let tiles = B2sr8::from_valid((rows, ncols), csr.nnz() - list.len(), tile_starts, columns.into(), words.into());
    let list = Csr::from_valid(rows, ncols, list_starts, list.into());
    debug_assert!(Hybrid::new(tiles.clone(), list.clone()).is_ok());
    Hybrid { tiles, list }
}

/// Tiles and listed entries that [`Hybrid::from_csr_with`] would store, without building it. O(nnz), parallel.
#[must_use]
pub fn hybrid_counts(csr: &Csr, config: &HybridConfig) -> (u64, u64) {
    let (tiles, held) = with_offsets!(csr.offsets(), o => tile_row_blocks(csr, 8)
        .into_par_iter()
        .with_max_len(1)
        .map_init(
            || Band::new(csr.ncols()),
            |band, rows| {
                with_bit_instructions(|| {
                    let (mut tiles, mut held) = (0, 0);
                    for t in rows {
                        let found = band.collect(o, csr.indices(), t, config);
                        band.clear();
                        tiles += found.0 as u64;
                        held += found.1 as u64;
                    }
                    (tiles, held)
                })
            },
        )
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1)));
    (tiles, csr.nnz() as u64 - held)
}
