//! Sparse times dense by plain loops: every message in double precision, every row from its first entry to its last.

use super::graph::{Weights, entries};
use super::plain::Plain;
use crate::Cpu;
use bitgraph_backend::Matrix;
use bitgraph_semiring::{DType, Scalar};
use bitgraph_tensor::ops::{Accumulation, Load, Reduce, SpmmOp};
use bitgraph_tensor::{Any, AnyMut, Dense, Out};
use half::{bf16, f16};

pub fn spmm(op: &SpmmOp<Cpu>, y: AnyMut<'_, Cpu>, chosen: Option<Out<'_, Cpu, i32>>) {
    let Load::Dense(features) = &op.features;
    let (rows, columns) = (op.matrix_shape().0, features.shape().1);
    let mut sums = match op.accumulation {
        Accumulation::Wide => reduced(op, &Plain::of(features), rows, chosen),
        Accumulation::Discretised { batch } if features.dtype() == DType::F16 => discretised::<f16>(op, features, batch as usize),
        Accumulation::Discretised { batch } => discretised::<bf16>(op, features, batch as usize),
    };
    debug_assert_eq!((sums.rows, sums.columns), (rows, columns));
    sums.finish(&op.epilogue);
    sums.store(y);
}

/// The number of entries of every row, that of `own` included.
fn counts(op: &SpmmOp<Cpu>) -> Vec<f64> {
    let mut counts = vec![if op.own.is_some() { 1.0 } else { 0.0 }; op.matrix_shape().0];
    entries(&op.matrix, op.transposed).iter().for_each(|e| counts[e.row] += 1.0);
    counts
}

/// The messages of every row in ascending order of columns, that of `own` last: row, column, weights by head.
fn messages(op: &SpmmOp<Cpu>) -> Vec<(usize, usize, Vec<f64>)> {
    let weights = Weights::of(&op.edge, &op.matrix);
    let scale = op.scale_columns.as_ref().map(Plain::of_reals);
    let c = |j: usize| scale.as_ref().map_or(1.0, |d| d.get(j, 0));
    let mut all: Vec<_> = entries(&op.matrix, op.transposed)
        .iter()
        .map(|e| (e.row, e.column, (0..op.heads).map(|h| weights.get(e.position, h) * c(e.column)).collect()))
        .collect();
    if let Some(own) = op.own {
        all.extend((0..op.matrix_shape().0).map(|i| (i, i, vec![own * c(i); op.heads])));
        all.sort_by_key(|m: &(usize, usize, Vec<f64>)| m.0);
    }
    all
}

fn reduced(op: &SpmmOp<Cpu>, x: &Plain, rows: usize, chosen: Option<Out<'_, Cpu, i32>>) -> Plain {
    let width = x.columns / op.heads.max(1);
    let mut y = Plain::zeros(rows, x.columns);
    let mut from = vec![-1i32; rows * x.columns];
    let mut filled = vec![false; rows];
    for (i, j, weights) in messages(op) {
        for c in 0..x.columns {
            let (message, at) = (weights[c / width] * x.get(j, c), i * x.columns + c);
            let better = match op.reduce {
                Reduce::Sum | Reduce::Mean => {
                    y.data[at] += message;
                    continue;
                }
                Reduce::Max => message > y.data[at],
                Reduce::Min => message < y.data[at],
            };
            if !filled[i] || better || (y.data[at].is_nan() && !message.is_nan()) {
                (y.data[at], from[at]) = (message, j as i32);
            }
        }
        filled[i] = true;
    }
    if op.is_whole() {
        // Sums of integers wrap as those of `i32` do.
        y.data.iter_mut().for_each(|v| *v = f64::from(*v as i64 as i32));
    }
    let (counts, scale) = (counts(op), op.scale_rows.as_ref().map(Plain::of_reals));
    for i in 0..rows {
        let count = if op.reduce == Reduce::Mean { counts[i].max(1.0) } else { 1.0 };
        let factor = scale.as_ref().map_or(1.0, |d| d.get(i, 0));
        (0..x.columns).for_each(|c| *y.at(i, c) = y.get(i, c) / count * factor);
    }
    if let Some(out) = chosen {
        let all = out.array.as_mut_slice();
        (0..rows).for_each(|i| all[out.window.row(i)].copy_from_slice(&from[i * x.columns..(i + 1) * x.columns]));
    }
    y
}

/// Sums in a half type, batch by batch, each scaled before it is added to the row's total. Every product and every sum is rounded.
pub fn discretised<T: Scalar>(op: &SpmmOp<Cpu>, features: &Any<Cpu>, batch: usize) -> Plain {
    let (x, rows) = (Plain::of(features), op.matrix_shape().0);
    let width = x.columns / op.heads.max(1);
    let round = |value: f64| T::from_f64(value).to_f64();
    let (counts, scale) = (counts(op), op.scale_rows.as_ref().map(Plain::of_reals));
    let factor = |i: usize| {
        let mean = if op.reduce == Reduce::Mean && counts[i] > 0.0 { 1.0 / counts[i] } else { 1.0 };
        mean * scale.as_ref().map_or(1.0, |d| d.get(i, 0))
    };
    let mut y = Plain::zeros(rows, x.columns);
    let all = messages(op);
    for row in all.chunk_by(|a, b| a.0 == b.0) {
        let i = row[0].0;
        for messages in row.chunks(batch) {
            for c in 0..x.columns {
                let sum = messages.iter().fold(0.0, |sum, (_, j, w)| round(sum + round(w[c / width] * x.get(*j, c))));
                *y.at(i, c) = round(y.get(i, c) + round(sum * factor(i)));
            }
        }
    }
    y
}

pub fn chosen_backward(op: &SpmmOp<Cpu>, chosen: &Dense<Cpu, i32>, dy: &Any<Cpu>, dx: AnyMut<'_, Cpu>) {
    let (dy, chosen) = (Plain::of(dy), Plain::of(&chosen.any()));
    let weights = Weights::of(&op.edge, &op.matrix);
    let (rows, columns) = (op.scale_rows.as_ref().map(Plain::of_reals), op.scale_columns.as_ref().map(Plain::of_reals));
    let scale = |d: &Option<Plain>, i: usize| d.as_ref().map_or(1.0, |d| d.get(i, 0));
    let width = dy.columns / op.heads.max(1);
    let mut gradient = Plain::zeros(op.matrix_shape().1, dy.columns);
    for e in entries(&op.matrix, op.transposed) {
        for c in 0..dy.columns {
            if chosen.get(e.row, c) == e.column as f64 {
                let factor = weights.get(e.position, c / width) * scale(&rows, e.row) * scale(&columns, e.column);
                *gradient.at(e.column, c) += factor * dy.get(e.row, c);
            }
        }
    }
    gradient.store(dx);
}

pub fn inverse_counts(matrix: &Matrix<Cpu>, transposed: bool, extra: u32, out: AnyMut<'_, Cpu>) {
    let (rows, columns) = matrix.shape();
    let mut counts = Plain::zeros(if transposed { columns } else { rows }, 1);
    counts.data.fill(f64::from(extra));
    entries(matrix, transposed).iter().for_each(|e| *counts.at(e.row, 0) += 1.0);
    counts.data.iter_mut().filter(|n| **n > 0.0).for_each(|n| *n = 1.0 / *n);
    counts.store(out);
}
