//! A graph in parts, and parts in batches: the dense adjacency matrices that QGTC multiplies, whose tiles are counted.
//!
//! Invariant: an edge between two parts is in no batch, as in the paper; vertices of a part follow each other.

use crate::reproduce::listed::Loaded;
use anyhow::{Context, Result, ensure};
use bitgraph::sparse::{Control, Csr, Offsets, ordering};
use bitgraph_bittensor::{BitMatrix, Packing, TileShape};
use std::ops::{AddAssign, Range};

/// A pattern whose vertices are in parts.
pub struct Parts {
    /// The pattern, numbered part by part.
    pub csr: Csr,
    /// The first vertex of each part, and the number of vertices.
    pub starts: Vec<usize>,
}

/// Tiles of 8 x 128, of one matrix or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tiles {
    /// Of the matrices.
    pub all: u64,
    /// Those that touch a square on the diagonal, a part's own.
    pub within: u64,
    /// Those that hold an entry.
    pub filled: u64,
    /// The larger tiles of our map: all, and those that hold an entry.
    pub map: (u64, u64),
    /// Entries in the batches.
    pub entries: u64,
}

impl AddAssign for Tiles {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.within += other.within;
        self.filled += other.filled;
        self.map = (self.map.0 + other.map.0, self.map.1 + other.map.1);
        self.entries += other.entries;
    }
}

