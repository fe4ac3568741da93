//! Small matrices as records of 64 bytes, built on the device: what `kernels/tensor/spmm_records.cuh` reads.
//!
//! Invariant: the parts of a row lie in one block's records; records past the last row are zero.

use super::tasks::{BUILD, BuildParams, Tasks, elementwise_rows};
use super::{Operands, block};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{self, exclusive_scan_total};
use crate::spmv::Pattern;
use crate::tensor::forms::Feature;
use crate::{DeviceCsr, Result};
use bitgraph_kernels::constant;

parameters! {
    struct RecordsParams = "tensor/spmm_records.cuh" "bg::SpmmRecordsParams" {
        operands: Operands,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        records: DevicePtr<[u32; 16]>,
        record_count: u32,
        unused: u32,
    }
}

/// Columns in a record.
pub(super) const RECORD_ENTRIES: usize = constant("tuning/spmm.cuh", "RECORD_ENTRIES") as usize;

/// A matrix as records.
#[derive(Clone, Debug)]
pub(super) struct Records {
    pattern: Pattern,
    records: Buffer<[u32; 16]>,
    /// Rows as they are, for features that no vectors can be loaded of.
    natural: Tasks,
}

impl Records {
    /// For rows of features of `lanes` lanes. O(rows) on the device; waits.
    pub(super) fn build(device: &Device, csr: &DeviceCsr, pattern: &Pattern, lanes: u32) -> Result<Self> {
        let order = primitives::degree_order(device, csr)?;
        let (rows, held) = (csr.rows, (block(device) / lanes) as usize);
        let counts = device.alloc::<u32>(rows)?;
        let mut build = BuildParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            order: order.old_of_new.ptr(),
            counts: counts.ptr(),
            tasks: DevicePtr::NULL,
            cut: DevicePtr::NULL,
            cut_count: DevicePtr::NULL,
            records: DevicePtr::NULL,
            rows: rows as u32,
            piece: held as u32,
        };
        elementwise_rows(device, BUILD, "spmm_records_count", rows, &build)?;
        let (starts, total) = exclusive_scan_total(device, &counts)?;
        let records = device.zeroed::<[u32; 16]>((total as usize).next_multiple_of(held))?;
        (build.counts, build.records) = (starts.ptr(), records.ptr());
        elementwise_rows(device, BUILD, "spmm_records_fill", rows, &build)?;
        Ok(Self { pattern: pattern.clone(), records, natural: Tasks::natural(pattern.clone()) })
    }
    /// One launch.
    pub(super) fn run<T: Feature>(&self, device: &Device, lanes: u32, operands: Operands) -> Result<()> {
        let block = block(device);
        let parameters = RecordsParams {
            operands,
            offsets: self.pattern.offsets.ptr(),
            indices: self.pattern.indices.ptr(),
            records: self.records.ptr(),
            record_count: self.records.len() as u32,
            unused: 0,
        };
        let weighted = if operands.scale_columns.address() == 0 { "" } else { "weighted_" };
        let kernel = device.kernel("tensor/spmm_records", &format!("spmm_records_{weighted}{}_{lanes}", T::NAME))?;
        let grid = self.records.len() as u32 / (block / lanes);
        // A vector of sums for each thread.
        let shared = block * 4 * super::select::per_lane::<T>() as u32;
        // SAFETY: the records were made for this matrix and this block, and the caller compared the lengths of the operands with it.
        unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &parameters) }
    }
    /// The rows in their order.
    pub(super) fn rows(&self) -> &Tasks {
        &self.natural
    }
    pub(super) fn explain(&self) -> String {
        format!("{} records for {} rows", self.records.len(), self.pattern.rows())
    }
    pub(super) fn bytes(&self) -> u64 {
        self.records.bytes()
    }
}
