//! Matrix times vector over any semiring and format.
//!
//! Compressed rows are summed by groups of 1 to 16 lanes, by the mean degree; rows of thousands of entries are cut into chunks, a block
//! each, so that no row holds up the others. Tiles are summed by a lane for each row of a tile. What does not come in tiles alone is
//! done on the lists of the same matrix: values on hybrids and on very long rows of tiles, and `Any` on hybrids.
//!
//! Determinism: sums of floats are formed in an order that depends on the matrix and the format alone.

use super::elementwise::{filled, fold, write_back};
use super::operator::Combining;
use super::params::{Chunk, LongRowsParams, Mask, MxvParams, Operand, Partial, Target, wide};
use super::ring::{CSR, TILES, kernel};
use super::{schemes, seen, strided, sums, threads};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::layout::{DeviceB2sr, DeviceCsr, Layout, Offsets};
use crate::matrix::{CudaMatrix, Kept};
use crate::vector::{CudaVector, words};
use crate::{Cuda, Error, Result, primitives};
use bitgraph_backend::ops::{VectorMask, VectorWrite, View};
use bitgraph_backend::{Accumulate, Mxv, StorableSemiring};
use bitgraph_semiring::{Any, LorLand, Scalar};
use bytemuck::Zeroable;
use std::any::TypeId;
use std::sync::OnceLock;

/// What the operations keep with a matrix, made at first use.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    /// Long rows of the lists, the matrix's own or made from its tiles.
    lists: OnceLock<LongRows>,
    /// Long rows of the list of a hybrid.
    rest: OnceLock<LongRows>,
    /// Long rows of tiles.
    tiles: OnceLock<Buffer<u32>>,
    /// Which rows have entries; `None` if all have.
    nonempty: OnceLock<Option<Buffer<u32>>>,
}

impl Kept for Derived {
    fn bytes(&self) -> u64 {
        let lists = [self.lists.get(), self.rest.get()].into_iter().flatten().map(LongRows::bytes).sum::<u64>();
        lists + self.tiles.get().map_or(0, Buffer::bytes) + self.nonempty.get().and_then(Option::as_ref).map_or(0, Buffer::bytes)
    }
}

/// Rows too long for a group of lanes, in chunks.
#[derive(Debug, Default)]
pub(super) struct LongRows {
    rows: Buffer<u32>,
    first_chunk: Buffer<u32>,
    chunks: Buffer<Chunk>,
}

/// From where on rows are long, and the entries of a chunk.
pub(super) struct Limits {
    pub row: u32,
    chunk: u64,
    pub tiles: u32,
}
const LIMITS: Limits = Limits { row: 2048, chunk: 4096, tiles: 512 };
/// Small ones, so that small matrices take every path under the host shim.
const SHIM_LIMITS: Limits = Limits { row: 40, chunk: 48, tiles: 6 };

pub(super) fn limits(device: &Device) -> &'static Limits {
    if device.properties().emulated { &SHIM_LIMITS } else { &LIMITS }
}

/// The rows of more than `limit` entries, ascending. Waits, if there may be any.
fn long_rows(device: &Device, offsets: &Offsets, rows: usize, entries: usize, limit: u32) -> Result<Vec<u32>> {
    if entries <= limit as usize {
        return Ok(Vec::new());
    }
    let capacity = rows.min(entries / limit as usize + 1);
    let (list, count) = (device.alloc::<u32>(capacity)?, device.zeroed::<u32>(1)?);
    let params = LongRowsParams {
        offsets: offsets.address(),
        rows: rows as u64,
        list: list.ptr(),
        count: count.ptr(),
        limit,
        wide: wide(offsets),
        capacity: capacity as u32,
        reserved: 0,
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &device.kernel("ops/structure", "long_rows")?, params.rows, &params) }?;
    let mut found = list.range_to_vec(0..count.get(0)? as usize)?;
    found.sort_unstable();
    Ok(found)
}

