//! Fused breadth-first search: one launch that finds every level.
//!
//! # Invariants
//! Results are those of the definition. The general form takes any square pattern with offsets of 32 bits; the others say what
//! they need, and are chosen in `select.rs`.

mod block;
mod grid;
mod level_search;
mod order;
mod prepare;
mod queue;
pub(crate) mod select;
mod slices;
#[cfg(test)]
mod tests;

pub use block::BlockOptions;
pub use grid::GridOptions;
pub(crate) use order::far_end;
pub use select::{VARIANTS, Variant};
pub use slices::{SlicesOptions, SlicesPlan};

use crate::DeviceCsr;
use crate::device::{Buffer, Device, parameters};
use crate::primitives::relabel;
use crate::{Error, Result};
use bitgraph_algorithms::{Bfs, BfsConfig};
use bitgraph_backend::Error as Base;
use block::BlockLayout;
use grid::GridScratch;
use level_search::LevelSearch;
use prepare::Prepared;
pub(crate) use prepare::looping;
use queue::QueueLayout;
use slices::{SlicesLayout, SlicesScratch};
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

parameters! {
    /// What a search found; `bg::BfsTotals` in the kernels.
    #[derive(Debug)]
    pub(crate) struct Totals = "graph/bfs_totals.cuh" "bg::BfsTotals" {
        pub edges_traversed: u64,
        pub reached: u32,
        pub depth: u32,
        pub level: u32,
        pub seen: u32,
        pub turn: u32,
        pub explored: u32,
    }
}

/// What a search fills, on the device.
pub(crate) struct Outputs {
    pub levels: Buffer<i32>,
    pub parents: Buffer<u32>,
    pub totals: Buffer<Totals>,
}

/// The constants of all forms; the defaults are what searches use.
#[derive(Clone, Debug, Default)]
pub struct BfsOptions {
    /// Of the general form.
    pub grid: GridOptions,
    /// Of diagonal slices.
    pub slices: SlicesOptions,
    /// Of one block or one cluster.
    pub block: BlockOptions,
}

/// What is known about a graph before any search, on the device.
#[derive(Debug)]
pub struct BfsLayout {
    nodes: usize,
    arcs: usize,
    prepared: Option<Prepared>,
    special: Special,
    options: BfsOptions,
    scratch: Mutex<Option<Scratch>>,
}

/// The form that was chosen, the general one behind it.
#[derive(Debug)]
enum Special {
    None,
    Slices(SlicesLayout),
    Block(BlockLayout),
    Queue(QueueLayout),
}

#[derive(Debug)]
enum Scratch {
    Grid(GridScratch),
    Slices(SlicesScratch),
    Block(LevelSearch),
}

