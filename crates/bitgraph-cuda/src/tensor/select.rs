//! Which kernels compute an operation: the general ones, unless a faster form has the combination.
//!
//! Invariant: a form is chosen from the descriptor and the matrix alone, never by a clock. A form that may fail for want of memory falls back
//! to the general one.

use crate::Cuda;
use bitgraph_tensor::ops::{AttentionOp, SddmmOp, SpmmOp};
use bitgraph_tensor::{Any, AnyMut};

/// How a sparse matrix is multiplied by features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpmmForm {
    /// Every combination.
    General,
}

/// The form of a product; `chosen` says whether the columns that a maximum chose are wanted.
pub(super) fn spmm(_op: &SpmmOp<Cuda>, _y: &AnyMut<'_, Cuda>, _chosen: bool) -> SpmmForm {
    SpmmForm::General
}

/// How features are multiplied at the entries of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SddmmForm {
    /// Every combination.
    General,
}

/// The form of values of entries.
pub(super) fn sddmm(_op: &SddmmOp<Cuda>, _e: &AnyMut<'_, Cuda>) -> SddmmForm {
    SddmmForm::General
}

/// How attention is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttentionForm {
    /// Every combination.
    General,
}

/// The form of attention.
pub(super) fn attention(_op: &AttentionOp<Cuda>, _y: &AnyMut<'_, Cuda>) -> AttentionForm {
    AttentionForm::General
}
/// The form of its backward pass, which takes what any form of the forward pass left.
pub(super) fn attention_backward(_op: &AttentionOp<Cuda>, _dy: &Any<Cuda>) -> AttentionForm {
    AttentionForm::General
}
