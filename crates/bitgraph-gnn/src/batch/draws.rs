//! What samplers draw by: random numbers of a batch, distributions, local numbers of nodes, and what nodes induce.

use bitgraph_generate::Stream;
use bitgraph_sparse::{Csr, Offsets};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Random numbers of one batch: a function of the seed, the epoch and the batch, whichever thread draws.
pub(super) struct Draws {
    stream: Stream,
    next: u64,
}

impl Draws {
    pub fn new(seed: u64, purpose: u64, (epoch, batch): (u32, u64)) -> Self {
        let of_epoch = Stream::new(seed, purpose).bits(epoch.into());
        Self { stream: Stream::new(of_epoch, batch), next: 0 }
    }
    fn advance(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let at = self.advance();
        self.stream.below(at, n as u64) as usize
    }
    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        let at = self.advance();
        self.stream.unit(at)
    }
}

/// A distribution over `0..len`, as sums of its weights up to each element.
pub(super) struct Distribution(Vec<f64>);

impl Distribution {
    /// Of weights of 0 or more; none if all are 0. O(weights).
    pub fn new(weights: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .map(|w| {
                sum += w;
                sum
            })
            .collect();
        (sum > 0.0).then_some(Self(sums))
    }
    /// An element. O(log len).
    pub fn draw(&self, draws: &mut Draws) -> usize {
        let all = self.0[self.0.len() - 1];
        let at = draws.unit() * all;
        // A product that is rounded up may be the whole sum: the last element of a weight above 0 then.
        let found = self.0.partition_point(|sum| *sum <= at);
        if found < self.0.len() { found } else { self.0.partition_point(|sum| *sum < all) }
    }
}

/// Nodes of a batch and their numbers in it.
#[derive(Default)]
pub(super) struct Numbering {
    nodes: Vec<u32>,
    of: HashMap<u32, u32, BuildHasherDefault<Scatter>>,
}

impl Numbering {
    /// The number of a node, the next one for a node that is new.
    pub fn number(&mut self, node: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.of.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
        }
        number
    }
    /// The nodes, by their numbers.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }
    /// The nodes, by their numbers.
    pub fn into_nodes(self) -> Vec<u32> {
        self.nodes
    }
}

/// A hash of numbers of nodes. It is quick, and not hardened against numbers that are chosen to collide.
#[derive(Default)]
pub(super) struct Scatter(u64);

impl Hasher for Scatter {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }
    fn write_u32(&mut self, node: u32) {
        self.0 = bitgraph_generate::mix64(self.0 ^ u64::from(node));
    }
}

/// The entries between nodes, which ascend: the pattern by their numbers, and where each entry is in the graph. O(entries of their rows).
pub(super) fn induced(graph: &Csr, nodes: &[u32]) -> (Csr, Vec<usize>) {
    let mut numbers: HashMap<u32, u32, BuildHasherDefault<Scatter>> = HashMap::with_capacity_and_hasher(nodes.len(), Default::default());
    numbers.extend((0u32..).zip(nodes).map(|(number, &v)| (v, number)));
    let (mut offsets, mut ids, mut places) = (vec![0], Vec::new(), Vec::new());
    for &v in nodes {
        for e in graph.row_range(v as usize) {
            if let Some(&number) = numbers.get(&graph.indices()[e]) {
                ids.push(number);
                places.push(e);
            }
        }
        offsets.push(ids.len());
    }
    (Csr::from_valid(nodes.len(), nodes.len(), Offsets::from_usizes(&offsets), ids.into()), places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_follow_their_weights() {
        assert!(Distribution::new([0.0, 0.0].into_iter()).is_none());
        let of = Distribution::new([0.0, 1.0, 3.0, 0.0].into_iter()).unwrap();
        let mut draws = Draws::new(3, 4, (1, 1));
        let mut counts = [0u32; 4];
        (0..4000).for_each(|_| counts[of.draw(&mut draws)] += 1);
        assert!(counts[0] == 0 && counts[3] == 0 && (850..1150).contains(&counts[1]), "{counts:?}");
    }
}
