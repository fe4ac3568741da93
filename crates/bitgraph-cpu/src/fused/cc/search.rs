//! Components by a breadth-first search that keeps a bitmap of visited vertices and nothing else.
//!
//! From the vertex of largest degree top-down until enough vertices are visited, then bottom-up over the unvisited ones, in place, until that finds
//! little more. What is left (small components, tails of the large one) goes through a [`Forest`]. Isolated vertices count as visited, for the
//! search and the forest need not look at them.
//!
//! With hubs, whose entries lead to most of the vertices, a sixteenth of them is enough, or half of that where a level is visited as a whole. Where
//! degrees are alike so many are that two entries of a row lead to one in the mean, from a quarter to an eighth, and no more of a level is visited
//! than that takes: uniform graphs of 6 to 16 entries per vertex then took .4 to .7 times as long as with a sixteenth.
//!
//! Invariant: a set bit is a vertex of the component searched for or an isolated one; a chunk is a range of whole words, and
//! only whoever works on a chunk writes its words, labels and stretch of the queue.
//!
//! Source: the switch of direction is that of Beamer et al. (SC 2012).

use super::forest::Forest;
use super::graph::{Graph, Width, atomic};
use super::kernel::{Kernel, Top};
use super::{Counts, largest_of, written};
use crate::team::Team;
use crate::trace;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Top-down levels after which a graph is taken to be long.
const LEVELS: u32 = 8;
/// Degrees are alike where none is larger than the mean by this factor.
const HUB: usize = 16;
/// Another bottom-up pass is made while one finds at least one in so many of the vertices.
const WORTH_A_PASS: usize = 64;
/// Words of a chunk at least.
const CHUNK: usize = 256;
/// Entries of a level, about, from which on all threads visit their ends.
const WIDE: usize = 1 << 13;
/// Vertices of such a level that a thread takes at once.
const PART: usize = 64;

/// Memory that runs share.
#[derive(Default)]
pub(super) struct Scratch {
    visited: Vec<u64>,
    isolated: Vec<u64>,
    next: Vec<u64>,
    private: Vec<Mutex<(u64, Vec<u64>)>>,
    pub(super) queue: Vec<u32>,
    /// Of hooking, where it leaves more than one tree.
    pub(super) parents: Vec<u32>,
    pub(super) pairs: Vec<Mutex<super::pairs::Pairs>>,
}

impl Scratch {
    /// Makes room for a graph of `n` vertices and a team.
    pub(super) fn reserve(&mut self, n: usize, workers: usize) {
        let words = n.div_ceil(64);
        self.visited.resize(words, 0);
        self.isolated.resize(words, 0);
        // Vector stores reach past the last element written.
        self.queue.resize(n + 64, 0);
        self.private.resize_with(workers.max(self.private.len()), Mutex::default);
        if workers > 1 {
            self.next.resize(words, 0);
        }
    }
}

/// Labels all vertices; `None` if the search does not reach much of the graph in few levels.
pub(super) fn search<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    labels: &mut [MaybeUninit<u32>],
    scratch: &mut Scratch,
    kernel: Kernel,
    team: &Team<'_>,
    control: &Control,
) -> Result<Option<Counts>> {
    let n = graph.nodes;
    let words = n.div_ceil(64);
    let chunks = if team.workers() == 1 { 1 } else { (words / CHUNK).clamp(1, team.workers() * 4) };
    let range = |chunk: usize| chunk * words / chunks..(chunk + 1) * words / chunks;
    let Scratch { visited, isolated, next, private, queue, .. } = scratch;
    let source = scan(graph, isolated, kernel, team, chunks, &range);
    visited.copy_from_slice(isolated);
    control.check()?;
    let degree = (graph.entries() / n).max(1);
    let alike = graph.degree(source as usize) <= HUB * degree;
    // An isolated source alone is no search.
    let worth = (n / 16).max(2);
    let target = if alike { (n / (degree / 2).clamp(4, 8)).max(2) } else { worth };
    let wide = if chunks == 1 && !alike { usize::MAX } else { WIDE / degree };
    let Some(top) = kernel.top_down(graph, visited, queue, source, (worth, target), LEVELS, wide) else { return Ok(None) };
    let enough = if top.level.is_empty() {
        top.visited >= worth
    } else {
        let (target, each) = if alike { (target, degree) } else { (worth / 2, 0) };
        widen(graph, visited, private, queue, &top, (target, each), team, chunks, &range) >= worth / 2
    };
    if !enough {
        // The component is exhausted and small, or long: there is no giant here, or not at hand.
        return Ok(None);
    }
    control.check()?;
    bottom_up(graph, visited, next, private, kernel, team, chunks, &range, control)?;
    Ok(Some(label(graph, visited, isolated, queue, labels, kernel, team, chunks, &range, control)?))
}

