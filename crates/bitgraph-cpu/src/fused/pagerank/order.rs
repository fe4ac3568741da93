//! Renumbering for one layout: by degree, which puts the scores that are read most often side by side, or so that neighbours
//! in a mesh are near each other.
//!
//! Invariant: vertices of equal degree keep their order.

use crate::cost::scattered_mesh;
use bitgraph_backend::Result;
use bitgraph_sparse::ordering::rcm;
use bitgraph_sparse::{Csr, Permutation};

/// Scores that a core's first cache holds.
const NEAR: usize = 8192;
/// Nanoseconds that an entry costs to renumber, and that a read from the first cache saves.
const RENUMBER: f64 = 14.0;
const SAVED: f64 = 0.35;

/// Nanoseconds that an entry and a vertex cost to bring into the order of Cuthill-McKee, and that an entry then saves a pass.
const LOCAL: [f64; 2] = [45.0, 60.0];
const SAVED_NEAR: f64 = 1.2;

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

/// Whether renumbering takes less time than it saves in so many passes: where few vertices have most of the arcs.
pub(super) fn pays(incoming: &Csr, degrees: &[u32], passes: u32) -> bool {
    let n = degrees.len();
    if n <= 2 * NEAR {
        return false;
    }
    let (mut vertices, mut arcs) = (0, 0u64);
    for (degree, &count) in histogram(degrees).iter().enumerate().rev() {
        let taken = count.min(NEAR - vertices);
        vertices += taken;
        arcs += taken as u64 * degree as u64;
        if vertices == NEAR {
            break;
        }
    }
    let gain = arcs as f64 / incoming.nnz().max(1) as f64 - NEAR as f64 / n as f64;
    gain * SAVED * f64::from(passes) > RENUMBER
}

/// The order of Cuthill-McKee for a mesh numbered at random, if it saves more in so many passes than it costs.
pub(super) fn local(incoming: &Csr, passes: u32) -> Option<Permutation> {
    let (entries, nodes) = (incoming.nnz() as f64, incoming.nrows() as f64);
    let saved = SAVED_NEAR * entries * f64::from(passes);
    (saved > LOCAL[0] * entries + LOCAL[1] * nodes && scattered_mesh(incoming)).then(|| rcm(incoming))
}