impl LongRows {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
    fn bytes(&self) -> u64 {
        self.rows.bytes() + self.first_chunk.bytes() + self.chunks.bytes()
    }
    fn of(device: &Device, csr: &DeviceCsr) -> Result<Self> {
        let limits = limits(device);
        let rows = long_rows_of(device, csr, limits.row)?;
        if rows.is_empty() {
            return Ok(Self::default());
        }
        let (mut chunks, mut first_chunk) = (Vec::new(), vec![0u32]);
        for &LongRow { row, begin, end } in &rows {
            let starts = (begin..end).step_by(limits.chunk as usize);
            chunks.extend(starts.map(|s| Chunk { begin: s, end: end.min(s + limits.chunk), row, reserved: 0 }));
            first_chunk.push(chunks.len() as u32);
        }
        let index = device.upload(&rows.iter().map(|r| r.row).collect::<Vec<_>>())?;
        Ok(Self { rows: index, first_chunk: device.upload(&first_chunk)?, chunks: device.upload(&chunks)? })
    }
}

/// A row and where its entries are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRow {
    pub row: u32,
    pub begin: u64,
    pub end: u64,
}

/// The rows of more than `limit` entries, ascending. Waits, if there may be any.
pub(crate) fn long_rows_of(device: &Device, csr: &DeviceCsr, limit: u32) -> Result<Vec<LongRow>> {
    let rows = long_rows(device, &csr.offsets, csr.rows, csr.nnz, limit)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let index = device.upload(&rows)?;
    let next = device.upload(&rows.iter().map(|r| r + 1).collect::<Vec<_>>())?;
    let bounds = |at: &Buffer<u32>| -> Result<Vec<u64>> {
        Ok(match &csr.offsets {
            Offsets::U32(o) => primitives::gather(device, o, at)?.to_vec()?.into_iter().map(u64::from).collect(),
            Offsets::U64(o) => primitives::gather(device, o, at)?.to_vec()?,
        })
    };
    let (begins, ends) = (bounds(&index)?, bounds(&next)?);
    Ok(rows.into_iter().zip(begins).zip(ends).map(|((row, begin), end)| LongRow { row, begin, end }).collect())
}

/// The value of a slot, made if it is not there yet.
pub(crate) fn once<T>(slot: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = slot.get() {
        return Ok(value);
    }
    // Another thread may be faster; both values are equal.
    let value = make()?;
    Ok(slot.get_or_init(|| value))
}

/// Lanes for a row of `mean` terms: each has about `each`, or fewer where there would not be threads enough.
pub(super) fn lanes(device: &Device, rows: usize, mean: usize, each: usize, most: u32) -> u32 {
    let enough = device.properties().sms as usize * 1024;
    let mut lanes = 1u32;
    while lanes < most && (mean > each * lanes as usize || (rows * (lanes as usize) < enough && mean > lanes as usize)) {
        lanes *= 2;
    }
    lanes
}

/// A grid of which each block owns `rows_per_block` rows, so that whole words of the result's bits are written.
fn row_grid(rows: usize, rows_per_block: u32) -> Result<u32> {
    primitives::blocks(rows as u64 + (32 - rows as u64 % 32) % 32, u64::from(rows_per_block))
}

/// Adds the rows of lists to `params`, and runs.
fn run_csr<S: StorableSemiring>(device: &Device, csr: &DeviceCsr, long: &LongRows, valued: bool, mut params: MxvParams) -> Result<()> {
    let limits = limits(device);
    params.offsets = csr.offsets.address();
    params.indices = csr.indices.ptr();
    params.wide = wide(&csr.offsets);
    params.limit = limits.row;
    let mean = csr.nnz / csr.rows.max(1);
    // Long rows tell of uneven ones below them: many lanes, so that a warp's rows end together.
    params.lanes = if !long.is_empty() && mean >= 8 { 16 } else { lanes(device, csr.rows, mean, 8, 16) };
    let block = threads(device);
    let bits = block / 32 * 8;
    let name = if valued { "mxv_values_csr" } else { "mxv_csr" };
    let shape = Shape { grid: row_grid(csr.rows, block / params.lanes)?, block, shared: bits, mode: Mode::Plain };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel::<S, _>(device, &CSR, name)?, shape, &params) }?;
    run_long_rows::<S>(device, csr, long, params)
}

