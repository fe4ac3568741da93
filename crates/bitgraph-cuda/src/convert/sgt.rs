//! Lists to windows of rows with condensed columns (Sparse Graph Translation), and those to the blocks of a tensor core.
//!
//! One pass over the windows collects their distinct columns where their entries start, and numbers the entries: windows of few
//! entries sort them in shared memory, those of many mark a bitmap of columns. A scan of the counts gives the columns' places, and a copy
//! closes the gaps.
//!
//! Memory beside the result: 4 bytes an entry and 4 a window; 8 a window more where rows have an order.

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::layout::{DeviceCsr, Offsets};
use crate::primitives::{RowOffsets, THREADS, blocks, elementwise, entry_rows_shared, threads, too_large};
use crate::resident::{DeviceFormat, Elements};
use crate::{Error, Result};
use bitgraph_kernels::constant;
use bitgraph_sgt::{BlockShape, MOST_ROWS, MaskOrder, RowOrder, Sgt, SgtConfig, greedy};
use bitgraph_sparse::{Control, Format};

use super::tiles::offsets_of;

const MODULE: &str = "formats/sgt";
/// Columns of a thread where gaps are closed.
const ITEMS: u32 = constant("tuning/formats.cuh", "TILE_ITEMS") as u32;
/// Threads of a block that marks a bitmap, and of one that lays out the blocks of a window.
const HEAVY_THREADS: u32 = 1024;
const FILL_THREADS: u32 = 128;
/// Entries of a window that are sorted at most, and columns of a bitmap at most.
const MOST_SORTED: u32 = 4096;
const MOST_MARKED: u32 = 1 << 18;
/// Bytes of `WindowRows` in the kernels.
const ROWS_SHARED: u32 = 16 * MOST_ROWS + 4 * (MOST_ROWS + 4 + 36 + 2);

/// How windows are worked on; what suits the device if not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgtOptions {
    /// Entries of a window that are sorted in shared memory, rounded up to a power of two, at most 4096; windows of more mark a bitmap.
    pub capacity: Option<u32>,
    /// Columns that a block's bitmap covers at once, rounded up to a multiple of 64, at most 2^18.
    pub bitmap: Option<u32>,
}

parameters! {
    struct SgtParams = "formats/sgt.cu" "bg::SgtParams" {
        offsets: RowOffsets,
        bases: RowOffsets,
        indices: DevicePtr<u32>,
        order: DevicePtr<u32>,
        sizes: DevicePtr<u32>,
        collected: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        edge_to_col: DevicePtr<u32>,
        heavy: DevicePtr<u32>,
        rows: u32,
        columns: u32,
        height: u32,
        windows: u32,
        capacity: u32,
        bitmap: u32,
        still_sorted: u32,
        unused: u32,
    }

    struct SgtGatherParams = "formats/sgt.cu" "bg::SgtGatherParams" {
        offsets: RowOffsets,
        bases: RowOffsets,
        places: RowOffsets,
        collected: DevicePtr<u32>,
        columns: DevicePtr<u32>,
        n: u64,
        ordered: u32,
        height: u32,
    }

    struct SgtBlocksParams = "formats/sgt.cu" "bg::SgtBlocksParams" {
        offsets: RowOffsets,
        places: RowOffsets,
        blocks: RowOffsets,
        order: DevicePtr<u32>,
        columns: DevicePtr<u32>,
        edge_to_col: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        block_columns: DevicePtr<u32>,
        masks: DevicePtr<u32>,
        rows: u32,
        height: u32,
        width: u32,
        windows: u32,
        by_columns: u32,
        unused: u32,
    }
}

/// A pattern in windows with condensed columns on the device: the arrays of [`Sgt`].
#[derive(Clone, Debug)]
pub struct DeviceSgt {
    /// Rows.
    pub rows: usize,
    /// Columns of the pattern.
    pub ncols: usize,
    /// Entries.
    pub nnz: usize,
    /// Rows of a window.
    pub height: usize,
    /// Where the entries of each row start; the pattern's own, shared.
    pub offsets: Offsets,
    /// The row at each place; `None` if every row is at its own.
    pub order: Option<Buffer<u32>>,
    /// Where the distinct columns of each window are.
    pub column_offsets: Offsets,
    /// The distinct columns of all windows: TC-GNN's `colToRow`.
    pub columns: Buffer<u32>,
    /// The condensed column of each entry: TC-GNN's `edgeToCol`.
    pub edge_to_col: Buffer<u32>,
}