impl BfsLayout {
    /// Prepares for searches of the graph with the arcs `out`; `incoming` is its transpose, or nothing if it is symmetric.
    /// Nothing for patterns that are not square or have offsets of 64 bits. The general form stands in for a variant that the graph does
    /// not suit: [`BfsLayout::variant`]. O(n + nnz) work on the device; none for [`Variant::General`].
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(
        device: &Device,
        out: &DeviceCsr,
        incoming: Option<&DeviceCsr>,
        variant: Variant,
        options: BfsOptions,
    ) -> Result<Option<Self>> {
        let (Some(rows), Some(entering)) = (Rows::of(out), Rows::of(incoming.unwrap_or(out))) else { return Ok(None) };
        let nodes = out.rows;
        if out.columns != nodes || nodes >= u32::MAX as usize {
            return Ok(None);
        }
        let mut layout = Self { nodes, arcs: out.nnz, prepared: None, special: Special::None, options, scratch: Mutex::default() };
        if variant != Variant::General && nodes > 0 {
            let common = Prepared::build(device, nodes, &rows, &entering)?;
            layout.special = layout.special(device, out, incoming.is_none(), &rows, &entering, &common, variant)?;
            layout.prepared = Some(common);
        }
        Ok(Some(layout))
    }
    /// The special form that a variant asks for; none where the graph does not suit it.
    fn special(
        &self,
        device: &Device,
        out: &DeviceCsr,
        symmetric: bool,
        rows: &Rows,
        entering: &Rows,
        common: &Prepared,
        variant: Variant,
    ) -> Result<Special> {
        Ok(match variant {
            Variant::General | Variant::First => Special::None,
            Variant::Slices => self.slices(device, out, symmetric, rows, entering, common)?.map_or(Special::None, Special::Slices),
            Variant::Block => BlockLayout::build(device, self.nodes, rows, &self.options.block)?.map_or(Special::None, Special::Block),
            Variant::Queue => QueueLayout::build(device, out, rows)?.map_or(Special::None, Special::Queue),
        })
    }
    /// Slices of the order at hand if few diagonals do, of one by levels if the graph has it, and of the order at hand otherwise.
    fn slices(
        &self,
        device: &Device,
        out: &DeviceCsr,
        symmetric: bool,
        rows: &Rows,
        entering: &Rows,
        common: &Prepared,
    ) -> Result<Option<SlicesLayout>> {
        let (nodes, connected, options) = (self.nodes, common.connected, &self.options.slices);
        if let Some(found) = SlicesLayout::build(device, nodes, entering, None, connected, options)? {
            return Ok(Some(found));
        }
        let widest = SlicesLayout::widest(device, nodes);
        if symmetric && let Some(order) = order::local_order(device, out, rows, common, widest)? {
            let (local, _) = relabel(device, out, None, &order, true)?;
            let numbers = Some((order.old_of_new, order.new_of_old));
            if let Some(rows) = Rows::of(&local)
                && let Some(found) = SlicesLayout::build(device, nodes, &rows, numbers, connected, options)?
            {
                return Ok(Some(found));
            }
        }
        let any = SlicesOptions { most_entries: f64::INFINITY, ..options.clone() };
        SlicesLayout::build(device, nodes, entering, None, connected, &any)
    }
    /// The variant that searches.
    #[must_use]
    pub fn variant(&self) -> Variant {
        match &self.special {
            Special::None if self.prepared.is_none() => Variant::General,
            Special::None => Variant::First,
            Special::Slices(_) => Variant::Slices,
            Special::Block(_) => Variant::Block,
            Special::Queue(_) => Variant::Queue,
        }
    }
    /// Bytes of the layout on the device, the memory that searches use again not counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let special = match &self.special {
            Special::None => 0,
            Special::Slices(slices) => slices.bytes(),
            Special::Block(block) => block.bytes(),
            Special::Queue(queue) => queue.bytes(),
        };
        special + self.prepared.as_ref().map_or(0, Prepared::bytes)
    }
    /// Searches. `out` and `incoming` are those that the layout was built from.
    ///
    /// # Errors
    /// [`Base::Shape`] if the layout is of another graph, [`Base::VertexOutOfRange`], cancellation, out of memory, or the driver's.
    pub fn run(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, config: &BfsConfig) -> Result<Bfs> {
        let (outputs, scratch) = self.search(device, out, incoming, config)?;
        let result = self.result(&outputs, config)?;
        self.keep(scratch);
        Ok(result)
    }
    /// As [`BfsLayout::run`], the levels left on the device: the next search overwrites them.
    pub(crate) fn levels(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, config: &BfsConfig) -> Result<Buffer<i32>> {
        let (outputs, scratch) = self.search(device, out, incoming, config)?;
        self.keep(scratch);
        Ok(outputs.levels)
    }
    /// The next search may have the arrays of this one, so only after its result is out of them.
    fn keep(&self, scratch: Scratch) {
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = Some(scratch);
    }
    fn search(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, config: &BfsConfig) -> Result<(Outputs, Scratch)> {
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
        let held = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A failed search keeps none.
        Ok(match &self.special {
            Special::Slices(slices) => {
                let mut scratch = match held {
                    Some(Scratch::Slices(scratch)) => scratch,
                    _ => slices.scratch(device, self.nodes)?,
                };
                (slices.run(device, &mut scratch, &rows, &entering, config)?, Scratch::Slices(scratch))
            }
            Special::Block(block) => {
                let mut scratch = match held {
                    Some(Scratch::Block(scratch)) => scratch,
                    _ => LevelSearch::new(device, self.nodes)?,
                };
                (block.run(device, &mut scratch, &entering, config)?, Scratch::Block(scratch))
            }
            Special::Queue(queue) => {
                let mut scratch = match held {
                    Some(Scratch::Block(scratch)) => scratch,
                    _ => LevelSearch::new(device, self.nodes)?,
                };
                (queue.run(device, &mut scratch, &entering, config)?, Scratch::Block(scratch))
            }
            Special::None => {
                let mut scratch = match held {
                    Some(Scratch::Grid(scratch)) => scratch,
                    _ => GridScratch::new(device, self.nodes, self.arcs)?,
                };
                let search = grid::Search {
                    device,
                    nodes: self.nodes,
                    arcs: self.arcs,
                    rows: &rows,
                    entering: &entering,
                    prepared: self.prepared.as_ref(),
                    options: &self.options.grid,
                };
                (search.run(&mut scratch, config)?, Scratch::Grid(scratch))
            }
        })
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
