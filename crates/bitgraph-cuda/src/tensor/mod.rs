//! Dense matrices on the device, and the operations of graph neural networks.
//!
//! A file for each family of operations prepares the launches of its general kernels, which exist for every combination of element types,
//! edges, reductions and epilogues: compiled ahead for the usual element types, at first use for the others. `forms/` has faster kernels for
//! the common combinations, over a matrix that is laid out for them; `select.rs` says where one takes over, `typed/` runs it, and [`explain`]
//! names what runs.
//!
//! # Invariants
//! Operands are checked by `bitgraph_tensor::ops`; what is written is shared with no operand. Nothing is read back, but the lengths of long
//! rows, once for a matrix; of a matrix of few products nothing at all. Every sum has a fixed order, which depends on the matrix and the number of columns alone: no sum of floats is
//! made of atomics.
#![allow(unsafe_code)]

mod adam;
mod array;
mod attention;
mod attention_backward;
pub mod bits;
mod columns;
mod epilogue;
mod epochs;
mod explain;
pub mod forms;
mod gemm;
mod gemm_deep;
mod gemm_long;
mod instance;
mod loss;
mod map;
mod neighbours;
mod params;
mod pattern;
mod recorder;
mod sddmm;
mod select;
mod sgd;
mod softmax;
mod sparse_rows;
mod spmm;
#[cfg(test)]
mod tests;
mod typed;
mod work;

#[doc(hidden)]
pub use crate::forced::TensorKernels;
pub use array::CudaArray;
pub use explain::{Explained, explain, explain_gradient};

use crate::{Cuda, Error, Result};
use bitgraph_backend::Matrix;
use bitgraph_tensor::backend::{Attend, DenseOps, Gemm, Sddmm, Spmm};
use bitgraph_tensor::ops::{
    AdamOp, AdamOut, AttentionGradients, AttentionOp, BatchNormGradients, BatchNormOp, CrossEntropyOp, EdgeReduceOp, Epochs, EpochsOp,
    GemmOp, Load, MapOp, NeighbourSampler, NeighboursOp, Recorder, SddmmOp, SgdOp, SgdOut, SpmmOp, Whole,
};
use bitgraph_tensor::{Any, AnyMut, Dense, Out, Reals};

impl Spmm for Cuda {
    fn spmm(&self, op: &SpmmOp<Self>, y: AnyMut<'_, Self>, chosen: Option<Out<'_, Self, i32>>) -> Result<()> {
        let Load::Dense(x) = &op.features;
        let dtype = x.dtype();
        match select::spmm(self, op, select::is_direct(dtype, &y), chosen.is_some()) {
            Some(way) if typed::spmm::run(self, op, &way, &y)? => Ok(()),
            _ => spmm::general(self, op, y, chosen),
        }
    }
    fn spmm_chosen_backward(&self, op: &SpmmOp<Self>, chosen: &Dense<Self, i32>, dy: &Any<Self>, dx: AnyMut<'_, Self>) -> Result<()> {
        spmm::chosen_backward(self, op, chosen, dy, dx)
    }
    fn inverse_counts(&self, matrix: &Matrix<Self>, transposed: bool, extra: u32, out: AnyMut<'_, Self>) -> Result<()> {
        spmm::inverse_counts(self, matrix.raw(), transposed, extra, &out)
    }
}

impl Sddmm for Cuda {
    fn sddmm(&self, op: &SddmmOp<Self>, e: AnyMut<'_, Self>) -> Result<()> {
        if select::sddmm(self, op, select::is_stored(op.left.dtype(), &e)) && typed::sddmm::run(op, &e)? {
            return Ok(());
        }
        sddmm::general(self, op, &e)
    }
    fn edge_softmax(&self, matrix: &Matrix<Self>, scores: &Any<Self>, p: AnyMut<'_, Self>) -> Result<()> {
        softmax::softmax(self, matrix.raw(), scores, &p)
    }
    fn edge_softmax_backward(&self, matrix: &Matrix<Self>, p: &Any<Self>, dp: &Any<Self>, ds: AnyMut<'_, Self>) -> Result<()> {
        softmax::backward(self, matrix.raw(), p, dp, &ds)
    }
    fn edge_reduce(&self, op: &EdgeReduceOp<Self>, y: AnyMut<'_, Self>) -> Result<()> {
        spmm::edge_reduce(self, op, &y)
    }
}

