//! Components by hooking: one ascending pass hooks every vertex onto its smallest neighbour, then trees are joined through the last
//! neighbour of every vertex.
//!
//! On local numberings (grids, meshes, roads) nearly every vertex has a smaller neighbour, one pass reads one entry per row,
//! and one tree is left. Otherwise trees have numbers, few enough to lie in near memory. A vertex's last neighbour is as far from its
//! smallest one as its row allows, so that one more entry of every row leaves a giant component: on ten meshes, road, geometric, random and
//! de Bruijn graphs it had 99.7 to 100 % of the vertices, where the second smallest left 98.6 % at worst. Only what is outside it looks at
//! all its entries.
//!
//! A part of the vertices hooks them without looking at other parts: a vertex whose smallest neighbour is before the part begins gets a
//! number of its own, which is hooked onto that neighbour's number as soon as all parts have theirs.
//!
//! Invariant: after the passes a label is the number of the vertex's tree; numbers ascend with the vertices that they were given to, so that
//! the lowest number of a component is that of its smallest vertex.
//!
//! Source: the order of the phases is that of Afforest (Sutton et al., IPDPS 2018); hooking to the smallest neighbour in
//! ascending order, which compresses as it goes, takes the place of its first neighbour round, pairs ([`super::pairs`]) that of its second.

use super::graph::{Graph, Width, atomic};
use super::pairs::{Pairs, Trees};
use super::search::Scratch;
use super::{Counts, largest_of, written};
use crate::sync::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use crate::team::Team;
use crate::trace;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::ahead::fetch;
use bitgraph_sparse::parallel::DisjointSlice;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Vertices that vote for the largest component.
const SAMPLES: usize = 256;
/// Entries between the one looked at and the one fetched: across the end of a page, where the hardware stops.
const AHEAD: usize = 1024;
/// Parts for every worker, so that one that is held up leaves them to others.
const PARTS: usize = 4;
/// Vertices of a part at least.
const PART: usize = 1 << 11;

/// Vertices that are asked how far their smallest neighbour is.
const ASKED: usize = 64;

/// Threads from which on far neighbours are hooked by several: trees of other parts are joined by pairs, three times the work. With two, shuffled
/// meshes of 27 and 48 thousand vertices took 1.9 and 2.7 times as long as with one, shuffled de Bruijn and uniform graphs 1.0 to 1.7 times. Fewer
/// threads join trees one by one, which took .67 to .93 times as long with two on a web, a geometric and a census graph, 1.15 times on a road graph.
pub(super) const FAR_CREW: usize = 4;

/// The parts that the vertices are hooked in. One for few workers where most vertices lie far behind their smallest neighbours, or many do and
/// trees are many. Else several for a worker, unless one for each has clearly more vertices whose smallest neighbour lies in their part. The others
/// get numbers: on 16 cores a mesh of tetrahedra in the order of Cuthill-McKee took 2.0 times as long in 64 parts as in 16; graphs whose neighbours
/// are nearer, or far in any case, took up to 1.3 times as long in 16.
fn parts<O: Width, const P: usize>(graph: &Graph<'_, O, P>, workers: usize) -> usize {
    let n = graph.nodes;
    let fitting = (n / PART).max(1);
    if workers == 1 || fitting == 1 {
        return 1;
    }
    let (few, many) = (fitting.min(workers), fitting.min(PARTS * workers));
    let distance = |v: usize| v - graph.lists(v).iter().filter_map(|l| l.first()).fold(v, |a, &b| a.min(b as usize));
    let distances: [usize; ASKED] = std::array::from_fn(|k| distance(k * n / ASKED));
    // Half a part before a vertex, in the mean.
    let outside = |parts: usize| distances.iter().filter(|&&d| d > n / (2 * parts)).count();
    let roots = distances.iter().filter(|&&d| d == 0).count();
    if workers < FAR_CREW && (outside(few) > ASKED * 5 / 8 || outside(few) > ASKED * 3 / 8 && roots > ASKED / 16) {
        return 1;
    }
    if outside(many) > outside(few) + ASKED / 4 { few } else { many }
}

