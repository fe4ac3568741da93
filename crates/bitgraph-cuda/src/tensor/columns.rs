//! Statistics of the columns of dense matrices, and the backward pass of batch normalisation.
//!
//! Invariant: the parts that rows are summed in depend on the matrix's shape alone.

use super::params::{Target, View, name, real_of};
use super::work::DenseWork;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::{Cuda, Result, primitives};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{BatchNormGradients, BatchNormOp};
use bitgraph_tensor::{Any, AnyMut};
use bytemuck::Zeroable;

const MODULE: &str = "tensor/columns_general";

parameters! {
    struct ColumnsParams = "tensor/columns_general.cu" "bg::ColumnsParams" {
        x: View,
        dy: View,
        mean: View,
        variance: View,
        sums: Target,
        partials: DevicePtr<u8>,
        epsilon: f64,
        divisor: f64,
        rows: u64,
        part_rows: u64,
        columns: u32,
        tile: u32,
        tiles: u32,
        parts: u32,
        term: u32,
        reserved: u32,
    }
    struct BatchNormParams = "tensor/columns_general.cu" "bg::BatchNormParams" {
        work: DenseWork,
        x: View,
        dy: View,
        mean: View,
        variance: View,
        gamma: View,
        dgamma: View,
        dbeta: View,
        dx: Target,
        epsilon: f64,
    }
}

/// Rows up to which columns are summed by one launch: of 2708 x 128 elements it takes 4.6 us, and two launches 7.6 (H200).
const FEW_ROWS: usize = 4096;
/// Threads of a block that adds parts or few rows up.
const ADDERS: u32 = 1024;

/// What is summed of a column.
#[derive(Clone, Copy)]
pub(super) enum Term {
    /// The elements.
    Value,
    /// Their magnitudes.
    Magnitude,
    /// The squares of their differences to the mean.
    Square { mean: View },
    /// The elements times those of another matrix.
    Product { other: View },
    /// The gradients times what batch normalisation made of the elements.
    Gradient { dy: View, mean: View, variance: View, epsilon: f64 },
}

/// Rows of a part: enough of them for a block that takes so many at once to have something to do, and few enough parts for one block to add
/// them up. A block waits for memory as often as it takes rows: with 256 rows in any case, 2708 x 128 elements took 18 us.
fn part_rows(device: &Device, rows: usize, at_once: usize) -> usize {
    let (smallest, parts) = if device.properties().emulated { (16, 7) } else { ((4 * at_once).min(256), 512) };
    rows.div_ceil(parts).max(smallest)
}

/// Elements that a lane has of a row at once.
fn neighbours(x: &View, columns: u32) -> u32 {
    let count = if x.dtype == DType::F32 as u32 { 4 } else { 8 };
    if columns.is_multiple_of(count) && x.reads_floats(count) { count } else { 1 }
}

/// The sum of a term over every column, divided by a number. Sums of `real` or wider: those of integers are exact.
pub(super) fn sums(
    cuda: &Cuda,
    x: &View,
    (rows, columns): (usize, usize),
    term: Term,
    (real, divisor): (DType, f64),
    sums: Target,
) -> Result<()> {
    if columns == 0 {
        return Ok(());
    }
    let (device, columns) = (cuda.device(), DenseWork::new((rows, columns), 1)?.columns);
    let accumulator = if DType::ALL[x.dtype as usize].is_float() { real } else { DType::F64 };
    let neighbours = match term {
        Term::Value if accumulator == DType::F32 => neighbours(x, columns),
        Term::Product { other } if accumulator == DType::F32 => {
            let count = neighbours(x, columns);
            if other.reads_floats(count) { count } else { 1 }
        }
        _ => 1,
    };
    let tile = columns.div_ceil(neighbours).min(32).next_power_of_two();
    let tiles = columns.div_ceil(tile * neighbours);
    let block = super::instance::threads(device);
    let part_rows = part_rows(device, rows, (block / tile) as usize);
    let parts = rows.div_ceil(part_rows) as u32;
    let partials: Buffer<u8> = device.alloc_for(parts as usize * columns as usize * accumulator.bytes(), "the sums of columns")?;
    let (kind, dy, mean, variance, epsilon) = match term {
        Term::Value => (0, View::NONE, View::NONE, View::NONE, 0.0),
        Term::Magnitude => (3, View::NONE, View::NONE, View::NONE, 0.0),
        Term::Square { mean } => (1, View::NONE, mean, View::NONE, 0.0),
        Term::Product { other } => (4, other, View::NONE, View::NONE, 0.0),
        Term::Gradient { dy, mean, variance, epsilon } => (2, dy, mean, variance, epsilon),
    };
    let params = ColumnsParams {
        x: *x,
        dy,
        mean,
        variance,
        sums,
        partials: partials.ptr(),
        epsilon,
        divisor,
        rows: rows as u64,
        part_rows: part_rows as u64,
        columns,
        tile,
        tiles,
        parts,
        term: kind,
        reserved: 0,
    };
    let few = if device.properties().emulated { FEW_ROWS / 128 } else { FEW_ROWS };
    if neighbours > 1 && (1..=few).contains(&rows) {
        let block = primitives::threads(device, ADDERS);
        let shape = Shape { grid: columns.div_ceil(8), block, shared: block / 32 * 8 * 4, mode: Mode::Plain };
        let kernel = device.kernel(MODULE, &format!("column_sums_whole_{neighbours}"))?;
        // SAFETY: the matrix has the rows and columns that are named, and the output an element for each column.
        return unsafe { device.launch(&kernel, shape, &params) };
    }
    if parts > 0 {
        let grid = primitives::blocks(u64::from(parts) * u64::from(tiles), 1)?;
        let shape = Shape { grid, block, shared: neighbours * block * accumulator.bytes() as u32, mode: Mode::Plain };
        let kernel_name = if neighbours > 1 { format!("vectors_{neighbours}") } else { name(accumulator).into() };
        let kernel = device.kernel(MODULE, &format!("column_sums_{kernel_name}"))?;
        // SAFETY: the matrix has the rows and columns that are named, and there is a partial sum for each part and column.
        unsafe { device.launch(&kernel, shape, &params) }?;
    }
    add_parts(device, accumulator, &params)
}

