//! Values for entries by plain loops.

use super::graph::{Weights, entries};
use super::plain::Plain;
use crate::Cpu;
use bitgraph_backend::Matrix;
use bitgraph_tensor::ops::{EdgeReduceOp, Pairing, Reduce, SddmmOp};
use bitgraph_tensor::{Any, AnyMut};

pub fn sddmm(op: &SddmmOp<Cpu>, e: AnyMut<'_, Cpu>) {
    let (left, right, weights) = (Plain::of(&op.left), Plain::of(&op.right), Weights::of(&op.edge, &op.matrix));
    let (rows, columns) = (op.scale_rows.as_ref().map(Plain::of_reals), op.scale_columns.as_ref().map(Plain::of_reals));
    let scale = |d: &Option<Plain>, i: usize| d.as_ref().map_or(1.0, |d| d.get(i, 0));
    let mut values = Plain::zeros(op.matrix.nvals(), op.heads);
    let width = left.columns / op.heads.max(1);
    for entry in entries(&op.matrix, false) {
        let (u, v) = (left.row(entry.row), right.row(entry.column));
        for h in 0..op.heads {
            let pair = match op.pairing {
                Pairing::Dot => (h * width..(h + 1) * width).map(|c| u[c] * v[c]).sum(),
                Pairing::Add => u[h] + v[h],
                Pairing::Multiply => u[h] * v[h],
            };
            let factor = op.factor * scale(&rows, entry.row) * scale(&columns, entry.column) * weights.get(entry.position, h);
            let value = factor * pair;
            *values.at(entry.position, h) = op.activation.map_or(value, |f| f.apply(value));
        }
    }
    values.store(e);
}

/// The softmax over the entries of each row, head by head, and the logarithm of the sum of the exponentials.
pub fn softmax(matrix: &Matrix<Cpu>, scores: &Plain) -> (Plain, Plain) {
    let heads = scores.columns;
    let mut p = Plain::zeros(scores.rows, heads);
    let mut lse = Plain::zeros(matrix.shape().0, heads);
    lse.data.fill(f64::NEG_INFINITY);
    let all = entries(matrix, false);
    for row in all.chunk_by(|a, b| a.row == b.row) {
        for h in 0..heads {
            let max = row.iter().fold(f64::NEG_INFINITY, |m, e| m.max(scores.get(e.position, h)));
            let exps: Vec<f64> = row.iter().map(|e| (scores.get(e.position, h) - max).exp()).collect();
            let sum: f64 = exps.iter().sum();
            row.iter().zip(exps).for_each(|(e, x)| *p.at(e.position, h) = x / sum);
            *lse.at(row[0].row, h) = max + sum.ln();
        }
    }
    (p, lse)
}

pub fn edge_softmax(matrix: &Matrix<Cpu>, scores: &Any<Cpu>, p: AnyMut<'_, Cpu>) {
    softmax(matrix, &Plain::of(scores)).0.store(p);
}

/// `p (dp - sum over the row of p dp)`.
pub fn softmax_gradient(matrix: &Matrix<Cpu>, p: &Plain, dp: &Plain) -> Plain {
    let mut ds = Plain::zeros(p.rows, p.columns);
    let all = entries(matrix, false);
    for row in all.chunk_by(|a, b| a.row == b.row) {
        for h in 0..p.columns {
            let mean: f64 = row.iter().map(|e| p.get(e.position, h) * dp.get(e.position, h)).sum();
            row.iter().for_each(|e| *ds.at(e.position, h) = p.get(e.position, h) * (dp.get(e.position, h) - mean));
        }
    }
    ds
}

pub fn edge_softmax_backward(matrix: &Matrix<Cpu>, p: &Any<Cpu>, dp: &Any<Cpu>, ds: AnyMut<'_, Cpu>) {
    softmax_gradient(matrix, &Plain::of(p), &Plain::of(dp)).store(ds);
}

pub fn edge_reduce(op: &EdgeReduceOp<Cpu>, y: AnyMut<'_, Cpu>) {
    let values = Plain::of(&op.values);
    let (rows, columns) = op.matrix.shape();
    let mut reduced = Plain::zeros(if op.transposed { columns } else { rows }, values.columns);
    let all = entries(&op.matrix, op.transposed);
    for row in all.chunk_by(|a, b| a.row == b.row) {
        for c in 0..values.columns {
            let messages = row.iter().map(|e| values.get(e.position, c));
            let choose = |better: fn(f64, f64) -> bool| {
                messages.clone().reduce(|a, b| if better(b, a) || (a.is_nan() && !b.is_nan()) { b } else { a }).unwrap_or(0.0)
            };
            *reduced.at(row[0].row, c) = match op.reduce {
                Reduce::Sum => messages.sum(),
                Reduce::Mean => messages.sum::<f64>() / row.len() as f64,
                Reduce::Max => choose(|b, a| b > a),
                Reduce::Min => choose(|b, a| b < a),
            };
        }
    }
    reduced.store(y);
}
