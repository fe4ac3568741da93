//! Rows as tasks of a few lanes each, built on the device: what `kernels/tensor/spmm_tasks.cuh` reads.
//!
//! Invariant: every entry lies in one task, and every row in one or in pieces that follow each other, which are the first of all tasks.

use super::SpmmPlan;
use super::{Operands, Terms, block};
use crate::device::{Buffer, Device, DevicePtr, Mode, Parameters, Shape, parameters};
use crate::primitives::{self, elementwise, exclusive_scan_total};
use crate::spmv::Pattern;
use crate::tensor::forms::Feature;
use crate::{DeviceCsr, Result};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::DType;

parameters! {
    struct TasksParams = "tensor/spmm_tasks.cuh" "bg::SpmmTasksParams" {
        operands: Operands,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        tasks: DevicePtr<[u32; 4]>,
        cut: DevicePtr<[u32; 4]>,
        arrived: DevicePtr<u32>,
        partial: DevicePtr<f32>,
        task_count: u32,
        cut_count: u32,
        pitch: u32,
        slice_blocks: u32,
    }
    pub(super) struct BuildParams = "tensor/spmm_build.cu" "bg::SpmmBuild" {
        pub offsets: DevicePtr<u32>,
        pub indices: DevicePtr<u32>,
        pub order: DevicePtr<u32>,
        pub counts: DevicePtr<u32>,
        pub tasks: DevicePtr<[u32; 4]>,
        pub cut: DevicePtr<[u32; 4]>,
        pub cut_count: DevicePtr<u32>,
        pub records: DevicePtr<[u32; 16]>,
        pub rows: u32,
        pub piece: u32,
    }
}

pub(super) const BUILD: &str = "tensor/spmm_build";

/// Launches a kernel of a build, whose threads stride over the rows. The arrays that the parameters name are of one matrix, as long as the
/// kernel takes them to be.
pub(super) fn elementwise_rows<P: Parameters>(device: &Device, module: &str, kernel: &str, rows: usize, parameters: &P) -> Result<()> {
    // SAFETY: the callers, all in this folder, make the arrays for the pattern that they pass.
    unsafe { elementwise(device, module, kernel, rows as u64, parameters) }
}

/// Rows as tasks.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    pattern: Pattern,
    tasks: Buffer<[u32; 4]>,
    cut: Buffer<[u32; 4]>,
    arrived: Buffer<u32>,
    partial: Buffer<f32>,
    cut_count: u32,
}

impl Tasks {
    /// Each row in its order: nothing is built.
    pub(super) fn natural(pattern: Pattern) -> Self {
        let (tasks, cut, arrived, partial) = Default::default();
        Self { pattern, tasks, cut, arrived, partial, cut_count: 0 }
    }
    /// Sorts rows by length and cuts those of more than `piece` entries. O(rows) on the device; waits.
    pub(super) fn build(device: &Device, csr: &DeviceCsr, pattern: &Pattern, piece: u32, width: usize, lanes: u32) -> Result<Self> {
        let order = primitives::degree_order(device, csr)?;
        let rows = csr.rows;
        let counts = device.alloc::<u32>(rows)?;
        let cut_count = device.zeroed::<u32>(1)?;
        let mut build = BuildParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            order: order.old_of_new.ptr(),
            counts: counts.ptr(),
            tasks: DevicePtr::NULL,
            cut: DevicePtr::NULL,
            cut_count: cut_count.ptr(),
            records: DevicePtr::NULL,
            rows: rows as u32,
            piece,
        };
        elementwise_rows(device, BUILD, "spmm_tasks_count", rows, &build)?;
        let (starts, total) = exclusive_scan_total(device, &counts)?;
        let cut_count = cut_count.get(0)?;
        let tasks = device.alloc::<[u32; 4]>(total as usize)?;
        let cut = device.alloc::<[u32; 4]>(cut_count as usize)?;
        (build.counts, build.tasks, build.cut) = (starts.ptr(), tasks.ptr(), cut.ptr());
        elementwise_rows(device, BUILD, "spmm_tasks_fill", rows, &build)?;
        let pieces = total as usize - (rows - cut_count as usize);
        let overflow = || Base::Overflow { what: "the partial sums of cut rows", dtype: DType::U64 };
        let slices = width.div_ceil(if lanes == 1 { 32 } else { lanes as usize * 4 });
        let partial = device.alloc_for::<f32>(pieces.checked_mul(width.next_multiple_of(4)).ok_or_else(overflow)?, "partial sums")?;
        // Enough for every way to slice the columns that may run.
        let arrived = device.zeroed::<u32>((cut_count as usize).checked_mul(slices.max(width.div_ceil(32))).ok_or_else(overflow)?)?;
        Ok(Self { pattern: pattern.clone(), tasks, cut, arrived, partial, cut_count })
    }
    /// One launch.
    pub(super) fn run<T: Feature>(&self, device: &Device, plan: SpmmPlan, operands: Operands, terms: Terms) -> Result<()> {
        let block = block(device);
        let tasks = if self.tasks.is_empty() { self.pattern.rows() } else { self.tasks.len() };
        let lanes = if plan.lanes == 1 { 32 } else { plan.lanes };
        let slice_blocks = tasks.div_ceil((block / lanes) as usize);
        let slices = (operands.columns as usize).div_ceil(plan.slice::<T>());
        let grid = primitives::blocks((slice_blocks as u64).saturating_mul(slices as u64), 1)?;
        let parameters = TasksParams {
            operands,
            offsets: self.pattern.offsets.ptr(),
            indices: self.pattern.indices.ptr(),
            tasks: self.tasks.ptr(),
            cut: self.cut.ptr(),
            arrived: self.arrived.ptr(),
            partial: self.partial.ptr(),
            task_count: tasks as u32,
            cut_count: self.cut_count,
            pitch: operands.columns.next_multiple_of(4),
            slice_blocks: slice_blocks as u32,
        };
        let (module, kernel) = plan.kernel::<T>(terms);
        let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
        // SAFETY: the tasks were made for this matrix, and the caller compared the lengths of the operands with it.
        unsafe { device.launch(&device.kernel(&module, &kernel)?, shape, &parameters) }
    }
    pub(super) fn explain(&self) -> String {
        if self.tasks.is_empty() {
            return format!("{} rows in their order", self.pattern.rows());
        }
        format!("{} tasks, {} rows cut", self.tasks.len(), self.cut_count)
    }
    pub(super) fn bytes(&self) -> u64 {
        self.tasks.bytes() + self.cut.bytes() + self.arrived.bytes() + self.partial.bytes()
    }
}
