//! Tile rows grouped by how many tiles they have, so that a kernel's inner loop has a constant trip count.
//!
//! Invariant: `order` is a permutation of the tile rows by ascending tile count, then by number; the tiles of tile row
//! `order[k]` are the `k`-th run of the arrays, and `groups` gives the runs' lengths.
//!
//! # Bytes
//! `(4 + T) tiles + 4 tile rows` and 8 bytes a group: about as much as the format itself, whose copy it is. It pays where tile rows
//! are short and of few lengths (meshes); not where most counts differ.

use crate::{B2sr, Tile};
use bitgraph_sparse::{Buffer, parallel};

/// A run of tile rows with the same number of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Tiles of each tile row.
    pub tiles: u32,
    /// Tile rows.
    pub rows: u32,
}

/// The tiles of a [`B2sr`] in the order of their groups.
#[derive(Clone, Debug)]
pub struct Grouped<T: Tile> {
    rows: usize,
    columns: usize,
    order: Buffer<u32>,
    groups: Vec<Group>,
    tile_columns: Buffer<u32>,
    tiles: Buffer<T>,
}

impl<T: Tile> Grouped<T> {
    /// Groups the tile rows of `matrix`. O(tiles + tile rows).
    #[must_use]
    pub fn new(matrix: &B2sr<T>) -> Self {
        let count = |t: usize| matrix.tile_range(t).len();
        let n = matrix.tile_rows();
        let mut starts = vec![0usize; (0..n).map(count).max().unwrap_or(0) + 2];
        (0..n).for_each(|t| starts[count(t) + 1] += 1);
        let groups = starts[1..].iter().enumerate().filter(|&(_, &rows)| rows > 0);
        let groups: Vec<Group> = groups.map(|(tiles, &rows)| Group { tiles: tiles as u32, rows: rows as u32 }).collect();
        (1..starts.len()).for_each(|c| starts[c] += starts[c - 1]);
        let mut order = vec![0u32; n];
        for t in 0..n {
            let place = &mut starts[count(t)];
            order[*place] = t as u32;
            *place += 1;
        }
        let mut tile_columns = Vec::with_capacity(matrix.tile_count());
        let mut tiles = Vec::with_capacity(matrix.tile_count());
        for &t in &order {
            let range = matrix.tile_range(t as usize);
            tile_columns.extend_from_slice(&matrix.tile_columns()[range.clone()]);
            tiles.extend_from_slice(&matrix.tiles()[range]);
        }
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        Self { rows, columns, order: order.into(), groups, tile_columns: tile_columns.into(), tiles: tiles.into() }
    }
    /// Whether grouping `matrix` is likely to pay: on average at least 64 tile rows share a count.
    #[must_use]
    pub fn pays(matrix: &B2sr<T>) -> bool {
        let n = matrix.tile_rows();
        let most = parallel::reduce(n, 8192, |some| some.map(|t| matrix.tile_range(t).len()).max().unwrap_or(0), usize::max);
        let mut seen = vec![false; most + 1];
        (0..n).for_each(|t| seen[matrix.tile_range(t).len()] = true);
        n >= 64 * seen.iter().filter(|&&s| s).count()
    }
    /// The number of rows of the matrix.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.rows
    }
    /// The number of columns of the matrix.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.columns
    }
    /// The tile rows in the order of their runs.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }
    /// The groups, by ascending tile count.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    /// The tile columns, run by run.
    #[must_use]
    pub fn tile_columns(&self) -> &[u32] {
        &self.tile_columns
    }
    /// The tiles, run by run.
    #[must_use]
    pub fn tiles(&self) -> &[T] {
        &self.tiles
    }
    /// Exact size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.order.len() * 4 + self.groups.len() * 8 + self.tiles.len() * (4 + T::BYTES)) as u64
    }
}
