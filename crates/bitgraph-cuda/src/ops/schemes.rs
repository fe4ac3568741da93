//! The schemes of the Bit-GraphBLAS paper under their own names (Tables II and III), on tiles of all sizes.
//!
//! A scheme's name gives the widths of its matrix, its vector and its output: `bin` is one bit an element, `full` a number. The
//! boolean and float schemes are also what matrix times vector uses for patterns and full vectors; those take hybrids too. A masked
//! form computes only the rows that the mask selects, which complemented is what a breadth-first search asks for.
//!
//! Determinism: bits and counts are exact. Float sums are formed in an order that depends on the matrix alone.

use super::mxv::{LongRows, lanes, limits, long_rest, long_tiles, nonempty_rows, run_long_rows, run_long_tiles};
use super::params::{BitProductParams, BitsParams, Mask, MxvParams, Target, wide};
use super::{elementwise, strided, structure, threads};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::layout::{DeviceB2sr, DeviceCsr, DeviceHybrid, Layout};
use crate::matrix::CudaMatrix;
use crate::vector::{CudaValue, CudaVector};
use crate::{Cuda, Result, primitives};
use bitgraph_backend::ops::VectorMask;
use bitgraph_backend::{Error as Base, StorableSemiring, same_type};
use bitgraph_semiring::{LorLand, builtin_name};
use bitgraph_sparse::Stored;
use bytemuck::Zeroable;
use std::any::{Any, TypeId};

const MODULE: &str = "ops/bits";

type VMask<'a> = Option<VectorMask<'a, Cuda>>;

/// The element types of float sums.
pub trait Summed: Stored {
    #[doc(hidden)]
    const NAME: &'static str;
}
impl Summed for f32 {
    const NAME: &'static str = "f32";
}
impl Summed for f64 {
    const NAME: &'static str = "f64";
}

fn same(operation: &'static str, operand: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Base::Shape { operation, operand, expected: expected as u64, found: found as u64 }.into()) }
}

/// The tiles of a pattern in a pure tile format, and that the operands fit it and are full.
fn operands<'a, X: Stored>(operation: &'static str, a: &'a CudaMatrix, x: &CudaVector<X>, mask: VMask<'_>) -> Result<&'a DeviceB2sr> {
    let (rows, columns) = a.shape();
    same(operation, "vector", columns, x.len)?;
    mask.map_or(Ok(()), |m| same(operation, "mask", rows, m.vector.len))?;
    if x.present.is_some() {
        return Err(unsupported(operation, "a vector with presence bits"));
    }
    tiles(operation, a)
}

fn tiles<'a>(operation: &'static str, a: &'a CudaMatrix) -> Result<&'a DeviceB2sr> {
    match (a.layout(), a.values()) {
        (Layout::B2sr(tiles), None) => Ok(tiles),
        (_, Some(_)) => Err(unsupported(operation, "a matrix with values")),
        _ => Err(unsupported(operation, a.format().name())),
    }
}

fn unsupported(operation: &'static str, what: &str) -> crate::Error {
    let available = "patterns in the formats b2sr-4, b2sr-8, b2sr-16 and b2sr-32, and full vectors";
    Base::Unsupported { operation, what: what.into(), available }.into()
}

/// The parameters that all schemes share.
fn params(tiles: &DeviceB2sr, x: DevicePtr<u8>, mask: VMask<'_>, y: DevicePtr<u8>) -> BitsParams {
    BitsParams {
        rows: tiles.rows as u64,
        columns: tiles.columns as u64,
        tile_offsets: tiles.tile_offsets.address(),
        tile_columns: tiles.tile_columns.ptr(),
        tiles: tiles.tile_words.ptr(),
        x,
        mask: Mask::of(mask, false),
        y,
        limit: u32::MAX,
        lanes: 1,
        tile_wide: wide(&tiles.tile_offsets),
        list_limit: u32::MAX,
        ..BitsParams::zeroed()
    }
}

