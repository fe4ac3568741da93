//! The ways to take batches, by name, and their settings.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How batches are taken of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sampler {
    /// Some of the neighbours of the training nodes, of theirs, and so on.
    Neighbours {
        /// How many of a node at most: those of training nodes first. There are as many as layers.
        fanouts: Vec<u32>,
        /// Training nodes of a batch.
        batch: u32,
    },
    /// What nodes induce that are drawn by how much they weigh in the mean over neighbours.
    SaintNodes {
        /// Draws of a batch.
        size: u32,
    },
    /// What the ends of entries induce that are drawn by one over the degrees of both.
    SaintEdges {
        /// Draws of a batch.
        size: u32,
    },
    /// What the nodes of random walks induce.
    SaintWalks {
        /// Walks of a batch.
        roots: u32,
        /// Steps of a walk.
        length: u32,
    },
    /// Parts of few entries between them, several joined to a batch with the entries between them.
    Clusters {
        /// Parts of the graph.
        parts: u32,
        /// Parts of a batch.
        joined: u32,
    },
}

/// Training nodes of a batch where nothing else is said.
const BATCH: u32 = 512;
/// The largest number that a setting may be.
const MOST: u32 = 1 << 28;

impl Sampler {
    /// The names with their settings.
    pub const NAMES: &'static str =
        "neighbours:F1,F2.., saint-node:SIZE, saint-edge:SIZE, saint-walk:ROOTS:LENGTH and clusters:PARTS:JOINED";

    /// The same with so many training nodes a batch.
    ///
    /// # Errors
    /// [`Error::Combination`] for a sampler whose batches have no such size.
    pub fn with_batch(self, batch: u32) -> Result<Self, Error> {
        match self {
            Self::Neighbours { fanouts, .. } => Ok(Self::Neighbours { fanouts, batch }),
            _ => Err(Error::Combination { what: "a number of training nodes for each batch", why: "it is for the sampler of neighbours" }),
        }
    }
    /// Refuses settings outside their ranges, and fan-outs that are not one for each layer that aggregates.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn validate(&self, layers: usize) -> Result<(), Error> {
        let counts: &[(&'static str, u32)] = match self {
            Self::Neighbours { fanouts, batch } => {
                if fanouts.len() != layers {
                    let (what, found) = ("the number of fan-outs", fanouts.len() as f64);
                    return Err(Error::Setting { what, found, allowed: "the number of layers" });
                }
                let smallest = fanouts.iter().copied().min().unwrap_or(1);
                let largest = fanouts.iter().copied().max().unwrap_or(1);
                &[("a fan-out", smallest), ("a fan-out", largest), ("the number of training nodes of a batch", *batch)]
            }
            Self::SaintNodes { size } | Self::SaintEdges { size } => &[("the number of draws of a batch", *size)],
            Self::SaintWalks { roots, length } => &[("the number of walks of a batch", *roots), ("the length of a walk", *length)],
            Self::Clusters { parts, joined } => {
                if joined > parts {
                    let (what, found) = ("the number of parts of a batch", f64::from(*joined));
                    return Err(Error::Setting { what, found, allowed: "at most the number of parts" });
                }
                &[("the number of parts", *parts), ("the number of parts of a batch", *joined)]
            }
        };
        match counts.iter().find(|(_, n)| !(1..=MOST).contains(n)) {
            Some(&(what, n)) => Err(Error::Setting { what, found: f64::from(n), allowed: "from 1 to 2^28" }),
            None => Ok(()),
        }
    }
    /// Nodes and entries of a batch at most, or as many as are to be expected of parts, in a graph of so many.
    #[must_use]
    pub fn extent(&self, nodes: u64, entries: u64) -> (u64, u64) {
        let induced = |drawn: u64| {
            let drawn = drawn.min(nodes);
            // The nodes that are drawn more often have more neighbours: a share of entries that is the share of nodes would be too few.
            (drawn, (entries as f64 * (drawn as f64 / nodes.max(1) as f64).sqrt()) as u64)
        };
        match self {
            Self::Neighbours { fanouts, batch } => {
                let (mut at, mut all, mut taken) = (u64::from(*batch).min(nodes), u64::from(*batch).min(nodes), 0u64);
                for &most in fanouts {
                    at = at.saturating_mul(most.into()).min(entries);
                    taken = taken.saturating_add(at).min(entries);
                    all = all.saturating_add(at).min(nodes);
                }
                (all, taken)
            }
            Self::SaintNodes { size } => induced((*size).into()),
            Self::SaintEdges { size } => induced(2 * u64::from(*size)),
            Self::SaintWalks { roots, length } => induced(u64::from(*roots) * (u64::from(*length) + 1)),
            Self::Clusters { parts, joined } => {
                let share = |all: u64| (all as f64 * f64::from(*joined) / f64::from((*parts).max(1)) * 1.1) as u64;
                (share(nodes).min(nodes), share(entries).min(entries))
            }
        }
    }
}

