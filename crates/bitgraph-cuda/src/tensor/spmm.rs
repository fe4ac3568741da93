//! Sparse matrix times dense features by the general kernels.

use super::epilogue::{EpilogueParams, finished};
use super::instance::{self, Instance};
use super::params::{LANE_COLUMNS, Target, View, dense, name, neighbours, real_of, sum_of};
use super::pattern::{Seen, wide};
use super::work::{LongRowsParams, RowWork, cells, merging};
use crate::device::{Device, DevicePtr, Kernel, parameters};
use crate::matrix::CudaMatrix;
use crate::ops::source::element;
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{Accumulation, Edge, EdgeReduceOp, Load, Reduce, SpmmOp};
use bitgraph_tensor::{Any, AnyMut, Dense, Epilogue, Out, Reals};
use bytemuck::Zeroable;

const MODULE: &str = "tensor/spmm_general";

parameters! {
    pub(super) struct SpmmParams = "tensor/spmm_general.cuh" "bg::SpmmParams" {
        pub work: RowWork,
        pub x: View,
        pub edges: View,
        pub row_scale: View,
        pub column_scale: View,
        pub taken: View,
        pub y: Target,
        pub chosen: DevicePtr<i32>,
        pub chosen_stride: u64,
        pub own: f64,
        pub pieces: LongRowsParams,
        pub head_width: u32,
        pub batch: u32,
        pub flags: u32,
        pub reserved: u32,
        pub epilogue: EpilogueParams,
    }
    struct CountsParams = "tensor/spmm_general.cu" "bg::CountsParams" {
        offsets: DevicePtr<u8>,
        out: Target,
        rows: u64,
        wide: u32,
        extra: u32,
    }
}

// As `SpmmFlag` of the kernels.
const MEAN: u32 = 1;
const MINIMUM: u32 = 2;
const OWN: u32 = 4;
const BY_ENTRY: u32 = 8;
const DIRECT: u32 = 16;

/// What the kernels differ in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Choice,
    /// Of the rows that chose this one; edge values may be of this type.
    Taken(DType),
    Discretised,
}

/// All kernels over features of a type with sums in another.
fn instances(x: DType, sum: DType) -> Vec<Instance> {
    let (t, s) = (element(x), element(sum));
    let mut all = Vec::new();
    for n in [super::params::most(x), 1] {
        for (kind, text) in [(Kind::Sum, "BG_SPMM_SUM"), (Kind::Choice, "BG_SPMM_CHOICE")] {
            all.push(Instance::new(text, &format!("{t}, {s}, {n}"), &[kernel_name(kind, x, sum, n)]));
        }
    }
    if x.bytes() == 2 && x.is_float() {
        all.push(Instance::new("BG_SPMM_DISCRETISED", t, &[kernel_name(Kind::Discretised, x, sum, 1)]));
    }
    all
}

fn taken_instance(x: DType, sum: DType, edge: DType) -> Instance {
    let types = format!("{}, {}, {}", element(x), element(sum), element(edge));
    Instance::new("BG_SPMM_TAKEN", &types, &[kernel_name(Kind::Taken(edge), x, sum, 1)])
}

fn kernel_name(kind: Kind, x: DType, sum: DType, n: u32) -> String {
    let (x, sum) = (name(x), name(sum));
    match kind {
        Kind::Sum => format!("spmm_sum_{x}_{sum}_x{n}"),
        Kind::Choice => format!("spmm_choice_{x}_{sum}_x{n}"),
        Kind::Taken(edge) => format!("spmm_taken_{x}_{sum}_{}", name(edge)),
        Kind::Discretised => format!("spmm_discretised_{x}_{sum}"),
    }
}

fn kernel(device: &Device, kind: Kind, x: DType, sum: DType, n: u32) -> Result<Kernel<SpmmParams>> {
    instance::kernel(device, MODULE, &kernel_name(kind, x, sum, n), || match kind {
        Kind::Taken(edge) => vec![taken_instance(x, sum, edge)],
        _ => instances(x, sum),
    })
}

/// Launches the kernel over all rows, and over the pieces of long ones.
fn launch(device: &Device, seen: &Seen<'_>, kind: Kind, (x, sum, n): (DType, DType, u32), params: SpmmParams) -> Result<()> {
    let rows = kernel(device, kind, x, sum, n)?;
    if kind == Kind::Discretised {
        // SAFETY: operands fit each other (`bitgraph_tensor::ops` checks that), and none shares an element with an output.
        return unsafe { device.launch(&rows, params.work.shape(device)?, &params) };
    }
    over_rows(device, seen, (kind == Kind::Choice, sum), params, |params| {
        // SAFETY: as above; where there are pieces, there is a cell for each and each column.
        unsafe { device.launch(&rows, params.work.shape(device)?, params) }
    })
}

