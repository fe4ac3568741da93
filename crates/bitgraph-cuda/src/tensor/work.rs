//! How the rows of a pattern are shared out to warps, and the launches over them: all rows but the long ones, the pieces of those, and what
//! merges the pieces.
//!
//! Invariant: the shares depend on the matrix, the number of columns and the device's kind alone, and so does the order of every sum.

use super::instance;
use super::params::{LANE_COLUMNS, Target, View};
use super::pattern::{Seen, wide};
use crate::device::{Buffer, Device, DevicePtr, Shape, parameters};
use crate::primitives;
use crate::{Error, Result};
use bitgraph_semiring::DType;
use bytemuck::Zeroable;

parameters! {
    #[derive(Debug)]
    pub(super) struct RowPiece = "tensor/rows.cuh" "bg::RowPiece" {
        pub begin: u64,
        pub end: u64,
        pub row: u32,
        pub last: u32,
    }
    pub(super) struct RowWork = "tensor/rows.cuh" "bg::RowWork" {
        pub offsets: DevicePtr<u8>,
        pub indices: DevicePtr<u32>,
        pub positions: DevicePtr<u32>,
        pub pieces: DevicePtr<RowPiece>,
        pub units: u64,
        pub columns: u32,
        pub wide: u32,
        pub limit: u32,
        pub group: u32,
        pub split: u32,
        pub blocks: u32,
        pub tiles: u32,
        pub reserved: u32,
    }
    pub(super) struct LongRowsParams = "tensor/rows.cuh" "bg::LongRows" {
        pub rows: DevicePtr<u32>,
        pub first_piece: DevicePtr<u32>,
        pub cells: DevicePtr<u8>,
        pub count: u32,
        pub tiles: u32,
    }
}

impl LongRowsParams {
    /// No long rows.
    pub fn none() -> Self {
        Self::zeroed()
    }
}

/// Columns, which kernels count in 32 bits.
fn counted(columns: usize) -> Result<u32> {
    u32::try_from(columns).ok().filter(|&c| c < 1 << 31).ok_or_else(|| primitives::too_large(columns as u64))
}

/// Lanes for the columns of a row, `neighbours` to each at a time, and tiles of columns where the lanes do not have all of them.
fn group(width: usize, neighbours: u32) -> Result<(u32, u32)> {
    let width = counted(width)?;
    let group = width.div_ceil(neighbours).clamp(1, 32).next_power_of_two();
    Ok((group, width.div_ceil(group * LANE_COLUMNS).max(1)))
}

/// Groups that share a row of so many entries: each has eight or more.
fn split(group: u32, entries: usize) -> u32 {
    let mut split = 1;
    while group * split * 2 <= 32 && entries >= 8 * 2 * split as usize {
        split *= 2;
    }
    split
}

impl RowWork {
    /// All rows of a pattern but the long ones, of a result whose columns fall into `blocks` equal blocks; `neighbours` columns are read at
    /// once.
    pub fn rows(seen: &Seen<'_>, columns: usize, blocks: usize, neighbours: u32) -> Result<Self> {
        let csr = seen.csr;
        let (group, tiles) = group(columns / blocks.max(1), neighbours)?;
        Ok(Self {
            offsets: csr.offsets.address(),
            indices: csr.indices.ptr(),
            positions: seen.positions.map_or(DevicePtr::NULL, Buffer::ptr),
            pieces: DevicePtr::NULL,
            units: csr.rows as u64,
            columns: counted(columns)?,
            wide: wide(&csr.offsets),
            limit: if seen.long.is_empty() { u32::MAX } else { seen.limit },
            group,
            split: split(group, csr.nnz / csr.rows.max(1)),
            blocks: counted(blocks.max(1))?,
            tiles,
            reserved: 0,
        })
    }
    /// The pieces of the long rows, a warp to each.
    pub fn pieces(self, seen: &Seen<'_>) -> Self {
        Self { pieces: seen.long.pieces().ptr(), units: seen.long.len() as u64, split: 32 / self.group, ..self }
    }
    /// All rows, one lane for a column, the entries in their order.
    pub fn in_order(self) -> Self {
        Self { limit: u32::MAX, split: 1, ..self }
    }
    /// The launch.
    ///
    /// # Errors
    /// More warps than a grid can have.
    pub fn shape(&self, device: &Device) -> Result<Shape> {
        let groups = self.units.div_ceil(u64::from(32 / (self.group * self.split)));
        let warps = groups.checked_mul(u64::from(self.blocks) * u64::from(self.tiles));
        instance::warps(device, warps.ok_or_else(|| primitives::too_large(self.units))?)
    }
}

