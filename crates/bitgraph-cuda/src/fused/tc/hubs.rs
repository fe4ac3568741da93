//! The form for graphs with hubs: degree order, and the adjacency of the heaviest vertices as a triangle of bits.
//!
//! Invariant: lists hold smaller numbers only, which are the heavier vertices; row `v` of the bits covers the vertices before `v`.

use super::SCRATCH;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::primitives::{Side, degree_order, orient, relabel};
use crate::{DeviceCsr, Result};
use bytemuck::{Pod, Zeroable};

/// `bg::tc::HubsParams`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct HubsParams {
    offsets: DevicePtr<u32>,
    indices: DevicePtr<u32>,
    order: DevicePtr<u32>,
    matrix: DevicePtr<u64>,
    total: DevicePtr<u64>,
    ticket: DevicePtr<u32>,
    hubs: u32,
    wide: u32,
    narrow: u32,
    few: u32,
    n: u32,
    reserved: u32,
}
/// `bg::tc::ClassesParams`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ClassesParams {
    offsets: DevicePtr<u32>,
    result: DevicePtr<u32>,
    n: u32,
    reserved: u32,
}

/// `bg::tc::QUAD`.
const QUAD: u32 = 128;
/// Bytes of `bg::tc::WarpShared`.
const WARP_SHARED: u32 = 64 * 4 + 256 * 4;
/// Vertices of a graph up to which half as many hubs are kept: the bits of their rows are cheaper to read than what is left is to search.
const FEWER_HUBS: usize = 1 << 18;
/// Hubs of larger graphs: 64 MiB of bits.
const MOST_HUBS: u32 = 1 << 15;

/// A graph in degree order, and its hubs.
#[derive(Debug)]
pub(super) struct Hubs {
    lists: DeviceCsr,
    offsets: Buffer<u32>,
    order: Buffer<u32>,
    matrix: Buffer<u64>,
    hubs: u32,
    /// Lists that are taken whole, bit by bit, and by a few lanes.
    wide: u32,
    narrow: u32,
    few: u32,
}

/// Words of 128 bits before row `v` of the matrix.
fn row_start(v: u64) -> u64 {
    let (whole, rest) = (v.saturating_sub(1) / u64::from(QUAD), v.saturating_sub(1) % u64::from(QUAD));
    (whole + 1) * (u64::from(QUAD) / 2 * whole + rest)
}

impl Hubs {
    /// Two sorts of the vertices, one of the entries. Waits.
    pub fn build(device: &Device, out: &DeviceCsr, hubs: Option<u32>) -> Result<Self> {
        let by_degree = degree_order(device, out)?;
        let (relabelled, _) = relabel(device, out, None, &by_degree, true)?;
        drop(by_degree);
        let lists = orient(device, &relabelled, Side::Lower)?;
        drop(relabelled);
        let n = lists.rows;
        // By the length of the lists, which is not the order of degrees.
        let order = degree_order(device, &lists)?.old_of_new;
        let offsets = lists.offsets.as_u32().cloned().unwrap_or_default();
        let classes = device.zeroed::<u32>(3)?;
        let mut shape = device.cover(n, 512);
        shape.grid = shape.grid.min(4 * device.properties().sms);
        let parameters = ClassesParams { offsets: offsets.ptr(), result: classes.ptr(), n: n as u32, reserved: 0 };
        device.launch(&device.kernel("graph/tc_orient", "tc_classes")?, shape, &parameters)?;
        let most = hubs.unwrap_or(if n <= FEWER_HUBS { MOST_HUBS / 2 } else { MOST_HUBS });
        let hubs = (n as u32).min(most).next_multiple_of(QUAD);
        let matrix = device.alloc_for::<u64>(2 * row_start(u64::from(hubs)) as usize, "the hubs' bits")?;
        matrix.fill_bytes(0)?;
        let classes = classes.to_vec()?;
        let this = Self { lists, offsets, order, matrix, hubs, wide: classes[0], narrow: classes[1], few: classes[2] };
        let block = device.properties().max_threads_per_block.min(256);
        let shape = Shape { grid: hubs.div_ceil(block / 32), block, shared: 0, mode: Mode::Plain };
        device.launch(&device.kernel("graph/tc_hubs", "tc_hubs_matrix")?, shape, &this.parameters(DevicePtr::NULL, DevicePtr::NULL))?;
        Ok(this)
    }
    fn parameters(&self, total: DevicePtr<u64>, ticket: DevicePtr<u32>) -> HubsParams {
        HubsParams {
            offsets: self.offsets.ptr(),
            indices: self.lists.indices.ptr(),
            order: self.order.ptr(),
            matrix: self.matrix.ptr(),
            total,
            ticket,
            hubs: self.hubs,
            wide: self.wide,
            narrow: self.narrow,
            few: self.few,
            n: self.lists.rows as u32,
            reserved: 0,
        }
    }
    /// Counts, timed; `total` and `ticket` are zero.
    pub fn run(&self, device: &Device, total: DevicePtr<u64>, ticket: DevicePtr<u32>) -> Result<()> {
        let kernel = device.kernel("graph/tc_hubs", "tc_hubs")?;
        let block = device.properties().max_threads_per_block.min(256);
        let shared = SCRATCH + block / 32 * (WARP_SHARED + self.hubs / 8);
        let resident = device.resident(&kernel, block, shared)?.max(1) * device.properties().sms;
        let tickets = self.wide + (self.narrow - self.wide).div_ceil(8) + (self.few - self.narrow).div_ceil(64);
        let shape = Shape { grid: tickets.div_ceil(block / 32).clamp(1, resident), block, shared, mode: Mode::Plain };
        device.timed(|| device.launch(&kernel, shape, &self.parameters(total, ticket)))
    }
    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.lists.bytes() + self.order.bytes() + self.matrix.bytes()
    }
}