/// Calls `rows` for all rows but the long ones, and for their pieces, and merges those: sums, or choices, formed in `sum`.
pub(super) fn over_rows(
    device: &Device,
    seen: &Seen<'_>,
    (choice, sum): (bool, DType),
    mut params: SpmmParams,
    rows: impl Fn(&SpmmParams) -> Result<()>,
) -> Result<()> {
    rows(&params)?;
    if seen.long.is_empty() {
        return Ok(());
    }
    let columns = params.work.columns as usize;
    // A number, and the column that it was chosen at, which takes as much.
    let bytes = sum.bytes() * if choice { 2 } else { 1 };
    let cells = cells(device, seen, columns, bytes)?;
    params.pieces = seen.long.params(&cells, columns)?;
    params.work = params.work.pieces(seen);
    rows(&params)?;
    let merge = device.kernel(MODULE, &format!("spmm_merge_{}_{}", if choice { "choice" } else { "sum" }, name(sum)))?;
    // SAFETY: the pieces are of the matrix, and `rows` has made a cell for each and each column.
    unsafe { device.launch(&merge, merging(device, &params.pieces, bytes as u32)?, &params) }
}

/// The values of entries as an operand.
pub(super) fn edges(edge: &Edge<Cuda>, matrix: &CudaMatrix) -> View {
    match edge {
        Edge::One => View::NONE,
        Edge::Own => matrix.values().map_or(View::NONE, |v| View::column(v.data.ptr(), v.dtype)),
        Edge::Values(e) => View::any(e),
    }
}

/// Any product.
pub(super) fn general(cuda: &Cuda, op: &SpmmOp<Cuda>, y: AnyMut<'_, Cuda>, chosen: Option<Out<'_, Cuda, i32>>) -> Result<()> {
    let Load::Dense(x) = &op.features;
    let ((rows, _), columns) = (op.matrix_shape(), x.shape().1);
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let (device, matrix) = (cuda.device(), op.matrix.raw());
    let (seen, view, edges) = (Seen::of(matrix, op.transposed)?, View::any(x), edges(&op.edge, matrix));
    let width = columns / op.heads.max(1);
    let sum = if x.dtype().is_float() || op.is_whole() { sum_of(x.dtype()) } else { DType::F32 };
    let (kind, n) = match (op.accumulation, op.reduce.chooses()) {
        (Accumulation::Discretised { .. }, _) => (Kind::Discretised, 1),
        (_, true) => (Kind::Choice, neighbours(&view, x.dtype(), width)),
        (_, false) => (Kind::Sum, neighbours(&view, x.dtype(), width)),
    };
    let work = RowWork::rows(&seen, columns, 1, n)?;
    let flag = |there: bool, flag: u32| if there { flag } else { 0 };
    let direct = sum == DType::I32 && op.reduce != Reduce::Mean && op.scale_rows.is_none() && op.epilogue.is_empty();
    let params = SpmmParams {
        work: if kind == Kind::Discretised { work.in_order() } else { work },
        x: view,
        edges,
        row_scale: View::optional(op.scale_rows.as_ref()),
        column_scale: View::optional(op.scale_columns.as_ref()),
        chosen: chosen.as_ref().map_or(DevicePtr::NULL, |out| dense(out.array.ptr(), out.window)),
        chosen_stride: chosen.as_ref().map_or(0, |out| out.window.stride() as u64),
        own: op.own.unwrap_or(0.0),
        head_width: if op.heads > 1 { width as u32 } else { 0 },
        batch: if let Accumulation::Discretised { batch } = op.accumulation { batch } else { 0 },
        flags: flag(op.reduce == Reduce::Mean, MEAN)
            | flag(op.reduce == Reduce::Min, MINIMUM)
            | flag(op.own.is_some(), OWN)
            | flag(direct, DIRECT),
        ..SpmmParams::zeroed()
    };
    finished(cuda, &op.epilogue, (real_of(x.dtype()), n), &y, |epilogue, y| {
        launch(device, &seen, kind, (x.dtype(), sum, n), SpmmParams { y, epilogue, ..params })
    })
}

/// A matrix's scale in the real type of sums: as it is, or a copy where it is of the other one.
fn scale_in(cuda: &Cuda, scale: Option<&Reals<Cuda>>, real: DType) -> Result<Option<Reals<Cuda>>> {
    let Some(scale) = scale.filter(|s| s.any().dtype() != real) else { return Ok(scale.cloned()) };
    let ((rows, columns), x) = (scale.shape(), scale.any());
    let op = bitgraph_tensor::ops::MapOp { x, epilogue: Epilogue::default() };
    Ok(Some(if real == DType::F64 {
        let mut copy = Dense::<Cuda, f64>::zeros(cuda, rows, columns)?;
        super::map::map(cuda, &op, &AnyMut::F64(copy.as_mut().open()?))?;
        Reals::F64(copy)
    } else {
        let mut copy = Dense::<Cuda, f32>::zeros(cuda, rows, columns)?;
        super::map::map(cuda, &op, &AnyMut::F32(copy.as_mut().open()?))?;
        Reals::F32(copy)
    }))
}

