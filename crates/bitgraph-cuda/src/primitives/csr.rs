//! Orders, relabelling and transposing of patterns on the device, by the radix sort.
//!
//! Cost of [`relabel`] and [`transpose`]: the sort of all entries by one id (two for a relabelling that is not symmetric), so 8 bytes
//! read and written for each entry and eight bits of the ids (12 with values). Memory beside the result: 24 bytes an entry (36 with
//! values). Entries are limited to 2^32 - 1.

use super::launch::{THREADS, blocks, elementwise, threads, too_large};
use super::scan::exclusive_scan;
use super::sort::sort_pairs;
use super::{gather, invert, iota};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Parameters, Shape, parameters};
use crate::layout::{DeviceCsr, DeviceValues, Offsets};
use bitgraph_kernels::constant;

pub(super) const MODULE: &str = "formats/csr";
/// Entries of a thread in the kernels that share out entries.
const ITEMS: u32 = constant("tuning/formats.cuh", "ROW_ITEMS") as u32;

parameters! {
    /// Row offsets as kernels take them; of bands of `1 << shift` rows if that is not 0.
    pub(crate) struct RowOffsets = "formats/rows.cuh" "bg::RowOffsets" {
        words: DevicePtr<u8>,
        wide: u32,
        rows: u32,
        shift: u32,
        last: u32,
    }
}

impl RowOffsets {
    /// None at all.
    pub(crate) const NONE: Self = Self { words: DevicePtr::NULL, wide: 0, rows: 0, shift: 0, last: 0 };
    pub(crate) fn new(offsets: &Offsets, rows: usize) -> Self {
        let wide = u32::from(matches!(offsets, Offsets::U64(_)));
        Self { words: offsets.address(), wide, rows: rows as u32, shift: 0, last: rows as u32 }
    }
    pub(crate) fn narrow(offsets: &Buffer<u32>) -> Self {
        let rows = (offsets.len() as u32).saturating_sub(1);
        Self { words: offsets.ptr().cast(), wide: 0, rows, shift: 0, last: rows }
    }
    pub(crate) fn of(csr: &DeviceCsr) -> Self {
        Self::new(&csr.offsets, csr.rows)
    }
    pub(crate) fn bands(self, shift: u32) -> Self {
        Self { rows: self.last.div_ceil(1 << shift), shift, ..self }
    }
}

parameters! {
    struct DegreesParams = "formats/csr.cu" "bg::DegreesParams" {
        offsets: RowOffsets,
        order: DevicePtr<u32>,
        degrees: DevicePtr<u32>,
        keys: DevicePtr<u32>,
        bits: u32,
        unused: u32,
    }
    struct RowsParams = "formats/csr.cu" "bg::RowsParams" {
        offsets: RowOffsets,
        nnz: u64,
        rows: DevicePtr<u32>,
    }
    struct RelabelParams = "formats/csr.cu" "bg::RelabelParams" {
        offsets: RowOffsets,
        new_offsets: RowOffsets,
        indices: DevicePtr<u32>,
        new_of_old: DevicePtr<u32>,
        old_of_new: DevicePtr<u32>,
        nnz: u64,
        keys: DevicePtr<u32>,
        payload: DevicePtr<u8>,
        positions: u32,
        unused: u32,
    }
    struct SplitParams = "formats/csr.cu" "bg::SplitParams" {
        pairs: DevicePtr<u64>,
        high: DevicePtr<u32>,
        low: DevicePtr<u32>,
        n: u64,
    }
    struct BoundsParams = "formats/csr.cu" "bg::BoundsParams" {
        sorted: DevicePtr<u32>,
        offsets: DevicePtr<u8>,
        n: u64,
        rows: u32,
        wide: u32,
    }
}

/// A new numbering of vertices: two permutations, each the other's inverse.
#[derive(Clone, Debug)]
pub struct Order {
    /// The new number of each old vertex.
    pub new_of_old: Buffer<u32>,
    /// The old vertex of each new number.
    pub old_of_new: Buffer<u32>,
}

impl Order {
    /// From the old vertex of each new number.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_old_of_new(device: &Device, old_of_new: Buffer<u32>) -> Result<Self> {
        Ok(Self { new_of_old: invert(device, &old_of_new)?, old_of_new })
    }
    /// The other way round.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { new_of_old: self.old_of_new.clone(), old_of_new: self.new_of_old.clone() }
    }
}

/// Bits that hold all ids below `n`.
pub(crate) fn id_bits(n: usize) -> u32 {
    usize::BITS - n.saturating_sub(1).leading_zeros()
}