/// Labels all vertices.
pub(super) fn hook<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    labels: &mut [MaybeUninit<u32>],
    scratch: &mut Scratch,
    team: &Team<'_>,
    control: &Control,
) -> Result<Counts> {
    match parts(graph, team.workers()) {
        1 => hook_parts::<O, P, false>(graph, labels, scratch, team, control, 1),
        parts => hook_parts::<O, P, true>(graph, labels, scratch, team, control, parts),
    }
}

fn hook_parts<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    labels: &mut [MaybeUninit<u32>],
    scratch: &mut Scratch,
    team: &Team<'_>,
    control: &Control,
    parts: usize,
) -> Result<Counts> {
    let n = graph.nodes;
    let range = |part: usize| part * n / parts..(part + 1) * n / parts;
    let Scratch { queue: names, parents, pairs, .. } = scratch;
    let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
    let (roots, isolated) = (AtomicUsize::new(0), AtomicUsize::new(0));
    {
        let (labels, names) = (atomic(labels), DisjointSlice::new(&mut names[..n]));
        team.run(parts, |_, part| {
            // SAFETY: parts are disjoint.
            #[allow(unsafe_code)]
            let names = unsafe { names.range(range(part)) };
            let passed = pass::<O, P, SHARED>(graph, labels, names, range(part));
            counts[part].store(passed.numbers, Relaxed);
            roots.fetch_add(passed.roots, Relaxed);
            isolated.fetch_add(passed.isolated, Relaxed);
        });
    }
    control.check()?;
    let isolated = isolated.into_inner();
    trace::enter(if SHARED { "cc: hooked by all" } else { "cc: hooked by one" });
    if roots.into_inner() == 1 && isolated == 0 {
        trace::enter("cc: one tree");
        // The tree has the number 0, which the first part's labels are already.
        let labels = DisjointSlice::new(labels);
        // SAFETY: parts are disjoint.
        #[allow(unsafe_code)]
        team.run(parts - 1, |_, part| unsafe { labels.range(range(part + 1)) }.fill(MaybeUninit::new(0)));
        return Ok(Counts { components: 1, largest: n as u64 });
    }
    let numbers = |part: usize| range(part).start..range(part).start + counts[part].load(Relaxed);
    parents.resize(n, 0);
    pairs.resize_with(parts.max(pairs.len()), Mutex::default);
    let trees = Trees::<SHARED>::new(written_cells(parents), atomic(labels), written_cells(&mut names[..n]));
    team.run(parts, |_, part| trees.plant(numbers(part)));
    let by_pairs = SHARED && team.workers() >= FAR_CREW;
    trace::enter(if by_pairs { "cc: linked by pairs" } else { "cc: linked one by one" });
    team.run(parts, |_, part| {
        let mut pairs = lock(&pairs[part]);
        link(graph, &trees, by_pairs.then_some(&mut *pairs), range(part));
    });
    control.check()?;
    if by_pairs {
        team.run(parts, |_, part| trees.flatten(numbers(part)));
        team.run(parts, |_, part| trees.join_all(&lock(&pairs[part])));
        control.check()?;
    }
    let settle = || {
        let components = AtomicUsize::new(0);
        team.run(parts, |_, part| _ = components.fetch_add(trees.settle(numbers(part)), Relaxed));
        components.into_inner()
    };
    let mut components = settle();
    let giant = sample(graph, &trees);
    if components > isolated + 1 {
        trace::enter("cc: outside the giant");
        team.run(parts, |_, part| outside(graph, &trees, range(part), giant));
        control.check()?;
        components = settle();
    }
    let name = trees.name(giant);
    let size = AtomicUsize::new(0);
    team.run(parts, |_, part| _ = size.fetch_add(trees.label(range(part), name), Relaxed));
    let size = size.into_inner();
    // SAFETY: the pass has written every label.
    #[allow(unsafe_code)]
    let labels = unsafe { written(labels) };
    Ok(Counts { components: components as u64, largest: largest_of(labels, size, n - size) })
}

/// What belongs to a part, which no other thread has at the time.
fn lock<T>(of_part: &Mutex<T>) -> MutexGuard<'_, T> {
    of_part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An array as one that several threads may work on.
