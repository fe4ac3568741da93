//! The rows of a matrix as tasks, built on the device: what `kernels/tensor/attention_tasks.cuh` reads.
//!
//! Invariant: a task has as many entries as a window or a piece at most; every row lies in one task, or in pieces that follow each other.

use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::primitives::{degree_order, degrees, elementwise, exclusive_scan_total, id_bits, reduce, sort_keys, too_large};
use crate::{DeviceCsr, Result, skew};
use bitgraph_kernels::constant;

/// Warps below which groups of lanes share rows.
pub(crate) const WARPS_ENOUGH: u64 = constant("tuning/attention.cuh", "WARPS_ENOUGH");
/// Tasks below which windows are narrowed.
pub(crate) const TASKS_ENOUGH: u64 = constant("tuning/attention.cuh", "TASKS_ENOUGH");
/// Entries of a piece at least, where rows of small matrices are cut further: a warp waits for memory once for every few of them. The row of 169
/// entries of Cora's 2708 took 79 us of a backward pass as one piece (H200, 128 columns).
const FEWEST_ENTRIES: u64 = 32;
/// Entries of a piece of a row, of rows that are taken in windows.
const PIECE_ENTRIES: u32 = constant("tuning/attention.cuh", "PIECE_ENTRIES") as u32;

/// How rows are cut into tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// Windows of so many rows in their order, fewer where that would give fewer than `enough` tasks.
    Windows { widest: u32, enough: u64 },
    /// Single rows, the longest first, or so within parts of an even matrix, in pieces of so many entries.
    ByLength { piece: u32 },
}

parameters! {
    #[derive(Debug)]
    pub(crate) struct RowTasksParams = "tensor/attention_tasks.cuh" "bg::RowTasks" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        tasks: DevicePtr<[u32; 4]>,
        arrived: DevicePtr<u32>,
        pub(crate) task_count: u32,
        pub(crate) piece_count: u32,
        row_count: u32,
        entry_count: u32,
        window: u32,
        piece: u32,
    }
    struct BuildParams = "tensor/attention_tasks.cu" "bg::RowTasksBuild" {
        offsets: DevicePtr<u32>,
        order: DevicePtr<u32>,
        pieces: DevicePtr<u32>,
        others: DevicePtr<u32>,
        tasks: DevicePtr<[u32; 4]>,
        row_count: u32,
        windows: u32,
        window: u32,
        piece_count: u32,
        piece: u32,
        unused: u32,
    }
}

/// Rows as tasks. Clones share the memory.
#[derive(Clone, Debug)]
pub(crate) struct RowTasks {
    pub(crate) parameters: RowTasksParams,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) entries: usize,
    tasks: Buffer<[u32; 4]>,
    arrived: Buffer<u32>,
    /// Keeps the arrays alive that the parameters point to.
    pattern: (Buffer<u32>, Buffer<u32>),
}

/// Logarithm of the rows of a part in which the rows of an even matrix are sorted.
const PART_BITS: u32 = constant("tuning/attention.cuh", "PART_BITS") as u32;

/// Entries of a piece at most, of which a longer piece is made shorter where the matrix is small: a piece takes as long as its entries, all of them
/// together as long as `enough` warps take. A power of two.
fn shortened(piece: u32, entries: usize, enough: u64) -> u32 {
    let even = 4 * entries as u64 / enough.max(1);
    piece.min(even.clamp(FEWEST_ENTRIES, 1 << 30).next_power_of_two() as u32)
}

/// Rows by descending length; where degrees are even, part after part, so that rows that are stored side by side are read at about one time.
fn length_order(device: &Device, csr: &DeviceCsr) -> Result<Buffer<u32>> {
    let rows = degree_order(device, csr)?.old_of_new;
    let bits = id_bits(csr.rows);
    if bits <= PART_BITS {
        return Ok(rows);
    }
    let longest = reduce(device, &degrees(device, csr)?)?.max;
    if skew::ratio(longest, csr.rows, csr.nnz) >= skew::SKEWED {
        return Ok(rows);
    }
    // Of equal parts, rows keep their order.
    sort_keys(device, &rows, PART_BITS..bits)
}

