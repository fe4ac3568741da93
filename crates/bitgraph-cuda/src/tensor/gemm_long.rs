//! Dense products by tensor cores where one side is long and the other small: numbers of `f32` are read as two each, others as they are.
//!
//! Invariant: of `f32`, no more is left out of a product than 2^-20 of its size, so that results keep the bounds of sums of `f32` from
//! [`SHORTEST`] terms on; of numbers below 2^-100 it may be more.

use super::epilogue::{EpilogueParams, MOST, finished};
use super::map;
use super::params::{Target, View, name};
use super::softmax::scratch;
use crate::device::{Buffer, Device, Mode, Shape, parameters};
use crate::{Cuda, Result, primitives};
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::GemmOp;
use bitgraph_tensor::{AnyMut, Step};

const MODULE: &str = "tensor/gemm_long";
const THREADS: [u32; 2] =
    [constant("tensor/gemm_long.cuh", "LONG_THREADS") as u32, constant("tensor/gemm_long.cuh", "LONG_THREADS_F32") as u32];
const ROWS: u64 = constant("tensor/gemm_long.cuh", "LONG_ROWS");
const LENGTH: u64 = constant("tensor/gemm_long.cuh", "LONG_LENGTH");
const STORED: [u64; 2] = [constant("tensor/gemm_long.cuh", "LONG_STORED"), constant("tensor/gemm_long.cuh", "LONG_STORED_F32")];
const GAP: u64 = constant("tensor/gemm_long.cuh", "LONG_GAP");
const WARP: u64 = 32;

/// Terms of a sum from which on the numbers' halves leave out less than rounding the sums does.
const SHORTEST: u64 = 32;
/// The small side at most: beyond it the vendor's library, whose blocks share more of both sides, is as fast.
const WIDEST: u64 = 512;
/// The long side at least: with less of it, blocks of so many rows leave multiprocessors idle.
const LONGEST: u64 = 16384;
/// Quarters of a block's columns and terms that there have to be: of all of them, products of `f32` with 100 000 and 200 000 rows take .54 to .75
/// of the vendor's time (H100, 64 and 128 columns and terms), and parts of them take as long as all.
const FILLED: u64 = 3;

parameters! {
    struct GemmLongParams = "tensor/gemm_long.cuh" "bg::GemmLongParams" {
        a: View,
        b: View,
        y: Target,
        rows: u64,
        length: u32,
        columns: u32,
        tiles: u32,
        transposed: u32,
        epilogue: EpilogueParams,
    }
}

/// Elements that a lane reads at once: 16 bytes.
fn neighbours(dtype: DType) -> u32 {
    if dtype == DType::F32 { 4 } else { 8 }
}

