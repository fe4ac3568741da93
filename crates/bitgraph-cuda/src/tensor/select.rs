//! Which kernels compute an operation: a typed form where it has the combination, the general ones otherwise.
//!
//! Invariant: the choice depends on the descriptor, the output and the matrix alone, never on a clock. Among a family's forms its own `select`
//! chooses, by the rows of the matrix and the width. A form that cannot be laid out for want of memory leaves the work to the general kernels.

use super::forms::attention::{Backward as GatBackward, EndActivation, Form as Gat, Pair};
use super::forms::sddmm::Form as Sampled;
use super::typed::{array, is_aligned, output, reals};
use crate::Cuda;
use crate::device::Buffer;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{Accumulation, AttentionGradients, AttentionOp, Edge, Load, Pairing, Reduce, Score, SddmmOp, SpmmOp};
use bitgraph_tensor::{Activation, Any, AnyMut, Reals, Step};
use half::{bf16, f16};

/// Entries of a row in the mean from which on a form and one more pass over its result cost less than the general kernel: the pass moves
/// 8 to 10 bytes of an element of the result, and an entry is a read of 2 or 4.
const PASS_ENTRIES: usize = 6;

/// How a typed form computes an operation: which steps of its epilogue it takes itself, and what is left for a pass over the result.
pub(super) struct SpmmWay<'a> {
    pub addend: Option<&'a Any<Cuda>>,
    /// What the addend is multiplied by.
    pub addend_scale: Option<&'a Reals<Cuda>>,
    pub bias: Option<&'a Reals<Cuda>>,
    pub relu: bool,
    pub rest: &'a [Step<Cuda>],
}

/// The steps that products of a sparse matrix with features of a type take themselves: another matrix, times a factor for each column or not, a
/// bias and a threshold at zero, each where it is there, in this order.
fn fused(steps: &[Step<Cuda>], dtype: DType) -> SpmmWay<'_> {
    let (addend, addend_scale, after) = match steps {
        [Step::Add { other, factor, columns }, after @ ..]
            if *factor == 1.0 && is_addend(other, dtype) && columns.as_ref().is_none_or(|d| reals(d).is_some()) =>
        {
            (Some(other), columns.as_ref(), after)
        }
        _ => (None, None, steps),
    };
    let (bias, after) = match after {
        [Step::Bias(bias), after @ ..] if reals(bias).is_some() => (Some(bias), after),
        _ => (None, after),
    };
    match after {
        [Step::Activation(Activation::Relu), rest @ ..] => SpmmWay { addend, addend_scale, bias, relu: true, rest },
        rest => SpmmWay { addend, addend_scale, bias, relu: false, rest },
    }
}

/// Whether a matrix of the result's shape is of `f32` or the features' type, and lies without gaps and aligned.
fn is_addend(z: &Any<Cuda>, dtype: DType) -> bool {
    (z.dtype() == DType::F32 || z.dtype() == dtype) && is_vectors(z)
}

/// Whether features are of a type that forms have, lie without gaps, and can be read by 16 bytes. Rows of other widths are read element by
/// element, which the general kernels do as well.
fn is_vectors(x: &Any<Cuda>) -> bool {
    fn aligned<T: bytemuck::Pod>(array: Option<Buffer<T>>) -> bool {
        array.is_some_and(|array| is_aligned(&array))
    }
    let whole = x.shape().1.is_multiple_of(16 / x.dtype().bytes());
    whole
        && match x.dtype() {
            DType::F16 => aligned(array::<f16>(x)),
            DType::Bf16 => aligned(array::<bf16>(x)),
            DType::F32 => aligned(array::<f32>(x)),
            _ => false,
        }
}
/// Whether a form can store to an output: one of the features' type, or of `f32`, without gaps and aligned.
pub(super) fn is_direct(dtype: DType, y: &AnyMut<'_, Cuda>) -> bool {
    match (y.dtype(), dtype) {
        (DType::F32, _) => output::<f32>(y).is_some_and(|y| is_aligned(&y)),
        (DType::F16, DType::F16) => output::<f16>(y).is_some_and(|y| is_aligned(&y)),
        (DType::Bf16, DType::Bf16) => output::<bf16>(y).is_some_and(|y| is_aligned(&y)),
        _ => false,
    }
}

