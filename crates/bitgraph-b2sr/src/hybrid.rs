//! The hybrid of tiles and lists: 8x8 tiles where they are filled, a list of columns for every other entry.
//!
//! # Invariants
//! Both parts have the shape of the matrix and keep their own invariants; no entry of the list lies in a tile that is stored.
//! Checked on construction from outside. The conversion decides per row band (the 8 rows of a tile row): a band whose filled
//! tiles hold too small a share of its entries is all list.
//!
//! # Bytes
//! Those of the tiles, `12 tiles + 4 (rows / 8 + 1)`, and of the list, `4 entries + 4 (rows + 1)`.

use crate::b2sr::{entries, pieces, tile_row_blocks};
use crate::convert::Scratch;
use crate::isa::with_bit_instructions;
use crate::{B2sr8, Tile, Tile8};
use bitgraph_sparse::parallel::{rows_mut, rows_mut_blocks};
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
    /// From compressed rows. O(nnz), parallel, two passes. Peak memory: the result, 8 bytes a row, and per task 9 bytes for
    /// each tile column.
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
        let list = Csr::new(rows, columns, Offsets::from_section(sections, "list_offsets")?, list)?;
        Self::new(B2sr8::from_sections(rows, columns, sections)?, list)
    }
}

/// How many tiles of the band are stored and how many entries they hold; the table still holds the band's tiles.
#[inline(always)]
fn decide(scratch: &Scratch<Tile8>, columns: &[u32], total: usize, config: &HybridConfig) -> (usize, usize) {
    let (mut tiles, mut held) = (0, 0);
    for &column in columns {
        let count = scratch.table[column as usize].count();
        let stored = count >= config.min_entries;
        tiles += usize::from(stored);
        held += if stored { count as usize } else { 0 };
    }
    if (held as f64) < config.min_share * total as f64 { (0, 0) } else { (tiles, held) }
}

/// The number of tiles of each tile row and of listed entries of each row.
fn count<O: OffsetInt>(csr: &Csr, offsets: &[O], config: &HybridConfig) -> (Vec<usize>, Vec<usize>) {
    let (indices, n) = (csr.indices(), csr.nrows());
    let blocks = tile_row_blocks(csr, 8);
    let (mut tiles, mut listed) = (vec![0usize; n.div_ceil(8) + 1], vec![0usize; n + 1]);
    let tile_pieces = pieces(&mut tiles[1..], blocks.iter().map(ExactSizeIterator::len));
    let row_pieces = pieces(&mut listed[1..], blocks.iter().map(|b| (8 * b.end).min(n) - 8 * b.start));
    tile_pieces.into_par_iter().zip(row_pieces).zip(&blocks).with_max_len(1).for_each_init(
        || (Scratch::<Tile8>::new(csr.ncols()), Vec::new()),
        |(scratch, columns), ((tiles, listed), block)| {
            with_bit_instructions(|| {
                for ((tiles, listed), t) in tiles.iter_mut().zip(listed.chunks_mut(8)).zip(block.clone()) {
                    scratch.collect(offsets, indices, 8 * t..8 * t + 8);
                    columns.clear();
                    columns.extend_from_slice(scratch.marks.drain_ascending());
                    let total = entries(offsets, indices, 8 * t..8 * t + 8).len();
                    let (stored, held) = decide(scratch, columns, total, config);
                    *tiles = stored;
                    for (i, out) in listed.iter_mut().enumerate() {
                        let row = entries(offsets, indices, 8 * t + i..8 * t + i + 1);
                        *out = match held {
                            0 => row.len(),
                            held if held == total => 0,
                            _ => row.iter().filter(|&&u| scratch.table[(u >> 3) as usize].count() < config.min_entries).count(),
                        };
                    }
                    for &column in columns.iter() {
                        scratch.table[column as usize] = 0;
                    }
                }
            });
        },
    );
    (tiles, listed)
}

fn build<O: OffsetInt>(csr: &Csr, offsets: &[O], config: &HybridConfig) -> Hybrid {
    let (indices, n) = (csr.indices(), csr.nrows());
    let (mut tile_starts, mut list_starts) = count(csr, offsets, config);
    (1..tile_starts.len()).for_each(|t| tile_starts[t] += tile_starts[t - 1]);
    (1..=n).for_each(|i| list_starts[i] += list_starts[i - 1]);
    let tiles = tile_starts[tile_starts.len() - 1];
    let (mut columns, mut words, mut list) = (vec![0u32; tiles], vec![0u64; tiles], vec![0u32; list_starts[n]]);
    let blocks = tile_row_blocks(csr, 8);
    let lengths = || blocks.iter().map(|b| tile_starts[b.end] - tile_starts[b.start]);
    let (column_pieces, word_pieces) = (pieces(&mut columns, lengths()), pieces(&mut words, lengths()));
    column_pieces.into_par_iter().zip(word_pieces).zip(&blocks).with_max_len(1).for_each_init(
        || Scratch::<Tile8>::new(csr.ncols()),
        |scratch, ((columns, words), block)| {
            with_bit_instructions(|| {
                let mut slot = 0;
                // Bands without a stored tile are left to the list.
                for t in block.clone().filter(|&t| tile_starts[t + 1] > tile_starts[t]) {
                    scratch.collect(offsets, indices, 8 * t..8 * t + 8);
                    for &column in scratch.marks.drain_ascending() {
                        let tile = std::mem::take(&mut scratch.table[column as usize]);
                        if tile.count() >= config.min_entries {
                            (columns[slot], words[slot]) = (column, tile);
                            slot += 1;
                        }
                    }
                }
            });
        },
    );
    let starts: Vec<u64> = list_starts.iter().map(|&s| s as u64).collect();
    rows_mut_blocks(&starts, &mut list, |first, starts, out| {
        for (k, w) in starts.windows(2).enumerate() {
            let (row, out) = (csr.row(first + k), &mut out[(w[0] - starts[0]) as usize..(w[1] - starts[0]) as usize]);
            if out.len() == row.len() {
                out.copy_from_slice(row);
                continue;
            }
            let t = (first + k) / 8;
            let mut stored = columns[tile_starts[t]..tile_starts[t + 1]].iter().copied().peekable();
            let mut slot = 0;
            for &u in row {
                while stored.next_if(|&c| c < u >> 3).is_some() {}
                if slot < out.len() && stored.peek() != Some(&(u >> 3)) {
                    out[slot] = u;
                    slot += 1;
                }
            }
        }
    });
    let nnz = csr.nnz() - list.len();
    let tiles = B2sr8::from_valid((n, csr.ncols()), nnz, Offsets::from_usizes(&tile_starts), columns.into(), words.into());
    let list = Csr::from_valid(n, csr.ncols(), Offsets::from_usizes(&list_starts), list.into());
    debug_assert!(Hybrid::new(tiles.clone(), list.clone()).is_ok());
    Hybrid { tiles, list }
}

/// Tiles and listed entries that [`Hybrid::from_csr_with`] would store, without building it. O(nnz), parallel.
#[must_use]
pub fn hybrid_counts(csr: &Csr, config: &HybridConfig) -> (u64, u64) {
    let (tiles, listed) = with_offsets!(csr.offsets(), o => count(csr, o, config));
    (tiles.iter().map(|&t| t as u64).sum(), listed.iter().map(|&l| l as u64).sum())
}