impl Parts {
    /// The generator's parts, or as many as asked for with equal numbers of vertices in an order by community, where METIS would minimise
    /// the edges between them.
    ///
    /// # Errors
    /// No vertices, or more parts than those.
    pub fn of(loaded: &Loaded, parts: usize) -> Result<Self> {
        if let Some(starts) = &loaded.parts {
            return Ok(Self { csr: loaded.csr.clone(), starts: starts.clone() });
        }
        let n = loaded.csr.nrows();
        ensure!(parts > 0 && parts <= n, "{parts} parts of {n} vertices: each has one at minimum");
        let csr = ordering::community(&loaded.csr).apply(&loaded.csr)?;
        let starts = (0..=parts).map(|p| ((p as u128 * n as u128) / parts as u128) as usize).collect();
        Ok(Self { csr, starts })
    }
    /// The number of parts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// The parts of each batch.
    pub fn batches(&self, size: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let size = size.max(1);
        (0..self.count()).step_by(size).map(move |first| first..(first + size).min(self.count()))
    }
    /// The pattern of a batch, without edges between its parts. O(its entries).
    ///
    /// # Errors
    /// Out of memory.
    pub fn batch(&self, parts: Range<usize>) -> Result<Csr> {
        let first = self.starts[parts.start];
        let n = self.starts[parts.end] - first;
        let (mut offsets, mut indices) = (vec![0usize], Vec::new());
        for part in parts {
            let (from, to) = (self.starts[part], self.starts[part + 1]);
            for row in from..to {
                let inside = self.csr.row(row).iter().filter(|&&c| (from..to).contains(&(c as usize)));
                indices.extend(inside.map(|&c| c - first as u32));
                offsets.push(indices.len());
            }
        }
        Ok(Csr::new(n, n, Offsets::from_usizes(&offsets), indices.into())?)
    }
    /// A batch as a matrix of bits.
    ///
    /// # Errors
    /// Out of memory.
    pub fn matrix(&self, parts: Range<usize>) -> Result<BitMatrix> {
        let csr = self.batch(parts)?;
        Ok(BitMatrix::from_csr(&csr, Packing::Rows, TileShape::new(1, 128)?, &Control::default())?)
    }
    /// Counts the tiles of a batch.
    ///
    /// # Errors
    /// Out of memory.
    pub fn tiles(&self, parts: Range<usize>, map: TileShape) -> Result<Tiles> {
        let matrix = self.matrix(parts.clone())?;
        let control = Control::default();
        let (small, large) = (matrix.tiles(TileShape::TILE_8X128, &control)?, matrix.tiles(map, &control)?);
        Ok(Tiles {
            all: small.total() as u64,
            within: self.within(parts, TileShape::TILE_8X128)?,
            filled: small.nonzero() as u64,
            map: (large.total() as u64, large.nonzero() as u64),
            entries: matrix.count_ones(),
        })
    }
    /// Tiles of a batch that touch the square of a part.
    fn within(&self, parts: Range<usize>, shape: TileShape) -> Result<u64> {
        let first = self.starts[parts.start];
        let starts: Vec<usize> = self.starts[parts.start..=parts.end].iter().map(|start| start - first).collect();
        let n = *starts.last().context("a batch has parts")?;
        let (mut low, mut touched) = (0, 0u64);
        for row in (0..n).step_by(shape.lines()) {
            // The parts of the tile's first row and of its last one.
            while starts[low + 1] <= row {
                low += 1;
            }
            let last = (row + shape.lines()).min(n) - 1;
            let mut high = low;
            while starts[high + 1] <= last {
                high += 1;
            }
            touched += (starts[high + 1].div_ceil(shape.bits()) - starts[low] / shape.bits()) as u64;
        }
        Ok(touched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::listed::read;

    /// Dense parts of 48 vertices, 8 of them.
    fn cliques() -> Loaded {
        let starts: Vec<usize> = (0..=8).map(|p| p * 48).collect();
        let mut indices = Vec::new();
        let mut offsets = vec![0];
        for row in 0..8 * 48 {
            let part = row / 48;
            indices.extend((part * 48..(part + 1) * 48).map(|c| c as u32));
            // An edge to the next part, which no batch has.
            if part < 7 {
                indices.push(((part + 1) * 48) as u32);
            }
            offsets.push(indices.len());
        }
        let csr = Csr::new(384, 384, Offsets::from_usizes(&offsets), indices.into()).unwrap();
        Loaded { csr, source: "cliques".into(), stand_in: true, parts: Some(starts) }
    }

    #[test]
    fn tiles_of_dense_parts() {
        let parts = Parts::of(&cliques(), 99).unwrap();
        assert_eq!((parts.count(), parts.batches(3).collect::<Vec<_>>()), (8, vec![0..3, 3..6, 6..8]));
        let tiles = parts.tiles(0..8, TileShape::TILE_16X256).unwrap();
        // 48 rows of tiles, 3 columns; a row of tiles touches its part's 48 columns: of parts 2 and 5 (96..144, 240..288) two tiles.
        assert_eq!((tiles.all, tiles.within, tiles.filled), (144, 48 + 12, 60));
        assert_eq!((tiles.entries, tiles.map.0), (8 * 48 * 48, 24 * 2));
        let mut sum = Tiles::default();
        for batch in parts.batches(3) {
            sum += parts.tiles(batch, TileShape::TILE_16X256).unwrap();
        }
        assert_eq!(sum.entries, tiles.entries);
        assert!(sum.all < tiles.all && sum.filled <= sum.within);
    }

    #[test]
    fn parts_of_a_graph_by_community() {
        let listed = read("header\nG,,I,900,4000,8,2,graphs 30,g\n").unwrap();
        let loaded = listed[0].load(None, 10, false).unwrap();
        let parts = Parts::of(&loaded, 10).unwrap();
        assert_eq!((parts.count(), parts.starts[10], parts.csr.nnz()), (10, 900, loaded.csr.nnz()));
        let mut sum = Tiles::default();
        for batch in parts.batches(4) {
            sum += parts.tiles(batch, TileShape::TILE_8X128).unwrap();
        }
        // An order by community keeps most edges of graphs that are no part of each other.
        assert!(
            sum.entries > loaded.csr.nnz() as u64 / 2 && sum.entries <= loaded.csr.nnz() as u64,
            "{} of {}",
            sum.entries,
            loaded.csr.nnz()
        );
        assert_eq!(sum.map, (sum.all, sum.filled));
        assert!(Parts::of(&loaded, 0).is_err() && Parts::of(&loaded, 901).is_err());
    }
}