/// Whether values of entries are of `f32` or the features' type, one for each.
fn is_single_values(op: &SpmmOp<Cuda>, dtype: DType) -> bool {
    let typed = |found: DType| found == DType::F32 || found == dtype;
    match &op.edge {
        Edge::One => true,
        Edge::Own => op.matrix.dtype().is_none_or(typed),
        Edge::Values(e) => op.heads == 1 && typed(e.dtype()) && e.window().is_contiguous(),
    }
}

/// How a product runs by a typed form, if it does; `direct` says whether the form can store to the output, `chosen` whether the columns that
/// a maximum chose are wanted.
pub(super) fn spmm<'a>(cuda: &Cuda, op: &'a SpmmOp<Cuda>, direct: bool, chosen: bool) -> Option<SpmmWay<'a>> {
    let Load::Dense(x) = &op.features;
    let ((rows, inner), dtype) = (op.matrix_shape(), x.dtype());
    let sums = matches!(op.reduce, Reduce::Sum | Reduce::Mean) && op.accumulation == Accumulation::Wide && !chosen && op.own.is_none();
    let scales = [&op.scale_rows, &op.scale_columns].into_iter().flatten().all(|scale| reals(scale).is_some());
    let there = rows > 0 && inner > 0 && x.shape().1 > 0;
    if !(sums && scales && there && is_single_values(op, dtype) && is_vectors(x)) {
        return None;
    }
    let way = fused(&op.epilogue.0, dtype);
    let pass = !way.rest.is_empty() || !direct;
    let pays = !pass || op.matrix.nvals() >= PASS_ENTRIES.saturating_mul(rows);
    cuda.tensor_kernels().takes(pays).then_some(way)
}

/// Calls a function of a feature type with the type that `dtype` names; false for any other.
macro_rules! of_type {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            DType::F16 => {
                type $t = f16;
                $body
            }
            DType::Bf16 => {
                type $t = bf16;
                $body
            }
            DType::F32 => {
                type $t = f32;
                $body
            }
            _ => false,
        }
    };
}

/// The width of a head, of columns that heads divide.
fn head_columns(columns: usize, heads: usize) -> Option<usize> {
    columns.checked_div(heads).filter(|&width| width > 0)
}

/// How a typed form computes attention: the end of a layer that it takes itself, and the steps that are left.
pub(super) struct AttentionWay<'a> {
    pub bias: Option<&'a Reals<Cuda>>,
    pub activation: Option<EndActivation>,
    pub rest: &'a [Step<Cuda>],
}

fn end(steps: &[Step<Cuda>]) -> AttentionWay<'_> {
    let (bias, after) = match steps {
        [Step::Bias(bias), after @ ..] if reals(bias).is_some() => (Some(bias), after),
        _ => (None, steps),
    };
    let (activation, rest) = match after {
        [Step::Activation(f), rest @ ..] => {
            let f = match *f {
                Activation::Relu => EndActivation::Leaky(0.0),
                Activation::LeakyRelu { slope } => EndActivation::Leaky(slope as f32),
                Activation::Elu { alpha } => EndActivation::Elu(alpha as f32),
            };
            (Some(f), rest)
        }
        rest => (None, rest),
    };
    AttentionWay { bias, activation, rest }
}

/// Whether a form can store values of entries, one by one.
pub(super) fn is_stored(dtype: DType, e: &AnyMut<'_, Cuda>) -> bool {
    (e.dtype() == dtype || e.dtype() == DType::F32) && e.window().is_contiguous()
}

/// Whether products sampled at entries run by a typed form: dot products times a number, where its vectors or tiles take a head. `stored`
/// says whether it can store them.
pub(super) fn sddmm(cuda: &Cuda, op: &SddmmOp<Cuda>, stored: bool) -> bool {
    let plain = op.pairing == Pairing::Dot
        && matches!(op.edge, Edge::One)
        && op.scale_rows.is_none()
        && op.scale_columns.is_none()
        && op.activation.is_none();
    let (columns, heads, dtype) = (op.left.shape().1, op.heads, op.left.dtype());
    let Some(width) = head_columns(columns, heads) else { return false };
    plain
        && stored
        && op.matrix.nvals() > 0
        && is_vectors(&op.left)
        && is_vectors(&op.right)
        && of_type!(dtype, T => Sampled::of::<T>(columns, heads, width) != Sampled::Plain)
        && cuda.tensor_kernels().takes(true)
}

