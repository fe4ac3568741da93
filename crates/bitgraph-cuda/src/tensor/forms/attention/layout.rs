//! The rows of a matrix as tasks, built on the device: what `kernels/tensor/attention_tasks.cuh` reads.
//!
//! Invariant: a task has as many entries as a window or a piece at most; every row lies in one task, or in pieces that follow each other. Of a matrix
//! of few products there are as many tasks as there may be, and those that are none are zeros.

use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::matrix::CudaMatrix;
use crate::primitives::{
    THREADS, blocks, degree_order, degrees, elementwise, exclusive_scan_total, id_bits, reduce, sort_keys, threads, too_large,
};
use crate::{DeviceCsr, Result, skew};
use bitgraph_kernels::constant;

/// Warps below which groups of lanes share rows.
pub(crate) const WARPS_ENOUGH: u64 = constant("tuning/attention.cuh", "WARPS_ENOUGH");
/// Tasks below which windows are narrowed.
pub(crate) const TASKS_ENOUGH: u64 = constant("tuning/attention.cuh", "TASKS_ENOUGH");
/// The same of attention whose scores are formed of two rows, where warps take them: kron:14 .070 ms for .082 (f16, 128 columns, H200).
pub(super) const PAIRS_ENOUGH: u64 = 4 * TASKS_ENOUGH;
/// Entries of a piece at least, where rows of small matrices are cut further: a warp waits for memory once for every few of them. The row of 169
/// entries of Cora's 2708 took 79 us of a backward pass as one piece (H200, 128 columns).
const FEWEST_ENTRIES: u64 = 32;
/// Entries of a brief row at most: one for each lane of a warp.
const BRIEF: u32 = 32;
/// Entries of a piece of a row, of rows that are taken in windows.
const PIECE_ENTRIES: u32 = constant("tuning/attention.cuh", "PIECE_ENTRIES") as u32;

/// How rows are cut into tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// Windows of so many rows in their order, fewer, of `narrowest` at least, where that would give fewer than `enough` tasks.
    Windows { widest: u32, narrowest: u32, enough: u64 },
    /// Single rows, the longest first, or so within parts of an even matrix, in pieces of so many entries.
    ByLength { piece: u32 },
}

/// What is known of the products of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Products {
    /// There are many: rows are looked at.
    Many,
    /// There are few: nothing is waited for. Rows have so many entries at most, where that is known.
    Few(Option<u32>),
}

