//! Matrices of few bits by the general kernels: every combination of types, steps, epilogues and results.
//!
//! Products and sums in which something else than codes takes part (dense elements, factors within the sum) are those of the values, by the
//! operations on dense matrices.

use super::super::epilogue::EpilogueParams;
use super::super::params::{Target, View};
use super::super::pattern::{Seen, wide};
use super::super::{columns, gemm, instance, map};
use super::operand::{CodesParams, StepsParams, Stored, TargetParams, finished_bits, through_elements, unwritten, used, words_of};
use crate::device::{Buffer, DevicePtr, Mode, Parameters, Shape, parameters};
use crate::matrix::Kept;
use crate::ops::mxv::once;
use crate::{Cuda, Error, Result, primitives};
use bitgraph_backend::Error as Base;
use bitgraph_bittensor::{Packing, Rounding};
use bitgraph_tensor::backend::Spmm;
use bitgraph_tensor::ops::{BitGemmOp, BitSpmmOp, Coding, GemmOp, MapOp, PackOp};
use bitgraph_tensor::{Any, AnyMut, BitOperand, BitOut, CodesOut, Dense, Epilogue, Error as TensorError};
use bytemuck::Zeroable;
use std::sync::OnceLock;

const MODULE: &str = "tensor/bits_general";

parameters! {
    struct PackParams = "tensor/bits_general.cuh" "bg::BitsPackGeneral" {
        x: View,
        steps: StepsParams,
        thresholds: DevicePtr<f32>,
        words: DevicePtr<u32>,
        plane: u64,
        rows: u64,
        columns: u32,
        stride: u32,
        planes: u32,
        lines_are_columns: u32,
        coding: u32,
        floor: u32,
        used: u32,
        reserved: u32,
        epilogue: EpilogueParams,
    }
    struct UnpackParams = "tensor/bits_general.cuh" "bg::BitsUnpackGeneral" {
        x: CodesParams,
        y: Target,
        rows: u64,
        columns: u32,
        reserved: u32,
    }
    struct MeansParams = "tensor/bits_general.cuh" "bg::BitsMeansGeneral" {
        x: View,
        means: Target,
        rows: u64,
        columns: u32,
        reserved: u32,
    }
    struct LineSumsParams = "tensor/bits_general.cuh" "bg::BitsLineSums" {
        words: DevicePtr<u32>,
        sums: DevicePtr<i64>,
        plane: u64,
        lines: u64,
        stride: u32,
        planes: u32,
        used: u32,
        reserved: u32,
    }
    struct GemmParams = "tensor/bits_general.cuh" "bg::BitsGemmGeneral" {
        a: CodesParams,
        b: CodesParams,
        y: TargetParams,
        products: DevicePtr<i32>,
        sums_a: DevicePtr<i64>,
        sums_b: DevicePtr<i64>,
        rows: u64,
        length: u64,
        columns: u32,
        used: u32,
        tiles: u32,
        whole: u32,
        epilogue: EpilogueParams,
    }
    struct SpmmParams = "tensor/bits_general.cuh" "bg::BitsSpmmGeneral" {
        x: CodesParams,
        y: TargetParams,
        offsets: DevicePtr<u8>,
        indices: DevicePtr<u32>,
        row_scale: View,
        rows: u64,
        columns: u32,
        tiles: u32,
        wide: u32,
        own: u32,
        sums_as: u32,
        share: u32,
        epilogue: EpilogueParams,
    }
}

/// Columns, which kernels count in 32 bits.
fn counted(columns: usize) -> Result<u32> {
    u32::try_from(columns).map_err(|_| primitives::too_large(columns as u64))
}

/// Launches a kernel whose warps stride over `n` units, `share` warps to each.
///
/// # Safety
/// As of [`crate::device::Device::launch`].
unsafe fn by_warps<P: Parameters>(cuda: &Cuda, kernel: &str, n: u64, (share, shared): (u32, u32), params: &P) -> Result<()> {
    let device = cuda.device();
    let block = instance::threads(device);
    let most = u64::from(device.properties().sms) * 64;
    let grid = n.div_ceil(u64::from(block / 32 / share)).min(most) as u32;
    if grid == 0 {
        return Ok(());
    }
    let shape = Shape { grid, block, shared, mode: Mode::Plain };
    // SAFETY: the caller's promises.
    unsafe { device.launch(&device.kernel(MODULE, kernel)?, shape, params) }
}

/// Packs what `x` shows by a coding whose fields are set already.
fn run_pack(cuda: &Cuda, mut params: PackParams, out: &CodesOut<'_, Cuda>) -> Result<()> {
    let layout = &out.layout;
    params.words = words_of(out);
    params.plane = layout.words() as u64;
    params.rows = layout.nrows() as u64;
    params.columns = counted(layout.ncols())?;
    params.stride = counted(layout.stride())?;
    params.planes = out.planes;
    params.lines_are_columns = u32::from(layout.packing() == Packing::Columns);
    params.used = used(layout);
    let words = layout.lines() as u64 * u64::from(params.used);
    // SAFETY: the words are as the layout says, and the matrix has its shape (`bitgraph_tensor::ops` checks that).
    unsafe { by_warps(cuda, "bits_pack_general", words, (1, 0), &params) }
}

