//! Operations over dense matrices alone, a row or a column at a time.
//!
//! Sums over rows are formed in blocks of rows of a fixed size, whose sums are added in order: the same whatever the number of threads.
#![allow(unsafe_code)]

use super::finish::Finish;
use super::number::{Number, Sum};
use super::reference::dense::classes;
use super::sink::Sink;
use super::view::{AnyView, Rows};
use crate::spmv::per_level;
use crate::{Cpu, Isa};
use bitgraph_backend::Error;
use bitgraph_semiring::Scalar;
use bitgraph_sparse::parallel::{self, DisjointSlice};
use bitgraph_tensor::ops::{AdamOp, AdamOut, CrossEntropyOp, MapOp, SgdOp, SgdOut};
use bitgraph_tensor::{Any, AnyMut, Out, Real, Reals};
use std::ops::Range;

/// Rows of a block.
const ROWS: usize = 256;
/// Elements that a step takes at a time: they stay in the nearest cache between their reading and their writing.
const ELEMENTS: usize = 4096;

/// Whether an operand is computed with in double precision.
pub fn is_double(x: &Any<Cpu>) -> bool {
    matches!(x, Any::F64(_))
}

/// Runs `$body` with `$r` standing for the type that an operand is computed in.
macro_rules! in_real {
    ($x:expr, $r:ident => $body:expr) => {
        if $crate::tensor::dense::is_double($x) {
            type $r = f64;
            $body
        } else {
            type $r = f32;
            $body
        }
    };
}

pub(super) use in_real;

/// Rows that a step takes at a time.
pub fn step(columns: usize) -> usize {
    (ELEMENTS / columns.max(1)).max(1)
}

/// Makes the rows of an output in parallel: `f(i, row, scratch)` fills row `i`, whatever is there.
#[allow(clippy::type_complexity)] // what a caller writes
pub fn rows_of<R: Sum>(isa: Isa, out: AnyMut<'_, Cpu>, f: &(dyn Fn(usize, &mut [R], &mut Vec<R>) + Sync)) {
    let sink = Sink::<R>::new(isa, out);
    let (rows, columns) = sink.window().shape();
    if rows == 0 || columns == 0 {
        return;
    }
    parallel::blocks(rows, step(columns), |block| {
        let (mut made, mut scratch) = (Vec::new(), Vec::new());
        let all = |made: &mut [R]| block.clone().zip(made.chunks_exact_mut(columns)).for_each(|(i, row)| f(i, row, &mut scratch));
        // SAFETY: rows are disjoint, and each is in one block.
        unsafe { sink.make(block.clone(), &mut made, all) };
    });
}

/// Sums of columns: `f(rows, sums, scratch)` adds what some rows, of `columns` elements each, give to `width` sums.
#[allow(clippy::type_complexity)] // what a caller writes
pub fn sums<R: Number>(
    (rows, columns): (usize, usize),
    width: usize,
    f: &(dyn Fn(Range<usize>, &mut [R], &mut [Vec<R>; 2]) + Sync),
) -> Vec<R> {
    let parts = parallel::collect(rows.div_ceil(ROWS), |block| {
        let (mut sums, mut scratch) = (vec![R::ZERO; width], [Vec::new(), Vec::new()]);
        let (mut start, end) = (block * ROWS, ((block + 1) * ROWS).min(rows));
        while start < end {
            let next = (start + step(columns)).min(end);
            f(start..next, &mut sums, &mut scratch);
            start = next;
        }
        sums
    });
    // Pairs of parts of equal size are added, so that the error grows with the logarithm of their number.
    fn tree<R: Number>(parts: &[Vec<R>], width: usize) -> Vec<R> {
        match parts {
            [] => vec![R::ZERO; width],
            [one] => one.clone(),
            _ => {
                let (left, right) = parts.split_at(parts.len().div_ceil(2));
                let (mut left, right) = (tree(left, width), tree(right, width));
                left.iter_mut().zip(right).for_each(|(a, b)| *a += b);
                left
            }
        }
    }
    tree(&parts, width)
}

/// Writes a matrix of one row.
pub fn write_row<R: Number>(isa: Isa, values: &[R], out: AnyMut<'_, Cpu>) {
    // SAFETY: no other task has the output.
    unsafe { Sink::new(isa, out).rows(0, values) };
}

pub fn map(op: &MapOp<Cpu>, y: AnyMut<'_, Cpu>) {
    let (isa, x) = (Isa::current(), AnyView::of(&op.x));
    // Whole numbers beyond 2^24 are not numbers of the type that epilogues are computed in.
    if op.epilogue.is_empty() && !op.x.dtype().is_float() && !y.dtype().is_float() {
        return rows_of::<i32>(isa, y, &|i, row, _| x.row_into(isa, i, row));
    }
    in_real!(&op.x, R => {
        let (steps, sink) = (Finish::<R>::new(isa, &op.epilogue), Sink::<R>::new(isa, y));
        let (rows, columns) = sink.window().shape();
        if rows == 0 || columns == 0 {
            return;
        }
        parallel::blocks(rows, step(columns), |block| {
            let all = |made: &mut [R]| {
                x.rows_into(isa, block.clone(), made);
                steps.block(block.start, columns, made);
            };
            // SAFETY: rows are disjoint, and each is in one block.
            unsafe { sink.make(block.clone(), &mut Vec::new(), all) };
        });
    });
}

