//! Bottom-up steps: every unvisited vertex looks for an arc from the level before.
//!
//! The max-degree neighbour, if the layout has it, is asked first, sixteen vertices at a time; then the first neighbour, which on
//! most graphs is often enough, and of a long row the last; then sixteen at a time. Some graphs have the level before at one end
//! of their numbering, the Mycielski graphs for one, and a long row need not be read through to find that. Rows of vertices
//! further on are fetched ahead: those between are skipped, which a prefetcher does not foresee.
//!
//! # Invariants
//! A [`Part`]'s arrays are those of the vertices from `first` on; `front` is whole and is not written. Indices are below the
//! number of vertices, for each of which `front` has a bit.

#![allow(unsafe_code)]

use super::search::Rows;
use crate::Isa;
use bitgraph_sparse::ahead::fetch;

/// A row longer than this has its last entry asked second.
const LONG: usize = 64;
/// How many vertices ahead rows are fetched.
const AHEAD: usize = 32;

/// What a step looks at.
pub(super) struct Step<'a> {
    /// The arcs into every vertex.
    pub rows: Rows<'a>,
    pub front: &'a [u64],
    /// What found vertices are marked with; their parents if none.
    pub mark: Option<u32>,
}

/// Vertices, as many words of them as `visited` has.
pub(super) struct Part<'a> {
    pub first: usize,
    pub max_neighbour: Option<&'a [u32]>,
    pub visited: &'a mut [u64],
    pub next: &'a mut [u64],
    pub marks: &'a mut [u32],
}

/// One step for a part: sets `next` and `visited`, marks what it finds, and returns how many that were.
pub(super) fn pull(step: &Step<'_>, part: Part<'_>, isa: Isa) -> u64 {
    let words = part.visited.len();
    assert!(words == part.next.len() && part.marks.len() <= words * 64 && part.first + part.marks.len() < step.rows.0.len());
    assert!(part.max_neighbour.is_none_or(|h| h.len() == words * 64) && step.front.len() * 64 + 1 >= step.rows.0.len());
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features; the lengths agree, and the module's invariants hold.
        Isa::Avx512 => unsafe { avx512::pull(step, part) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set says that the CPU has the features.
        Isa::Avx2 => unsafe { avx2(step, part) },
        _ => portable(step, part),
    }
}

#[inline(always)]
fn is_set(bits: &[u64], i: u32) -> bool {
    bits[i as usize >> 6] >> (i & 63) & 1 != 0
}

/// Fetches what the row of a vertex some way behind `v` begins with.
#[inline(always)]
fn fetch_ahead((offsets, indices): Rows<'_>, v: usize) {
    let row = indices.as_ptr().wrapping_add(offsets[(v + AHEAD).min(offsets.len() - 1)] as usize);
    fetch(row);
    fetch(row.wrapping_add(16));
}

