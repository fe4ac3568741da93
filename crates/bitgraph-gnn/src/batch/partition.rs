//! Parts of a graph with few edges between them, by METIS.
//!
//! Invariant: every node is in one part; the same graph, number of parts and version of METIS give the same parts.

use crate::Error;
use bitgraph_sparse::{Csr, parallel};
use std::sync::{Mutex, PoisonError};

/// The seed of METIS's choices.
const SEED: i32 = 1;
/// Up to so many parts METIS's manual advises halves of halves.
const HALVED: u32 = 8;
/// METIS draws by the random numbers of the C library, whose state is the process's.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The part of every node of a square pattern, 0 to below `parts`; a part may be empty. Both directions of an edge count as one edge, and
/// loops count for nothing. METIS reports no progress, and is not stopped. Source: Karypis, Kumar, 1998.
///
/// # Errors
/// [`Error::Partition`] for more parts than nodes, a graph whose counts are not below 2^31 (METIS is built with ids of 32 bits), or one that
/// METIS has no memory for.
pub fn partition(pattern: &Csr, parts: u32) -> Result<Vec<u32>, Error> {
    let symmetric = undirected(pattern);
    let (nodes, entries) = (pattern.nrows() as u64, symmetric.nnz() as u64);
    let refused = |why: &str| Error::Partition { nodes, entries, parts, why: why.to_owned() };
    if !pattern.is_square() {
        return Err(refused("the pattern is not square"));
    }
    if parts == 0 || u64::from(parts) > nodes {
        return Err(refused("there must be a part or more, and at most as many as nodes"));
    }
    if nodes.max(entries).max(parts.into()) >= 1 << 31 {
        return Err(refused("its ids have 32 bits, so that all counts must be below 2^31"));
    }
    if parts == 1 {
        return Ok(vec![0; pattern.nrows()]);
    }
    let offsets: Vec<i32> = (0..=symmetric.nrows()).map(|i| symmetric.offsets().get(i) as i32).collect();
    let neighbours: Vec<i32> = symmetric.indices().iter().map(|&j| j as i32).collect();
    let mut found = vec![0i32; pattern.nrows()];
    let graph = metis::Graph::new(1, parts as i32, &offsets, &neighbours).map_err(|e| refused(&e.to_string()))?;
    let graph = graph.set_option(metis::option::Seed(SEED));
    {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = if parts <= HALVED { graph.part_recursive(&mut found) } else { graph.part_kway(&mut found) };
        cut.map_err(|e| refused(&e.to_string()))?;
    }
    found
        .into_iter()
        .map(|p| u32::try_from(p).ok().filter(|p| *p < parts).ok_or_else(|| refused("it named a part that there is not")))
        .collect()
}

/// The pattern with both directions of every edge, without loops.
fn undirected(pattern: &Csr) -> Csr {
    let (bare, _) = pattern.filter_with_positions(|i, j| i != j);
    if bare.is_symmetric() {
        return bare;
    }
    let other = bare.transpose();
    let rows = parallel::collect(bare.nrows(), |i| {
        let mut row = [bare.row(i), other.row(i)].concat();
        row.sort_unstable();
        row.dedup();
        row
    });
    let mut offsets = vec![0usize];
    rows.iter().for_each(|row| offsets.push(offsets[offsets.len() - 1] + row.len()));
    Csr::from_valid(bare.nrows(), bare.nrows(), bitgraph_sparse::Offsets::from_usizes(&offsets), rows.concat().into())
}
