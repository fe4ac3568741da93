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
        lines: DevicePtr<u32>,
        named: DevicePtr<u32>,
        strips: DevicePtr<u16>,
        slices: DevicePtr<u32>,
        entries: DevicePtr<[u32; 4]>,
        rows: DevicePtr<[u32; 2]>,
        hubs: DevicePtr<u32>,
        pieces: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        met: DevicePtr<u32>,
        ends: [u32; 6],
        named_count: u32,
        pitch: u32,
        slice_count: u32,
        strip_count: u32,
        hub_count: u32,
        unused: u32,
    }
    struct SlicesParams = "tensor/bits_strips.cu" "bg::BitsSlices" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        flags: DevicePtr<u32>,
        places: DevicePtr<u32>,
        lengths: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        order: DevicePtr<u32>,
        pieces: DevicePtr<u32>,
        hubs: DevicePtr<u32>,
        units: DevicePtr<u32>,
        entries: DevicePtr<[u32; 4]>,
        rows_of: DevicePtr<[u32; 2]>,
        row_ends: [u32; 6],
        ends: [u32; 6],
        rows: u32,
        entry_count: u32,
        slice_count: u32,
        unit_count: u32,
        zero: u32,
        with_self: u32,
    }
}

const MODULE: &str = "tensor/bits_strips";
const STRIP_THREADS: u32 = constant("tuning/bits.cuh", "STRIP_THREADS") as u32;
const WINDOW_ROWS: usize = constant("tuning/bits.cuh", "WINDOW_ROWS") as usize;
/// Lines that a copy of 16 bytes moves; and the zeros behind the named ones, at least.
const LINES: usize = 8;
/// Bytes behind a strip, for the counter of its copy.
const COUNTER: usize = 16;
/// Vectors of a unit: 4 index words for each of 32 lanes. As many are read behind the last one, twice.
const UNIT_VECTORS: usize = 32;
const UNITS_BEHIND: usize = 2;
/// Words that the pieces of a hub share, for a strip.
const HUB_WORDS: usize = constant("tensor/bits_strips.cuh", "HUB_WORDS") as usize;

/// Whether a multiprocessor holds a strip of so many lines.
pub(super) fn holds(properties: &Properties, named: usize) -> bool {
    let lines = named.next_multiple_of(LINES) + LINES;
    // An index word has 16 bits for a word of two lines.
    lines / 2 <= 65_000 && lines * 2 + COUNTER <= properties.shared_per_block as usize
}

/// How strips come to be, and how many blocks take the sums of one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Launch {
    /// In the launch of the sums, whose blocks are all resident.
    One(u32),
    /// In one before it.
    Two(u32),
}

