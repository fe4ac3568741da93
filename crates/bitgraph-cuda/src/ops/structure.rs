//! Where the entries of matrix results are, made on the device: merges, expansions of products, and masks over matrices.
//!
//! Invariant: patterns are plain lists with ascending rows; results of 2^32 entries or products or more are an error value.

use super::elementwise::flag_entries;
use super::indices::lists_by_position;
use super::params::{
    ExpandParams, HeadsParams, KeptOffsetsParams, MatrixMaskParams, MergeParams, NONE, PairSourcesParams, Rows, SegmentsParams, mask_flags,
};
use super::strided;
use crate::device::{Buffer, Device, DevicePtr, Parameters};
use crate::layout::{DeviceCsr, Offsets};
use crate::{Cuda, Result, primitives};
use bitgraph_backend::ops::MatrixMask;
use bytemuck::Zeroable;
use std::ops::Range;

const MODULE: &str = "ops/structure";

/// Launches a kernel of the module whose threads stride over `n` elements.
///
/// # Safety
/// As of [`Device::launch`].
pub(super) unsafe fn run<P: Parameters>(device: &Device, kernel: &str, n: u64, params: &P) -> Result<()> {
    // SAFETY: the caller's promises.
    unsafe { strided(device, &device.kernel(MODULE, kernel)?, n, params) }
}

/// Lists with the row of every entry.
pub(super) struct Pattern {
    pub csr: DeviceCsr,
    pub entry_rows: Buffer<u32>,
}

impl Pattern {
    pub fn of(device: &Device, csr: &DeviceCsr) -> Result<Self> {
        Ok(Self { csr: csr.clone(), entry_rows: primitives::rows_of_entries(device, csr)? })
    }
    pub fn rows(&self) -> Rows {
        Rows::of(&self.csr, Some(&self.entry_rows))
    }
}

/// A mask and the arrays that it refers to.
pub(super) struct DeviceMask {
    pub params: MatrixMaskParams,
    pattern: Option<Pattern>,
    _arrays: Vec<Buffer<u32>>,
}

impl DeviceMask {
    /// A mask by a matrix, or none.
    pub fn of(device: &Device, mask: Option<MatrixMask<'_, Cuda>>, replace: bool) -> Result<Self> {
        let Some(m) = mask else { return Ok(Self { params: MatrixMaskParams::zeroed(), pattern: None, _arrays: Vec::new() }) };
        let pattern = Pattern::of(device, m.matrix.lists()?)?;
        let truth = match m.matrix.values() {
            Some(values) if !m.mode.structural => Some(flag_entries(device, values)?),
            _ => None,
        };
        let params = MatrixMaskParams {
            pattern: pattern.rows(),
            truth: truth.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            flags: mask_flags(m.mode, replace),
            ..MatrixMaskParams::zeroed()
        };
        Ok(Self { params, pattern: Some(pattern), _arrays: truth.into_iter().collect() })
    }
    /// The entries of a mask by a matrix.
    pub fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }
    /// The rows and columns of lists.
    pub fn region(device: &Device, shape: (usize, usize), rows: &[u32], columns: &[u32]) -> Result<Self> {
        let marks = |len: usize, list: &[u32]| {
            let mut bits = vec![0u32; len.div_ceil(32).max(1)];
            list.iter().for_each(|&i| bits[i as usize / 32] |= 1 << (i % 32));
            device.upload(&bits)
        };
        let (rows, columns) = (marks(shape.0, rows)?, marks(shape.1, columns)?);
        let params = MatrixMaskParams { row_marks: rows.ptr(), column_marks: columns.ptr(), flags: 1, ..MatrixMaskParams::zeroed() };
        Ok(Self { params, pattern: None, _arrays: vec![rows, columns] })
    }
}

/// How two patterns become one (`MergeKind`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    Union = 0,
    Intersection = 1,
    /// `C<mask, replace> = T`, with C first.
    Write = 2,
    /// `C<mask, replace> = C accum T`.
    Accumulate = 3,
}

/// A pattern, and which entry of either operand each of its entries comes from, or [`NONE`].
pub(super) struct Merged {
    pub csr: DeviceCsr,
    pub source_a: Buffer<u32>,
    pub source_b: Buffer<u32>,
}