impl Products {
    pub(crate) fn of(matrix: &CudaMatrix) -> Self {
        matrix.longest_if_short_lived().map_or(Self::Many, |longest| Self::Few(Some(longest)))
    }
    /// Those of the transpose, of whose rows nothing is known.
    pub(crate) fn transposed(self) -> Self {
        if self == Self::Many { Self::Many } else { Self::Few(None) }
    }
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
    struct PassParams = "tensor/attention_tasks.cu" "bg::RowTasksPass" {
        build: BuildParams,
        status: DevicePtr<u64>,
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

const MODULE: &str = "tensor/attention_tasks";
/// Entries of a window at most.
const WINDOW_ENTRIES: usize = constant("tuning/attention.cuh", "WINDOW_ENTRIES") as usize;
/// Logarithm of the rows of a part in which the rows of an even matrix are sorted.
const PART_BITS: u32 = constant("tuning/attention.cuh", "PART_BITS") as u32;

/// Entries of a piece at most, of which a longer piece is made shorter where the matrix is small: a piece takes as long as its entries, all of them
/// together as long as `enough` warps take. A power of two.
pub(super) fn shortened(piece: u32, entries: usize, enough: u64) -> u32 {
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
    /// sort of the rows by length; waits for two numbers. Of few products at most one launch over windows in their order, which is not waited for.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(crate) fn build(device: &Device, csr: &DeviceCsr, cut: Cut, products: Products) -> Result<Option<Self>> {
        let Some(offsets) = csr.offsets.as_u32() else { return Ok(None) };
        // Kernels step past the last entry by a few.
        if csr.nnz > u32::MAX as usize - 4096 || csr.rows >= u32::MAX as usize || csr.columns >= u32::MAX as usize {
            return Ok(None);
        }
        let (mut window, mut piece, mut order) = (1, PIECE_ENTRIES, None);
        match cut {
            Cut::Windows { widest, narrowest, enough } => {
                piece = shortened(piece, csr.nnz, enough);
                window = widest.max(1);
                while window > narrowest.max(1) && (csr.rows as u64).div_ceil(u64::from(window)) < enough {
                    window = window.div_ceil(2);
                }
            }
            Cut::ByLength { piece: entries } => {
                piece = shortened(entries, csr.nnz, TASKS_ENOUGH);
                order = if products == Products::Many { Some(length_order(device, csr)?) } else { None };
            }
        }
        let windows = csr.rows.div_ceil(window as usize);
        if let Products::Few(longest) = products {
            return Self::in_order(device, csr, offsets, (window, piece), longest).map(Some);
        }
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
        // SAFETY: every array holds as many elements as the parameters say.
        unsafe { elementwise(device, MODULE, "attention_tasks_count", windows as u64, &build) }?;
        let (piece_places, piece_count) = exclusive_scan_total(device, &pieces)?;
        let (other_places, other_count) = exclusive_scan_total(device, &others)?;
        let (mut tasks, mut arrived) = (Buffer::default(), Buffer::default());
        if order.is_some() || piece_count > 0 || other_count as usize != windows {
            tasks = device.alloc::<[u32; 4]>(piece_count as usize + other_count as usize)?;
            arrived = device.zeroed::<u32>(piece_count as usize)?;
            (build.pieces, build.others) = (piece_places.ptr(), other_places.ptr());
            (build.tasks, build.piece_count) = (tasks.ptr(), piece_count);
            // SAFETY: every array holds as many elements as the parameters say; the counts gave the sizes.
            unsafe { elementwise(device, MODULE, "attention_tasks_fill", windows as u64, &build) }?;
        }
        Ok(Some(Self::over(csr, offsets, (window, piece), (tasks, arrived), (piece_count, other_count))))
    }
    /// The tasks of the form for brief rows, if there is one and no row is longer; else those of the other form, cut as it wants them. None as of
    /// [`RowTasks::build`].
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(crate) fn of_form<F>(
        device: &Device,
        csr: &DeviceCsr,
        brief: Option<F>,
        (other, cut): (F, Cut),
        products: Products,
    ) -> Result<Option<(F, Self)>> {
        if let Some(form) = brief
            && let Some(tasks) = Self::brief(device, csr, products)?
        {
            return Ok(Some((form, tasks)));
        }
        Ok(Self::build(device, csr, cut, products)?.map(|tasks| (other, tasks)))
    }
    /// Rows in their order, each a task, where none has more than [`BRIEF`] entries; None otherwise. One launch, and waits for a number; of few
    /// products neither, and None where nothing is known of the rows.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    fn brief(device: &Device, csr: &DeviceCsr, products: Products) -> Result<Option<Self>> {
        // Kernels count on by a few times as many rows as a launch takes at once.
        let within = csr.nnz <= u32::MAX as usize - 4096 && csr.rows < 1 << 31 && csr.columns < u32::MAX as usize;
        let Some(offsets) = csr.offsets.as_u32().filter(|_| within) else { return Ok(None) };
        let longest = match products {
            Products::Few(longest) => longest,
            Products::Many => Some(reduce(device, &degrees(device, csr)?)?.max),
        };
        let brief = longest.is_some_and(|longest| longest <= BRIEF);
        Ok(brief.then(|| Self::over(csr, offsets, (1, PIECE_ENTRIES), Default::default(), (0, csr.rows as u32))))
    }
    /// Windows in their order, cut without a wait by bounds of how many tasks there are; none are cut where no row can be long enough.
    fn in_order(
        device: &Device,
        csr: &DeviceCsr,
        offsets: &Buffer<u32>,
        (window, piece): (u32, u32),
        longest: Option<u32>,
    ) -> Result<Self> {
        let (rows, nnz, windows) = (csr.rows, csr.nnz, csr.rows.div_ceil(window as usize));
        let longest = longest.map_or(nnz, |longest| nnz.min(longest as usize));
        if longest <= piece as usize && (window == 1 || longest.saturating_mul(window as usize).min(nnz) <= WINDOW_ENTRIES) {
            return Ok(Self::over(csr, offsets, (window, piece), Default::default(), (0, windows as u32)));
        }
        // A cut row has more than a piece, and less than a piece more than its whole pieces have. A window comes apart around a row that is cut, and
        // where a row would have it hold too much, which every entry is part of twice at most.
        let most_cut = rows.min(nnz / (piece as usize + 1));
        let pieces = nnz / piece as usize + most_cut;
        let others = rows.min(windows + 2 * most_cut + 2 * nnz / WINDOW_ENTRIES);
        let block = threads(device, THREADS);
        let grid = blocks(windows as u64, block.into())?;
        // Tasks, status words and counts of pieces that are done are zeroed together.
        let (status, zeros) = (16 * (pieces + others), 16 * (pieces + others) + 8 * (grid as usize + 1));
        let zeroed = device.zeroed::<u8>(zeros + 4 * pieces)?;
        let tasks = zeroed.part(0..status).cast::<[u32; 4]>();
        let build = BuildParams {
            offsets: offsets.ptr(),
            order: DevicePtr::NULL,
            pieces: DevicePtr::NULL,
            others: DevicePtr::NULL,
            tasks: tasks.ptr(),
            row_count: rows as u32,
            windows: windows as u32,
            window,
            piece_count: pieces as u32,
            piece,
            unused: 0,
        };
        let pass = PassParams { build, status: zeroed.ptr().offset(status).cast() };
        let shape = Shape { grid, block, shared: 36 * 8, mode: Mode::Plain };
        // SAFETY: no pattern of so many rows and entries gives more tasks; there is a zeroed status word for each block.
        unsafe { device.launch(&device.kernel(MODULE, "attention_tasks_pass")?, shape, &pass) }?;
        let arrived = zeroed.part(zeros..zeroed.len()).cast();
        Ok(Self::over(csr, offsets, (window, piece), (tasks, arrived), (pieces as u32, others as u32)))
    }
    /// So many pieces and other tasks.
    fn over(
        csr: &DeviceCsr,
        offsets: &Buffer<u32>,
        (window, piece): (u32, u32),
        (tasks, arrived): (Buffer<[u32; 4]>, Buffer<u32>),
        (piece_count, other_count): (u32, u32),
    ) -> Self {
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
        Self { parameters, rows: csr.rows, columns: csr.columns, entries: csr.nnz, tasks, arrived, pattern }
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
        let found = RowTasks::build(&device, &lists(&device, &csr), Cut::ByLength { piece: 128 }, Products::Many).unwrap().unwrap();
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
