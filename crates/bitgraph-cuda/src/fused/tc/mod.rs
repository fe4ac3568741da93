//! Triangle counting: every edge is kept once, at its end of smaller degree, and the lists are intersected.
//!
//! Short lists are searched in registers or in a warp's hash table. Graphs with long lists have hubs: they are put into degree order
//! and the hubs' adjacency is kept as bits. The general form intersects the lists of one edge after another.
//!
//! # Invariants
//! The count is exact in 64 bits and does not depend on the form. Loops do not count. Undirected graphs only.

mod hubs;
mod oriented;
mod select;
#[cfg(test)]
mod tests;

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::{DeviceCsr, Result};
use bitgraph_algorithms::{Tc, TcConfig};
use bitgraph_kernels::constant;
use hubs::Hubs;
use oriented::Oriented;
pub use select::{VARIANTS, Variant};
use std::sync::{Mutex, PoisonError};

/// The sizes of the form with hubs; what is `None` is chosen by counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Vertices whose adjacency is kept as bits.
    pub hubs: Option<u32>,
    /// Columns up to which their bits are read by whole rows.
    pub low: Option<u32>,
    /// Lists longer than this are asked by whole rows; at most 64.
    pub whole: Option<u32>,
}

parameters! {
    struct ListsParams = "graph/tc_lists.cuh" "bg::tc::ListsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        total: DevicePtr<u64>,
        ticket: DevicePtr<u32>,
        n: u32,
        entries: u32,
    }
    struct ShortParams = "graph/tc_short.cu" "bg::tc::ShortParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        total: DevicePtr<u64>,
        n: u32,
        table_bits: u32,
    }
}

/// The longest lists of the form with a thread to a vertex.
const THREAD_LIST: u32 = 8;
/// The longest lists of the form with a warp to a vertex: two slots for each entry, a block's tables within its shared memory.
const WARP_LIST: u32 = 2048;
/// Bytes of `bg::tc::WINDOW` bits and the padding after them.
const WINDOW_BYTES: u32 = constant("tuning/tc.cuh", "WINDOW") as u32 / 8 + 16;
/// Bytes of shared memory that a block adds up in.
const SCRATCH: u32 = 34 * 8;

/// A graph laid out for counting its triangles.
#[derive(Debug)]
pub struct TcLayout {
    layout: Layout,
    /// The total, and a word that work is handed out by. One run at a time.
    counters: Mutex<Buffer<u64>>,
}

#[derive(Debug)]
enum Layout {
    Lists(Oriented, Variant),
    Hubs(Hubs),
}

impl TcLayout {
    /// Orients an undirected graph and lays it out for a variant. Where lists are too long for it, the next one stands in, which goes from
    /// a thread to a warp to the general form: [`TcLayout::variant`]. None for offsets of 64 bits. Waits.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(device: &Device, out: &DeviceCsr, variant: Variant, options: Options) -> Result<Option<Self>> {
        // Grid strides are added to row numbers.
        if out.rows > 1 << 31 {
            return Ok(None);
        }
        let Some(lists) = Oriented::build(device, out)? else { return Ok(None) };
        let variant = match variant {
            Variant::Thread | Variant::Warp if lists.longest > WARP_LIST => Variant::General,
            Variant::Thread if lists.longest > THREAD_LIST => Variant::Warp,
            variant => variant,
        };
        let layout = if variant == Variant::Hubs && lists.entries > 0 {
            drop(lists);
            Layout::Hubs(Hubs::build(device, out, options)?)
        } else {
            Layout::Lists(lists, variant)
        };
        Ok(Some(Self { layout, counters: Mutex::new(device.zeroed(2)?) }))
    }
    /// The variant that runs.
    #[must_use]
    pub fn variant(&self) -> Variant {
        match &self.layout {
            Layout::Lists(_, variant) => *variant,
            Layout::Hubs(_) => Variant::Hubs,
        }
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.layout {
            Layout::Lists(lists, _) => lists.bytes(),
            Layout::Hubs(hubs) => hubs.bytes(),
        }
    }
    /// The triangles of the graph that the layout was built for.
    ///
    /// # Errors
    /// Cancellation, or the driver's.
    pub fn run(&self, device: &Device, config: &TcConfig) -> Result<Tc> {
        config.control.check()?;
        if matches!(&self.layout, Layout::Lists(lists, _) if lists.entries == 0) {
            return Ok(Tc { triangles: 0 });
        }
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        // Also keeps the device busy until the launch arrives, so that no gap is timed.
        counters.fill_bytes(0)?;
        let (total, ticket) = (counters.ptr(), counters.ptr().offset(1).cast());
        match &self.layout {
            Layout::Hubs(hubs) => hubs.run(device, total, ticket)?,
            Layout::Lists(lists, Variant::Thread | Variant::Warp) if lists.longest <= 1 => {}
            Layout::Lists(lists, variant @ (Variant::Thread | Variant::Warp)) => run_short(device, lists, *variant, total)?,
            Layout::Lists(lists, _) => run_general(device, lists, total, ticket)?,
        }
        Ok(Tc { triangles: counters.get(0)? })
    }
}

fn run_general(device: &Device, lists: &Oriented, total: DevicePtr<u64>, ticket: DevicePtr<u32>) -> Result<()> {
    let parameters = ListsParams {
        offsets: lists.offsets.ptr(),
        indices: lists.indices.ptr(),
        total,
        ticket,
        n: lists.rows as u32,
        entries: lists.entries,
    };
    let kernel = device.kernel("graph/tc_general", "tc_general")?;
    let block = device.properties().max_threads_per_block.min(512);
    let warps = lists.entries.div_ceil(32);
    let grid = warps.div_ceil(block / 32).min(4 * device.properties().sms);
    // SAFETY: the arrays are of the oriented graph that the layout was made from.
    device.span(|| unsafe { device.launch(&kernel, Shape { grid, block, shared: 0, mode: Mode::Plain }, &parameters) })
}

fn run_short(device: &Device, lists: &Oriented, variant: Variant, total: DevicePtr<u64>) -> Result<()> {
    let n = lists.rows as u32;
    let block = device.properties().max_threads_per_block.min(256);
    // Two slots for each entry, and a store of 16 bytes for each lane to clear them.
    let table_bits = (2 * lists.longest).next_power_of_two().max(128).trailing_zeros();
    let (name, items, shared) = match variant {
        Variant::Thread if lists.longest <= 4 => ("tc_short_thread4", block, SCRATCH),
        Variant::Thread => ("tc_short_thread8", block, SCRATCH),
        _ => ("tc_short_warp", block / 32, SCRATCH + block / 32 * (WINDOW_BYTES + (4 << table_bits))),
    };
    let kernel = device.kernel("graph/tc_short", name)?;
    let resident = device.resident(&kernel, block, shared)?.max(1) * device.properties().sms;
    let parameters = ShortParams { offsets: lists.offsets.ptr(), indices: lists.indices.ptr(), total, n, table_bits };
    let shape = Shape { grid: n.div_ceil(items).min(resident), block, shared, mode: Mode::Plain };
    // SAFETY: the arrays are of the oriented graph that the layout was made from.
    device.span(|| unsafe { device.launch(&kernel, shape, &parameters) })
}