fn with_list(params: BitsParams, list: Option<&DeviceCsr>) -> BitsParams {
    let Some(list) = list else { return params };
    BitsParams { list_offsets: list.offsets.address(), list_indices: list.indices.ptr(), list_wide: wide(&list.offsets), ..params }
}

/// Launches a kernel with `threads_per_row_of_tiles` threads for each, over whole words of the result's bits.
fn launch(device: &Device, name: &str, tiles: &DeviceB2sr, each: u32, params: &BitsParams) -> Result<()> {
    let rows = tiles.rows as u64 + (32 - tiles.rows as u64 % 32) % 32;
    let block = threads(device);
    let grid = primitives::blocks(rows / tiles.tile() as u64 * u64::from(each), u64::from(block))?;
    // SAFETY: the vectors were checked against the matrix, and outputs were made above for its shape.
    unsafe { device.launch(&device.kernel(MODULE, name)?, Shape { grid, block, shared: 0, mode: Mode::Plain }, params) }
}

fn mean_tiles(tiles: &DeviceB2sr) -> (usize, usize) {
    let rows = tiles.rows.div_ceil(tiles.tile()).max(1);
    (rows, tiles.tile_columns.len() / rows)
}

/// Bits times bits to bits, into `y`; what is too long for it is done by the general kernels.
fn boolean(
    device: &Device,
    tiles: &DeviceB2sr,
    list: Option<(&DeviceCsr, &LongRows)>,
    long: &Buffer<u32>,
    x: &CudaVector<bool>,
    mask: VMask<'_>,
    y: &CudaVector<bool>,
) -> Result<()> {
    if tiles.rows == 0 {
        return Ok(());
    }
    let (size, (rows, mean)) = (tiles.tile() as u32, mean_tiles(tiles));
    let mut p = with_list(params(tiles, x.store.ptr(), mask, y.store.ptr()), list.map(|(list, _)| list));
    p.limit = limits(device).tiles;
    p.list_limit = limits(device).row;
    let each = if size <= 8 {
        // With a list at least a lane for each row, so that its rows are read side by side.
        p.lanes = lanes(device, rows, mean, 16, if size == 4 { 16 } else { 32 }).max(if list.is_some() { 8 } else { 1 });
        p.lanes
    } else {
        p.lanes = if size == 16 && mean > 4 { 2 } else { 1 };
        size * p.lanes
    };
    launch(device, &format!("bits_bin_{size}"), tiles, each, &p)?;
    let rest = MxvParams {
        rows: tiles.rows as u64,
        x: x.store.ptr(),
        mask: Mask::of(mask, false),
        y: Target { values: y.store.ptr(), ..Target::zeroed() },
        ..MxvParams::zeroed()
    };
    run_long_tiles::<LorLand<bool>>(device, tiles, long, rest)?;
    list.map_or(Ok(()), |(list, long)| run_long_rows::<LorLand<bool>>(device, list, long, rest))
}

/// Sums of numbers, into `y`.
fn sums<T: Summed>(
    device: &Device,
    tiles: &DeviceB2sr,
    list: Option<&DeviceCsr>,
    x: &CudaVector<T>,
    mask: VMask<'_>,
    y: &CudaVector<T>,
) -> Result<()> {
    if tiles.rows == 0 {
        return Ok(());
    }
    let (size, (_, mean)) = (tiles.tile() as u32, mean_tiles(tiles));
    let mut p = with_list(params(tiles, x.store.ptr(), mask, y.store.ptr()), list);
    p.lanes = lanes(device, tiles.rows, mean, 128, 32 / size);
    launch(device, &format!("bits_sum_{size}_{}", T::NAME), tiles, size * p.lanes, &p)
}

fn bin(operation: &'static str, cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<bool>, mask: VMask<'_>) -> Result<CudaVector<bool>> {
    let tiles = operands(operation, a, x, mask)?;
    let y = CudaVector::uninitialised(cuda.device(), tiles.rows, false)?;
    boolean(cuda.device(), tiles, None, long_tiles(cuda.device(), a, tiles)?, x, mask, &y)?;
    Ok(y)
}