impl RowTasks {
    /// Cuts the rows: long windows into rows, and long rows into pieces. None if the offsets are 64 bits wide. Four launches over the windows, and a
    /// sort of the rows by length; waits for two numbers.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(crate) fn build(device: &Device, csr: &DeviceCsr, cut: Cut) -> Result<Option<Self>> {
        let Some(offsets) = csr.offsets.as_u32() else { return Ok(None) };
        // Kernels step past the last entry by a few.
        if csr.nnz > u32::MAX as usize - 4096 || csr.rows >= u32::MAX as usize || csr.columns >= u32::MAX as usize {
            return Ok(None);
        }
        let (mut window, mut piece, mut order) = (1, PIECE_ENTRIES, None);
        match cut {
            Cut::Windows { widest, enough } => {
                piece = shortened(piece, csr.nnz, enough);
                window = widest.max(1);
                while window > 1 && (csr.rows as u64).div_ceil(u64::from(window)) < enough {
                    window = window.div_ceil(2);
                }
            }
            Cut::ByLength { piece: entries } => {
                piece = shortened(entries, csr.nnz, TASKS_ENOUGH);
                order = Some(length_order(device, csr)?);
            }
        }
        let windows = csr.rows.div_ceil(window as usize);
        let (pieces, others) = (device.alloc::<u32>(windows)?, device.alloc::<u32>(windows)?);
        let mut build = BuildParams {
            offsets: offsets.ptr(),
            order: order.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            pieces: pieces.ptr(),
            others: others.ptr(),
            tasks: DevicePtr::NULL,
            row_count: csr.rows as u32,
            windows: windows as u32,
            window,
            piece_count: 0,
            piece,
            unused: 0,
        };
        let module = "tensor/attention_tasks";
        // SAFETY: every array holds as many elements as the parameters say.
        unsafe { elementwise(device, module, "attention_tasks_count", windows as u64, &build) }?;
        let (piece_places, piece_count) = exclusive_scan_total(device, &pieces)?;
        let (other_places, other_count) = exclusive_scan_total(device, &others)?;
        let (mut tasks, mut arrived) = (Buffer::default(), Buffer::default());
        if order.is_some() || piece_count > 0 || other_count as usize != windows {
            tasks = device.alloc::<[u32; 4]>(piece_count as usize + other_count as usize)?;
            arrived = device.zeroed::<u32>(piece_count as usize)?;
            (build.pieces, build.others) = (piece_places.ptr(), other_places.ptr());
            (build.tasks, build.piece_count) = (tasks.ptr(), piece_count);
            // SAFETY: every array holds as many elements as the parameters say; the counts gave the sizes.
            unsafe { elementwise(device, module, "attention_tasks_fill", windows as u64, &build) }?;
        }
        let parameters = RowTasksParams {
            offsets: offsets.ptr(),
            indices: csr.indices.ptr(),
            tasks: tasks.ptr(),
            arrived: arrived.ptr(),
            task_count: piece_count + other_count,
            piece_count,
            row_count: csr.rows as u32,
            entry_count: csr.nnz as u32,
            window,
            piece,
        };
        let pattern = (offsets.clone(), csr.indices.clone());
        Ok(Some(Self { parameters, rows: csr.rows, columns: csr.columns, entries: csr.nnz, tasks, arrived, pattern }))
    }
    /// Logarithm of the groups of `lanes` lanes that share a row, of single rows: several in a warp where there would be too few warps.
    pub(crate) fn side_bits(&self, lanes: u32, enough: u64) -> u32 {
        let warps = u64::from(self.parameters.task_count) * u64::from(lanes) / 32;
        (0..).find(|bits| lanes << bits >= 32 || warps << bits >= enough).unwrap_or(0)
    }
    /// Warps of a launch with so many lanes for each task.
    ///
    /// # Errors
    /// More than a launch has.
    pub(crate) fn warps(&self, lanes: u32) -> Result<u32> {
        let warps = (u64::from(self.parameters.task_count) * u64::from(lanes)).div_ceil(32);
        u32::try_from(warps).map_err(|_| too_large(warps))
    }
    /// How the rows are cut.
    pub(crate) fn explain(&self) -> String {
        let p = &self.parameters;
        match p.piece_count {
            0 => format!("{} tasks, windows of {} rows", p.task_count, p.window),
            pieces => format!("{} tasks, windows of {} rows, {pieces} pieces of {} entries of rows", p.task_count, p.window, p.piece),
        }
    }
    /// Bytes of the pattern that the parameters point to.
    pub(crate) fn pattern_bytes(&self) -> u64 {
        self.pattern.0.bytes() + self.pattern.1.bytes()
    }
    /// Bytes beyond the matrix.
    pub(crate) fn bytes(&self) -> u64 {
        self.tasks.bytes() + self.arrived.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::device;
    use crate::tensor::forms::testing::lists;
    use bitgraph_sparse::{Coo, Duplicates};

    #[test]
    fn even_rows_are_sorted_in_parts() {
        let Some(device) = device() else { return };
        let (rows, part) = (70_000u32, 1u32 << PART_BITS);
        // One to three entries a row.
        let (r, c) = (0..rows).flat_map(|i| (0..=i % 3).map(move |k| (i, (i + k) % rows))).unzip();
        let csr = Coo::pattern(rows as usize, rows as usize, r, c).into_csr(Duplicates::First).unwrap().0;
        let found = RowTasks::build(&device, &lists(&device, &csr), Cut::ByLength { piece: 128 }).unwrap().unwrap();
        let tasks = found.tasks.to_vec().unwrap();
        let mut seen: Vec<u32> = tasks.iter().map(|task| task[0]).collect();
        // Parts follow each other, and in each the longest rows come first.
        assert!(tasks.windows(2).all(|pair| {
            let (before, after) = (pair[0], pair[1]);
            let (low, high) = (before[0] / part, after[0] / part);
            low < high || (low == high && before[3] - before[2] >= after[3] - after[2])
        }));
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..rows));
    }
}
