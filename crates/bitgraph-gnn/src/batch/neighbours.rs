//! Neighbour sampling: the training nodes of a batch, so many of their neighbours, so many of theirs.
//!
//! The result is one graph with the training nodes first, not a block for each layer: every layer runs over all of it. A row of a node that
//! was expanded has `min(degree, fan-out)` of its entries, each with the weight degree / taken, and nodes keep the degrees of the whole
//! graph: sums and means over a row are unbiased estimates of those over the whole row, in GCN's normalisation too, and are those of the
//! whole graph where the fan-out is not below the degree. A node is expanded once, by the fan-out of the hop that it was met first in; nodes
//! of the last hop have rows without entries. Source: Hamilton, Ying, Leskovec, 2017.

use super::Batch;
use super::draws::{Draws, Numbering};
use bitgraph_sparse::{Csr, Offsets};

/// The sample around nodes that differ from each other. O(entries taken + their logarithms).
pub(super) fn around(graph: &Csr, seeds: &[u32], fanouts: &[u32], mut draws: Draws) -> Batch {
    let mut numbering = Numbering::default();
    for &v in seeds {
        numbering.number(v);
    }
    let (mut rows, mut chosen) = (Vec::new(), Vec::new());
    for &most in fanouts {
        for number in rows.len()..numbering.nodes().len() {
            let neighbours = graph.row(numbering.nodes()[number] as usize);
            draws.choose(neighbours.len(), most as usize, &mut chosen);
            let mut row: Vec<u32> = chosen.iter().map(|&k| numbering.number(neighbours[k])).collect();
            row.sort_unstable();
            rows.push(row);
        }
    }
    let nodes = numbering.into_nodes();
    let degrees: Vec<usize> = nodes.iter().map(|&v| graph.degree(v as usize)).collect();
    let (mut offsets, mut ids, mut weights) = (vec![0], Vec::new(), Vec::new());
    for (number, &degree) in degrees.iter().enumerate() {
        if let Some(row) = rows.get(number) {
            ids.extend_from_slice(row);
            weights.extend(row.iter().map(|_| (degree as f64 / row.len() as f64) as f32));
        }
        offsets.push(ids.len());
    }
    let pattern = Csr::from_valid(nodes.len(), nodes.len(), Offsets::from_usizes(&offsets), ids.into());
    Batch { nodes, seeds: seeds.len(), pattern, degrees, weights: Some(weights), shares: Vec::new() }
}
