//! Renumbering for one layout: by degree, which puts the scores that are read most often side by side.
//!
//! Invariant: vertices of equal degree keep their order.

use crate::spmv::LINE;
use bitgraph_backend::Result;
use bitgraph_sparse::Permutation;

/// Scores that a core's first cache holds.
const NEAR: usize = 8192;
/// Nanoseconds that an entry costs to renumber, and that a read from the first cache saves.
pub(super) const RENUMBER: f64 = 14.0;
pub(super) const SAVED: f64 = 0.35;

/// The number of vertices of every degree.
fn histogram(degrees: &[u32]) -> Vec<usize> {
    let mut counts = vec![0usize; degrees.iter().copied().max().map_or(0, |d| d as usize) + 1];
    degrees.iter().for_each(|&d| counts[d as usize] += 1);
    counts
}

/// The vertices by falling degree. O(n).
pub(super) fn by_degree(degrees: &[u32]) -> Result<Permutation> {
    let mut places = histogram(degrees);
    let mut next = 0;
    for place in places.iter_mut().rev() {
        next += std::mem::replace(place, next);
    }
    let new_of_old = degrees
        .iter()
        .map(|&d| {
            let place = &mut places[d as usize];
            *place += 1;
            (*place - 1) as u32
        })
        .collect();
    Ok(Permutation::from_new_of_old(new_of_old)?)
}

/// Lines of scores in this order, and the arcs that each has: alike in all of them that have vertices of one degree.
pub(super) fn lines(degrees: &[u32]) -> impl Iterator<Item = (f64, f64)> {
    histogram(degrees)
        .into_iter()
        .enumerate()
        .filter(|(_, count)| *count > 0)
        .map(|(degree, count)| (count as f64 / LINE, degree as f64 * LINE))
}

/// The share of the arcs that the vertices of highest degree which the first cache holds have beyond their share of the vertices: what
/// renumbering by degree makes near.
pub(super) fn gain(degrees: &[u32]) -> f64 {
    let n = degrees.len();
    if n <= 2 * NEAR {
        return 0.0;
    }
    let (mut vertices, mut arcs, mut all) = (0, 0u64, 0u64);
    for (degree, &count) in histogram(degrees).iter().enumerate().rev() {
        let taken = count.min(NEAR - vertices);
        vertices += taken;
        arcs += taken as u64 * degree as u64;
        all += count as u64 * degree as u64;
    }
    arcs as f64 / all.max(1) as f64 - NEAR as f64 / n as f64
}
