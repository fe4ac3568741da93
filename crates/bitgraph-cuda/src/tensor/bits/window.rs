//! Sums of signs from a window of lines in shared memory: what `kernels/tensor/bits_window.cuh` does.
//!
//! Invariant: the window holds what a block's rows of two steps name, so that a line is copied to it before it is read and while none is
//! overwritten that still is.

use super::aggregate::Epilogue;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Properties, Shape, parameters};
use crate::primitives::{self, elementwise, exclusive_scan_total};
use crate::spmv::Pattern;
use bitgraph_kernels::constant;

parameters! {
    struct WindowParams = "tensor/bits_window.cuh" "bg::BitsWindowParams" {
        epilogue: Epilogue,
        features: DevicePtr<u32>,
        slices: DevicePtr<u32>,
        diagonals: DevicePtr<[u32; 2]>,
        degrees: DevicePtr<u8>,
        rows: u32,
        lines: u32,
        below: u32,
        above: u32,
        window: u32,
        parts: u32,
        block_rows: u32,
        unused: u32,
    }
    struct DiagonalsParams = "tensor/bits_window.cu" "bg::BitsDiagonals" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        limits: DevicePtr<u32>,
        diagonals: DevicePtr<[u32; 2]>,
        degrees: DevicePtr<u8>,
        rows: u32,
        window: u32,
        bytes: u32,
        with_self: u32,
    }
}

const MODULE: &str = "tensor/bits_window";
const THREADS: u32 = constant("tuning/bits.cuh", "WINDOW_THREADS") as u32;
const DIAGONALS: u32 = constant("tuning/bits.cuh", "WINDOW_DIAGONALS") as u32;
/// The most lines of a row that counters of few planes hold, and those of more.
const FEW: u32 = 7;
const MOST: u32 = 31;

/// Lines that are copied for each row, at most.
const MOST_COPIED: u64 = 6;
/// Bytes of shared memory that a block takes beside its own.
const BLOCK_SHARED: u32 = 1024;

/// The diagonals of a matrix: of 32 rows, the distances at which they name lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Diagonals {
    /// Of the slice that has most.
    most: u32,
    /// How far before a row the first line is that it names, and how far behind it the last.
    below: u32,
    above: u32,
}

/// The words of a line that a block takes, if a window can hold lines of so many.
fn vector(stride: usize) -> Option<usize> {
    match stride {
        2 => Some(2),
        s if s > 0 && s.is_multiple_of(4) => Some(4),
        _ => None,
    }
}

/// How rows and lines are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    vector: usize,
    parts: u32,
    blocks: u32,
    threads: u32,
    block_rows: u32,
    window: u32,
    shared: u32,
}
impl Cut {
    /// None if a multiprocessor cannot hold the window, or so much more is copied than counted that rows do better: on an H200, `mesh:60x60x25`
    /// with 8 words a line, whose blocks copy 5 lines for each of their rows, takes 15.4 us by a window and 14.1 to 17.2 by rows.
    fn of(properties: &Properties, found: &Diagonals, rows: usize, stride: usize) -> Option<Self> {
        let vector = vector(stride)?;
        let parts = u32::try_from(stride / vector).ok()?;
        let reach = u64::from(found.below) + u64::from(found.above);
        let with = |resident: u32| {
            let blocks = u64::from((resident * properties.sms / parts).max(1));
            let block_rows = (rows as u64).div_ceil(blocks).next_multiple_of(32);
            // As many rows in every step.
            let most = u64::from((THREADS / resident).min(properties.max_threads_per_block));
            let threads = block_rows.div_ceil(block_rows.div_ceil(most)).next_multiple_of(32);
            // It begins with an even line.
            let window = (reach + 2 + block_rows.min(2 * threads)).next_multiple_of(2);
            let shared = (window + 32) * 4 * vector as u64 + 16 + threads / 32 * u64::from(DIAGONALS) * 8;
            let room = if resident == 1 {
                properties.shared_per_block
            } else {
                (properties.shared_per_sm / resident).saturating_sub(BLOCK_SHARED)
            };
            let pays = if resident == 1 { parts == 1 || reach <= MOST_COPIED * block_rows } else { parts > 1 && reach <= block_rows };
            let (blocks, threads) = ((rows as u64).div_ceil(block_rows) as u32, threads as u32);
            let fits = pays && found.most <= DIAGONALS && shared <= u64::from(room);
            fits.then_some(Self {
                vector,
                parts,
                blocks,
                threads,
                block_rows: block_rows as u32,
                window: window as u32,
                shared: shared as u32,
            })
        };
        // Of two blocks for a multiprocessor one counts while the other waits: 180 us for 215 on `grid:1000x1000` with 32 words a line.
        with(2).or_else(|| with(1))
    }
}