/// Whether what goes into scores lies as forms take it, and the values, with a form whose vectors or tiles take a head.
fn attends(op: &AttentionOp<Cuda>) -> bool {
    let (columns, heads, dtype) = (op.values.shape().1, op.heads, op.values.dtype());
    let Some(width) = head_columns(columns, heads) else { return false };
    let there = op.matrix.shape().0 > 0 && op.matrix.shape().1 > 0 && is_vectors(&op.values);
    let pair = |query: &Any<Cuda>, key: &Any<Cuda>| {
        query.shape().1 == columns
            && is_vectors(query)
            && is_vectors(key)
            && of_type!(dtype, T => Pair::of::<T>(columns, width).is_ok_and(|form| form != Pair::Plain))
    };
    there
        && match &op.score {
            Score::Additive { left, right, .. } => {
                reals(left).is_some() && reals(right).is_some() && of_type!(dtype, T => Gat::of::<T>(columns, width) != Gat::Plain)
            }
            Score::AdditiveV2 { left, right, vector, .. } => reals(vector).is_some() && pair(left, right),
            Score::Dot { query, key, .. } => pair(query, key),
            Score::Cosine { query, key, beta } => reals(beta).is_some() && pair(query, key),
            Score::Edge(_) => false,
        }
}

/// How attention runs by a typed form, if it does; `direct` and `sums` say whether it can store its result, and the sums of the softmax, to
/// where they are wanted. A result that is not stored directly is rounded to the values' type on the way: of halves there is no such way.
pub(super) fn attention<'a>(cuda: &Cuda, op: &'a AttentionOp<Cuda>, (direct, sums): (bool, bool)) -> Option<AttentionWay<'a>> {
    let way = end(&op.epilogue.0);
    let pass = !(direct && way.rest.is_empty());
    let pays = !pass || op.matrix.nvals() >= PASS_ENTRIES.saturating_mul(op.matrix.shape().0);
    let exact = !pass || op.values.dtype() == DType::F32;
    (sums && exact && attends(op) && cuda.tensor_kernels().takes(pays)).then_some(way)
}

/// Whether the backward pass of attention takes its operands and stores the gradients as they are.
pub(super) fn is_gradient(op: &AttentionOp<Cuda>, lse: &Reals<Cuda>, dy: &Any<Cuda>, gradients: &AttentionGradients<'_, Cuda>) -> bool {
    let dtype = op.values.dtype();
    let features = |out: &Option<AnyMut<'_, Cuda>>| out.as_ref().is_none_or(|out| out.dtype() == dtype && is_direct(dtype, out));
    let scores = |out: &Option<AnyMut<'_, Cuda>>| match op.score {
        Score::Additive { .. } => out.as_ref().is_none_or(|out| output::<f32>(out).is_some()),
        _ => features(out),
    };
    let stored = features(&gradients.values) && scores(&gradients.first) && scores(&gradients.second);
    reals(lse).is_some() && dy.dtype() == dtype && is_vectors(dy) && stored
}

/// Whether the backward pass of attention runs by a typed form, whatever ran forward. `fits` as [`is_gradient`] says.
pub(super) fn attention_backward(cuda: &Cuda, op: &AttentionOp<Cuda>, fits: bool) -> bool {
    let (columns, heads, dtype) = (op.values.shape().1, op.heads, op.values.dtype());
    let Some(width) = head_columns(columns, heads) else { return false };
    let holds = match op.score {
        Score::Additive { .. } => {
            of_type!(dtype, T => GatBackward::of::<T>(columns, heads, width).is_ok_and(|form| form != GatBackward::Plain))
        }
        // What the form of the forward pass takes.
        _ => true,
    };
    fits && holds && attends(op) && cuda.tensor_kernels().takes(true)
}
