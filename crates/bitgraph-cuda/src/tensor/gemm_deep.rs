//! Dense products whose sums are long and whose sides are narrow, by tensor cores: gradients of weights over many nodes. Numbers of `f32` are
//! read as two each.
//!
//! Invariant: of a product no more is left out than 2^-20 of its size; of numbers below 2^-100 it may be more.

use super::epilogue::{EpilogueParams, finished};
use super::gemm_long::fills;
use super::map;
use super::params::{Target, View};
use super::softmax::scratch;
use crate::device::{Buffer, Device, DevicePtr, Mode, Properties, Shape, parameters};
use crate::{Cuda, Result, primitives};
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;
use bitgraph_tensor::AnyMut;
use bitgraph_tensor::ops::GemmOp;

const MODULE: &str = "tensor/gemm_deep";
const TERMS: u64 = constant("tensor/gemm_deep.cuh", "DEEP_TERMS");
const STAGES: u64 = constant("tensor/gemm_deep.cuh", "DEEP_STAGES");
const MANY_STAGES: u64 = constant("tensor/gemm_deep.cuh", "DEEP_MANY_STAGES");
const GAP: u64 = constant("tensor/gemm_deep.cuh", "DEEP_GAP");
const MERGERS: u32 = constant("tensor/gemm_deep.cuh", "DEEP_MERGERS") as u32;
const WARP: u32 = 32;

/// The sides at most: beyond it the vendor's library, whose blocks share more of both sides, is as fast.
const WIDEST: u64 = 512;
/// The sums at least: with shorter ones, parts that keep all multiprocessors busy are too short to fill a block's stages.
const SHORTEST: u64 = 16384;
/// The same where blocks are emulated.
const SHORTEST_EMULATED: u64 = 64;
/// Terms of a part at least, in stages.
const SHORTEST_PART: u64 = 8;

parameters! {
    struct GemmDeepParams = "tensor/gemm_deep.cuh" "bg::GemmDeepParams" {
        a: View,
        b: View,
        y: Target,
        sums: Target,
        partials: DevicePtr<f32>,
        length: u64,
        part: u64,
        rows: u32,
        columns: u32,
        tiles: u32,
        all_tiles: u32,
        parts: u32,
        reserved: u32,
    }
}

/// How a product is shared out: the sides of a tile, threads of a block, and the blocks that a multiprocessor holds.
struct Tile {
    rows: u64,
    columns: u64,
    threads: u32,
    held: u64,
}

impl Tile {
    fn of(rows: u64, columns: u64) -> Self {
        let side = |n: u64| if n <= 64 { 64 } else { 128 };
        let (rows, columns) = (side(rows), side(columns));
        let held = match rows + columns {
            128 => 3,
            192 => 2,
            _ => 1,
        };
        Self { rows, columns, threads: 2 * rows as u32, held }
    }
    fn shared(&self, properties: &Properties) -> u32 {
        let stages = if self.held == 1 && properties.compute == (9, 0) { MANY_STAGES } else { STAGES };
        // Stages as they come, and two right sides of numbers as two.
        (TERMS * 4 * (stages * (self.rows + self.columns + 2 * GAP) + 2 * 2 * self.columns)) as u32
    }
}

/// Whether the kernels have a product.
pub(super) fn has(device: &Device, op: &GemmOp<Cuda>) -> bool {
    let ((rows, columns, length), properties) = (op.sizes(), device.properties());
    let (rows, columns, length) = (rows as u64, columns as u64, length as u64);
    let long = if properties.emulated { SHORTEST_EMULATED } else { SHORTEST };
    let side = |n: u64| (1..=WIDEST).contains(&n) && n.is_multiple_of(4);
    (properties.emulated || properties.compute >= (8, 0))
        && (op.a.dtype(), op.b.dtype()) == (DType::F32, DType::F32)
        && (op.transpose_a, op.transpose_b) == (true, false)
        && length >= long
        && side(rows)
        && side(columns)
        && Tile::of(rows, columns).shared(properties) <= properties.shared_per_block
        && [&op.a, &op.b].iter().all(|x| View::any(x).reads_floats(4))
}

