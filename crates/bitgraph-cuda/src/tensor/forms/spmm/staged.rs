//! Blocks of rows that share columns, built on the device: what `kernels/tensor/spmm_staged.cuh` reads.
//!
//! Invariant: every row lies in one block; no block has more columns or words than the capacities that a run asks shared memory for.

use super::select::is_alike;
use super::tasks::Tasks;
use super::{Operands, Terms, blocks};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{degrees, exclusive_scan_total, reduce, threads};
use crate::spmv::Pattern;
use crate::tensor::forms::{Feature, is_half};
use crate::{DeviceCsr, Result};
use bitgraph_kernels::constant;

parameters! {
    struct StagedParams = "tensor/spmm_staged_copies.cuh" "bg::StagedParams" {
        operands: Operands,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        words: DevicePtr<u32>,
        begins: DevicePtr<u32>,
        blocks: u32,
        slices: u32,
        capacity: u32,
        most_words: u32,
    }
    pub(in crate::tensor::forms) struct RowBlocksParams = "tensor/spmm_staged.cuh" "bg::RowBlocks" {
        words: DevicePtr<u32>,
        begins: DevicePtr<u32>,
        blocks: u32,
        capacity: u32,
        most_words: u32,
        unused: u32,
    }
    struct BuildParams = "tensor/spmm_staged_build.cu" "bg::StagedBuild" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        order: DevicePtr<u32>,
        sizes: DevicePtr<u32>,
        words: DevicePtr<u32>,
        totals: DevicePtr<u64>,
        blocks: u32,
        content: u32,
    }
}

const FORMAT: &str = "tensor/spmm_staged.cuh";
pub(super) const BLOCK_ROWS: usize = constant(FORMAT, "BLOCK_ROWS") as usize;
pub(in crate::tensor::forms) const WINDOWS: u32 = constant(FORMAT, "WINDOWS") as u32;
const MOST_ENTRIES: usize = constant(FORMAT, "MOST_ENTRIES") as usize;
const MOST_TILES: usize = constant(FORMAT, "MOST_TILES") as usize;
/// Shared memory of the build: entries, tiles, two words for each of 34 warps, where rows start, the columns of tiles.
const BUILD_SHARED: usize = MOST_ENTRIES * 8
    + MOST_TILES * constant(FORMAT, "TILE_WORDS") as usize * 4
    + 34 * 8
    + (BLOCK_ROWS + 2) * 4
    + MOST_TILES * constant(FORMAT, "TILE_COLUMNS") as usize * 2;
/// Bytes of a slice of a row of features.
pub(in crate::tensor::forms) const SLICE_BYTES: usize = constant(FORMAT, "SLICE_BYTES") as usize;
const LIST_THREADS: u32 = constant(FORMAT, "LIST_THREADS") as u32;

/// The longest row that a block has place for, whatever the others are.
pub(super) const LONGEST: u32 = (MOST_ENTRIES / BLOCK_ROWS) as u32;

/// What the build of blocks found.
struct Sizes {
    begins: Buffer<u32>,
    /// Of all blocks, in 16 bytes.
    total: u32,
    columns: u64,
    most_columns: u64,
    most_words: u64,
}

fn build_launch(device: &Device, parameters: &BuildParams) -> Result<()> {
    let block = threads(device, 256);
    let shape = Shape { grid: parameters.blocks, block, shared: BUILD_SHARED as u32, mode: Mode::Plain };
    let kernel = device.kernel("tensor/spmm_staged_build", "spmm_staged_build")?;
    // SAFETY: the arrays are of the matrix, as long as it has rows or blocks, and no row is longer than a block has place for.
    unsafe { device.launch(&kernel, shape, parameters) }
}

