//! Additive attention of one head over blocks of rows that share columns, and its gradients: halves, on tensor cores.
//!
//! The blocks are those of products (`forms/spmm/staged.rs`). They take no dropout, which goes by where an entry is: blocks do not know that.

use super::super::spmm::staged::{Content, Copied, RowBlocks, RowBlocksParams, SLICE_BYTES, WINDOWS};
use super::super::spmm::{FULL_SLICES, SHORT_ROWS};
use super::layout::Products;
use crate::device::{Buffer, Device, DevicePtr, Mode, Parameters, Shape, parameters};
use crate::primitives::{exclusive_scan, fill_u32, histogram, id_bits, iota, sort_pairs, threads};
use crate::tensor::forms::{Feature, is_half, launch_warps};
use crate::{DeviceCsr, Result};
use bitgraph_kernels::constant;

parameters! {
    struct ColumnsParams = "tensor/attention_gat_backward_staged.cu" "bg::TileColumns" {
        blocks: RowBlocksParams,
        columns: DevicePtr<u32>,
    }
    struct LeftParams = "tensor/attention_gat_backward_staged.cu" "bg::TileSums" {
        offsets: DevicePtr<u32>,
        places: DevicePtr<u32>,
        sums: DevicePtr<f32>,
        d_left: DevicePtr<f32>,
        rows: u32,
        unused: u32,
    }
}

/// Parts of a column that blocks own for each entry at most.
const SHORT_SHARE: f64 = constant("tuning/attention.cuh", "SHORT_SHARE") as f64 / 100.0;
const LONG_SHARE: f64 = constant("tuning/attention.cuh", "LONG_SHARE") as f64 / 100.0;
const NARROW_SHARE: f64 = constant("tuning/attention.cuh", "NARROW_SHARE") as f64 / 100.0;
const BLOCK_ENTRIES: u64 = constant("tuning/attention.cuh", "BLOCK_ENTRIES");
/// Shared memory of a block that a launch does not ask for.
const RESERVED: u32 = 1024;
/// Columns that a warp holds, with the sums of their gradients.
const MOST_COLUMNS: usize = 128;
const BACKWARD: &str = "tensor/attention_gat_backward_staged";

/// Blocks of rows as attention takes them.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    blocks: RowBlocks,
    /// Columns of the kernel: 64 or 128.
    width: u32,
    buffers: u32,
    /// Bytes of shared memory.
    shared: u32,
}

/// Columns of the kernel for rows of so many halves of one head, 64 or 128, if there is one and they fill it, and if a matrix has entries and products
/// enough for blocks.
fn block_width<T: Feature>(csr: &DeviceCsr, (columns, heads): (usize, usize), (enough, products): (u64, Products)) -> Option<usize> {
    let width = columns.next_multiple_of(SLICE_BYTES / 2);
    let full = width <= MOST_COLUMNS && width * FULL_SLICES.0 <= columns * FULL_SLICES.1;
    let wide = is_half::<T>() && heads == 1 && columns.is_multiple_of(8) && full;
    let many = products == Products::Many && csr.nnz as u64 >= BLOCK_ENTRIES * enough;
    (wide && many).then_some(width)
}
fn has_short_rows(csr: &DeviceCsr) -> bool {
    csr.nnz as f64 <= SHORT_ROWS * csr.rows as f64
}

/// Blocks for sampled products, and the columns of their kernel. None where they do not pay. Waits.
pub(in crate::tensor::forms) fn windows<T: Feature>(
    device: &Device,
    csr: &DeviceCsr,
    shape: (usize, usize),
    enough: (u64, Products),
) -> Result<Option<(RowBlocks, usize)>> {
    let Some(width) = block_width::<T>(csr, shape, enough) else { return Ok(None) };
    let share = if has_short_rows(csr) && width == MOST_COLUMNS { SHORT_SHARE } else { NARROW_SHARE };
    Ok(RowBlocks::where_shared(device, csr, Content::Ascending, share, None)?.map(|blocks| (blocks, width)))
}

/// What blocks are copied for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Forward,
    Backward,
}

