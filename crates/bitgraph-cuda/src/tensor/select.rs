//! Which kernels compute an operation: the general ones, unless a faster form has the combination.
//!
//! Invariant: a form is chosen from the descriptor and the matrix alone, never by a clock. A form that may fail for want of memory falls back
//! to the general one.

use crate::Cuda;
use bitgraph_tensor::AnyMut;
use bitgraph_tensor::ops::SpmmOp;

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