fn count(operation: &'static str, cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<bool>, mask: VMask<'_>) -> Result<CudaVector<u32>> {
    let (device, tiles) = (cuda.device(), operands(operation, a, x, mask)?);
    let y = CudaVector::<u32>::uninitialised(device, tiles.rows, false)?;
    if tiles.rows > 0 {
        let (size, (_, mean)) = (tiles.tile() as u32, mean_tiles(tiles));
        let mut p = params(tiles, x.store.ptr(), mask, y.store.ptr());
        p.lanes = lanes(device, tiles.rows, mean, 32, 32 / size);
        launch(device, &format!("bits_count_{size}"), tiles, size * p.lanes, &p)?;
    }
    Ok(y)
}

fn full<T: Summed>(operation: &'static str, cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<T>, mask: VMask<'_>) -> Result<CudaVector<T>> {
    let tiles = operands(operation, a, x, mask)?;
    let y = CudaVector::uninitialised(cuda.device(), tiles.rows, false)?;
    sums(cuda.device(), tiles, None, x, mask, &y)?;
    Ok(y)
}

/// Table II, row 1: bits times bits to bits, over (or, and). Section V uses it for breadth-first search.
///
/// # Errors
/// A shape that does not fit; `Unsupported` for anything but a pattern of tiles and a full vector.
pub fn bmv_bin_bin_bin(cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<bool>) -> Result<CudaVector<bool>> {
    bin("bmv_bin_bin_bin", cuda, a, x, None)
}

/// Table II, row 4: as [`bmv_bin_bin_bin`], only for the rows of the mask; the others are false.
///
/// # Errors
/// As [`bmv_bin_bin_bin`].
pub fn bmv_bin_bin_bin_masked(cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<bool>, mask: VectorMask<'_, Cuda>) -> Result<CudaVector<bool>> {
    bin("bmv_bin_bin_bin_masked", cuda, a, x, Some(mask))
}

/// Table II, row 2: bits times bits to counts, over (plus, times) by and and population count (Listing 1).
///
/// # Errors
/// As [`bmv_bin_bin_bin`].
pub fn bmv_bin_bin_full(cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<bool>) -> Result<CudaVector<u32>> {
    count("bmv_bin_bin_full", cuda, a, x, None)
}

/// Table II, row 5: as [`bmv_bin_bin_full`], only for the rows of the mask; the others are 0.
///
/// # Errors
/// As [`bmv_bin_bin_bin`].
pub fn bmv_bin_bin_full_masked(cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<bool>, mask: VectorMask<'_, Cuda>) -> Result<CudaVector<u32>> {
    count("bmv_bin_bin_full_masked", cuda, a, x, Some(mask))
}

/// Table II, row 3: bits times numbers to numbers, over (plus, times). Other semirings (shortest paths, components) are matrix times
/// vector on the same matrix.
///
/// # Errors
/// As [`bmv_bin_bin_bin`].
pub fn bmv_bin_full_full<T: Summed>(cuda: &Cuda, a: &CudaMatrix, x: &CudaVector<T>) -> Result<CudaVector<T>> {
    full("bmv_bin_full_full", cuda, a, x, None)
}

/// Table II, row 6: as [`bmv_bin_full_full`], only for the rows of the mask; the others are 0.
///
/// # Errors
/// As [`bmv_bin_bin_bin`].
pub fn bmv_bin_full_full_masked<T: Summed>(
    cuda: &Cuda,
    a: &CudaMatrix,
    x: &CudaVector<T>,
    mask: VectorMask<'_, Cuda>,
) -> Result<CudaVector<T>> {
    full("bmv_bin_full_full_masked", cuda, a, x, Some(mask))
}

