//! Components by hooking: one ascending pass hooks every vertex onto its smallest neighbour, then the trees are joined.
//!
//! On local numberings (grids, meshes, roads) nearly every vertex has a smaller neighbour, one pass reads one entry per row,
//! and one tree is left. Otherwise trees have numbers, few enough to lie in near memory, and are joined over pairs of numbers
//! ([`super::pairs`]): at first those of one more neighbour of every vertex, or of a few of every root where roots are few. Then
//! most vertices are in one component, and only what is outside it looks at all its entries.
//!
//! Invariant: after the passes a label is the number of the vertex's tree; numbers ascend with the trees' roots, each of which is
//! the smallest vertex of its tree.
//!
//! Source: the order of the phases is that of Afforest (Sutton et al., IPDPS 2018); hooking to the smallest neighbour in
//! ascending order, which compresses as it goes, and pairs of trees take the place of its neighbour rounds.

use super::graph::{Graph, Width, atomic};
use super::pairs::{Pairs, Trees};
use super::search::Scratch;
use super::{Counts, largest_of};
use crate::team::Team;
use crate::trace;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries of a root's row that may link it before the sampling.
const LINKS: usize = 8;
/// Vertices that vote for the largest component.
const SAMPLES: usize = 256;
/// Entries between the one looked at and the one fetched: across the end of a page, where the hardware stops.
const AHEAD: usize = 1024;
/// Chunks of a part, where any thread may take any.
const CHUNKS: usize = 8;

/// Labels all vertices.
pub(super) fn hook<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    labels: &mut [u32],
    scratch: &mut Scratch,
    team: &Team<'_>,
    control: &Control,
) -> Result<Counts> {
    let n = graph.nodes;
    let parts = team.workers();
    let range = |part: usize| part * n / parts..(part + 1) * n / parts;
    let Scratch { queue: names, parents, pairs, .. } = scratch;
    let roots: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    let isolated = AtomicUsize::new(0);
    {
        let (labels, names) = (atomic(labels), DisjointSlice::new(&mut names[..n]));
        team.run(parts, |_, part| {
            // SAFETY: parts are disjoint.
            #[allow(unsafe_code)]
            let names = unsafe { names.range(range(part)) };
            let (r, i) = pass(graph, labels, names, range(part));
            roots[part].store(r, Relaxed);
            isolated.fetch_add(i, Relaxed);
        });
    }
    control.check()?;
    let roots: Vec<usize> = roots.into_iter().map(AtomicUsize::into_inner).collect();
    let total: usize = roots.iter().sum();
    // Every part is cut into so many chunks, which anybody may take: roots are mostly in the first part.
    let per_part = if parts == 1 { 1 } else { CHUNKS };
    let chunks = parts * per_part;
    let vertices = |chunk: usize| chunk * n / chunks..(chunk + 1) * n / chunks;
    trace::enter(if parts == 1 { "cc: hooked by one" } else { "cc: hooked by all" });
    if total == 1 && isolated.load(Relaxed) == 0 {
        trace::enter("cc: one tree");
        // One tree, whose number and root are 0.
        let labels = DisjointSlice::new(labels);
        // SAFETY: chunks are disjoint.
        #[allow(unsafe_code)]
        team.run(chunks - per_part, |_, chunk| unsafe { labels.range(vertices(per_part + chunk)) }.fill(0));
        return Ok(Counts { components: 1, largest: n as u64 });
    }
    let numbers = |chunk: usize| {
        let (part, k) = (chunk / per_part, chunk % per_part);
        let start = range(part).start;
        start + k * roots[part] / per_part..start + (k + 1) * roots[part] / per_part
    };
    parents.resize(n, 0);
    pairs.resize_with(chunks, Mutex::default);
    let pairs = &pairs[..chunks];
    let trees = Trees { parents: atomic(parents), labels: atomic(labels), names: atomic(&mut names[..n]) };
    // A part's vertices that are hooked onto one of an earlier part: those have numbers by now.
    for part in 1..parts {
        let start = range(part).start as u32;
        team.run(per_part, |_, chunk| trees.resolve(vertices(part * per_part + chunk), start));
    }
    control.check()?;
    // Where roots are many, their own neighbours would not make one large component.
    let few = LINKS * total <= n;
    trace::enter(if few { "cc: roots' neighbours" } else { "cc: second neighbours" });
    team.run(chunks, |_, chunk| {
        let mut pairs = lock(&pairs[chunk]);
        trees.plant(numbers(chunk));
        pairs.begin(P * vertices(chunk).len());
        if few { links(graph, &trees, &mut pairs, numbers(chunk)) } else { seconds(graph, &trees, &mut pairs, vertices(chunk)) }
    });
    join(&trees, pairs, team, numbers, control)?;
    let giant = sample(graph, &trees);
    let next: Vec<Mutex<(usize, usize)>> = (0..chunks).map(|chunk| Mutex::new((vertices(chunk).start, 0))).collect();
    loop {
        team.run(chunks, |_, chunk| {
            let (mut pairs, mut next) = (lock(&pairs[chunk]), lock(&next[chunk]));
            pairs.begin(P * vertices(chunk).len());
            *next = outside(graph, &trees, &mut pairs, *next, vertices(chunk).end, giant);
        });
        if pairs.iter().all(|p| lock(p).is_empty()) {
            break;
        }
        trace::enter("cc: outside the giant");
        join(&trees, pairs, team, numbers, control)?;
    }
    let components = AtomicUsize::new(0);
    team.run(chunks, |_, chunk| {
        components.fetch_add(trees.name(numbers(chunk)), Relaxed);
    });
    let name = trees.names[giant as usize].load(Relaxed);
    let size = AtomicUsize::new(0);
    team.run(chunks, |_, chunk| {
        size.fetch_add(trees.label(vertices(chunk), name), Relaxed);
    });
    let size = size.into_inner();
    Ok(Counts { components: components.into_inner() as u64, largest: largest_of(labels, size, n - size) })
}

