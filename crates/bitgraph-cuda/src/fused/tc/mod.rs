//! Triangle counting: every edge is kept once, at its end of smaller degree, and the lists are intersected.
//!
//! # Invariants
//! The count is exact in 64 bits and does not depend on the form. Loops do not count. Undirected graphs only.

mod oriented;
#[cfg(test)]
mod tests;

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::{DeviceCsr, Result};
use bitgraph_backend::{Plan, Tc, TcConfig};
use bytemuck::{Pod, Zeroable};
use oriented::Oriented;
use std::sync::{Mutex, PoisonError};

/// Which form runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// What the counts say.
    #[default]
    Auto,
    /// For any graph: a warp intersects the lists of one edge at a time.
    General,
}

/// How to choose the form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The form; one that cannot run the graph is replaced by the general one.
    pub form: Form,
}

/// `bg::tc::ListsParams`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ListsParams {
    offsets: DevicePtr<u32>,
    indices: DevicePtr<u32>,
    total: DevicePtr<u64>,
    ticket: DevicePtr<u32>,
    n: u32,
    entries: u32,
}

/// A graph laid out for counting its triangles.
#[derive(Debug)]
pub struct TcLayout {
    form: Form,
    lists: Oriented,
    /// The total, and a word that work is handed out by. One run at a time.
    counters: Mutex<Buffer<u64>>,
}

impl TcLayout {
    /// Orients the graph and chooses the form. None for a directed graph or offsets of 64 bits. Waits.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build(device: &Device, out: &DeviceCsr, incoming: Option<&DeviceCsr>, _plan: &Plan) -> Result<Option<Self>> {
        if incoming.is_some() {
            return Ok(None);
        }
        Self::build_as(device, out, Options::default())
    }
    /// As [`TcLayout::build`] with choices made.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub fn build_as(device: &Device, out: &DeviceCsr, _options: Options) -> Result<Option<Self>> {
        // Grid strides are added to row numbers.
        if out.rows > 1 << 31 {
            return Ok(None);
        }
        let Some(lists) = Oriented::build(device, out)? else { return Ok(None) };
        Ok(Some(Self { form: Form::General, lists, counters: Mutex::new(device.zeroed(2)?) }))
    }
    /// The form that runs.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lists.bytes()
    }
    /// The triangles of the graph that the layout was built for.
    ///
    /// # Errors
    /// Cancellation, or the driver's.
    pub fn run(&self, device: &Device, config: &TcConfig) -> Result<Tc> {
        config.control.check()?;
        if self.lists.entries == 0 {
            return Ok(Tc { triangles: 0 });
        }
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        // Also keeps the device busy until the launch arrives, so that no gap is timed.
        counters.fill_bytes(0)?;
        let parameters = ListsParams {
            offsets: self.lists.offsets.ptr(),
            indices: self.lists.indices.ptr(),
            total: counters.ptr(),
            ticket: counters.ptr().offset(1).cast(),
            n: self.lists.rows as u32,
            entries: self.lists.entries,
        };
        let kernel = device.kernel("graph/tc_general", "tc_general")?;
        let block = device.properties().max_threads_per_block.min(512);
        let warps = self.lists.entries.div_ceil(32);
        let grid = warps.div_ceil(block / 32).min(4 * device.properties().sms);
        device.timed(|| device.launch(&kernel, Shape { grid, block, shared: 0, mode: Mode::Plain }, &parameters))?;
        Ok(Tc { triangles: counters.get(0)? })
    }
}