/// Whether the kernels have a product: by its sizes, and where operands lie in words of 16 bytes.
fn has(device: &Device, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> bool {
    let ((rows, columns, length), dtype, properties) = (op.sizes(), op.a.dtype(), device.properties());
    let (rows, columns, length, pack) = (rows as u64, columns as u64, length as u64, neighbours(dtype));
    let target = Target::of(y, pack);
    let long = if properties.emulated { LONGEST / 256 } else { LONGEST };
    // A sum in passes takes a step itself.
    let listed = length <= LENGTH || op.epilogue.0.len() < MOST;
    // Registers for them would be too many beside those of halves: kernels that had them spilled, and steps of training took up to a tenth longer.
    let scaled = dtype != DType::F32 && op.epilogue.0.iter().any(|step| matches!(step, Step::Add { columns: Some(_), .. }));
    (properties.emulated || properties.compute >= (8, 0))
        && matches!(dtype, DType::F32 | DType::F16 | DType::Bf16)
        && !op.transpose_a
        && rows >= long
        && columns <= WIDEST
        && columns.is_multiple_of(pack.into())
        && (SHORTEST..=WIDEST).contains(&length)
        && length.is_multiple_of(pack.into())
        && shared_of_rows(dtype, columns, length) <= properties.shared_per_block
        && listed
        && !scaled
        && View::any(&op.a).reads_floats(pack)
        && target.packed != 0
        && target.view().reads_floats(pack)
        && EpilogueParams::of(device, op.epilogue.0.get(..MOST).unwrap_or(&op.epilogue.0)).is_of_neighbours(pack)
}

/// Whether they are faster than the vendor's library: of halves where that leaves an epilogue to a pass of its own, of `f32` where blocks have
/// enough to do.
pub(super) fn is_faster(op: &GemmOp<Cuda>) -> bool {
    let ((_, columns, length), dtype) = (op.sizes(), op.a.dtype());
    let (columns, length) = (columns as u64, length as u64);
    if dtype != DType::F32 {
        return !matches!(&*op.epilogue.0, [] | [Step::Add { columns: None, .. }]);
    }
    let whole = length / LENGTH * LENGTH;
    let terms = if length > whole { whole + depth(dtype, length - whole) } else { whole };
    fills(columns * length, columns.next_multiple_of(width(columns)) * terms)
}

/// Whether elements fill so much of the places that blocks have for them that the kernels are faster.
pub(super) fn fills(elements: u64, places: u64) -> bool {
    4 * elements >= FILLED * places
}
/// Columns of a block.
fn width(columns: u64) -> u64 {
    if columns <= 64 { 64 } else { 128 }
}
/// The longest sums of the kernel for sums of a length: halves have one.
fn depth(dtype: DType, length: u64) -> u64 {
    if dtype == DType::F32 && length <= LENGTH / 2 { LENGTH / 2 } else { LENGTH }
}
/// Threads of a block.
fn threads(dtype: DType) -> u32 {
    THREADS[usize::from(dtype == DType::F32)]
}
/// Shared memory of a block: the small side, of `f32` in two halves, and the rows on their way out.
fn shared_of_rows(dtype: DType, columns: u64, length: u64) -> u32 {
    let width = width(columns);
    let small = if dtype == DType::F32 {
        depth(dtype, length) * width * 8
    } else {
        length.min(LENGTH).next_multiple_of(4 * u64::from(neighbours(dtype))) * width * 2
    };
    (small + u64::from(threads(dtype)) / WARP * STORED[usize::from(dtype == DType::F32)] * (width + GAP) * 4) as u32
}
/// Whether the kernels did it.
pub(super) fn gemm(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<bool> {
    if !has(cuda.device(), op, y) {
        return Ok(false);
    }
    let (steps, single) = (&op.epilogue.0, op.a.dtype() == DType::F32 && y.dtype() == DType::F32);
    match steps.iter().position(|step| matches!(step, Step::Dropout(_))) {
        // The tensor cores wait for draws: 100 000 x 128 sums of 128 terms take 92 us with them, 55 without, and a pass of its own 27 (H200).
        Some(at) if single && steps.len() <= MOST => {
            let (device, (before, after)) = (cuda.device(), steps.split_at(at));
            rows(cuda, op, EpilogueParams::of(device, before), Target::of(y, neighbours(DType::F32)))?;
            let to = Target::of(y, 1);
            // In place: an element is read and written by one thread.
            map::steps(cuda, &to.view(), DType::F32, y.window().shape(), EpilogueParams::of(device, after), to)?;
        }
        _ => finished(cuda, &op.epilogue, (DType::F32, neighbours(op.a.dtype())), y, |epilogue, y| rows(cuda, op, epilogue, y))?,
    }
    Ok(true)
}

/// A tall matrix times a small one: longer sums in passes, each of which adds to what the last one stored.
fn rows(cuda: &Cuda, op: &GemmOp<Cuda>, epilogue: EpilogueParams, y: Target) -> Result<()> {
    let (device, (rows, columns, length), dtype) = (cuda.device(), op.sizes(), op.a.dtype());
    let (rows, columns, length) = (rows as u64, columns as u64, length as u64);
    let (a, b, passes) = (View::any(&op.a), View::any(&op.b), length.div_ceil(LENGTH));
    let width = width(columns);
    let tiles = columns.div_ceil(width);
    let per_sm = if dtype == DType::F32 { 1 } else { 2 };
    let block = primitives::threads(device, threads(dtype));
    let blocks = rows.div_ceil(u64::from(block) / WARP * ROWS).min(u64::from(device.properties().sms * per_sm).div_ceil(tiles));
    let grid = primitives::blocks(blocks * tiles, 1)?;
    // Sums that are not complete are of `f32`: in the result, where it is.
    let kept =
        if passes > 1 && y.dtype != DType::F32 as u32 { Some(scratch(cuda, rows as usize, columns as usize, DType::F32)?) } else { None };
    let partial = kept.as_ref().map_or(y, |kept: &Buffer<u8>| Target::scratch(kept.ptr(), columns as usize, DType::F32, neighbours(dtype)));
    for pass in 0..passes {
        let (first, last) = (pass * LENGTH, pass + 1 == passes);
        let along = |x: View, elements: u64| View { data: x.data.offset(elements as usize * dtype.bytes()), ..x };
        let steps = if last { epilogue } else { EpilogueParams::none() };
        let terms = (length - first).min(LENGTH);
        let params = GemmLongParams {
            a: along(a, first),
            b: along(b, if op.transpose_b { first } else { first * b.stride }),
            y: if last { y } else { partial },
            rows,
            length: terms as u32,
            columns: columns as u32,
            tiles: tiles as u32,
            transposed: u32::from(op.transpose_b),
            epilogue: if pass > 0 { steps.after_adding(partial.view()) } else { steps },
        };
        let shared = shared_of_rows(dtype, columns, terms);
        let kernel = device.kernel(MODULE, &format!("gemm_long_{}_{width}_{}", name(dtype), depth(dtype, terms)))?;
        // SAFETY: the sides fit each other and the output (`bitgraph_tensor::ops` checks that), and are read in words that they lie in; an
        // element of the result is read and written by one thread.
        unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &params) }?;
    }
    Ok(())
}