fn written_cells(array: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: an element that is written is one that may be.
    #[allow(unsafe_code)]
    atomic(unsafe { &mut *(std::ptr::from_mut(array) as *mut [MaybeUninit<u32>]) })
}

/// What [`pass`] counts in a part.
struct Passed {
    /// Numbers that were given.
    numbers: usize,
    /// Vertices without a smaller neighbour.
    roots: usize,
    /// Those of them without any.
    isolated: usize,
}

/// Hooks every vertex of a range onto its smallest neighbour, if that is smaller and in the range. Every other vertex gets a number, from the
/// start of the range on; what that is hooked onto comes in `names`: its smallest neighbour before the range, or itself. Labels are numbers.
/// Unless parts are `SHARED` the range is all vertices, before which there are none.
fn pass<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    labels: &[AtomicU32],
    names: &mut [u32],
    range: Range<usize>,
) -> Passed {
    assert!(range.end <= labels.len() && range.len() <= names.len());
    let (first, mut numbers, mut roots, mut isolated) = (range.start as u32, 0, 0, 0);
    let mut hook = |v: u32, parent: u32| {
        let own = !SHARED || parent >= first;
        // SAFETY: `v` is in the range, `parent` not above it, and fewer numbers than vertices of the range were given before.
        #[allow(unsafe_code)]
        unsafe {
            let label = labels.get_unchecked(v as usize);
            label.store(first + numbers, Relaxed);
            *names.get_unchecked_mut(numbers as usize) = parent;
            // Without a branch: a vertex with a number of its own is looked up as itself.
            label.store(labels.get_unchecked(if own { parent } else { v } as usize).load(Relaxed), Relaxed);
        }
        numbers += u32::from(parent == v || !own);
        if SHARED {
            roots += usize::from(parent == v);
        }
    };
    if P == 1 {
        let (offsets, columns) = (graph.offsets[0], graph.columns[0]);
        let mut start = offsets[range.start].index();
        for (v, end) in range.clone().zip(&offsets[range.start + 1..=range.end]) {
            let (v, end) = (v as u32, end.index());
            fetch(columns.as_ptr().wrapping_add(start + AHEAD));
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
    Passed { numbers: numbers as usize, roots: if SHARED { roots } else { numbers as usize }, isolated }
}

/// Joins every vertex's tree with that of its last neighbour, in every pattern; with `pairs` hooks them onto each other, and keeps the pairs of
/// those that were different.
fn link<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    trees: &Trees<'_, SHARED>,
    mut pairs: Option<&mut Pairs>,
    range: Range<usize>,
) {
    if let Some(pairs) = &mut pairs {
        pairs.begin(P * range.len());
    }
    for (offsets, columns) in graph.offsets.iter().zip(graph.columns) {
        let mut start = offsets[range.start].index();
        for (v, end) in range.clone().zip(&offsets[range.start + 1..=range.end]) {
            let end = end.index();
            fetch(columns.as_ptr().wrapping_add(start + AHEAD));
            let u = if start < end { columns[end - 1] as usize } else { v };
            if let Some(pairs) = &mut pairs {
                trees.hook(v, u, pairs);
            } else {
                trees.join(trees.number(v), trees.number(u));
            }
            start = end;
        }
    }
}

/// Joins the trees of vertices outside the component of `giant` with those of all their neighbours. An entry between the giant and
/// another component is seen from that one's side.
fn outside<O: Width, const P: usize, const SHARED: bool>(
    graph: &Graph<'_, O, P>,
    trees: &Trees<'_, SHARED>,
    range: Range<usize>,
    giant: u32,
) {
    for v in range {
        let tree = trees.root(v);
        if tree != giant {
            for &u in graph.lists(v).into_iter().flatten() {
                trees.join(tree, trees.root(u as usize));
            }
        }
    }
}

/// The tree that most of a sample of vertices are in; isolated vertices do not vote.
fn sample<O: Width, const P: usize, const SHARED: bool>(graph: &Graph<'_, O, P>, trees: &Trees<'_, SHARED>) -> u32 {
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
