//! The built-in set: a planted partition whose communities are the classes, with words as features.

use super::{Dataset, Features, Labels, Result, Sizes, split};
use bitgraph_generate::{Control, Generator, Stream};
use bitgraph_sparse::{Buffer, Csr, Offsets};

/// Columns of the features that belong to a class.
const WORDS: u64 = 32;
/// Draws of a word for each node.
const DRAWS: u64 = 12;
/// The share of draws from the words of the node's own class. Alone they leave many nodes undecided, together with a neighbourhood few.
const OWN: f64 = 0.25;

/// Makes the set of the generator `planted:N:COMMUNITIES:DEGREE[:SEED]`: the class of a node is its community, its features are the words of
/// draws of which a quarter are from the class's own, and the split is drawn by the generator's seed. O(entries) expected.
///
/// # Errors
/// As [`Generator::generate`]; [`Error::Few`](super::Error::Few) for too few nodes.
pub fn planted(nodes: u64, communities: u64, degree: u64, seed: u64, control: &Control) -> Result<Dataset> {
    let generator = Generator::Planted { nodes, communities, degree, seed };
    let graph = generator.generate(control)?;
    let (rows, words) = (nodes as usize, Csr::ids(nodes, communities.saturating_mul(WORDS))?.1);
    // Communities are of consecutive vertices: community c begins at c * nodes / communities, rounded down.
    let class_of = |v: u64| ((v + 1) * communities - 1) / nodes;
    let (choice, word) = (Stream::new(seed, 0x63_686f_6963), Stream::new(seed, 0x77_6f72_6473));
    let (mut offsets, mut columns) = (vec![0usize], Vec::with_capacity((nodes * DRAWS) as usize));
    for v in 0..nodes {
        let mut row: Vec<u32> = (v * DRAWS..(v + 1) * DRAWS)
            .map(|i| {
                let own = choice.unit(i) < OWN;
                let drawn = if own { class_of(v) * WORDS + word.below(i, WORDS) } else { word.below(i, communities * WORDS) };
                drawn as u32
            })
            .collect();
        row.sort_unstable();
        row.dedup();
        columns.extend(row);
        offsets.push(columns.len());
    }
    let values = vec![1.0; columns.len()];
    let pattern = Csr::new(rows, words as usize, Offsets::from_usizes(&offsets), Buffer::from(columns))?;
    let labels = Labels::new((0..nodes).map(|v| class_of(v) as i32).collect(), communities as usize)?;
    let splits = vec![split::seeded(&labels, Sizes::fitting(&labels), seed)?];
    Dataset::new(generator.to_string(), graph, Features::sparse(pattern, values)?, labels, splits)
}