/// Joins the trees of all pairs, then hooks every number onto its root. There is a list of pairs and a range of `numbers` for every
/// chunk.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`].
fn join(
    trees: &Trees<'_>,
    pairs: &[Mutex<Pairs>],
    team: &Team<'_>,
    numbers: impl Fn(usize) -> Range<usize> + Sync,
    control: &Control,
) -> Result<()> {
    while pairs.iter().any(|p| !lock(p).is_empty()) {
        team.run(pairs.len(), |_, chunk| trees.hook(&mut lock(&pairs[chunk])));
        team.run(pairs.len(), |_, chunk| trees.flatten(numbers(chunk)));
        control.check()?;
    }
    Ok(())
}

/// What belongs to a chunk, which no other thread has at the time.
fn lock<T>(of_chunk: &Mutex<T>) -> MutexGuard<'_, T> {
    of_chunk.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Hooks every vertex of a range onto its smallest neighbour, if that is smaller, and numbers the roots, isolated vertices among
/// them, from the start of the range on; their names come in `names`. A vertex gets the number of its tree if its neighbour is
/// inside the range; otherwise the neighbour, which is below all these numbers. How many roots and isolated vertices there are.
fn pass<O: Width, const P: usize>(graph: &Graph<'_, O, P>, labels: &[AtomicU32], names: &mut [u32], range: Range<usize>) -> (usize, usize) {
    assert!(range.end <= labels.len() && range.len() <= names.len());
    let (first, mut count, mut isolated) = (range.start as u32, 0, 0);
    let mut hook = |v: u32, parent: u32| {
        let own = parent >= first;
        // SAFETY: `v` is in the range, `parent` not above it, and fewer roots than vertices of the range came before.
        #[allow(unsafe_code)]
        unsafe {
            let label = labels.get_unchecked(v as usize);
            label.store(first + count, Relaxed);
            *names.get_unchecked_mut(count as usize) = v;
            // Without a branch: a vertex outside the range is looked up as `v` itself.
            let number = labels.get_unchecked(if own { parent } else { v } as usize).load(Relaxed);
            label.store(if own { number } else { parent }, Relaxed);
        }
        count += u32::from(parent == v);
    };
    if P == 1 {
        let (offsets, columns) = (graph.offsets[0], graph.columns[0]);
        let mut start = offsets[range.start].index();
        for (v, end) in range.clone().zip(&offsets[range.start + 1..=range.end]) {
            let (v, end) = (v as u32, end.index());
            prefetch(columns, start + AHEAD);
            // The entry past the last row is not read: a row without entries compares as its own vertex.
            let smallest = if start < end { columns[start] } else { v };
            hook(v, smallest.min(v));
            isolated += usize::from(start == end);
            start = end;
        }
    } else {
        for v in range {
            let lists = graph.lists(v);
            hook(v as u32, lists.iter().filter_map(|l| l.first()).fold(v as u32, |a, &b| a.min(b)));
            isolated += usize::from(lists.iter().all(|l| l.is_empty()));
        }
    }
    (count as usize, isolated)
}

