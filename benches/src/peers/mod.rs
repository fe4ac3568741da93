//! Peers that are crates: each runs its own algorithms on its own graph type, built from the same entries.

mod graph;
mod petgraph;
mod sprs;

use crate::contender::Contender;
use crate::task::{Subject, Task};
use anyhow::Result;

/// A crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// `graph`: parallel `PageRank`, delta-stepping, components, triangles.
    Graph,
    /// `petgraph`: serial search, Dijkstra, components. Its `PageRank` takes quadratic time and is left out.
    Petgraph,
    /// `sprs`: serial products of CSR matrices.
    Sprs,
    /// No crate.
    None,
}

impl Peer {
    /// The peer on a graph, or nothing if it has no such algorithm.
    ///
    /// # Errors
    /// If the peer refuses the graph.
    pub fn contender(self, subject: &Subject, task: Task) -> Result<Option<Contender>> {
        match self {
            Self::Graph => graph::contender(subject, task),
            Self::Petgraph => petgraph::contender(subject, task),
            Self::Sprs => sprs::contender(subject, task),
            Self::None => Ok(None),
        }
    }
}