/// Marks isolated vertices; the vertex of largest degree.
fn scan<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    isolated: &mut [u64],
    kernel: Kernel,
    team: &Team<'_>,
    chunks: usize,
    range: &(impl Fn(usize) -> Range<usize> + Sync),
) -> u32 {
    let max_degree = Mutex::new((0, std::cmp::Reverse(u32::MAX)));
    let out = DisjointSlice::new(isolated);
    team.run(chunks, |_, chunk| {
        // SAFETY: chunks are disjoint ranges of words.
        #[allow(unsafe_code)]
        let (degree, v) = kernel.scan(graph, unsafe { out.range(range(chunk)) }, range(chunk).start);
        if let Ok(mut best) = max_degree.lock() {
            *best = (*best).max((degree, std::cmp::Reverse(v)));
        }
    });
    max_degree.into_inner().map_or(0, |(_, std::cmp::Reverse(v))| v)
}

/// Goes on top-down from a wide level, on all threads, until so many vertices are visited; how many are. Where each vertex has so many entries,
/// a level ends with those that lead to as many. A team's workers set bits of their own, which are joined at the end of a level.
fn widen<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    visited: &mut [u64],
    private: &mut [Mutex<(u64, Vec<u64>)>],
    queue: &mut [u32],
    top: &Top,
    (target, each): (usize, usize),
    team: &Team<'_>,
    chunks: usize,
    range: &(impl Fn(usize) -> Range<usize> + Sync),
) -> usize {
    trace::enter("cc: top-down by all");
    let (n, words) = (graph.nodes, visited.len());
    let vertices = |chunk: usize| range(chunk).start * 64..(range(chunk).end * 64).min(n);
    let mut level = queue[top.level.clone()].to_vec();
    let mut found = top.visited;
    forget(private);
    for pass in 1..=u64::from(top.levels) {
        if each > 0 {
            // One in five entries leads to what is visited, in the mean.
            level.truncate((target.saturating_sub(found) * 5 / 4).div_ceil(each));
        }
        team.run(level.len().div_ceil(PART), |worker, part| {
            let Ok(mut own) = private[worker].lock() else { return };
            let (seen, bits) = &mut *own;
            if *seen != pass {
                *seen = pass;
                bits.clear();
                bits.resize(words, 0);
            }
            for &v in level.iter().skip(part * PART).take(PART) {
                graph.lists(v as usize).into_iter().flatten().for_each(|&u| bits[u as usize >> 6] |= 1 << (u & 63));
            }
        });
        let all = private.iter_mut().filter_map(|own| own.get_mut().ok());
        let all: Vec<&[u64]> = all.filter(|own| own.0 == pass).map(|own| &own.1[..]).collect();
        let lengths: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
        let (bits, queues) = (DisjointSlice::new(&mut *visited), DisjointSlice::new(&mut *queue));
        team.run(chunks, |_, chunk| {
            // SAFETY: chunks are disjoint ranges of words, and so of vertices.
            #[allow(unsafe_code)]
            let (visited, list) = unsafe { (bits.range(range(chunk)), queues.range(vertices(chunk))) };
            let mut length = 0;
            for (i, word) in range(chunk).zip(visited) {
                let mut new = all.iter().fold(0, |bits, own| bits | own[i]) & !*word;
                *word |= new;
                while new != 0 {
                    list[length] = (i * 64) as u32 + new.trailing_zeros();
                    length += 1;
                    new &= new - 1;
                }
            }
            lengths[chunk].store(length, Relaxed);
        });
        let lengths: Vec<usize> = lengths.into_iter().map(AtomicUsize::into_inner).collect();
        let new = lengths.iter().sum::<usize>();
        found += new;
        if found >= target || new == 0 {
            break;
        }
        level.clear();
        lengths.iter().enumerate().for_each(|(chunk, &length)| level.extend_from_slice(&queue[vertices(chunk).start..][..length]));
    }
    found
}

/// Has workers begin their own bitmaps anew.
fn forget(private: &mut [Mutex<(u64, Vec<u64>)>]) {
    private.iter_mut().filter_map(|own| own.get_mut().ok()).for_each(|own| own.0 = 0);
}

