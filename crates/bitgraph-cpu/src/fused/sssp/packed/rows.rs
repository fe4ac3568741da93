//! The packed rows: one word per entry, weight in the top 8 bits and id in the low 24, each row sorted by weight.
//!
//! # Invariants
//! Every id is below the number of rows. The head of a row is its `HEAD` lightest entries, padded with weight 255 and the
//! row's own id: a padding entry never improves a distance. `classes[v]` is the bit length of the degree of `v`. Arrays are
//! padded so that a vector load from any valid position stays inside.

use bitgraph_backend::Weight;
use bitgraph_sparse::{Csr, Permutation, Values, parallel, with_values};

/// Entries of a row that are stored again at a fixed stride.
pub(crate) const HEAD: usize = 8;
/// Elements behind the end of an array that vector loads may touch.
pub(crate) const PAD: usize = 16;
/// The bits of an entry that hold the id.
pub(crate) const ID: u32 = 0x00ff_ffff;

/// One direction of a graph, packed.
#[derive(Debug)]
pub(crate) struct Rows {
    pub nodes: usize,
    pub offsets: Vec<u32>,
    pub entries: Vec<u32>,
    pub heads: Vec<u32>,
    pub classes: Vec<u8>,
}

/// The entry of an arc.
#[inline(always)]
fn pack<W: Weight>(weight: W, id: u32) -> u32 {
    (weight.whole().unwrap_or(255) as u32) << 24 | id
}

impl Rows {
    /// Packs and sorts, in parallel by rows, with vertices renumbered if there is an order. O(nnz log degree) for short rows, O(nnz)
    /// for long ones; peak memory the result.
    pub fn build(pattern: &Csr, weights: Option<&Values>, order: Option<&Permutation>) -> Self {
        let nodes = pattern.nrows();
        let mut offsets = Vec::with_capacity(nodes + 1);
        let mut end = 0;
        offsets.push(end);
        offsets.extend((0..nodes).map(|row| {
            end += pattern.degree(old(order, row)) as u32;
            end
        }));
        let mut entries = vec![0u32; pattern.nnz() + PAD];
        let slots = &mut entries[..pattern.nnz()];
        match weights {
            None => fill(&offsets, pattern, |_| 1u8, order, slots),
            Some(values) => with_values!(values, w => fill(&offsets, pattern, |k| w[k], order, slots)),
        }
        let mut heads = vec![0u32; nodes * HEAD + PAD];
        let mut classes = vec![0u8; nodes + 4 * PAD];
        let degree_class = |v: usize| (u32::BITS - (offsets[v + 1] - offsets[v]).leading_zeros()) as u8;
        parallel::update(&mut classes[..nodes], 4096, |v, class| *class = degree_class(v));
        parallel::chunks_mut(&mut heads[..nodes * HEAD], 4096 * HEAD, |block, heads| {
            for (v, head) in (4096 * block..).zip(heads.chunks_mut(HEAD)) {
                let row = &entries[offsets[v] as usize..offsets[v + 1] as usize];
                let own = 255 << 24 | v as u32;
                for (k, slot) in head.iter_mut().enumerate() {
                    *slot = row.get(k).copied().unwrap_or(own);
                }
            }
        });
        Self { nodes, offsets, entries, heads, classes }
    }
    /// Bytes of the arrays.
    pub fn bytes(&self) -> u64 {
        4 * (self.offsets.len() + self.entries.len() + self.heads.len()) as u64 + self.classes.len() as u64
    }
    /// The entries of row `v`, lightest first.
    pub fn row(&self, v: u32) -> &[u32] {
        &self.entries[self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize]
    }
}

/// Rows of `width` entries in the pattern's order, for patterns of no greater degree.
pub(crate) fn fixed(pattern: &Csr, weights: Option<&Values>, width: usize) -> Vec<u32> {
    fn fill<W: Weight>(pattern: &Csr, weight: impl Fn(usize) -> W + Sync, width: usize) -> Vec<u32> {
        let mut rows = vec![0u32; pattern.nrows() * width];
        parallel::chunks_mut(&mut rows, 8192 * width, |block, rows| {
            for (v, row) in (8192 * block..).zip(rows.chunks_mut(width)) {
                row.fill(255 << 24 | v as u32);
                for (slot, k) in row.iter_mut().zip(pattern.row_range(v)) {
                    *slot = pack(weight(k), pattern.indices()[k]);
                }
            }
        });
        rows
    }
    match weights {
        None => fill(pattern, |_| 1u8, width),
        Some(values) => with_values!(values, w => fill(pattern, |k| w[k], width)),
    }
}

/// The pattern's row that becomes `row`.
#[inline(always)]
fn old(order: Option<&Permutation>, row: usize) -> usize {
    order.map_or(row, |o| o.old_of_new()[row] as usize)
}

/// Packs every row and sorts it by weight.
fn fill<W: Weight>(offsets: &[u32], pattern: &Csr, weight: impl Fn(usize) -> W + Sync, order: Option<&Permutation>, entries: &mut [u32]) {
    parallel::rows_mut_blocks(offsets, entries, |first, block, out| {
        let start = block[0] as usize;
        let mut scratch = Vec::new();
        for (k, window) in block.windows(2).enumerate() {
            let row = &mut out[window[0] as usize - start..window[1] as usize - start];
            for (slot, at) in row.iter_mut().zip(pattern.row_range(old(order, first + k))) {
                let id = pattern.indices()[at];
                *slot = pack(weight(at), order.map_or(id, |o| o.new_of_old()[id as usize]));
            }
            sort(row, &mut scratch);
        }
    });
}

/// Sorts a row by weight, by counting where that is cheaper; which of equal weights comes first does not matter.
fn sort(row: &mut [u32], scratch: &mut Vec<u32>) {
    if row.len() <= 80 {
        row.sort_unstable();
        return;
    }
    let mut places = [0u32; 257];
    row.iter().for_each(|&e| places[(e >> 24) as usize + 1] += 1);
    for k in 0..256 {
        places[k + 1] += places[k];
    }
    scratch.clear();
    scratch.resize(row.len(), 0);
    for &e in row.iter() {
        let place = &mut places[(e >> 24) as usize];
        scratch[*place as usize] = e;
        *place += 1;
    }
    row.copy_from_slice(scratch);
}
