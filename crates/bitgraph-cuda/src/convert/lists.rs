//! Any format back to lists.
//!
//! Two passes over the tiles, a warp for each row: count, then write. Memory beside the result: 4 bytes a row.

use super::tiles::{offsets_of, shift_of};
use crate::Result;
use crate::device::{Device, DevicePtr, Mode, Shape, parameters};
use crate::layout::{DeviceB2sr, DeviceCsr, Layout};
use crate::primitives::{RowOffsets, THREADS, threads};

parameters! {
    struct UntileParams = "formats/untile.cu" "bg::UntileParams" {
        places: RowOffsets,
        columns: DevicePtr<u32>,
        words: DevicePtr<u8>,
        list_offsets: RowOffsets,
        list: DevicePtr<u32>,
        offsets: RowOffsets,
        counts: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        rows: u32,
        unused: u32,
    }
}

/// The lists of any format; those of lists are shared.
pub(super) fn build(device: &Device, layout: &Layout) -> Result<DeviceCsr> {
    match layout {
        Layout::Csr(csr) => Ok(csr.clone()),
        Layout::B2sr(tiles) => untile(device, tiles, None),
        Layout::Hybrid(hybrid) => untile(device, &hybrid.tiles, Some(&hybrid.list)),
    }
}

fn untile(device: &Device, tiles: &DeviceB2sr, list: Option<&DeviceCsr>) -> Result<DeviceCsr> {
    let (rows, columns) = (tiles.rows, tiles.columns);
    let nnz = tiles.nnz + list.map_or(0, |l| l.nnz);
    let counts = device.alloc::<u32>(rows)?;
    let mut parameters = UntileParams {
        places: RowOffsets::new(&tiles.tile_offsets, rows.div_ceil(tiles.tile())),
        columns: tiles.tile_columns.ptr(),
        words: tiles.tile_words.ptr(),
        list_offsets: list.map_or(RowOffsets::NONE, RowOffsets::of),
        list: list.map_or(DevicePtr::NULL, |l| l.indices.ptr()),
        offsets: RowOffsets::NONE,
        counts: counts.ptr(),
        indices: DevicePtr::NULL,
        rows: rows as u32,
        unused: 0,
    };
    let name = format!("untile_{}", 1 << shift_of(tiles.kind));
    let block = threads(device, THREADS);
    let grid = (rows as u64).div_ceil(u64::from(block / 32)).min(u64::from(device.properties().sms) * 64) as u32;
    let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
    let kernel = device.kernel("formats/untile", &name)?;
    // SAFETY: the arrays are the matrix's own, and those made above for its counts.
    unsafe { device.launch(&kernel, shape, &parameters) }?;
    let (offsets, _) = offsets_of(device, &counts, nnz)?;
    let indices = device.alloc_for::<u32>(nnz, "lists")?;
    if nnz > 0 {
        parameters.counts = DevicePtr::NULL;
        parameters.offsets = RowOffsets::new(&offsets, rows);
        parameters.indices = indices.ptr();
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe { device.launch(&kernel, shape, &parameters) }?;
    }
    Ok(DeviceCsr { rows, columns, nnz, offsets, indices })
}