/// Launches a kernel whose blocks take 16 entries a thread.
///
/// # Safety
/// As of [`Device::launch`].
pub(super) unsafe fn by_entry<P: Parameters>(device: &Device, kernel: &str, entries: usize, parameters: &P) -> Result<()> {
    if entries == 0 {
        return Ok(());
    }
    let block = threads(device, THREADS);
    let grid = blocks(entries as u64, u64::from(block * ITEMS))?;
    let kernel = device.kernel(MODULE, kernel)?;
    // SAFETY: the caller's promises.
    unsafe { device.launch(&kernel, Shape { grid, block, shared: entry_rows_shared(block, ITEMS), mode: Mode::Plain }, parameters) }
}

/// Shared memory of the kernels that find the rows of entries.
pub(crate) fn entry_rows_shared(block: u32, items: u32) -> u32 {
    (block * items + 34) * 4
}

pub(super) fn fits(csr: &DeviceCsr) -> Result<()> {
    if u32::try_from(csr.nnz).is_ok() { Ok(()) } else { Err(too_large(csr.nnz as u64)) }
}

/// The number of entries of each row. One launch.
///
/// # Errors
/// Out of memory.
pub fn degrees(device: &Device, csr: &DeviceCsr) -> Result<Buffer<u32>> {
    let degrees = device.alloc(csr.rows)?;
    let (order, keys) = (DevicePtr::NULL, DevicePtr::NULL);
    let parameters = DegreesParams { offsets: RowOffsets::of(csr), order, degrees: degrees.ptr(), keys, bits: 0, unused: 0 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "csr_degrees", csr.rows as u64, &parameters) }?;
    Ok(degrees)
}

/// The row of each entry. One launch.
///
/// # Errors
/// Out of memory.
pub fn rows_of_entries(device: &Device, csr: &DeviceCsr) -> Result<Buffer<u32>> {
    let rows = device.alloc(csr.nnz)?;
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { by_entry(device, "csr_rows", csr.nnz, &RowsParams { offsets: RowOffsets::of(csr), nnz: csr.nnz as u64, rows: rows.ptr() }) }?;
    Ok(rows)
}

/// Vertices by descending degree, the smaller number first among equals. A sort of the vertices.
///
/// # Errors
/// Out of memory.
pub fn degree_order(device: &Device, csr: &DeviceCsr) -> Result<Order> {
    let keys = device.alloc(csr.rows)?;
    // No row has more entries than there are columns.
    let bits = id_bits(csr.columns + 1);
    let (order, none) = (DevicePtr::NULL, DevicePtr::NULL);
    let parameters = DegreesParams { offsets: RowOffsets::of(csr), order, degrees: none, keys: keys.ptr(), bits, unused: 0 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "csr_degrees", csr.rows as u64, &parameters) }?;
    let (_, old_of_new) = sort_pairs(device, &keys, &iota(device, csr.rows, 0)?, 0..bits)?;
    Order::from_old_of_new(device, old_of_new)
}

/// Values in another order: element `i` is that at `positions[i]`. One launch.
///
/// # Errors
/// Out of memory.
pub fn gather_values(device: &Device, values: &DeviceValues, positions: &Buffer<u32>) -> Result<DeviceValues> {
    let data = match values.data.len() / values.len.max(1) {
        2 => gather(device, &values.data.cast::<u16>(), positions)?.cast(),
        4 => gather(device, &values.data.cast::<u32>(), positions)?.cast(),
        8 => gather(device, &values.data.cast::<u64>(), positions)?.cast(),
        _ => gather(device, &values.data, positions)?,
    };
    Ok(DeviceValues { dtype: values.dtype, len: positions.len(), data })
}

pub(super) fn split(device: &Device, pairs: &Buffer<u64>, high: bool, low: bool) -> Result<(Buffer<u32>, Buffer<u32>)> {
    let part = |wanted: bool| if wanted { device.alloc(pairs.len()) } else { Ok(Buffer::default()) };
    let (high, low) = (part(high)?, part(low)?);
    let parameters = SplitParams { pairs: pairs.ptr(), high: high.ptr(), low: low.ptr(), n: pairs.len() as u64 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "split_u64", pairs.len() as u64, &parameters) }?;
    Ok((high, low))
}

