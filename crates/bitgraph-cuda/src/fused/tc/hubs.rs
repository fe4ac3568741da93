//! The form for graphs with hubs: degree order, and the adjacency of the vertices of largest degree as a triangle of bits.
//!
//! Invariant: lists hold smaller numbers only, which are the heavier vertices; row `v` of the bits covers the vertices before `v`.

use super::{Options, SCRATCH};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{Side, degree_order, exclusive_scan_total, orient, relabel};
use crate::{DeviceCsr, Result};
use bitgraph_kernels::constant;

parameters! {
    struct HubsParams = "graph/tc_hubs.cuh" "bg::tc::HubsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        order: DevicePtr<u32>,
        matrix: DevicePtr<u64>,
        high_starts: DevicePtr<u32>,
        high: DevicePtr<u64>,
        total: DevicePtr<u64>,
        ticket: DevicePtr<u32>,
        hubs: u32,
        wide: u32,
        narrow: u32,
        few: u32,
        n: u32,
        low: u32,
    }
    struct ClassesParams = "graph/tc_orient.cu" "bg::tc::ClassesParams" {
        offsets: DevicePtr<u32>,
        result: DevicePtr<u32>,
        n: u32,
        whole: u32,
    }
}

/// `bg::tc::QUAD`.
const QUAD: u32 = constant("tuning/tc.cuh", "QUAD") as u32;
/// Bytes of `bg::tc::WarpShared`.
const WARP_SHARED: u32 = 64 * 4 + 256 * 4;
/// Hubs: 64 MiB of bits. With fewer, what is left to search costs more; with more, the bitmaps of a block do.
const MOST_HUBS: u32 = 1 << 15;

/// Columns up to which rows of bits are read whole; beyond, the few bits of a row are listed.
const WHOLE_COLUMNS: u32 = 2048;
/// Lists longer than this are asked by whole rows.
const WHOLE_LIST: u32 = 32;

/// A graph in degree order, and its hubs.
#[derive(Debug)]
pub(super) struct Hubs {
    lists: DeviceCsr,
    offsets: Buffer<u32>,
    order: Buffer<u32>,
    matrix: Buffer<u64>,
    high_starts: Buffer<u32>,
    high: Buffer<u64>,
    hubs: u32,
    low: u32,
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
    pub fn build(device: &Device, out: &DeviceCsr, options: Options) -> Result<Self> {
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
        let parameters = ClassesParams {
            offsets: offsets.ptr(),
            result: classes.ptr(),
            n: n as u32,
            whole: options.whole.unwrap_or(WHOLE_LIST).min(64),
        };
        // SAFETY: the arrays are of the oriented graph that the layout was made from.
        unsafe { device.launch(&device.kernel("graph/tc_orient", "tc_classes")?, shape, &parameters) }?;
        let most = options.hubs.unwrap_or(MOST_HUBS);
        let hubs = (n as u32).min(most).next_multiple_of(QUAD);
        let matrix = device.alloc_for::<u64>(2 * row_start(u64::from(hubs)) as usize, "the hubs' bits")?;
        matrix.fill_bytes(0)?;
        let classes = classes.to_vec()?;
        // Entries of 16 bits name the hubs and one number past them.
        let low = if hubs > u32::from(u16::MAX) { hubs } else { options.low.unwrap_or(WHOLE_COLUMNS).next_multiple_of(QUAD).min(hubs) };
        let mut this = Self {
            lists,
            offsets,
            order,
            matrix,
            high_starts: Buffer::default(),
            high: Buffer::default(),
            hubs,
            low,
            wide: classes[0],
            narrow: classes[1],
            few: classes[2],
        };
        let block = device.properties().max_threads_per_block.min(256);
        let shape = Shape { grid: hubs.div_ceil(block / 32), block, shared: 0, mode: Mode::Plain };
        // SAFETY: the arrays are of the oriented graph that the layout was made from.
        let launch = |name, parameters: &HubsParams| unsafe { device.launch(&device.kernel("graph/tc_hubs", name)?, shape, parameters) };
        launch("tc_hubs_matrix", &this.parameters(DevicePtr::NULL, DevicePtr::NULL))?;
        if low < hubs {
            this.high_starts = device.alloc(hubs as usize)?;
            launch("tc_hubs_high_count", &this.parameters(DevicePtr::NULL, DevicePtr::NULL))?;
            let (starts, words) = exclusive_scan_total(device, &this.high_starts)?;
            this.high_starts = starts;
            this.high = device.alloc(2 * words.max(1) as usize)?;
            launch("tc_hubs_high_fill", &this.parameters(DevicePtr::NULL, DevicePtr::NULL))?;
        }
        Ok(this)
    }
    fn parameters(&self, total: DevicePtr<u64>, ticket: DevicePtr<u32>) -> HubsParams {
        HubsParams {
            offsets: self.offsets.ptr(),
            indices: self.lists.indices.ptr(),
            order: self.order.ptr(),
            matrix: self.matrix.ptr(),
            high_starts: self.high_starts.ptr(),
            high: self.high.ptr(),
            total,
            ticket,
            hubs: self.hubs,
            wide: self.wide,
            narrow: self.narrow,
            few: self.few,
            n: self.lists.rows as u32,
            low: self.low,
        }
    }
    /// Counts, timed; `total` and `ticket` are zero.
    pub fn run(&self, device: &Device, total: DevicePtr<u64>, ticket: DevicePtr<u32>) -> Result<()> {
        let kernel = device.kernel("graph/tc_hubs", "tc_hubs")?;
        let block = device.properties().max_threads_per_block.min(256);
        let shared = SCRATCH + block / 32 * (WARP_SHARED + self.hubs / 8 + 16);
        let resident = device.resident(&kernel, block, shared)?.max(1) * device.properties().sms;
        let tickets = self.wide + (self.narrow - self.wide).div_ceil(8) + (self.few - self.narrow).div_ceil(64);
        let shape = Shape { grid: tickets.div_ceil(block / 32).clamp(1, resident), block, shared, mode: Mode::Plain };
        // SAFETY: the arrays are of the oriented graph that the layout was made from.
        device.span(|| unsafe { device.launch(&kernel, shape, &self.parameters(total, ticket)) })
    }
    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.lists.bytes() + self.order.bytes() + self.matrix.bytes() + self.high_starts.bytes() + self.high.bytes()
    }
}
