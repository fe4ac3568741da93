//! What would run for an operation, in words.

use super::{bits, select, typed};
use crate::{Cuda, Result};
use bitgraph_tensor::ops::{AttentionOp, BitGemmOp, BitSpmmOp, SddmmOp, SpmmOp};

/// An operation that has typed forms beside the general kernels.
pub trait Explained {
    /// Which kernels run it where its result goes to a new matrix of the features' type: the form's own words, or `general kernels`. Lays out
    /// the matrix as the first run would.
    ///
    /// # Errors
    /// Those of a run.
    fn explain(&self) -> Result<String>;
}

fn said(form: Option<String>, rest: usize) -> String {
    let pass = match rest {
        0 => String::new(),
        1 => "; then 1 step of the epilogue".into(),
        steps => format!("; then {steps} steps of the epilogue"),
    };
    form.map_or_else(|| "general kernels".into(), |form| format!("{form}{pass}"))
}

impl Explained for SpmmOp<Cuda> {
    fn explain(&self) -> Result<String> {
        let cuda = self.matrix.backend();
        Ok(match select::spmm(cuda, self, true, false) {
            Some(way) => said(typed::spmm::explain(cuda, self)?, way.rest.len()),
            None => said(None, 0),
        })
    }
}
impl Explained for SddmmOp<Cuda> {
    fn explain(&self) -> Result<String> {
        let cuda = self.matrix.backend();
        Ok(said(if select::sddmm(cuda, self, true) { typed::sddmm::explain(self)? } else { None }, 0))
    }
}
impl Explained for AttentionOp<Cuda> {
    fn explain(&self) -> Result<String> {
        let cuda = self.matrix.backend();
        Ok(match select::attention(cuda, self, (true, true)) {
            Some(way) => said(typed::attention::explain(self)?, way.rest.len()),
            None => said(None, 0),
        })
    }
}
/// The result is of signs where the epilogue ends in them, and of `f32` otherwise.
impl Explained for BitGemmOp<Cuda> {
    fn explain(&self) -> Result<String> {
        let (form, rest) = bits::explain_gemm(self.a.backend(), self)?.unzip();
        Ok(said(form, rest.unwrap_or(0)))
    }
}
/// As of [`BitGemmOp`].
impl Explained for BitSpmmOp<Cuda> {
    fn explain(&self) -> Result<String> {
        let (form, rest) = bits::explain_spmm(self.matrix.backend(), self)?.unzip();
        Ok(said(form, rest.unwrap_or(0)))
    }
}

/// Which kernels run an operation, as [`Explained::explain`].
///
/// # Errors
/// Those of a run.
pub fn explain(operation: &impl Explained) -> Result<String> {
    operation.explain()
}

/// Which kernels run the backward pass of attention, where the gradient of the result is of the values' type and without gaps.
///
/// # Errors
/// Those of a run.
pub fn explain_gradient(op: &AttentionOp<Cuda>) -> Result<String> {
    let cuda = op.matrix.backend();
    Ok(said(if select::attention_backward(cuda, op, true) { typed::attention::explain_backward(op)? } else { None }, 0))
}
