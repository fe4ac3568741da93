//! The general form: the whole device searches level by level, pushing or pulling.

use super::prepare::Prepared;
use super::{Outputs, Rows, Totals, count32};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use bitgraph_algorithms::BfsConfig;
use bitgraph_kernels::constant;

const MODULE: &str = "graph/bfs";
/// Shared memory of a block ahead of its staging area.
const HEAD_BYTES: u32 = 64;
/// Words that a warp pulls at a time at most.
const PULL_WORDS: u32 = constant("tuning/bfs.cuh", "PULL_WORDS") as u32;

/// The constants of the general form.
#[derive(Clone, Debug)]
pub struct GridOptions {
    /// Threads of a block.
    pub block: u32,
    /// Arcs of a piece of a frontier.
    pub chunk: u32,
    /// Arcs of a frontier up to which one block searches alone.
    pub alone_enter: u32,
    /// A frontier of at least nodes / this arcs that grows fourfold is followed without a queue and pulled from; 0: none is.
    pub flood: u32,
    /// The level from which on it may.
    pub alone_level: u32,
    /// Arcs of a frontier above which it stops to.
    pub alone_leave: u32,
    /// A level is pulled when this many times the frontier's arcs exceed the arcs not seen yet.
    pub alpha: u32,
    /// Words of vertices that a warp pulls at a time; 0: as the graph's size suggests.
    pub batch: u32,
    /// Visited bits are copied to shared memory up to this many bytes.
    pub shared_bits_bytes: u32,
    /// Bytes of shared memory for a block's part of the next frontier.
    pub stage_bytes: u32,
    /// Pulls look at the in-neighbour of largest degree first.
    pub first: bool,
}

impl Default for GridOptions {
    fn default() -> Self {
        Self {
            block: 1024,
            chunk: 32,
            alone_enter: 512,
            alone_level: 4,
            flood: 32,
            alone_leave: 1536,
            alpha: 14,
            batch: 0,
            shared_bits_bytes: 0,
            stage_bytes: 64 << 10,
            first: true,
        }
    }
}

parameters! {
    struct GridParams = "graph/bfs_grid.cuh" "bg::BfsGridParams" {
        out_offsets: DevicePtr<u32>,
        out_indices: DevicePtr<u32>,
        in_offsets: DevicePtr<u32>,
        in_indices: DevicePtr<u32>,
        first: DevicePtr<u32>,
        isolated: DevicePtr<u32>,
        levels: DevicePtr<i32>,
        parents: DevicePtr<u32>,
        visited_a: DevicePtr<u32>,
        visited_b: DevicePtr<u32>,
        queue_a: DevicePtr<u64>,
        queue_b: DevicePtr<u64>,
        totals: DevicePtr<Totals>,
        state: DevicePtr<GridState>,
        link: HostLink,
        nodes: u32,
        words: u32,
        source: u32,
        arcs: u32,
        connected: u32,
        queue_capacity: u32,
        stage_capacity: u32,
        chunk: u32,
        alone_enter: u32,
        alone_leave: u32,
        alpha: u32,
        batch: u32,
        shared_bits: u32,
        smallest_parents: u32,
        alone_level: u32,
        flood: u32,
    }
}

/// Device memory of a search, used again by the next.
#[derive(Debug)]
pub(crate) struct GridScratch {
    visited: [Buffer<u32>; 2],
    /// Eight bytes for a piece, sixteen where parents are wanted.
    queues: [Buffer<u64>; 2],
    levels: Buffer<i32>,
    parents: Buffer<u32>,
    totals: Buffer<Totals>,
}

/// Pieces that a queue holds. A frontier of more is pulled, so this bounds memory and not what can be searched.
fn queue_capacity(nodes: usize, arcs: usize) -> usize {
    nodes / 4 + arcs / 256 + 8192
}

impl GridScratch {
    pub(crate) fn new(device: &Device, nodes: usize, arcs: usize) -> Result<Self> {
        let words = nodes.div_ceil(32);
        let queue = || device.alloc_for(queue_capacity(nodes, arcs), "the queue of a breadth-first search");
        Ok(Self {
            visited: [device.alloc(words)?, device.alloc(words)?],
            queues: [queue()?, queue()?],
            levels: Buffer::default(),
            parents: Buffer::default(),
            totals: device.alloc(1)?,
        })
    }
}

