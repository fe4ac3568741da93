//! 4x4 bit tiles, the tile rows of a part grouped by how many tiles they have.
//!
//! One masked addition of a vector register takes a whole tile (AVX-512); other levels walk the set bits.
//!
//! # Invariants
//! `order` is a permutation of the part's tile rows by ascending tile count; tile columns and tiles follow that order.
//!
//! # Bytes
//! 6 bytes a tile, 2 bytes a tile row, 8 a group.

use super::Real;
use super::slices::Run;
use crate::Level;
use bitgraph_b2sr::B2sr4;
use bitgraph_sparse::Csr;
use rayon::prelude::*;
use std::ops::Range;

/// Rows and columns of a tile.
pub(super) const SIDE: usize = 4;

/// The tile rows of a part.
#[derive(Debug)]
pub struct TileRows {
    /// Tiles per tile row (`length`) and how many such tile rows follow (`slices`).
    pub(super) groups: Vec<Run>,
    pub(super) order: Vec<u16>,
    pub(super) columns: Vec<u32>,
    pub(super) tiles: Vec<u16>,
}

/// Lays out every part, whose boundaries are those of tiles.
pub(super) fn build(csr: &Csr, parts: &[Range<usize>]) -> Vec<TileRows> {
    let tiles = B2sr4::from_csr(csr);
    parts
        .par_iter()
        .with_max_len(1)
        .map(|part| {
            let (first, end) = (part.start / SIDE, part.end.div_ceil(SIDE));
            let count = |t: usize| tiles.tile_range(first + t).len();
            let mut order: Vec<u16> = (0..(end - first) as u16).collect();
            order.sort_by_key(|&t| count(t as usize));
            let all = tiles.tile_range(first).start..tiles.tile_range(end - 1).end;
            let mut out =
                TileRows { groups: Vec::new(), order, columns: Vec::with_capacity(all.len()), tiles: Vec::with_capacity(all.len()) };
            for &t in &out.order {
                let range = tiles.tile_range(first + t as usize);
                match out.groups.last_mut() {
                    Some(group) if group.length as usize == range.len() => group.slices += 1,
                    _ => out.groups.push(Run { length: range.len() as u32, slices: 1 }),
                }
                out.columns.extend_from_slice(&tiles.tile_columns()[range.clone()]);
                out.tiles.extend_from_slice(&tiles.tiles()[range]);
            }
            out
        })
        .collect()
}

impl TileRows {
    /// Bytes of the arrays.
    pub(super) fn bytes(&self) -> u64 {
        (self.tiles.len() * 6 + self.order.len() * 2 + self.groups.len() * 8) as u64
    }
    /// Sets `y` to the sums of the part's rows; `x` has an element for every column of whole tiles.
    pub(super) fn sum<T: Real>(&self, level: Level, x: &[T], y: &mut [T]) {
        if level == Level::Avx512 && T::sum_tiles(self, x, y) {
            return;
        }
        let mut at = 0;
        let mut order = self.order.iter();
        for group in &self.groups {
            for &t in order.by_ref().take(group.slices as usize) {
                let mut sums = [T::ZERO; SIDE];
                for k in at..at + group.length as usize {
                    let (first, mut bits) = (self.columns[k] as usize * SIDE, self.tiles[k]);
                    while bits != 0 {
                        let bit = bits.trailing_zeros() as usize;
                        sums[bit / SIDE] = sums[bit / SIDE] + x[first + bit % SIDE];
                        bits &= bits - 1;
                    }
                }
                at += group.length as usize;
                for (slot, sum) in y[t as usize * SIDE..].iter_mut().zip(sums) {
                    *slot = sum;
                }
            }
        }
    }
}
