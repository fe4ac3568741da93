//! Functions of whole rows: the logarithm of the softmax, the cross entropy, the column of the maximum.

use super::columns::{Term, sums, totals};
use super::instance;
use super::params::{Target, View, dense, name, real_of};
use super::recorder::MomentParams;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::{Cuda, Result, primitives};
use bitgraph_kernels::constant;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::CrossEntropyOp;
use bitgraph_tensor::{Any, AnyMut, Out};
use bytemuck::Zeroable;

const MODULE: &str = "tensor/loss_general";
const VECTORS: &str = "tensor/loss_vectors";
/// Labels that a thread counts, and those that one block counts, which needs no zeros to begin with: 2708 take it 2.6 us, 100 000 39.
const LABELS: usize = 8;
const FEW_LABELS: usize = 1 << 13;
/// Blocks of a multiprocessor that take rows in turns: each adds its losses, and the columns of its gradients, up once.
const HELD: u32 = 4;
/// Threads of that block.
const COUNTERS: u32 = 1024;
/// Packs of neighbours that a lane of the forms of vectors has of a row at most.
const PACKS: u64 = constant("tensor/loss_vectors.cu", "LOSS_PACKS");
/// The same of the forms that give a gradient, as long as a warp's lanes have the row then.
const GRADIENT_PACKS: u32 = constant("tensor/loss_vectors.cu", "LOSS_GRADIENT_PACKS") as u32;

parameters! {
    struct LossParams = "tensor/loss.cuh" "bg::LossParams" {
        x: View,
        dy: View,
        y: Target,
        labels: DevicePtr<i32>,
        label_stride: u64,
        losses: DevicePtr<f64>,
        totals: DevicePtr<f64>,
        counted: DevicePtr<u64>,
        mean: Target,
        column_sums: DevicePtr<f32>,
        chosen: DevicePtr<i32>,
        chosen_stride: u64,
        scale: f64,
        moment: DevicePtr<MomentParams>,
        rows: u64,
        columns: u32,
        group: u32,
    }
}

impl LossParams {
    fn new(x: &Any<Cuda>) -> Result<Self> {
        let (rows, columns) = x.shape();
        let columns = super::work::DenseWork::new((rows, columns), 1)?.columns;
        let group = columns.clamp(1, 32).next_power_of_two();
        Ok(Self { x: View::any(x), rows: rows as u64, columns, group, ..Self::zeroed() })
    }
    /// The lanes of a row, and the neighbours of one, by whom a row is read once and kept: where the logits, and the gradient if it is stored,
    /// lie for that.
    fn vectors(&self, real: DType) -> Option<(u32, u32)> {
        let count = if self.x.dtype == DType::F32 as u32 { 4 } else { 8 };
        let stored = self.y.data.address() == 0 || self.y.view().reads_floats(count);
        // The same with and without a gradient, for the same sums.
        let lanes = self.columns.div_ceil(GRADIENT_PACKS * count).clamp(1, 32).next_power_of_two();
        let fits = self.columns.is_multiple_of(count) && u64::from(self.columns) <= PACKS * u64::from(lanes * count);
        (real == DType::F32 && fits && stored && self.x.reads_floats(count)).then_some((lanes, count))
    }
    /// The launch of a kernel whose groups of lanes have a row each.
    fn shape(&self, device: &Device) -> Result<Shape> {
        let block = instance::threads(device);
        Ok(Shape { grid: primitives::blocks(self.rows, u64::from(block / self.group))?, block, ..Shape::default() })
    }
    /// Launches it.
    fn run(&self, cuda: &Cuda, module: &str, kernel: &str) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let (device, shape) = (cuda.device(), self.shape(cuda.device())?);
        // SAFETY: operands have as many rows as the first, and no other shares an element with an output.
        unsafe { device.launch(&device.kernel(module, kernel)?, shape, self) }
    }
}

