//! Sums of signs from strips of 16 columns in shared memory: what `kernels/tensor/bits_strips.cuh` does.
//!
//! Invariant: every row lies in one slice; lines that rows name are numbered by their place among the named ones, ascending.

use super::aggregate::Epilogue;
use crate::device::{Buffer, Device, DevicePtr, Mode, Properties, Shape, parameters};
use crate::primitives::{self, elementwise, exclusive_scan, exclusive_scan_total};
use crate::spmv::Pattern;
use crate::{Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_bittensor::BitLayout;
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;

parameters! {
    struct StripsParams = "tensor/bits_strips.cuh" "bg::BitsStripsParams" {
        epilogue: Epilogue,
        strips: DevicePtr<u16>,
        slices: DevicePtr<u32>,
        entries: DevicePtr<[u32; 4]>,
        rows: DevicePtr<u32>,
        degrees: DevicePtr<u32>,
        pitch: u32,
        slice_count: u32,
        long_count: u32,
        strip_count: u32,
    }
    struct SplitParams = "tensor/bits_strips.cu" "bg::BitsSplit" {
        lines: DevicePtr<u32>,
        named: DevicePtr<u32>,
        strips: DevicePtr<u16>,
        named_count: u32,
        pitch: u32,
        stride: u32,
        unused: u32,
    }
    struct SlicesParams = "tensor/bits_strips.cu" "bg::BitsSlices" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        flags: DevicePtr<u32>,
        places: DevicePtr<u32>,
        lengths: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        long_count: DevicePtr<u32>,
        order: DevicePtr<u32>,
        units: DevicePtr<u32>,
        entries: DevicePtr<[u32; 4]>,
        rows_of: DevicePtr<u32>,
        degrees: DevicePtr<u32>,
        rows: u32,
        entry_count: u32,
        slice_count: u32,
        long_slices: u32,
        zero: u32,
        with_self: u32,
    }
}

const MODULE: &str = "tensor/bits_strips";
const STRIP_THREADS: u32 = constant("tuning/bits.cuh", "STRIP_THREADS") as u32;
const WINDOW_ROWS: usize = constant("tuning/bits.cuh", "WINDOW_ROWS") as usize;
/// Lines that a copy of 16 bytes moves; and the zeros behind the named ones, at least.
const LINES: usize = 8;
/// Entries of a unit: 8 index words of 32 lanes, in 16 bytes each.
const UNIT_VECTORS: usize = 64;

/// Whether a multiprocessor holds a strip of so many lines.
pub(super) fn holds(properties: &Properties, named: usize) -> bool {
    let lines = named.next_multiple_of(LINES) + LINES;
    // An index word has 16 bits for a word of two lines, and a lane of a long row counts no more than LONG_PLANES hold.
    lines / 2 <= 65_000 && lines * 2 <= properties.shared_per_block as usize
}

/// Rows as slices, and memory for the strips of the features.
#[derive(Clone, Debug)]
pub(super) struct Strips {
    named: Buffer<u32>,
    slices: Buffer<u32>,
    entries: Buffer<[u32; 4]>,
    rows: Buffer<u32>,
    degrees: Buffer<u32>,
    split: Buffer<u16>,
    pitch: usize,
    long_count: u32,
}

