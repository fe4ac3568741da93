//! What searches of the same graph share: isolated vertices, and for each vertex an in-neighbour that is visited early.

use super::{Rows, count32};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Shape, parameters};

const MODULE: &str = "graph/bfs_prepare";

parameters! {
    struct PrepareParams = "graph/bfs_prepare.cu" "bg::BfsPrepareParams" {
        out_offsets: DevicePtr<u32>,
        in_offsets: DevicePtr<u32>,
        in_indices: DevicePtr<u32>,
        isolated: DevicePtr<u32>,
        first: DevicePtr<u32>,
        connected: DevicePtr<u32>,
        nodes: u32,
        words: u32,
    }

    struct ParentsParams = "graph/bfs_prepare.cu" "bg::BfsParentsParams" {
        in_offsets: DevicePtr<u32>,
        in_indices: DevicePtr<u32>,
        levels: DevicePtr<i32>,
        parents: DevicePtr<u32>,
        nodes: u32,
        source: u32,
    }
}

/// Made once for a graph: 4.125 bytes for each vertex.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// A bit for every vertex without arcs.
    pub isolated: Buffer<u32>,
    /// The in-neighbour of largest degree.
    pub first: Buffer<u32>,
    /// Vertices with arcs.
    pub connected: u32,
}

impl Prepared {
    pub(crate) fn build(device: &Device, nodes: usize, rows: &Rows, entering: &Rows) -> Result<Self> {
        let words = nodes.div_ceil(32);
        let isolated = device.alloc(words)?;
        let first = device.alloc(nodes)?;
        let connected = device.zeroed::<u32>(1)?;
        let parameters = PrepareParams {
            out_offsets: rows.offsets.ptr(),
            in_offsets: entering.offsets.ptr(),
            in_indices: entering.indices.ptr(),
            isolated: isolated.ptr(),
            first: first.ptr(),
            connected: connected.ptr(),
            nodes: count32(nodes)?,
            words: count32(words)?,
        };
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(MODULE, "bfs_isolated")?, looping(device, nodes), &parameters) }?;
        // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
        unsafe { device.launch(&device.kernel(MODULE, "bfs_first")?, looping(device, nodes.saturating_mul(8)), &parameters) }?;
        let connected = connected.get(0)?;
        Ok(Self { isolated, first, connected })
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.isolated.bytes() + self.first.bytes()
    }
}

/// A grid for kernels that loop: enough threads for the items, at most a few blocks on every multiprocessor.
pub(crate) fn looping(device: &Device, items: usize) -> Shape {
    let mut shape = device.cover(items.max(1), 256);
    shape.grid = shape.grid.min(device.properties().sms * 16);
    shape
}

/// Parents from levels: the smallest in-neighbour of the level before.
pub(crate) fn parents_of_levels(device: &Device, entering: &Rows, levels: &Buffer<i32>, parents: &Buffer<u32>, source: u32) -> Result<()> {
    let parameters = ParentsParams {
        in_offsets: entering.offsets.ptr(),
        in_indices: entering.indices.ptr(),
        levels: levels.ptr(),
        parents: parents.ptr(),
        nodes: count32(levels.len())?,
        source,
    };
    // SAFETY: the arrays were made for this graph's vertices and arcs, which were counted when they were.
    unsafe { device.launch(&device.kernel(MODULE, "bfs_parents_of_levels")?, looping(device, levels.len()), &parameters) }
}