/// Table III, row 1: the sum of the elements of a product of two bit matrices.
///
/// # Errors
/// As [`bmv_bin_bin_bin`].
pub fn bmm_bin_bin_sum(cuda: &Cuda, a: &CudaMatrix, b: &CudaMatrix) -> Result<CudaValue<u64>> {
    const NAME: &str = "bmm_bin_bin_sum";
    tiles(NAME, a)?;
    tiles(NAME, b)?;
    same(NAME, "rows of the second matrix", a.shape().1, b.shape().0)?;
    // Every entry (i, k) of a meets the whole row k of b.
    let counts = structure::expand_counts(cuda.device(), a.lists()?, b.lists()?)?;
    let sums = primitives::exclusive_scan_wide(cuda.device(), &counts)?;
    let end = primitives::fill_u32(cuda.device(), 1, counts.len() as u32)?;
    Ok(CudaValue::new(primitives::gather(cuda.device(), &sums, &end)?.cast()))
}

/// Table III, row 2: the sum of the elements of `A B` at the entries of a mask, `b_transposed` being the transpose of `B`. Triangle
/// counting is `bmm_bin_bin_sum_masked(&l, &l, &l)` with the lower triangle `l`.
///
/// # Errors
/// As [`bmv_bin_bin_bin`]; tiles of different sizes are `Unsupported` too.
pub fn bmm_bin_bin_sum_masked(cuda: &Cuda, a: &CudaMatrix, b_transposed: &CudaMatrix, mask: &CudaMatrix) -> Result<CudaValue<u64>> {
    const NAME: &str = "bmm_bin_bin_sum_masked";
    let (left, right, chosen) = (tiles(NAME, a)?, tiles(NAME, b_transposed)?, tiles(NAME, mask)?);
    same(NAME, "columns of the second matrix", left.columns, right.columns)?;
    same(NAME, "rows of the mask", left.rows, chosen.rows)?;
    same(NAME, "columns of the mask", right.rows, chosen.columns)?;
    if left.kind != right.kind || left.kind != chosen.kind {
        return Err(unsupported(NAME, "tiles of different sizes"));
    }
    let device = cuda.device();
    // The tiles of the mask are themselves a pattern.
    let structure = DeviceCsr {
        rows: chosen.rows.div_ceil(chosen.tile()),
        columns: chosen.columns.div_ceil(chosen.tile()),
        nnz: chosen.tile_columns.len(),
        offsets: chosen.tile_offsets.clone(),
        indices: chosen.tile_columns.clone(),
    };
    let rows = primitives::rows_of_entries(device, &structure)?;
    let sum = device.zeroed::<u64>(1)?;
    let params = BitProductParams {
        a_offsets: left.tile_offsets.address(),
        a_columns: left.tile_columns.ptr(),
        a_tiles: left.tile_words.ptr(),
        b_offsets: right.tile_offsets.address(),
        b_columns: right.tile_columns.ptr(),
        b_tiles: right.tile_words.ptr(),
        mask_rows: rows.ptr(),
        mask_columns: chosen.tile_columns.ptr(),
        mask_tiles: chosen.tile_words.ptr(),
        mask_count: structure.nnz as u64,
        sum: sum.ptr(),
        a_wide: wide(&left.tile_offsets),
        b_wide: wide(&right.tile_offsets),
    };
    let kernel = device.kernel(MODULE, &format!("bits_product_{}", left.tile()))?;
    // SAFETY: the vectors were checked against the matrix, and outputs were made above for its shape.
    unsafe { strided(device, &kernel, params.mask_count * 8, &params) }?;
    Ok(CudaValue::new(sum.cast()))
}

/// Counts on tiles for a product that is reduced under a structural mask of the same format; `None` if it is something else.
pub(super) fn special_sum<S: StorableSemiring>(
    cuda: &Cuda,
    a: &CudaMatrix,
    b_transposed: &CudaMatrix,
    mask: &CudaMatrix,
) -> Result<Option<CudaValue<S::Out>>> {
    let pure = |m: &CudaMatrix| matches!(m.layout(), Layout::B2sr(_)) && m.format() == a.format();
    if TypeId::of::<S::Out>() != TypeId::of::<u64>()
        || builtin_name::<S>() != Some("plus_pair")
        || ![a, b_transposed, mask].into_iter().all(pure)
    {
        return Ok(None);
    }
    let (a, b_transposed) = (a.pattern(), b_transposed.pattern());
    Ok(same_type(bmm_bin_bin_sum_masked(cuda, &a, &b_transposed, &mask.pattern())?))
}

