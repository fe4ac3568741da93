//! A value for each entry: products sampled at the entries, softmax over rows, its gradient, and reductions back to rows.
#![allow(unsafe_code)]

use super::dense::in_real;
use super::number::Number;
use super::pairs::{Kind, Paired, Pairs};
use super::sink::Sink;
use super::spmm::store::shared;
use super::spmm::{edge_values, seen};
use super::view::{AnyView, reals};
use crate::{Cpu, Isa};
use bitgraph_backend::Matrix;
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::Csr;
use bitgraph_tensor::ops::{EdgeReduceOp, Pairing, Reduce, SddmmOp};
use bitgraph_tensor::{Any, AnyMut, Real};

pub fn sddmm(op: &SddmmOp<Cpu>, e: AnyMut<'_, Cpu>) {
    match op.right.dtype() {
        DType::F16 | DType::Bf16 | DType::F32 => sampled::<f32>(op, e),
        // Sums of whole numbers are exact in double precision.
        _ => sampled::<f64>(op, e),
    }
}

fn sampled<R: Number + Paired>(op: &SddmmOp<Cpu>, e: AnyMut<'_, Cpu>) {
    let (isa, csr, heads) = (Isa::current(), op.matrix.csr(), op.heads);
    let (left, right) = (AnyView::of(&op.left), AnyView::of(&op.right));
    let (rows, columns) = (op.scale_rows.as_ref().map(reals::<R>), op.scale_columns.as_ref().map(reals::<R>));
    let (weights, factor) = (edge_values(&op.edge, &op.matrix), R::of(op.factor));
    by_rows::<R>(isa, csr, heads, e, &|i, values, scratch| {
        let (ids, range) = (csr.row(i), csr.row_range(i));
        let u = left.row_as::<R>(isa, i, &mut scratch[0]);
        match op.pairing {
            Pairing::Dot => {
                let rest = &csr.indices()[range.start..];
                R::pair(isa, &Pairs { kind: Kind::Dot, row: u, vector: &[], slope: R::ZERO, features: right, ids, rest, heads }, values);
            }
            pairing => {
                for (&j, values) in ids.iter().zip(values.chunks_exact_mut(heads)) {
                    right.row_into(isa, j as usize, values);
                    let add = pairing == Pairing::Add;
                    values.iter_mut().zip(u).for_each(|(v, &u)| *v = if add { u + *v } else { u * *v });
                }
            }
        }
        let row = factor * rows.as_ref().map_or(R::ONE, |d| d[i]);
        if let Some(columns) = &columns {
            let each = ids.iter().zip(values.chunks_exact_mut(heads));
            each.for_each(|(&j, values)| values.iter_mut().for_each(|v| *v *= row * columns[j as usize]));
        } else if row != R::ONE {
            values.iter_mut().for_each(|v| *v *= row);
        }
        if let Some(weights) = &weights {
            for (k, values) in range.zip(values.chunks_exact_mut(heads)) {
                let w = weights.row_as::<R>(isa, k, &mut scratch[1]);
                // Values of one head serve all heads.
                values.iter_mut().enumerate().for_each(|(h, v)| *v *= w[if w.len() == 1 { 0 } else { h }]);
            }
        }
        if let Some(f) = op.activation {
            super::finish::activate(f, values);
        }
    });
}

/// Fills the values of a row's entries, `heads` for each, with memory to compute in.
type Fill<'a, R> = &'a (dyn Fn(usize, &mut [R], &mut [Vec<R>; 2]) + Sync);

/// Makes the values of the entries row by row of a pattern: `f(i, values, scratch)` fills those of row `i`, `heads` for each entry.
pub fn by_rows<R: Number>(isa: Isa, csr: &Csr, heads: usize, out: AnyMut<'_, Cpu>, f: Fill<'_, R>) {
    let sink = Sink::<R>::new(isa, out);
    if sink.window().is_empty() {
        return;
    }
    shared(csr, &|rows| {
        let (mut values, mut scratch) = (Vec::new(), [Vec::new(), Vec::new()]);
        for i in rows {
            let range = csr.row_range(i);
            values.clear();
            values.resize(range.len() * heads, R::ZERO);
            f(i, &mut values, &mut scratch);
            // SAFETY: the entries of different rows are disjoint, and each row is in one range.
            unsafe { sink.rows(range.start, &values) };
        }
    });
}

/// Reads the values of consecutive entries.
pub fn read_entries<R: Number>(isa: Isa, e: &AnyView<'_>, range: std::ops::Range<usize>, heads: usize, to: &mut [R]) {
    for (k, to) in range.zip(to.chunks_exact_mut(heads.max(1))) {
        e.row_into(isa, k, to);
    }
}

