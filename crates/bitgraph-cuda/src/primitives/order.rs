//! A local numbering for meshes that lost theirs, and a probe of how slowly searches spread.
//!
//! Cost: a walk over all levels for each sweep, a few microseconds a level where levels are narrow, plus the entries; memory 16 bytes a vertex.
//! Rows of thousands of entries are walked by one thread: not for graphs with hubs.

use super::csr::{Order, RowOffsets, degrees};
use super::{invert, iota, launch, reduce};
use crate::Result;
use crate::device::{Device, DevicePtr, GridState, HostLink, Mode, Shape, parameters};
use crate::layout::DeviceCsr;
use bitgraph_backend::Control;
use bytemuck::Zeroable;

parameters! {
    struct OrderParams = "formats/order.cu" "bg::OrderParams" {
        offsets: RowOffsets,
        indices: DevicePtr<u32>,
        claims: DevicePtr<u32>,
        latest: DevicePtr<u32>,
        queue: DevicePtr<u32>,
        totals: DevicePtr<u32>,
        result: DevicePtr<u32>,
        state: DevicePtr<GridState>,
        link: HostLink,
        n: u32,
        start: u32,
        sweeps: u32,
        components: u32,
        narrow: u32,
        limit: u32,
        longest: u32,
        unused: u32,
    }
}

/// How [`level_order`] walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelOrderConfig {
    /// A vertex of the first component; the first that has entries if `None`.
    pub start: Option<u32>,
    /// Sweeps of the first component; each starts at the far end of the one before.
    pub sweeps: u32,
    /// Components that are numbered by levels, all but the first in the order of their smallest numbers; the others keep their order, at
    /// the end.
    pub components: u32,
    /// The widest level that one block walks alone; what suits the device if `None`.
    pub narrow: Option<u32>,
    /// Rows longer than this make the order refuse; `u32::MAX`: there are none.
    pub longest_row: u32,
}

impl Default for LevelOrderConfig {
    fn default() -> Self {
        Self { start: None, sweeps: 2, components: 64, narrow: None, longest_row: 512 }
    }
}

/// What [`level_order`] finds.
#[derive(Clone, Debug)]
pub struct LevelOrder {
    /// The numbering.
    pub order: Order,
    /// Levels of the last sweep of the first component: its diameter plus one at most, and rarely much less.
    pub levels: u32,
    /// Vertices of the widest level of all sweeps.
    pub widest: u32,
    /// Components that were numbered by levels.
    pub components: u32,
}

struct Walked {
    queue: crate::device::Buffer<u32>,
    result: [u32; 4],
}

/// Shared memory of a block.
const SHARED: u32 = 16 + 40 * 4 + 34 * 8;

fn walk(device: &Device, csr: &DeviceCsr, config: &LevelOrderConfig) -> Result<Walked> {
    let n = csr.rows;
    let claims = device.alloc::<u32>(n)?;
    claims.fill_bytes(0xff)?;
    let latest = device.zeroed::<u32>(n)?;
    let queue = device.alloc::<u32>(n)?;
    let result = device.zeroed::<u32>(4)?;
    let kernel = device.kernel("formats/order", "order_levels")?;
    let block = launch::threads(device, 1024);
    let shape = device.persistent_shape(&kernel, block, SHARED, device.properties().sms)?;
    let totals = device.alloc::<u32>(shape.grid as usize)?;
    let narrow = if shape.grid == 1 { u32::MAX } else { config.narrow.unwrap_or(2 * block) };
    // SAFETY: every array holds as many elements as the parameters say; the launch is cooperative.
    unsafe {
        device.persistent(&kernel, shape, &Control::default(), |state, link| OrderParams {
            offsets: RowOffsets::of(csr),
            indices: csr.indices.ptr(),
            claims: claims.ptr(),
            latest: latest.ptr(),
            queue: queue.ptr(),
            totals: totals.ptr(),
            result: result.ptr(),
            state,
            link,
            n: n as u32,
            start: config.start.unwrap_or(u32::MAX),
            sweeps: config.sweeps.max(1),
            components: config.components.max(1),
            narrow,
            limit: u32::MAX,
            longest: u32::MAX,
            unused: 0,
        })
    }?;
    let found = result.to_vec()?;
    Ok(Walked { queue, result: [found[0], found[1], found[2], found[3]] })
}

/// A numbering in which neighbours are close, for a symmetric mesh: by breadth-first level from a far vertex, within a level by the first
/// and the last neighbour in the level before (Cuthill and McKee). Deterministic. `None` where it makes no sense: rows past the limit, too
/// many vertices to count, or no such start. Waits.
///
/// # Errors
/// Out of memory, or that the kernel's blocks do not fit.
pub fn level_order(device: &Device, csr: &DeviceCsr, config: &LevelOrderConfig) -> Result<Option<LevelOrder>> {
    // A claim is a place plus a multiple of n.
    let most = u32::MAX / config.sweeps.max(1);
    if csr.rows != csr.columns || csr.rows as u64 >= u64::from(most) || config.start.is_some_and(|v| v as usize >= csr.rows) {
        return Ok(None);
    }
    if csr.nnz == 0 {
        let all = iota(device, csr.rows, 0)?;
        let order = Order { new_of_old: all.clone(), old_of_new: all };
        return Ok(Some(LevelOrder { order, levels: 0, widest: 0, components: 0 }));
    }
    if config.longest_row < u32::MAX && reduce(device, &degrees(device, csr)?)?.max > config.longest_row {
        return Ok(None);
    }
    let walked = walk(device, csr, config)?;
    let order = Order { new_of_old: invert(device, &walked.queue)?, old_of_new: walked.queue };
    let [_, levels, widest, components] = walked.result;
    Ok(Some(LevelOrder { order, levels, widest, components }))
}

/// Entries of a row that the probe looks at: a hub shows that a graph is no mesh.
const PROBED_ENTRIES: u32 = 256;

/// Queues a search from `source` that ends at `limit` vertices; `result` gets vertices met and levels. Does not wait.
pub(crate) fn probe(device: &Device, csr: &DeviceCsr, source: u32, limit: u32, result: DevicePtr<u32>) -> Result<()> {
    let claims = device.alloc::<u32>(csr.rows)?;
    claims.fill_bytes(0xff)?;
    let latest = device.zeroed::<u32>(csr.rows)?;
    let queue = device.alloc::<u32>(csr.rows)?;
    let state = device.zeroed::<GridState>(1)?;
    let kernel = device.kernel("formats/order", "order_levels")?;
    let block = launch::threads(device, 1024);
    // One block waits for no other.
    let shape = Shape { grid: 1, block, shared: SHARED, mode: Mode::Plain };
    let parameters = OrderParams {
        offsets: RowOffsets::of(csr),
        indices: csr.indices.ptr(),
        claims: claims.ptr(),
        latest: latest.ptr(),
        queue: queue.ptr(),
        totals: DevicePtr::NULL,
        result,
        state: state.ptr(),
        link: HostLink::zeroed(),
        n: csr.rows as u32,
        start: source,
        sweeps: 1,
        components: 1,
        narrow: u32::MAX,
        limit,
        longest: PROBED_ENTRIES,
        unused: 0,
    };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { device.launch(&kernel, shape, &parameters) }
}
