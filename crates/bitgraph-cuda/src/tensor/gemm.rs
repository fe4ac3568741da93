//! Dense products: of a long side and a small one, and of long sums and narrow sides, by tensor cores, others by the vendor's library where it is
//! installed and has the types, else by a tiled kernel.

use super::epilogue::{EpilogueParams, finished};
use super::instance::{self, Instance};
use super::params::{Target, View, name, real_of, sum_of};
use super::softmax::scratch;
use super::work::DenseWork;
use super::{gemm_deep, gemm_long};
use crate::device::{Buffer, Device, DevicePtr, Mode, Product, Shape, Side, parameters};
use crate::ops::source::element;
use crate::{Cuda, Result, primitives};
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::GemmOp;
use bitgraph_tensor::{AnyMut, Step};

const MODULE: &str = "tensor/gemm_general";
const TILE: u64 = constant("tensor/gemm_general.cuh", "GEMM_TILE");
const DEPTH: u64 = constant("tensor/gemm_general.cuh", "GEMM_DEPTH");
const PITCH: u64 = constant("tensor/gemm_general.cuh", "GEMM_PITCH");
const THREADS: u64 = constant("tensor/gemm_general.cuh", "GEMM_THREADS");

parameters! {
    struct GemmParams = "tensor/gemm_general.cuh" "bg::GemmParams" {
        a: View,
        b: View,
        y: Target,
        partials: DevicePtr<u8>,
        rows: u64,
        length: u64,
        part: u64,
        columns: u32,
        tiles: u32,
        parts: u32,
        transposed: u32,
        direct: u32,
        group: u32,
        epilogue: EpilogueParams,
    }
}

/// Parts of the sums, and the terms of each: more than one where the tiles alone leave most of a device idle.
fn parts(device: &Device, tiles: u64, length: u64) -> (u32, u64) {
    let (enough, shortest) = if device.properties().emulated { (3, 2 * DEPTH) } else { (256, 16 * DEPTH) };
    let parts = (enough / tiles.max(1)).min(length / shortest).clamp(1, 64);
    let part = length.div_ceil(parts).next_multiple_of(DEPTH);
    // Rounding up may leave fewer.
    (length.div_ceil(part.max(1)).max(1) as u32, part)
}

/// Any product, by the tiled kernel.
fn tiled(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<()> {
    let (device, (rows, columns, length), x) = (cuda.device(), op.sizes(), op.a.dtype());
    let (sum, work) = (sum_of(x), DenseWork::new((rows, columns), 1)?);
    let (rows_of_tiles, tiles) = ((rows as u64).div_ceil(TILE), (columns as u64).div_ceil(TILE));
    let all = rows_of_tiles.checked_mul(tiles).ok_or_else(|| primitives::too_large(rows as u64))?;
    let (parts, part) = parts(device, all, length as u64);
    let partials: Buffer<u8> = if parts > 1 { scratch(cuda, rows * parts as usize, columns, sum)? } else { Buffer::default() };
    let kernel_name = format!("gemm_{}_{}", name(x), name(sum));
    let kernel = instance::kernel(device, MODULE, &kernel_name, || {
        vec![Instance::new("BG_GEMM", &format!("{}, {}", element(x), element(sum)), std::slice::from_ref(&kernel_name))]
    })?;
    let merge = device.kernel(MODULE, &format!("gemm_merge_{}", name(sum)))?;
    let direct = u32::from(sum == DType::I32 && op.epilogue.is_empty());
    finished(cuda, &op.epilogue, (real_of(x), 1), y, |epilogue, y| {
        let params = GemmParams {
            a: View::any(&op.a),
            b: View::any(&op.b),
            y,
            partials: partials.ptr(),
            rows: rows as u64,
            length: length as u64,
            part,
            columns: work.columns,
            tiles: tiles as u32,
            parts,
            transposed: u32::from(op.transpose_a) | u32::from(op.transpose_b) << 1,
            direct,
            group: work.group,
            epilogue,
        };
        let shared = (2 * DEPTH * PITCH) as u32 * sum.bytes() as u32;
        let grid = primitives::blocks(all.checked_mul(parts.into()).ok_or_else(|| primitives::too_large(all))?, 1)?;
        // SAFETY: the sides fit each other and the output (`bitgraph_tensor::ops` checks that); there is a partial sum for each part.
        unsafe { device.launch(&kernel, Shape { grid, block: THREADS as u32, shared, mode: Mode::Plain }, &params) }?;
        if parts == 1 {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { device.launch(&merge, work.shape(device)?, &params) }
    })
}

/// Whether the library did it.
fn by_library(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<bool> {
    let (device, (rows, columns, length), input) = (cuda.device(), op.sizes(), op.a.dtype());
    if !input.is_float() || device.properties().emulated {
        return Ok(false);
    }
    let real = real_of(input);
    let side = |x: &View, transposed| Side { address: x.data.address(), stride: x.stride, transposed };
    let product = |to: &Target, addend| Product {
        rows: rows as u64,
        columns: columns as u64,
        length: length as u64,
        a: side(&View::any(&op.a), op.transpose_a),
        b: side(&View::any(&op.b), op.transpose_b),
        y: side(&to.view(), false),
        addend,
        input,
        output: DType::ALL[to.dtype as usize],
    };
    if y.dtype() == input || y.dtype() == real {
        let addend = match &*op.epilogue.0 {
            [] => Some(None),
            [Step::Add { other, factor, columns: None }] if other.dtype() == y.dtype() && *factor != 0.0 => {
                Some(Some((side(&View::any(other), false), *factor)))
            }
            _ => None,
        };
        if let Some(addend) = addend {
            // SAFETY: operands fit each other and the output (`bitgraph_tensor::ops` checks that), and share no element with it.
            return unsafe { device.product(&product(&Target::of(y, 1), addend)) };
        }
    }
    // The sums as they are, and then the epilogue: in a pass of its own.
    let sums = scratch(cuda, rows, columns, real)?;
    let sums = Target::scratch(sums.ptr(), columns, real, 1);
    // SAFETY: as above, into an array of the product's size.
    if !unsafe { device.product(&product(&sums, None)) }? {
        return Ok(false);
    }
    finished(cuda, &op.epilogue, (real, 1), y, |epilogue, to| super::map::steps(cuda, &sums.view(), real, (rows, columns), epilogue, to))?;
    Ok(true)
}

/// Any product.
pub(super) fn gemm(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<()> {
    let (rows, columns, _) = op.sizes();
    if rows == 0
        || columns == 0
        || (gemm_long::is_faster(op) && gemm_long::gemm(cuda, op, y)?)
        || (gemm_deep::is_faster(op) && gemm_deep::gemm(cuda, op, y)?)
        || by_library(cuda, op, y)?
    {
        return Ok(());
    }
    tiled(cuda, op, y)
}
