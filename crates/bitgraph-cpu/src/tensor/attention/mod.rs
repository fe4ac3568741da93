//! Attention: the scores of a row's entries, their softmax, and the gather with the softmax as factors, a row at a time.

mod backward;
mod scores;

pub use backward::backward;

use super::finish::Finish;
use super::number::Number;
use super::pairs::Paired;
use super::reference;
use super::sddmm::softmax_rows;
use super::sink::Sink;
use super::spmm::factors::{Entries, Scratch};
use super::spmm::gather::{Gather, Gathers, Rule};
use super::spmm::store::{self, After};
use super::view::AnyView;
use crate::{Cpu, Isa};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::AttentionOp;
use bitgraph_tensor::{AnyMut, Dropout};
use scores::Operands;
use std::ops::Range;

/// The factors of dropout, by the counter of entry and head.
fn drop_entries<R: Number>(dropout: &Dropout, first: usize, heads: usize, p: &mut [R]) {
    for (k, entry) in p.chunks_exact_mut(heads).enumerate() {
        super::finish::drop_out(dropout, first + k, entry);
    }
}

pub fn attention(op: &AttentionOp<Cpu>, y: AnyMut<'_, Cpu>, lse: Option<AnyMut<'_, Cpu>>) {
    match op.values.dtype() {
        DType::F16 | DType::Bf16 | DType::F32 => forward::<f32>(op, y, lse),
        DType::F64 => forward::<f64>(op, y, lse),
        // Nothing that is trained has integers for values.
        _ => reference::attention::attention(op, y, lse),
    }
}

fn forward<R: Number + Paired + Gathers>(op: &AttentionOp<Cpu>, y: AnyMut<'_, Cpu>, lse: Option<AnyMut<'_, Cpu>>) {
    let (isa, csr, heads) = (Isa::current(), op.matrix.csr(), op.heads);
    let operands = Operands::<R>::new(isa, op);
    let lse = lse.map(|lse| Sink::<R>::new(isa, lse));
    let compute = |i: usize, scratch: &mut Scratch<R>| {
        let Scratch { factors, more: [a, b] } = scratch;
        let range = csr.row_range(i);
        factors.clear();
        factors.resize(range.len() * heads, R::ZERO);
        operands.row(isa, csr, i, heads, factors, a);
        let beta = operands.beta();
        if beta != R::ONE {
            factors.iter_mut().for_each(|s| *s *= beta);
        }
        b.clear();
        b.resize(heads, R::ZERO);
        softmax_rows(factors, heads, b);
        if let Some(lse) = &lse {
            // SAFETY: rows are disjoint, and each is computed once.
            #[allow(unsafe_code)]
            unsafe {
                lse.rows(i, b);
            }
        }
        if let Some(dropout) = &op.dropout {
            drop_entries(dropout, range.start, heads, factors);
        }
    };
    let entries = Entries { csr, positions: None, values: None, columns: None, computed: Some(&compute), heads, isa };
    let gather = Gather { entries: &entries, features: AnyView::of(&op.values), own: None, rule: Rule::Sum };
    let after = After::only(Finish::<R>::new(isa, &op.epilogue));
    if op.values.shape().1 == 0 {
        // Without columns nothing is gathered: the sums are wanted all the same.
        return (0..csr.nrows()).for_each(|i| compute(i, &mut Scratch::default()));
    }
    store::rows::<R, R>(
        csr,
        isa,
        &|rows: Range<usize>, out: &mut [R], stride: usize| R::gather(&gather, rows, out, stride),
        &after,
        y.into(),
    );
}
