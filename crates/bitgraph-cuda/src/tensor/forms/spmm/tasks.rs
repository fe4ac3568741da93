//! Rows as tasks of a few lanes each, built on the device: what `kernels/tensor/spmm_tasks.cuh` reads.
//!
//! Invariant: every entry lies in one task, and every row in one or in pieces that follow each other, which are the first of all tasks. Where rows
//! are cut without a wait, there are as many tasks as there may be, and those that are none are zeros.

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
        piece_count: u32,
        cut_count: u32,
        pitch: u32,
        slice_blocks: u32,
        unused: u32,
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

parameters! {
    struct CutParams = "tensor/spmm_build.cu" "bg::SpmmCut" {
        offsets: DevicePtr<u32>,
        tasks: DevicePtr<[u32; 4]>,
        cut: DevicePtr<[u32; 4]>,
        status: DevicePtr<u64>,
        rows: u32,
        piece: u32,
        pieces: u32,
        unused: u32,
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
    /// Tasks among which are all pieces.
    piece_count: u32,
    cut_count: u32,
}

impl Tasks {
    /// Each row in its order: nothing is built.
    pub(super) fn natural(pattern: Pattern) -> Self {
        let (tasks, cut, arrived, partial) = Default::default();
        Self { pattern, tasks, cut, arrived, partial, piece_count: 0, cut_count: 0 }
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
        let partial = device.alloc_for::<f32>(pieces.checked_mul(width.next_multiple_of(4)).ok_or_else(overflow)?, "partial sums")?;
        let arrived = device.zeroed::<u32>((cut_count as usize).checked_mul(slices(width, lanes)).ok_or_else(overflow)?)?;
        Ok(Self { pattern: pattern.clone(), tasks, cut, arrived, partial, piece_count: pieces as u32, cut_count })
    }
    /// Cuts rows of more than `piece` entries, all in their order, by bounds of how many there are: one pass over the rows, which is not waited for.
    pub(super) fn cut(device: &Device, pattern: Pattern, piece: u32, width: usize, lanes: u32) -> Result<Self> {
        let (rows, entries) = (pattern.rows(), pattern.entries());
        // A cut row has more than a piece, and less than a piece more than its whole pieces have.
        let most_cut = (entries / (piece as usize + 1)).min(rows);
        let pieces = entries / piece as usize + most_cut;
        let threads = block(device);
        let grid = primitives::blocks(rows as u64, u64::from(threads))?;
        let slices = slices(width, lanes);
        let sizes = (pieces.checked_add(rows), most_cut.checked_mul(slices), pieces.checked_mul(width.next_multiple_of(4)));
        let (Some(count), Some(arrived), Some(partial)) = sizes else { return Err(overflow()) };
        // Tasks, status words and counts of pieces that are done are zeroed together.
        let (status, zeros) = (16 * count, 16 * count + 8 * (grid as usize + 1));
        let zeroed = device.zeroed::<u8>(zeros + 4 * arrived)?;
        let tasks = zeroed.part(0..status).cast::<[u32; 4]>();
        let cut = device.alloc::<[u32; 4]>(most_cut)?;
        let partial = device.alloc_for::<f32>(partial, "partial sums")?;
        let parameters = CutParams {
            offsets: pattern.offsets.ptr(),
            tasks: tasks.ptr(),
            cut: cut.ptr(),
            status: zeroed.ptr().offset(status).cast(),
            rows: rows as u32,
            piece,
            pieces: pieces as u32,
            unused: 0,
        };
        let shape = Shape { grid, block: threads, shared: 36 * 8, mode: Mode::Plain };
        // SAFETY: no pattern of so many entries has more pieces or cut rows; there is a zeroed status word for each block.
        unsafe { device.launch(&device.kernel(BUILD, "spmm_tasks_cut")?, shape, &parameters) }?;
        let arrived = zeroed.part(zeros..zeroed.len()).cast();
        Ok(Self { pattern, tasks, cut, arrived, partial, piece_count: pieces as u32, cut_count: most_cut as u32 })
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
            piece_count: self.piece_count,
            cut_count: self.cut_count,
            pitch: operands.columns.next_multiple_of(4),
            slice_blocks: slice_blocks as u32,
            unused: 0,
        };
        let (module, kernel) = plan.kernel::<T>(terms, self.piece_count > 0);
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

/// Slices of columns, enough for every way to slice them that may run.
fn slices(width: usize, lanes: u32) -> usize {
    width.div_ceil(if lanes == 1 { 32 } else { lanes as usize * 4 }).max(width.div_ceil(32))
}
fn overflow() -> crate::Error {
    Base::Overflow { what: "the partial sums of cut rows", dtype: DType::U64 }.into()
}
