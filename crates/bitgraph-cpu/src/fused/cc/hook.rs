//! Components by hooking: one ascending pass hangs every vertex on its smallest neighbour, then the few roots are joined.
//!
//! On local numberings (grids, meshes, roads) nearly every vertex has a smaller neighbour, one pass reads one entry per row,
//! and one tree is left. Otherwise roots are linked by their first entries, the largest tree is found by sampling, and only
//! what is outside it looks at all its entries.
//!
//! Invariant: the label array is a [`Forest`] after the pass of its range and stays one.
//!
//! Source: the order of the phases is that of Afforest (Sutton et al., IPDPS 2018); hooking to the smallest neighbour in
//! ascending order, which compresses as it goes, takes the place of its neighbour rounds.

use super::forest::{Forest, atomic};
use super::graph::{Graph, Width};
use super::{Counts, count};
use crate::team::Team;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Entries of a root's row that may link it before the sampling.
const LINKS: usize = 8;
/// Vertices that vote for the largest tree.
const SAMPLES: usize = 256;
/// Entries between the one looked at and the one fetched: across the end of a page, where the hardware stops.
const AHEAD: usize = 1024;

/// Labels all vertices. `queue` holds at least one element per vertex.
pub(super) fn hook<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    labels: &mut [u32],
    queue: &mut [u32],
    team: &Team<'_>,
    control: &Control,
) -> Result<Counts> {
    if team.members() == 1 {
        phases::<O, P, false>(graph, labels, queue, team, control)
    } else {
        phases::<O, P, true>(graph, labels, queue, team, control)
    }
}

fn phases<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    labels: &mut [u32],
    queue: &mut [u32],
    team: &Team<'_>,
    control: &Control,
) -> Result<Counts> {
    let n = graph.nodes;
    let parts = team.members();
    let range = |part: usize| part * n / parts..(part + 1) * n / parts;
    let forest = Forest::<SHARED>::new(atomic(labels));
    let queues = DisjointSlice::new(queue);
    let roots: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    let isolated = AtomicUsize::new(0);
    // SAFETY: a part's stretch of the queue belongs to whoever works on the part, and phases do not overlap.
    #[allow(unsafe_code)]
    let stretch = |part: usize| unsafe { queues.range(range(part)) };
    team.run(parts, |_, part| {
        let (r, i) = pass(graph, &forest, stretch(part), range(part));
        roots[part].store(r, Relaxed);
        isolated.fetch_add(i, Relaxed);
    });
    control.check()?;
    let isolated = isolated.into_inner();
    let total: usize = roots.iter().map(|r| r.load(Relaxed)).sum();
    if total <= 1 {
        // One tree, and isolated vertices. The first part that has a tree knows its labels; later ones hang on other parts.
        if let Some(first) = roots.iter().position(|r| r.load(Relaxed) > 0) {
            let root = stretch(first)[0];
            let start = range(first).end;
            let labels = DisjointSlice::new(labels);
            let parts = parts * 8;
            let range = |part: usize| start + part * (n - start) / parts..start + (part + 1) * (n - start) / parts;
            team.run(parts, |_, part| {
                // SAFETY: the parts are disjoint, and the forest is not looked at any more.
                #[allow(unsafe_code)]
                let labels = unsafe { labels.range(range(part)) };
                if isolated == 0 {
                    labels.fill(root);
                } else {
                    let own = |label: u32, v: usize| if label as usize == v { label } else { root };
                    labels.iter_mut().zip(range(part)).for_each(|(label, v)| *label = own(*label, v));
                }
            });
        }
        return Ok(Counts { components: (isolated + total) as u64, largest: ((n - isolated) as u64).max(1) });
    }
    team.run(parts, |_, part| {
        for &root in &stretch(part)[..roots[part].load(Relaxed)] {
            link(graph, &forest, root);
        }
    });
    control.check()?;
    let giant = sample(graph, &forest);
    let outside: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    team.run(parts, |_, part| outside[part].store(flatten(&forest, stretch(part), range(part), giant), Relaxed));
    control.check()?;
    let changed = AtomicU32::new(0);
    team.run(parts, |_, part| {
        if finish(graph, &forest, &stretch(part)[..outside[part].load(Relaxed)], giant) {
            changed.store(1, Relaxed);
        }
    });
    control.check()?;
    if changed.into_inner() != 0 {
        team.run(parts, |_, part| {
            flatten(&forest, stretch(part), range(part), giant);
        });
    }
    let giant = forest.find(giant);
    Ok(count(labels, giant, team))
}