/// The sums of so many parts of columns, row by row, of `f32` or `f64`.
pub(super) fn totals(cuda: &Cuda, partials: DevicePtr<u8>, (parts, columns): (u32, u32), accumulator: DType, sums: Target) -> Result<()> {
    let params = ColumnsParams { partials, parts, columns, sums, divisor: 1.0, ..ColumnsParams::zeroed() };
    add_parts(cuda.device(), accumulator, &params)
}

/// Adds the parts up.
fn add_parts(device: &Device, accumulator: DType, params: &ColumnsParams) -> Result<()> {
    let block = primitives::threads(device, ADDERS);
    let shape = Shape { grid: params.columns.div_ceil(32), block, shared: block * accumulator.bytes() as u32, mode: Mode::Plain };
    let kernel = device.kernel(MODULE, &format!("column_totals_{}", name(accumulator)))?;
    // SAFETY: there is a partial sum for each part and column; the output has an element for each column.
    unsafe { device.launch(&kernel, shape, params) }
}

/// The sum of every column.
pub(super) fn sum_columns(cuda: &Cuda, x: &Any<Cuda>, out: &AnyMut<'_, Cuda>) -> Result<()> {
    sums(cuda, &View::any(x), x.shape(), Term::Value, (real_of(x.dtype()), 1.0), Target::of(out, 1))
}

/// The dot products of the columns of two matrices.
pub(super) fn dot_columns(cuda: &Cuda, x: &Any<Cuda>, other: &Any<Cuda>, out: &AnyMut<'_, Cuda>) -> Result<()> {
    sums(cuda, &View::any(x), x.shape(), Term::Product { other: View::any(other) }, (real_of(x.dtype()), 1.0), Target::of(out, 1))
}

/// The mean magnitude of every column, summed in double precision; 0 without rows.
pub(super) fn mean_magnitudes(cuda: &Cuda, x: &Any<Cuda>, out: &AnyMut<'_, Cuda>) -> Result<()> {
    let n = (DType::F64, x.shape().0.max(1) as f64);
    sums(cuda, &View::any(x), x.shape(), Term::Magnitude, n, Target::of(out, 1))
}

/// An array of a row of columns.
fn row(cuda: &Cuda, columns: usize, real: DType) -> Result<(Buffer<u8>, Target)> {
    let buffer: Buffer<u8> = cuda.device().alloc_for(columns * real.bytes(), "the statistics of columns")?;
    let target = Target::scratch(buffer.ptr(), columns, real, 1);
    Ok((buffer, target))
}

/// Mean and biased variance of every column, the latter from the differences to the former.
pub(super) fn moments(cuda: &Cuda, x: &Any<Cuda>, mean: &AnyMut<'_, Cuda>, variance: &AnyMut<'_, Cuda>) -> Result<()> {
    let (view, shape, real) = (View::any(x), x.shape(), real_of(x.dtype()));
    let n = (real, shape.0.max(1) as f64);
    sums(cuda, &view, shape, Term::Value, n, Target::of(mean, 1))?;
    sums(cuda, &view, shape, Term::Square { mean: Target::of(mean, 1).view() }, n, Target::of(variance, 1))
}

/// The gradients of batch normalisation.
pub(super) fn batch_norm_backward(cuda: &Cuda, op: &BatchNormOp<Cuda>, gradients: &BatchNormGradients<'_, Cuda>) -> Result<()> {
    let (x, dy, shape, real) = (View::any(&op.x), View::any(&op.dy), op.x.shape(), real_of(op.x.dtype()));
    let (mean, variance) = (View::reals(&op.mean), View::reals(&op.variance));
    // In the real type whatever the outputs are.
    let ((_beta, dbeta), (_gamma, dgamma)) = (row(cuda, shape.1, real)?, row(cuda, shape.1, real)?);
    sums(cuda, &dy, shape, Term::Value, (real, 1.0), dbeta)?;
    sums(cuda, &x, shape, Term::Gradient { dy, mean, variance, epsilon: op.epsilon }, (real, 1.0), dgamma)?;
    for (from, to) in [(&dbeta, &gradients.dbeta), (&dgamma, &gradients.dgamma)] {
        super::map::steps(cuda, &from.view(), real, (1, shape.1), super::epilogue::EpilogueParams::none(), Target::of(to, 1))?;
    }
    if shape.0 == 0 || shape.1 == 0 {
        return Ok(());
    }
    let params = BatchNormParams {
        work: DenseWork::new(shape, 1)?,
        x,
        dy,
        mean,
        variance,
        gamma: View::optional(op.gamma.as_ref()),
        dgamma: dgamma.view(),
        dbeta: dbeta.view(),
        dx: Target::of(&gradients.dx, 1),
        epsilon: op.epsilon,
    };
    let device = cuda.device();
    let kernel = device.kernel(MODULE, &format!("batch_norm_backward_{}", name(real)))?;
    // SAFETY: the matrices have the same shape, the rows its columns, and no operand shares an element with an output.
    unsafe { device.launch(&kernel, params.work.shape(device)?, &params) }
}
