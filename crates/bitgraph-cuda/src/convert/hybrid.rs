//! Lists to the hybrid of tiles and lists.
//!
//! One pass collects all 8x8 tiles and decides band by band; then the stored tiles and the listed entries are cut out, a stream
//! compaction each. Memory beside the result: 12 bytes an entry, 4 bytes a row and 12 a band.

use super::tiles::{TileOptions, Walk, offsets_of, words};
use crate::Result;
use crate::device::{Device, DevicePtr, Mode, Parameters, Shape, parameters};
use crate::layout::{DeviceB2sr, DeviceCsr, DeviceHybrid};
use crate::primitives::{RowOffsets, THREADS, blocks, entry_rows_shared, reduce, threads};
use bitgraph_b2sr::HybridConfig;
use bitgraph_kernels::constant;
use bitgraph_sparse::FormatKind;

const MODULE: &str = "formats/hybrid";
/// Elements of a thread.
const ITEMS: u32 = constant("tuning/formats.cuh", "CUT_ITEMS") as u32;

parameters! {
    struct TilesParams = "formats/hybrid.cu" "bg::HybridTilesParams" {
        bands: RowOffsets,
        collected: RowOffsets,
        stored: DevicePtr<u32>,
        columns: DevicePtr<u32>,
        words: DevicePtr<u8>,
        new_columns: DevicePtr<u32>,
        new_words: DevicePtr<u8>,
        state: DevicePtr<u64>,
        tiles: u64,
        min_entries: u32,
        unused: u32,
    }
    struct ListParams = "formats/hybrid.cu" "bg::HybridListParams" {
        offsets: RowOffsets,
        places: RowOffsets,
        columns: DevicePtr<u32>,
        listed: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        new_indices: DevicePtr<u32>,
        state: DevicePtr<u64>,
        nnz: u64,
    }
}

/// A stream compaction over `n` elements.
///
/// # Safety
/// As of [`Device::launch`].
unsafe fn cut<P: Parameters>(device: &Device, kernel: &str, n: usize, parameters: impl FnOnce(DevicePtr<u64>) -> P) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let block = threads(device, THREADS);
    let grid = blocks(n as u64, u64::from(block * ITEMS))?;
    let state = device.zeroed::<u64>(grid as usize + 1)?;
    let kernel = device.kernel(MODULE, kernel)?;
    let shared = 40 * 8 + entry_rows_shared(block, ITEMS);
    // SAFETY: the caller's promises; there is a state for every block.
    unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &parameters(state.ptr())) }
}

/// A walk that collects the tiles and decides.
struct Decided {
    walk: Walk,
    counts: crate::device::Buffer<u32>,
    stored: crate::device::Buffer<u32>,
    listed: crate::device::Buffer<u32>,
    columns: crate::device::Buffer<u32>,
    words: crate::device::Buffer<u8>,
}

fn decide(device: &Device, csr: &DeviceCsr, config: &HybridConfig, options: &TileOptions) -> Result<Decided> {
    let mut walk = Walk::new(device, csr, FormatKind::Hybrid, None, options)?;
    let bands = walk.parameters.tile_rows as usize;
    let (counts, stored, listed) = (device.alloc::<u32>(bands)?, device.alloc::<u32>(bands)?, device.alloc::<u32>(csr.rows)?);
    let (columns, words) = (device.alloc_for::<u32>(csr.nnz, "tiles")?, words(device, csr.nnz, 3)?);
    let p = &mut walk.parameters;
    (p.counts, p.stored, p.listed) = (counts.ptr(), stored.ptr(), listed.ptr());
    (p.columns, p.words) = (columns.ptr(), words.ptr());
    // An empty tile is never stored, whatever is asked for.
    (p.min_entries, p.min_share) = (config.min_entries.max(1), config.min_share);
    walk.pass(device)?;
    Ok(Decided { walk, counts, stored, listed, columns, words })
}

/// Tiles and listed entries that the hybrid would store.
pub(super) fn counts(device: &Device, csr: &DeviceCsr, config: &HybridConfig, options: &TileOptions) -> Result<(u64, u64)> {
    if csr.nnz == 0 {
        return Ok((0, 0));
    }
    let found = decide(device, csr, config, options)?;
    Ok((reduce(device, &found.stored)?.sum, reduce(device, &found.listed)?.sum))
}

/// Lists to the hybrid.
pub(super) fn build(device: &Device, csr: &DeviceCsr, config: &HybridConfig, options: &TileOptions) -> Result<DeviceHybrid> {
    let found = decide(device, csr, config, options)?;
    let bands = found.counts.len();
    let (places, tiles) = offsets_of(device, &found.stored, csr.nnz)?;
    let (list_offsets, listed) = offsets_of(device, &found.listed, csr.nnz)?;
    let (tile_columns, tile_words) = (device.alloc_for::<u32>(tiles, "tiles")?, words(device, tiles, 3)?);
    if tiles > 0 {
        let (collected, all) = offsets_of(device, &found.counts, csr.nnz)?;
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe {
            cut(device, "hybrid_tiles", all, |state| TilesParams {
                bands: found.walk.parameters.bands,
                collected: RowOffsets::new(&collected, bands),
                stored: found.stored.ptr(),
                columns: found.columns.ptr(),
                words: found.words.ptr(),
                new_columns: tile_columns.ptr(),
                new_words: tile_words.ptr(),
                state,
                tiles: all as u64,
                min_entries: found.walk.parameters.min_entries,
                unused: 0,
            })
        }?;
    }
    let indices = if listed == csr.nnz {
        csr.indices.duplicate()?
    } else {
        let indices = device.alloc_for::<u32>(listed, "the list")?;
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe {
            cut(device, "hybrid_list", if listed > 0 { csr.nnz } else { 0 }, |state| ListParams {
                offsets: RowOffsets::of(csr),
                places: RowOffsets::new(&places, bands),
                columns: tile_columns.ptr(),
                listed: found.listed.ptr(),
                indices: csr.indices.ptr(),
                new_indices: indices.ptr(),
                state,
                nnz: csr.nnz as u64,
            })
        }?;
        indices
    };
    let (rows, columns) = (csr.rows, csr.columns);
    Ok(DeviceHybrid {
        tiles: DeviceB2sr { kind: FormatKind::B2sr8, rows, columns, nnz: csr.nnz - listed, tile_offsets: places, tile_columns, tile_words },
        list: DeviceCsr { rows, columns, nnz: listed, offsets: list_offsets, indices },
    })
}
