//! A parent for every reached vertex, from the distances alone, so that it does not depend on how they were found.
//!
//! Invariant: the parents form a tree that is rooted at the source, and the distance of a vertex is its parent's plus the
//! weight of an arc between them. The parent is the smallest such vertex that is nearer than its child. Where there is none
//! (arcs of length zero, or floats that absorb a weight) it is the smallest one at the same distance that is the fewest
//! arcs away from a vertex with a nearer parent, so that no cycle of arcs of length zero can form. Smallest is told by the
//! numbers that the caller knows the vertices by, so that a renumbered graph has the same tree.

use crate::fused::buckets::distance::Native;
use bitgraph_algorithms::UNREACHED;
use bitgraph_sparse::parallel;

/// The arcs of one direction, however they are stored.
pub(super) trait Arcs<D>: Sync {
    /// Calls `f(u, w)` for every arc between `v` and a `u`, of weight `w`.
    fn each(&self, v: u32, f: impl FnMut(u32, D));
}

/// Fills parents by a pull over incoming arcs, then a breadth-first search over what has no nearer parent. `numbers` are those that
/// decide among equals, none for the vertices' own. O(n + m).
pub(super) fn parents<D: Native>(
    distances: &[D],
    source: u32,
    incoming: &impl Arcs<D>,
    outgoing: &impl Arcs<D>,
    numbers: Option<&[u32]>,
) -> Vec<u32> {
    match numbers {
        None => smallest(distances, source, incoming, outgoing, &|v| v),
        // That of no vertex is the largest.
        Some(numbers) => smallest(distances, source, incoming, outgoing, &|v| numbers.get(v as usize).copied().unwrap_or(UNREACHED)),
    }
}

fn smallest<D: Native>(
    distances: &[D],
    source: u32,
    incoming: &impl Arcs<D>,
    outgoing: &impl Arcs<D>,
    number: &(impl Fn(u32) -> u32 + Sync),
) -> Vec<u32> {
    let mut parents: Vec<u32> = parallel::tabulate(distances.len(), 1024, |v| {
        let (v, d) = (v as u32, distances[v]);
        if v == source {
            return v;
        }
        let mut best = UNREACHED;
        if d != D::largest() {
            incoming.each(v, |u, w| {
                let from = distances[u as usize];
                if from < d && from.extend(w) == d && number(u) < number(best) {
                    best = u;
                }
            });
        }
        best
    });
    let level: Vec<u32> =
        (0..distances.len() as u32).filter(|&v| parents[v as usize] == UNREACHED && distances[v as usize] != D::largest()).collect();
    if !level.is_empty() {
        plateaus(distances, &level, &mut parents, incoming, outgoing, number);
    }
    parents
}

/// Gives the vertices of `open`, which are reached but have no nearer parent, one at their own distance.
fn plateaus<D: Native>(
    distances: &[D],
    open: &[u32],
    parents: &mut [u32],
    incoming: &impl Arcs<D>,
    outgoing: &impl Arcs<D>,
    number: &impl Fn(u32) -> u32,
) {
    let tight = |u: u32, w: D, d: D| distances[u as usize] == d && d.extend(w) == d;
    // The first level: children of vertices that have a parent already.
    let mut level: Vec<(u32, u32)> = Vec::new();
    for &v in open {
        let mut best = UNREACHED;
        incoming.each(v, |u, w| {
            if parents[u as usize] != UNREACHED && tight(u, w, distances[v as usize]) && number(u) < number(best) {
                best = u;
            }
        });
        if best != UNREACHED {
            level.push((v, best));
        }
    }
    while !level.is_empty() {
        for &(v, parent) in &level {
            parents[v as usize] = parent;
        }
        // Sorted by child, then parent's number: the first of each child is the smallest.
        let mut next: Vec<(u32, u32)> = Vec::new();
        for &(v, _) in &level {
            let d = distances[v as usize];
            outgoing.each(v, |u, w| {
                if parents[u as usize] == UNREACHED && tight(u, w, d) {
                    next.push((u, v));
                }
            });
        }
        next.sort_unstable_by_key(|&(child, parent)| (child, number(parent)));
        next.dedup_by_key(|pair| pair.0);
        level = next;
    }
}