/// Merges two patterns of one shape. Four launches; waits for the number of entries.
pub(super) fn merge(device: &Device, a: &Pattern, b: &Pattern, kind: Merge, mask: &DeviceMask) -> Result<Merged> {
    let (n, rows) = ((a.csr.nnz + b.csr.nnz) as u64, a.csr.rows);
    fits(n)?;
    let (kept_a, kept_b) = (device.alloc::<u32>(a.csr.nnz)?, device.alloc::<u32>(b.csr.nnz)?);
    let mut params = MergeParams {
        a: a.rows(),
        b: b.rows(),
        mask: mask.params,
        rows: rows as u64,
        kept_a: kept_a.ptr(),
        kept_b: kept_b.ptr(),
        kind: kind as u32,
        ..MergeParams::zeroed()
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "merge_flags", n, &params) }?;
    let (places_a, total_a) = primitives::exclusive_scan_total(device, &kept_a)?;
    let (places_b, total_b) = primitives::exclusive_scan_total(device, &kept_b)?;
    let nnz = (total_a + total_b) as usize;
    let (offsets, indices) = (device.alloc::<u32>(rows + 1)?, device.alloc::<u32>(nnz)?);
    let (source_a, source_b) = (device.alloc::<u32>(nnz)?, device.alloc::<u32>(nnz)?);
    params.places_a = places_a.ptr();
    params.places_b = places_b.ptr();
    params.offsets = offsets.ptr();
    params.indices = indices.ptr();
    params.source_a = source_a.ptr();
    params.source_b = source_b.ptr();
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "merge_scatter", n.max(rows as u64 + 1), &params) }?;
    let csr = DeviceCsr { rows, columns: a.csr.columns, nnz, offsets: Offsets::U32(offsets), indices };
    Ok(Merged { csr, source_a, source_b })
}

/// All products of the entries of two matrices.
pub(super) struct Products {
    /// Row and column of each: `row << column_bits | column`.
    pub keys: Buffer<u64>,
    /// The entries it is of: `a << 32 | b`.
    pub pairs: Buffer<u64>,
    column_bits: u32,
    /// The bit of a key that says that the mask leaves the product out.
    marker: u32,
    masked: bool,
}

fn fits(n: u64) -> Result<()> {
    if n < u64::from(NONE) { Ok(()) } else { Err(primitives::too_large(n)) }
}

/// For each entry of a, the entries of the row of b that its column names.
pub(super) fn expand_counts(device: &Device, a: &DeviceCsr, b: &DeviceCsr) -> Result<Buffer<u32>> {
    let counts = device.alloc::<u32>(a.nnz)?;
    let params = ExpandParams { a: Rows::of(a, None), b: Rows::of(b, None), counts: counts.ptr(), ..ExpandParams::zeroed() };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "expand_counts", a.nnz as u64, &params) }?;
    Ok(counts)
}

/// Products that are sorted at a time: 32 bytes each, twice.
const BLOCK: u64 = 1 << 28;
/// Few, so that small products take several blocks under the host shim.
const SHIM_BLOCK: u64 = 600;

/// Ranges of the entries of a, whole rows of it, each with a bounded number of products where one row has no more. Waits.
pub(super) fn product_blocks(device: &Device, a: &DeviceCsr, b: &DeviceCsr) -> Result<Vec<Range<usize>>> {
    let limit = if device.properties().emulated { SHIM_BLOCK } else { BLOCK };
    let starts = primitives::exclusive_scan_wide(device, &expand_counts(device, a, b)?)?;
    if starts.get(a.nnz)? <= limit {
        return Ok(std::iter::once(0..a.nnz).collect());
    }
    // The ends of blocks are searched for from the host, among rows whose offsets stay on the device.
    let offset = |row: usize| match &a.offsets {
        Offsets::U32(o) => o.get(row).map(|o| o as usize),
        Offsets::U64(o) => o.get(row).map(|o| o as usize),
    };
    let (mut blocks, mut row, mut from) = (Vec::new(), 0, 0);
    while from < a.nnz {
        let before = starts.get(from)?;
        // The last row that all products up to are few enough for; at least one more.
        let (mut smallest, mut most) = (row + 1, a.rows);
        while smallest < most {
            let middle = smallest + (most - smallest).div_ceil(2);
            if starts.get(offset(middle)?)? - before <= limit { smallest = middle } else { most = middle - 1 }
        }
        let end = offset(smallest)?;
        if end > from {
            blocks.push(from..end);
        }
        (row, from) = (smallest, end);
    }
    Ok(blocks)
}

