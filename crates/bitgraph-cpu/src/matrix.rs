//! A matrix on the CPU: one of the formats, its values, and what was derived from them on demand.
//!
//! Invariant: values, if any, are in the pattern's own (CSR) order whatever the format. Derived data never changes a result.

use crate::spmv::SpmvLayout;
use crate::tile::RowEntries;
use bitgraph_b2sr::{B2sr4, B2sr8, B2sr16, B2sr32, Hybrid};
use bitgraph_backend::Error;
use bitgraph_sparse::{BitVector, Csr, Format, FormatKind, Values};
use std::sync::{Arc, OnceLock};

/// The storage formats, dispatched above the hot loops.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Lists.
    Csr(Csr),
    /// Bit tiles of 4 x 4.
    B2sr4(B2sr4),
    /// Bit tiles of 8 x 8.
    B2sr8(B2sr8),
    /// Bit tiles of 16 x 16.
    B2sr16(B2sr16),
    /// Bit tiles of 32 x 32.
    B2sr32(B2sr32),
    /// Tiles where they are filled, lists elsewhere.
    Hybrid(Hybrid),
}

/// Runs `$body` with `$m` bound to the matrix in its own format.
macro_rules! with_layout {
    ($layout:expr, $m:ident => $body:expr) => {
        match $layout {
            $crate::matrix::Layout::Csr($m) => $body,
            $crate::matrix::Layout::B2sr4($m) => $body,
            $crate::matrix::Layout::B2sr8($m) => $body,
            $crate::matrix::Layout::B2sr16($m) => $body,
            $crate::matrix::Layout::B2sr32($m) => $body,
            $crate::matrix::Layout::Hybrid($m) => $body,
        }
    };
}

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
}

impl CpuMatrix {
    /// Lays out a matrix. O(nnz).
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many values as entries.
    pub fn new(csr: &Csr, values: Option<&Values>, format: FormatKind) -> Result<Self, Error> {
        if let Some(v) = values
            && v.len() != csr.nnz()
        {
            let (expected, found) = (csr.nnz() as u64, v.len() as u64);
            return Err(Error::Shape { operation: "matrix", operand: "value array", expected, found });
        }
        let layout = match format {
            FormatKind::Csr => Layout::Csr(csr.clone()),
            FormatKind::B2sr4 => Layout::B2sr4(B2sr4::from_csr(csr)),
            FormatKind::B2sr8 => Layout::B2sr8(B2sr8::from_csr(csr)),
            FormatKind::B2sr16 => Layout::B2sr16(B2sr16::from_csr(csr)),
            FormatKind::B2sr32 => Layout::B2sr32(B2sr32::from_csr(csr)),
            FormatKind::Hybrid => Layout::Hybrid(Hybrid::from_csr(csr)),
        };
        Ok(Self { layout: Arc::new(layout), values: values.cloned(), derived: Arc::default() })
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
        match &*self.layout {
            Layout::Csr(csr) => Some(csr),
            _ => None,
        }
    }
    /// The pattern as CSR: shared if that is its format, converted otherwise.
    #[must_use]
    pub fn to_csr(&self) -> Csr {
        match &*self.layout {
            Layout::Csr(m) => m.clone(),
            Layout::B2sr4(m) => m.to_csr(),
            Layout::B2sr8(m) => m.to_csr(),
            Layout::B2sr16(m) => m.to_csr(),
            Layout::B2sr32(m) => m.to_csr(),
            Layout::Hybrid(m) => m.to_csr(),
        }
    }
    /// The same matrix without values.
    #[must_use]
    pub fn pattern(&self) -> Self {
        Self { values: None, derived: if self.values.is_none() { Arc::clone(&self.derived) } else { Arc::default() }, ..self.clone() }
    }
    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        with_layout!(&*self.layout, m => Format::shape(m))
    }
    /// The number of entries.
    #[must_use]
    pub fn nvals(&self) -> usize {
        with_layout!(&*self.layout, m => Format::nnz(m))
    }
    /// The storage format.
    #[must_use]
    pub fn format(&self) -> FormatKind {
        fn kind<F: Format>(_: &F) -> FormatKind {
            F::KIND
        }
        with_layout!(&*self.layout, m => kind(m))
    }
    /// Bytes of pattern and values, and of what was derived from them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        with_layout!(&*self.layout, m => Format::bytes(m))
            + self.values.as_ref().map_or(0, Values::bytes)
            + self.derived.row_offsets.get().map_or(0, |o| 8 * o.len() as u64)
            + self.derived.sums.get().map_or(0, SpmvLayout::extra_bytes)
            + self.derived.transpose.get().map_or(0, Self::bytes)
    }
    /// Where the values of each row start, and their number at the end.
    #[must_use]
    pub fn row_start(&self, row: usize) -> usize {
        if let Layout::Csr(csr) = &*self.layout {
            return csr.offsets().get(row);
        }
        self.derived.row_offsets.get_or_init(|| match &*self.layout {
            Layout::Csr(_) => Vec::new(),
            Layout::B2sr4(m) => m.row_offsets(),
            Layout::B2sr8(m) => m.row_offsets(),
            Layout::B2sr16(m) => m.row_offsets(),
            Layout::B2sr32(m) => m.row_offsets(),
            Layout::Hybrid(m) => m.row_offsets(),
        })[row]
    }
    /// The transpose in the same format; built at first use and kept.
    #[must_use]
    pub fn transposed(&self) -> &Self {
        self.derived.transpose.get_or_init(|| self.transpose())
    }
    /// The transpose in the same format, as a matrix of its own.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let layout = match (&*self.layout, &self.values) {
            (Layout::Csr(m), None) => Layout::Csr(m.transpose()),
            (Layout::B2sr4(m), None) => Layout::B2sr4(m.transpose()),
            (Layout::B2sr8(m), None) => Layout::B2sr8(m.transpose()),
            (Layout::B2sr16(m), None) => Layout::B2sr16(m.transpose()),
            (Layout::B2sr32(m), None) => Layout::B2sr32(m.transpose()),
            (Layout::Hybrid(m), None) => Layout::Hybrid(m.transpose()),
            (_, Some(values)) => {
                let (t, positions) = self.to_csr().transpose_with_positions();
                let values = values.gather(&positions);
                return Self::new(&t, Some(&values), self.format()).unwrap_or_else(|_| self.clone());
            }
        };
        Self { layout: Arc::new(layout), values: None, derived: Arc::default() }
    }
    /// The columns of a row, ascending: a slice of the lists, or unpacked into `scratch`. Unpacking is compiled once, not once
    /// for every semiring.
    #[inline]
    pub fn row<'a>(&'a self, row: usize, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        if let Layout::Csr(csr) = &*self.layout {
            return csr.row(row);
        }
        scratch.clear();
        with_layout!(&*self.layout, m => RowEntries::visit_row(m, row, |c| {
            scratch.push(c);
            true
        }));
        scratch
    }
    fn has_entries(&self, row: usize) -> bool {
        let mut any = false;
        with_layout!(&*self.layout, m => RowEntries::visit_row(m, row, |_| {
            any = true;
            false
        }));
        any
    }
    /// Which rows have entries; `None` if all have. O(rows), once.
    pub(crate) fn nonempty_rows(&self) -> Option<&BitVector> {
        let rows = self.derived.nonempty_rows.get_or_init(|| {
            let bits: BitVector = (0..self.shape().0).map(|i| self.has_entries(i)).collect();
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