/// The slices of a matrix as diagonals.
#[derive(Clone, Debug)]
pub(super) struct Window {
    slices: Buffer<u32>,
    diagonals: Buffer<[u32; 2]>,
    degrees: Buffer<u8>,
    found: Diagonals,
    rows: u32,
    lines: u32,
    cut: Cut,
    planes: u32,
}

impl Window {
    /// None if counters cannot hold a row, which has at most `longest` entries, or a multiprocessor the window. Two passes over the entries;
    /// waits.
    pub(super) fn build(
        device: &Device,
        pattern: &Pattern,
        lines: usize,
        stride: usize,
        with_self: bool,
        longest: u32,
    ) -> Result<Option<Self>> {
        let (rows, largest) = (pattern.rows(), longest.saturating_add(u32::from(with_self)));
        if rows == 0 || largest > MOST || vector(stride).is_none() {
            return Ok(None);
        }
        let counts = device.alloc::<u32>(rows.div_ceil(32))?;
        let limits = device.zeroed::<u32>(3)?;
        let mut build = DiagonalsParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            counts: counts.ptr(),
            limits: limits.ptr(),
            diagonals: DevicePtr::NULL,
            degrees: DevicePtr::NULL,
            rows: rows as u32,
            window: 0,
            bytes: 0,
            with_self: u32::from(with_self),
        };
        let threads = 32 * counts.len() as u64;
        // SAFETY: the arrays are as long as the matrix has slices.
        unsafe { elementwise(device, MODULE, "bits_diagonals_count", threads, &build) }?;
        let limits = limits.to_vec()?;
        let found = Diagonals { most: limits[0], below: limits[1], above: limits[2] };
        let Some(cut) = Cut::of(device.properties(), &found, rows, stride) else { return Ok(None) };
        let (slices, total) = exclusive_scan_total(device, &counts)?;
        let diagonals = device.alloc_for::<[u32; 2]>(total as usize, "diagonals of slices")?;
        let degrees = device.alloc::<u8>(rows)?;
        (build.counts, build.diagonals, build.degrees) = (slices.ptr(), diagonals.ptr(), degrees.ptr());
        (build.window, build.bytes) = (cut.window, 4 * cut.vector as u32);
        // SAFETY: as above, and as many diagonals as were counted.
        unsafe { elementwise(device, MODULE, "bits_diagonals_fill", threads, &build) }?;
        let planes = if largest <= FEW { 3 } else { 5 };
        Ok(Some(Self { slices, diagonals, degrees, found, rows: rows as u32, lines: lines as u32, cut, planes }))
    }
    /// Those of all slices.
    pub(super) fn diagonals(&self) -> usize {
        self.diagonals.len()
    }
    /// One launch; the lines and the output are aligned to 16 bytes.
    pub(super) fn run(&self, device: &Device, lines: &Buffer<u32>, epilogue: Epilogue) -> Result<()> {
        let Cut { vector, parts, blocks, threads, block_rows, window, shared } = self.cut;
        let parameters = WindowParams {
            epilogue,
            features: lines.ptr(),
            slices: self.slices.ptr(),
            diagonals: self.diagonals.ptr(),
            degrees: self.degrees.ptr(),
            rows: self.rows,
            lines: self.lines,
            below: self.found.below,
            above: self.found.above,
            window,
            parts,
            block_rows,
            unused: 0,
        };
        let kernel = device.kernel(MODULE, &format!("bits_window_{vector}x{}", self.planes))?;
        let grid = primitives::blocks(u64::from(blocks) * u64::from(parts), 1)?;
        let shape = Shape { grid, block: threads, shared, mode: Mode::Plain };
        // SAFETY: the caller compared the operands with what the layout was made for, and a window fits a block's shared memory.
        unsafe { device.launch(&kernel, shape, &parameters) }
    }
    pub(super) fn explain(&self) -> String {
        let Diagonals { below, above, .. } = self.found;
        let Cut { parts, blocks, threads, window, .. } = self.cut;
        format!(
            "{} diagonals of {below} lines before to {above} behind, {blocks} x {parts} blocks of {threads} threads, {window} lines",
            self.diagonals.len()
        )
    }
    pub(super) fn bytes(&self) -> u64 {
        self.slices.bytes() + self.diagonals.bytes() + self.degrees.bytes()
    }
}
