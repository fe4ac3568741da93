//! Dense products by tensor cores where one side is long and the other small: numbers of `f32` are read as two each, others as they are.
//!
//! Invariant: of `f32`, no more is left out of a product than 2^-21 of its size, so that results keep the bounds of sums of `f32` from
//! [`SHORTEST`] terms on.

use super::epilogue::{EpilogueParams, MOST, finished};
use super::params::{Target, View, name};
use super::softmax::scratch;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::{Cuda, Result, primitives};
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::GemmOp;
use bitgraph_tensor::{AnyMut, Step};

const MODULE: &str = "tensor/gemm_long";
const THREADS: u32 = constant("tensor/gemm_long.cuh", "LONG_THREADS") as u32;
const ROWS: u64 = constant("tensor/gemm_long.cuh", "LONG_ROWS");
const LENGTH: u64 = constant("tensor/gemm_long.cuh", "LONG_LENGTH");
const TILE: u64 = constant("tensor/gemm_long.cuh", "LONG_TILE");
const GAP: u64 = constant("tensor/gemm_long.cuh", "LONG_GAP");
const WARP: u64 = 32;

/// Terms of a sum from which on the numbers' halves leave out less than rounding the sums does.
const SHORTEST: u64 = 32;
/// The small side at most: beyond it the vendor's library, whose blocks share more of both sides, is as fast.
const WIDEST: u64 = 512;
/// The small side at least: narrower products wait for memory in any form.
const NARROWEST: u64 = 16;
/// The long side at least: with less of it, blocks of so many rows leave multiprocessors idle.
const LONGEST: u64 = 16384;

parameters! {
    struct GemmLongParams = "tensor/gemm_long.cuh" "bg::GemmLongParams" {
        a: View,
        b: View,
        y: Target,
        partials: DevicePtr<f32>,
        rows: u64,
        length: u64,
        part: u64,
        columns: u32,
        tiles: u32,
        parts: u32,
        transposed: u32,
        epilogue: EpilogueParams,
    }
}

/// Which form computes a product, if one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A tall matrix times a small one.
    Rows,
    /// The transpose of a tall matrix times a tall one.
    Columns,
}

/// Elements that a lane reads at once: 16 bytes.
fn neighbours(dtype: DType) -> u32 {
    if dtype == DType::F32 { 4 } else { 8 }
}

/// The form for operands that lie in words of 16 bytes, by the product's sizes. Products of halves are for the vendor's library where it computes
/// all of it.
fn form(device: &Device, op: &GemmOp<Cuda>) -> Option<Form> {
    let (rows, columns, length) = op.sizes();
    let (rows, columns, length, dtype) = (rows as u64, columns as u64, length as u64, op.a.dtype());
    let properties = device.properties();
    let pack = neighbours(dtype);
    let reads = |x: &View| x.reads_floats(pack);
    let long = if properties.emulated { LONGEST / 256 } else { LONGEST };
    let has = properties.emulated || properties.compute >= (8, 0);
    let wanted = match dtype {
        DType::F32 => true,
        DType::F16 | DType::Bf16 => !op.transpose_a && !matches!(&*op.epilogue.0, [] | [Step::Add { .. }]),
        _ => false,
    };
    if !has || !wanted || !columns.is_multiple_of(pack.into()) || !reads(&View::any(&op.a)) {
        return None;
    }
    let small = |n: u64| (NARROWEST..=WIDEST).contains(&n);
    if !op.transpose_a {
        let fits = rows >= long && small(columns) && (SHORTEST..=WIDEST).contains(&length) && length.is_multiple_of(pack.into());
        return (fits && shared_of_rows(dtype, columns, length) <= properties.shared_per_block).then_some(Form::Rows);
    }
    let fits = length >= long && small(rows) && small(columns) && rows.is_multiple_of(4) && !op.transpose_b;
    (fits && reads(&View::any(&op.b)) && SHARED_OF_COLUMNS <= properties.shared_per_block).then_some(Form::Columns)
}

/// Columns of a block.
fn width(columns: u64) -> u64 {
    if columns <= 64 { 64 } else { 128 }
}
/// The longest sums of the kernel for sums of a length: halves have one.
fn depth(dtype: DType, length: u64) -> u64 {
    if dtype == DType::F32 && length <= LENGTH / 2 { LENGTH / 2 } else { LENGTH }
}
/// Shared memory of a block: the small side, of `f32` in two halves, and the rows on their way out.
fn shared_of_rows(dtype: DType, columns: u64, length: u64) -> u32 {
    let width = width(columns);
    let small = if dtype == DType::F32 {
        depth(dtype, length) * width * 8
    } else {
        length.min(LENGTH).next_multiple_of(4 * u64::from(neighbours(dtype))) * width * 2
    };
    (small + u64::from(THREADS) / WARP * ROWS * (width + GAP) * 4) as u32
}
const SHARED_OF_COLUMNS: u32 = (TILE * TILE * 4) as u32;

