//! Parents from levels: the smallest vertex of the level before that has an arc to the vertex.
//!
//! Invariant: a parent is decided by the graph and the source alone.

use crate::fused::tc::work::{Pool, chunks, sum_chunks};
use bitgraph_algorithms::UNREACHED;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::parallel::DisjointSlice;

/// The parent array of a search from `source` with these levels. Rows ascend, so the first hit is the smallest.
pub(super) fn smallest(offsets: &[u32], indices: &[u32], levels: &[u32], source: u32, control: &Control) -> Result<Vec<u32>> {
    let mut parents = vec![UNREACHED; levels.len()];
    let blocks = chunks(offsets, (indices.len() + levels.len()) / 64 + 4096);
    {
        let out = DisjointSlice::new(&mut parents);
        sum_chunks(blocks.len(), control, &Pool::<()>::default(), |(), chunk| {
            for v in blocks[chunk].clone() {
                let level = levels[v];
                let parent = match level {
                    UNREACHED => continue,
                    0 => source,
                    _ => {
                        let row = &indices[offsets[v] as usize..offsets[v + 1] as usize];
                        row.iter().copied().find(|&u| levels[u as usize] == level - 1).unwrap_or(UNREACHED)
                    }
                };
                // SAFETY: the chunks are disjoint ranges of vertices.
                #[allow(unsafe_code)]
                unsafe {
                    out.write(v, parent);
                }
            }
            0
        })?;
    }
    Ok(parents)
}