/// Pairs every root's tree with those of its first neighbours, as far as there is room.
fn links<O: Width, const P: usize>(graph: &Graph<'_, O, P>, trees: &Trees<'_>, pairs: &mut Pairs, numbers: Range<usize>) {
    for number in numbers {
        for list in graph.lists(trees.names[number].load(Relaxed) as usize) {
            for &u in list.iter().take(LINKS) {
                if pairs.is_full() {
                    return;
                }
                pairs.push(number as u32, trees.labels[u as usize].load(Relaxed));
            }
        }
    }
}

/// Pairs every vertex's tree with that of its second smallest neighbour; with those of the smallest in each of two patterns.
fn seconds<O: Width, const P: usize>(graph: &Graph<'_, O, P>, trees: &Trees<'_>, pairs: &mut Pairs, range: Range<usize>) {
    for (offsets, columns) in graph.offsets.iter().zip(graph.columns) {
        let mut start = offsets[range.start].index();
        for (v, end) in range.clone().zip(&offsets[range.start + 1..=range.end]) {
            let end = end.index();
            prefetch(columns, start + AHEAD);
            let at = if P == 1 { (start + 1).min(end.max(1) - 1) } else { start };
            let u = if start < end { columns[at] as usize } else { v };
            pairs.push(trees.labels[v].load(Relaxed), trees.labels[u].load(Relaxed));
            start = end;
        }
    }
}

/// Pairs the trees of vertices outside the component of `giant` with those of all their neighbours, from an entry of a vertex
/// on, until there is no more room; where to go on. An entry between the giant and another component is seen from that one's
/// side.
fn outside<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    trees: &Trees<'_>,
    pairs: &mut Pairs,
    (start, mut entry): (usize, usize),
    end: usize,
    giant: u32,
) -> (usize, usize) {
    for v in start..end {
        let tree = trees.root(v);
        if tree != giant {
            for &u in graph.lists(v).into_iter().flatten().skip(entry) {
                if pairs.is_full() {
                    return (v, entry);
                }
                entry += 1;
                pairs.push(tree, trees.root(u as usize));
            }
        }
        entry = 0;
    }
    (end, 0)
}

/// The tree that most of a sample of vertices are in; isolated vertices do not vote.
fn sample<O: Width, const P: usize>(graph: &Graph<'_, O, P>, trees: &Trees<'_>) -> u32 {
    let mut votes = Vec::with_capacity(SAMPLES);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..4 * SAMPLES {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let v = (((state >> 32) * graph.nodes as u64) >> 32) as usize;
        if graph.degree(v) > 0 {
            votes.push(trees.root(v));
            if votes.len() == SAMPLES {
                break;
            }
        }
    }
    votes.sort_unstable();
    votes.chunk_by(|a, b| a == b).max_by_key(|c| c.len()).map_or_else(|| trees.root(0), |c| c[0])
}
