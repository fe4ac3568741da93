//! Fused breadth-first search: one launch that finds every level.
//!
//! # Invariants
//! Results are those of the definition. The general form takes any square pattern with offsets of 32 bits; the others say what
//! they need, are chosen by a look at the graph when the layout is built, and leave everything else to it.

mod grid;
mod prepare;
#[cfg(test)]
mod tests;

pub use grid::GridOptions;

use crate::DeviceCsr;
use crate::device::{Buffer, Device};
use crate::{Error, Result};
use bitgraph_backend::{Bfs, BfsConfig, Error as Base, Plan};
use bytemuck::{Pod, Zeroable};
use grid::GridScratch;
use prepare::Prepared;
use std::sync::{Mutex, PoisonError};

/// A pattern with offsets of 32 bits, on the device.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub offsets: Buffer<u32>,
    pub indices: Buffer<u32>,
}

impl Rows {
    pub(crate) fn of(csr: &DeviceCsr) -> Option<Self> {
        Some(Self { offsets: csr.offsets.as_u32()?.clone(), indices: csr.indices.clone() })
    }
}

/// What a search found; `bg::BfsTotals` in the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Totals {
    pub edges_traversed: u64,
    pub reached: u32,
    pub depth: u32,
    pub handover: [u32; 4],
}

/// What a search fills, on the device.
pub(crate) struct Outputs {
    pub levels: Buffer<i32>,
    pub parents: Buffer<u32>,
    pub totals: Buffer<Totals>,
}

/// What is known about a graph before any search, on the device.
#[derive(Debug)]
pub struct BfsLayout {
    nodes: usize,
    arcs: usize,
    prepared: Option<Prepared>,
    options: GridOptions,
    scratch: Mutex<Option<GridScratch>>,
}

impl BfsLayout {
    /// Prepares for searches of the graph with the arcs `out`; `incoming` is its transpose, or nothing if it is symmetric.
    /// Nothing for patterns that are not square or have offsets of 64 bits. O(n + nnz) work on the device.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, plan: &Plan) -> Result<Option<Self>> {
        Self::with_options(device, out, incoming, plan.chosen.prepared, GridOptions::default())
    }
    /// As [`BfsLayout::build`], with the general form's constants; `prepared`: whether many searches will pay for work beforehand.
    ///
    /// # Errors
    /// As [`BfsLayout::build`].
    pub fn with_options(
        device: &Device,
        out: &DeviceCsr,
        incoming: Option<&DeviceCsr>,
        prepared: bool,
        options: GridOptions,
    ) -> Result<Option<Self>> {
        let (Some(rows), Some(entering)) = (Rows::of(out), Rows::of(incoming.unwrap_or(out))) else { return Ok(None) };
        let nodes = out.rows;
        if out.columns != nodes || nodes >= u32::MAX as usize {
            return Ok(None);
        }
        let prepared = if prepared && nodes > 0 { Some(Prepared::build(device, nodes, &rows, &entering)?) } else { None };
        Ok(Some(Self { nodes, arcs: out.nnz, prepared, options, scratch: Mutex::default() }))
    }
    /// Bytes of the layout on the device, the memory that searches use again not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.prepared.as_ref().map_or(0, Prepared::bytes)
    }
    /// Searches. `out` and `incoming` are those that the layout was built from.
    ///
    /// # Errors
    /// [`Base::Shape`] if the layout is of another graph, [`Base::VertexOutOfRange`], cancellation, out of memory, or the driver's.
    pub fn run(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, config: &BfsConfig) -> Result<Bfs> {
        for (operand, expected, found) in [("the layout", self.nodes, out.rows), ("the layout", self.arcs, out.nnz)] {
            if expected != found {
                let (expected, found) = (expected as u64, found as u64);
                return Err(Base::Shape { operation: "bfs", operand, expected, found }.into());
            }
        }
        if config.source as usize >= self.nodes {
            return Err(Base::VertexOutOfRange { vertex: config.source.into(), nodes: self.nodes as u64 }.into());
        }
        let (Some(rows), Some(entering)) = (Rows::of(out), Rows::of(incoming.unwrap_or(out))) else {
            let what = "offsets of 64 bits".into();
            return Err(Base::Unsupported { operation: "fused breadth-first search", what, available: "offsets of 32 bits" }.into());
        };
        let mut scratch = match self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(scratch) => scratch,
            None => GridScratch::new(device, self.nodes, self.arcs)?,
        };
        let search = grid::Search {
            device,
            nodes: self.nodes,
            arcs: self.arcs,
            rows: &rows,
            entering: &entering,
            prepared: self.prepared.as_ref(),
            options: &self.options,
        };
        // The next search may have the arrays only after this one's result is on the host.
        let result = search.run(&mut scratch, config).and_then(|outputs| self.result(&outputs, config));
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = Some(scratch);
        result
    }
    fn result(&self, outputs: &Outputs, config: &BfsConfig) -> Result<Bfs> {
        let totals = outputs.totals.get(0)?;
        Ok(Bfs {
            source: config.source,
            levels: config.output.levels().then(|| outputs.levels.to_vec()).transpose()?,
            parents: config.output.parents().then(|| outputs.parents.to_vec()).transpose()?,
            reached: totals.reached.into(),
            depth: totals.depth,
            edges_traversed: totals.edges_traversed,
        })
    }
}

/// A count that a kernel takes as 32 bits.
pub(crate) fn count32(count: usize) -> Result<u32> {
    u32::try_from(count)
        .map_err(|_| Error::from(Base::Shape { operation: "bfs", operand: "count", expected: u32::MAX.into(), found: count as u64 }))
}