/// Only the long rows of lists: their results are added to what `params` names.
pub(super) fn run_long_rows<S: StorableSemiring>(device: &Device, csr: &DeviceCsr, long: &LongRows, mut params: MxvParams) -> Result<()> {
    if long.chunks.is_empty() {
        return Ok(());
    }
    let block = threads(device);
    params.offsets = csr.offsets.address();
    params.indices = csr.indices.ptr();
    params.wide = wide(&csr.offsets);
    let partials = device.alloc::<Partial>(long.chunks.len())?;
    params.chunks = long.chunks.ptr();
    params.first_chunk = long.first_chunk.ptr();
    params.partials = partials.ptr();
    params.long_rows = long.rows.ptr();
    params.long_count = long.rows.len() as u32;
    let shape = Shape { grid: long.chunks.len() as u32, block, shared: block / 32 * 16, mode: Mode::Plain };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel::<S, _>(device, &CSR, "mxv_chunk_csr")?, shape, &params) }?;
    let shape = Shape { grid: params.long_count.div_ceil(128), block: 128, shared: 0, mode: Mode::Plain };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel::<S, _>(device, &CSR, "mxv_finish_csr")?, shape, &params) }
}

/// Adds tiles to `params`, and runs. Long rows of tiles have no values.
fn run_tiles<S: StorableSemiring>(device: &Device, tiles: &DeviceB2sr, long: &Buffer<u32>, mut params: MxvParams) -> Result<()> {
    let size = tiles.tile() as u32;
    let count = tiles.tile_columns.len();
    params.tile_offsets = tiles.tile_offsets.address();
    params.tile_columns = tiles.tile_columns.ptr();
    params.tiles = tiles.tile_words.ptr();
    params.tile_wide = wide(&tiles.tile_offsets);
    params.limit = if long.is_empty() { u32::MAX } else { limits(device).tiles };
    let valued = params.values.address() != 0;
    let mean = count / tiles.rows.div_ceil(size as usize).max(1);
    params.lanes = if valued { 1 } else { lanes(device, tiles.rows, mean, 4, 32 / size) };
    let block = threads(device);
    let bits = block / 32 * 8;
    let shape = Shape { grid: row_grid(tiles.rows, block / params.lanes)?, block, shared: bits, mode: Mode::Plain };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel::<S, _>(device, &TILES, &format!("mxv_b2sr{size}"))?, shape, &params) }?;
    run_long_tiles::<S>(device, tiles, long, params)
}

/// Only the long rows of tiles of a pattern.
pub(super) fn run_long_tiles<S: StorableSemiring>(
    device: &Device,
    tiles: &DeviceB2sr,
    long: &Buffer<u32>,
    mut params: MxvParams,
) -> Result<()> {
    if long.is_empty() {
        return Ok(());
    }
    let (size, block) = (tiles.tile(), threads(device));
    params.tile_offsets = tiles.tile_offsets.address();
    params.tile_columns = tiles.tile_columns.ptr();
    params.tiles = tiles.tile_words.ptr();
    params.tile_wide = wide(&tiles.tile_offsets);
    params.long_rows = long.ptr();
    let shape = Shape { grid: long.len() as u32, block, shared: block * 16, mode: Mode::Plain };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel::<S, _>(device, &TILES, &format!("mxv_long_b2sr{size}"))?, shape, &params) }
}

/// The long rows of tiles.
pub(super) fn long_tiles<'a>(device: &Device, a: &'a CudaMatrix, m: &DeviceB2sr) -> Result<&'a Buffer<u32>> {
    once(&a.kept::<Derived>().tiles, || {
        let (rows, count) = (m.rows.div_ceil(m.tile()), m.tile_columns.len());
        device.upload(&long_rows(device, &m.tile_offsets, rows, count, limits(device).tiles)?)
    })
}
/// The long rows of a hybrid's list.
pub(super) fn long_rest<'a>(device: &Device, a: &'a CudaMatrix, list: &DeviceCsr) -> Result<&'a LongRows> {
    once(&a.kept::<Derived>().rest, || LongRows::of(device, list))
}
/// Which rows have entries; `None` if all have. One product, once; waits.
pub(super) fn nonempty_rows<'a>(cuda: &Cuda, a: &'a CudaMatrix) -> Result<Option<&'a Buffer<u32>>> {
    let rows = once(&a.kept::<Derived>().nonempty, || {
        let x = filled(cuda.device(), a.shape().1, true)?;
        let t = general::<LorLand<bool>>(cuda, &a.pattern(), &x, None)?;
        let Some(present) = t.present else { return Ok(None) };
        let bits = CudaVector::<bool>::from_parts(cuda.device(), t.len, present.cast(), None);
        let all = fold::<bool>(cuda.device(), Combining::ALL, Operand::vector(&bits), t.len as u64)?;
        Ok((!all.read()?).then_some(present))
    })?;
    Ok(rows.as_ref())
}

