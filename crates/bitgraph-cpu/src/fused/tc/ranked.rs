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

use super::work::{Pool, chunks, reserve, sum_in};
use crate::Isa;
use crate::team::Team;
use bitgraph_backend::{Control, Result};
#[cfg(target_arch = "x86_64")]
use bitgraph_sparse::ahead;
use bitgraph_sparse::parallel::DisjointSlice;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Vertices with a bit row, at most.
const HUBS: usize = 8192;
/// At most so many vertices all get a bit row, if they have so many entries that these rows take no more than [`DENSE`] bytes an entry.
const ALL_HUBS: usize = 16384;
const DENSE: usize = 8;
/// Bytes of bit rows an entry otherwise, about: every run writes them all, and they pay where rows are read often.
const HUB_BYTES: usize = 2;
/// Vertices whose ranks a gather finds, which takes places of 31 bits.
const GATHERED: usize = 1 << 31;
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

/// The vertices with a bit row: `h` rows take `h^2 / 16` bytes.
fn hubs(nodes: usize, entries: usize) -> usize {
    if nodes <= ALL_HUBS && nodes * nodes <= 16 * DENSE * entries {
        return nodes;
    }
    (16 * HUB_BYTES * entries).isqrt().next_multiple_of(512).min(HUBS).min(nodes)
}