fn sizes(device: &Device, parameters: &BuildParams) -> Result<Sizes> {
    let sizes = device.alloc::<u32>(parameters.blocks as usize)?;
    let totals = device.zeroed::<u64>(3)?;
    build_launch(device, &BuildParams { sizes: sizes.ptr(), totals: totals.ptr(), ..*parameters })?;
    let (begins, total) = exclusive_scan_total(device, &sizes)?;
    let found = totals.to_vec()?;
    Ok(Sizes { begins, total, columns: found[0], most_columns: found[1], most_words: found[2] })
}

/// What a block's rows take their columns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor::forms) enum Content {
    /// Tiles of 16 rows and 16 columns, for tensor cores: halves.
    Tiles = 0,
    /// Lists of entries: `f32`.
    Lists = 1,
    /// Tiles whose columns ascend, so that the places of entries can be counted.
    Ascending = 2,
}

impl Content {
    /// What products of such features need.
    pub(super) fn of<T: Feature>() -> Self {
        if is_half::<T>() { Self::Tiles } else { Self::Lists }
    }
    fn threads(self) -> u32 {
        match self {
            Self::Tiles | Self::Ascending => WINDOWS * 32,
            Self::Lists => LIST_THREADS,
        }
    }
}

/// Blocks of the rows of a matrix.
#[derive(Clone, Debug)]
pub(in crate::tensor::forms) struct RowBlocks {
    words: Buffer<u32>,
    begins: Buffer<u32>,
    blocks: u32,
    capacity: u32,
    most_words: u32,
    columns: u64,
    rows: usize,
}

impl RowBlocks {
    /// The rows of a matrix as blocks, as of [`RowBlocks::build`], where rows are alike, short enough, and share columns. Waits.
    pub(in crate::tensor::forms) fn where_shared(
        device: &Device,
        csr: &DeviceCsr,
        content: Content,
        most_share: f64,
    ) -> Result<Option<Self>> {
        let Some(pattern) = Pattern::of(csr).filter(|_| csr.rows == csr.columns && csr.nnz > 0) else { return Ok(None) };
        let longest = reduce(device, &degrees(device, csr)?)?.max;
        if longest > LONGEST || !is_alike(longest, csr.nnz as f64 / csr.rows as f64) {
            return Ok(None);
        }
        Self::build(device, &pattern, content, most_share)
    }
    /// Rows as blocks. None if they would own more than `most_share` of a column for each entry, or if the
    /// graph has no small cells. The pattern is square, without rows of more than
    /// [`LONGEST`] entries.
    fn build(device: &Device, pattern: &Pattern, content: Content, most_share: f64) -> Result<Option<Self>> {
        let Some(order) = blocks::order(device, pattern)? else { return Ok(None) };
        let blocks = (order.len() / BLOCK_ROWS) as u32;
        let mut parameters = BuildParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            order: order.ptr(),
            sizes: DevicePtr::NULL,
            words: DevicePtr::NULL,
            totals: DevicePtr::NULL,
            blocks,
            content: content as u32,
        };
        let found = sizes(device, &parameters)?;
        if found.columns as f64 > most_share * pattern.entries() as f64 {
            return Ok(None);
        }
        let words = device.alloc_for::<u32>((found.total as usize).saturating_mul(4), "blocks of rows")?;
        (parameters.sizes, parameters.words) = (found.begins.ptr(), words.ptr());
        build_launch(device, &parameters)?;
        Ok(Some(Self {
            words,
            begins: found.begins,
            blocks,
            capacity: found.most_columns.next_multiple_of(8).max(8) as u32,
            most_words: found.most_words as u32,
            columns: found.columns,
            rows: pattern.rows(),
        }))
    }
    pub(in crate::tensor::forms) fn parameters(&self) -> RowBlocksParams {
        RowBlocksParams {
            words: self.words.ptr(),
            begins: self.begins.ptr(),
            blocks: self.blocks,
            capacity: self.capacity,
            most_words: self.most_words,
            unused: 0,
        }
    }
    /// How many there are.
    pub(in crate::tensor::forms) fn count(&self) -> u32 {
        self.blocks
    }
    /// Words of all blocks.
    pub(in crate::tensor::forms) fn words(&self) -> usize {
        self.words.len()
    }
    /// Bytes of shared memory with so many buffers, of so many bytes for each column of a block.
    pub(in crate::tensor::forms) fn shared(&self, buffers: u32, bytes: usize) -> u64 {
        u64::from(buffers) * u64::from(self.capacity) * bytes as u64 + u64::from(buffers + 1) * u64::from(self.most_words) * 4
    }
    pub(in crate::tensor::forms) fn explain(&self) -> String {
        let share = self.columns as f64 / self.rows.max(1) as f64;
        format!("{} blocks, {share:.2} columns for each row, {} at most", self.blocks, self.capacity)
    }
    pub(in crate::tensor::forms) fn bytes(&self) -> u64 {
        self.words.bytes() + self.begins.bytes()
    }
}

