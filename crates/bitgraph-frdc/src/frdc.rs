//! FRDC, fine-representing dynamic-coarsening (BitGNN, section 3.2.1): tiles of 4 x 4 in rows of tiles, stitched to words when they are used.
//!
//! # Invariants
//! Those of [`B2sr4`], which holds the tiles: rows of tiles in compressed form, 16 bits a tile, tile columns ascending, no empty tile, no bit
//! beyond the matrix. Scales, where there are any, are finite, one for each row or column.
//!
//! # Bytes
//! `6 tiles + 4 (tile rows + 1)`, and 4 for each scale; offsets take 8 bytes each from 2^32 tiles on. (The paper stores a tile in 4 bytes, and
//! says that 2 would do.)

use crate::scales::Scales;
use crate::{Normalization, Stitched, Word};
use bitgraph_b2sr::B2sr4;
use bitgraph_sparse::{Csr, Error, Format, Offsets, Result, Section, SectionData, Sections};
use rayon::prelude::*;

/// A binary adjacency matrix, perhaps with scales. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Frdc {
    tiles: B2sr4,
    scales: Scales,
}

impl Frdc {
    /// The tiles of a pattern, without scales. O(nnz), parallel; peak memory and method are those of [`B2sr4`].
    #[must_use]
    pub fn from_csr(csr: &Csr) -> Self {
        Self::from(B2sr4::from_csr(csr))
    }
    /// The pattern in compressed rows; scales are left behind. O(nnz), parallel.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        self.tiles.to_csr()
    }
    /// The same pattern with scales of rows and columns, instead of those that it has.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Invalid`] for scales that do not fit or are not finite.
    pub fn with_scales(self, rows: Option<&[f32]>, columns: Option<&[f32]>) -> Result<Self> {
        let scales = Scales::new((self.nrows(), self.ncols()), rows, columns)?;
        Ok(Self { scales, ..self })
    }
    /// The same pattern with the scales of a normalisation, by the degrees that it has (loops count as they are there; add them before);
    /// 0 for a row or column without entries. O(nnz + rows + columns), parallel;
    /// memory 4 bytes a column for each of at most eight tasks.
    #[must_use]
    pub fn normalized(self, how: Normalization) -> Self {
        let scales = Scales::of(&self.tiles, how);
        Self { scales, ..self }
    }
    /// The tiles.
    #[must_use]
    pub fn tiles(&self) -> &B2sr4 {
        &self.tiles
    }
    /// The scales of rows; `None` counts as 1 for all.
    #[must_use]
    pub fn row_scales(&self) -> Option<&[f32]> {
        self.scales.rows.as_deref().map(bytemuck::cast_slice)
    }
    /// The scales of columns; `None` counts as 1 for all.
    #[must_use]
    pub fn column_scales(&self) -> Option<&[f32]> {
        self.scales.columns.as_deref().map(bytemuck::cast_slice)
    }
    /// The value of an entry that is there: the product of its scales.
    ///
    /// # Panics
    /// If the row or column is out of range and has a scale.
    #[must_use]
    pub fn scale(&self, row: usize, column: usize) -> f32 {
        self.row_scales().map_or(1.0, |s| s[row]) * self.column_scales().map_or(1.0, |s| s[column])
    }
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.tiles.nrows()
    }
    /// The number of columns.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.tiles.ncols()
    }
    /// The number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.tiles.nnz()
    }
    /// The number of tile rows.
    #[must_use]
    pub fn tile_rows(&self) -> usize {
        self.tiles.tile_rows()
    }
    /// The tiles of tile row `t`, stitched to words of 32 or 64 columns: every word but the last is full of tiles. O(tiles of the row).
    ///
    /// # Panics
    /// If `t` is out of range.
    #[inline]
    pub fn stitched<W: Word>(&self, t: usize) -> impl ExactSizeIterator<Item = Stitched<'_, W>> + '_ {
        let range = self.tiles.tile_range(t);
        let (tiles, tile_columns) = (&self.tiles.tiles()[range.clone()], &self.tiles.tile_columns()[range]);
        let columns = self.ncols() as u32;
        tiles.chunks(W::TILES).zip(tile_columns.chunks(W::TILES)).map(move |(tiles, ids)| Stitched::new(tiles, ids, columns))
    }
    /// The number of stitched words of a row, summed over tile rows: iterations of a kernel. O(tile rows), parallel.
    #[must_use]
    pub fn groups<W: Word>(&self) -> u64 {
        (0..self.tile_rows()).into_par_iter().with_min_len(4096).map(|t| self.tiles.tile_range(t).len().div_ceil(W::TILES) as u64).sum()
    }
    /// The part of the bits of stitched words that hold an entry; 0 where there are none.
    #[must_use]
    pub fn word_fill<W: Word>(&self) -> f64 {
        let bits = self.groups::<W>() as f64 * (4 * W::BITS) as f64;
        if bits == 0.0 { 0.0 } else { self.nnz() as f64 / bits }
    }
    /// The transpose: tiles mirrored, scales exchanged. O(tiles), parallel.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self { tiles: self.tiles.transpose(), scales: self.scales.transposed() }
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tiles.bytes() + self.scales.bytes()
    }
    /// Bytes of the pattern in compressed rows: `4 nnz + 4 (rows + 1)`.
    #[must_use]
    pub fn csr_bytes(&self) -> u64 {
        csr_bytes(self.nrows(), self.nnz(), 4)
    }
    /// Bytes of the same in compressed rows with `f32` values, which is what the paper compares with: `8 nnz + 4 (rows + 1)`.
    #[must_use]
    pub fn float_csr_bytes(&self) -> u64 {
        csr_bytes(self.nrows(), self.nnz(), 8)
    }
}

/// Bytes of compressed rows with so many bytes an entry.
fn csr_bytes(rows: usize, nnz: usize, entry: u64) -> u64 {
    let width = if Offsets::are_narrow(nnz as u64) { 4 } else { 8 };
    entry * nnz as u64 + width * (rows as u64 + 1)
}

impl From<B2sr4> for Frdc {
    /// The same tiles, shared. O(1).
    fn from(tiles: B2sr4) -> Self {
        Self { tiles, scales: Scales::default() }
    }
}

impl Format for Frdc {
    const NAME: &'static str = "frdc";
    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }
    fn nnz(&self) -> usize {
        Self::nnz(self)
    }
    fn sections(&self) -> Vec<Section> {
        let mut sections = self.tiles.sections();
        for (name, scales) in [("row_scales", &self.scales.rows), ("column_scales", &self.scales.columns)] {
            sections.extend(scales.iter().map(|scales| Section { name, data: SectionData::U32(scales.clone()) }));
        }
        sections
    }
    fn from_sections(rows: usize, columns: usize, sections: &Sections) -> Result<Self> {
        let tiles = B2sr4::from_sections(rows, columns, sections)?;
        let scales = |name: &str| match sections.get(name) {
            None => Ok(None),
            Some(SectionData::U32(scales)) => Ok(Some(scales.clone())),
            Some(_) => Err(Error::Section { name: name.to_string() }),
        };
        Ok(Self { tiles, scales: Scales::from_bits((rows, columns), scales("row_scales")?, scales("column_scales")?)? })
    }
    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }
}
