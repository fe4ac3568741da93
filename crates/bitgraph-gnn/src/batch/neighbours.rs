//! Neighbour sampling: the training nodes of a batch, so many of their neighbours, so many of theirs.
//!
//! The result is one graph with the training nodes first, not a block for each layer: every layer runs over all of it. A row of a node that
//! was expanded has `min(degree, fan-out)` of its entries, each with the weight degree / taken, and nodes keep the degrees of the whole
//! graph: sums and means over a row are unbiased estimates of those over the whole row, in GCN's normalisation too, and are those of the
//! whole graph where the fan-out is not below the degree. A node is expanded once, by the fan-out of the hop that it was met first in; nodes
//! of the last hop have rows without entries. Source: Hamilton, Ying, Leskovec, 2017.
//!
//! Which entries are taken and how nodes are numbered is defined with the operation of a backend that draws the same batches,
//! [`NeighboursOp`](bitgraph_tensor::ops::NeighboursOp); this is the loop over rows and draws.

use super::Batch;
use super::draws::Numbering;
use bitgraph_generate::Stream;
use bitgraph_sparse::{Csr, Offsets};

/// What distinguishes the draws of this sampler from those of others.
const NEIGHBOURS: u64 = 0x6261_7463_6865_7301;

/// The key by which a batch of neighbours is drawn: a function of the seed, the epoch and the batch's number. What a backend draws by it is
/// [`Batches::batch`](super::Batches::batch).
#[must_use]
pub fn key(seed: u64, (epoch, batch): (u32, usize)) -> u64 {
    let of_epoch = Stream::new(seed, NEIGHBOURS).bits(epoch.into());
    Stream::new(of_epoch, batch as u64).bits(0)
}

/// The sample around nodes that differ from each other. O(entries taken + their logarithms).
pub(super) fn around(graph: &Csr, seeds: &[u32], fanouts: &[u32], key: u64) -> Batch {
    let mut numbering = Numbering::default();
    for &v in seeds {
        numbering.number(v);
    }
    let (mut rows, mut chosen) = (Vec::new(), Chosen::default());
    for &most in fanouts {
        for number in rows.len()..numbering.nodes().len() {
            let v = numbering.nodes()[number];
            let neighbours = graph.row(v as usize);
            chosen.choose(Stream::new(key, v.into()), neighbours.len(), most as usize);
            let mut row: Vec<u32> = chosen.drawn.iter().map(|&k| numbering.number(neighbours[k])).collect();
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

/// Different numbers below another one.
#[derive(Default)]
struct Chosen {
    /// In the order of their draws.
    drawn: Vec<usize>,
    sorted: Vec<usize>,
}

impl Chosen {
    /// `most` different numbers below `n`; all, ascending, where there are no more. O(most). Source: Floyd's method (Bentley, 1987).
    fn choose(&mut self, row: Stream, n: usize, most: usize) {
        self.drawn.clear();
        if n <= most {
            self.drawn.extend(0..n);
            return;
        }
        self.sorted.clear();
        for (i, last) in (n - most..n).enumerate() {
            let drawn = row.below(i as u64, last as u64 + 1) as usize;
            match self.sorted.binary_search(&drawn) {
                // `last` is above all that were chosen.
                Ok(_) => {
                    self.sorted.push(last);
                    self.drawn.push(last);
                }
                Err(at) => {
                    self.sorted.insert(at, drawn);
                    self.drawn.push(drawn);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_distinct_and_even() {
        let (mut counts, mut firsts, mut pairs) = ([0u32; 10], [0u32; 10], [[0u32; 10]; 10]);
        let mut chosen = Chosen::default();
        for row in 0..4000 {
            chosen.choose(Stream::new(key(1, (1, 0)), row), 10, 3);
            let mut sorted = chosen.drawn.clone();
            sorted.sort_unstable();
            assert!(sorted.len() == 3 && sorted.windows(2).all(|w| w[0] < w[1]) && sorted[2] < 10);
            firsts[chosen.drawn[0]] += 1;
            sorted.iter().for_each(|&c| counts[c] += 1);
            pairs[sorted[0]][sorted[1]] += 1;
            pairs[sorted[0]][sorted[2]] += 1;
            pairs[sorted[1]][sorted[2]] += 1;
        }
        // 1200 are expected, with a deviation of 29; of each pair 267, with a deviation of 16.
        assert!(counts.iter().all(|c| (1080..1320).contains(c)), "{counts:?}");
        for a in 0..10 {
            assert!(pairs[a][a + 1..].iter().all(|c| (195..340).contains(c)), "{pairs:?}");
        }
        // The first draw is below 8.
        assert!(firsts[..8].iter().all(|c| (410..590).contains(c)) && firsts[8..] == [0, 0], "{firsts:?}");
        for n in [0, 2, 3] {
            chosen.choose(Stream::new(7, 0), n, 3);
            assert_eq!(chosen.drawn, (0..n).collect::<Vec<_>>());
        }
    }
    #[test]
    fn keys_differ_by_seed_epoch_and_batch() {
        let mut all: Vec<u64> = (0..4).flat_map(|s| (1..5).flat_map(move |e| (0..6).map(move |b| key(s, (e, b))))).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4 * 4 * 6);
    }
}
