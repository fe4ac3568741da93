//! Lists to one of the tile formats.
//!
//! Tiles of 4 and 8: one pass over the entries collects the tiles where the entries of their tile row start, a scan of the counts gives
//! their places, and a copy closes the gaps. Larger tiles, and where memory is short: one pass to count, one to fill. Tile rows of many
//! tiles are set aside for blocks of their own in both.
//!
//! Memory beside the result: 8 bytes a tile row; for tiles of 4 and 8 also 6 or 12 bytes an entry, where there is room.

use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::layout::{DeviceB2sr, DeviceCsr, Offsets};
use crate::primitives::{RowOffsets, THREADS, blocks, entry_rows_shared, exclusive_scan, exclusive_scan_wide, threads};
use bitgraph_sparse::FormatKind;

pub(super) const MODULE: &str = "formats/tiles";

/// Limits of the conversion; what suits the device if not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileOptions {
    /// Tiles of a tile row, as foreseen, above which a block takes it.
    pub limit: Option<u32>,
    /// Tile columns that a block's bitmap covers at once; rounded up to 64.
    pub window: Option<u32>,
    /// Whether to count first and fill then, whatever the tile.
    pub two_passes: bool,
}

parameters! {
    pub(super) struct TileParams = "formats/tiles.cuh" "bg::TileParams" {
        pub bands: RowOffsets,
        pub offsets: RowOffsets,
        pub indices: DevicePtr<u32>,
        pub sample: DevicePtr<u32>,
        pub places: RowOffsets,
        pub columns: DevicePtr<u32>,
        pub words: DevicePtr<u8>,
        pub counts: DevicePtr<u32>,
        pub total: DevicePtr<u64>,
        pub heavy: DevicePtr<u32>,
        pub ticket: DevicePtr<u32>,
        pub stored: DevicePtr<u32>,
        pub listed: DevicePtr<u32>,
        pub tile_rows: u32,
        pub tile_columns: u32,
        pub limit: u32,
        pub window: u32,
        pub first_pass: u32,
        pub min_entries: u32,
        pub min_share: f64,
    }

    struct GatherTilesParams = "formats/tiles.cu" "bg::GatherTilesParams" {
        bands: RowOffsets,
        places: RowOffsets,
        columns: DevicePtr<u32>,
        words: DevicePtr<u8>,
        new_columns: DevicePtr<u32>,
        new_words: DevicePtr<u8>,
        tiles: u64,
    }
}

/// The walk over tile rows: which kernels, how they share out the work.
pub(super) struct Walk {
    pub(super) parameters: TileParams,
    shift: u32,
    suffix: &'static str,
    noted: Buffer<u32>,
    capacity: usize,
    passes: usize,
}

/// Bytes of `HeavyShared` in the kernels.
const HEAVY_SHARED: u32 = 840;
const HEAVY_THREADS: u32 = 512;

/// The logarithm of a tile's side.
pub(super) fn shift_of(kind: FormatKind) -> u32 {
    kind.tile().unwrap_or(8).trailing_zeros()
}

impl Walk {
    /// Over all tile rows, or those of the sampled bands of 32 rows. At most two passes.
    pub(super) fn new(
        device: &Device,
        csr: &DeviceCsr,
        kind: FormatKind,
        sample: Option<&Buffer<u32>>,
        options: &TileOptions,
    ) -> Result<Self> {
        let shift = shift_of(kind);
        let offsets = RowOffsets::of(csr);
        let all = csr.rows.div_ceil(1 << shift);
        let tile_rows = sample.map_or(all, |s| s.len() * (32 >> shift));
        let tile_columns = csr.columns.div_ceil(1 << shift);
        // A lane takes a step for each tile; small graphs do not fill the device and are better off with more blocks.
        let usual = if csr.nnz < 1 << 20 { 64 } else { [384, 384, 256, 128][shift as usize - 2] };
        let limit = options.limit.unwrap_or(usual);
        let window = options.window.unwrap_or(1 << 18).min(tile_columns as u32).max(1).next_multiple_of(64);
        let capacity = tile_rows.min(csr.nnz / (limit as usize + 1));
        let noted = device.alloc::<u32>(capacity + 4)?;
        noted.prefix(4).fill_bytes(0)?;
        let parameters = TileParams {
            bands: offsets.bands(shift),
            offsets,
            indices: csr.indices.ptr(),
            sample: sample.map_or(DevicePtr::NULL, Buffer::ptr),
            places: RowOffsets::NONE,
            columns: DevicePtr::NULL,
            words: DevicePtr::NULL,
            counts: DevicePtr::NULL,
            total: DevicePtr::NULL,
            heavy: noted.ptr(),
            ticket: noted.ptr().offset(1),
            stored: DevicePtr::NULL,
            listed: DevicePtr::NULL,
            tile_rows: tile_rows as u32,
            tile_columns: tile_columns as u32,
            limit,
            window,
            first_pass: 1,
            min_entries: 0,
            min_share: 0.0,
        };
        let suffix = match kind {
            FormatKind::B2sr4 => "4",
            FormatKind::B2sr16 => "16",
            FormatKind::B2sr32 => "32",
            FormatKind::Hybrid => "hybrid",
            _ => "8",
        };
        Ok(Self { parameters, shift, suffix, noted, capacity, passes: 0 })
    }
    /// One pass with the parameters as they are.
    pub(super) fn pass(&mut self, device: &Device) -> Result<()> {
        let p = &mut self.parameters;
        if p.tile_rows == 0 {
            return Ok(());
        }
        p.first_pass = u32::from(self.passes == 0);
        p.ticket = self.noted.ptr().offset(1 + self.passes);
        self.passes += 1;
        let block = threads(device, THREADS);
        let grid = blocks(u64::from(p.tile_rows) << self.shift, u64::from(block))?;
        let kernel = device.kernel(MODULE, &format!("tiles_light_{}", self.suffix))?;
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe { device.launch(&kernel, Shape { grid, block, shared: 0, mode: Mode::Plain }, p) }?;
        if self.capacity == 0 {
            return Ok(());
        }
        let kernel = device.kernel(MODULE, &format!("tiles_heavy_{}", self.suffix))?;
        let block = threads(device, HEAVY_THREADS);
        let shared = HEAVY_SHARED + p.window / 64 * 12;
        let resident = device.resident(&kernel, block, shared)?.max(1) * device.properties().sms;
        let grid = resident.min(self.capacity as u32);
        // SAFETY: the arrays are the matrix's own, and those made above for its counts.
        unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, p) }
    }
}