/// Fetches the cache line of an element, if the machine can be asked to.
#[inline(always)]
fn prefetch(data: &[u32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless.
    #[allow(unsafe_code)]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(data.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, at);
}

/// Hangs every vertex of a range on its smallest neighbour, if that is smaller; lists the roots, counts isolated vertices.
/// A neighbour inside the range has its root already, one before it is left as it is.
fn pass<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    forest: &Forest<'_, SHARED>,
    roots: &mut [u32],
    range: std::ops::Range<usize>,
) -> (usize, usize) {
    let (first, mut count, mut isolated) = (range.start as u32, 0, 0);
    if P == 1 {
        let (offsets, columns) = (graph.offsets[0], graph.columns[0]);
        let mut start = offsets[range.start].index();
        for (v, end) in range.clone().zip(&offsets[range.start + 1..=range.end]) {
            let (v, end) = (v as u32, end.index());
            prefetch(columns, start + AHEAD);
            // The entry past the last row is not read: a row without entries compares as its own vertex.
            let smallest = if start < end { columns[start] } else { v };
            let parent = smallest.min(v);
            forest.set(v, v);
            // Without a branch: a vertex outside the range is looked up as `v` itself.
            let own = parent >= first;
            let root = forest.parent(if own { parent } else { v });
            forest.set(v, if own { root } else { parent });
            roots[count] = v;
            count += usize::from(start < end && parent == v);
            isolated += usize::from(start == end);
            start = end;
        }
        return (count, isolated);
    }
    for v in range {
        let lists = graph.lists(v);
        let v = v as u32;
        let parent = lists.iter().filter_map(|l| l.first()).fold(v, |a, &b| a.min(b));
        forest.set(v, if parent >= first && parent < v { forest.parent(parent) } else { parent });
        if lists.iter().all(|l| l.is_empty()) {
            isolated += 1;
        } else if parent == v {
            roots[count] = v;
            count += 1;
        }
    }
    (count, isolated)
}

/// Joins a root with the first of its neighbours that is in another tree.
fn link<O: Width, const P: usize, const SHARED: bool>(graph: &Graph<'_, O, P>, forest: &Forest<'_, SHARED>, root: u32) {
    for list in graph.lists(root as usize) {
        for &u in list.iter().take(LINKS) {
            if forest.find(u) != forest.find(root) {
                forest.join(u, root);
                return;
            }
        }
    }
}

/// The root of the tree that most of a sample of vertices are in; isolated vertices do not vote.
fn sample<O: Width, const P: usize, const SHARED: bool>(graph: &Graph<'_, O, P>, forest: &Forest<'_, SHARED>) -> u32 {
    let mut votes = Vec::with_capacity(SAMPLES);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..4 * SAMPLES {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let v = (((state >> 32) * graph.nodes as u64) >> 32) as usize;
        if graph.degree(v) > 0 {
            votes.push(forest.find(v as u32));
            if votes.len() == SAMPLES {
                break;
            }
        }
    }
    votes.sort_unstable();
    votes.chunk_by(|a, b| a == b).max_by_key(|c| c.len()).map_or(0, |c| c[0])
}

/// Hangs every vertex of a range on its root, and lists those outside the tree of `giant`.
fn flatten<const SHARED: bool>(forest: &Forest<'_, SHARED>, outside: &mut [u32], range: std::ops::Range<usize>, giant: u32) -> usize {
    let mut count = 0;
    for (slot, v) in range.enumerate() {
        let v = v as u32;
        let mut root = forest.parent(v);
        loop {
            let p = forest.parent(root);
            if p == root {
                break;
            }
            root = p;
        }
        forest.set(v, root);
        debug_assert!(count <= slot);
        outside[count] = v;
        count += usize::from(root != giant);
    }
    count
}

/// Joins every listed vertex with all its neighbours, unless it has come into the tree of `giant`, whose members need not
/// look: an entry between the two is seen from this side. Whether any two trees were joined.
fn finish<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    forest: &Forest<'_, SHARED>,
    outside: &[u32],
    giant: u32,
) -> bool {
    let mut changed = false;
    for &v in outside {
        if graph.degree(v as usize) == 0 {
            continue;
        }
        let mut root = forest.find(v);
        'lists: for list in graph.lists(v as usize) {
            for &u in list {
                if root == forest.find(giant) {
                    break 'lists;
                }
                let other = forest.find(u);
                if other != root {
                    changed = true;
                    root = forest.join(other, root);
                }
            }
        }
    }
    changed
}
