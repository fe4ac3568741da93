//! Sparse Graph Translation (TC-GNN, section 4.1): windows of rows whose columns are condensed.
//!
//! # Invariants
//! Windows are consecutive places of `height` rows, the last one perhaps fewer; the row at a place is the place's own number, or what
//! `order` says, a permutation. `columns` holds the distinct columns of each window's entries, strictly ascending, each of which at
//! least one entry has; `column_offsets` says where a window's are. Entries are in the pattern's own order, row by row, whatever the order
//! of rows in windows, so that an array of values needs no gather. `edge_to_col` holds for each entry the position of its column among those
//! of its window. Checked on construction from outside.
//!
//! # Bytes
//! `4 entries + 4 distinct columns + 4 (rows + 1) + 4 (windows + 1) + 4`, and 4 a row if there is an order; offsets take 8 bytes each from
//! 2^32 on.

mod check;

use crate::MOST_ROWS;
use bitgraph_sparse::{Buffer, Csr, Error, Format, Offsets, Section, SectionData, Sections, section};
use rayon::prelude::*;
use std::ops::Range;

/// A sparse pattern in windows of rows with condensed columns. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sgt {
    pub(crate) rows: u32,
    pub(crate) ncols: u32,
    pub(crate) height: u32,
    pub(crate) offsets: Offsets,
    pub(crate) order: Option<Buffer<u32>>,
    pub(crate) column_offsets: Offsets,
    pub(crate) columns: Buffer<u32>,
    pub(crate) edge_to_col: Buffer<u32>,
}

impl Sgt {
    /// The number of rows.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.rows as usize
    }
    /// The number of columns of the pattern.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.ncols as usize
    }
    /// The number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.edge_to_col.len()
    }
    /// Rows of a window.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height as usize
    }
    /// The number of windows.
    #[must_use]
    pub fn windows(&self) -> usize {
        self.column_offsets.len() - 1
    }
    /// The row offsets of the pattern: where the entries of a row (not of a place) are.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }
    /// The row at each place; `None` if every row is at its own.
    #[must_use]
    pub fn order(&self) -> Option<&Buffer<u32>> {
        self.order.as_ref()
    }
    /// The row at a place.
    ///
    /// # Panics
    /// If there is an order, and the place is beyond it.
    #[inline]
    #[must_use]
    pub fn row_at(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order[place] as usize)
    }
    /// The places of window `w`.
    ///
    /// # Panics
    /// If `w` is out of range.
    #[inline]
    #[must_use]
    pub fn places(&self, w: usize) -> Range<usize> {
        assert!(w < self.windows(), "window {w} of {}", self.windows());
        w * self.height()..((w + 1) * self.height()).min(self.nrows())
    }
    /// Where the entries of row `i` are.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    #[must_use]
    pub fn row_range(&self, i: usize) -> Range<usize> {
        self.offsets.get(i)..self.offsets.get(i + 1)
    }
    /// Where the distinct columns of each window are in [`Sgt::columns`].
    #[must_use]
    pub fn column_offsets(&self) -> &Offsets {
        &self.column_offsets
    }
    /// The distinct columns of all windows: TC-GNN's `colToRow`, the rows of the feature matrix that a window gathers.
    #[must_use]
    pub fn columns(&self) -> &Buffer<u32> {
        &self.columns
    }
    /// The distinct columns of window `w`, ascending.
    ///
    /// # Panics
    /// If `w` is out of range.
    #[inline]
    #[must_use]
    pub fn window_columns(&self, w: usize) -> &[u32] {
        &self.columns[self.column_offsets.get(w)..self.column_offsets.get(w + 1)]
    }
    /// The condensed column of each entry: TC-GNN's `edgeToCol`.
    #[must_use]
    pub fn edge_to_col(&self) -> &Buffer<u32> {
        &self.edge_to_col
    }
    /// The row within its window of each entry: TC-GNN's `edgeToRow`. O(nnz).
    #[must_use]
    pub fn edge_to_row(&self) -> Vec<u8> {
        let mut rows = vec![0u8; self.nnz()];
        for place in 0..self.nrows() {
            rows[self.row_range(self.row_at(place))].fill((place % self.height()) as u8);
        }
        rows
    }
    /// The number of blocks of each window, for blocks of so many columns: TC-GNN's `winPartition`. O(windows).
    ///
    /// # Panics
    /// If `width` is 0.
    #[must_use]
    pub fn win_partition(&self, width: usize) -> Vec<u32> {
        (0..self.windows()).map(|w| self.window_columns(w).len().div_ceil(width) as u32).collect()
    }
    /// The pattern in compressed rows, whose offsets are shared. O(nnz), parallel.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        let indices = self.indices();
        Csr::from_valid(self.nrows(), self.ncols(), self.offsets.clone(), indices.into())
    }
    /// The column of each entry.
    #[allow(unsafe_code)]
    pub(crate) fn indices(&self) -> Vec<u32> {
        let mut indices = vec![0u32; self.nnz()];
        let out = bitgraph_sparse::parallel::DisjointSlice::new(&mut indices);
        (0..self.windows()).into_par_iter().with_min_len(64).for_each(|w| {
            let columns = self.window_columns(w);
            for row in self.places(w).map(|place| self.row_at(place)) {
                let range = self.row_range(row);
                // SAFETY: the offsets lie within the array, whose length is the last of them, and each row is at one place only.
                let row = unsafe { out.range(range.clone()) };
                row.iter_mut().zip(&self.edge_to_col[range]).for_each(|(column, &c)| *column = columns[c as usize]);
            }
        });
        indices
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let order = self.order.as_ref().map_or(0, |order| order.len());
        self.offsets.bytes() + self.column_offsets.bytes() + 4 * (self.columns.len() + self.edge_to_col.len() + order + 1) as u64
    }
}