/// The logarithm of the softmax of every row.
pub(super) fn log_softmax(cuda: &Cuda, x: &Any<Cuda>, y: &AnyMut<'_, Cuda>) -> Result<()> {
    LossParams { y: Target::of(y, 1), ..LossParams::new(x)? }.run(cuda, MODULE, &format!("log_softmax_{}", name(real_of(x.dtype()))))
}

/// Its backward pass.
pub(super) fn log_softmax_backward(cuda: &Cuda, y: &Any<Cuda>, dy: &Any<Cuda>, dx: &AnyMut<'_, Cuda>) -> Result<()> {
    let params = LossParams { dy: View::any(dy), y: Target::of(dx, 1), ..LossParams::new(y)? };
    params.run(cuda, MODULE, &format!("log_softmax_backward_{}", name(real_of(y.dtype()))))
}

/// What a loss and its gradient, where it is wanted, are formed from.
fn params_of(cuda: &Cuda, op: &CrossEntropyOp<Cuda>, dx: Option<&AnyMut<'_, Cuda>>) -> Result<LossParams> {
    let labels = op.labels.window();
    Ok(LossParams {
        labels: dense(op.labels.raw().ptr(), labels),
        label_stride: labels.stride() as u64,
        y: dx.map_or(Target::none(), |dx| Target::of(dx, 1)),
        scale: op.gradient_scale,
        moment: cuda.device().moment(),
        ..LossParams::new(&op.logits)?
    })
}

/// The mean loss over the rows that take part, the gradient of the logits, and the sums of its columns.
pub(super) fn with_sums(
    cuda: &Cuda,
    op: &CrossEntropyOp<Cuda>,
    loss: &AnyMut<'_, Cuda>,
    dx: &AnyMut<'_, Cuda>,
    column_sums: &AnyMut<'_, Cuda>,
) -> Result<()> {
    let (params, real) = (params_of(cuda, op, Some(dx))?, real_of(op.logits.dtype()));
    match params.vectors(real) {
        Some((group, count)) if params.rows > 0 => counted(cuda, LossParams { group, ..params }, count, loss, Some(column_sums)),
        _ => {
            by_rows(cuda, op, params, loss)?;
            sums(cuda, &params.y.view(), op.logits.shape(), Term::Value, (real, 1.0), Target::of(column_sums, 1))
        }
    }
}

/// The mean loss over the rows that take part, and the gradient of the logits.
pub(super) fn cross_entropy(cuda: &Cuda, op: &CrossEntropyOp<Cuda>, loss: &AnyMut<'_, Cuda>, dx: Option<AnyMut<'_, Cuda>>) -> Result<()> {
    let params = params_of(cuda, op, dx.as_ref())?;
    match params.vectors(real_of(op.logits.dtype())) {
        Some((group, count)) if dx.is_some() && params.rows > 0 => counted(cuda, LossParams { group, ..params }, count, loss, None),
        _ => by_rows(cuda, op, params, loss),
    }
}

/// The losses of all rows, then their mean, and then the gradient, where it is wanted.
fn by_rows(cuda: &Cuda, op: &CrossEntropyOp<Cuda>, params: LossParams, loss: &AnyMut<'_, Cuda>) -> Result<()> {
    let (device, rows, real) = (cuda.device(), op.logits.shape().0, real_of(op.logits.dtype()));
    let (losses, totals): (Buffer<f64>, Buffer<f64>) = (device.alloc_for(2 * rows, "the losses of rows")?, device.zeroed(2)?);
    let params = LossParams { losses: losses.ptr(), totals: totals.ptr(), ..params };
    match params.vectors(real) {
        Some((group, count)) => LossParams { group, ..params }.run(cuda, VECTORS, &format!("cross_entropy_vectors_{count}"))?,
        None => params.run(cuda, MODULE, &format!("cross_entropy_{}", name(real)))?,
    }
    let pairs = Target::scratch(losses.ptr().cast(), 2, DType::F64, 1).view();
    sums(cuda, &pairs, (rows, 2), Term::Value, (DType::F64, 1.0), Target::scratch(totals.ptr().cast(), 2, DType::F64, 1))?;
    let mean = LossParams { y: Target::of(loss, 1), ..params };
    // SAFETY: the totals are there, and the loss has one element.
    unsafe { device.launch(&device.kernel(MODULE, "cross_entropy_mean")?, Shape { grid: 1, block: 32, ..Shape::default() }, &mean) }?;
    if params.y.data.address() != 0 {
        params.run(cuda, MODULE, &format!("cross_entropy_gradient_{}", name(real)))?;
    }
    Ok(())
}