parameters! {
    /// A dense matrix's rows.
    pub(super) struct DenseWork = "tensor/dense.cuh" "bg::DenseWork" {
        pub rows: u64,
        pub columns: u32,
        pub group: u32,
        pub tiles: u32,
        pub reserved: u32,
    }
}

impl DenseWork {
    /// All rows; `neighbours` columns are read at once.
    pub fn new((rows, columns): (usize, usize), neighbours: u32) -> Result<Self> {
        let (group, tiles) = group(columns, neighbours)?;
        Ok(Self { rows: rows as u64, columns: counted(columns)?, group, tiles, reserved: 0 })
    }
    /// Whether matrices of this shape are of `f32` and lie without gaps.
    pub fn is_flat<'a>(&self, operands: impl IntoIterator<Item = &'a View>, outputs: &[Target]) -> bool {
        let whole = |dtype: u32, stride: u64| dtype == DType::F32 as u32 && (stride == u64::from(self.columns) || self.rows == 1);
        operands.into_iter().all(|x| whole(x.dtype, x.stride)) && outputs.iter().all(|x| whole(x.dtype, x.stride))
    }
    /// The launch.
    ///
    /// # Errors
    /// More warps than a grid can have.
    pub fn shape(&self, device: &Device) -> Result<Shape> {
        let warps = self.rows.div_ceil(u64::from(32 / self.group)).checked_mul(u64::from(self.tiles));
        instance::warps(device, warps.ok_or_else(|| primitives::too_large(self.rows))?)
    }
}

/// Memory for the results of the pieces of long rows: a cell of so many bytes for each piece and column.
///
/// # Errors
/// Out of memory.
pub(super) fn cells(device: &Device, seen: &Seen<'_>, columns: usize, bytes: usize) -> Result<Buffer<u8>> {
    let wanted = seen.long.len().checked_mul(columns).and_then(|n| n.checked_mul(bytes)).ok_or_else(|| {
        let (wanted, what) = (u64::MAX, "the pieces of long rows");
        Error::OutOfMemory { wanted, free: 0, total: device.properties().memory, what }
    })?;
    device.alloc_for(wanted, "the pieces of long rows")
}

/// The launch that merges pieces whose cells are of so many bytes.
pub(super) fn merging(device: &Device, pieces: &LongRowsParams, bytes: u32) -> Result<Shape> {
    let block = instance::threads(device);
    let grid = u64::from(pieces.count) * u64::from(pieces.tiles);
    Ok(Shape { grid: primitives::blocks(grid, 1)?, block, shared: block * bytes, ..Shape::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_cover_the_columns() {
        for width in 1..700 {
            for neighbours in [1, 2, 4, 8] {
                let (group, tiles) = group(width, neighbours).unwrap();
                assert!(group.is_power_of_two() && group <= 32);
                assert!((group * LANE_COLUMNS * tiles) as usize >= width && (group * LANE_COLUMNS * (tiles - 1)) < width as u32);
            }
        }
        assert_eq!((group(64, 8).unwrap(), group(33, 1).unwrap(), group(1, 1).unwrap()), ((8, 1), (32, 1), (1, 1)));
    }

    #[test]
    fn long_rows_are_shared_by_more_groups() {
        assert_eq!((split(8, 3), split(8, 20), split(8, 1000), split(32, 1000), split(1, 1 << 20)), (1, 2, 4, 1, 32));
    }
}
