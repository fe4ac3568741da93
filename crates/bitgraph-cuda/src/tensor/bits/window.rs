//! Sums of signs from a window of lines in shared memory: what `kernels/tensor/bits_window.cuh` does.
//!
//! Invariant: the window holds what a block's rows of two steps name, so that a line is copied to it before it is read and while none is
//! overwritten that still is.

use super::aggregate::Epilogue;
use crate::device::{Buffer, Device, DevicePtr, Mode, Properties, Shape, parameters};
use crate::primitives::{self, elementwise, exclusive_scan_total};
use crate::spmv::Pattern;
use crate::Result;
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
    block_rows: u32,
    window: u32,
    shared: u32,
}
impl Cut {
    /// None if a multiprocessor cannot hold the window.
    fn of(properties: &Properties, threads: u32, found: &Diagonals, rows: usize, stride: usize) -> Option<Self> {
        let vector = vector(stride)?;
        let parts = u32::try_from(stride / vector).ok()?;
        let blocks = u64::from((properties.sms / parts).max(1));
        let block_rows = (rows as u64).div_ceil(blocks).next_multiple_of(32);
        let reach = u64::from(found.below) + u64::from(found.above) + 2;
        let window = (reach + block_rows.min(2 * u64::from(threads))).next_multiple_of(2);
        let shared = window * 4 * vector as u64 + 16 + u64::from(threads / 32 * DIAGONALS) * 8;
        let fits = found.most <= DIAGONALS && shared <= u64::from(properties.shared_per_block);
        fits.then(|| Self {
            vector,
            parts,
            blocks: (rows as u64).div_ceil(block_rows.max(1)) as u32,
            block_rows: block_rows as u32,
            window: window as u32,
            shared: shared as u32,
        })
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
    pub(super) fn build(device: &Device, pattern: &Pattern, lines: usize, stride: usize, with_self: bool, longest: u32) -> Result<Option<Self>> {
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
        let Some(cut) = Cut::of(device.properties(), primitives::threads(device, THREADS), &found, rows, stride) else { return Ok(None) };
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
        let Cut { vector, parts, blocks, block_rows, window, shared } = self.cut;
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
        let shape = Shape { grid, block: primitives::threads(device, THREADS), shared, mode: Mode::Plain };
        // SAFETY: the caller compared the operands with what the layout was made for, and a window fits a block's shared memory.
        unsafe { device.launch(&kernel, shape, &parameters) }
    }
    pub(super) fn explain(&self) -> String {
        let Diagonals { below, above, .. } = self.found;
        let Cut { parts, blocks, window, .. } = self.cut;
        format!("{} diagonals of {below} lines before to {above} behind, {blocks} x {parts} blocks, {window} lines", self.diagonals.len())
    }
    pub(super) fn bytes(&self) -> u64 {
        self.slices.bytes() + self.diagonals.bytes() + self.degrees.bytes()
    }
}