impl PartialEq for Sgt {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.ncols, self.height) == (other.rows, other.ncols, other.height)
            && self.offsets == other.offsets
            && self.order == other.order
            && self.column_offsets == other.column_offsets
            && self.columns == other.columns
            && self.edge_to_col == other.edge_to_col
    }
}

impl Format for Sgt {
    const NAME: &'static str = "sgt";
    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }
    fn nnz(&self) -> usize {
        Self::nnz(self)
    }
    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![
            Section { name: "height", data: SectionData::U32(vec![self.height].into()) },
            Section { name: "offsets", data: self.offsets.to_section() },
            Section { name: "column_offsets", data: self.column_offsets.to_section() },
            Section { name: "columns", data: SectionData::U32(self.columns.clone()) },
            Section { name: "edge_to_col", data: SectionData::U32(self.edge_to_col.clone()) },
        ];
        if let Some(order) = &self.order {
            sections.push(Section { name: "row_order", data: SectionData::U32(order.clone()) });
        }
        sections
    }
    fn from_sections(rows: usize, columns: usize, sections: &Sections) -> Result<Self, Error> {
        let (rows, ncols) = Csr::ids(rows as u64, columns as u64)?;
        let height = section!(sections, "height", U32)?;
        let height = match height[..] {
            [height] if (1..=MOST_ROWS).contains(&height) => height,
            [_] => return Err(Error::Invalid { array: "height", position: 0, what: "not 1 to 256 rows" }),
            _ => return Err(Error::Length { array: "height", expected: 1, found: height.len() as u64 }),
        };
        let order = sections.contains_key("row_order").then(|| section!(sections, "row_order", U32)).transpose()?;
        let sgt = Self {
            rows,
            ncols,
            height,
            offsets: Offsets::from_section(sections, "offsets")?,
            order,
            column_offsets: Offsets::from_section(sections, "column_offsets")?,
            columns: section!(sections, "columns", U32)?,
            edge_to_col: section!(sections, "edge_to_col", U32)?,
        };
        sgt.check()?;
        Ok(sgt)
    }
    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }
}
