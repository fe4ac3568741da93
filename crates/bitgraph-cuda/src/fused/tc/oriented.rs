//! The oriented lists: every edge once, at the end of smaller degree.
//!
//! Invariant: lists are ascending, without loops, and no longer than the square root of twice the edges.

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::exclusive_scan_total;
use crate::{DeviceCsr, Result};

parameters! {
    struct OrientParams = "graph/tc_orient.cu" "bg::tc::OrientParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        lengths: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        lists: DevicePtr<u32>,
        longest: DevicePtr<u32>,
        n: u32,
        reserved: u32,
    }
}

/// Oriented lists in the graph's own numbering.
#[derive(Debug)]
pub(super) struct Oriented {
    pub rows: usize,
    pub entries: u32,
    pub longest: u32,
    pub offsets: Buffer<u32>,
    pub indices: Buffer<u32>,
}

impl Oriented {
    /// Two passes over the entries. None if the offsets are 64 bits wide. Waits.
    pub fn build(device: &Device, out: &DeviceCsr) -> Result<Option<Self>> {
        let Some(offsets) = out.offsets.as_u32() else { return Ok(None) };
        let rows = out.rows;
        let (lengths, longest) = (device.alloc::<u32>(rows)?, device.zeroed::<u32>(1)?);
        let mut parameters = OrientParams {
            offsets: offsets.ptr(),
            indices: out.indices.ptr(),
            lengths: lengths.ptr(),
            starts: DevicePtr::NULL,
            lists: DevicePtr::NULL,
            longest: longest.ptr(),
            n: rows as u32,
            reserved: 0,
        };
        let block = device.properties().max_threads_per_block.min(512);
        let grid = (rows as u32).div_ceil(block / 32).min(8 * device.properties().sms);
        let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
        // SAFETY: the arrays are of the oriented graph that the layout was made from.
        unsafe { device.launch(&device.kernel("graph/tc_orient", "tc_orient_count")?, shape, &parameters) }?;
        let (starts, entries) = exclusive_scan_total(device, &lengths)?;
        let indices = device.alloc_for::<u32>(entries as usize, "oriented lists")?;
        parameters.starts = starts.ptr();
        parameters.lists = indices.ptr();
        if entries > 0 {
            // SAFETY: the arrays are of the oriented graph that the layout was made from.
            unsafe { device.launch(&device.kernel("graph/tc_orient", "tc_orient_fill")?, shape, &parameters) }?;
        }
        let longest = if rows > 0 { longest.get(0)? } else { 0 };
        Ok(Some(Self { rows, entries, longest, offsets: starts, indices }))
    }
    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.offsets.bytes() + self.indices.bytes()
    }
}
