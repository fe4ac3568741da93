//! Sparse matrix times dense vector, laid out for many passes: one launch a product (two where columns are renumbered), f32.
//!
//! Invariant: a layout gives the same bits on every run; a row without entries gives 0.
#![allow(unsafe_code)]

mod bins;
mod columns;
mod diagonals;
#[cfg(test)]
mod tests;

pub use bins::Pattern;
pub(crate) use bins::{RowBins, RowBinsParams};

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::{DeviceCsr, Result};
use bitgraph_backend::Error as Base;
use columns::Columns;
use diagonals::Diagonals;

/// How a matrix is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpmvForm {
    /// Rows in natural order or by class, as they are alike or not.
    Rows,
    /// Rows by class.
    Classes,
    /// Rows by class, columns renumbered by how often they are named.
    Columns,
    /// Slices by diagonals.
    Diagonals,
}

parameters! {
    struct RowsParams = "ops/spmv.cu" "bg::SpmvRowsParams" {
        bins: RowBinsParams,
        values: DevicePtr<f32>,
        x: DevicePtr<f32>,
        y: DevicePtr<f32>,
        pieces: DevicePtr<f32>,
    }
}

enum Layout {
    Rows { bins: Box<RowBins>, values: Option<Buffer<f32>>, pieces: Buffer<f32>, columns: Option<Columns> },
    Diagonals(Diagonals),
}

/// A matrix laid out for `y = A x` over (plus, times), or (plus, second) for a pattern.
pub struct SpmvLayout {
    device: Device,
    layout: Layout,
    rows: usize,
    columns: usize,
}

impl std::fmt::Debug for SpmvLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpmvLayout({})", self.explain())
    }
}

impl SpmvLayout {
    /// Lays out a matrix in a form; `values` are in the order of its entries, none for a pattern. None if its offsets are 64 bits wide.
    /// O(nnz) on the device.
    ///
    /// # Errors
    /// Out of memory; another number of values than of entries.
    pub fn build(device: &Device, csr: &DeviceCsr, values: Option<&Buffer<f32>>, form: SpmvForm) -> Result<Option<Self>> {
        let Some(pattern) = Pattern::of(csr) else { return Ok(None) };
        if let Some(values) = values {
            same_length("values", csr.nnz, values.len())?;
        }
        let done = |layout| Ok(Some(Self { device: device.clone(), layout, rows: csr.rows, columns: csr.columns }));
        if form == SpmvForm::Diagonals
            && let Some(diagonals) = Diagonals::build(device, &pattern, values)?
        {
            return done(Layout::Diagonals(diagonals));
        }
        let mut bins = Box::new(RowBins::build(device, &pattern, None, matches!(form, SpmvForm::Classes | SpmvForm::Columns))?);
        let mut columns = None;
        if csr.nnz > 0 && form == SpmvForm::Columns {
            let (found, renumbered) = Columns::build(device, &pattern, csr.columns)?;
            bins = Box::new(RowBins::build(device, &renumbered, None, true)?);
            columns = Some(found);
        }
        let pieces = device.alloc(bins.pieces)?;
        done(Layout::Rows { bins, values: values.cloned(), pieces, columns })
    }
    /// `y = A x`. Returns before it is done.
    ///
    /// # Errors
    /// Vectors of other lengths than the matrix has columns and rows.
    pub fn run(&self, x: &Buffer<f32>, y: &Buffer<f32>) -> Result<()> {
        same_length("x", self.columns, x.len())?;
        same_length("y", self.rows, y.len())?;
        match &self.layout {
            Layout::Diagonals(diagonals) => diagonals.run(&self.device, x, y),
            Layout::Rows { bins, values, pieces, columns } => {
                let x = match columns {
                    Some(columns) => &columns.apply(&self.device, x)?,
                    None => x,
                };
                let name = if values.is_some() { "spmv_rows_values_f32" } else { "spmv_rows_pattern_f32" };
                let block = 256.min(self.device.properties().max_threads_per_block);
                let warps = (bins.tasks() as usize).max(self.rows.div_ceil(256)).max(1);
                let shape = Shape { grid: warps.div_ceil(block as usize / 32) as u32, block, shared: 0, mode: Mode::Plain };
                let parameters = RowsParams {
                    bins: bins.parameters,
                    values: values.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
                    x: x.ptr(),
                    y: y.ptr(),
                    pieces: pieces.ptr(),
                };
                // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
                unsafe { self.device.launch(&self.device.kernel("ops/spmv", name)?, shape, &parameters) }
            }
        }
    }
    /// The form that it has: rows stand in for diagonals of an empty matrix, and for renumbered columns of one.
    #[must_use]
    pub fn form(&self) -> SpmvForm {
        match &self.layout {
            Layout::Diagonals(_) => SpmvForm::Diagonals,
            Layout::Rows { columns: Some(_), .. } => SpmvForm::Columns,
            Layout::Rows { bins, .. } if bins.is_listed() => SpmvForm::Classes,
            Layout::Rows { .. } => SpmvForm::Rows,
        }
    }
    /// How it is laid out.
    #[must_use]
    pub fn explain(&self) -> String {
        match &self.layout {
            Layout::Diagonals(diagonals) => diagonals.explain(),
            Layout::Rows { bins, columns, .. } => {
                format!("{}{}", bins.explain(), if columns.is_some() { "; columns by how often they are named" } else { "" })
            }
        }
    }
    /// Bytes beyond the matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.layout {
            Layout::Diagonals(diagonals) => diagonals.bytes(),
            Layout::Rows { bins, pieces, columns, .. } => {
                bins.bytes() + pieces.bytes() + columns.as_ref().map_or(0, |c| c.bytes() + bins.pattern_bytes())
            }
        }
    }
}

fn same_length(operand: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Base::Shape { operation: "spmv", operand, expected: expected as u64, found: found as u64 }.into())
}