/// Whether one of these forms did it.
pub(super) fn gemm(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<bool> {
    let Some(form) = form(cuda.device(), op) else { return Ok(false) };
    let pack = neighbours(op.a.dtype());
    let target = Target::of(y, pack);
    // A sum in passes takes a step itself.
    if op.sizes().2 as u64 > LENGTH && form == Form::Rows && op.epilogue.0.len() >= MOST {
        return Ok(false);
    }
    let steps = EpilogueParams::of(op.epilogue.0.get(..MOST).unwrap_or(&op.epilogue.0));
    if target.packed == 0 || !target.view().reads_floats(pack) || !steps.is_of_neighbours(pack) {
        return Ok(false);
    }
    finished(cuda, &op.epilogue, (DType::F32, pack), y, |epilogue, y| match form {
        Form::Rows => rows(cuda, op, epilogue, y),
        Form::Columns => columns(cuda, op, epilogue, y),
    })?;
    Ok(true)
}

fn params(op: &GemmOp<Cuda>, epilogue: EpilogueParams, y: Target) -> GemmLongParams {
    let (rows, columns, length) = op.sizes();
    GemmLongParams {
        a: View::any(&op.a),
        b: View::any(&op.b),
        y,
        partials: DevicePtr::NULL,
        rows: rows as u64,
        length: length as u64,
        part: 0,
        columns: columns as u32,
        tiles: 0,
        parts: 1,
        transposed: u32::from(op.transpose_b),
        epilogue,
    }
}

/// A tall matrix times a small one: longer sums in passes, each of which adds to what the last one stored.
fn rows(cuda: &Cuda, op: &GemmOp<Cuda>, epilogue: EpilogueParams, y: Target) -> Result<()> {
    let (device, all, dtype) = (cuda.device(), params(op, epilogue, y), op.a.dtype());
    let (columns, passes) = (u64::from(all.columns), all.length.div_ceil(LENGTH));
    let width = width(columns);
    let tiles = columns.div_ceil(width);
    let per_sm = if dtype == DType::F32 { 1 } else { 2 };
    let block = primitives::threads(device, THREADS);
    let blocks = all.rows.div_ceil(u64::from(block) / WARP * ROWS).min(u64::from(device.properties().sms * per_sm).div_ceil(tiles));
    let grid = primitives::blocks(blocks * tiles, 1)?;
    // Sums that are not complete are of `f32`: in the result, where it is.
    let kept = if passes > 1 && y.dtype != DType::F32 as u32 {
        Some(scratch(cuda, all.rows as usize, columns as usize, DType::F32)?)
    } else {
        None
    };
    let partial = kept.as_ref().map_or(y, |kept: &Buffer<u8>| Target::scratch(kept.ptr(), columns as usize, DType::F32, neighbours(dtype)));
    for pass in 0..passes {
        let (first, last) = (pass * LENGTH, pass + 1 == passes);
        let along = |x: View, elements: u64| View { data: x.data.offset(elements as usize * dtype.bytes()), ..x };
        let steps = if last { epilogue } else { EpilogueParams::none() };
        let params = GemmLongParams {
            a: along(all.a, first),
            b: along(all.b, if op.transpose_b { first } else { first * all.b.stride }),
            y: if last { y } else { partial },
            length: (all.length - first).min(LENGTH),
            tiles: tiles as u32,
            epilogue: if pass > 0 { steps.after_adding(partial.view()) } else { steps },
            ..all
        };
        let shared = shared_of_rows(dtype, columns, params.length);
        let kernel = device.kernel(MODULE, &format!("gemm_long_{}_{width}_{}", name(dtype), depth(dtype, params.length)))?;
        // SAFETY: the sides fit each other and the output (`bitgraph_tensor::ops` checks that), and are read in words that they lie in; an
        // element of the result is read and written by one thread.
        unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &params) }?;
    }
    Ok(())
}

/// The transpose of a tall matrix times a tall one: parts of the sums, and their sums.
fn columns(cuda: &Cuda, op: &GemmOp<Cuda>, epilogue: EpilogueParams, y: Target) -> Result<()> {
    let (device, all) = (cuda.device(), params(op, epilogue, y));
    let block = primitives::threads(device, THREADS);
    let tiles = u64::from(all.columns).div_ceil(TILE);
    let squares = all.rows.div_ceil(TILE) * tiles;
    let part = all.length.div_ceil((u64::from(device.properties().sms) / squares).max(1)).next_multiple_of(16);
    let parts = all.length.div_ceil(part);
    let partials: Buffer<f32> = device.alloc_for((parts * all.rows) as usize * all.columns as usize, "the sums of parts")?;
    let params = GemmLongParams { partials: partials.ptr(), part, tiles: tiles as u32, parts: parts as u32, ..all };
    let grid = primitives::blocks(squares * parts, 1)?;
    let kernel = device.kernel(MODULE, "gemm_long_columns")?;
    // SAFETY: as above; there is a partial sum for each part and element.
    unsafe { device.launch(&kernel, Shape { grid, block, shared: SHARED_OF_COLUMNS, mode: Mode::Plain }, &params) }?;
    let grid = primitives::blocks(all.rows * u64::from(all.columns / 4), WARP)?;
    let kernel = device.kernel(MODULE, "gemm_long_merge")?;
    // SAFETY: as above.
    unsafe { device.launch(&kernel, Shape { grid, block, shared: block * 16, mode: Mode::Plain }, &params) }
}
