//! Triangles in the order of degrees, for graphs with hubs.
//!
//! Vertices are ranked by falling degree; every vertex keeps the neighbours ranked before it, so that the lists of hubs are
//! short. The 8192 vertices of largest degree are *hubs*: their lists are rows of a triangular bit matrix as well. For a vertex `v` and each
//! `u` in its list, a hub `u` costs an AND and a population count of its bit row with the bits of `v`, in blocks of 512 that `v`
//! occupies at all; any other `u` has a short list, which is looked up in the bits of `v`.
//!
//! # Invariants
//! `Lists::rows[v]` describes the list of `v` (in the order of vertex numbers): `list[start..end]`, of which
//! `start..middle` are hubs. `Lists::spans[rank]` is `start << 32 | length` of the same list. All are in bounds of `list`,
//! which has 16 elements to spare behind every chunk of rows. Bit row `u` has `u` bits rounded up to blocks of 512.

#![allow(unsafe_code)]

use super::work::{Pool, chunks, sum_chunks};
use crate::Isa;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use std::ops::Range;

/// Vertices with a bit row.
const HUBS: usize = 8192;
/// At most so many vertices all get a bit row.
const ALL_HUBS: usize = 16384;
/// Words of a block of bits.
pub(super) const BLOCK: usize = 8;

/// Where the list of a vertex is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub start: u32,
    pub middle: u32,
    pub end: u32,
}

/// The oriented graph, kept between runs for its memory only.
#[derive(Debug, Default)]
pub(super) struct Lists {
    rank: Vec<u32>,
    pub list: Vec<u32>,
    pub rows: Vec<Row>,
    pub spans: Vec<u64>,
    pub bits: Vec<u64>,
    pub hubs: usize,
}

/// What a thread keeps between chunks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// One bit for each rank, all zero between rows.
    pub bits: Vec<u64>,
    /// Elements of a row that are not hubs, or that passed a filter.
    pub collected: Vec<u32>,
}

/// The first word of bit row `u`: rows `512 k + 1 ..= 512 (k + 1)` have `k + 1` blocks each.
#[inline(always)]
pub(super) fn row_word(u: usize) -> usize {
    let before = u.saturating_sub(1);
    let (k, rest) = (before >> 9, before & 511);
    BLOCK * (256 * k * (k + 1) + rest * (k + 1))
}

/// The blocks of bit row `u`.
#[inline(always)]
pub(super) fn row_blocks(u: usize) -> usize {
    (u + 511) >> 9
}

/// Whether positions in the lists fit 32 bits.
pub(super) fn fits(entries: usize) -> bool {
    entries < u32::MAX as usize - (1 << 16)
}

