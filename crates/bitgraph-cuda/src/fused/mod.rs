//! Fused forms: a whole algorithm in one launch. `select.rs` of each folder names its variants and chooses among them.
//!
//! Invariant: a fused form runs on lists with offsets of 32 bits; selectors offer none for larger graphs, whose definitions run.
#![allow(unsafe_code)]

pub mod bfs;
pub mod cc;
pub mod msbfs;
pub mod pagerank;
pub mod product;
mod select;
pub mod sssp;
pub mod tc;
#[cfg(test)]
mod tests;

pub use select::Kernels;

use crate::{Cuda, DeviceCsr, Result};
use bitgraph_backend::{Arranged, Error as Base};

/// The patterns of a graph laid out as lists: out-arcs, and in-arcs of a directed graph.
pub(crate) struct Lists<'g> {
    pub out: &'g DeviceCsr,
    pub incoming: Option<&'g DeviceCsr>,
}

impl<'g> Lists<'g> {
    /// Those of a graph; none of one in another format or with wide offsets. The transpose is built if it is not there and `incoming` asks
    /// for it.
    ///
    /// # Errors
    /// Those of the transpose.
    pub fn of(graph: &'g Arranged<Cuda>, incoming: bool) -> Result<Option<Self>> {
        let narrow = |csr: &&DeviceCsr| csr.offsets.as_u32().is_some();
        let Some(out) = graph.matrix().as_csr().filter(narrow) else { return Ok(None) };
        if graph.is_symmetric() || !incoming {
            return Ok(Some(Self { out, incoming: None }));
        }
        Ok(graph.transpose()?.as_csr().filter(narrow).map(|t| Self { out, incoming: Some(t) }))
    }
    /// Those of a graph that a layout was built from.
    ///
    /// # Errors
    /// Those of the transpose; a graph without lists, which the layout was not built from.
    pub fn built(graph: &'g Arranged<Cuda>, incoming: bool) -> Result<Self> {
        Self::of(graph, incoming)?.ok_or_else(|| {
            let what = "a graph that is not in lists with offsets of 32 bits".into();
            Base::Unsupported { operation: "a fused form", what, available: "the graph that its layout was built from" }.into()
        })
    }
}