impl Strips {
    /// None if a multiprocessor cannot hold a strip. A sort of the rows, and several passes over the entries; waits.
    pub(super) fn build(device: &Device, pattern: &Pattern, columns: usize, features: &BitLayout, with_self: bool) -> Result<Option<Self>> {
        let (rows, entry_count) = (pattern.rows(), pattern.entries());
        let overflow = || Error::from(Base::Overflow { what: "the slices of a matrix", dtype: DType::U32 });
        let flags = device.zeroed::<u32>(columns)?;
        let mut build = SlicesParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            flags: flags.ptr(),
            places: DevicePtr::NULL,
            lengths: DevicePtr::NULL,
            keys: DevicePtr::NULL,
            long_count: DevicePtr::NULL,
            order: DevicePtr::NULL,
            units: DevicePtr::NULL,
            entries: DevicePtr::NULL,
            rows_of: DevicePtr::NULL,
            degrees: DevicePtr::NULL,
            rows: rows as u32,
            entry_count: entry_count as u32,
            slice_count: 0,
            long_slices: 0,
            zero: 0,
            with_self: u32::from(with_self),
        };
        let run = |kernel: &str, threads: usize, build: &SlicesParams| {
            // SAFETY: the arrays so far were made for this matrix, as long as the kernel takes them to be.
            unsafe { elementwise(device, MODULE, kernel, threads as u64, build) }
        };
        run("bits_slices_mark", entry_count.max(rows), &build)?;
        let named = primitives::compact(device, &flags)?;
        if !holds(device.properties(), named.len()) {
            return Ok(None);
        }
        let pitch = named.len().next_multiple_of(LINES) + LINES;
        let places = exclusive_scan(device, &flags)?;
        let (lengths, keys, long_count) = (device.alloc::<u32>(rows)?, device.alloc::<u32>(rows)?, device.zeroed::<u32>(1)?);
        (build.places, build.lengths, build.keys, build.long_count) = (places.ptr(), lengths.ptr(), keys.ptr(), long_count.ptr());
        build.zero = (pitch / 2 - 1) as u32;
        run("bits_slices_measure", rows.saturating_mul(32), &build)?;
        let windows = rows.div_ceil(WINDOW_ROWS) + 1;
        let bits = 8 + usize::BITS - windows.leading_zeros();
        let (_, order) = primitives::sort_pairs(device, &keys, &primitives::iota(device, rows, 0)?, 0..bits.min(32))?;
        let long_slices = long_count.get(0)?;
        let slice_count = long_slices as usize + (rows - long_slices as usize).div_ceil(32);
        let units = device.alloc::<u32>(slice_count)?;
        (build.order, build.units, build.long_slices) = (order.ptr(), units.ptr(), long_slices);
        build.slice_count = u32::try_from(slice_count).map_err(|_| overflow())?;
        run("bits_slices_size", slice_count.saturating_mul(32), &build)?;
        let (slices, total) = exclusive_scan_total(device, &units)?;
        let lanes = slice_count.checked_mul(32).ok_or_else(overflow)?;
        let entries = device.alloc_for::<[u32; 4]>((total as usize).checked_mul(UNIT_VECTORS).ok_or_else(overflow)?, "slices of rows")?;
        let (rows_of, degrees) = (device.alloc::<u32>(lanes)?, device.alloc::<u32>(lanes)?);
        (build.units, build.entries, build.rows_of, build.degrees) = (slices.ptr(), entries.ptr(), rows_of.ptr(), degrees.ptr());
        run("bits_slices_fill", lanes, &build)?;
        let strip_count = features.stride().checked_mul(2).ok_or_else(overflow)?;
        let split = device.alloc_for::<u16>(strip_count.checked_mul(pitch).ok_or_else(overflow)?, "strips of features")?;
        Ok(Some(Self { named, slices, entries, rows: rows_of, degrees, split, pitch, long_count: long_slices }))
    }
    /// Two launches.
    pub(super) fn run(&self, device: &Device, lines: &Buffer<u32>, epilogue: Epilogue) -> Result<()> {
        self.run_with(device, lines, epilogue, device.properties().sms / (epilogue.stride * 2))
    }
    /// With so many blocks for a strip, if there are slices for them.
    pub(super) fn run_with(&self, device: &Device, lines: &Buffer<u32>, epilogue: Epilogue, share: u32) -> Result<()> {
        let stride = epilogue.stride;
        let split = SplitParams {
            lines: lines.ptr(),
            named: self.named.ptr(),
            strips: self.split.ptr(),
            named_count: self.named.len() as u32,
            pitch: self.pitch as u32,
            stride,
            unused: 0,
        };
        // SAFETY: the caller compared the features with the layout that the strips were made for.
        unsafe { elementwise(device, MODULE, "bits_split", self.split.len() as u64 / 2, &split) }?;
        let slice_count = (self.slices.len() - 1) as u32;
        let strip_count = stride * 2;
        let block = primitives::threads(device, STRIP_THREADS);
        // As many blocks as are resident, a whole number for each strip; no more than there are slices for their warps.
        let share = share.clamp(1, slice_count.div_ceil(block / 32).max(1));
        let grid = primitives::blocks(u64::from(share) * u64::from(strip_count), 1)?;
        let parameters = StripsParams {
            epilogue,
            strips: self.split.ptr(),
            slices: self.slices.ptr(),
            entries: self.entries.ptr(),
            rows: self.rows.ptr(),
            degrees: self.degrees.ptr(),
            pitch: self.pitch as u32,
            slice_count,
            long_count: self.long_count,
            strip_count,
        };
        let shape = Shape { grid, block, shared: (self.pitch * 2) as u32, mode: Mode::Plain };
        // SAFETY: as above; a strip fits a block's shared memory, or there would be none.
        unsafe { device.launch(&device.kernel(MODULE, "bits_strips")?, shape, &parameters) }
    }
    pub(super) fn explain(&self) -> String {
        let (named, slices) = (self.named.len(), self.slices.len() - 1);
        format!("{named} lines in strips, {slices} slices, {} of one row", self.long_count)
    }
    pub(super) fn bytes(&self) -> u64 {
        let lists = self.named.bytes() + self.slices.bytes() + self.rows.bytes() + self.degrees.bytes();
        lists + self.entries.bytes() + self.split.bytes()
    }
}
