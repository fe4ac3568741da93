//! Fused breadth-first search: one launch that finds every level.
//!
//! # Invariants
//! Results are those of the definition. The general form takes any square pattern with offsets of 32 bits; the others say what
//! they need, are chosen by a look at the graph when the layout is built, and leave everything else to it.

mod block;
mod grid;
mod level_search;
mod order;
mod prepare;
mod queue;
mod slices;
#[cfg(test)]
mod tests;

pub use block::BlockOptions;
pub use grid::GridOptions;
pub(crate) use order::far_end;
pub use slices::{SlicesOptions, SlicesPlan};

use crate::DeviceCsr;
use crate::device::{Buffer, Device, parameters};
use crate::primitives::relabel;
use crate::{Error, Result};
use bitgraph_backend::{Bfs, BfsConfig, Error as Base, Plan};
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

/// Which form searches a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BfsForm {
    /// The first of slices, block and general that fits; the queue instead, if a trial finds it faster.
    #[default]
    Auto,
    /// The whole device, level by level, in either direction.
    General,
    /// Diagonal slices.
    Slices,
    /// One block or one cluster.
    Block,
    /// One warp with a queue.
    Queue,
}

/// The constants of all forms; the defaults are what searches use.
#[derive(Clone, Debug, Default)]
pub struct BfsOptions {
    /// The form.
    pub form: BfsForm,
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
    /// Nothing for patterns that are not square or have offsets of 64 bits. O(n + nnz) work on the device.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, plan: &Plan) -> Result<Option<Self>> {
        Self::with_options(device, out, incoming, plan.chosen.prepared, BfsOptions::default())
    }
    /// As [`BfsLayout::build`], with constants; `prepared`: whether many searches will pay for work beforehand.
    ///
    /// # Errors
    /// As [`BfsLayout::build`].
    pub fn with_options(
        device: &Device,
        out: &DeviceCsr,
        incoming: Option<&DeviceCsr>,
        prepared: bool,
        options: BfsOptions,
    ) -> Result<Option<Self>> {
        let (Some(rows), Some(entering)) = (Rows::of(out), Rows::of(incoming.unwrap_or(out))) else { return Ok(None) };
        let nodes = out.rows;
        if out.columns != nodes || nodes >= u32::MAX as usize {
            return Ok(None);
        }
        let mut layout = Self { nodes, arcs: out.nnz, prepared: None, special: Special::None, options, scratch: Mutex::default() };
        if prepared && nodes > 0 {
            layout.prepare(device, out, incoming, &rows, &entering)?;
        }
        let wanted = layout.options.form;
        let found = match &layout.special {
            Special::None => BfsForm::General,
            Special::Slices(_) => BfsForm::Slices,
            Special::Block(_) => BfsForm::Block,
            Special::Queue(_) => BfsForm::Queue,
        };
        Ok((wanted == BfsForm::Auto || wanted == found).then_some(layout))
    }
    fn prepare(&mut self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, rows: &Rows, entering: &Rows) -> Result<()> {
        let (form, nodes, symmetric) = (self.options.form, self.nodes, incoming.is_none());
        let block = BlockLayout::plan(device, nodes, self.arcs, &self.options.block);
        let common = Prepared::build(device, nodes, rows, entering)?;
        let most = if form == BfsForm::Auto { block.map_or(f64::INFINITY, |(_, _, cost)| cost) } else { f64::INFINITY };
        if matches!(form, BfsForm::Auto | BfsForm::Slices)
            && nodes >= 64
            && let Some(slices) = SlicesLayout::build(device, nodes, entering, None, common.connected, most, &self.options.slices)?
        {
            self.special = Special::Slices(slices);
        }
        if matches!(form, BfsForm::Auto | BfsForm::Slices) && matches!(self.special, Special::None) && symmetric {
            let widest = SlicesLayout::widest(device, nodes);
            if let Some(order) = order::local_order(device, out, rows, &common, self.options.slices.reorder_from, widest)? {
                let (local, _) = relabel(device, out, None, &order, true)?;
                if let Some(rows) = Rows::of(&local) {
                    let numbers = Some((order.old_of_new, order.new_of_old));
                    let slices = SlicesLayout::build(device, nodes, &rows, numbers, common.connected, most, &self.options.slices)?;
                    self.special = slices.map_or(Special::None, Special::Slices);
                }
            }
        }
        if matches!(form, BfsForm::Auto | BfsForm::Block)
            && matches!(self.special, Special::None)
            && let Some(block) = BlockLayout::build(device, nodes, rows, &self.options.block)?
        {
            self.special = Special::Block(block);
        }
        self.prepared = Some(common);
        if matches!(form, BfsForm::Auto | BfsForm::Queue)
            && let Some(queue) = QueueLayout::build(device, out, rows)?
        {
            self.try_queue(device, out, incoming, queue)?;
        }
        Ok(())
    }
    /// Takes the queue if it is asked for, or if it searches faster than what was chosen so far.
    fn try_queue(&mut self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, queue: QueueLayout) -> Result<()> {
        let before = if self.options.form == BfsForm::Queue { f64::INFINITY } else { self.trial(device, out, incoming)? };
        let before = (before, std::mem::replace(&mut self.special, Special::Queue(queue)));
        if before.0.is_finite() && self.trial(device, out, incoming)? >= before.0 {
            self.special = before.1;
            *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(())
    }
    /// Seconds of a search on the device, the second of two; on the host shim, whose clock says nothing, of none.
    fn trial(&self, device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>) -> Result<f64> {
        if device.properties().emulated {
            return Ok(0.0);
        }
        // From a vertex that others name, so that the search goes somewhere.
        let source = self.prepared.as_ref().map_or(Ok(0), Prepared::source)?;
        let config = BfsConfig { source, ..BfsConfig::default() };
        let mut seconds = f64::INFINITY;
        for _ in 0..2 {
            let start = device.stream().record()?;
            let (_, scratch) = self.search(device, out, incoming, &config)?;
            seconds = device.stream().record()?.seconds_since(&start)?;
            self.keep(scratch);
        }
        Ok(seconds)
    }
    /// How the words of diagonal slices are dealt, where that form was chosen.
    #[must_use]
    pub fn slices_plan(&self) -> Option<&SlicesPlan> {
        match &self.special {
            Special::Slices(slices) => Some(&slices.plan),
            _ => None,
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
