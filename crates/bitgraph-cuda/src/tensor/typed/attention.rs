//! Attention by the forms of `forms/attention`, forward and backward.

use super::super::columns::{Term, sums};
use super::super::forms::Feature;
use super::super::forms::attention::{
    AttentionEnd, AttentionGiven, GatBackwardLayout, GatGradients, GatInput, GatLayout, PairBackwardLayout, PairGradients, PairInput,
    PairLayout, PairScore,
};
use super::super::params::Target;
use super::super::pattern::Seen;
use super::super::select::AttentionWay;
use super::layouts::{Family, Key, Laid, laid};
use super::{array, is_aligned, output, reals, through};
use crate::device::Buffer;
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{AttentionGradients, AttentionOp, Score};
use bitgraph_tensor::{Any, AnyMut, Element, Reals};
use half::{bf16, f16};
use std::sync::{Arc, Mutex, PoisonError};

impl<T: Feature> Laid for GatLayout<T> {
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}
impl<T: Feature> Laid for PairLayout<T> {
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}
/// Its launches leave arrays for each other, so that one thread gives them to the stream at a time.
struct Backward<L>(Mutex<L>, u64);
impl<L: Send + 'static> Laid for Backward<L> {
    fn bytes(&self) -> u64 {
        self.1
    }
}

fn key<T: Feature>(family: Family, op: &AttentionOp<Cuda>) -> Key {
    Key { family, dtype: T::DTYPE, columns: op.values.shape().1, heads: op.heads }
}
fn gat<T: Feature>(op: &AttentionOp<Cuda>) -> Result<Option<Arc<GatLayout<T>>>> {
    let (matrix, key) = (op.matrix.raw(), key::<T>(Family::Gat, op));
    laid(matrix, key, || GatLayout::of(matrix, key.columns, key.heads))
}
fn pair<T: Feature>(op: &AttentionOp<Cuda>) -> Result<Option<Arc<PairLayout<T>>>> {
    let (matrix, key) = (op.matrix.raw(), key::<T>(Family::Pair, op));
    laid(matrix, key, || PairLayout::of(matrix, key.columns, key.heads))
}
fn gat_backward<T: Feature>(op: &AttentionOp<Cuda>) -> Result<Option<Arc<Backward<GatBackwardLayout<T>>>>> {
    let (matrix, key) = (op.matrix.raw(), key::<T>(Family::GatBackward, op));
    laid(matrix, key, || {
        let seen = Seen::of(matrix, true)?;
        let Some(positions) = seen.positions else { return Ok(None) };
        let made = GatBackwardLayout::build_with(matrix, (seen.csr, positions), key.columns, key.heads)?;
        Ok(made.map(|layout| {
            let bytes = layout.bytes();
            Backward(Mutex::new(layout), bytes)
        }))
    })
}

fn pair_backward<T: Feature>(op: &AttentionOp<Cuda>) -> Result<Option<Arc<Backward<PairBackwardLayout<T>>>>> {
    let (matrix, key) = (op.matrix.raw(), key::<T>(Family::PairBackward, op));
    laid(matrix, key, || {
        let seen = Seen::of(matrix, true)?;
        let Some(positions) = seen.positions else { return Ok(None) };
        let made = PairBackwardLayout::of(matrix, (seen.csr, positions), key.columns, key.heads)?;
        Ok(made.map(|layout| {
            let bytes = layout.bytes();
            Backward(Mutex::new(layout), bytes)
        }))
    })
}

/// The operands of a score of two rows, as arrays.
struct Pair<T> {
    query: Buffer<T>,
    key: Buffer<T>,
    values: Buffer<T>,
    parameter: Buffer<f32>,
}