/// Blocks of one shape on the device: the arrays of [`bitgraph_sgt::Blocks`].
#[derive(Clone, Debug)]
pub struct DeviceBlocks {
    /// The shape of a block.
    pub shape: BlockShape,
    /// The order of the bits of a block.
    pub mask_order: MaskOrder,
    /// The number of blocks.
    pub count: usize,
    /// Where the blocks of each window are.
    pub offsets: Offsets,
    /// The column ids, block after block.
    pub columns: Buffer<u32>,
    /// The masks, block after block.
    pub masks: Buffer<u32>,
}

/// Translates a pattern on the device, with the result of [`Sgt::from_csr`]. O(nnz log(entries of a window)); windows of many entries
/// O(entries + columns / 64). A greedy order is found on the host, which the lists are copied to for it.
///
/// # Errors
/// [`Error::Translation`] for a height or order that does not fit, cancellation, or out of memory. Patterns of 2^32 entries and more
/// have no order.
pub fn sgt(device: &Device, csr: &DeviceCsr, config: &SgtConfig, options: &SgtOptions, control: &Control) -> Result<DeviceSgt> {
    let height = config.height;
    if !(1..=MOST_ROWS).contains(&height) {
        return Err(Error::Translation(bitgraph_sgt::Error::Height { height }));
    }
    let order = match &config.order {
        RowOrder::Natural => None,
        RowOrder::Given(order) => Some(order.clone()),
        RowOrder::Greedy(how) => greedy(&csr.to_host()?, height, how, control).map_err(Error::Translation)?,
    };
    if let Some(order) = order.as_ref().filter(|order| order.len() != csr.rows) {
        return Err(Error::Translation(bitgraph_sgt::Error::Order { expected: csr.rows as u64, found: order.len() as u64 }));
    }
    if order.is_some() && u32::try_from(csr.nnz).is_err() {
        return Err(too_large(csr.nnz as u64));
    }
    let order = order.map(|order| device.upload(order.old_of_new())).transpose()?;
    translate(device, csr, height, order, options)
}

const SORTED: u32 = constant("tuning/formats.cuh", "SGT_SORTED") as u32;
const SORTED_MEANS: usize = constant("tuning/formats.cuh", "SGT_SORTED_MEANS") as usize;
const MANY_PARTS: u32 = constant("tuning/formats.cuh", "SGT_MANY_PARTS") as u32;
const SHORT_THREADS: u32 = constant("tuning/formats.cuh", "SGT_THREADS") as u32;
const LONG_THREADS: u32 = constant("tuning/formats.cuh", "SGT_LONG_THREADS") as u32;

/// Entries of a window to be sorted at most, from their mean and the parts that a bitmap takes. Marking costs every window a walk over all
/// parts.
fn sorted(mean: usize, parts: u32) -> u32 {
    let useful = u32::try_from(mean.saturating_mul(SORTED_MEANS)).unwrap_or(MOST_SORTED);
    SORTED.saturating_mul(parts).min(useful).clamp(SORTED, MOST_SORTED)
}