pub fn sum_columns(x: &Any<Cpu>, out: AnyMut<'_, Cpu>) {
    let (isa, view, shape) = (Isa::current(), AnyView::of(x), x.shape());
    in_real!(x, R => {
        let all = sums::<R>(shape, shape.1, &|rows, sums, [scratch, _]| add(isa, view.rows_as(isa, rows, scratch), sums));
        write_row(isa, &all, out);
    });
}

pub fn dot_columns(x: &Any<Cpu>, other: &Any<Cpu>, out: AnyMut<'_, Cpu>) {
    let (isa, [x_view, other], shape) = (Isa::current(), [x, other].map(AnyView::of), x.shape());
    in_real!(x, R => {
        let all = sums::<R>(shape, shape.1, &|rows, sums, [first, second]| {
            add_products(isa, x_view.rows_as(isa, rows.clone(), first), other.rows_as(isa, rows, second), sums);
        });
        write_row(isa, &all, out);
    });
}

per_level! {
    /// Adds rows to sums.
    pub fn add<R: Number>(x: Rows<'_, R>, sums: &mut [R]) = add_body
}
#[inline(always)]
fn add_body<R: Number>(x: Rows<'_, R>, sums: &mut [R]) {
    x.iter().for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x));
}

per_level! {
    /// Adds products of rows to sums.
    fn add_products<R: Number>(x: Rows<'_, R>, z: Rows<'_, R>, sums: &mut [R]) = add_products_body
}
#[inline(always)]
fn add_products_body<R: Number>(x: Rows<'_, R>, z: Rows<'_, R>, sums: &mut [R]) {
    for (x, z) in x.iter().zip(z.iter()) {
        sums.iter_mut().zip(x.iter().zip(z)).for_each(|(sum, (&x, &z))| *sum += x * z);
    }
}

pub fn adam(op: &AdamOp<Cpu>, out: AdamOut<'_, Cpu>) {
    let (isa, parameters) = (Isa::current(), op.parameters.any());
    in_real!(&parameters, R => {
        let (rows, columns) = parameters.shape();
        let [p, g, m, v] = [&op.parameters, &op.gradients, &op.first, &op.second].map(Reals::any);
        let [p, g, m, v] = [&p, &g, &m, &v].map(AnyView::of);
        let decay = op.decay.as_ref().map(Reals::any);
        let decay = decay.as_ref().map(AnyView::of);
        let s = op.settings;
        let [rate, beta1, beta2, epsilon, factor] = [s.rate, s.beta1, s.beta2, s.epsilon, s.gradient_factor].map(R::of);
        let (correction1, correction2) = (R::of(op.corrections.0), R::of(op.corrections.1));
        let [p_out, m_out, v_out] = [out.parameters, out.first, out.second].map(|out| Sink::<R>::new(isa, out));
        parallel::each(rows.div_ceil(ROWS), &|block| {
            let mut scratch = vec![R::ZERO; 5 * columns];
            for i in block * ROWS..((block + 1) * ROWS).min(rows) {
                let (pr, rest) = scratch.split_at_mut(columns);
                let (gr, rest) = rest.split_at_mut(columns);
                let (mr, rest) = rest.split_at_mut(columns);
                let (vr, dr) = rest.split_at_mut(columns);
                for (view, row) in [(p, &mut *pr), (g, &mut *gr), (m, &mut *mr), (v, &mut *vr)] {
                    view.row_into(isa, i, row);
                }
                if let Some(decay) = decay {
                    decay.row_into(isa, i, dr);
                }
                for c in 0..columns {
                    let mut gradient = gr[c] * factor;
                    if s.decoupled {
                        pr[c] -= rate * dr[c] * pr[c];
                    } else {
                        gradient += dr[c] * pr[c];
                    }
                    mr[c] = beta1 * mr[c] + (R::ONE - beta1) * gradient;
                    vr[c] = beta2 * vr[c] + (R::ONE - beta2) * gradient * gradient;
                    pr[c] -= rate * (mr[c] / correction1) / ((vr[c] / correction2).sqrt() + epsilon);
                }
                // SAFETY: rows are disjoint, and each is in one block; the outputs are different matrices.
                unsafe {
                    p_out.rows(i, pr);
                    m_out.rows(i, mr);
                    v_out.rows(i, vr);
                }
            }
        });
    });
}

