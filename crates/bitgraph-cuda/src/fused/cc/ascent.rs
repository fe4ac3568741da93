//! The forest in which every vertex is hooked under its max-degree neighbour, for graphs where nearly all chains of pointers end at the vertex of maximum degree.
//!
//! Needs a symmetric graph whose hubs reach nearly all vertices: social, web and power-law graphs. The forest is prepared; a run jumps along pointers,
//! and looks at the edges of those alone who did not come to the top. Time: a pass over the vertices, and the edges of the others.

use super::LONG_ROW;
use crate::device::{Buffer, Device, DevicePtr, GridState, HostLink, parameters};
use crate::primitives::{compact, degree_order};
use crate::{DeviceCsr, Result};
use bitgraph_algorithms::CcConfig;

parameters! {
    struct MaxDegreeParams = "graph/cc_ascent.cu" "bg::cc::MaxDegreeParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        rank: DevicePtr<u32>,
        vertex: DevicePtr<u32>,
        first: DevicePtr<u32>,
        up: DevicePtr<u32>,
        roots: DevicePtr<u32>,
        n: u32,
        reserved: u32,
    }
    struct AscentParams = "graph/cc_ascent.cu" "bg::cc::AscentParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        first: DevicePtr<u32>,
        up: DevicePtr<u32>,
        roots: DevicePtr<u32>,
        parent: DevicePtr<u32>,
        smallest: DevicePtr<u32>,
        labels: DevicePtr<u32>,
        long_rows: DevicePtr<u32>,
        state: DevicePtr<GridState>,
        link: HostLink,
        n: u32,
        root_count: u32,
    }
}

/// `bg::cc::AscentShared`, in bytes.
const SHARED: u32 = 32;

/// The prepared forest and what a run needs.
#[derive(Debug)]
pub(super) struct Ascent {
    first: Buffer<u32>,
    up: Buffer<u32>,
    roots: Buffer<u32>,
    parent: Buffer<u32>,
    smallest: Buffer<u32>,
    long_rows: Buffer<u32>,
}

impl Ascent {
    /// Whether a block's notes on its range fit in its shared memory.
    pub fn fits(device: &Device, n: usize) -> bool {
        shared(device, n) <= device.properties().shared_per_block
    }
    /// A sort of the vertices and a pass over the entries. Waits.
    pub fn build(device: &Device, graph: &DeviceCsr, offsets: &Buffer<u32>) -> Result<Self> {
        let n = graph.rows;
        let order = degree_order(device, graph)?;
        let (first, up, roots) = (device.alloc(n)?, device.alloc(n)?, device.alloc(n)?);
        let parameters = MaxDegreeParams {
            offsets: offsets.ptr(),
            indices: graph.indices.ptr(),
            rank: order.new_of_old.ptr(),
            vertex: order.old_of_new.ptr(),
            first: first.ptr(),
            up: up.ptr(),
            roots: roots.ptr(),
            n: n as u32,
            reserved: 0,
        };
        let mut shape = device.cover(32 * n, 256);
        shape.grid = shape.grid.min(8 * device.properties().sms);
        shape.shared = 32 * 4;
        // SAFETY: the arrays are this graph's, and those made above for its vertices and arcs.
        unsafe { device.launch(&device.kernel("graph/cc_ascent", "cc_max_degree")?, shape, &parameters) }?;
        let roots = compact(device, &roots)?;
        let (parent, smallest, long_rows) = (device.alloc(n)?, device.alloc(n)?, device.alloc(graph.nnz / LONG_ROW + 1)?);
        Ok(Self { first, up, roots, parent, smallest, long_rows })
    }
    pub fn bytes(&self) -> u64 {
        self.first.bytes() + self.up.bytes() + self.roots.bytes() + self.parent.bytes() + self.smallest.bytes() + self.long_rows.bytes()
    }
    /// Fills `labels`.
    pub fn run(&self, device: &Device, graph: &DeviceCsr, offsets: &Buffer<u32>, config: &CcConfig, labels: &Buffer<u32>) -> Result<u32> {
        let (n, sms) = (self.first.len(), device.properties().sms);
        let kernel = device.kernel("graph/cc_ascent", "cc_ascent")?;
        let mut shape = device.persistent_shape(&kernel, 1024, shared(device, n), sms)?;
        // As many blocks as the notes were sized for, or the launch is refused.
        shape.grid = sms;
        // SAFETY: the arrays were made for this graph's vertices; the launch is cooperative.
        unsafe {
            device.persistent(&kernel, shape, &config.control, |state, link| AscentParams {
                offsets: offsets.ptr(),
                indices: graph.indices.ptr(),
                first: self.first.ptr(),
                up: self.up.ptr(),
                roots: self.roots.ptr(),
                parent: self.parent.ptr(),
                smallest: self.smallest.ptr(),
                labels: labels.ptr(),
                long_rows: self.long_rows.ptr(),
                state,
                link,
                n: n as u32,
                root_count: self.roots.len() as u32,
            })
        }
    }
}

/// Shared memory of a block: two bits for every vertex of its range.
fn shared(device: &Device, n: usize) -> u32 {
    SHARED + 8 * n.div_ceil(device.properties().sms.max(1) as usize).div_ceil(32) as u32
}