/// The softmax of scores, entries x heads, head by head in place; the logarithms of the sums go to `lse`.
pub fn softmax_rows<R: Number>(scores: &mut [R], heads: usize, lse: &mut [R]) {
    if scores.is_empty() {
        return lse.fill(R::smallest());
    }
    // By heads within entries, so that the loops run along memory.
    lse.fill(R::smallest());
    for entry in scores.chunks_exact(heads) {
        lse.iter_mut().zip(entry).for_each(|(max, &s)| *max = if s > *max { s } else { *max });
    }
    let max = lse.to_vec();
    if heads == 1 {
        scores.iter_mut().for_each(|s| *s = (*s - max[0]).exponential());
    } else {
        for entry in scores.chunks_exact_mut(heads) {
            entry.iter_mut().zip(&max).for_each(|(s, &max)| *s = (*s - max).exponential());
        }
    }
    lse.fill(R::ZERO);
    for entry in scores.chunks_exact(heads) {
        lse.iter_mut().zip(entry).for_each(|(sum, &x)| *sum += x);
    }
    for entry in scores.chunks_exact_mut(heads) {
        entry.iter_mut().zip(&*lse).for_each(|(x, &sum)| *x /= sum);
    }
    lse.iter_mut().zip(&max).for_each(|(sum, &max)| *sum = max + sum.ln());
}

pub fn edge_softmax(matrix: &Matrix<Cpu>, scores: &Any<Cpu>, p: AnyMut<'_, Cpu>) {
    let (isa, csr, view, heads) = (Isa::current(), matrix.csr(), AnyView::of(scores), scores.shape().1);
    in_real!(scores, R => by_rows::<R>(isa, csr, heads, p, &|i, values, scratch| {
        read_entries(isa, &view, csr.row_range(i), heads, values);
        scratch[0].resize(heads, R::ZERO);
        softmax_rows(values, heads, &mut scratch[0]);
    }));
}

/// `ds = p (dp - sum over the row of p dp)`, head by head; `ds` holds `dp` before.
pub fn softmax_gradient<R: Number>(p: &[R], ds: &mut [R], heads: usize, sums: &mut Vec<R>) {
    sums.clear();
    sums.resize(heads, R::ZERO);
    for (p, dp) in p.chunks_exact(heads.max(1)).zip(ds.chunks_exact(heads.max(1))) {
        sums.iter_mut().zip(p).zip(dp).for_each(|((sum, &p), &dp)| *sum += p * dp);
    }
    for (p, ds) in p.chunks_exact(heads.max(1)).zip(ds.chunks_exact_mut(heads.max(1))) {
        ds.iter_mut().zip(p).zip(&*sums).for_each(|((ds, &p), &sum)| *ds = p * (*ds - sum));
    }
}

pub fn edge_softmax_backward(matrix: &Matrix<Cpu>, p: &Any<Cpu>, dp: &Any<Cpu>, ds: AnyMut<'_, Cpu>) {
    let (isa, csr, heads) = (Isa::current(), matrix.csr(), p.shape().1);
    let (p_view, dp_view) = (AnyView::of(p), AnyView::of(dp));
    in_real!(p, R => by_rows::<R>(isa, csr, heads, ds, &|i, values, [p, sums]| {
        read_entries(isa, &dp_view, csr.row_range(i), heads, values);
        p.resize(values.len(), R::ZERO);
        read_entries(isa, &p_view, csr.row_range(i), heads, p);
        softmax_gradient(p, values, heads, sums);
    }));
}

pub fn edge_reduce(op: &EdgeReduceOp<Cpu>, y: AnyMut<'_, Cpu>) {
    let (isa, (csr, positions), e) = (Isa::current(), seen(&op.matrix, op.transposed), AnyView::of(&op.values));
    if !op.values.dtype().is_float() {
        return super::reference::sddmm::edge_reduce(op, y);
    }
    in_real!(&op.values, R => super::dense::rows_of::<R>(isa, y, &|i, sums, scratch| {
        sums.fill(R::ZERO);
        let range = csr.row_range(i);
        for (n, k) in range.clone().enumerate() {
            let values = e.row_as::<R>(isa, positions.map_or(k, |p| p[k]), scratch);
            let each = sums.iter_mut().zip(values);
            let choose = |better: fn(&R, &R) -> bool, (sum, v): (&mut R, &R)| {
                if n == 0 || better(v, sum) || (sum.is_nan() && !v.is_nan()) {
                    *sum = *v;
                }
            };
            match op.reduce {
                Reduce::Sum | Reduce::Mean => each.for_each(|(sum, &v)| *sum += v),
                Reduce::Max => each.for_each(|pair| choose(|v, sum| v > sum, pair)),
                Reduce::Min => each.for_each(|pair| choose(|v, sum| v < sum, pair)),
            }
        }
        if op.reduce == Reduce::Mean && range.len() > 1 {
            let count = R::of(range.len() as f64);
            sums.iter_mut().for_each(|sum| *sum /= count);
        }
    }));
}
