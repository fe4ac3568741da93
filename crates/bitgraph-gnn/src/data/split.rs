//! Which nodes are for training, validation and test: checks, masks, and splits drawn by a seed.

use super::{Error, Labels, Result};
use crate::Nodes;
use bitgraph_generate::Stream;

/// Sizes of the parts of a split that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// So many of each class for training (of a class with fewer than twice as many, half), and so many of the others.
    PerClass {
        /// Nodes of each class for training.
        train: usize,
        /// Nodes for validation.
        validation: usize,
        /// Nodes for test.
        test: usize,
    },
    /// Shares of the labelled nodes, of every class alike; the rest is for test.
    Shares {
        /// For training.
        train: f64,
        /// For validation.
        validation: f64,
    },
}

impl Sizes {
    /// 20 of each class, 500 and 1000: the customary sizes of citation graphs.
    pub const CITATION: Self = Self::PerClass { train: 20, validation: 500, test: 1000 };

    /// [`Sizes::CITATION`] where half of the labelled nodes suffice for it and a node is of one class, otherwise shares of 48 %, 32 % and 20 %.
    #[must_use]
    pub fn fitting(labels: &Labels) -> Self {
        let needed = 20 * labels.classes() + 1500;
        if labels.matrix().is_none() && labels.labelled().count() >= 2 * needed {
            Self::CITATION
        } else {
            Self::Shares { train: 0.48, validation: 0.32 }
        }
    }
}

/// Draws a split from the nodes that have a label: the same for the same labels, sizes and seed on every machine. O(nodes log nodes).
///
/// # Errors
/// [`Error::Few`] where a part would be empty or too small; [`Error::Content`] for shares that are not from 0 to 1 together.
pub fn seeded(labels: &Labels, sizes: Sizes, seed: u64) -> Result<Nodes> {
    const PURPOSE: u64 = 0x73_706c_6974;
    let keys = Stream::new(seed, PURPOSE);
    let mut order: Vec<u32> = labels.labelled().collect();
    order.sort_unstable_by_key(|&v| (keys.bits(v.into()), v));
    let labelled = order.len();
    let few = |wanted: String| Error::Few { labelled: labelled as u64, wanted };
    let mut nodes = match sizes {
        Sizes::PerClass { train, validation, test } => {
            let mut room = vec![0usize; labels.classes()];
            order.iter().for_each(|&v| room[labels.of()[v as usize] as usize] += 1);
            room.iter_mut().for_each(|n| *n = train.min(n.div_ceil(2)));
            let take = |v: &u32| {
                let left = &mut room[labels.of()[*v as usize] as usize];
                let taken = *left > 0;
                *left -= usize::from(taken);
                taken
            };
            let (chosen, rest): (Vec<u32>, Vec<u32>) = order.into_iter().partition(take);
            let others = validation.saturating_add(test);
            if rest.len() < others {
                let trained = chosen.len();
                return Err(few(format!("{trained} for training, {validation} for validation and {test} for test are asked for")));
            }
            Nodes { train: chosen, validation: rest[..validation].to_vec(), test: rest[validation..others].to_vec() }
        }
        Sizes::Shares { train, validation } => {
            let right = |share: f64| (0.0..=1.0).contains(&share);
            if !right(train) || !right(validation) || !right(train + validation) {
                let what = "the sum of the shares for training and validation";
                return Err(crate::Error::Setting { what, found: train + validation, allowed: "from 0 to 1, as is each" }.into());
            }
            // Every class from its first to its last node at equal steps, so that each part has its share of each.
            let mut seen = vec![0usize; labels.classes()];
            let count = |all: &mut Vec<usize>, v: u32| {
                let of = &mut all[labels.of()[v as usize] as usize];
                *of += 1;
                *of
            };
            let ranks: Vec<usize> = order.iter().map(|&v| count(&mut seen, v)).collect();
            let step = |i: usize| (ranks[i] as f64 - 0.5) / seen[labels.of()[order[i] as usize] as usize] as f64;
            let mut places: Vec<usize> = (0..labelled).collect();
            places.sort_by(|&i, &j| step(i).total_cmp(&step(j)));
            let order: Vec<u32> = places.into_iter().map(|i| order[i]).collect();
            let a = (labelled as f64 * train).round() as usize;
            let b = (a + (labelled as f64 * validation).round() as usize).min(labelled);
            Nodes { train: order[..a].to_vec(), validation: order[a..b].to_vec(), test: order[b..].to_vec() }
        }
    };
    if nodes.train.is_empty() || nodes.validation.is_empty() || nodes.test.is_empty() {
        return Err(few("training, validation and test need one each".to_string()));
    }
    [&mut nodes.train, &mut nodes.validation, &mut nodes.test].into_iter().for_each(|part| part.sort_unstable());
    Ok(nodes)
}

/// Sorts the parts of split `k` and checks that they are of labelled nodes, not empty, and disjoint.
pub(super) fn check(k: usize, nodes: &mut Nodes, labels: &Labels) -> Result<()> {
    let mut taken: Vec<Option<&'static str>> = vec![None; labels.of().len()];
    let parts = [("training", &mut nodes.train), ("validation", &mut nodes.validation), ("test", &mut nodes.test)];
    for (name, part) in parts {
        if part.is_empty() {
            return Err(Error::Nothing { split: k });
        }
        part.sort_unstable();
        for &v in part.iter() {
            let (node, count) = (u64::from(v), labels.of().len() as u64);
            let Some(taken) = taken.get_mut(v as usize) else {
                return Err(crate::Error::Node { what: "a split", node, nodes: count }.into());
            };
            if let Some(first) = taken.replace(name) {
                return Err(Error::Overlap { split: k, node, first, second: name });
            }
            let label = labels.of()[v as usize];
            if label == Labels::NONE {
                return Err(crate::Error::Label { node, label: label.into(), classes: labels.classes() as u32 }.into());
            }
        }
    }
    Ok(())
}