pub fn sgd(op: &SgdOp<Cpu>, out: SgdOut<'_, Cpu>) {
    let (isa, parameters) = (Isa::current(), op.parameters.any());
    in_real!(&parameters, R => {
        let (rows, columns) = parameters.shape();
        let [p, g, v] = [&op.parameters, &op.gradients, &op.velocity].map(Reals::any);
        let [p, g, v] = [&p, &g, &v].map(AnyView::of);
        let decay = op.decay.as_ref().map(Reals::any);
        let decay = decay.as_ref().map(AnyView::of);
        let [rate, momentum, factor] = [op.settings.rate, op.settings.momentum, op.settings.gradient_factor].map(R::of);
        let [p_out, v_out] = [out.parameters, out.velocity].map(|out| Sink::<R>::new(isa, out));
        parallel::each(rows.div_ceil(ROWS), &|block| {
            let mut scratch = vec![R::ZERO; 4 * columns];
            for i in block * ROWS..((block + 1) * ROWS).min(rows) {
                let (pr, rest) = scratch.split_at_mut(columns);
                let (gr, rest) = rest.split_at_mut(columns);
                let (vr, dr) = rest.split_at_mut(columns);
                for (view, row) in [(p, &mut *pr), (g, &mut *gr), (v, &mut *vr)] {
                    view.row_into(isa, i, row);
                }
                if let Some(decay) = decay {
                    decay.row_into(isa, i, dr);
                }
                for c in 0..columns {
                    vr[c] = momentum * vr[c] + (gr[c] * factor + dr[c] * pr[c]);
                    pr[c] -= rate * vr[c];
                }
                // SAFETY: rows are disjoint, and each is in one block; the outputs are different matrices.
                unsafe {
                    p_out.rows(i, pr);
                    v_out.rows(i, vr);
                }
            }
        });
    });
}

/// The logarithm of the softmax of a row, in place.
fn log_softmax_row<R: Number>(x: &mut [R]) {
    let max = x.iter().fold(R::smallest(), |m, &v| m.max_of(v));
    let sum = x.iter().fold(R::ZERO, |sum, &v| sum + (v - max).exp());
    let shift = max + sum.ln();
    x.iter_mut().for_each(|v| *v -= shift);
}

pub fn log_softmax(x: &Any<Cpu>, y: AnyMut<'_, Cpu>) {
    let (isa, view) = (Isa::current(), AnyView::of(x));
    in_real!(x, R => rows_of::<R>(isa, y, &|i, row, _| {
        view.row_into(isa, i, row);
        log_softmax_row(row);
    }));
}

pub fn log_softmax_backward(y: &Any<Cpu>, dy: &Any<Cpu>, dx: AnyMut<'_, Cpu>) {
    let (isa, y_view, dy_view) = (Isa::current(), AnyView::of(y), AnyView::of(dy));
    in_real!(y, R => rows_of::<R>(isa, dx, &|i, row, scratch| {
        y_view.row_into(isa, i, row);
        let dy = dy_view.row_as(isa, i, scratch);
        let sum = dy.iter().fold(R::ZERO, |sum, &v| sum + v);
        row.iter_mut().zip(dy).for_each(|(y, &dy)| *y = dy - y.exp() * sum);
    }));
}

pub fn cross_entropy(op: &CrossEntropyOp<Cpu>, loss: AnyMut<'_, Cpu>, dx: Option<AnyMut<'_, Cpu>>) -> Result<(), Error> {
    let labels = classes(op)?;
    let (isa, x, (rows, columns)) = (Isa::current(), AnyView::of(&op.logits), op.logits.shape());
    in_real!(&op.logits, R => {
        let n = R::of(labels.iter().flatten().count().max(1) as f64);
        let total = sums::<R>((rows, columns), 1, &|block, sums, [row, _]| {
            row.resize(columns, R::ZERO);
            for i in block {
                if let Some(label) = labels[i] {
                    x.row_into(isa, i, row);
                    log_softmax_row(row);
                    sums[0] -= row[label];
                }
            }
        });
        write_row(isa, &[total[0] / n], loss);
        if let Some(dx) = dx {
            let scale = R::of(op.gradient_scale) / n;
            rows_of::<R>(isa, dx, &|i, row, _| {
                let Some(label) = labels[i] else { return row.fill(R::ZERO) };
                x.row_into(isa, i, row);
                log_softmax_row(row);
                row.iter_mut().for_each(|v| *v = v.exp() * scale);
                row[label] -= scale;
            });
        }
    });
    Ok(())
}

pub fn argmax_rows(x: &Any<Cpu>, out: Out<'_, Cpu, i32>) {
    let (isa, view, columns) = (Isa::current(), AnyView::of(x), x.shape().1);
    let window = out.window;
    let all = DisjointSlice::new(out.array.as_mut_slice());
    in_real!(x, R => parallel::each(window.rows().div_ceil(ROWS), &|block| {
        let mut scratch = Vec::new();
        for i in block * ROWS..((block + 1) * ROWS).min(window.rows()) {
            let row: &[R] = view.row_as(isa, i, &mut scratch);
            let better = |a: usize, b: usize| row[b] > row[a] || (row[a].is_nan() && !row[b].is_nan());
            let best = (0..columns).reduce(|a, b| if better(a, b) { b } else { a });
            // SAFETY: rows are disjoint, and each is in one block.
            unsafe { all.write(window.row(i).start, best.map_or(-1, |c| c as i32)) };
        }
    }));
}
