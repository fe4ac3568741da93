//! A matrix on the CPU: one of the formats, its values, and what was derived from them on demand.
//!
//! Invariant: values, if any, are in the pattern's own (CSR) order whatever the format. Derived data never changes a result.

use crate::spmv::SpmvLayout;
use crate::tile::RowEntries;
pub use bitgraph_b2sr::Layout;
use bitgraph_b2sr::with_layout;
use bitgraph_backend::Error;
use bitgraph_sparse::parallel::{self, once};
use bitgraph_sparse::{BitVector, Csr, FormatKind, Values};
use std::sync::{Arc, OnceLock};

/// A matrix on the CPU. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CpuMatrix {
    layout: Arc<Layout>,
    values: Option<Values>,
    derived: Arc<Derived>,
}

/// What is computed at first use.
#[derive(Debug, Default)]
struct Derived {
    /// Where each row's values start, for formats that do not say.
    row_offsets: OnceLock<Vec<usize>>,
    /// Which rows have entries.
    nonempty_rows: OnceLock<Option<BitVector>>,
    /// The layout for float products, if a plan asked for one.
    sums: OnceLock<SpmvLayout>,
    /// The transpose, for products with it.
    transpose: OnceLock<CpuMatrix>,
    /// The pattern as CSR, for formats that are another.
    csr: OnceLock<Csr>,
    /// The transposed pattern as CSR, and where each of its entries is in the pattern's order.
    by_columns: OnceLock<ByColumns>,
}

/// The entries of a pattern column by column.
#[derive(Debug)]
pub(crate) struct ByColumns {
    /// Row `j` lists the rows that have an entry in column `j`.
    pub csr: Csr,
    /// The position in the pattern's own order of every entry of `csr`.
    pub positions: Vec<usize>,
}

impl CpuMatrix {
    /// Lays out a matrix. O(nnz).
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many values as entries.
    pub fn new(csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<Self, Error> {
        Self::from_layout(Layout::from_csr(csr, format), values)
    }
    /// A matrix whose pattern is laid out already. O(1).
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many values as entries.
    pub fn from_layout(layout: Layout, values: Option<&Values>) -> Result<Self, Error> {
        match values {
            Some(v) if v.len() != layout.nnz() => {
                let (expected, found) = (layout.nnz() as u64, v.len() as u64);
                Err(Error::Shape { operation: "matrix", operand: "value array", expected, found })
            }
            _ => Ok(Self::of(layout, values.cloned())),
        }
    }
    fn of(layout: Layout, values: Option<Values>) -> Self {
        Self { layout: Arc::new(layout), values, derived: Arc::default() }
    }
    /// The pattern in its format.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// The values, in CSR order.
    #[must_use]
    pub fn values(&self) -> Option<&Values> {
        self.values.as_ref()
    }
    /// The pattern as CSR, if that is its format.
    #[must_use]
    pub fn as_csr(&self) -> Option<&Csr> {
        self.layout.as_csr()
    }
    /// The pattern as CSR: shared if that is its format, converted otherwise.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        self.layout.to_csr()
    }
    /// The pattern as CSR: as it is if that is its format, converted at first use and kept otherwise.
    pub(crate) fn csr(&self) -> &Csr {
        match &*self.layout {
            Layout::Csr(csr) => csr,
            tiles => once(&self.derived.csr, || tiles.to_csr()),
        }
    }
    /// The entries column by column, with their positions in the pattern's order; found at first use and kept. O(nnz), 12 bytes an entry.
    pub(crate) fn by_columns(&self) -> &ByColumns {
        once(&self.derived.by_columns, || {
            let (csr, positions) = self.csr().transpose_with_positions();
            ByColumns { csr, positions }
        })
    }
    /// The same matrix without values.
    #[must_use]
    pub fn pattern(&self) -> Self {
        Self { values: None, derived: if self.values.is_none() { Arc::clone(&self.derived) } else { Arc::default() }, ..self.clone() }
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.layout.shape()
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        self.layout.nnz()
    }
    /// The storage format.
    #[must_use]
    pub fn format(&self) -> FormatKind {
        self.layout.kind()
    }
    /// Bytes of pattern and values, and of what was derived from them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
            + self.values.as_ref().map_or(0, Values::bytes)
            + self.derived.row_offsets.get().map_or(0, |o| 8 * o.len() as u64)
            + self.derived.sums.get().map_or(0, SpmvLayout::extra_bytes)
            + self.derived.transpose.get().map_or(0, Self::bytes)
            + self.derived.csr.get().map_or(0, Csr::bytes)
            + self.derived.by_columns.get().map_or(0, |t| t.csr.bytes() + 8 * t.positions.len() as u64)
    }
    /// Where the values of each row start, and their number at the end.
    #[must_use]
    pub fn row_start(&self, row: usize) -> usize {
        if let Layout::Csr(csr) = &*self.layout {
            return csr.offsets().get(row);
        }
        once(&self.derived.row_offsets, || self.layout.row_offsets())[row]
    }
    /// The transpose in the same format; built at first use and kept.
    #[must_use]
    pub fn transposed(&self) -> &Self {
        once(&self.derived.transpose, || self.transpose())
    }
    /// The transpose in the same format, as a matrix of its own.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let Some(values) = &self.values else { return Self::of(self.layout.transpose(), None) };
        let (t, values) = self.to_csr().transpose_with(values);
        Self::of(Layout::from_csr(&t, self.format()), Some(values))
    }
    /// The columns of a row, ascending: a slice of the lists, or unpacked into `scratch`. Unpacking is compiled once, not once
    /// for every semiring.
    #[inline]
    pub fn row<'a>(&'a self, row: usize, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        if let Layout::Csr(csr) = &*self.layout {
            return csr.row(row);
        }
        scratch.clear();
        with_layout!(&*self.layout, m => scratch.extend(m.row_entries(row)));
        scratch
    }
    fn has_entries(&self, row: usize) -> bool {
        with_layout!(&*self.layout, m => m.row_entries(row).next().is_some())
    }
    /// Which rows have entries; `None` if all have. O(rows), parallel, once.
    pub(crate) fn nonempty_rows(&self) -> Option<&BitVector> {
        let rows = once(&self.derived.nonempty_rows, || {
            let rows = self.shape().0;
            let word = |w: usize| (64 * w..rows.min(64 * w + 64)).fold(0, |word, i| word | u64::from(self.has_entries(i)) << (i % 64));
            let bits = BitVector::from_words64(parallel::tabulate(rows.div_ceil(64), 256, word), rows);
            (bits.count_ones() < bits.len()).then_some(bits)
        });
        rows.as_ref()
    }
    /// The layout for float products that a plan asked for.
    pub(crate) fn sums(&self) -> Option<&SpmvLayout> {
        self.derived.sums.get()
    }
    /// Keeps a layout for float products of a pattern; the first one stays.
    pub(crate) fn keep_sums(&self, sums: SpmvLayout) {
        let _ = self.derived.sums.set(sums);
    }
}