impl Attend for Cuda {
    fn attention(&self, op: &AttentionOp<Self>, y: AnyMut<'_, Self>, lse: Option<AnyMut<'_, Self>>) -> Result<()> {
        let sums = lse.as_ref().is_none_or(|lse| typed::output::<f32>(lse).is_some());
        let direct = y.dtype() == op.values.dtype() && select::is_direct(y.dtype(), &y);
        match select::attention(self, op, (direct, sums)) {
            Some(way) if typed::attention::run(self, op, &way, &y, lse.as_ref())? => Ok(()),
            _ => attention::general(self, op, &y, lse),
        }
    }
    fn attention_backward(
        &self,
        op: &AttentionOp<Self>,
        (lse, result): (&Reals<Self>, Option<&Any<Self>>),
        dy: &Any<Self>,
        gradients: AttentionGradients<'_, Self>,
    ) -> Result<()> {
        let fits = select::is_gradient(op, lse, dy, &gradients);
        if select::attention_backward(self, op, fits) && typed::attention::backward(self, op, (lse, result), dy, &gradients)? {
            return Ok(());
        }
        attention_backward::general(self, op, lse, dy, gradients)
    }
}

impl Gemm for Cuda {
    fn gemm(&self, op: &GemmOp<Self>, y: AnyMut<'_, Self>) -> Result<()> {
        gemm::gemm(self, op, &y)
    }
    fn sums_with_gemm(&self, op: &GemmOp<Self>) -> bool {
        gemm_deep::is_faster(op) && gemm_deep::has(self.device(), op)
    }
    fn gemm_with_sums(&self, op: &GemmOp<Self>, y: AnyMut<'_, Self>, sums: AnyMut<'_, Self>) -> Result<()> {
        gemm_deep::with_sums(self, op, &y, params::Target::of(&sums, 1))
    }
}

impl DenseOps for Cuda {
    const RECORDS: bool = true;
    const DRAWS_NEIGHBOURS: bool = true;

    fn map(&self, op: &MapOp<Self>, y: AnyMut<'_, Self>) -> Result<()> {
        map::map(self, op, &y)
    }
    fn sum_columns(&self, x: &Any<Self>, sums: AnyMut<'_, Self>) -> Result<()> {
        columns::sum_columns(self, x, &sums)
    }
    fn dot_columns(&self, x: &Any<Self>, other: &Any<Self>, sums: AnyMut<'_, Self>) -> Result<()> {
        columns::dot_columns(self, x, other, &sums)
    }
    fn moments(&self, x: &Any<Self>, mean: AnyMut<'_, Self>, variance: AnyMut<'_, Self>) -> Result<()> {
        columns::moments(self, x, &mean, &variance)
    }
    fn batch_norm_backward(&self, op: &BatchNormOp<Self>, gradients: BatchNormGradients<'_, Self>) -> Result<()> {
        columns::batch_norm_backward(self, op, &gradients)
    }
    fn log_softmax(&self, x: &Any<Self>, y: AnyMut<'_, Self>) -> Result<()> {
        loss::log_softmax(self, x, &y)
    }
    fn log_softmax_backward(&self, y: &Any<Self>, dy: &Any<Self>, dx: AnyMut<'_, Self>) -> Result<()> {
        loss::log_softmax_backward(self, y, dy, &dx)
    }
    fn cross_entropy(&self, op: &CrossEntropyOp<Self>, loss: AnyMut<'_, Self>, dx: Option<AnyMut<'_, Self>>) -> Result<()> {
        loss::cross_entropy(self, op, &loss, dx)
    }
    fn sums_with_cross_entropy(&self) -> bool {
        true
    }
    fn cross_entropy_with_sums(
        &self,
        op: &CrossEntropyOp<Self>,
        loss: AnyMut<'_, Self>,
        dx: AnyMut<'_, Self>,
        sums: AnyMut<'_, Self>,
    ) -> Result<()> {
        loss::with_sums(self, op, &loss, &dx, &sums)
    }
    fn argmax_rows(&self, x: &Any<Self>, columns: Out<'_, Self, i32>) -> Result<()> {
        loss::argmax_rows(self, x, &columns)
    }
    fn adam(&self, op: &AdamOp<Self>, out: AdamOut<'_, Self>) -> Result<()> {
        adam::adam(self, op, &out)
    }
    fn sgd(&self, op: &SgdOp<Self>, out: SgdOut<'_, Self>) -> Result<()> {
        sgd::sgd(self, op, &out)
    }
    fn recorder(&self) -> Result<Option<Box<dyn Recorder<Error>>>> {
        recorder::open(self).map(Some)
    }
    fn epochs(&self, op: &EpochsOp<'_, Self>) -> Result<Whole<Epochs<Self>>> {
        epochs::train(self, op)
    }
    fn neighbours(&self, op: &NeighboursOp<'_, Self>) -> Result<Whole<Box<dyn NeighbourSampler<Self>>>> {
        neighbours::prepare(self, op)
    }
}