fn translate(device: &Device, csr: &DeviceCsr, height: u32, order: Option<Buffer<u32>>, options: &SgtOptions) -> Result<DeviceSgt> {
    let windows = csr.rows.div_ceil(height as usize);
    let bitmap = options.bitmap.unwrap_or(MOST_MARKED).min(MOST_MARKED).min(csr.columns as u32).max(1).next_multiple_of(64);
    let parts = (csr.columns as u32).div_ceil(bitmap);
    let mean = csr.nnz / windows.max(1);
    let capacity = options.capacity.unwrap_or_else(|| sorted(mean, parts)).clamp(2, MOST_SORTED).next_power_of_two();
    // Two words an entry in the room of the bitmap's 12 bytes for 64 columns.
    let room = (bitmap / 64 * 12 / 8).min(MOST_SORTED);
    let still_sorted = if parts < MANY_PARTS || room < 2 { 0 } else { 1 << room.ilog2() };
    let heavy_most = windows.min(csr.nnz / (capacity as usize + 1));
    let heavy = device.alloc::<u32>(heavy_most + 4)?;
    heavy.prefix(4).fill_bytes(0)?;
    let counts = device.alloc::<u32>(windows)?;
    let collected = device.alloc_for::<u32>(csr.nnz, "distinct columns")?;
    let edge_to_col = device.alloc_for::<u32>(csr.nnz, "condensed columns")?;
    let mut parameters = SgtParams {
        offsets: RowOffsets::of(csr),
        bases: RowOffsets::NONE,
        indices: csr.indices.ptr(),
        order: order.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
        sizes: counts.ptr(),
        collected: collected.ptr(),
        counts: counts.ptr(),
        edge_to_col: edge_to_col.ptr(),
        heavy: heavy.ptr(),
        rows: csr.rows as u32,
        columns: csr.columns as u32,
        height,
        windows: windows as u32,
        capacity,
        bitmap,
        still_sorted,
        unused: 0,
    };
    let bases = match &order {
        Some(_) if windows > 0 => {
            launch(device, "sgt_sizes", blocks(32 * windows as u64, u64::from(threads(device, THREADS)))?, THREADS, 0, &parameters)?;
            Some(offsets_of(device, &counts, csr.nnz)?.0)
        }
        _ => None,
    };
    if let Some(bases) = &bases {
        parameters.bases = RowOffsets::new(bases, windows);
    }
    if windows > 0 {
        let grid = blocks(windows as u64, 1)?;
        let block = match capacity {
            ..=SORTED if mean <= SHORT_THREADS as usize / 2 => SHORT_THREADS / 2,
            ..=SORTED => SHORT_THREADS,
            _ => LONG_THREADS,
        };
        launch(device, "sgt_light", grid, block, ROWS_SHARED + 8 * capacity, &parameters)?;
    }
    if heavy_most > 0 {
        let (block, shared) = (threads(device, HEAVY_THREADS), ROWS_SHARED + bitmap / 64 * 12);
        let kernel = device.kernel::<SgtParams>(MODULE, "sgt_heavy")?;
        let resident = device.resident(&kernel, block, shared)?.max(1) * device.properties().sms;
        launch(device, "sgt_heavy", resident.min(heavy_most as u32), block, shared, &parameters)?;
    }
    let (column_offsets, distinct) = offsets_of(device, &counts, csr.nnz)?;
    let columns = device.alloc_for::<u32>(distinct, "distinct columns")?;
    if distinct > 0 {
        let parameters = SgtGatherParams {
            offsets: parameters.offsets,
            bases: parameters.bases,
            places: RowOffsets::new(&column_offsets, windows),
            collected: collected.ptr(),
            columns: columns.ptr(),
            n: distinct as u64,
            ordered: u32::from(order.is_some()),
            height,
        };
        let block = threads(device, THREADS);
        let grid = blocks(distinct as u64, u64::from(block * ITEMS))?;
        launch(device, "sgt_gather", grid, block, entry_rows_shared(block, ITEMS), &parameters)?;
    }
    let (rows, ncols, nnz, height) = (csr.rows, csr.columns, csr.nnz, height as usize);
    Ok(DeviceSgt { rows, ncols, nnz, height, offsets: csr.offsets.clone(), order, column_offsets, columns, edge_to_col })
}

fn launch<P: crate::device::Parameters>(device: &Device, name: &str, grid: u32, block: u32, shared: u32, parameters: &P) -> Result<()> {
    let kernel = device.kernel(MODULE, name)?;
    let shape = Shape { grid, block: threads(device, block), shared, mode: Mode::Plain };
    // SAFETY: the arrays are the pattern's own, and those made here for its entries, windows and blocks.
    unsafe { device.launch(&kernel, shape, parameters) }
}

