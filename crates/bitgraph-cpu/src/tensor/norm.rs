//! Moments of columns, and gradients through the normalisation by them.
#![allow(unsafe_code)]

use super::dense::{add, in_real, step, sums, write_row};
use super::number::Number;
use super::sink::Sink;
use super::view::{AnyView, Rows, reals};
use crate::spmv::per_level;
use crate::{Cpu, Isa};
use bitgraph_semiring::Scalar;
use bitgraph_sparse::parallel;
use bitgraph_tensor::ops::{BatchNormGradients, BatchNormOp};
use bitgraph_tensor::{Any, AnyMut, Real};

per_level! {
    /// Adds the squares of rows less their mean to sums.
    fn add_squares<R: Number>(x: Rows<'_, R>, mean: &[R], sums: &mut [R]) = add_squares_body
}
#[inline(always)]
fn add_squares_body<R: Number>(x: Rows<'_, R>, mean: &[R], sums: &mut [R]) {
    for row in x.iter() {
        sums.iter_mut().zip(row.iter().zip(mean)).for_each(|(sum, (&x, &mean))| *sum += (x - mean) * (x - mean));
    }
}

pub fn moments(x: &Any<Cpu>, mean: AnyMut<'_, Cpu>, variance: AnyMut<'_, Cpu>) {
    let (isa, view, shape) = (Isa::current(), AnyView::of(x), x.shape());
    in_real!(x, R => {
        let n = R::of(shape.0.max(1) as f64);
        let mut means = sums::<R>(shape, shape.1, &|rows, sums, [scratch, _]| add(isa, view.rows_as(isa, rows, scratch), sums));
        means.iter_mut().for_each(|m| *m /= n);
        let squares = |rows, sums: &mut [R], [scratch, _]: &mut [Vec<R>; 2]| add_squares(isa, view.rows_as(isa, rows, scratch), &means, sums);
        let mut variances = sums::<R>(shape, shape.1, &squares);
        variances.iter_mut().for_each(|v| *v /= n);
        write_row(isa, &means, mean);
        write_row(isa, &variances, variance);
    });
}

/// What the gradient of the normalised rows goes through, column by column.
struct Backward<R> {
    mean: Vec<R>,
    /// The inverse of the deviation.
    inverse: Vec<R>,
    gamma: Vec<R>,
    /// The sums of the gradient, and of the gradient times the normalised elements.
    beta_sums: Vec<R>,
    gamma_sums: Vec<R>,
    rows: R,
}

per_level! {
    /// Adds the gradients of rows, and these times the normalised elements, to sums, which stand one behind the other.
    fn add_gradients<R: Number>(with: &Backward<R>, x: Rows<'_, R>, dy: Rows<'_, R>, sums: &mut [R]) = add_gradients_body
}
#[inline(always)]
fn add_gradients_body<R: Number>(with: &Backward<R>, x: Rows<'_, R>, dy: Rows<'_, R>, sums: &mut [R]) {
    let columns = with.mean.len();
    let (beta, gamma) = sums.split_at_mut(columns);
    let (mean, inverse, gamma) = (&with.mean[..columns], &with.inverse[..columns], &mut gamma[..columns]);
    for (x, dy) in x.iter().zip(dy.iter()) {
        let (x, dy) = (&x[..columns], &dy[..columns]);
        for c in 0..columns {
            beta[c] += dy[c];
            gamma[c] += dy[c] * (x[c] - mean[c]) * inverse[c];
        }
    }
}

per_level! {
    /// Rows of elements become their gradients.
    fn gradients<R: Number>(with: &Backward<R>, x: &mut [R], dy: Rows<'_, R>) = gradients_body
}
#[inline(always)]
fn gradients_body<R: Number>(with: &Backward<R>, x: &mut [R], dy: Rows<'_, R>) {
    let (columns, n) = (with.mean.len(), with.rows);
    let [mean, inverse, gamma] = [&with.mean[..columns], &with.inverse[..columns], &with.gamma[..columns]];
    let [beta_sums, gamma_sums] = [&with.beta_sums[..columns], &with.gamma_sums[..columns]];
    for (x, dy) in x.chunks_exact_mut(columns).zip(dy.iter()) {
        let dy = &dy[..columns];
        for c in 0..columns {
            let normal = (x[c] - mean[c]) * inverse[c];
            x[c] = gamma[c] * inverse[c] * (dy[c] - beta_sums[c] / n - normal * gamma_sums[c] / n);
        }
    }
}

pub fn batch_norm_backward(op: &BatchNormOp<Cpu>, gradients_out: BatchNormGradients<'_, Cpu>) {
    let (isa, x, dy, (rows, columns)) = (Isa::current(), AnyView::of(&op.x), AnyView::of(&op.dy), op.x.shape());
    in_real!(&op.x, R => {
        let mut with = Backward::<R> {
            mean: reals(&op.mean),
            inverse: reals::<R>(&op.variance).iter().map(|v| (*v + R::of(op.epsilon)).sqrt().recip()).collect(),
            gamma: op.gamma.as_ref().map_or_else(|| vec![R::ONE; columns], reals::<R>),
            beta_sums: Vec::new(),
            gamma_sums: Vec::new(),
            rows: R::of(rows.max(1) as f64),
        };
        with.beta_sums = sums::<R>((rows, columns), 2 * columns, &|rows, sums, [first, second]| {
            add_gradients(isa, &with, x.rows_as(isa, rows.clone(), first), dy.rows_as(isa, rows, second), sums);
        });
        with.gamma_sums = with.beta_sums.split_off(columns);
        let sink = Sink::<R>::new(isa, gradients_out.dx);
        parallel::blocks(if columns == 0 { 0 } else { rows }, step(columns), |block| {
            let mut scratch = Vec::new();
            let all = |dx: &mut [R]| {
                x.rows_into(isa, block.clone(), dx);
                gradients(isa, &with, dx, dy.rows_as(isa, block.clone(), &mut scratch));
            };
            // SAFETY: rows are disjoint, and each is in one block.
            unsafe { sink.make(block.clone(), &mut Vec::new(), all) };
        });
        write_row(isa, &with.gamma_sums, gradients_out.dgamma);
        write_row(isa, &with.beta_sums, gradients_out.dbeta);
    });
}
