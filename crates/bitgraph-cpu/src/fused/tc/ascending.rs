//! Triangles in the order of vertex numbers, for graphs without skew: nothing is renumbered.
//!
//! With `A` the neighbours of `v` below `v`, and `B` those of `u` below `u` for each `u` in `A`, the triangles whose two
//! larger vertices are `v` and `u` are `A` intersected with `B`. The AVX-512 form hashes `A` into 1024 bits held in two
//! registers and sends sixteen elements of `B` at a time through that filter with one permute; what passes (the matches and
//! a few per cent of the others) is collected, and compared with `A` itself once per `v`, sixteen of those that passed at a time.
//!
//! # Invariants
//! A span is `start << 32 | length` of the part of a row below its own number: in bounds of the list.

#![allow(unsafe_code)]

use super::work::{Pool, chunks, reserve, sum_in};
use crate::Isa;
use crate::team::Team;
use bitgraph_backend::{Control, Result};
#[cfg(target_arch = "x86_64")]
use bitgraph_sparse::ahead::fetch;
use bitgraph_sparse::parallel::DisjointSlice;
use std::ops::Range;

/// The parts of the rows below their own numbers, kept between runs for its memory only.
#[derive(Debug, Default)]
pub(super) struct Lists {
    spans: Vec<u64>,
    list: Vec<u32>,
}

/// What a thread keeps between chunks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// One bit for each vertex, all zero between rows.
    pub bits: Vec<u64>,
    /// Elements that passed the filter.
    pub passed: Vec<u32>,
}

/// Rows with more smaller neighbours than this probe a bitmap instead of the filter, which they would fill.
#[cfg(target_arch = "x86_64")]
const FILTER_LIMIT: usize = 64;
/// How many rows ahead the lists of neighbours are fetched; where they are, twice as many.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1;
/// Elements collected before they are compared.
pub(super) const PASSED: usize = 4096;
/// Elements behind the lists, which a vector may read.
const SPARE: usize = 8;

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
    let Lists { spans, list } = lists;
    reserve(spans, n);
    reserve(list, indices.len() + SPARE);
    let blocks = chunks(offsets, (indices.len() + n) / 256 + 4096);
    {
        let (out, list) = (DisjointSlice::new(&mut spans[..n]), DisjointSlice::new(list));
        sum_in(team, blocks.len(), control, &Pool::<()>::default(), |(), chunk| {
            let rows = blocks[chunk].clone();
            // SAFETY: the chunks are disjoint ranges of rows, and of the elements of those.
            let (spans, list) = unsafe { (out.range(rows.clone()), list.range(offsets[rows.start] as usize..offsets[rows.end] as usize)) };
            match isa {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the instruction set says that the CPU has these features; the pattern is valid, and the chunk has its elements.
                Isa::Avx512 => unsafe { avx512::copy_below(offsets, indices, rows, spans, list) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as before.
                Isa::Avx2 => unsafe { super::ascending_avx2::copy_below(offsets, indices, rows, spans, list) },
                _ => copy_below(offsets, indices, rows, spans, list),
            }
            0
        })?;
    }
    let (spans, indices) = (&spans[..n], &list[..]);
    sum_in(team, blocks.len(), control, pool, |scratch, chunk| {
        let rows = blocks[chunk].clone();
        scratch.bits.resize(n.div_ceil(64), 0);
        scratch.passed.resize(PASSED + 16, 0);
        match isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction set says that the CPU has these features; spans are in bounds by their invariant, and every
            // index of a valid square pattern is below the number of rows.
            Isa::Avx512 => unsafe { avx512::count_rows(indices, spans, rows, scratch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as before; the list has elements to spare.
            Isa::Avx2 => unsafe { super::ascending_avx2::count_rows(indices, spans, rows, scratch) },
            _ => portable(indices, spans, rows, &mut scratch.bits),
        }
    })
}

/// Copies the part of every row below its own number, one close behind the other from the chunk's beginning.
fn copy_below(offsets: &[u32], indices: &[u32], rows: Range<usize>, spans: &mut [u64], list: &mut [u32]) {
    let base = offsets[rows.start] as usize;
    let mut place = 0;
    for (v, span) in rows.zip(spans) {
        let row = &indices[offsets[v] as usize..offsets[v + 1] as usize];
        let length = row.partition_point(|&u| (u as usize) < v);
        list[place..place + length].copy_from_slice(&row[..length]);
        *span = ((base + place) as u64) << 32 | length as u64;
        place += length;
    }
}

pub(super) fn ends(span: u64) -> Range<usize> {
    let start = (span >> 32) as usize;
    start..start + (span & 0xffff_ffff) as usize
}

/// Asks for the spans that a row further on than `v` needs, and for the lists of one before it, both before `end`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn fetch_ahead(ids: &[u32], spans: &[u64], v: usize, end: usize) {
    let (nearer, farther) = (v + AHEAD, v + 2 * AHEAD);
    if farther < end {
        ids[ends(spans[farther])].iter().skip(1).for_each(|&u| fetch(spans.as_ptr().wrapping_add(u as usize)));
    }
    if nearer < end {
        for &u in ids[ends(spans[nearer])].iter().skip(1) {
            let list = ids.as_ptr().wrapping_add((spans[u as usize] >> 32) as usize);
            fetch(list);
            fetch(list.wrapping_add(16));
        }
    }
}