/// Whether they are faster than the vendor's library: where tiles are as full as those of products with a long side have to be. 100 000 terms of
/// 128 x 128 elements take 55 us, and the library 97 (H200).
pub(super) fn is_faster(op: &GemmOp<Cuda>) -> bool {
    let (rows, columns, _) = op.sizes();
    let (rows, columns) = (rows as u64, columns as u64);
    let tile = Tile::of(rows, columns);
    fills(rows * columns, rows.next_multiple_of(tile.rows) * columns.next_multiple_of(tile.columns))
}

/// Whether the kernels did it.
pub(super) fn gemm(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<bool> {
    if !has(cuda.device(), op) {
        return Ok(false);
    }
    with_sums(cuda, op, y, Target::none())?;
    Ok(true)
}

/// A product that the kernels have, and the sums of the second matrix's columns, where they are to go somewhere.
pub(super) fn with_sums(cuda: &Cuda, op: &GemmOp<Cuda>, y: &AnyMut<'_, Cuda>, of_columns: Target) -> Result<()> {
    if op.epilogue.is_empty() {
        return sums(cuda, op, Target::of(y, 1), of_columns);
    }
    let (rows, columns, _) = op.sizes();
    let kept: Buffer<u8> = scratch(cuda, rows, columns, DType::F32)?;
    let between = Target::scratch(kept.ptr(), columns, DType::F32, 1);
    sums(cuda, op, between, of_columns)?;
    let steps = |epilogue: EpilogueParams, to: Target| map::steps(cuda, &between.view(), DType::F32, (rows, columns), epilogue, to);
    finished(cuda, &op.epilogue, (DType::F32, 1), y, steps)
}

/// The sums, as they are.
fn sums(cuda: &Cuda, op: &GemmOp<Cuda>, y: Target, of_columns: Target) -> Result<()> {
    let (device, (rows, columns, length)) = (cuda.device(), op.sizes());
    let (rows, columns, length) = (rows as u64, columns as u64, length as u64);
    let tile = Tile::of(rows, columns);
    let tiles = columns.div_ceil(tile.columns);
    let all_tiles = rows.div_ceil(tile.rows) * tiles;
    let blocks = if device.properties().emulated { 3 } else { u64::from(device.properties().sms) * tile.held };
    let parts = (blocks / all_tiles).clamp(1, length.div_ceil(SHORTEST_PART * TERMS));
    let part = length.div_ceil(parts).next_multiple_of(TERMS);
    // Rounding up may leave fewer.
    let parts = length.div_ceil(part);
    let part_rows = rows + u64::from(of_columns.data.address() != 0);
    let partials: Buffer<f32> = device.alloc_for((parts * part_rows * columns) as usize, "the parts of long sums")?;
    let params = GemmDeepParams {
        a: View::any(&op.a),
        b: View::any(&op.b),
        y,
        sums: of_columns,
        partials: partials.ptr(),
        length,
        part,
        rows: rows as u32,
        columns: columns as u32,
        tiles: tiles as u32,
        all_tiles: all_tiles as u32,
        parts: parts as u32,
        reserved: 0,
    };
    let kernel = device.kernel(MODULE, &format!("gemm_deep_{}_{}", tile.rows, tile.columns))?;
    let shape = Shape {
        grid: primitives::blocks(parts * all_tiles, 1)?,
        block: primitives::threads(device, tile.threads),
        shared: tile.shared(device.properties()),
        mode: Mode::Plain,
    };
    // SAFETY: the sides fit each other (`bitgraph_tensor::ops` checks that), are read in words that they lie in, and have a partial sum for each
    // part and element, those of columns among them.
    unsafe { device.launch(&kernel, shape, &params) }?;
    let block = primitives::threads(device, MERGERS);
    let shape = Shape { grid: primitives::blocks(part_rows * columns, WARP.into())?, block, shared: block * 4, mode: Mode::Plain };
    // SAFETY: as above; the outputs have the product's size and an element for each of its columns.
    unsafe { device.launch(&device.kernel(MODULE, "gemm_deep_merge")?, shape, &params) }
}