/// Lists the products of two matrices, in the order of the entries of a. Three launches; waits for their number.
pub(super) fn expand(device: &Device, a: &Pattern, b: &DeviceCsr, mask: &DeviceMask) -> Result<Products> {
    expand_entries(device, a, 0..a.csr.nnz, b, mask)
}

/// As [`expand`], of some entries of a: pairs count from the first of them.
pub(super) fn expand_entries(device: &Device, a: &Pattern, entries: Range<usize>, b: &DeviceCsr, mask: &DeviceMask) -> Result<Products> {
    let (column_bits, row_bits) = (primitives::id_bits(b.columns), primitives::id_bits(a.csr.rows));
    let marker = column_bits + row_bits;
    if marker >= 64 {
        return Err(primitives::too_large(a.csr.rows as u64));
    }
    let part = Rows {
        indices: a.csr.indices.ptr().offset(entries.start),
        entry_rows: a.entry_rows.ptr().offset(entries.start),
        entries: entries.len() as u64,
        ..a.rows()
    };
    let counts = device.alloc::<u32>(entries.len())?;
    let mut params = ExpandParams {
        a: part,
        b: Rows::of(b, None),
        mask: mask.params,
        counts: counts.ptr(),
        column_bits,
        marker,
        ..ExpandParams::zeroed()
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "expand_counts", part.entries, &params) }?;
    let starts = primitives::exclusive_scan_wide(device, &counts)?;
    let total = starts.get(entries.len())?;
    fits(total)?;
    let (keys, pairs) = (device.alloc::<u64>(total as usize)?, device.alloc::<u64>(total as usize)?);
    params.offsets = starts.ptr();
    params.total = total;
    params.keys = keys.ptr();
    params.pairs = pairs.ptr();
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "expand", total, &params) }?;
    Ok(Products { keys, pairs, column_bits, marker, masked: mask.params.flags != 0 })
}

/// Products sorted by place; those of one place in the order of the inner index.
pub(super) struct Places {
    /// The row and the column of each place.
    pub entry_rows: Buffer<u32>,
    pub indices: Buffer<u32>,
    /// Where the products of each place start.
    pub starts: Buffer<u32>,
    pub pairs: Buffer<u64>,
    /// The products that the mask selects: they come first.
    pub products: u64,
}

/// Sorts products by place. Waits for the number of places.
pub(super) fn places(device: &Device, p: &Products) -> Result<Places> {
    let (keys, pairs) = primitives::sort_pairs(device, &p.keys, &p.pairs, 0..p.marker + u32::from(p.masked))?;
    let n = keys.len() as u64;
    let flags = device.alloc::<u32>(keys.len())?;
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "segment_heads", n, &HeadsParams { keys: keys.ptr(), flags: flags.ptr(), n, marker: p.marker, reserved: 0 }) }?;
    let starts = primitives::compact(device, &flags)?;
    let (entry_rows, indices) = places_of_keys(device, &keys, Some(&starts), p.column_bits)?;
    // The marked ones, sorted to the end, follow the first of them.
    let products = if p.masked { first_marked(&keys, p.marker)? } else { n };
    Ok(Places { entry_rows, indices, starts, pairs, products })
}

/// How many sorted keys lie below the first with the marker, by binary search from the host.
fn first_marked(keys: &Buffer<u64>, marker: u32) -> Result<u64> {
    let (mut from, mut to) = (0, keys.len());
    while from < to {
        let middle = from + (to - from) / 2;
        if keys.get(middle)? >> marker & 1 == 0 { from = middle + 1 } else { to = middle }
    }
    Ok(from as u64)
}