/// The same by vectors of so many neighbours. The gradient needs the number of rows that take part: those are counted first, so that losses,
/// their mean, the gradient and the sums of its columns are one pass.
fn counted(
    cuda: &Cuda,
    params: LossParams,
    neighbours: u32,
    loss: &AnyMut<'_, Cuda>,
    column_sums: Option<&AnyMut<'_, Cuda>>,
) -> Result<()> {
    let (device, rows, mut shape) = (cuda.device(), params.rows as usize, params.shape(cuda.device())?);
    shape.grid = shape.grid.min(HELD * device.properties().sms);
    let columns = if column_sums.is_some() { params.columns } else { 0 };
    let of_columns: Buffer<f32> = device.alloc_for((shape.grid * columns) as usize, "the sums of columns")?;
    let few = rows <= if device.properties().emulated { FEW_LABELS / 256 } else { FEW_LABELS };
    let losses: Buffer<f64> = device.alloc_for(shape.grid as usize, "the losses of blocks")?;
    let counted: Buffer<u64> = if few { device.alloc(2)? } else { device.zeroed(2)? };
    let params = LossParams { losses: losses.ptr(), counted: counted.ptr(), mean: Target::of(loss, 1), ..params };
    let params = LossParams { column_sums: if columns > 0 { of_columns.ptr() } else { DevicePtr::NULL }, ..params };
    let (kernel, counters) = if few {
        let block = primitives::threads(device, COUNTERS);
        (device.kernel(VECTORS, "count_labels")?, Shape { grid: 1, block, shared: block / 32 * 4, mode: Mode::Plain })
    } else {
        (device.kernel(VECTORS, "count_many_labels")?, device.cover(rows.div_ceil(LABELS), instance::threads(device)))
    };
    // SAFETY: a label for each row, and two counters.
    unsafe { device.launch(&kernel, counters, &params) }?;
    let wide = if params.columns > GRADIENT_PACKS * params.group * neighbours { "wide_" } else { "" };
    let kernel = device.kernel(VECTORS, &format!("cross_entropy_gradient_{wide}{neighbours}"))?;
    let shared = (shape.block * neighbours * 4).max((32 + 1) * 8);
    // SAFETY: operands have as many rows as the first, there are a sum of losses and sums of columns for each block and one loss, and no other
    // operand shares an element with an output.
    unsafe { device.launch(&kernel, Shape { shared, ..shape }, &params) }?;
    match column_sums {
        Some(to) => totals(cuda, of_columns.ptr().cast(), (shape.grid, columns), DType::F32, Target::of(to, 1)),
        None => Ok(()),
    }
}

/// The column of the maximum of every row.
pub(super) fn argmax_rows(cuda: &Cuda, x: &Any<Cuda>, columns: &Out<'_, Cuda, i32>) -> Result<()> {
    // What holds every element exactly.
    let exact = if matches!(x.dtype(), DType::F64 | DType::I32) { DType::F64 } else { DType::F32 };
    let (chosen, chosen_stride) = (dense(columns.array.ptr(), columns.window), columns.window.stride() as u64);
    LossParams { chosen, chosen_stride, ..LossParams::new(x)? }.run(cuda, MODULE, &format!("argmax_{}", name(exact)))
}