impl Staged {
    /// The rows of a matrix as blocks. None where blocks do not pay or do not fit: values that are no halves of one head, or fill their kernel badly; few
    /// products or entries; rows that share too few columns. Waits.
    pub(super) fn build<T: Feature>(
        device: &Device,
        csr: &DeviceCsr,
        shape: (usize, usize),
        pass: Pass,
        enough: (u64, Products),
    ) -> Result<Option<Self>> {
        let Some(width) = block_width::<T>(csr, shape, enough) else { return Ok(None) };
        let short = has_short_rows(csr);
        let share = if short { SHORT_SHARE } else { LONG_SHARE };
        // Of wide rows the forward pass keeps more blocks at work instead: a grid takes .193 ms for .201.
        let ahead = short && (pass == Pass::Backward || width < MOST_COLUMNS);
        let (buffers, scalar) = (if ahead { 2 } else { 1 }, if pass == Pass::Forward { size_of::<f32>() } else { size_of::<[f32; 4]>() });
        let copied = Copied { buffers, bytes: 2 * width + scalar };
        let Some(blocks) = RowBlocks::where_shared(device, csr, Content::Tiles, share, Some(copied))? else { return Ok(None) };
        let shared = blocks.shared(buffers, copied.bytes);
        // One block at a time waits for its copies: a forward pass has less work for the wait.
        let resident = if pass == Pass::Forward { 2 } else { 1 };
        let reserved = u64::from(RESERVED);
        let fits = resident * (shared + reserved) <= u64::from(device.properties().shared_per_block) + reserved;
        Ok(fits.then_some(Self { blocks, width: width as u32, buffers, shared: shared as u32 }))
    }
    pub(super) fn parameters(&self) -> RowBlocksParams {
        self.blocks.parameters()
    }
    fn kernel<T: Feature>(&self, kind: &str) -> String {
        format!("{kind}_{}_{}_{}", T::NAME, self.width, self.buffers)
    }
    /// One launch of a kind of kernel, of as many blocks as the device holds at once.
    ///
    /// # Safety
    /// As of [`Device::launch`].
    pub(super) unsafe fn launch<T: Feature, P: Parameters>(&self, device: &Device, kind: &str, parameters: &P) -> Result<()> {
        let kernel = device.kernel(&format!("tensor/{kind}"), &self.kernel::<T>(kind))?;
        let block = threads(device, WINDOWS * 32);
        let resident = device.resident(&kernel, block, self.shared)?.max(1) * device.properties().sms;
        let shape = Shape { grid: self.blocks.count().min(resident), block, shared: self.shared, mode: Mode::Plain };
        // SAFETY: the caller's promises.
        unsafe { device.launch(&kernel, shape, parameters) }
    }
    pub(super) fn explain<T: Feature>(&self, kind: &str) -> String {
        format!("{}; {}", self.kernel::<T>(kind), self.blocks.explain())
    }
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }
}

/// The transposed matrix as blocks, and where the sums over the rows of its windows are found.
#[derive(Clone, Debug)]
pub(super) struct StagedBackward {
    pub(super) blocks: Staged,
    /// Of each row of the matrix in `places`, and the end.
    offsets: Buffer<u32>,
    places: Buffer<u32>,
    /// Sums of tiles, where the tiles' words are.
    pub(super) sums: Buffer<f32>,
}

impl StagedBackward {
    /// As of [`Staged::build`], with a sort of the words of the blocks.
    pub(super) fn build<T: Feature>(
        device: &Device,
        transposed: &DeviceCsr,
        shape: (usize, usize),
        enough: (u64, Products),
    ) -> Result<Option<Self>> {
        let Some(blocks) = Staged::build::<T>(device, transposed, shape, Pass::Backward, enough)? else { return Ok(None) };
        // A column past the last where there is none.
        let (words, rows) = (blocks.blocks.words(), transposed.columns);
        let columns = fill_u32(device, words, rows as u32)?;
        let parameters = ColumnsParams { blocks: blocks.parameters(), columns: columns.ptr() };
        // SAFETY: there is a word for each of the blocks'.
        unsafe { launch_warps(device, BACKWARD, "attention_gat_backward_staged_columns", blocks.blocks.count(), &parameters) }?;
        let offsets = exclusive_scan(device, &histogram(device, &columns, rows + 1)?)?;
        let places = sort_pairs(device, &columns, &iota(device, words, 0)?, 0..id_bits(rows + 1))?.1;
        let sums = device.alloc_for(words, "gradients of scores")?;
        Ok(Some(Self { blocks, offsets, places, sums }))
    }
    /// The gradients of the left scores from the sums of tiles.
    pub(super) fn add_left(&self, device: &Device, d_left: &Buffer<f32>) -> Result<()> {
        let parameters = LeftParams {
            offsets: self.offsets.ptr(),
            places: self.places.ptr(),
            sums: self.sums.ptr(),
            d_left: d_left.ptr(),
            rows: d_left.len() as u32,
            unused: 0,
        };
        let threads = u64::from(parameters.rows) * 2;
        // SAFETY: the lists have a span for each row, and name words of the blocks.
        unsafe { launch_warps(device, BACKWARD, "attention_gat_backward_staged_left", threads.div_ceil(32) as u32, &parameters) }
    }
    /// Bytes beyond the matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.bytes() + self.offsets.bytes() + self.places.bytes() + self.sums.bytes()
    }
}