/// The entries whose flags are 1, and where they were. Waits for their number.
pub(super) fn kept(device: &Device, pattern: &Pattern, flags: &Buffer<u32>) -> Result<(DeviceCsr, Buffer<u32>)> {
    let places = primitives::exclusive_scan(device, flags)?;
    let positions = primitives::compact(device, flags)?;
    let offsets = device.alloc::<u32>(pattern.csr.rows + 1)?;
    let rows = pattern.csr.rows as u64;
    let params = KeptOffsetsParams { a: pattern.rows(), places: places.ptr(), offsets: offsets.ptr(), rows };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "kept_offsets", rows + 1, &params) }?;
    let indices = primitives::gather(device, &pattern.csr.indices, &positions)?;
    let (rows, columns) = (pattern.csr.rows, pattern.csr.columns);
    Ok((DeviceCsr { rows, columns, nnz: positions.len(), offsets: Offsets::U32(offsets), indices }, positions))
}

/// The rows and columns of sorted keys: of those that `starts` names, or of all.
fn places_of_keys(
    device: &Device,
    keys: &Buffer<u64>,
    starts: Option<&Buffer<u32>>,
    column_bits: u32,
) -> Result<(Buffer<u32>, Buffer<u32>)> {
    let nnz = starts.map_or(keys.len(), Buffer::len);
    let (entry_rows, indices) = (device.alloc::<u32>(nnz)?, device.alloc::<u32>(nnz)?);
    let params = SegmentsParams {
        keys: keys.ptr(),
        starts: starts.map_or(DevicePtr::NULL, Buffer::ptr),
        entry_rows: entry_rows.ptr(),
        indices: indices.ptr(),
        n: nnz as u64,
        column_bits,
        reserved: 0,
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "segment_places", params.n, &params) }?;
    Ok((entry_rows, indices))
}

/// Lists of sorted places.
pub(super) fn csr_of_places(device: &Device, shape: (usize, usize), entry_rows: &Buffer<u32>, indices: Buffer<u32>) -> Result<DeviceCsr> {
    let offsets = Offsets::U32(primitives::bounds(device, entry_rows, shape.0)?);
    Ok(DeviceCsr { rows: shape.0, columns: shape.1, nnz: indices.len(), offsets, indices })
}

/// Lists of sorted keys.
pub(super) fn csr_of_keys(device: &Device, keys: &Buffer<u64>, shape: (usize, usize), column_bits: u32) -> Result<DeviceCsr> {
    let (entry_rows, indices) = places_of_keys(device, keys, None, column_bits)?;
    csr_of_places(device, shape, &entry_rows, indices)
}

/// The second parts of pairs, or of the pairs that their first parts name.
pub(super) fn sources(device: &Device, pairs: &Buffer<u64>, before: Option<&Buffer<u64>>) -> Result<Buffer<u32>> {
    let sources = device.alloc::<u32>(pairs.len())?;
    let before = before.map_or(DevicePtr::NULL, Buffer::ptr);
    let params = PairSourcesParams { pairs: pairs.ptr(), before, sources: sources.ptr(), n: pairs.len() as u64 };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { run(device, "pair_sources", params.n, &params) }?;
    Ok(sources)
}

/// A submatrix: the rows and columns of lists, either of which may name a row or column several times. The second array is the
/// entry of `a` that each entry comes from.
pub(super) fn extract(device: &Device, a: &DeviceCsr, rows: &[u32], columns: &[u32]) -> Result<(DeviceCsr, Buffer<u32>)> {
    let none = DeviceMask::of(device, None, false)?;
    // The product of a selection of rows, a, and a selection of columns.
    let chosen = DeviceCsr {
        rows: rows.len(),
        columns: a.rows,
        nnz: rows.len(),
        offsets: Offsets::U32(primitives::iota(device, rows.len() + 1, 0)?),
        indices: device.upload(rows)?,
    };
    let first = expand(device, &Pattern::of(device, &chosen)?, a, &none)?;
    let taken = csr_of_keys(device, &first.keys, (rows.len(), a.columns), first.column_bits)?;
    let (starts, list) = lists_by_position(device, &device.upload(columns)?, a.columns)?;
    let selection = DeviceCsr { rows: a.columns, columns: columns.len(), nnz: list.len(), offsets: Offsets::U32(starts), indices: list };
    let second = expand(device, &Pattern::of(device, &taken)?, &selection, &none)?;
    // No two products share a place.
    let sorted = places(device, &second)?;
    let csr = csr_of_places(device, (rows.len(), columns.len()), &sorted.entry_rows, sorted.indices)?;
    Ok((csr, sources(device, &sorted.pairs, Some(&first.pairs))?))
}