impl DeviceSgt {
    /// The number of windows.
    #[must_use]
    pub fn windows(&self) -> usize {
        self.rows.div_ceil(self.height)
    }
    /// The number of blocks of each window, for blocks of so many columns: TC-GNN's `winPartition`. O(windows).
    ///
    /// # Errors
    /// [`Error::Translation`] for a width of 0, or out of memory.
    pub fn win_partition(&self, device: &Device, width: u32) -> Result<Buffer<u32>> {
        if width == 0 {
            return Err(Error::Translation(bitgraph_sgt::Error::Block { height: self.height as u32, width }));
        }
        let counts = device.alloc::<u32>(self.windows())?;
        let parameters = SgtBlocksParams { counts: counts.ptr(), ..self.parameters(width) };
        // SAFETY: the arrays are the translation's own, and that made above for its windows.
        unsafe { elementwise(device, MODULE, "sgt_count_blocks", self.windows() as u64, &parameters) }?;
        Ok(counts)
    }
    /// The blocks of a shape, whose height is the windows', with the arrays of [`Sgt::blocks`]. O(blocks + nnz).
    ///
    /// # Errors
    /// [`Error::Translation`] for a shape that does not fit, or out of memory.
    pub fn blocks(&self, device: &Device, shape: BlockShape, mask_order: MaskOrder) -> Result<DeviceBlocks> {
        if shape.height() != self.height {
            let error = bitgraph_sgt::Error::BlockHeight { expected: self.height as u32, found: shape.height() as u32 };
            return Err(Error::Translation(error));
        }
        let counts = self.win_partition(device, shape.width() as u32)?;
        let (offsets, count) = offsets_of(device, &counts, self.columns.len())?;
        let columns = device.alloc_for::<u32>(count.saturating_mul(shape.width()), "columns of blocks")?;
        let masks = device.alloc_for::<u32>(count.saturating_mul(shape.words()), "masks of blocks")?;
        masks.fill_bytes(0)?;
        if count > 0 {
            let parameters = SgtBlocksParams {
                blocks: RowOffsets::new(&offsets, self.windows()),
                block_columns: columns.ptr(),
                masks: masks.ptr(),
                by_columns: u32::from(mask_order == MaskOrder::Columns),
                ..self.parameters(shape.width() as u32)
            };
            launch(device, "sgt_fill", blocks(self.windows() as u64, 1)?, FILL_THREADS, 0, &parameters)?;
        }
        Ok(DeviceBlocks { shape, mask_order, count, offsets, columns, masks })
    }
    fn parameters(&self, width: u32) -> SgtBlocksParams {
        SgtBlocksParams {
            offsets: RowOffsets::new(&self.offsets, self.rows),
            places: RowOffsets::new(&self.column_offsets, self.windows()),
            blocks: RowOffsets::NONE,
            order: self.order.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            columns: self.columns.ptr(),
            edge_to_col: self.edge_to_col.ptr(),
            counts: DevicePtr::NULL,
            block_columns: DevicePtr::NULL,
            masks: DevicePtr::NULL,
            rows: self.rows as u32,
            height: self.height as u32,
            width,
            windows: self.windows() as u32,
            by_columns: 0,
            unused: 0,
        }
    }
    /// The same arrays by the names of the host's sections, as a [`Definition`](bitgraph_backend::Definition) over [`Sgt`] takes them.
    ///
    /// # Errors
    /// Out of memory.
    pub fn to_form(&self, device: &Device) -> Result<DeviceFormat> {
        let mut sections = vec![
            ("height", Elements::U32(device.upload(&[self.height as u32])?)),
            ("offsets", Elements::from(&self.offsets)),
            ("column_offsets", Elements::from(&self.column_offsets)),
            ("columns", Elements::U32(self.columns.clone())),
            ("edge_to_col", Elements::U32(self.edge_to_col.clone())),
        ];
        sections.extend(self.order.iter().map(|order| ("row_order", Elements::U32(order.clone()))));
        Ok(DeviceFormat::new(Sgt::NAME, (self.rows, self.ncols), self.nnz, sections))
    }
}
