//! Columns renumbered by how often they are named: on large skewed matrices most reads of x then hit the first-level cache.
//!
//! Invariant: `indices` are those of the matrix in new numbers, in the same order, so that values and sums keep theirs.

use super::Pattern;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::primitives::{gather, invert, sort_pairs};
use bytemuck::Zeroable;

const MODULE: &str = "ops/spmv";

parameters! {
    struct Params = "ops/spmv.cu" "bg::SpmvColumnsParams" {
        indices: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        columns: DevicePtr<u32>,
        most: DevicePtr<u32>,
        order: DevicePtr<u32>,
        x: DevicePtr<f32>,
        ordered: DevicePtr<f32>,
        entries: u32,
        count: u32,
    }
}

/// The renumbering, and room for x in it.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    order: Buffer<u32>,
    ordered: Buffer<f32>,
}

impl Columns {
    /// The renumbering of a matrix, and the matrix in it. O(nnz) on the device.
    pub(super) fn build(device: &Device, pattern: &Pattern, count: usize) -> Result<(Self, Pattern)> {
        let counts = device.zeroed::<u32>(count)?;
        let columns = device.alloc::<u32>(count)?;
        let most = device.zeroed::<u32>(1)?;
        let parameters = Params {
            indices: pattern.indices.ptr(),
            counts: counts.ptr(),
            columns: columns.ptr(),
            most: most.ptr(),
            entries: pattern.entries() as u32,
            count: count as u32,
            ..Params::zeroed()
        };
        let mut shape = device.cover(count, 256);
        shape.grid = shape.grid.min(16 * device.properties().sms);
        for kernel in ["spmv_columns_count", "spmv_columns_most", "spmv_columns_keys"] {
            // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
            unsafe { device.launch(&device.kernel(MODULE, kernel)?, shape, &parameters) }?;
        }
        let bits = 32 - most.get(0)?.leading_zeros();
        let order = sort_pairs(device, &counts, &columns, 0..bits.max(1))?.1;
        let indices = gather(device, &invert(device, &order)?, &pattern.indices)?;
        let ordered = device.alloc::<f32>(count)?;
        Ok((Self { order, ordered }, Pattern { offsets: pattern.offsets.clone(), indices }))
    }
    /// x in the new order. Queued before the product that reads it.
    pub(super) fn apply(&self, device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
        let parameters =
            Params { order: self.order.ptr(), x: x.ptr(), ordered: self.ordered.ptr(), count: self.order.len() as u32, ..Params::zeroed() };
        // SAFETY: the arrays were made for this matrix, and the vectors are as long as its sides.
        unsafe { device.launch(&device.kernel(MODULE, "spmv_columns_order")?, device.cover(self.order.len(), 256), &parameters) }?;
        Ok(self.ordered.clone())
    }
    pub(super) fn bytes(&self) -> u64 {
        self.order.bytes() + self.ordered.bytes()
    }
}
