//! A matrix as the operations over its entries see it: its rows or its columns, with where each entry is in the matrix's own order, and long
//! rows cut into pieces.
//!
//! Invariant: made at first use and kept with the matrix, so that a matrix that is used again costs nothing. A matrix of few products has no pieces.

use super::work::{LongRowsParams, RowPiece};
use crate::device::{Buffer, Device};
use crate::layout::{DeviceCsr, Offsets};
use crate::matrix::{CudaMatrix, Kept};
use crate::ops::mxv::{long_rows_of, once};
use crate::{Result, primitives};
use std::sync::OnceLock;

/// Above how many entries a row is cut, and how many entries a piece of it has at a time.
struct Limits {
    row: u32,
    piece: u64,
}
const LIMITS: Limits = Limits { row: 1024, piece: 512 };
/// Small ones, so that small matrices take every path under the host shim.
const SHIM_LIMITS: Limits = Limits { row: 24, piece: 10 };
/// Entries of a matrix from which on pieces are longer, so that they are no more than 2^16.
const MANY: u64 = 1 << 25;

/// What is kept with a matrix.
#[derive(Default)]
pub(super) struct Derived {
    transposed: OnceLock<(DeviceCsr, Buffer<u32>)>,
    long_rows: OnceLock<LongRows>,
    long_columns: OnceLock<LongRows>,
    entry_rows: OnceLock<Buffer<u32>>,
}

impl Kept for Derived {
    fn bytes(&self) -> u64 {
        let transposed = self.transposed.get().map_or(0, |(csr, positions)| csr.bytes() + positions.bytes());
        let long = [&self.long_rows, &self.long_columns].into_iter().filter_map(OnceLock::get).map(LongRows::bytes).sum::<u64>();
        transposed + long + self.entry_rows.get().map_or(0, Buffer::bytes)
    }
}

/// Rows of very many entries, in pieces.
#[derive(Debug, Default)]
pub(super) struct LongRows {
    rows: Buffer<u32>,
    first_piece: Buffer<u32>,
    pieces: Buffer<RowPiece>,
}

impl LongRows {
    fn of(device: &Device, csr: &DeviceCsr) -> Result<Self> {
        let limits = limits(device);
        let rows = long_rows_of(device, csr, limits.row)?;
        if rows.is_empty() {
            return Ok(Self::default());
        }
        let length = limits.piece * (csr.nnz as u64).div_ceil(MANY).max(1);
        let (mut pieces, mut first_piece) = (Vec::new(), vec![0u32]);
        for long in &rows {
            let starts = (long.begin..long.end).step_by(length as usize);
            pieces.extend(starts.map(|begin| {
                let end = long.end.min(begin + length);
                RowPiece { begin, end, row: long.row, last: u32::from(end == long.end) }
            }));
            first_piece.push(pieces.len() as u32);
        }
        let index: Vec<u32> = rows.iter().map(|r| r.row).collect();
        Ok(Self { rows: device.upload(&index)?, first_piece: device.upload(&first_piece)?, pieces: device.upload(&pieces)? })
    }
    /// The number of pieces.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }
    /// Whether no row is long.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    pub fn pieces(&self) -> &Buffer<RowPiece> {
        &self.pieces
    }
    /// What merges the results of pieces, a cell for each piece and column, takes.
    pub fn params(&self, cells: &Buffer<u8>, columns: usize) -> Result<LongRowsParams> {
        let tiles = u32::try_from(columns.div_ceil(32)).map_err(|_| primitives::too_large(columns as u64))?;
        Ok(LongRowsParams {
            rows: self.rows.ptr(),
            first_piece: self.first_piece.ptr(),
            cells: cells.ptr(),
            count: self.rows.len() as u32,
            tiles,
        })
    }
    fn bytes(&self) -> u64 {
        self.rows.bytes() + self.first_piece.bytes() + self.pieces.bytes()
    }
}

fn limits(device: &Device) -> &'static Limits {
    if device.properties().emulated { &SHIM_LIMITS } else { &LIMITS }
}

/// A matrix's rows, or its columns as rows.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    /// The pattern.
    pub csr: &'a DeviceCsr,
    /// Where each of its entries is in the order of the matrix's CSR form; none if it is that order.
    pub positions: Option<&'a Buffer<u32>>,
    /// Its long rows.
    pub long: &'a LongRows,
    /// Above how many entries a row is one of them.
    pub limit: u32,
}

impl<'a> Seen<'a> {
    /// A matrix, or its transpose, which is made by a sort at first use.
    pub fn of(matrix: &'a CudaMatrix, transposed: bool) -> Result<Self> {
        let (device, derived) = (&matrix.device, matrix.kept::<Derived>());
        // Long rows of a matrix of few products are not looked for, because that waits.
        let short_lived = matrix.longest_if_short_lived().is_some();
        let long_rows = |csr| if short_lived { Ok(LongRows::default()) } else { LongRows::of(device, csr) };
        let limit = limits(device).row;
        if !transposed {
            let csr = matrix.lists()?;
            let long = once(&derived.long_rows, || long_rows(csr))?;
            return Ok(Self { csr, positions: None, long, limit });
        }
        let (csr, positions) = once(&derived.transposed, || primitives::transpose_with_positions(device, matrix.lists()?))?;
        let long = once(&derived.long_columns, || long_rows(csr))?;
        Ok(Self { csr, positions: Some(positions), long, limit })
    }
}

/// The row of every entry.
pub(super) fn entry_rows(matrix: &CudaMatrix) -> Result<&Buffer<u32>> {
    once(&matrix.kept::<Derived>().entry_rows, || primitives::rows_of_entries(&matrix.device, matrix.lists()?))
}

/// Whether the offsets are of 64 bits.
pub(super) fn wide(offsets: &Offsets) -> u32 {
    u32::from(matches!(offsets, Offsets::U64(_)))
}
