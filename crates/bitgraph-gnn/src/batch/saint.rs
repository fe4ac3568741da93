//! GraphSAINT: subgraphs that drawn nodes induce, with a loss and sums over neighbours that are corrected for what is drawn more often.
//!
//! With `C` of so many subgraphs drawn beforehand holding a node or an entry, and each counted once more so that none has a count of 0:
//! the entry (i, j) weighs `C(i) / C(i, j)`, one over the estimated probability of the entry where its node is, so that sums of layers
//! estimate those over the whole row; the loss of a training node counts `subgraphs / (C(i) training nodes)`, so that a batch's loss
//! estimates the mean. Nodes keep the degrees of the whole graph. Source: Zeng, Zhou, Srivastava, Kannan, Prasanna, 2020, sections 3.2 to 3.4.

use super::draws::{Distribution, Draws, induced};
use super::{Batch, Sampler};
use crate::Error;
use crate::data::row_of;
use bitgraph_sparse::{Control, Csr, parallel};

/// How often a node is in the subgraphs that are drawn beforehand, in the mean: the paper's figure.
const COVERAGE: u64 = 50;
/// Subgraphs drawn beforehand at most.
const MOST: u64 = 10_000;
/// Nodes and entries that are drawn in any case: milliseconds, in which small graphs get better estimates.
const FREE: u64 = 1 << 20;
/// Subgraphs that are drawn side by side.
const ROUND: u64 = 64;
/// Estimates do not depend on the seed of a run.
const ESTIMATES: u64 = 0x7361_696e_7400;
const BATCHES: u64 = 0x7361_696e_7401;

enum Kind {
    Nodes(Distribution, u32),
    Edges(Distribution, u32),
    Walks(u32, u32),
}

/// A sampler with its estimates.
pub(super) struct Saint {
    kind: Kind,
    /// A weight for each entry of the graph.
    weights: Vec<f32>,
    /// For each node what its loss counts, before the division by the number of training nodes.
    losses: Vec<f64>,
    /// Subgraphs that have as many nodes as the graph, together.
    pub count: usize,
}

impl Saint {
    /// Draws subgraphs for the estimates. O(coverage * entries of what is drawn).
    pub fn new(graph: &Csr, sampler: &Sampler, control: &Control) -> Result<Self, Error> {
        let empty = || Error::Combination { what: "a sampler of edges", why: "the graph has none" };
        let inverse = |v: usize| 1.0 / graph.degree(v).max(1) as f64;
        let kind = match *sampler {
            Sampler::SaintNodes { size } => Kind::Nodes(Distribution::new(column_squares(graph).into_iter()).ok_or_else(empty)?, size),
            Sampler::SaintEdges { size } => {
                let of = (0..graph.nrows()).flat_map(|i| graph.row(i).iter().map(move |&j| inverse(i) + inverse(j as usize)));
                Kind::Edges(Distribution::new(of).ok_or_else(empty)?, size)
            }
            Sampler::SaintWalks { roots, length } => Kind::Walks(roots, length),
            _ => return Err(Error::Combination { what: "GraphSAINT", why: "the sampler is another one" }),
        };
        let mut made = Self { kind, weights: Vec::new(), losses: Vec::new(), count: 1 };
        made.estimate(graph, control)?;
        Ok(made)
    }
    fn estimate(&mut self, graph: &Csr, control: &Control) -> Result<(), Error> {
        let (mut nodes, mut entries) = (vec![0u32; graph.nrows()], vec![0u32; graph.nnz()]);
        let (mut drawn, mut covered, mut work, wanted) = (0u64, 0u64, 0u64, COVERAGE * graph.nrows() as u64);
        while drawn < MOST && (covered < wanted || work < FREE) {
            control.step(covered.min(wanted), Some(wanted))?;
            let first = drawn;
            let round = parallel::collect(ROUND as usize, |k| {
                let drawn = self.nodes(graph, Draws::new(0, ESTIMATES, (0, first + k as u64)));
                let places = induced(graph, &drawn).1;
                (drawn, places)
            });
            for (subgraph, places) in round {
                covered += subgraph.len() as u64;
                work += (subgraph.len() + places.len()) as u64;
                subgraph.iter().for_each(|&v| nodes[v as usize] += 1);
                places.iter().for_each(|&e| entries[e] += 1);
            }
            drawn += ROUND;
        }
        let once_more = |count: u32| f64::from(count) + 1.0;
        self.losses = nodes.iter().map(|&c| (drawn as f64 + 1.0) / once_more(c)).collect();
        let rows = (0..graph.nrows()).flat_map(|i| graph.row_range(i).map(move |e| (i, e)));
        self.weights = rows.map(|(i, e)| (once_more(nodes[i]) / once_more(entries[e])) as f32).collect();
        self.count = (graph.nrows() as u64 * drawn).div_ceil(covered.max(1)).max(1) as usize;
        Ok(())
    }
    /// The nodes of a subgraph, ascending.
    fn nodes(&self, graph: &Csr, mut draws: Draws) -> Vec<u32> {
        let mut all = Vec::new();
        match &self.kind {
            Kind::Nodes(by, size) => all.extend((0..*size).map(|_| by.draw(&mut draws) as u32)),
            Kind::Edges(by, size) => {
                for _ in 0..*size {
                    let entry = by.draw(&mut draws);
                    all.extend([row_of(graph, entry) as u32, graph.indices()[entry]]);
                }
            }
            Kind::Walks(roots, length) => {
                for _ in 0..*roots {
                    let mut at = draws.below(graph.nrows()) as u32;
                    all.push(at);
                    for _ in 0..*length {
                        let neighbours = graph.row(at as usize);
                        if neighbours.is_empty() {
                            break;
                        }
                        at = neighbours[draws.below(neighbours.len())];
                        all.push(at);
                    }
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
    /// A batch of a run.
    pub fn batch(&self, graph: &Csr, seed: u64, (epoch, index): (u32, usize), is_trained: impl Fn(u32) -> bool, trained: usize) -> Batch {
        let nodes = self.nodes(graph, Draws::new(seed, BATCHES, (epoch, index as u64)));
        let (pattern, places) = induced(graph, &nodes);
        let share = |&v: &u32| if is_trained(v) { (self.losses[v as usize] / trained as f64) as f32 } else { 0.0 };
        Batch {
            seeds: 0,
            degrees: nodes.iter().map(|&v| graph.degree(v as usize)).collect(),
            weights: Some(places.iter().map(|&e| self.weights[e]).collect()),
            shares: nodes.iter().map(share).collect(),
            nodes,
            pattern,
        }
    }
}

/// For each node the sum over those that hear from it of one over their degrees, squared: by it the sampler of nodes draws.
fn column_squares(graph: &Csr) -> Vec<f64> {
    let mut sums = vec![0.0; graph.ncols()];
    for i in 0..graph.nrows() {
        let square = 1.0 / (graph.degree(i).max(1) as f64).powi(2);
        graph.row(i).iter().for_each(|&j| sums[j as usize] += square);
    }
    sums
}
