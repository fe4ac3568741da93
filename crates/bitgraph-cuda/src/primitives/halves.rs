//! Halves of symmetric patterns, and symmetric patterns of others.

use super::csr::{MODULE, RowOffsets, bounds, by_entry, fits, id_bits, rows_of_entries, split};
use super::launch::{elementwise, too_large};
use super::scan::exclusive_scan;
use super::{compact, gather};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::layout::{DeviceCsr, Offsets};

parameters! {
    struct PairsParams = "formats/csr.cu" "bg::PairsParams" {
        rows: DevicePtr<u32>,
        columns: DevicePtr<u32>,
        pairs: DevicePtr<u64>,
        flags: DevicePtr<u32>,
        n: u64,
    }
    struct OrientParams = "formats/csr.cu" "bg::OrientParams" {
        offsets: RowOffsets,
        indices: DevicePtr<u32>,
        counts: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        new_offsets: RowOffsets,
        new_indices: DevicePtr<u32>,
        new_positions: DevicePtr<u32>,
        kept: u64,
        lower: u32,
        unused: u32,
    }
}

/// A side of the main diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Entries left of it: column < row.
    Lower,
    /// Entries right of it: column > row.
    Upper,
}

/// The entries on one side of the diagonal, loops left out; after relabelling by degree, each edge from one end only. A binary search
/// a row, a scan, and a copy; waits for the number of entries.
///
/// # Errors
/// Out of memory; 2^32 entries or more.
pub fn orient(device: &Device, csr: &DeviceCsr, side: Side) -> Result<DeviceCsr> {
    orient_with(device, csr, side, false).map(|(csr, _)| csr)
}

/// As [`orient`], and where each kept entry is in the array of the original.
///
/// # Errors
/// Out of memory; 2^32 entries or more.
pub fn orient_with_positions(device: &Device, csr: &DeviceCsr, side: Side) -> Result<(DeviceCsr, Buffer<u32>)> {
    orient_with(device, csr, side, true)
}

fn orient_with(device: &Device, csr: &DeviceCsr, side: Side, wanted: bool) -> Result<(DeviceCsr, Buffer<u32>)> {
    fits(csr)?;
    let (counts, starts) = (device.alloc::<u32>(csr.rows)?, device.alloc::<u32>(csr.rows)?);
    let mut parameters = OrientParams {
        offsets: RowOffsets::of(csr),
        indices: csr.indices.ptr(),
        counts: counts.ptr(),
        starts: starts.ptr(),
        new_offsets: RowOffsets::NONE,
        new_indices: DevicePtr::NULL,
        new_positions: DevicePtr::NULL,
        kept: 0,
        lower: u32::from(side == Side::Lower),
        unused: 0,
    };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "orient_count", csr.rows as u64, &parameters) }?;
    let offsets = exclusive_scan(device, &counts)?;
    let kept = offsets.get(csr.rows)? as usize;
    let indices = device.alloc::<u32>(kept)?;
    let positions = if wanted { device.alloc::<u32>(kept)? } else { Buffer::default() };
    parameters.new_offsets = RowOffsets::narrow(&offsets);
    parameters.new_indices = indices.ptr();
    parameters.new_positions = positions.ptr();
    parameters.kept = kept as u64;
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { by_entry(device, "orient_fill", kept, &parameters) }?;
    Ok((DeviceCsr { offsets: Offsets::U32(offsets), indices, nnz: kept, ..csr.clone() }, positions))
}

/// The pattern of the matrix and its transpose together; the matrix is square. Sorts twice the entries by both ids; waits for the
/// number of entries. Peak memory beside the result: 56 bytes an entry.
///
/// # Errors
/// Out of memory; 2^31 entries or more.
pub fn symmetrized(device: &Device, csr: &DeviceCsr) -> Result<DeviceCsr> {
    let n = 2 * csr.nnz;
    if u32::try_from(n).is_err() {
        return Err(too_large(n as u64));
    }
    let rows = rows_of_entries(device, csr)?;
    let pairs = device.alloc::<u64>(n)?;
    let parameters =
        PairsParams { rows: rows.ptr(), columns: csr.indices.ptr(), pairs: pairs.ptr(), flags: DevicePtr::NULL, n: csr.nnz as u64 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "pairs_both_ways", csr.nnz as u64, &parameters) }?;
    let bits = id_bits(csr.rows);
    let pairs = super::sort_keys(device, &pairs, 0..bits)?;
    let pairs = super::sort_keys(device, &pairs, 32..32 + bits)?;
    let flags = device.alloc::<u32>(n)?;
    let parameters = PairsParams { rows: DevicePtr::NULL, columns: DevicePtr::NULL, pairs: pairs.ptr(), flags: flags.ptr(), n: n as u64 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "pairs_distinct", n as u64, &parameters) }?;
    let distinct = gather(device, &pairs, &compact(device, &flags)?)?;
    let (rows, indices) = split(device, &distinct, true, true)?;
    let offsets = bounds(device, &rows, csr.rows)?;
    Ok(DeviceCsr { nnz: indices.len(), offsets: Offsets::U32(offsets), indices, ..csr.clone() })
}