/// Sums of counts as offsets: 32 bits wide if their total, which is given back, fits. At most `most` are counted in all.
pub(super) fn offsets_of(device: &Device, counts: &Buffer<u32>, most: usize) -> Result<(Offsets, usize)> {
    if u32::try_from(most).is_ok() {
        let offsets = exclusive_scan(device, counts)?;
        let total = offsets.get(counts.len())? as usize;
        return Ok((Offsets::U32(offsets), total));
    }
    let wide = exclusive_scan_wide(device, counts)?;
    let total = wide.get(counts.len())? as usize;
    Ok((if u32::try_from(total).is_ok() { Offsets::U32(exclusive_scan(device, counts)?) } else { Offsets::U64(wide) }, total))
}

/// An array of `tiles` tiles' words. Kernels write tiles of 4 in pairs.
pub(super) fn words(device: &Device, tiles: usize, shift: u32) -> Result<Buffer<u8>> {
    let bytes = tiles << (2 * shift) >> 3;
    Ok(device.alloc_for::<u8>(bytes.next_multiple_of(4), "tiles")?.prefix(bytes))
}

/// Whether collecting first leaves room for the result, which is no larger.
pub(super) fn has_room(device: &Device, csr: &DeviceCsr, shift: u32) -> Result<bool> {
    let bytes = csr.nnz as u64 * (4 + (1 << (2 * shift) >> 3)) * 2;
    Ok(bytes + (64 << 20) < device.memory()?.free)
}

/// Lists to tiles.
pub(super) fn build(device: &Device, csr: &DeviceCsr, kind: FormatKind, options: &TileOptions) -> Result<DeviceB2sr> {
    let shift = shift_of(kind);
    let mut walk = Walk::new(device, csr, kind, None, options)?;
    let tile_rows = walk.parameters.tile_rows as usize;
    let counts = device.alloc::<u32>(tile_rows)?;
    walk.parameters.counts = counts.ptr();
    let collect = shift <= 3 && !options.two_passes && has_room(device, csr, shift)?;
    let collected = if collect { (device.alloc_for::<u32>(csr.nnz, "tiles")?, words(device, csr.nnz, shift)?) } else { Default::default() };
    walk.parameters.columns = collected.0.ptr();
    walk.parameters.words = collected.1.ptr();
    walk.pass(device)?;
    let (offsets, tiles) = offsets_of(device, &counts, csr.nnz)?;
    let (tile_columns, tile_words) = (device.alloc_for::<u32>(tiles, "tiles")?, words(device, tiles, shift)?);
    let places = RowOffsets::new(&offsets, tile_rows);
    if collect {
        let parameters = GatherTilesParams {
            bands: walk.parameters.bands,
            places,
            columns: collected.0.ptr(),
            words: collected.1.ptr(),
            new_columns: tile_columns.ptr(),
            new_words: tile_words.ptr(),
            tiles: tiles as u64,
        };
        gather(device, shift, tiles, &parameters)?;
    } else if tiles > 0 {
        let p = &mut walk.parameters;
        (p.places, p.columns, p.words, p.counts) = (places, tile_columns.ptr(), tile_words.ptr(), DevicePtr::NULL);
        walk.pass(device)?;
    }
    Ok(DeviceB2sr { kind, rows: csr.rows, columns: csr.columns, nnz: csr.nnz, tile_offsets: offsets, tile_columns, tile_words })
}

fn gather(device: &Device, shift: u32, tiles: usize, parameters: &GatherTilesParams) -> Result<()> {
    const ITEMS: u32 = 8;
    if tiles == 0 {
        return Ok(());
    }
    let block = threads(device, THREADS);
    let grid = blocks(tiles as u64, u64::from(block * ITEMS))?;
    let kernel = device.kernel(MODULE, if shift == 2 { "tiles_gather_4" } else { "tiles_gather_8" })?;
    // SAFETY: the arrays are the matrix's own, and those made above for its counts.
    unsafe { device.launch(&kernel, Shape { grid, block, shared: entry_rows_shared(block, ITEMS), mode: Mode::Plain }, parameters) }
}