/// Counts the triangles; `lists` is scratch.
pub(super) fn count(offsets: &[u32], indices: &[u32], isa: Isa, control: &Control, lists: &mut Lists, pool: &Pool<Scratch>) -> Result<u64> {
    let n = offsets.len() - 1;
    let blocks = chunks(offsets, (indices.len() + n) / 256 + 4096);
    let hubs = if n <= ALL_HUBS { n } else { HUBS };
    lists.hubs = hubs;
    rank_by_degree(offsets, &mut lists.rank);
    lists.list.resize(indices.len() + 16 * blocks.len(), 0);
    lists.rows.resize(n, Row::default());
    lists.spans.resize(n, 0);
    {
        let (list, rows, spans) =
            (DisjointSlice::new(&mut lists.list), DisjointSlice::new(&mut lists.rows), DisjointSlice::new(&mut lists.spans));
        let rank = &lists.rank[..];
        sum_chunks(blocks.len(), control, pool, |scratch, chunk| {
            let range = blocks[chunk].clone();
            let base = offsets[range.start] as usize + 16 * chunk;
            let length = (offsets[range.end] - offsets[range.start]) as usize;
            // SAFETY: every chunk has its own rows, and its own stretch of the list with 16 elements behind it; `rank` is a
            // permutation, so that every element of `spans` is written by one row.
            unsafe {
                let list = list.range(base..base + length + 16);
                let rows = rows.range(range.clone());
                orient(offsets, indices, rank, hubs, range.clone(), isa, base, list, rows, &mut scratch.collected);
                for (v, row) in range.zip(rows) {
                    spans.write(rank[v] as usize, u64::from(row.start) << 32 | u64::from(row.end - row.start));
                }
            }
            0
        })?;
    }
    lists.bits.resize(row_word(hubs), 0);
    {
        let (list, spans, bits) = (&lists.list[..], &lists.spans[..], DisjointSlice::new(&mut lists.bits));
        sum_chunks(hubs.div_ceil(64), control, pool, |_, chunk| {
            for u in 64 * chunk..hubs.min(64 * chunk + 64) {
                // SAFETY: bit rows are disjoint.
                let row = unsafe { bits.range(row_word(u)..row_word(u) + BLOCK * row_blocks(u)) };
                row.fill(0);
                list[ends(spans[u])].iter().for_each(|&x| row[x as usize >> 6] |= 1 << (x & 63));
            }
            0
        })?;
    }
    let lists = &*lists;
    sum_chunks(blocks.len(), control, pool, |scratch, chunk| {
        scratch.bits.resize(n.next_multiple_of(512) / 64, 0);
        scratch.collected.resize(scratch.collected.len().max(COLLECTED + 16), 0);
        let rows = blocks[chunk].clone();
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction set says that the CPU has the features; `lists` keeps its invariants.
            Isa::Avx512 => unsafe { super::ranked_avx512::count_rows(lists, rows, scratch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction set says that the CPU has the features.
            Isa::Avx2 => unsafe { count_rows_avx2(lists, rows, scratch) },
            _ => count_rows(lists, rows, scratch),
        }
    })
}

/// Elements that passed a filter, at most.
pub(super) const COLLECTED: usize = 4096;

/// The list of a span.
#[inline(always)]
pub(super) fn ends(span: u64) -> Range<usize> {
    let start = (span >> 32) as usize;
    start..start + (span & 0xffff_ffff) as usize
}

/// Ranks by falling degree, equal degrees in the order of their numbers. O(n + largest degree).
fn rank_by_degree(offsets: &[u32], rank: &mut Vec<u32>) {
    let n = offsets.len() - 1;
    let degree = |v: usize| (offsets[v + 1] - offsets[v]) as usize;
    let largest = (0..n).map(degree).max().unwrap_or(0);
    let mut next = vec![0u32; largest + 2];
    (0..n).for_each(|v| next[largest - degree(v) + 1] += 1);
    let mut sum = 0;
    for slot in &mut next {
        sum += *slot;
        *slot = sum;
    }
    rank.resize(n, 0);
    for (v, rank) in rank.iter_mut().enumerate() {
        let slot = &mut next[largest - degree(v)];
        *rank = *slot;
        *slot += 1;
    }
}

/// Writes the lists of a chunk of rows: of every row the neighbours of smaller rank, hubs first.
fn orient(
    offsets: &[u32],
    indices: &[u32],
    rank: &[u32],
    hubs: usize,
    range: Range<usize>,
    isa: Isa,
    base: usize,
    list: &mut [u32],
    rows: &mut [Row],
    others: &mut Vec<u32>,
) {
    let mut place = 0;
    for (v, out) in range.zip(rows) {
        let row = &indices[offsets[v] as usize..offsets[v + 1] as usize];
        if others.len() < row.len() + 16 {
            others.resize(row.len() + 16, 0);
        }
        let (own, first) = (rank[v], hubs as u32);
        let (near, far) = match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction set says that the CPU has the features; `list` has 16 elements more than the rows of the chunk.
            Isa::Avx512 => unsafe { super::ranked_avx512::split(row, rank, own, first, &mut list[place..], others) },
            _ => {
                let (mut near, mut far) = (0, 0);
                for &u in row {
                    let r = rank[u as usize];
                    list[place + near] = r;
                    others[far] = r;
                    near += usize::from(r < own && r < first);
                    far += usize::from(r < own && r >= first);
                }
                (near, far)
            }
        };
        list[place + near..place + near + far].copy_from_slice(&others[..far]);
        let start = base + place;
        *out = Row { start: start as u32, middle: (start + near) as u32, end: (start + near + far) as u32 };
        place += near + far;
    }
}

/// The plain form.
#[inline(always)]
fn count_rows(lists: &Lists, rows: Range<usize>, scratch: &mut Scratch) -> u64 {
    let bits = &mut scratch.bits[..];
    let mut count = 0;
    for v in rows {
        let row = lists.rows[v];
        if row.end - row.start < 2 {
            continue;
        }
        let all = &lists.list[row.start as usize..row.end as usize];
        let (near, far) = all.split_at((row.middle - row.start) as usize);
        let mut occupied = 0u64;
        near.iter().for_each(|&x| occupied |= 1 << (x >> 9));
        all.iter().for_each(|&x| bits[x as usize >> 6] |= 1 << (x & 63));
        for &u in near {
            let u = u as usize;
            let (first, mut blocks) = (row_word(u), occupied & ((1 << row_blocks(u)) - 1));
            while blocks != 0 {
                let b = blocks.trailing_zeros() as usize * BLOCK;
                blocks &= blocks - 1;
                let (x, y) = (&lists.bits[first + b..first + b + BLOCK], &bits[b..b + BLOCK]);
                count += x.iter().zip(y).map(|(x, y)| u64::from((x & y).count_ones())).sum::<u64>();
            }
        }
        for &u in far {
            count += lists.list[ends(lists.spans[u as usize])].iter().map(|&x| bits[x as usize >> 6] >> (x & 63) & 1).sum::<u64>();
        }
        all.iter().for_each(|&x| bits[x as usize >> 6] = 0);
    }
    count
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn count_rows_avx2(lists: &Lists, rows: Range<usize>, scratch: &mut Scratch) -> u64 {
    count_rows(lists, rows, scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_rows_are_packed() {
        let mut word = 0;
        for u in 0..3000 {
            assert_eq!(row_word(u), word, "row {u}");
            word += BLOCK * row_blocks(u);
        }
    }

    #[test]
    fn ranks_fall_with_degree() {
        let mut rank = Vec::new();
        rank_by_degree(&[0, 1, 4, 4, 7, 8], &mut rank);
        assert_eq!(rank, [2, 0, 4, 1, 3]);
    }
}