/// Bottom-up passes. A team's workers work in place on bitmaps of their own and publish their chunks at the end of a pass.
fn bottom_up<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    visited: &mut Vec<u64>,
    next: &mut Vec<u64>,
    private: &mut [Mutex<(u64, Vec<u64>)>],
    kernel: Kernel,
    team: &Team<'_>,
    chunks: usize,
    range: &(impl Fn(usize) -> Range<usize> + Sync),
    control: &Control,
) -> Result<()> {
    let worth = graph.nodes / WORTH_A_PASS;
    trace::enter(if chunks == 1 { "cc: bottom-up by one" } else { "cc: bottom-up by all" });
    if chunks == 1 {
        while kernel.bottom_up(graph, visited, range(0)) > worth {
            control.check()?;
        }
        return Ok(());
    }
    forget(private);
    for pass in 1.. {
        let found = AtomicUsize::new(0);
        let out = DisjointSlice::new(next);
        let before = &visited[..];
        team.run(chunks, |worker, chunk| {
            let Ok(mut own) = private[worker].lock() else { return };
            let (seen, bits) = &mut *own;
            if *seen != pass {
                *seen = pass;
                bits.clear();
                bits.extend_from_slice(before);
            }
            found.fetch_add(kernel.bottom_up(graph, bits, range(chunk)), Relaxed);
            // SAFETY: chunks are disjoint ranges of words.
            #[allow(unsafe_code)]
            unsafe { out.range(range(chunk)) }.copy_from_slice(&bits[range(chunk)]);
        });
        std::mem::swap(visited, next);
        control.check()?;
        if found.into_inner() <= worth {
            break;
        }
    }
    Ok(())
}

/// Labels the visited, and joins the others among themselves and, where the search stopped short, with the visited.
fn label<O: Width, const P: usize>(
    graph: &Graph<'_, O, P>,
    visited: &[u64],
    isolated: &[u64],
    queue: &mut [u32],
    labels: &mut [MaybeUninit<u32>],
    kernel: Kernel,
    team: &Team<'_>,
    chunks: usize,
    range: &(impl Fn(usize) -> Range<usize> + Sync),
    control: &Control,
) -> Result<Counts> {
    let n = graph.nodes;
    let of_word = |i: usize| visited[i] & !isolated[i];
    let giant = (0..visited.len()).find(|&i| of_word(i) != 0).map_or(0, |i| (i * 64) as u32 + of_word(i).trailing_zeros());
    let vertices = |chunk: usize| range(chunk).start * 64..(range(chunk).end * 64).min(n);
    let rests: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
    let (inside, alone) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (out, queues) = (DisjointSlice::new(&mut *labels), DisjointSlice::new(&mut *queue));
    team.run(chunks, |_, chunk| {
        let words = range(chunk);
        // SAFETY: chunks are disjoint ranges of words, and so of vertices.
        #[allow(unsafe_code)]
        let (labels, rest) = unsafe { (out.range(vertices(chunk)), queues.range(vertices(chunk))) };
        let found = kernel.label(&visited[words.clone()], &isolated[words.clone()], words.start * 64, giant, labels, rest);
        rests[chunk].store(found.rest, Relaxed);
        inside.fetch_add(found.giant, Relaxed);
        alone.fetch_add(found.isolated, Relaxed);
    });
    control.check()?;
    let rest = |chunk: usize| &queue[vertices(chunk).start..][..rests[chunk].load(Relaxed)];
    let cells = atomic(labels);
    let (forest, shared) = (Forest::<false>::new(cells), Forest::<true>::new(cells));
    let total: usize = rests.iter().map(|r| r.load(Relaxed)).sum();
    let few = total < 1 << 14;
    trace::enter(if few { "cc: rest by one" } else { "cc: rest by all" });
    let join = |chunk: usize| {
        for &v in rest(chunk) {
            for list in graph.lists(v as usize) {
                for &u in list {
                    if few {
                        forest.join(u, v);
                    } else {
                        shared.join(u, v);
                    }
                }
            }
        }
    };
    if few {
        (0..chunks).for_each(join)
    } else {
        team.run(chunks, |_, chunk| join(chunk))
    }
    control.check()?;
    let root = forest.find(giant);
    if root != giant {
        trace::enter("cc: a tail of the giant");
        // A tail of the giant has its smallest vertex.
        team.run(chunks, |_, chunk| {
            for v in vertices(chunk) {
                let v = v as u32;
                if forest.parent(v) == giant {
                    forest.set(v, root);
                }
            }
        });
    }
    let (joined, roots) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let settle = |chunk: usize| {
        let (mut j, mut r) = (0, 0);
        for &v in rest(chunk) {
            let label = shared.find(v);
            shared.set(v, label);
            j += usize::from(label == root);
            r += usize::from(label == v && label != root);
        }
        joined.fetch_add(j, Relaxed);
        roots.fetch_add(r, Relaxed);
    };
    if few {
        (0..chunks).for_each(settle)
    } else {
        team.run(chunks, |_, chunk| settle(chunk))
    }
    let joined = joined.into_inner();
    let size = inside.into_inner() + joined;
    // SAFETY: every chunk's labels were written before the others were joined.
    #[allow(unsafe_code)]
    let labels = unsafe { written(labels) };
    let components = (1 + alone.into_inner() + roots.into_inner()) as u64;
    Ok(Counts { components, largest: largest_of(labels, size, total - joined) })
}
