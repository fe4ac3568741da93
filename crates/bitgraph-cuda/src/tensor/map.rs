//! Dense matrices element by element.

use super::epilogue::{EpilogueParams, finished};
use super::params::{Target, View, neighbours, real_of};
use super::work::DenseWork;
use crate::device::parameters;
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::AnyMut;
use bitgraph_tensor::ops::MapOp;

const MODULE: &str = "tensor/map_general";
const VECTORS: &str = "tensor/map_vectors";
/// Threads of a block of the kernel of neighbours.
const THREADS: u32 = 256;

parameters! {
    struct MapParams = "tensor/map_general.cu" "bg::MapParams" {
        work: DenseWork,
        x: View,
        y: Target,
        epilogue: EpilogueParams,
    }
}

parameters! {
    struct MapVectorsParams = "tensor/map_vectors.cu" "bg::MapVectorsParams" {
        x: View,
        y: Target,
        epilogue: EpilogueParams,
        packs: u32,
        row_packs: u32,
    }
}

/// Neighbours in registers, where all operands lie for that; whether they do.
fn vectors(cuda: &Cuda, x: &View, (rows, columns): (usize, usize), epilogue: &EpilogueParams, y: Target) -> Result<bool> {
    let dtype = DType::ALL[x.dtype as usize];
    let (count, name) = if dtype == DType::F32 { (4, "map_vectors_4") } else { (8, "map_vectors_8") };
    let lies = columns.is_multiple_of(count as usize)
        && x.reads_floats(count)
        && y.packed != 0
        && y.view().reads_floats(count)
        && epilogue.is_of_neighbours(count);
    let row_packs = columns / count as usize;
    let Some(packs) = rows.checked_mul(row_packs).and_then(|packs| u32::try_from(packs).ok()).filter(|_| lies) else { return Ok(false) };
    let params = MapVectorsParams { x: *x, y, epilogue: *epilogue, packs, row_packs: row_packs as u32 };
    let device = cuda.device();
    // SAFETY: both matrices have the shape's elements, and no other operand shares one with the output.
    unsafe { device.launch(&device.kernel(VECTORS, name)?, device.cover(packs as usize, THREADS), &params) }?;
    Ok(true)
}

/// A matrix of so many rows and columns through steps that are computed in `real`.
pub(super) fn steps(cuda: &Cuda, x: &View, real: DType, shape: (usize, usize), epilogue: EpilogueParams, y: Target) -> Result<()> {
    if shape.0 == 0 || shape.1 == 0 {
        return Ok(());
    }
    if real == DType::F32 && vectors(cuda, x, shape, &epilogue, y)? {
        return Ok(());
    }
    let dtype = DType::ALL[x.dtype as usize];
    let packs = if real == DType::F64 { 1 } else { neighbours(x, dtype, shape.1) };
    let (name, packs) = match (real, dtype, packs) {
        (DType::F64, ..) => ("map_f64", 1),
        (_, DType::F32, 4) => ("map_f32_x4", 4),
        (_, DType::F16, 8) => ("map_f16_x8", 8),
        (_, DType::Bf16, 8) => ("map_bf16_x8", 8),
        _ => ("map_f32", 1),
    };
    let params = MapParams { work: DenseWork::new(shape, packs)?, x: *x, y, epilogue };
    let device = cuda.device();
    // SAFETY: both matrices have the shape's elements, and no other operand shares one with the output.
    unsafe { device.launch(&device.kernel(MODULE, name)?, params.work.shape(device)?, &params) }
}

/// Every element through the epilogue.
pub(super) fn map(cuda: &Cuda, op: &MapOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<()> {
    let (x, dtype) = (View::any(&op.x), op.x.dtype());
    // Without steps an element is converted, not computed with: double precision holds all of them.
    let real = if op.epilogue.is_empty() && dtype == DType::I32 { DType::F64 } else { real_of(dtype) };
    let packs = if real == DType::F64 { 1 } else { neighbours(&x, dtype, op.x.shape().1) };
    finished(cuda, &op.epilogue, (real, packs), y, |epilogue, to| steps(cuda, &x, real, op.x.shape(), epilogue, to))
}
