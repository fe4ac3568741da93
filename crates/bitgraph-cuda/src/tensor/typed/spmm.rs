//! Sparse matrix times dense features by the forms of `forms/spmm`.

use super::super::forms::Feature;
use super::super::forms::sddmm::Product;
use super::super::forms::spmm::{Floats, RoundedLayout, SpmmForm, SpmmInput, SpmmLayout, SpmmPlan};
use super::super::pattern::Seen;
use super::super::select::SpmmWay;
use super::layouts::{Family, Key, Laid, laid};
use super::{array, output, reals, through};
use crate::device::Buffer;
use crate::forced::TensorKernels;
use crate::matrix::CudaMatrix;
use crate::primitives::gather;
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{Edge, FeaturePrecision, Load, Reduce, SpmmOp};
use bitgraph_tensor::{Any, AnyMut, Element};
use half::{bf16, f16};
use std::sync::Arc;

impl<T: Feature> Laid for SpmmLayout<T> {
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

impl Laid for RoundedLayout {
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

/// The matrix's own values in the order of its transpose.
struct Values(Buffer<u8>);
impl Laid for Values {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

/// Values in the order of the transpose; `positions` says where each is.
fn ordered(matrix: &CudaMatrix, values: &Buffer<u8>, dtype: DType, positions: &Buffer<u32>) -> Result<Buffer<u8>> {
    Ok(match dtype.bytes() {
        2 => gather(&matrix.device, &values.cast::<u16>(), positions)?.cast(),
        _ => gather(&matrix.device, &values.cast::<u32>(), positions)?.cast(),
    })
}

/// The values of the entries in the order in which the matrix is seen, and their type; none for a pattern.
fn values(op: &SpmmOp<Cuda>, matrix: &CudaMatrix) -> Result<Option<(Buffer<u8>, DType)>> {
    let (found, dtype) = match &op.edge {
        Edge::One => return Ok(None),
        Edge::Own => match matrix.values() {
            Some(values) => (values.data.clone(), values.dtype),
            None => return Ok(None),
        },
        Edge::Values(e @ Any::F32(_)) => (array::<f32>(e).unwrap_or_default().cast(), DType::F32),
        Edge::Values(e @ Any::F16(_)) => (array::<f16>(e).unwrap_or_default().cast(), DType::F16),
        Edge::Values(e) => (array::<bf16>(e).unwrap_or_default().cast(), e.dtype()),
    };
    let Some(positions) = Seen::of(matrix, op.transposed)?.positions else { return Ok(Some((found, dtype))) };
    if !matches!(op.edge, Edge::Own) {
        return Ok(Some((ordered(matrix, &found, dtype, positions)?, dtype)));
    }
    let key = Key { family: Family::Values, dtype, columns: 0, heads: 1 };
    let kept = laid(matrix, key, || Ok(Some(Values(ordered(matrix, &found, dtype, positions)?))))?;
    let values = kept.map_or_else(|| ordered(matrix, &found, dtype, positions), |kept| Ok(kept.0.clone()))?;
    Ok(Some((values, dtype)))
}

/// The layout for features of type `T`.
fn layout<T: Feature>(cuda: &Cuda, op: &SpmmOp<Cuda>, columns: usize) -> Result<Option<Arc<SpmmLayout<T>>>> {
    let matrix = op.matrix.raw();
    let plan = if let TensorKernels::Spmm(plan) = cuda.tensor_kernels() { Some(plan) } else { None };
    let valued = match &op.edge {
        Edge::One => false,
        Edge::Own => matrix.values().is_some(),
        Edge::Values(_) => true,
    };
    let family = Family::Spmm { transposed: op.transposed, valued, plan };
    laid(matrix, Key { family, dtype: T::DTYPE, columns, heads: 1 }, || {
        let csr = Seen::of(matrix, op.transposed)?.csr;
        match (plan, matrix.longest_if_short_lived()) {
            // How long columns are is not known.
            (None, Some(longest)) => SpmmLayout::short_lived(cuda.device(), csr, columns, valued, (!op.transposed).then_some(longest)),
            (None, None) => SpmmLayout::build(cuda.device(), csr, columns, valued),
            (Some(plan), _) => SpmmLayout::with_plan(cuda.device(), csr, columns, valued, plan),
        }
    })
}

/// The layout for features of `f32` through copies of halves, where that is allowed, there is no value of an entry, and it pays.
fn rounded(cuda: &Cuda, op: &SpmmOp<Cuda>, columns: usize) -> Result<Option<Arc<RoundedLayout>>> {
    let (matrix, Load::Dense(x)) = (op.matrix.raw(), &op.features);
    let valued = match &op.edge {
        Edge::One => false,
        Edge::Own => matrix.values().is_some(),
        Edge::Values(_) => true,
    };
    if op.precision != FeaturePrecision::Tf32 || x.dtype() != DType::F32 || valued || matrix.longest_if_short_lived().is_some() {
        return Ok(None);
    }
    let plan = match cuda.tensor_kernels() {
        TensorKernels::Spmm(plan) => Some(plan),
        TensorKernels::Typed => Some(SpmmPlan { form: SpmmForm::Rows, lanes: 16, deep: false }),
        TensorKernels::Chosen | TensorKernels::General => None,
    };
    let family = Family::SpmmRounded { transposed: op.transposed, plan };
    laid(matrix, Key { family, dtype: DType::F32, columns, heads: 1 }, || {
        RoundedLayout::build(cuda.device(), Seen::of(matrix, op.transposed)?.csr, columns, plan)
    })
}

/// Runs the form; whether it could be laid out.
pub fn run(cuda: &Cuda, op: &SpmmOp<Cuda>, way: &SpmmWay<'_>, y: &AnyMut<'_, Cuda>) -> Result<bool> {
    let Load::Dense(x) = &op.features;
    match x.dtype() {
        DType::F16 => typed::<f16>(cuda, op, way, y),
        DType::Bf16 => typed::<bf16>(cuda, op, way, y),
        _ => typed::<f32>(cuda, op, way, y),
    }
}

fn typed<T: Product<T> + Element>(cuda: &Cuda, op: &SpmmOp<Cuda>, way: &SpmmWay<'_>, y: &AnyMut<'_, Cuda>) -> Result<bool>
where
    f32: Product<T>,
{
    let Load::Dense(x) = &op.features;
    let (rows, columns) = (op.matrix_shape().0, x.shape().1);
    if let Some(layout) = rounded(cuda, op, columns)?
        && let Some(features) = array::<f32>(x)
        && by_copies(cuda, &layout, op, &features, way, y)?
    {
        return Ok(true);
    }
    let Some(layout) = layout::<T>(cuda, op, columns)? else { return Ok(false) };
    let Some(features) = array::<T>(x) else { return Ok(false) };
    let values = values(op, op.matrix.raw())?;
    let narrow: Option<Buffer<T>> = values.as_ref().filter(|v| v.1 == T::DTYPE).map(|v| v.0.cast());
    let single: Option<Buffer<f32>> = values.as_ref().filter(|v| v.1 == DType::F32).map(|v| v.0.cast());
    let [scale_columns, scale_rows, bias, addend_scale] =
        [op.scale_columns.as_ref(), op.scale_rows.as_ref(), way.bias, way.addend_scale].map(|r| r.and_then(reals));
    let (wide, own) = (way.addend.and_then(array::<f32>), way.addend.and_then(array::<T>));
    let input = SpmmInput {
        features: &features,
        addend: wide.as_ref().map(Floats::Single).or_else(|| own.as_ref().map(Floats::Narrow)),
        addend_scale: addend_scale.as_ref(),
        values: match (&single, &narrow) {
            (Some(single), _) => Some(Floats::Single(single)),
            (None, Some(narrow)) => Some(Floats::Narrow(narrow)),
            (None, None) => None,
        },
        scale_columns: scale_columns.as_ref(),
        scale_rows: scale_rows.as_ref(),
        mean: op.reduce == Reduce::Mean,
        bias: bias.as_ref(),
        relu: way.relu,
    };
    if way.rest.is_empty() {
        if let Some(y) = output::<T>(y) {
            return layout.run(&input, &y).map(|()| true);
        }
        if let Some(y) = output::<f32>(y) {
            return layout.run(&input, &y).map(|()| true);
        }
    }
    through::<f32>(cuda, (rows, columns), way.rest, y, |between| layout.run(&input, between).map(|()| true))
}

/// Runs the form over copies; whether it did.
fn by_copies(
    cuda: &Cuda,
    layout: &RoundedLayout,
    op: &SpmmOp<Cuda>,
    features: &Buffer<f32>,
    way: &SpmmWay<'_>,
    y: &AnyMut<'_, Cuda>,
) -> Result<bool> {
    let [scale_columns, scale_rows, bias, addend_scale] =
        [op.scale_columns.as_ref(), op.scale_rows.as_ref(), way.bias, way.addend_scale].map(|r| r.and_then(reals));
    let addend = way.addend.and_then(array::<f32>);
    let input = SpmmInput {
        addend: addend.as_ref().map(Floats::Single),
        addend_scale: addend_scale.as_ref(),
        scale_columns: scale_columns.as_ref(),
        scale_rows: scale_rows.as_ref(),
        mean: op.reduce == Reduce::Mean,
        bias: bias.as_ref(),
        relu: way.relu,
        ..SpmmInput::of(features)
    };
    match output::<f32>(y).filter(|_| way.rest.is_empty()) {
        Some(y) => layout.run(&input, &y),
        None => through::<f32>(cuda, y.window().shape(), way.rest, y, |between| layout.run(&input, between)),
    }
}

/// Which form runs.
pub fn explain(cuda: &Cuda, op: &SpmmOp<Cuda>) -> Result<Option<String>> {
    let Load::Dense(x) = &op.features;
    let columns = x.shape().1;
    Ok(match x.dtype() {
        DType::F16 => layout::<f16>(cuda, op, columns)?.map(|l| l.explain()),
        DType::Bf16 => layout::<bf16>(cuda, op, columns)?.map(|l| l.explain()),
        _ => match rounded(cuda, op, columns)? {
            Some(layout) => Some(layout.explain()),
            None => layout::<f32>(cuda, op, columns)?.map(|l| l.explain()),
        },
    })
}
