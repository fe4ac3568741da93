//! Graphs as lists in the input's order, and the input's numbers of their vertices.

use crate::{Error, Result};
use bitgraph_sparse::{Csr, Values};

/// A graph on the host, as lists in the input's order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedGraph {
    /// What it was loaded from.
    pub name: String,
    /// The pattern: row u lists the v with u -> v. It need not be square.
    pub csr: Csr,
    /// Weights in the pattern's order; none for unit weights.
    pub values: Option<Values>,
    /// Whether pattern and values equal their transpose.
    pub symmetric: bool,
    /// The number in the file of every vertex, ascending, if they were relabelled.
    pub original_ids: Option<Vec<u64>>,
}

impl LoadedGraph {
    /// The vertex that the input calls by this number. Without relabelling the number itself, in range or not.
    ///
    /// # Errors
    /// [`Error::NoSuchVertex`] for a number that a relabelled graph does not have.
    pub fn vertex(&self, number: u64) -> Result<u64> {
        match &self.original_ids {
            None => Ok(number),
            Some(ids) => match ids.binary_search(&number) {
                Ok(v) => Ok(v as u64),
                Err(_) => Err(Error::NoSuchVertex { vertex: number, graph: self.name.clone() }),
            },
        }
    }
    /// The number by which the input calls a vertex.
    ///
    /// # Panics
    /// If a relabelled graph does not have the vertex.
    #[must_use]
    pub fn number(&self, vertex: u32) -> u64 {
        self.original_ids.as_ref().map_or(u64::from(vertex), |ids| ids[vertex as usize])
    }
}
