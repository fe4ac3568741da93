//! Sampled dot products by the forms of `forms/sddmm`.

use super::super::forms::Feature;
use super::super::forms::sddmm::{Product, SddmmLayout};
use super::layouts::{Family, Key, Laid, laid};
use super::{array, output};
use crate::{Cuda, Result};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::SddmmOp;
use bitgraph_tensor::{AnyMut, Element};
use half::{bf16, f16};
use std::sync::Arc;

impl<T: Feature> Laid for SddmmLayout<T> {
    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

fn layout<T: Feature>(op: &SddmmOp<Cuda>) -> Result<Option<Arc<SddmmLayout<T>>>> {
    let (matrix, columns, heads) = (op.matrix.raw(), op.left.shape().1, op.heads);
    let key = Key { family: Family::Sddmm, dtype: T::DTYPE, columns, heads };
    laid(matrix, key, || SddmmLayout::of(matrix, columns, heads))
}

/// Runs the form; whether it could be laid out.
pub fn run(op: &SddmmOp<Cuda>, e: &AnyMut<'_, Cuda>) -> Result<bool> {
    match op.left.dtype() {
        DType::F16 => typed::<f16>(op, e),
        DType::Bf16 => typed::<bf16>(op, e),
        _ => typed::<f32>(op, e),
    }
}

fn typed<T: Product<T> + Element>(op: &SddmmOp<Cuda>, e: &AnyMut<'_, Cuda>) -> Result<bool>
where
    f32: Product<T>,
{
    let Some(layout) = layout::<T>(op)? else { return Ok(false) };
    let (Some(left), Some(right)) = (array::<T>(&op.left), array::<T>(&op.right)) else { return Ok(false) };
    let factor = op.factor as f32;
    if let Some(e) = output::<T>(e) {
        return layout.run(&left, &right, factor, &e).map(|()| true);
    }
    output::<f32>(e).map_or(Ok(false), |e| layout.run(&left, &right, factor, &e).map(|()| true))
}

/// Which form runs.
pub fn explain(op: &SddmmOp<Cuda>) -> Result<Option<String>> {
    Ok(match op.left.dtype() {
        DType::F16 => layout::<f16>(op)?.map(|l| l.explain()),
        DType::Bf16 => layout::<bf16>(op)?.map(|l| l.explain()),
        _ => layout::<f32>(op)?.map(|l| l.explain()),
    })
}