/// The gradient of a choice: by columns, the gradients of the rows that chose each.
pub(super) fn chosen_backward(
    cuda: &Cuda,
    op: &SpmmOp<Cuda>,
    chosen: &Dense<Cuda, i32>,
    dy: &Any<Cuda>,
    dx: AnyMut<'_, Cuda>,
) -> Result<()> {
    let ((_, rows), columns) = (op.matrix_shape(), dy.shape().1);
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let Load::Dense(x) = &op.features;
    let (device, matrix) = (cuda.device(), op.matrix.raw());
    let (seen, edges) = (Seen::of(matrix, !op.transposed)?, edges(&op.edge, matrix));
    let real = if dy.dtype() == DType::F64 { DType::F64 } else { real_of(x.dtype()) };
    // Rows and columns change places.
    let (row_scale, column_scale) = (scale_in(cuda, op.scale_columns.as_ref(), real)?, scale_in(cuda, op.scale_rows.as_ref(), real)?);
    let edge = if edges.data.address() == 0 { dy.dtype() } else { DType::ALL[edges.dtype as usize] };
    let params = SpmmParams {
        work: RowWork::rows(&seen, columns, 1, 1)?,
        x: View::any(dy),
        edges,
        row_scale: View::optional(row_scale.as_ref()),
        column_scale: View::optional(column_scale.as_ref()),
        taken: View::of(chosen),
        head_width: if op.heads > 1 { (columns / op.heads) as u32 } else { 0 },
        y: Target::of(&dx, 1),
        ..SpmmParams::zeroed()
    };
    launch(device, &seen, Kind::Taken(edge), (dy.dtype(), real, 1), params)
}

/// The values of the entries of rows, or columns, reduced.
pub(super) fn edge_reduce(cuda: &Cuda, op: &EdgeReduceOp<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<()> {
    let matrix = op.matrix.raw();
    let seen = Seen::of(matrix, op.transposed)?;
    let sum = sum_of(op.values.dtype());
    reduce_entries(cuda, &seen, &View::any(&op.values), (op.values.shape().1, sum), op.reduce, Target::of(y, LANE_COLUMNS))
}

/// The values of entries, a row for each in the order of the matrix's CSR form, reduced by rows.
pub(super) fn reduce_entries(
    cuda: &Cuda,
    seen: &Seen<'_>,
    values: &View,
    (columns, sum): (usize, DType),
    reduce: Reduce,
    y: Target,
) -> Result<()> {
    if seen.csr.rows == 0 || columns == 0 {
        return Ok(());
    }
    let dtype = DType::ALL[values.dtype as usize];
    let (n, kind) = (neighbours(values, dtype, columns), if reduce.chooses() { Kind::Choice } else { Kind::Sum });
    let mut flags = BY_ENTRY;
    flags |= match reduce {
        Reduce::Mean => MEAN,
        Reduce::Min => MINIMUM,
        _ => 0,
    };
    flags |= if sum == DType::I32 && reduce != Reduce::Mean { DIRECT } else { 0 };
    let params = SpmmParams { work: RowWork::rows(seen, columns, 1, n)?, x: *values, y, flags, ..SpmmParams::zeroed() };
    launch(cuda.device(), seen, kind, (dtype, sum, n), params)
}

/// The sums of features weighted by values of entries, which are of type `sum` and have a column for each head.
pub(super) fn weighted(
    cuda: &Cuda,
    seen: &Seen<'_>,
    x: &Any<Cuda>,
    (weights, heads, sum): (View, usize, DType),
    (epilogue, y): (EpilogueParams, Target),
) -> Result<()> {
    let columns = x.shape().1;
    if seen.csr.rows == 0 || columns == 0 {
        return Ok(());
    }
    let (view, width) = (View::any(x), columns / heads);
    let n = neighbours(&view, x.dtype(), width);
    let params = SpmmParams {
        work: RowWork::rows(seen, columns, 1, n)?,
        x: view,
        edges: weights,
        head_width: if heads > 1 { width as u32 } else { 0 },
        y,
        epilogue,
        ..SpmmParams::zeroed()
    };
    launch(cuda.device(), seen, Kind::Sum, (x.dtype(), sum, n), params)
}

/// One over the number of entries of rows, or columns.
pub(super) fn inverse_counts(cuda: &Cuda, matrix: &CudaMatrix, transposed: bool, extra: u32, out: &AnyMut<'_, Cuda>) -> Result<()> {
    let (device, csr) = (cuda.device(), Seen::of(matrix, transposed)?.csr);
    let rows = csr.rows as u64;
    let params = CountsParams { offsets: csr.offsets.address(), out: Target::of(out, 1), rows, wide: wide(&csr.offsets), extra };
    // SAFETY: the output has an element for each row of the pattern.
    unsafe { instance::strided(device, &device.kernel(MODULE, "inverse_counts")?, rows, &params) }
}