/// `t = A x` for the rows that the mask selects.
fn product<S: StorableSemiring>(
    cuda: &Cuda,
    a: &CudaMatrix,
    x: &CudaVector<S::X>,
    mask: Option<VectorMask<'_, Cuda>>,
) -> Result<CudaVector<S::Out>> {
    if let Some(t) = sums::prepared::<S>(cuda, a, x, mask)? {
        return Ok(t);
    }
    match schemes::special::<S>(cuda, a, x, mask)? {
        Some(t) => Ok(t),
        None => general::<S>(cuda, a, x, mask),
    }
}

/// As [`product`], by the kernels of the semiring, with presence bits.
pub(super) fn general<S: StorableSemiring>(
    cuda: &Cuda,
    a: &CudaMatrix,
    x: &CudaVector<S::X>,
    mask: Option<VectorMask<'_, Cuda>>,
) -> Result<CudaVector<S::Out>> {
    let device = cuda.device();
    let (rows, _) = a.shape();
    let t = CudaVector::<S::Out>::uninitialised(device, rows, true)?;
    if rows == 0 {
        return Ok(t);
    }
    let valued = a.values().is_some();
    let params = MxvParams {
        rows: rows as u64,
        values: a.values().map_or(DevicePtr::NULL, |v| v.data.ptr()),
        x: x.store.ptr(),
        x_present: x.present.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
        mask: Mask::of(mask, false),
        y: Target::vector(&t),
        ..MxvParams::zeroed()
    };
    let derived = a.kept::<Derived>();
    let on_lists = || {
        let csr = a.lists()?;
        run_csr::<S>(device, csr, once(&derived.lists, || LongRows::of(device, csr))?, valued, params)
    };
    match a.layout() {
        Layout::Csr(_) => on_lists()?,
        Layout::B2sr(m) => {
            let long = long_tiles(device, a, m)?;
            if valued && !long.is_empty() {
                on_lists()?;
            } else {
                let mut params = params;
                if valued {
                    let starts = &a.lists()?.offsets;
                    (params.offsets, params.wide) = (starts.address(), wide(starts));
                }
                run_tiles::<S>(device, m, long, params)?;
            }
        }
        Layout::Hybrid(m) => {
            if valued || TypeId::of::<S::Add>() == TypeId::of::<Any>() {
                on_lists()?;
            } else {
                // The tiles' sums, unfinished, are what the list starts from.
                let raw = device.alloc::<u8>(rows * width::<S>())?;
                let present = device.alloc::<u32>(words(rows))?;
                let y = Target { present: present.ptr(), ..params.y };
                run_tiles::<S>(device, &m.tiles, long_tiles(device, a, &m.tiles)?, MxvParams { raw: raw.ptr(), y, ..params })?;
                let long = long_rest(device, a, &m.list)?;
                let params = MxvParams { carry: raw.ptr(), carry_present: present.ptr(), ..params };
                run_csr::<S>(device, &m.list, long, false, params)?;
            }
        }
    }
    Ok(t)
}

/// Bytes of a sum in the type that it is computed in.
fn width<S: StorableSemiring>() -> usize {
    <S::Acc as Scalar>::DTYPE.bytes().max(if <S::Acc as Scalar>::DTYPE.is_float() { 4 } else { 1 })
}

impl<S: StorableSemiring> Mxv<S> for Cuda {
    fn mxv<C: Accumulate<S::Out>>(
        &self,
        w: &mut CudaVector<S::Out>,
        write: VectorWrite<'_, Self, C>,
        a: View<'_, Self>,
        u: &CudaVector<S::X>,
    ) -> Result<(), Error> {
        let t = product::<S>(self, seen(a)?, u, write.mask)?;
        if !C::ACTIVE && write.replace {
            // Rows that the mask leaves out have no entry already.
            *w = t;
            return Ok(());
        }
        write_back("mxv", w, write, t)
    }
}