/// The product of a pattern of tiles with a full vector, where there is a scheme for this semiring.
pub(super) fn special<S: StorableSemiring>(
    cuda: &Cuda,
    a: &CudaMatrix,
    x: &CudaVector<S::X>,
    mask: VMask<'_>,
) -> Result<Option<CudaVector<S::Out>>> {
    if a.values().is_some() || x.present.is_some() || a.as_csr().is_some() || a.shape().0 == 0 {
        return Ok(None);
    }
    if TypeId::of::<S::Out>() == TypeId::of::<bool>() && builtin_name::<S>() == Some("lor_land") {
        let Some(x) = (x as &dyn Any).downcast_ref::<CudaVector<bool>>() else { return Ok(None) };
        let device = cuda.device();
        let y = CudaVector::uninitialised(device, a.shape().0, false)?;
        match a.layout() {
            Layout::Csr(_) => return Ok(None),
            Layout::B2sr(tiles) => boolean(device, tiles, None, long_tiles(device, a, tiles)?, x, mask, &y)?,
            Layout::Hybrid(DeviceHybrid { tiles, list }) => {
                let rest = Some((list, long_rest(device, a, list)?));
                boolean(device, tiles, rest, long_tiles(device, a, tiles)?, x, mask, &y)?;
            }
        }
        return Ok(same_type(with_presence(cuda, a, mask, y)?));
    }
    Ok(match sum::<S, f32>(cuda, a, x, mask)? {
        Some(y) => Some(y),
        None => sum::<S, f64>(cuda, a, x, mask)?,
    })
}

/// Sums of neighbours: (plus, second), and (plus, times) since a pattern's values are 1.
fn sum<S: StorableSemiring, T: Summed>(
    cuda: &Cuda,
    a: &CudaMatrix,
    x: &CudaVector<S::X>,
    mask: VMask<'_>,
) -> Result<Option<CudaVector<S::Out>>> {
    if TypeId::of::<S::Out>() != TypeId::of::<T>() || !matches!(builtin_name::<S>(), Some("plus_second" | "plus_times")) {
        return Ok(None);
    }
    let Some(x) = (x as &dyn Any).downcast_ref::<CudaVector<T>>() else { return Ok(None) };
    let device = cuda.device();
    let (tiles, list) = match a.layout() {
        Layout::Csr(_) => return Ok(None),
        Layout::B2sr(tiles) => (tiles, None),
        Layout::Hybrid(m) => (&m.tiles, Some(&m.list)),
    };
    // Long rows are cut up by the general kernels.
    if !long_tiles(device, a, tiles)?.is_empty() || list.map_or(Ok(false), |l| long_rest(device, a, l).map(|r| !r.is_empty()))? {
        return Ok(None);
    }
    let y = CudaVector::uninitialised(device, a.shape().0, false)?;
    sums(device, tiles, list, x, mask, &y)?;
    Ok(same_type(with_presence(cuda, a, mask, y)?))
}

/// Says which rows of a product with a full vector have a result: those with entries that the mask selects.
fn with_presence<T: Stored>(cuda: &Cuda, a: &CudaMatrix, mask: VMask<'_>, mut y: CudaVector<T>) -> Result<CudaVector<T>> {
    let rows = nonempty_rows(cuda, a)?;
    y.present = match (rows, mask) {
        (None, None) => None,
        (Some(rows), None) => Some(rows.clone()),
        (rows, Some(m)) => Some(elementwise::selected(cuda.device(), y.len, rows, m)?),
    };
    Ok(y)
}
