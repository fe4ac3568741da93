//! The softmax of values of entries over rows, and its backward pass, by the general kernels.

use super::params::{Target, View, name, real_of};
use super::pattern::{Seen, entry_rows};
use super::sddmm::shape;
use super::work::{LongRowsParams, RowWork, cells, merging};
use crate::device::{Buffer, DevicePtr, parameters};
use crate::matrix::CudaMatrix;
use crate::{Cuda, Error, Result, primitives};
use bitgraph_semiring::DType;
use bitgraph_tensor::{Any, AnyMut};

const MODULE: &str = "tensor/softmax_general";

parameters! {
    struct SoftmaxParams = "tensor/softmax_general.cu" "bg::SoftmaxParams" {
        work: RowWork,
        pieces: LongRowsParams,
        rows: DevicePtr<u32>,
        x: View,
        dx: View,
        y: Target,
        maxima: DevicePtr<u8>,
        sums: DevicePtr<u8>,
        entries: u64,
    }
}

/// An array of a number of type `dtype` for each of `rows` rows and `columns` columns.
///
/// # Errors
/// Out of memory, or more bytes than there can be.
pub(super) fn scratch(cuda: &Cuda, rows: usize, columns: usize, dtype: DType) -> Result<Buffer<u8>> {
    let (what, total) = ("intermediate results", cuda.device().properties().memory);
    let bytes = rows.checked_mul(columns).and_then(|n| n.checked_mul(dtype.bytes()));
    let bytes = bytes.ok_or(Error::OutOfMemory { wanted: u64::MAX, free: 0, total, what })?;
    cuda.device().alloc_for(bytes, what)
}

/// Reduces the entries of every row by one kernel, and writes every entry by another.
fn run(cuda: &Cuda, matrix: &CudaMatrix, [x, dx]: [View; 2], (heads, real): (usize, DType), y: Target, kernels: [&str; 3]) -> Result<()> {
    let (device, seen) = (cuda.device(), Seen::of(matrix, false)?);
    if seen.csr.nnz == 0 || heads == 0 {
        return Ok(());
    }
    let [rows, merge, entries] = kernels.map(|kernel| device.kernel(MODULE, &format!("{kernel}_{}", name(real))));
    let (maxima, sums) = (scratch(cuda, seen.csr.rows, heads, real)?, scratch(cuda, seen.csr.rows, heads, real)?);
    let (rows, work) = (rows?, RowWork::rows(&seen, heads, 1, 1)?);
    let mut params = SoftmaxParams {
        work,
        pieces: LongRowsParams::none(),
        rows: entry_rows(matrix)?.ptr(),
        x,
        dx,
        y,
        maxima: maxima.ptr(),
        sums: sums.ptr(),
        entries: seen.csr.nnz as u64,
    };
    // SAFETY: operands fit each other (`bitgraph_tensor::ops` checks that); the arrays have a number for each row and head.
    unsafe { device.launch(&rows, work.shape(device)?, &params) }?;
    if !seen.long.is_empty() {
        // A maximum and a sum at most.
        let bytes = 2 * real.bytes();
        let cells = cells(device, &seen, heads, bytes)?;
        params.pieces = seen.long.params(&cells, heads)?;
        params.work = work.pieces(&seen);
        // SAFETY: as above; there is a cell for each piece and head.
        unsafe { device.launch(&rows, params.work.shape(device)?, &params) }?;
        // SAFETY: as above.
        unsafe { device.launch(&merge?, merging(device, &params.pieces, bytes as u32)?, &params) }?;
        params.work = work;
    }
    let values = params.entries.checked_mul(heads as u64).ok_or_else(|| primitives::too_large(params.entries))?;
    // SAFETY: as above.
    unsafe { device.launch(&entries?, shape(device, values, 1)?, &params) }
}

/// The softmax over the entries of each row.
pub(super) fn softmax(cuda: &Cuda, matrix: &CudaMatrix, scores: &Any<Cuda>, p: &AnyMut<'_, Cuda>) -> Result<()> {
    let kernels = ["softmax_rows", "softmax_merge", "softmax_entries"];
    let (heads, real) = (scores.shape().1, real_of(scores.dtype()));
    run(cuda, matrix, [View::any(scores), View::NONE], (heads, real), Target::of(p, 1), kernels)
}

/// The gradient of the scores from the softmax and its gradient; the output may be where the latter is.
pub(super) fn gradient(cuda: &Cuda, matrix: &CudaMatrix, [p, dp]: [View; 2], heads_and_type: (usize, DType), ds: Target) -> Result<()> {
    run(cuda, matrix, [p, dp], heads_and_type, ds, ["softmax_dots", "softmax_dots_merge", "softmax_gradient"])
}

/// The backward pass.
pub(super) fn backward(cuda: &Cuda, matrix: &CudaMatrix, p: &Any<Cuda>, dp: &Any<Cuda>, ds: &AnyMut<'_, Cuda>) -> Result<()> {
    gradient(cuda, matrix, [View::any(p), View::any(dp)], (p.shape().1, real_of(p.dtype())), Target::of(ds, 1))
}