/// The pattern in a new numbering of its vertices, rows sorted, the values moved along. With `symmetric` the matrix, values
/// included, must equal its transpose; it takes half the work. The pattern is square.
///
/// # Errors
/// Out of memory; 2^32 entries or more.
pub fn relabel(
    device: &Device,
    csr: &DeviceCsr,
    values: Option<&DeviceValues>,
    order: &Order,
    symmetric: bool,
) -> Result<(DeviceCsr, Option<DeviceValues>)> {
    fits(csr)?;
    let degrees = device.alloc(csr.rows)?;
    let offsets = RowOffsets::of(csr);
    let (rows, keys) = (order.old_of_new.ptr(), DevicePtr::NULL);
    let parameters = DegreesParams { offsets, order: rows, degrees: degrees.ptr(), keys, bits: 0, unused: 0 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "csr_degrees", csr.rows as u64, &parameters) }?;
    let new_offsets = exclusive_scan(device, &degrees)?;
    let carried = values.is_some();
    let columns = device.alloc::<u32>(csr.nnz)?;
    let bytes = device.alloc::<u32>(csr.nnz * if carried { 2 } else { 1 })?;
    let parameters = RelabelParams {
        offsets,
        new_offsets: RowOffsets::narrow(&new_offsets),
        indices: csr.indices.ptr(),
        new_of_old: order.new_of_old.ptr(),
        old_of_new: order.old_of_new.ptr(),
        nnz: csr.nnz as u64,
        keys: columns.ptr(),
        payload: bytes.ptr().cast(),
        positions: u32::from(carried),
        unused: 0,
    };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { by_entry(device, "csr_relabel", csr.nnz, &parameters) }?;
    let bits = id_bits(csr.rows);
    // Entries in the order of new rows, then sorted by new column: the transpose of the result.
    let (indices, positions) = if carried {
        let (columns, rows) = sort_pairs(device, &columns, &bytes.cast::<u64>(), 0..bits)?;
        if symmetric {
            split(device, &rows, true, true)?
        } else {
            let (rows, columns) = sort_pairs(device, &rows, &columns, 32..32 + bits)?;
            (columns, split(device, &rows, false, true)?.1)
        }
    } else {
        let (columns, rows) = sort_pairs(device, &columns, &bytes, 0..bits)?;
        let indices = if symmetric { rows } else { sort_pairs(device, &rows, &columns, 0..bits)?.1 };
        (indices, Buffer::default())
    };
    let values = values.map(|v| gather_values(device, v, &positions)).transpose()?;
    let result = DeviceCsr { rows: csr.rows, columns: csr.columns, nnz: csr.nnz, offsets: Offsets::U32(new_offsets), indices };
    Ok((result, values))
}

/// Where rows start among sorted row numbers.
pub(crate) fn bounds(device: &Device, sorted: &Buffer<u32>, rows: usize) -> Result<Buffer<u32>> {
    let offsets = device.alloc::<u32>(rows + 1)?;
    let n = sorted.len() as u64;
    let parameters = BoundsParams { sorted: sorted.ptr(), offsets: offsets.ptr().cast(), n, rows: rows as u32, wide: 0 };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { elementwise(device, MODULE, "csr_bounds", rows as u64 + 1, &parameters) }?;
    Ok(offsets)
}

/// The transpose, rows sorted, the values moved along.
///
/// # Errors
/// Out of memory; 2^32 entries or more.
pub fn transpose(device: &Device, csr: &DeviceCsr, values: Option<&DeviceValues>) -> Result<(DeviceCsr, Option<DeviceValues>)> {
    match values {
        Some(values) => {
            let (result, positions) = transpose_with_positions(device, csr)?;
            Ok((result, Some(gather_values(device, values, &positions)?)))
        }
        None => {
            fits(csr)?;
            let rows = rows_of_entries(device, csr)?;
            let (columns, indices) = sort_pairs(device, &csr.indices, &rows, 0..id_bits(csr.columns))?;
            Ok((transposed(csr, bounds(device, &columns, csr.columns)?, indices), None))
        }
    }
}

/// The transpose, and where each of its entries is in the array of the original.
///
/// # Errors
/// Out of memory; 2^32 entries or more.
pub fn transpose_with_positions(device: &Device, csr: &DeviceCsr) -> Result<(DeviceCsr, Buffer<u32>)> {
    fits(csr)?;
    let (columns, rows) = (device.alloc::<u32>(csr.nnz)?, device.alloc::<u64>(csr.nnz)?);
    let parameters = RelabelParams {
        offsets: RowOffsets::of(csr),
        new_offsets: RowOffsets::of(csr),
        indices: csr.indices.ptr(),
        new_of_old: DevicePtr::NULL,
        old_of_new: DevicePtr::NULL,
        nnz: csr.nnz as u64,
        keys: columns.ptr(),
        payload: rows.ptr().cast(),
        positions: 1,
        unused: 0,
    };
    // SAFETY: every array holds as many elements as the parameters say.
    unsafe { by_entry(device, "csr_relabel", csr.nnz, &parameters) }?;
    let (columns, rows) = sort_pairs(device, &columns, &rows, 0..id_bits(csr.columns))?;
    let (indices, positions) = split(device, &rows, true, true)?;
    Ok((transposed(csr, bounds(device, &columns, csr.columns)?, indices), positions))
}

fn transposed(csr: &DeviceCsr, offsets: Buffer<u32>, indices: Buffer<u32>) -> DeviceCsr {
    DeviceCsr { rows: csr.columns, columns: csr.rows, nnz: csr.nnz, offsets: Offsets::U32(offsets), indices }
}
