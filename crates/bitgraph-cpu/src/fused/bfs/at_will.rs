//! Levels by threads that do not wait for each other, for searches a long way across: where levels hold a few thousand arcs, to share one out and to wait
//! at its end takes as long as to search it.
//!
//! A search of shortest paths (`buckets::free`) over arcs of length 1, some levels to a bucket. A vertex may be given too large a level at first, and
//! is then searched again.
//!
//! Invariant: levels are those of the graph, whoever finds them.

#![allow(unsafe_code)]

use super::search::{Found, Rows};
use crate::Isa;
use crate::fresh::fresh;
use crate::fused::buckets::arcs::{Arcs, Out, Task};
use crate::fused::buckets::free::{self, Own};
#[cfg(target_arch = "x86_64")]
use crate::fused::buckets::lanes;
use crate::team::Team;
use bitgraph_algorithms::UNREACHED;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::ahead::{beside, fetch};
use bitgraph_sparse::parallel::DisjointSlice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// log2 of the levels of a bucket: one to sixteen of them took the same time within a tenth, four seldom more than others.
const SHIFT: u32 = 2;
/// How many entries ahead rows are fetched; where they are, twice as many.
const AHEAD: usize = 6;
/// Vertices that are filled, and counted, together.
const PIECE: usize = 1 << 14;

/// The arcs of a graph, each of length 1.
struct Steps<'a> {
    rows: Rows<'a>,
    isa: Isa,
    /// Whether what lies beside a vertex is fetched.
    near: bool,
}

/// The levels from `source` in `marks`, for at most [`buckets::MOST_NODES`] vertices. The CPU has `isa`.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`].
pub(super) fn search(
    (rows, near, isa): (Rows<'_>, bool, Isa),
    source: u32,
    (control, team): (&Control, &Team<'_>),
    marks: &mut Vec<u32>,
    members: &mut Vec<Own<u32>>,
) -> Result<Found> {
    let nodes = rows.0.len() - 1;
    let places = fresh(marks, nodes, team);
    {
        let places = DisjointSlice::new(places);
        team.run(nodes.div_ceil(PIECE), |_, piece| {
            // SAFETY: pieces are disjoint.
            let part = unsafe { places.range(piece * PIECE..nodes.min((piece + 1) * PIECE)) };
            part.fill(std::mem::MaybeUninit::new(UNREACHED));
        });
    }
    // SAFETY: all have been filled.
    unsafe { marks.set_len(nodes) };
    let steps = Steps { rows, isa, near };
    free::search(&Task { graph: &steps, source, target: None, control }, team, marks, members)?;
    let (reached, edges, depth) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU32::new(0));
    let marks = &marks[..];
    team.run(nodes.div_ceil(PIECE), |_, piece| {
        let (first, end) = (piece * PIECE, nodes.min((piece + 1) * PIECE));
        let (mut of, mut arcs, mut last) = (0u32, 0u64, 0u32);
        for (&level, row) in marks[first..end].iter().zip(rows.0[first..].windows(2)) {
            let is_reached = level != UNREACHED;
            of += u32::from(is_reached);
            arcs += if is_reached { u64::from(row[1] - row[0]) } else { 0 };
            last = last.max(if is_reached { level } else { 0 });
        }
        reached.fetch_add(of.into(), Ordering::Relaxed);
        edges.fetch_add(arcs, Ordering::Relaxed);
        depth.fetch_max(last, Ordering::Relaxed);
    });
    Ok(Found { reached: reached.into_inner(), depth: depth.into_inner(), edges: edges.into_inner() })
}

impl Arcs for Steps<'_> {
    type D = u32;
    const LAZY: bool = false;
    fn nodes(&self) -> usize {
        self.rows.0.len() - 1
    }
    fn arcs(&self) -> u64 {
        self.rows.1.len() as u64
    }
    #[inline(always)]
    fn key(&self, level: u32) -> u64 {
        (level >> SHIFT).into()
    }
    fn expand(&self, entries: &[(u32, u32)], _: u64, out: &mut Out<'_, u32>) {
        let valid = out.valid(entries);
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the instructions; vertices that are queued have rows, and their neighbours levels, at most `buckets::MOST_NODES`.
            Isa::Avx512 => unsafe { self.avx512(&valid, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as before.
            Isa::Avx2 => unsafe { self.avx2(&valid, out) },
            _ => self.relax(&valid, out, |row, level, out| {
                for &u in row {
                    out.relax(u, level + 1, || self.key(level + 1));
                }
            }),
        }
        out.lower_all(|level| self.key(level));
        out.found.give_back(valid);
    }
}

impl Steps<'_> {
    /// Calls `row` with the rows of the entries and their levels, and asks for memory ahead of that.
    #[inline(always)]
    fn relax(&self, entries: &[(u32, u32)], out: &mut Out<'_, u32>, row: impl Fn(&[u32], u32, &mut Out<'_, u32>)) {
        let (offsets, indices) = self.rows;
        let dist = out.dist.as_ptr();
        for (i, &(level, v)) in entries.iter().enumerate() {
            if let Some(&(_, ahead)) = entries.get(i + 2 * AHEAD) {
                fetch(offsets.as_ptr().wrapping_add(ahead as usize));
            }
            if let Some(&(_, ahead)) = entries.get(i + AHEAD) {
                let start = indices.as_ptr().wrapping_add(offsets[ahead as usize] as usize);
                fetch(start);
                fetch(start.wrapping_add(15));
            }
            let v = v as usize;
            let range = offsets[v] as usize..offsets[v + 1] as usize;
            if self.near {
                beside(indices.as_ptr(), range.clone());
                beside(offsets.as_ptr(), v..v);
                beside(dist, v..v);
            }
            row(&indices[range], level, out);
        }
    }
    /// # Safety
    /// The CPU has the instructions; queued are vertices of a valid pattern of at most [`buckets::MOST_NODES`], and `out` has a distance for each.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn avx512(&self, entries: &[(u32, u32)], out: &mut Out<'_, u32>) {
        // SAFETY: the contract.
        self.relax(entries, out, |row, level, out| unsafe {
            lanes::list_wide::<false, _>(row, None, (level, UNREACHED), out, |level| self.key(level));
        });
    }
    /// # Safety
    /// As [`Steps::avx512`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn avx2(&self, entries: &[(u32, u32)], out: &mut Out<'_, u32>) {
        use crate::fused::compress::{collect, lanes};
        use std::arch::x86_64::*;
        let key = |level| self.key(level);
        self.relax(entries, out, |row, level, out| {
            let dist: *const i32 = out.dist.as_ptr().cast();
            for part in row.chunks(8) {
                // SAFETY: masked lanes are not read; ids have distances; there is room for a vector.
                unsafe {
                    let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                    let inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(part.len() as i32), lane);
                    let ids = _mm256_maskload_epi32(part.as_ptr().cast(), inside);
                    let wanted = _mm256_set1_epi32(level as i32 + 1);
                    let known = _mm256_mask_i32gather_epi32::<4>(wanted, dist, ids, inside);
                    // What is not above the level is its own minimum with it.
                    let kept = _mm256_cmpeq_epi32(_mm256_min_epu32(known, wanted), known);
                    let better = !(_mm256_movemask_ps(_mm256_castsi256_ps(kept)) as u32) & lanes(part.len());
                    let (vertices, levels) = out.found.room();
                    collect(vertices, ids, better);
                    _mm256_storeu_si256(levels.cast(), wanted);
                    out.found.add(better.count_ones() as usize);
                    out.lower_many(key);
                }
            }
        });
    }
}