/// Rows as slices, and memory for the strips of the features.
#[derive(Clone, Debug)]
pub(super) struct Strips {
    /// Empty where all lines are.
    named: Buffer<u32>,
    named_count: usize,
    slices: Buffer<u32>,
    entries: Buffer<[u32; 4]>,
    rows: Buffer<[u32; 2]>,
    hubs: Buffer<u32>,
    pieces: Buffer<u32>,
    counts: Buffer<u32>,
    met: Buffer<u32>,
    split: Buffer<u16>,
    pitch: usize,
    /// Where slices end: pieces of hubs, and those of rows of 32, 16, 8, 4 and 2 lanes.
    ends: [u32; 6],
    hub_count: u32,
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
            counts: DevicePtr::NULL,
            order: DevicePtr::NULL,
            pieces: DevicePtr::NULL,
            hubs: DevicePtr::NULL,
            units: DevicePtr::NULL,
            entries: DevicePtr::NULL,
            rows_of: DevicePtr::NULL,
            row_ends: [0; 6],
            ends: [0; 6],
            rows: rows as u32,
            entry_count: entry_count as u32,
            slice_count: 0,
            unit_count: 0,
            zero: 0,
            with_self: u32::from(with_self),
        };
        let run = |kernel: &str, threads: usize, build: &SlicesParams| {
            // SAFETY: the arrays so far were made for this matrix, as long as the kernel takes them to be.
            unsafe { elementwise(device, MODULE, kernel, threads as u64, build) }
        };
        run("bits_slices_mark", entry_count.max(rows), &build)?;
        let mut named = primitives::compact(device, &flags)?;
        let named_count = named.len();
        if !holds(device.properties(), named_count) {
            return Ok(None);
        }
        let pitch = named_count.next_multiple_of(LINES) + LINES;
        let places = exclusive_scan(device, &flags)?;
        let (lengths, keys, found) = (device.alloc::<u32>(rows)?, device.alloc::<u32>(rows)?, device.zeroed::<u32>(6)?);
        (build.places, build.lengths, build.keys, build.counts) = (places.ptr(), lengths.ptr(), keys.ptr(), found.ptr());
        build.zero = (pitch / 2 - 1) as u32;
        run("bits_slices_measure", rows.saturating_mul(32), &build)?;
        let windows = rows.div_ceil(WINDOW_ROWS) + 1;
        let bits = 8 + usize::BITS - windows.leading_zeros();
        let (_, order) = primitives::sort_pairs(device, &keys, &primitives::iota(device, rows, 0)?, 0..bits.min(32))?;
        build.order = order.ptr();
        let found = found.to_vec()?;
        let hub_count = found[0];
        build.row_ends[0] = hub_count;
        let (mut pieces, mut hubs) = (Buffer::default(), Buffer::default());
        if hub_count > 0 {
            let cut = device.alloc::<u32>(hub_count as usize)?;
            build.pieces = cut.ptr();
            run("bits_slices_cut", cut.len(), &build)?;
            (pieces, build.ends[0]) = exclusive_scan_total(device, &cut)?;
            hubs = device.alloc::<u32>(build.ends[0] as usize)?;
            (build.pieces, build.hubs) = (pieces.ptr(), hubs.ptr());
            run("bits_slices_pieces", cut.len(), &build)?;
        }
        for class in 1..6 {
            build.row_ends[class] = build.row_ends[class - 1] + found[class];
            build.ends[class] = build.ends[class - 1].checked_add(found[class].div_ceil(1 << (class - 1))).ok_or_else(overflow)?;
        }
        let slice_count = build.ends[5] as usize + (rows - build.row_ends[5] as usize).div_ceil(32);
        let units = device.alloc::<u32>(slice_count)?;
        build.units = units.ptr();
        build.slice_count = u32::try_from(slice_count).map_err(|_| overflow())?;
        run("bits_slices_size", slice_count.saturating_mul(32), &build)?;
        let (slices, total) = exclusive_scan_total(device, &units)?;
        let lanes = slice_count.checked_mul(32).ok_or_else(overflow)?;
        let vectors = (total as usize).checked_add(UNITS_BEHIND).and_then(|u| u.checked_mul(UNIT_VECTORS)).ok_or_else(overflow)?;
        let entries = device.alloc_for::<[u32; 4]>(vectors, "slices of rows")?;
        let rows_of = device.alloc::<[u32; 2]>(lanes)?;
        (build.units, build.entries, build.rows_of) = (slices.ptr(), entries.ptr(), rows_of.ptr());
        build.unit_count = total;
        run("bits_slices_fill", lanes.max(1), &build)?;
        let strip_count = features.stride().checked_mul(2).ok_or_else(overflow)?;
        let split = device.alloc_for::<u16>(strip_count.checked_mul(pitch).ok_or_else(overflow)?, "strips of features")?;
        let shared_words =
            strip_count.checked_mul(HUB_WORDS).and_then(|words| words.checked_mul(hub_count as usize)).ok_or_else(overflow)?;
        let (counts, met) = (device.alloc::<u32>(shared_words)?, device.zeroed::<u32>(1)?);
        if named_count == columns {
            named = Buffer::default();
        }
        let ends = build.ends;
        let built = Self { named, named_count, slices, entries, rows: rows_of, hubs, pieces, counts, met, split, pitch, ends, hub_count };
        Ok(Some(built))
    }
    /// One launch, if the device holds all strips at once, or two.
    pub(super) fn run(&self, device: &Device, lines: &Buffer<u32>, epilogue: Epilogue) -> Result<()> {
        let share = device.properties().sms / (epilogue.stride * 2);
        self.run_with(device, lines, epilogue, if share > 0 { Launch::One(share) } else { Launch::Two(1) })
    }
    /// With so many blocks for a strip, if there are slices for them.
    pub(super) fn run_with(&self, device: &Device, lines: &Buffer<u32>, epilogue: Epilogue, launch: Launch) -> Result<()> {
        let slice_count = (self.slices.len() - 1) as u32;
        let strip_count = epilogue.stride * 2;
        let block = primitives::threads(device, STRIP_THREADS);
        let (kernel, mode, share) = match launch {
            Launch::One(share) => ("bits_strips", Mode::Cooperative, share),
            Launch::Two(share) => ("bits_strips_made", Mode::Plain, share),
        };
        // As many blocks as are resident, a whole number for each strip; no more than there are slices for their warps.
        let share = share.clamp(1, slice_count.div_ceil(block / 32).max(1));
        let grid = primitives::blocks(u64::from(share) * u64::from(strip_count), 1)?;
        let parameters = StripsParams {
            epilogue,
            lines: lines.ptr(),
            named: if self.named.is_empty() { DevicePtr::NULL } else { self.named.ptr() },
            strips: self.split.ptr(),
            slices: self.slices.ptr(),
            entries: self.entries.ptr(),
            rows: self.rows.ptr(),
            hubs: self.hubs.ptr(),
            pieces: self.pieces.ptr(),
            counts: self.counts.ptr(),
            met: self.met.ptr(),
            ends: self.ends,
            named_count: self.named_count as u32,
            pitch: self.pitch as u32,
            slice_count,
            strip_count,
            hub_count: self.hub_count,
            unused: 0,
        };
        if matches!(launch, Launch::Two(_)) {
            // SAFETY: the caller compared the features with the layout that the strips were made for.
            unsafe { elementwise(device, MODULE, "bits_split", self.split.len() as u64 / 4, &parameters) }?;
        }
        let shape = Shape { grid, block, shared: (self.pitch * 2 + COUNTER) as u32, mode };
        // SAFETY: as above; a strip fits a block's shared memory, or there would be none; blocks that wait for each other are launched together.
        unsafe { device.launch(&device.kernel(MODULE, kernel)?, shape, &parameters) }
    }
    pub(super) fn explain(&self) -> String {
        let (named, slices, [pieces, .., shared]) = (self.named_count, self.slices.len() - 1, self.ends);
        format!(
            "{named} lines in strips, {slices} slices, {shared} of rows of several lanes, {pieces} of them pieces of {} rows",
            self.hub_count
        )
    }
    pub(super) fn bytes(&self) -> u64 {
        let lists = self.named.bytes() + self.slices.bytes() + self.rows.bytes();
        let hubs = self.hubs.bytes() + self.pieces.bytes() + self.counts.bytes() + self.met.bytes();
        lists + hubs + self.entries.bytes() + self.split.bytes()
    }
}
