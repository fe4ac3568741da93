//! A matrix as slices of 32 rows, each a list of diagonals: meshes and blocks.
//!
//! Invariant: a slice's diagonals ascend and are distinct; each names the rows that it has an entry in. 8 bytes a diagonal, 128 more
//! with values.

use super::Pattern;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::exclusive_scan_total;
use bytemuck::Zeroable;

const MODULE: &str = "ops/spmv";
/// Diagonals of a slice on average, up to which a warp takes four slices.
const FEW: usize = 8;

parameters! {
    struct Params = "ops/spmv.cu" "bg::SpmvDiagonalsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        values: DevicePtr<f32>,
        starts: DevicePtr<u32>,
        diagonals: DevicePtr<[u32; 2]>,
        slots: DevicePtr<f32>,
        x: DevicePtr<f32>,
        y: DevicePtr<f32>,
        rows: u32,
        slices: u32,
    }
}

/// The layout.
#[derive(Clone, Debug)]
pub(super) struct Diagonals {
    starts: Buffer<u32>,
    diagonals: Buffer<[u32; 2]>,
    slots: Option<Buffer<f32>>,
    rows: usize,
}

fn shape(device: &Device, warps: usize) -> Shape {
    let block = 256.min(device.properties().max_threads_per_block);
    Shape { grid: warps.div_ceil(block as usize / 32) as u32, block, shared: 0, mode: Mode::Plain }
}

impl Diagonals {
    /// The layout; none without entries. O(nnz) on the device.
    pub(super) fn build(device: &Device, pattern: &Pattern, values: Option<&Buffer<f32>>) -> Result<Option<Self>> {
        let (rows, entries) = (pattern.rows(), pattern.entries());
        if entries == 0 || rows >= 1 << 31 {
            return Ok(None);
        }
        let slices = rows.div_ceil(32);
        let mut parameters = Params {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            rows: rows as u32,
            slices: slices as u32,
            ..Params::zeroed()
        };
        let counts = device.alloc::<u32>(slices)?;
        parameters.starts = counts.ptr();
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, "spmv_diagonals_count")?, shape(device, slices), &parameters) }?;
        let (starts, total) = exclusive_scan_total(device, &counts)?;
        let diagonals = device.alloc::<[u32; 2]>(total as usize)?;
        let slots = match values {
            Some(_) => Some(device.alloc::<f32>(32 * total as usize)?),
            None => None,
        };
        parameters.starts = starts.ptr();
        parameters.diagonals = diagonals.ptr();
        parameters.slots = slots.as_ref().map_or(DevicePtr::NULL, Buffer::ptr);
        parameters.values = values.map_or(DevicePtr::NULL, Buffer::ptr);
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, "spmv_diagonals_fill")?, shape(device, slices), &parameters) }?;
        Ok(Some(Self { starts, diagonals, slots, rows }))
    }
    pub(super) fn run(&self, device: &Device, x: &Buffer<f32>, y: &Buffer<f32>) -> Result<()> {
        let slices = self.rows.div_ceil(32);
        let few = self.slots.is_none() && self.diagonals.len() <= FEW * slices;
        let name = match (&self.slots, few) {
            (Some(_), _) => "spmv_diagonals_values",
            (None, true) => "spmv_diagonals_few",
            (None, false) => "spmv_diagonals_pattern",
        };
        let parameters = Params {
            starts: self.starts.ptr(),
            diagonals: self.diagonals.ptr(),
            slots: self.slots.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            x: x.ptr(),
            y: y.ptr(),
            rows: self.rows as u32,
            slices: slices as u32,
            ..Params::zeroed()
        };
        let warps = if few { slices.div_ceil(4) } else { slices };
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, name)?, shape(device, warps), &parameters) }
    }
    pub(super) fn bytes(&self) -> u64 {
        self.starts.bytes() + self.diagonals.bytes() + self.slots.as_ref().map_or(0, Buffer::bytes)
    }
    pub(super) fn explain(&self) -> String {
        format!(
            "slices of 32 rows by diagonals, {} in all{}",
            self.diagonals.len(),
            if self.slots.is_some() { ", with values" } else { "" }
        )
    }
}