/// The codes of a dense matrix.
pub(super) fn pack(cuda: &Cuda, op: &PackOp<Cuda>, out: &CodesOut<'_, Cuda>) -> Result<()> {
    let params = PackParams { x: View::any(&op.x), ..PackParams::zeroed() };
    let params = match &op.coding {
        Coding::Sign(thresholds) => PackParams { thresholds: View::optional(thresholds.as_ref()).data.cast(), ..params },
        Coding::Steps { rounding, steps, .. } => {
            PackParams { steps: StepsParams::of(steps), coding: 1, floor: u32::from(*rounding == Rounding::Floor), ..params }
        }
    };
    run_pack(cuda, params, out)
}
/// Elements through as many steps as a launch takes, the last of which makes signs or levels of them, as bits.
pub(super) fn pack_finished(cuda: &Cuda, x: &View, epilogue: EpilogueParams, stored: Stored, out: &CodesOut<'_, Cuda>) -> Result<()> {
    let coding = if stored == Stored::Signs { 2 } else { 3 };
    run_pack(cuda, PackParams { x: *x, coding, epilogue, ..PackParams::zeroed() }, out)
}

/// The values of an operand.
pub(super) fn unpack(cuda: &Cuda, x: &BitOperand<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<()> {
    let Some(codes) = CodesParams::of(x) else {
        let BitOperand::Dense(x) = x else { return Ok(()) };
        return map::map(cuda, &MapOp { x: x.clone(), epilogue: Epilogue::default() }, y);
    };
    let (rows, columns) = x.shape();
    let n = (rows as u64).checked_mul(columns as u64).ok_or_else(|| primitives::too_large(rows as u64))?;
    let params = UnpackParams { x: codes, y: Target::of(y, 1), rows: rows as u64, columns: counted(columns)?, reserved: 0 };
    // SAFETY: the output has the operand's shape (`bitgraph_tensor::ops` checks that).
    unsafe { instance::strided(cuda.device(), &cuda.device().kernel(MODULE, "bits_unpack_general")?, n, &params) }
}

/// The values of an operand as a dense matrix.
fn values(cuda: &Cuda, x: &BitOperand<Cuda>) -> Result<Dense<Cuda, f32>> {
    if let BitOperand::Dense(Any::F32(x)) = x {
        return Ok(x.clone());
    }
    let (rows, columns) = x.shape();
    let mut y = unwritten(cuda, rows, columns)?;
    unpack(cuda, x, &AnyMut::F32(y.as_mut().open()?))?;
    Ok(y)
}

/// The mean magnitude of every row, or column.
pub(super) fn mean_magnitudes(cuda: &Cuda, x: &Any<Cuda>, along: Packing, means: &AnyMut<'_, Cuda>) -> Result<()> {
    if along == Packing::Columns {
        return columns::mean_magnitudes(cuda, x, means);
    }
    let (rows, columns) = x.shape();
    let params = MeansParams { x: View::any(x), means: Target::of(means, 1), rows: rows as u64, columns: counted(columns)?, reserved: 0 };
    // SAFETY: there is a mean for each row.
    unsafe { by_warps(cuda, "bits_means_general", rows as u64, (1, 0), &params) }
}

/// The sum of the codes of each of the first `lines` lines.
fn line_sums(cuda: &Cuda, x: &CodesParams, (lines, used): (usize, u32)) -> Result<Buffer<i64>> {
    let sums = cuda.device().alloc_for::<i64>(lines, "the sums of lines of codes")?;
    let params = LineSumsParams {
        words: x.words,
        sums: sums.ptr(),
        plane: x.plane,
        lines: lines as u64,
        stride: x.stride,
        planes: x.planes,
        used,
        reserved: 0,
    };
    // SAFETY: the operand has as many lines of so many words, and there is a sum for each.
    unsafe { by_warps(cuda, "bits_line_sums", lines as u64, (1, 0), &params) }?;
    Ok(sums)
}

/// Any product. `products`: the sums of products of codes, rows x columns, if they are there already.
pub(super) fn gemm(cuda: &Cuda, op: &BitGemmOp<Cuda>, y: BitOut<'_, Cuda>, products: Option<&Buffer<i32>>) -> Result<()> {
    let (rows, columns, length) = op.sizes();
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let (Some(a), Some(b)) = (CodesParams::of(&op.a), CodesParams::of(&op.b)) else {
        let (a, b) = (Any::F32(values(cuda, &op.a)?), Any::F32(values(cuda, &op.b)?));
        return through_elements(cuda, &op.epilogue, y, |epilogue, y| {
            gemm::gemm(cuda, &GemmOp { a, transpose_a: false, b, transpose_b: false, epilogue: epilogue.clone() }, &y)
        });
    };
    let used = counted(length.div_ceil(32))?;
    let sums = |there: bool, x: &CodesParams, lines| if there { line_sums(cuda, x, (lines, used)) } else { Ok(Buffer::default()) };
    let (sums_a, sums_b) = (sums(!b.is_centred(), &a, rows)?, sums(!a.is_centred(), &b, columns)?);
    let tiles = counted(columns.div_ceil(32))?;
    let params = GemmParams {
        a,
        b,
        products: products.map_or(DevicePtr::NULL, Buffer::ptr),
        sums_a: sums_a.ptr(),
        sums_b: sums_b.ptr(),
        rows: rows as u64,
        length: length as u64,
        columns: counted(columns)?,
        used,
        tiles,
        whole: u32::from(op.is_whole()),
        ..GemmParams::zeroed()
    };
    finished_bits(cuda, &op.epilogue, y, |epilogue, y| {
        let n = (rows as u64).checked_mul(tiles.into()).ok_or_else(|| primitives::too_large(rows as u64))?;
        // SAFETY: the operands fit each other and the output (`bitgraph_tensor::ops` checks that), and share no element with it.
        unsafe { by_warps(cuda, "bits_gemm_general", n, (1, 0), &GemmParams { y, epilogue, ..params }) }
    })
}

/// The entries of the longest row and of the longest column, kept with a matrix.
#[derive(Default)]
struct Longest {
    rows: OnceLock<u32>,
    columns: OnceLock<u32>,
}
impl Kept for Longest {
    fn bytes(&self) -> u64 {
        0
    }
}

/// Refuses counts that do not fit so many planes. Waits, at its first use with a matrix.
///
/// # Errors
/// [`TensorError::Parameter`]; out of memory.
fn fits(op: &BitSpmmOp<Cuda>, seen: &Seen<'_>, planes: u32) -> Result<()> {
    let matrix = op.matrix.raw();
    let kept = matrix.kept::<Longest>();
    let slot = if op.transposed { &kept.columns } else { &kept.rows };
    let longest = *once(slot, || {
        let degrees = primitives::degrees(&matrix.device, seen.csr)?;
        Ok(if degrees.is_empty() { 0 } else { primitives::reduce(&matrix.device, &degrees)?.max })
    })?;
    let most = u64::from(longest) + u64::from(op.own);
    if most < 1 << planes {
        return Ok(());
    }
    let (parameter, allowed) = ("the number of messages of a row", "below 2 to the number of bits of a count");
    Err(Error::from(Base::from(TensorError::Parameter { operation: "bit_spmm", parameter, found: most as f64, allowed })))
}

/// Any sum over entries.
pub(super) fn spmm(cuda: &Cuda, op: &BitSpmmOp<Cuda>, y: BitOut<'_, Cuda>) -> Result<()> {
    let ((rows, _), columns) = (op.matrix_shape(), op.features.shape().1);
    let codes = CodesParams::of(&op.features).filter(|_| op.is_counting());
    let Some(x) = codes else { return sums_of_values(cuda, op, y) };
    let seen = Seen::of(op.matrix.raw(), op.transposed)?;
    if let BitOut::Counts(out) = &y {
        fits(op, &seen, out.planes)?;
    }
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    // Where a row is long, all warps of a block take its entries in turns.
    let block = instance::threads(cuda.device());
    let (share, shared) = if seen.long.is_empty() { (1, 0) } else { (block / 32, 8 * block) };
    let counts = matches!(y, BitOut::Counts(_));
    let tiles = counted(columns.div_ceil(32))?;
    let params = SpmmParams {
        x,
        offsets: seen.csr.offsets.address(),
        indices: seen.csr.indices.ptr(),
        row_scale: View::optional(op.scale_rows.as_ref()),
        rows: rows as u64,
        columns: counted(columns)?,
        tiles,
        wide: wide(&seen.csr.offsets),
        own: u32::from(op.own),
        sums_as: if counts { 2 } else { u32::from(op.is_whole()) },
        share,
        ..SpmmParams::zeroed()
    };
    finished_bits(cuda, &op.epilogue, y, |epilogue, y| {
        let n = (rows as u64).checked_mul(tiles.into()).ok_or_else(|| primitives::too_large(rows as u64))?;
        // SAFETY: the features have a line for each column of the matrix as seen, the output its rows (`bitgraph_tensor::ops` checks that).
        unsafe { by_warps(cuda, "bits_spmm_general", n, (share, shared), &SpmmParams { y, epilogue, ..params }) }
    })
}

/// Sums of values: dense features, factors or steps that vary within a sum.
fn sums_of_values(cuda: &Cuda, op: &BitSpmmOp<Cuda>, y: BitOut<'_, Cuda>) -> Result<()> {
    let features = match &op.features {
        BitOperand::Dense(x) => x.clone(),
        bits => Any::F32(values(cuda, bits)?),
    };
    through_elements(cuda, &op.epilogue, y, |epilogue, y| {
        let sums = op.over_values(features, epilogue.clone());
        Spmm::spmm(cuda, &sums, y, None)
    })
}