#[inline(always)]
fn portable(step: &Step<'_>, part: Part<'_>) -> u64 {
    let (offsets, indices) = step.rows;
    let mut count = 0;
    for i in 0..part.visited.len() {
        let mut open = !part.visited[i];
        let mut found = 0u64;
        while open != 0 {
            let bit = open.trailing_zeros() as usize;
            open &= open - 1;
            let local = i * 64 + bit;
            let v = part.first + local;
            fetch_ahead(step.rows, v);
            let row = &indices[offsets[v] as usize..offsets[v + 1] as usize];
            let hit = |u: &u32| is_set(step.front, *u);
            // A vertex without incoming arcs is visited from the start, so a max-degree neighbour is one.
            let max_neighbour = part.max_neighbour.map(|h| h[local]).filter(hit);
            let parent = max_neighbour.or_else(|| {
                let last = row.last().copied().filter(|_| row.len() > LONG).filter(hit);
                last.or_else(|| row.iter().copied().find(hit))
            });
            if let Some(u) = parent {
                part.marks[local] = step.mark.unwrap_or(u);
                found |= 1 << bit;
            }
        }
        part.next[i] = found;
        part.visited[i] |= found;
        count += u64::from(found.count_ones());
    }
    count
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn avx2(step: &Step<'_>, part: Part<'_>) -> u64 {
    portable(step, part)
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{LONG, Part, Step, fetch};
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    /// The lanes whose bit is set.
    ///
    /// # Safety
    /// The CPU has the features; the ids of lanes `inside` have bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn set(inside: __mmask16, ids: __m512i, bits: *const u64) -> __mmask16 {
        // SAFETY: by the contract; lanes outside read nothing.
        let words = unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, _mm512_srli_epi32::<5>(ids), bits.cast()) };
        _mm512_test_epi32_mask(words, _mm512_rolv_epi32(_mm512_set1_epi32(1), ids))
    }

    /// Some id of `ids` whose bit is set.
    ///
    /// # Safety
    /// The CPU has the features; the ids have bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn any(ids: &[u32], bits: *const u64) -> Option<u32> {
        // SAFETY: by the contract.
        let is_set = |u: u32| unsafe { *bits.add(u as usize >> 6) } >> (u & 63) & 1 != 0;
        let &first = ids.first()?;
        if is_set(first) {
            return Some(first);
        }
        if ids.len() > LONG
            && let Some(&last) = ids.last()
            && is_set(last)
        {
            return Some(last);
        }
        for sixteen in ids[1..].chunks(16) {
            let inside = if sixteen.len() == 16 { !0 } else { (1 << sixteen.len()) - 1 };
            // SAFETY: a masked load of what is there; the ids have bits.
            let hit = unsafe { set(inside, _mm512_maskz_loadu_epi32(inside, sixteen.as_ptr().cast()), bits) };
            if hit != 0 {
                return sixteen.get(hit.trailing_zeros() as usize).copied();
            }
        }
        None
    }

    /// Words of a group: few enough for the first cache to hold what belongs to them.
    const GROUP: usize = 32;
    /// How many words ahead the arrays of vertices are fetched.
    const WORDS_AHEAD: usize = 6;
    /// How many places ahead in the list of a group its rows are fetched.
    const LIST_AHEAD: usize = 8;

    /// Goes through the words in groups: first the max-degree neighbours of all open vertices of a group, then the rows of those that
    /// are left, which by then are listed, so that rows are fetched for whom they are needed.
    ///
    /// # Safety
    /// The CPU has the features; the lengths agree, and the module's invariants hold.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) unsafe fn pull(step: &Step<'_>, part: Part<'_>) -> u64 {
        let Part { first, max_neighbour, visited, next, marks } = part;
        let (offsets, indices) = step.rows;
        let (o, bits, m) = (offsets.as_ptr(), step.front.as_ptr(), marks.as_mut_ptr());
        let parents = step.mark.is_none();
        let value = step.mark.unwrap_or(0);
        let iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        // The open vertices of a group by their place in the part, and room for a whole register behind the last.
        let mut list = [const { MaybeUninit::<u32>::uninit() }; GROUP * 64 + 16];
        let list = list.as_mut_ptr().cast::<u32>();
        let mut count = 0;
        for start in (0..visited.len()).step_by(GROUP) {
            let end = visited.len().min(start + GROUP);
            let mut left = 0;
            for i in start..end {
                let open = !visited[i];
                let mut found = 0u64;
                if visited.get(i + WORDS_AHEAD).is_some_and(|&word| word != !0) {
                    for line in 0..4 {
                        let at = (i + WORDS_AHEAD) * 64 + 16 * line;
                        fetch(m.wrapping_add(at));
                        if let Some(max_neighbour) = max_neighbour {
                            fetch(max_neighbour.as_ptr().wrapping_add(at));
                        }
                    }
                }
                for part in 0..4 {
                    let mut inside = (open >> (16 * part)) as u16;
                    if inside == 0 {
                        continue;
                    }
                    let at = i * 64 + 16 * part;
                    // SAFETY: unvisited bits are vertices of this part, which have max-degree neighbours, rows and marks; ids have bits in
                    // `front`; masked lanes are not touched; the list has room for a register behind the vertices of a group.
                    unsafe {
                        if let Some(max_neighbour) = max_neighbour {
                            let x = _mm512_maskz_loadu_epi32(inside, max_neighbour.as_ptr().add(at).cast());
                            let hit = set(inside, x, bits);
                            let values = if parents { x } else { _mm512_set1_epi32(value as i32) };
                            _mm512_mask_storeu_epi32(m.add(at).cast(), hit, values);
                            found |= u64::from(hit) << (16 * part);
                            inside &= !hit;
                        }
                        let ids = _mm512_maskz_compress_epi32(inside, _mm512_add_epi32(_mm512_set1_epi32(at as i32), iota));
                        _mm512_storeu_si512(list.add(left).cast(), ids);
                    }
                    left += inside.count_ones() as usize;
                }
                next[i] = found;
            }
            for k in 0..left {
                // SAFETY: as above; the first `left` places were written, with vertices of this part.
                unsafe {
                    let second = first + *list.add((k + 2 * LIST_AHEAD).min(left - 1)) as usize;
                    fetch(o.add(second));
                    let ahead = first + *list.add((k + LIST_AHEAD).min(left - 1)) as usize;
                    let row = indices.as_ptr().wrapping_add(*o.add(ahead) as usize);
                    fetch(row);
                    fetch(row.wrapping_add(16));
                    let local = *list.add(k) as usize;
                    let v = first + local;
                    let row = indices.get_unchecked(*o.add(v) as usize..*o.add(v + 1) as usize);
                    if let Some(u) = any(row, bits) {
                        *m.add(local) = if parents { u } else { value };
                        *next.get_unchecked_mut(local >> 6) |= 1 << (local & 63);
                    }
                }
            }
            for (visited, &found) in visited[start..end].iter_mut().zip(&next[start..end]) {
                *visited |= found;
                count += u64::from(found.count_ones());
            }
        }
        count
    }
}