impl<T: Feature + Element> Pair<T> {
    /// None of another score, or of operands that are no arrays.
    fn of(op: &AttentionOp<Cuda>) -> Option<Self> {
        let (query, key, parameter) = match &op.score {
            Score::Dot { query, key, .. } => (query, key, None),
            Score::Cosine { query, key, beta } => (query, key, Some(beta)),
            Score::AdditiveV2 { left, right, vector, .. } => (left, right, Some(vector)),
            Score::Additive { .. } | Score::Edge(_) => return None,
        };
        let parameter = parameter.map_or(Some(Buffer::default()), reals)?;
        Some(Self { query: array(query)?, key: array(key)?, values: array(&op.values)?, parameter })
    }
    fn input(&self, op: &AttentionOp<Cuda>) -> PairInput<'_, T> {
        let score = match &op.score {
            Score::Dot { factor, .. } => PairScore::Dot { factor: *factor as f32 },
            Score::AdditiveV2 { slope, .. } => PairScore::Sum { vector: &self.parameter, slope: *slope as f32 },
            _ => PairScore::Cosine { beta: &self.parameter },
        };
        PairInput { score, query: &self.query, key: &self.key, values: &self.values, dropout: op.dropout }
    }
}

/// Runs the form; whether it could be laid out.
pub fn run(
    cuda: &Cuda,
    op: &AttentionOp<Cuda>,
    way: &AttentionWay<'_>,
    y: &AnyMut<'_, Cuda>,
    lse: Option<&AnyMut<'_, Cuda>>,
) -> Result<bool> {
    match op.values.dtype() {
        DType::F16 => typed::<f16>(cuda, op, way, y, lse),
        DType::Bf16 => typed::<bf16>(cuda, op, way, y, lse),
        _ => typed::<f32>(cuda, op, way, y, lse),
    }
}

fn typed<T: Feature + Element>(
    cuda: &Cuda,
    op: &AttentionOp<Cuda>,
    way: &AttentionWay<'_>,
    y: &AnyMut<'_, Cuda>,
    lse: Option<&AnyMut<'_, Cuda>>,
) -> Result<bool> {
    let (lse, bias) = (lse.and_then(output::<f32>), way.bias.and_then(reals));
    let end = AttentionEnd { bias: bias.as_ref(), activation: way.activation };
    let run = |y: &Buffer<T>| match &op.score {
        Score::Additive { left, right, slope } => {
            let Some(layout) = gat::<T>(op)? else { return Ok(false) };
            let (Some(left), Some(right), Some(values)) = (reals(left), reals(right), array::<T>(&op.values)) else { return Ok(false) };
            let input = GatInput { left: &left, right: &right, values: &values, slope: *slope as f32, dropout: op.dropout };
            layout.layer(input, &end, y, lse.as_ref()).map(|()| true)
        }
        _ => {
            let Some(layout) = pair::<T>(op)? else { return Ok(false) };
            let Some(operands) = Pair::<T>::of(op) else { return Ok(false) };
            layout.layer(operands.input(op), &end, y, lse.as_ref()).map(|()| true)
        }
    };
    match output::<T>(y).filter(|_| way.rest.is_empty()) {
        Some(y) => run(&y),
        None => through::<T>(cuda, (op.matrix.shape().0, op.values.shape().1), way.rest, y, run),
    }
}

/// The gradients that are wanted, by the form of the score; whether it could be laid out.
pub fn backward(
    cuda: &Cuda,
    op: &AttentionOp<Cuda>,
    before: (&Reals<Cuda>, Option<&Any<Cuda>>),
    dy: &Any<Cuda>,
    gradients: &AttentionGradients<'_, Cuda>,
) -> Result<bool> {
    match op.values.dtype() {
        DType::F16 => typed_backward::<f16>(cuda, op, before, dy, gradients),
        DType::Bf16 => typed_backward::<bf16>(cuda, op, before, dy, gradients),
        _ => typed_backward::<f32>(cuda, op, before, dy, gradients),
    }
}

