//! The blocks of a translation as a tensor-core kernel reads them: column ids, and a bit for each place.
//!
//! # Invariants
//! `offsets` says where the blocks of a window are; a window without entries has none. Block `k` of a window holds its condensed columns
//! `k * width ..`. A place has its bit set if the pattern has the entry. Columns past the window's last one repeat it, with no bit set: a
//! kernel may load all columns of a block, and what it loads for nothing is in the block anyway.
//!
//! # Bytes
//! `4 (width + height * width / 32)` a block, and `4 (windows + 1)`; offsets take 8 bytes each from 2^32 blocks on.

use crate::error::zeros;
use crate::{BlockShape, Error, Result, Sgt};
use bitgraph_sparse::parallel::{balanced_rows, each_mut};
use bitgraph_sparse::{Buffer, Control, Offsets, with_offsets};

/// The order of the bits of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaskOrder {
    /// Bit `row * width + column`: a row's columns are neighbours.
    #[default]
    Rows,
    /// Bit `column * height + row`: a column's rows are neighbours, a byte or half a word for vectors of 8 or 16 rows.
    Columns,
}

/// Blocks of one shape. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    shape: BlockShape,
    mask_order: MaskOrder,
    offsets: Offsets,
    columns: Buffer<u32>,
    masks: Buffer<u32>,
}

impl Sgt {
    /// The blocks of a shape, whose height is the windows'. O(blocks + nnz), parallel; peak memory the result.
    ///
    /// # Errors
    /// [`Error::BlockHeight`], [`Error::TooLarge`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn blocks(&self, shape: BlockShape, mask_order: MaskOrder, control: &Control) -> Result<Blocks> {
        if shape.height() != self.height() {
            return Err(Error::BlockHeight { expected: self.height, found: shape.height() as u32 });
        }
        let mut starts = zeros::<usize>(self.windows() + 1, "offsets of blocks")?;
        for w in 0..self.windows() {
            starts[w + 1] = starts[w] + shape.blocks(self.window_columns(w).len());
        }
        let count = starts[self.windows()];
        let too_large = || Error::TooLarge { blocks: count as u64, height: shape.height() as u32, width: shape.width() as u32 };
        let length = |each: usize| count.checked_mul(each).ok_or_else(too_large);
        let mut columns = zeros::<u32>(length(shape.width())?, "columns of blocks")?;
        let mut masks = zeros::<u32>(length(shape.words())?, "masks of blocks")?;
        let offsets = Offsets::from_usizes(&starts);

        let mut tasks = Vec::new();
        let (mut columns_left, mut masks_left) = (&mut columns[..], &mut masks[..]);
        for windows in with_offsets!(&offsets, o => balanced_rows(o, rayon::current_num_threads() * 8)) {
            let blocks = starts[windows.end] - starts[windows.start];
            let (columns, rest) = std::mem::take(&mut columns_left).split_at_mut(blocks * shape.width());
            columns_left = rest;
            let (masks, rest) = std::mem::take(&mut masks_left).split_at_mut(blocks * shape.words());
            masks_left = rest;
            tasks.push((windows, columns, masks, Ok(())));
        }
        each_mut(&mut tasks, |_, (windows, columns, masks, state)| {
            *state = control.check();
            for w in windows.clone().take_while(|_| state.is_ok()) {
                let first = starts[w] - starts[windows.start];
                let blocks = first..first + starts[w + 1] - starts[w];
                let columns = &mut columns[blocks.start * shape.width()..blocks.end * shape.width()];
                let masks = &mut masks[blocks.start * shape.words()..blocks.end * shape.words()];
                self.fill(w, shape, mask_order, columns, masks);
            }
        });
        tasks.into_iter().try_for_each(|(_, _, _, state)| state)?;
        Ok(Blocks { shape, mask_order, offsets, columns: columns.into(), masks: masks.into() })
    }
    /// Writes the columns and masks of the blocks of one window; the masks are zero before.
    fn fill(&self, w: usize, shape: BlockShape, mask_order: MaskOrder, columns: &mut [u32], masks: &mut [u32]) {
        let ids = self.window_columns(w);
        let Some(&last) = ids.last() else { return };
        columns[..ids.len()].copy_from_slice(ids);
        columns[ids.len()..].fill(last);
        for (r, place) in self.places(w).enumerate() {
            for &c in &self.edge_to_col[self.row_range(self.row_at(place))] {
                let (block, slot) = (c as usize / shape.width(), c as usize % shape.width());
                let bit = bit_of(shape, mask_order, r, slot);
                masks[block * shape.words() + bit / 32] |= 1 << (bit % 32);
            }
        }
    }
}

/// The bit of a place in its block.
#[inline(always)]
fn bit_of(shape: BlockShape, mask_order: MaskOrder, row: usize, column: usize) -> usize {
    match mask_order {
        MaskOrder::Rows => row * shape.width() + column,
        MaskOrder::Columns => column * shape.height() + row,
    }
}

impl Blocks {
    /// The shape of a block.
    #[must_use]
    pub fn shape(&self) -> BlockShape {
        self.shape
    }
    /// The order of the bits of a block.
    #[must_use]
    pub fn mask_order(&self) -> MaskOrder {
        self.mask_order
    }
    /// The number of blocks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.offsets.last()
    }
    /// Where the blocks of each window are.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }
    /// The column ids, block after block.
    #[must_use]
    pub fn columns(&self) -> &Buffer<u32> {
        &self.columns
    }
    /// The masks, block after block.
    #[must_use]
    pub fn masks(&self) -> &Buffer<u32> {
        &self.masks
    }
    /// The column ids of block `k`.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block_columns(&self, k: usize) -> &[u32] {
        &self.columns[k * self.shape.width()..(k + 1) * self.shape.width()]
    }
    /// The mask of block `k`.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn mask(&self, k: usize) -> &[u32] {
        &self.masks[k * self.shape.words()..(k + 1) * self.shape.words()]
    }
    /// Whether block `k` has an entry at a place.
    ///
    /// # Panics
    /// If there is no such block or place.
    #[must_use]
    pub fn bit(&self, k: usize, row: usize, column: usize) -> bool {
        assert!(row < self.shape.height() && column < self.shape.width(), "place ({row}, {column}) of a block");
        let bit = bit_of(self.shape, self.mask_order, row, column);
        self.mask(k)[bit / 32] >> (bit % 32) & 1 != 0
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offsets.bytes() + self.count() as u64 * self.shape.bytes()
    }
}