/// Blocks of rows, for products.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    pattern: Pattern,
    content: Content,
    blocks: RowBlocks,
    /// For products that blocks do not give.
    rows: Tasks,
}

/// As [`RowBlocks::build`].
pub(super) fn build(device: &Device, pattern: &Pattern, content: Content, most_share: f64) -> Result<Option<Staged>> {
    let blocks = RowBlocks::build(device, pattern, content, most_share)?;
    Ok(blocks.map(|blocks| Staged { pattern: pattern.clone(), content, blocks, rows: Tasks::natural(pattern.clone()) }))
}

impl Staged {
    /// Bytes of shared memory with so many buffers.
    fn shared(&self, buffers: u32) -> u64 {
        self.blocks.shared(buffers, SLICE_BYTES)
    }
    /// Whether a block's memory fits on the device.
    pub(super) fn fits(&self, device: &Device, buffers: u32) -> bool {
        self.shared(buffers) <= u64::from(device.properties().shared_per_block)
    }
    /// One launch, of as many blocks as the device holds at once.
    pub(super) fn run<T: Feature>(&self, device: &Device, buffers: u32, operands: Operands, terms: Terms) -> Result<()> {
        let (module, kind) = match (self.content, terms) {
            (Content::Tiles | Content::Ascending, Terms::Rounded) => ("tensor/spmm_staged", "rounded".into()),
            (Content::Tiles | Content::Ascending, _) => ("tensor/spmm_staged", T::NAME.into()),
            (Content::Lists, _) => ("tensor/spmm_staged_lists", format!("lists_{}", T::NAME)),
        };
        let kernel = device.kernel(module, &format!("spmm_staged_{kind}_{buffers}"))?;
        let (block, shared) = (threads(device, self.content.threads()), self.shared(buffers) as u32);
        let slices = (operands.columns as usize * size_of::<T>()).div_ceil(SLICE_BYTES) as u32;
        let resident = device.resident(&kernel, block, shared)?.max(1) * device.properties().sms;
        let RowBlocksParams { words, begins, blocks, capacity, most_words, .. } = self.blocks.parameters();
        let items = u64::from(blocks) * u64::from(slices);
        // Blocks count their items in 32 bits.
        let slices = u32::try_from(items).map_err(|_| crate::primitives::too_large(items)).map(|_| slices)?;
        let parameters = StagedParams {
            operands,
            offsets: self.pattern.offsets.ptr(),
            indices: self.pattern.indices.ptr(),
            words,
            begins,
            blocks,
            slices,
            capacity,
            most_words,
        };
        let shape = Shape { grid: items.min(u64::from(resident)) as u32, block, shared, mode: Mode::Plain };
        // SAFETY: the blocks were made for this matrix, and the caller compared the lengths of the operands with it.
        unsafe { device.launch(&kernel, shape, &parameters) }
    }
    /// The rows, one after the other.
    pub(super) fn rows(&self) -> &Tasks {
        &self.rows
    }
    pub(super) fn explain(&self) -> String {
        self.blocks.explain()
    }
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }
}