fn typed_backward<T: Feature + Element>(
    cuda: &Cuda,
    op: &AttentionOp<Cuda>,
    before: (&Reals<Cuda>, Option<&Any<Cuda>>),
    dy: &Any<Cuda>,
    gradients: &AttentionGradients<'_, Cuda>,
) -> Result<bool> {
    let Score::Additive { left, right, slope } = &op.score else { return pairs_backward::<T>(cuda, op, before, dy, gradients) };
    let Some(layout) = gat_backward::<T>(op)? else { return Ok(false) };
    let (Some(left), Some(right), Some(values)) = (reals(left), reals(right), array::<T>(&op.values)) else { return Ok(false) };
    let (Some(lse), Some(gradient)) = (reals(before.0), array::<T>(dy)) else { return Ok(false) };
    let result = before.1.and_then(array::<T>).filter(is_aligned);
    // The form writes all three: what is not wanted goes nowhere.
    let scores = |out: &Option<AnyMut<'_, Cuda>>, like: &Buffer<f32>| match out {
        Some(out) => Ok(output::<f32>(out)),
        None => cuda.device().alloc_for::<f32>(like.len(), "a gradient that is not wanted").map(Some),
    };
    let (first, second) = (scores(&gradients.first, &left)?, scores(&gradients.second, &right)?);
    let third = match &gradients.values {
        Some(out) => output::<T>(out),
        None => Some(cuda.device().alloc_for::<T>(values.len(), "a gradient that is not wanted")?),
    };
    let (Some(first), Some(second), Some(third)) = (first, second, third) else { return Ok(false) };
    let input = GatInput { left: &left, right: &right, values: &values, slope: *slope as f32, dropout: op.dropout };
    let layout = layout.0.lock().unwrap_or_else(PoisonError::into_inner);
    let given = AttentionGiven { output: result.as_ref(), lse: &lse, gradient: &gradient };
    layout.backward(input, given, GatGradients { left: &first, right: &second, values: &third })?;
    Ok(true)
}

fn pairs_backward<T: Feature + Element>(
    cuda: &Cuda,
    op: &AttentionOp<Cuda>,
    before: (&Reals<Cuda>, Option<&Any<Cuda>>),
    dy: &Any<Cuda>,
    gradients: &AttentionGradients<'_, Cuda>,
) -> Result<bool> {
    let Some(layout) = pair_backward::<T>(op)? else { return Ok(false) };
    let Some(operands) = Pair::<T>::of(op) else { return Ok(false) };
    let (Some(lse), Some(gradient)) = (reals(before.0), array::<T>(dy)) else { return Ok(false) };
    let result = before.1.and_then(array::<T>).filter(is_aligned);
    let [query, key, values] = [&gradients.first, &gradients.second, &gradients.values].map(|out| out.as_ref().and_then(output::<T>));
    let layout = layout.0.lock().unwrap_or_else(PoisonError::into_inner);
    let given = AttentionGiven { output: result.as_ref(), lse: &lse, gradient: &gradient };
    let wanted = PairGradients { query: query.as_ref(), key: key.as_ref(), values: values.as_ref() };
    if !layout.backward(operands.input(op), given, wanted)? {
        return Ok(false);
    }
    let Some(out) = &gradients.parameter else { return Ok(true) };
    let (found, rows) = layout.parameter_sums();
    let columns = if matches!(op.score, Score::Cosine { .. }) { 1 } else { op.values.shape().1 };
    let found = Target::scratch(found.ptr().cast(), columns, DType::F32, 1).view();
    sums(cuda, &found, (rows, columns), Term::Value, (DType::F32, 1.0), Target::of(out, 1))?;
    Ok(true)
}

/// Which form runs.
pub fn explain(op: &AttentionOp<Cuda>) -> Result<Option<String>> {
    fn of<T: Feature>(op: &AttentionOp<Cuda>) -> Result<Option<String>> {
        Ok(match op.score {
            Score::Additive { .. } => gat::<T>(op)?.map(|l| l.explain()),
            _ => pair::<T>(op)?.map(|l| l.explain()),
        })
    }
    match op.values.dtype() {
        DType::F16 => of::<f16>(op),
        DType::Bf16 => of::<bf16>(op),
        _ => of::<f32>(op),
    }
}
/// Which form of the backward pass runs.
pub fn explain_backward(op: &AttentionOp<Cuda>) -> Result<Option<String>> {
    fn of<T: Feature>(op: &AttentionOp<Cuda>) -> Result<Option<String>> {
        Ok(match op.score {
            Score::Additive { .. } => gat_backward::<T>(op)?.map(|l| l.0.lock().unwrap_or_else(PoisonError::into_inner).explain()),
            _ => pair_backward::<T>(op)?.map(|l| l.0.lock().unwrap_or_else(PoisonError::into_inner).explain()),
        })
    }
    match op.values.dtype() {
        DType::F16 => of::<f16>(op),
        DType::Bf16 => of::<bf16>(op),
        _ => of::<f32>(op),
    }
}
