//! Blocks of rows that share columns, built on the device: what `kernels/tensor/spmm_staged.cuh` reads.
//!
//! Invariant: every row lies in one block; no block has more columns or words than the capacities that a run asks shared memory for.

use super::select::{SHORT_ROWS, is_alike};
use super::tasks::{Tasks, elementwise_rows};
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
        columns: DevicePtr<u32>,
        blocks: u32,
        content: u32,
    }
    struct SplitParams = "tensor/spmm_staged_build.cu" "bg::StagedSplit" {
        columns: DevicePtr<u32>,
        places: DevicePtr<u32>,
        order: DevicePtr<u32>,
        after: DevicePtr<u32>,
        blocks: u32,
        most: u32,
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
/// Blocks of threads that a multiprocessor is to hold at once, at most: the kernels' registers allow no more. And the part of blocks that are cut
/// for it, at most.
const MOST_RESIDENT: u64 = 5;
const CUT_PART: usize = 8;
const MODULE: &str = "tensor/spmm_staged_build";

/// The longest row that a block has place for, whatever the others are.
pub(super) const LONGEST: u32 = (MOST_ENTRIES / BLOCK_ROWS) as u32;

/// What the build of blocks found.
struct Sizes {
    begins: Buffer<u32>,
    /// Of each block.
    columns_of: Buffer<u32>,
    /// Of all blocks, in 16 bytes.
    total: u32,
    columns: u64,
    most_columns: u64,
    most_words: u64,
}

fn build_launch(device: &Device, parameters: &BuildParams) -> Result<()> {
    let block = threads(device, 256);
    let shape = Shape { grid: parameters.blocks, block, shared: BUILD_SHARED as u32, mode: Mode::Plain };
    let kernel = device.kernel(MODULE, "spmm_staged_build")?;
    // SAFETY: the arrays are of the matrix, as long as it has rows or blocks, and no row is longer than a block has place for.
    unsafe { device.launch(&kernel, shape, parameters) }
}

fn sizes(device: &Device, parameters: &BuildParams) -> Result<Sizes> {
    let (sizes, columns_of) = (device.alloc::<u32>(parameters.blocks as usize)?, device.alloc::<u32>(parameters.blocks as usize)?);
    let totals = device.zeroed::<u64>(3)?;
    build_launch(device, &BuildParams { sizes: sizes.ptr(), totals: totals.ptr(), columns: columns_of.ptr(), ..*parameters })?;
    let (begins, total) = exclusive_scan_total(device, &sizes)?;
    let found = totals.to_vec()?;
    Ok(Sizes { begins, columns_of, total, columns: found[0], most_columns: found[1], most_words: found[2] })
}

/// What is copied into shared memory for each column of a block: bytes, so many times.
#[derive(Clone, Copy, Debug)]
pub(in crate::tensor::forms) struct Copied {
    pub buffers: u32,
    pub bytes: usize,
}

/// The columns that blocks are to have at most: the block with the most sets the shared memory of all, and few blocks are cut in two so that a
/// multiprocessor holds one more of the others. None where none is to be cut.
fn most_columns(device: &Device, found: &Sizes, copied: Copied) -> Result<Option<u32>> {
    let shared = u64::from(device.properties().shared_per_sm);
    let buffers = u64::from(copied.buffers);
    let most = |resident: u64| {
        // A block of threads takes 1 KiB beside what it asks for.
        let left = (shared / resident).checked_sub(1024 + (buffers + 1) * found.most_words * 4)?;
        Some(left / (buffers * copied.bytes as u64) / 8 * 8)
    };
    let mut columns_of = None;
    for resident in (2..=MOST_RESIDENT).rev() {
        let Some(most) = most(resident) else { continue };
        if found.most_columns <= most {
            return Ok(None);
        }
        if columns_of.is_none() {
            columns_of = Some(found.columns_of.to_vec()?);
        }
        let over = columns_of.iter().flatten().filter(|&&columns| u64::from(columns) > most).count();
        if over * CUT_PART <= found.columns_of.len() {
            return Ok(Some(most as u32));
        }
    }
    Ok(None)
}

/// The order of the rows with blocks of more than `most` columns cut in two.
fn cut(device: &Device, order: &Buffer<u32>, columns_of: &Buffer<u32>, most: u32) -> Result<Buffer<u32>> {
    let blocks = columns_of.len();
    let places = device.alloc::<u32>(blocks)?;
    let (columns, order) = (columns_of.ptr(), order.ptr());
    let mut parameters = SplitParams { columns, places: places.ptr(), order, after: DevicePtr::NULL, blocks: blocks as u32, most };
    elementwise_rows(device, MODULE, "spmm_staged_split", blocks, &parameters)?;
    let (places, total) = exclusive_scan_total(device, &places)?;
    let after = device.alloc::<u32>(total as usize * BLOCK_ROWS)?;
    (parameters.places, parameters.after) = (places.ptr(), after.ptr());
    elementwise_rows(device, MODULE, "spmm_staged_split", blocks * BLOCK_ROWS, &parameters)?;
    Ok(after)
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
        copied: Option<Copied>,
    ) -> Result<Option<Self>> {
        let Some(pattern) = Pattern::of(csr).filter(|_| csr.rows == csr.columns && csr.nnz > 0) else { return Ok(None) };
        let longest = reduce(device, &degrees(device, csr)?)?.max;
        if longest > LONGEST || !is_alike(longest, csr.nnz as f64 / csr.rows as f64) {
            return Ok(None);
        }
        Self::build(device, &pattern, content, most_share, copied)
    }
    /// Rows as blocks; few are cut for what is `copied`, if that is given. None if they would own more than `most_share` of a column for each entry, or if the
    /// graph has no small cells. The pattern is square, without rows of more than
    /// [`LONGEST`] entries.
    fn build(device: &Device, pattern: &Pattern, content: Content, most_share: f64, copied: Option<Copied>) -> Result<Option<Self>> {
        let Some(mut order) = blocks::order(device, pattern)? else { return Ok(None) };
        let mut parameters = BuildParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            order: order.ptr(),
            sizes: DevicePtr::NULL,
            words: DevicePtr::NULL,
            totals: DevicePtr::NULL,
            columns: DevicePtr::NULL,
            blocks: (order.len() / BLOCK_ROWS) as u32,
            content: content as u32,
        };
        let mut found = sizes(device, &parameters)?;
        if found.columns as f64 > most_share * pattern.entries() as f64 {
            return Ok(None);
        }
        let most = copied.map(|copied| most_columns(device, &found, copied)).transpose()?.flatten();
        if let Some(most) = most {
            order = cut(device, &order, &found.columns_of, most)?;
            (parameters.order, parameters.blocks) = (order.ptr(), (order.len() / BLOCK_ROWS) as u32);
            found = sizes(device, &parameters)?;
        }
        let words = device.alloc_for::<u32>((found.total as usize).saturating_mul(4), "blocks of rows")?;
        (parameters.sizes, parameters.words) = (found.begins.ptr(), words.ptr());
        build_launch(device, &parameters)?;
        Ok(Some(Self {
            words,
            begins: found.begins,
            blocks: parameters.blocks,
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
    let buffers = if pattern.entries() as f64 > SHORT_ROWS * pattern.rows() as f64 { 1 } else { 2 };
    let blocks = RowBlocks::build(device, pattern, content, most_share, Some(Copied { buffers, bytes: SLICE_BYTES }))?;
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
#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::device;
    use crate::tensor::forms::testing::lists;
    use bitgraph_sparse::{Coo, Csr, Duplicates};
    use std::collections::BTreeSet;

    /// Every vertex beside those up to one step away in each direction.
    fn mesh((x, y, z): (u32, u32, u32)) -> Csr {
        let steps = |at: u32, side: u32| at.saturating_sub(1)..(at + 2).min(side);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for v in 0..x * y * z {
            let (a, b, c) = (v % x, v / x % y, v / x / y);
            for w in steps(c, z).flat_map(|k| steps(b, y).flat_map(move |j| steps(a, x).map(move |i| i + x * (j + y * k)))) {
                rows.push(v);
                columns.push(w);
            }
        }
        let n = (x * y * z) as usize;
        Coo::pattern(n, n, rows, columns).into_csr(Duplicates::First).unwrap().0
    }

    #[test]
    fn few_blocks_of_many_columns_are_cut() {
        let Some(device) = device() else { return };
        let csr = mesh((22, 22, 30));
        let pattern = Pattern::of(&lists(&device, &csr)).unwrap();
        let whole = blocks::order(&device, &pattern).unwrap().unwrap().len() / BLOCK_ROWS;
        let found =
            RowBlocks::build(&device, &pattern, Content::Tiles, 1.0, Some(Copied { buffers: 1, bytes: SLICE_BYTES })).unwrap().unwrap();
        let resident = u64::from(device.properties().shared_per_sm) / (found.shared(1, SLICE_BYTES) + 1024);
        assert!(found.count() as usize > whole && resident >= MOST_RESIDENT, "{}, {whole} whole, {resident} at once", found.explain());
        let (words, begins) = (found.words.to_vec().unwrap(), found.begins.to_vec().unwrap());
        let mut seen = vec![false; csr.nrows()];
        let at = |name| constant(FORMAT, name) as usize;
        for block in begins.windows(2) {
            let block = &words[4 * block[0] as usize..4 * block[1] as usize];
            let rows = &block[at("ROWS_AT")..at("ROWS_AT") + BLOCK_ROWS];
            let mut wanted = BTreeSet::new();
            for &row in rows.iter().filter(|&&row| row != u32::MAX) {
                assert!(!std::mem::replace(&mut seen[row as usize], true), "row {row} lies in two blocks");
                wanted.extend(csr.row(row as usize).iter().copied());
            }
            let columns = &block[at("COLUMNS_AT")..at("COLUMNS_AT") + block[at("COLUMN_COUNT")] as usize];
            assert!(wanted.iter().eq(columns), "a block owns the columns of its rows");
        }
        assert!(seen.iter().all(|&seen| seen), "a row lies in no block");
    }
}