/// A search about to run.
pub(crate) struct Search<'a> {
    pub device: &'a Device,
    pub nodes: usize,
    pub arcs: usize,
    pub rows: &'a Rows,
    pub entering: &'a Rows,
    pub prepared: Option<&'a Prepared>,
    pub options: &'a GridOptions,
}

impl Search<'_> {
    pub(crate) fn run(&self, scratch: &mut GridScratch, config: &BfsConfig) -> Result<Outputs> {
        let (device, options) = (self.device, self.options);
        let parents = config.output.parents();
        // The smallest parents are found from the levels afterwards.
        let smallest = parents && config.deterministic;
        let direct = parents && !smallest;
        if (config.output.levels() || smallest) && scratch.levels.is_empty() {
            scratch.levels = device.alloc(self.nodes)?;
        }
        if parents && scratch.parents.is_empty() {
            scratch.parents = device.alloc(self.nodes)?;
        }
        let piece = if direct { 16 } else { 8 };
        let words = self.nodes.div_ceil(32);
        let kernel = device.kernel(MODULE, if direct { "bfs_grid_parents" } else { "bfs_grid_levels" })?;
        let block = options.block.min(device.properties().max_threads_per_block);
        // A pull keeps nine bytes for each thread where a push has its staging area.
        let stage_capacity = (options.stage_bytes.min(device.properties().shared_per_block / 3).max(16 * block) / (2 * piece)).max(32);
        let stage = HEAD_BYTES + 2 * stage_capacity * piece;
        let bits = (words * 4) as u64;
        let shared_bits =
            bits <= u64::from(options.shared_bits_bytes) && u64::from(stage) + bits <= u64::from(device.properties().shared_per_block);
        let shared = stage + if shared_bits { bits as u32 } else { 0 };
        let shape = device.persistent_shape(&kernel, block, shared, u32::MAX)?;
        let warps = (shape.grid * shape.block / 32) as usize;
        let batch = if options.batch == 0 { (words / warps.max(1)) as u32 } else { options.batch }.clamp(1, PULL_WORDS);
        let nodes = count32(self.nodes)?;
        let null = DevicePtr::NULL;
        let queue_bytes = scratch.queues[0].len() * 8;
        let capacity = count32(queue_bytes / piece as usize)?;
        let (words, arcs, source) = (count32(words)?, count32(self.arcs)?, config.source);
        // SAFETY: the layout is of this graph (`BfsLayout::search` checks that), and what a search fills was made for its vertices; the launch is cooperative.
        unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| GridParams {
                out_offsets: self.rows.offsets.ptr(),
                out_indices: self.rows.indices.ptr(),
                in_offsets: self.entering.offsets.ptr(),
                in_indices: self.entering.indices.ptr(),
                first: self.prepared.filter(|_| options.first).map_or(null, |p| p.first.ptr()),
                isolated: self.prepared.map_or(null, |p| p.isolated.ptr()),
                levels: if config.output.levels() || smallest { scratch.levels.ptr() } else { DevicePtr::NULL },
                parents: if parents { scratch.parents.ptr() } else { null },
                visited_a: scratch.visited[0].ptr(),
                visited_b: scratch.visited[1].ptr(),
                queue_a: scratch.queues[0].ptr(),
                queue_b: scratch.queues[1].ptr(),
                totals: scratch.totals.ptr(),
                state,
                link,
                nodes,
                words,
                source,
                arcs,
                connected: self.prepared.map_or(nodes, |p| p.connected),
                queue_capacity: capacity,
                stage_capacity,
                chunk: options.chunk.max(1),
                alone_enter: options.alone_enter,
                alone_leave: options.alone_leave,
                alpha: options.alpha,
                batch,
                shared_bits: shared_bits.into(),
                smallest_parents: smallest.into(),
                alone_level: options.alone_level,
                flood: options.flood,
            })
        }?;
        Ok(Outputs { levels: scratch.levels.clone(), parents: scratch.parents.clone(), totals: scratch.totals.clone() })
    }
}
