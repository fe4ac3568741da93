//! Dense matrices and the operations of graph neural networks: a reference of plain loops, and a fast form.
//!
//! Invariant: the fast form gives what the reference gives, within the rounding of its sums, and does not depend on the number of threads.

mod array;
mod attention;
mod bits;
mod dense;
mod finish;
mod gemm;
mod norm;
mod number;
mod pairs;
mod reference;
mod sddmm;
mod sink;
mod spmm;
mod view;

pub use array::CpuArray;

use crate::Cpu;
use bitgraph_backend::{Error, Matrix};
use bitgraph_tensor::backend::{Attend, DenseOps, Gemm, Sddmm, Spmm};
use bitgraph_tensor::ops::{
    AdamOp, AdamOut, AttentionGradients, AttentionOp, BatchNormGradients, BatchNormOp, CrossEntropyOp, EdgeReduceOp, GemmOp, MapOp,
    SddmmOp, SgdOp, SgdOut, SpmmOp,
};
use bitgraph_tensor::{Any, AnyMut, Dense, Out, Reals};

impl Spmm for Cpu {
    fn spmm(&self, op: &SpmmOp<Self>, y: AnyMut<'_, Self>, chosen: Option<Out<'_, Self, i32>>) -> Result<(), Error> {
        if self.is_reference() {
            reference::spmm::spmm(op, y, chosen)
        } else {
            spmm::spmm(op, y, chosen)
        }
        Ok(())
    }
    fn spmm_chosen_backward(
        &self,
        op: &SpmmOp<Self>,
        chosen: &Dense<Self, i32>,
        dy: &Any<Self>,
        dx: AnyMut<'_, Self>,
    ) -> Result<(), Error> {
        if self.is_reference() {
            reference::spmm::chosen_backward(op, chosen, dy, dx);
        } else {
            spmm::chosen_backward(op, chosen, dy, dx);
        }
        Ok(())
    }
    fn inverse_counts(&self, matrix: &Matrix<Self>, transposed: bool, extra: u32, out: AnyMut<'_, Self>) -> Result<(), Error> {
        if self.is_reference() {
            reference::spmm::inverse_counts(matrix, transposed, extra, out);
        } else {
            spmm::inverse_counts(matrix, transposed, extra, out);
        }
        Ok(())
    }
}

/// Methods that have a reference and a fast form of the same arguments.
macro_rules! both {
    ($reference:path, $fast:path: $($name:ident($($arg:ident: $type:ty),*);)*) => { $(
        fn $name(&self, $($arg: $type),*) -> Result<(), Error> {
            use $reference as plain;
            use $fast as fast;
            if self.is_reference() { plain::$name($($arg),*) } else { fast::$name($($arg),*) }
            Ok(())
        }
    )* };
}

impl DenseOps for Cpu {
    both! { self::reference::dense, self::dense:
        map(op: &MapOp<Self>, y: AnyMut<'_, Self>);
        sum_columns(x: &Any<Self>, sums: AnyMut<'_, Self>);
        dot_columns(x: &Any<Self>, other: &Any<Self>, sums: AnyMut<'_, Self>);
        adam(op: &AdamOp<Self>, out: AdamOut<'_, Self>);
        sgd(op: &SgdOp<Self>, out: SgdOut<'_, Self>);
        log_softmax(x: &Any<Self>, y: AnyMut<'_, Self>);
        log_softmax_backward(y: &Any<Self>, dy: &Any<Self>, dx: AnyMut<'_, Self>);
        argmax_rows(x: &Any<Self>, columns: Out<'_, Self, i32>);
    }
    both! { self::reference::dense, self::norm:
        moments(x: &Any<Self>, mean: AnyMut<'_, Self>, variance: AnyMut<'_, Self>);
        batch_norm_backward(op: &BatchNormOp<Self>, gradients: BatchNormGradients<'_, Self>);
    }
    fn cross_entropy(&self, op: &CrossEntropyOp<Self>, loss: AnyMut<'_, Self>, dx: Option<AnyMut<'_, Self>>) -> Result<(), Error> {
        if self.is_reference() { reference::dense::cross_entropy(op, loss, dx) } else { dense::cross_entropy(op, loss, dx) }
    }
}

impl Sddmm for Cpu {
    both! { self::reference::sddmm, self::sddmm:
        sddmm(op: &SddmmOp<Self>, e: AnyMut<'_, Self>);
        edge_softmax(matrix: &Matrix<Self>, scores: &Any<Self>, p: AnyMut<'_, Self>);
        edge_softmax_backward(matrix: &Matrix<Self>, p: &Any<Self>, dp: &Any<Self>, ds: AnyMut<'_, Self>);
        edge_reduce(op: &EdgeReduceOp<Self>, y: AnyMut<'_, Self>);
    }
}

impl Attend for Cpu {
    // Weights and the gradients of scores.
    const HELD_FOR_GRADIENTS: u64 = 2;

    fn attention(&self, op: &AttentionOp<Self>, y: AnyMut<'_, Self>, lse: Option<AnyMut<'_, Self>>) -> Result<(), Error> {
        if self.is_reference() {
            reference::attention::attention(op, y, lse)
        } else {
            attention::attention(op, y, lse)
        }
        Ok(())
    }
    fn attention_backward(
        &self,
        op: &AttentionOp<Self>,
        (lse, _): (&Reals<Self>, Option<&Any<Self>>),
        dy: &Any<Self>,
        gradients: AttentionGradients<'_, Self>,
    ) -> Result<(), Error> {
        if self.is_reference() {
            reference::attention::backward(op, lse, dy, gradients);
        } else {
            attention::backward(op, lse, dy, gradients);
        }
        Ok(())
    }
}

impl Gemm for Cpu {
    const WIDENS_HALVES: bool = true;

    both! { self::reference::dense, self::gemm:
        gemm(op: &GemmOp<Self>, y: AnyMut<'_, Self>);
    }
}