/// Counts the triangles; `lists` is scratch.
pub(super) fn count(
    offsets: &[u32],
    indices: &[u32],
    isa: Isa,
    control: &Control,
    lists: &mut Lists,
    pool: &Pool<Scratch>,
    team: &Team<'_>,
) -> Result<u64> {
    let n = offsets.len() - 1;
    let isa = if n <= GATHERED { isa } else { Isa::Portable };
    let blocks = chunks(offsets, (indices.len() + n) / 256 + 4096);
    let hubs = hubs(n, indices.len());
    reserve(&mut lists.rank, n);
    rank_by_degree(offsets, &mut lists.rank[..n], team);
    reserve(&mut lists.list, indices.len() + 16 * blocks.len());
    reserve(&mut lists.rows, n);
    lists.rows.truncate(n);
    reserve(&mut lists.spans, n);
    {
        let (list, rows, spans) =
            (DisjointSlice::new(&mut lists.list), DisjointSlice::new(&mut lists.rows), DisjointSlice::new(&mut lists.spans[..n]));
        let rank = &lists.rank[..];
        sum_in(team, blocks.len(), control, pool, |scratch, chunk| {
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
    reserve(&mut lists.bits, row_word(hubs));
    {
        let (list, spans, bits) = (&lists.list[..], &lists.spans[..], DisjointSlice::new(&mut lists.bits));
        sum_in(team, hubs.div_ceil(64), control, pool, |_, chunk| {
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
    sum_in(team, blocks.len(), control, pool, |scratch, chunk| {
        scratch.bits.resize(n.next_multiple_of(512) / 64, 0);
        scratch.collected.resize(scratch.collected.len().max(COLLECTED + 16), 0);
        let rows = blocks[chunk].clone();
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction set says that the CPU has the features; `lists` keeps its invariants.
            Isa::Avx512 => unsafe { super::ranked_avx512::count_rows(lists, rows, scratch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as before.
            Isa::Avx2 => unsafe { super::ranked_avx2::count_rows(lists, rows, scratch) },
            _ => count_rows(lists, rows, scratch),
        }
    })
}

/// How many rows ahead the lists of neighbours that are not hubs are fetched; where they are, twice as many.
#[cfg(target_arch = "x86_64")]
const ROWS_AHEAD: usize = 2;
/// Of how many neighbours of a row, and how many neighbours ahead in it.
#[cfg(target_arch = "x86_64")]
pub(super) const LISTS_AHEAD: usize = 8;
/// Elements that passed a filter, at most.
pub(super) const COLLECTED: usize = 4096;

/// Fetches the first four lines of a list.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn fetch(first: *const u32) {
    (0..4).for_each(|line| ahead::fetch(first.wrapping_add(16 * line)));
}

/// Fetches where the lists are that a row further on than `v` needs, and those of one before it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn fetch_ahead(lists: &Lists, v: usize) {
    let others = |row: &Row| &lists.list[row.middle as usize..row.end.min(row.middle + LISTS_AHEAD as u32) as usize];
    if let Some(row) = lists.rows.get(v + 2 * ROWS_AHEAD) {
        others(row).iter().for_each(|&u| ahead::fetch(lists.spans.as_ptr().wrapping_add(u as usize)));
    }
    if let Some(row) = lists.rows.get(v + ROWS_AHEAD) {
        others(row).iter().for_each(|&u| fetch(lists.list.as_ptr().wrapping_add(ends(lists.spans[u as usize]).start)));
    }
}

/// The list of a span.
#[inline(always)]
pub(super) fn ends(span: u64) -> Range<usize> {
    let start = (span >> 32) as usize;
    start..start + (span & 0xffff_ffff) as usize
}

/// Vertices that ranking is worth another worker for.
const RANK_SHARE: usize = 1 << 14;

/// Ranks by falling degree, equal degrees in the order of their numbers. O(n + workers times largest degree), of which the workers share
/// the first; there are as many as make the second no more than the first.
fn rank_by_degree(offsets: &[u32], rank: &mut [u32], team: &Team<'_>) {
    let n = rank.len();
    let most = team.workers().min(n / RANK_SHARE).max(1);
    let range = |part: usize, parts: usize| part * n / parts..(part + 1) * n / parts;
    let degree = |v: usize| (offsets[v + 1] - offsets[v]) as usize;
    let largest = AtomicUsize::new(0);
    team.run(most, |_, part| _ = largest.fetch_max(range(part, most).map(degree).max().unwrap_or(0), Relaxed));
    let largest = largest.into_inner();
    let parts = most.min(n / (largest + 1)).max(1);
    // For every part, how many of its vertices have a degree; then the first one's rank. The largest degree comes first.
    let mut places = vec![0u32; parts * (largest + 1)];
    {
        let places = DisjointSlice::new(&mut places);
        team.run(parts, |_, part| {
            // SAFETY: every part has its own places.
            let places = unsafe { places.range(part * (largest + 1)..(part + 1) * (largest + 1)) };
            range(part, parts).for_each(|v| places[largest - degree(v)] += 1);
        });
    }
    let mut next = 0;
    for slot in 0..=largest {
        for part in 0..parts {
            let place = &mut places[part * (largest + 1) + slot];
            next += std::mem::replace(place, next);
        }
    }
    let (places, rank) = (DisjointSlice::new(&mut places), DisjointSlice::new(rank));
    team.run(parts, |_, part| {
        // SAFETY: every part has its own places, and its own vertices.
        let (places, rank) = unsafe { (places.range(part * (largest + 1)..(part + 1) * (largest + 1)), rank.range(range(part, parts))) };
        for (v, rank) in range(part, parts).zip(rank) {
            let place = &mut places[largest - degree(v)];
            *rank = *place;
            *place += 1;
        }
    });
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
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as before.
            Isa::Avx2 => unsafe { super::ranked_avx2::split(row, rank, own, first, &mut list[place..], others) },
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
        all.iter().for_each(|&x| bits[x as usize >> 6] |= 1 << (x & 63));
        common_hubs(&lists.bits, bits, near, |x, y| count += x.iter().zip(y).map(|(x, y)| u64::from((x & y).count_ones())).sum::<u64>());
        for &u in far {
            count += lists.list[ends(lists.spans[u as usize])].iter().map(|&x| bits[x as usize >> 6] >> (x & 63) & 1).sum::<u64>();
        }
        all.iter().for_each(|&x| bits[x as usize >> 6] = 0);
    }
    count
}

/// Bits that a row shares with the bit rows of its hubs, in blocks that it occupies at all.
#[inline(always)]
pub(super) fn common_hubs(matrix: &[u64], bits: &[u64], hubs: &[u32], mut common: impl FnMut(&[u64; BLOCK], &[u64; BLOCK])) {
    let mut occupied = 0u64;
    hubs.iter().for_each(|&x| occupied |= 1 << (x >> 9));
    let (matrix, bits) = (matrix.as_chunks().0, bits.as_chunks().0);
    for &u in hubs {
        let u = u as usize;
        let (first, mut blocks) = (row_word(u) / BLOCK, occupied & ((1 << row_blocks(u)) - 1));
        while blocks != 0 {
            let b = blocks.trailing_zeros() as usize;
            blocks &= blocks - 1;
            common(&matrix[first + b], &bits[b]);
        }
    }
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
        let ranked = |offsets: &[u32], workers| {
            let mut rank = vec![0; offsets.len() - 1];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| crate::team::with(workers, |team| rank_by_degree(offsets, &mut rank, team)));
            rank
        };
        assert_eq!(ranked(&[0, 1, 4, 4, 7, 8], 1), [2, 0, 4, 1, 3]);
        let degrees = (0..100_000u32).map(|v| v * 7919 % 31);
        let offsets: Vec<u32> = std::iter::once(0).chain(degrees.scan(0, |sum, d| Some((*sum += d, *sum).1))).collect();
        let rank = ranked(&offsets, 3);
        assert_eq!(rank, ranked(&offsets, 1));
        let mut order = vec![usize::MAX; rank.len()];
        rank.iter().enumerate().for_each(|(v, &r)| order[r as usize] = v);
        let key = |v: usize| (std::cmp::Reverse(offsets[v + 1] - offsets[v]), v);
        assert!(order.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
    }

    #[test]
    fn bit_rows_take_about_what_lists_do() {
        assert_eq!(hubs(3000, 400_000), 3000);
        assert_eq!(hubs(1 << 20, 1 << 25), HUBS);
        assert_eq!(hubs(36_692, 367_662), 3584);
        assert_eq!(hubs(10, 12), 10);
        assert_eq!(hubs(0, 0), 0);
    }
}