/// Marks `A` in a bitmap and probes it with every `B`.
pub(super) fn portable(indices: &[u32], spans: &[u64], rows: Range<usize>, bits: &mut [u64]) -> u64 {
    let mut count = 0;
    for v in rows {
        let row = &indices[ends(spans[v])];
        if row.len() < 2 {
            continue;
        }
        row.iter().for_each(|&x| bits[x as usize >> 6] |= 1 << (x & 63));
        for &u in &row[1..] {
            count += indices[ends(spans[u as usize])].iter().map(|&x| bits[x as usize >> 6] >> (x & 63) & 1).sum::<u64>();
        }
        row.iter().for_each(|&x| bits[x as usize >> 6] = 0);
    }
    count
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{FILTER_LIMIT, PASSED, Scratch, ends, fetch_ahead};
    use std::arch::x86_64::*;
    use std::ops::Range;

    /// The lowest `k` of 16 lanes.
    #[inline(always)]
    fn lanes(k: usize) -> __mmask16 {
        if k >= 16 { !0 } else { (1 << k) - 1 }
    }

    /// As the portable form.
    ///
    /// # Safety
    /// The CPU has the features; the pattern is valid and has the rows; there is a span for each of them, and in `list` an element for each
    /// of their entries.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn copy_below(offsets: &[u32], indices: &[u32], rows: Range<usize>, spans: &mut [u64], list: &mut [u32]) {
        let (base, ids, out) = (offsets[rows.start] as usize, indices.as_ptr(), list.as_mut_ptr());
        let mut place = 0;
        for (v, span) in rows.zip(spans) {
            let (start, own) = (place, _mm512_set1_epi32(v as i32));
            let (mut i, end) = (offsets[v] as usize, offsets[v + 1] as usize);
            while i < end {
                let inside = lanes(end - i);
                // SAFETY: masked lanes are inside the row, of which no more elements are written than it has.
                let below = unsafe {
                    let x = _mm512_maskz_loadu_epi32(inside, ids.add(i).cast());
                    let below = _mm512_mask_cmplt_epu32_mask(inside, x, own);
                    _mm512_mask_storeu_epi32(out.add(place).cast(), below, x);
                    below
                };
                place += below.count_ones() as usize;
                if below != inside {
                    break;
                }
                i += 16;
            }
            *span = ((base + start) as u64) << 32 | (place - start) as u64;
        }
    }

    /// # Safety
    /// The CPU has the features; spans are in bounds of `indices`; ids are below `spans.len()`; the scratch is sized.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn count_rows(indices: &[u32], spans: &[u64], rows: Range<usize>, scratch: &mut Scratch) -> u64 {
        let ids = indices.as_ptr();
        let one = _mm512_set1_epi32(1);
        let passed = scratch.passed.as_mut_ptr();
        let mut count = 0u64;
        for v in rows.clone() {
            fetch_ahead(indices, spans, v, rows.end);
            let row = &indices[ends(spans[v])];
            if row.len() < 2 {
                continue;
            }
            if row.len() > FILTER_LIMIT {
                crate::trace::enter("tc: ascending, a long row");
                count += super::portable(indices, spans, v..v + 1, &mut scratch.bits);
                continue;
            }
            // Neighbouring elements are in different words: a word that has just been written can be changed only after a wait.
            let mut table = [0u32; 32];
            for &x in row {
                table[(x & 31) as usize] |= 1 << (x >> 5 & 31);
            }
            let p = table.as_ptr();
            // SAFETY: the table is two registers long.
            let (low, high) = unsafe { (_mm512_loadu_si512(p.cast()), _mm512_loadu_si512(p.add(16).cast())) };
            let verify = |length: usize| {
                let mut found = 0u64;
                for i in (0..length).step_by(16) {
                    let inside = lanes(length - i);
                    // SAFETY: `length` elements were written.
                    let x = unsafe { _mm512_maskz_loadu_epi32(inside, passed.add(i).cast()) };
                    let hit = row.iter().fold(0, |hit, &y| hit | _mm512_mask_cmpeq_epi32_mask(inside, x, _mm512_set1_epi32(y as i32)));
                    found += u64::from(hit.count_ones());
                }
                found
            };
            let mut length = 0;
            for &u in &row[1..] {
                // SAFETY: ids are below the number of spans.
                let other = ends(unsafe { *spans.get_unchecked(u as usize) });
                let mut i = other.start;
                while i < other.end {
                    let inside = lanes(other.end - i);
                    // SAFETY: a masked load inside the span; at most 16 elements are stored after fewer than `PASSED`.
                    unsafe {
                        let x = _mm512_maskz_loadu_epi32(inside, ids.add(i).cast());
                        let word = _mm512_permutex2var_epi32(low, x, high);
                        let pass = _mm512_mask_test_epi32_mask(inside, word, _mm512_rolv_epi32(one, _mm512_srli_epi32::<5>(x)));
                        _mm512_storeu_si512(passed.add(length).cast(), _mm512_maskz_compress_epi32(pass, x));
                        length += pass.count_ones() as usize;
                    }
                    i += 16;
                    if length >= PASSED - 16 {
                        crate::trace::enter("tc: ascending, a full buffer");
                        count += verify(length);
                        length = 0;
                    }
                }
            }
            count += verify(length);
        }
        count
    }
}
