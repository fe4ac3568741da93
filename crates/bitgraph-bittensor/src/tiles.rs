//! Which tiles of a bit tensor hold nothing, so that a kernel can jump over them (QGTC, section 4.3).
//!
//! Invariant: tile (i, j) covers lines `i * lines ..` and bits `j * bits ..`; padding holds no ones, so that it makes no tile non-zero.

use crate::memory::zeros;
use crate::{BitLayout, Error, Result, TileShape};
use bitgraph_sparse::{BitVector, Control, Csr, Offsets};
use rayon::prelude::*;

/// The tiles of a plane, or of several taken together, that hold a 1.
#[derive(Clone, Debug, PartialEq)]
pub struct TileMap {
    shape: TileShape,
    tile_rows: usize,
    tile_columns: usize,
    occupied: BitVector,
}

impl TileMap {
    /// Of planes that follow each other; a tile counts if any plane has a 1 in it.
    pub(crate) fn of(words: &[u32], layout: &BitLayout, shape: TileShape, control: &Control) -> Result<Self> {
        let tile_rows = layout.lines().div_ceil(shape.lines());
        let tile_columns = layout.length().div_ceil(shape.bits());
        // Each tile holds bits, so that there are no more of them than those.
        let mut occupied = zeros::<bool>(tile_rows * tile_columns, "a map of tiles")?;
        if !occupied.is_empty() {
            occupied.par_chunks_mut(tile_columns).enumerate().try_for_each(|(t, row)| {
                control.check()?;
                for plane in words.chunks_exact(layout.words()) {
                    for line in t * shape.lines()..((t + 1) * shape.lines()).min(layout.lines()) {
                        for (tile, words) in row.iter_mut().zip(layout.line(plane, line).chunks(shape.words())) {
                            *tile |= words.iter().fold(0, |all, word| all | word) != 0;
                        }
                    }
                }
                Ok::<(), Error>(())
            })?;
        }
        Ok(Self { shape, tile_rows, tile_columns, occupied: BitVector::from_bools(&occupied) })
    }
    /// The shape of a tile.
    #[must_use]
    pub fn shape(&self) -> TileShape {
        self.shape
    }
    /// Rows of tiles, counted along the lines.
    #[must_use]
    pub fn tile_rows(&self) -> usize {
        self.tile_rows
    }
    /// Columns of tiles, counted along the bits of a line.
    #[must_use]
    pub fn tile_columns(&self) -> usize {
        self.tile_columns
    }
    /// Whether a tile holds no 1.
    ///
    /// # Panics
    /// If there is no such tile.
    #[must_use]
    pub fn is_zero(&self, tile_row: usize, tile_column: usize) -> bool {
        assert!(
            tile_row < self.tile_rows && tile_column < self.tile_columns,
            "tile ({tile_row}, {tile_column}) of {} x {}",
            self.tile_rows,
            self.tile_columns
        );
        !self.occupied.get(tile_row * self.tile_columns + tile_column)
    }
    /// A bit for each tile, row by row: 1 if it holds a 1.
    #[must_use]
    pub fn occupied(&self) -> &BitVector {
        &self.occupied
    }
    /// The number of tiles.
    #[must_use]
    pub fn total(&self) -> usize {
        self.occupied.len()
    }
    /// The number of tiles that hold a 1. O(tiles / 64).
    #[must_use]
    pub fn nonzero(&self) -> usize {
        self.occupied.count_ones()
    }
    /// The part of the tiles that a kernel that jumps over zero tiles processes (QGTC, Figure 8); 0 where there are none.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.total() == 0 { 0.0 } else { self.nonzero() as f64 / self.total() as f64 }
    }
    /// The non-zero tiles of each row of tiles, as a pattern: the work list of a kernel. O(tiles).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn structure(&self) -> Result<Csr> {
        let mut offsets = zeros::<usize>(self.tile_rows + 1, "offsets of tiles")?;
        let mut indices = zeros::<u32>(self.nonzero(), "columns of tiles")?;
        for (slot, tile) in indices.iter_mut().zip(self.occupied.iter_ones()) {
            *slot = (tile % self.tile_columns) as u32;
            offsets[tile / self.tile_columns + 1] += 1;
        }
        for i in 0..self.tile_rows {
            offsets[i + 1] += offsets[i];
        }
        Ok(Csr::new(self.tile_rows, self.tile_columns, Offsets::from_usizes(&offsets), indices.into())?)
    }
}