impl fmt::Display for Sampler {
    /// The name; the number of training nodes of a batch is not part of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Neighbours { fanouts, .. } => {
                let all: Vec<String> = fanouts.iter().map(u32::to_string).collect();
                write!(f, "neighbours:{}", all.join(","))
            }
            Self::SaintNodes { size } => write!(f, "saint-node:{size}"),
            Self::SaintEdges { size } => write!(f, "saint-edge:{size}"),
            Self::SaintWalks { roots, length } => write!(f, "saint-walk:{roots}:{length}"),
            Self::Clusters { parts, joined } => write!(f, "clusters:{parts}:{joined}"),
        }
    }
}

impl FromStr for Sampler {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Unknown { what: "sampler", found: text.to_owned(), known: Self::NAMES };
        let (name, settings) = text.split_once(':').ok_or_else(unknown)?;
        let numbers = |by: char| settings.split(by).map(|n| n.parse().ok()).collect::<Option<Vec<u32>>>().ok_or_else(unknown);
        match (name, &numbers(if name == "neighbours" { ',' } else { ':' })?[..]) {
            ("neighbours", fanouts) => Ok(Self::Neighbours { fanouts: fanouts.to_vec(), batch: BATCH }),
            ("saint-node", &[size]) => Ok(Self::SaintNodes { size }),
            ("saint-edge", &[size]) => Ok(Self::SaintEdges { size }),
            ("saint-walk", &[roots, length]) => Ok(Self::SaintWalks { roots, length }),
            ("clusters", &[parts, joined]) => Ok(Self::Clusters { parts, joined }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["neighbours:10,25", "neighbours:3", "saint-node:100", "saint-edge:7", "saint-walk:20:2", "clusters:32:4"] {
            let sampler: Sampler = name.parse().unwrap();
            assert_eq!(sampler.to_string(), name);
        }
        for wrong in
            ["", "none", "neighbours", "neighbours:", "neighbours:5:5", "saint-node:1:2", "saint-walk:3", "clusters:4", "clusters:a:b"]
        {
            let error = wrong.parse::<Sampler>().unwrap_err().to_string();
            assert!(error.contains("clusters:PARTS:JOINED"), "{error}");
        }
    }
    #[test]
    fn settings_out_of_range_are_refused() {
        let refused = |name: &str, layers: usize| name.parse::<Sampler>().unwrap().validate(layers).unwrap_err().to_string();
        assert!(refused("neighbours:10", 2).contains("the number of fan-outs is 1; it must be the number of layers"));
        assert!(refused("neighbours:10,0", 2).contains("a fan-out is 0"));
        assert!(refused("saint-node:0", 2).contains("draws"));
        assert!(refused("saint-walk:5:0", 2).contains("length of a walk"));
        assert!(refused("clusters:4:5", 2).contains("at most the number of parts"));
        assert!(refused("clusters:0:0", 2).contains("the number of parts is 0"));
        assert!("saint-edge:4".parse::<Sampler>().unwrap().with_batch(3).is_err());
        let sampler = "neighbours:5,5".parse::<Sampler>().unwrap().with_batch(0).unwrap();
        assert!(sampler.validate(2).unwrap_err().to_string().contains("training nodes of a batch is 0"));
    }
    #[test]
    fn extents_stay_within_the_graph() {
        for name in ["neighbours:10,25", "saint-node:100", "saint-edge:700", "saint-walk:20:2", "clusters:32:4", "clusters:3:3"] {
            let (nodes, entries) = name.parse::<Sampler>().unwrap().extent(500, 4000);
            assert!((1..=500).contains(&nodes) && (1..=4000).contains(&entries), "{name}: {nodes}, {entries}");
        }
    }
}
