//! Small thin graphs: one warp with a queue, everything in the shared memory of its block.
//!
//! Needs: at most eight arcs a row, and 12 (rows of four arcs) or 20 bytes a vertex within the shared memory of a block. Directed or not.
//! Pays where a level has fewer vertices than the barrier of a block costs instructions, as in meshes and road networks.

use super::level_search::LevelSearch;
use super::prepare::looping;
use super::{Outputs, Rows, Totals, count32};
use crate::DeviceCsr;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::primitives::{degrees, reduce};
use bitgraph_algorithms::BfsConfig;
use bitgraph_kernels::constant;

const MODULE: &str = "graph/bfs_queue";
const HEAD_BYTES: usize = constant("graph/bfs_queue.cu", "QUEUE_HEAD") as usize;
/// Arcs of a row, of the kernels there are.
const WIDTHS: [u32; 2] = [4, 8];

parameters! {
    struct QueueParams = "graph/bfs_queue.cu" "bg::BfsQueueParams" {
        rows: DevicePtr<u16>,
        levels: DevicePtr<i32>,
        totals: DevicePtr<Totals>,
        state: DevicePtr<GridState>,
        link: HostLink,
        nodes: u32,
        source: u32,
        seen_at: u32,
        queue_at: u32,
    }

    struct RowsParams = "graph/bfs_queue.cu" "bg::BfsRowsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        rows: DevicePtr<u16>,
        nodes: u32,
        width: u32,
    }
}

/// A graph as rows of the same width.
#[derive(Debug)]
pub(crate) struct QueueLayout {
    rows: Buffer<u16>,
    nodes: u32,
    width: u32,
    seen_at: u32,
    queue_at: u32,
    shape: Shape,
}

/// Where things lie in shared memory, in numbers of 16 bits behind the head.
struct Places {
    width: u32,
    seen_at: usize,
    queue_at: usize,
    bytes: usize,
}

impl Places {
    fn of(device: &Device, nodes: usize, longest: u32) -> Option<Self> {
        if nodes == 0 || nodes >= 0xffff {
            return None;
        }
        let width = WIDTHS.into_iter().find(|&w| longest <= w)?;
        let seen_at = ((nodes + 1) * width as usize).next_multiple_of(8);
        // Each has a place more, for what is written to nowhere.
        let queue_at = seen_at + (nodes + 2).next_multiple_of(8);
        let bytes = HEAD_BYTES + 2 * (queue_at + (nodes + 1).next_multiple_of(8));
        (bytes <= device.properties().shared_per_block as usize).then_some(Self { width, seen_at, queue_at, bytes })
    }
}

impl QueueLayout {
    /// Whether a graph with rows of at most `longest` arcs fits.
    pub(crate) fn fits(device: &Device, nodes: usize, longest: u32) -> bool {
        Places::of(device, nodes, longest).is_some()
    }
    /// Lays the rows out; nothing if the graph does not fit. O(n) work on the device.
    pub(crate) fn build(device: &Device, out: &DeviceCsr, rows: &Rows) -> Result<Option<Self>> {
        let nodes = out.rows;
        let longest = if nodes == 0 { 0 } else { reduce(device, &degrees(device, out)?)?.max };
        let Some(Places { width, seen_at, queue_at, bytes }) = Places::of(device, nodes, longest) else { return Ok(None) };
        let laid = device.alloc(seen_at)?;
        let (count, block) = (count32(nodes)?, 1024.min(device.properties().max_threads_per_block));
        let parameters = RowsParams { offsets: rows.offsets.ptr(), indices: rows.indices.ptr(), rows: laid.ptr(), nodes: count, width };
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(MODULE, "bfs_queue_rows")?, looping(device, nodes + 1), &parameters) }?;
        let shape = Shape { grid: 1, block, shared: bytes as u32, mode: Mode::Plain };
        Ok(Some(Self { rows: laid, nodes: count, width, seen_at: seen_at as u32, queue_at: queue_at as u32, shape }))
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.rows.bytes()
    }
    pub(crate) fn run(&self, device: &Device, scratch: &mut LevelSearch, entering: &Rows, config: &BfsConfig) -> Result<Outputs> {
        let kernel = device.kernel(MODULE, if self.width == WIDTHS[0] { "bfs_queue_4" } else { "bfs_queue_8" })?;
        scratch.run(device, entering, config, |levels, totals| {
            // SAFETY: the layout is of this graph (`BfsLayout::search` checks that), and what a search fills was made for its vertices; the launch is cooperative.
            unsafe {
                device.persistent(&kernel, self.shape, &config.control, |state, link| QueueParams {
                    rows: self.rows.ptr(),
                    levels,
                    totals,
                    state,
                    link,
                    nodes: self.nodes,
                    source: config.source,
                    seen_at: self.seen_at,
                    queue_at: self.queue_at,
                })
            }
        })
    }
}
