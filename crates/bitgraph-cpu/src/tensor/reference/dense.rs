//! Operations over dense matrices by plain loops.

use super::plain::Plain;
use crate::Cpu;
use bitgraph_backend::Error;
use bitgraph_tensor::ops::{AdamOp, AdamOut, BatchNormGradients, BatchNormOp, CrossEntropyOp, GemmOp, MapOp, SgdOp, SgdOut};
use bitgraph_tensor::{Any, AnyMut, Error as TensorError, Out};

pub fn gemm(op: &GemmOp<Cpu>, y: AnyMut<'_, Cpu>) {
    let whole = !op.a.dtype().is_float();
    let ((rows, columns, length), a, b) = (op.sizes(), Plain::of(&op.a), Plain::of(&op.b));
    let first = |i: usize, k: usize| if op.transpose_a { a.get(k, i) } else { a.get(i, k) };
    let second = |k: usize, c: usize| if op.transpose_b { b.get(c, k) } else { b.get(k, c) };
    let mut product = Plain::zeros(rows, columns);
    for i in 0..rows {
        for c in 0..columns {
            let sum: f64 = (0..length).map(|k| first(i, k) * second(k, c)).sum();
            *product.at(i, c) = if whole { f64::from(sum as i64 as i32) } else { sum };
        }
    }
    product.finish(&op.epilogue);
    product.store(y);
}

pub fn map(op: &MapOp<Cpu>, y: AnyMut<'_, Cpu>) {
    let mut x = Plain::of(&op.x);
    x.finish(&op.epilogue);
    x.store(y);
}

/// A value for every column, of one row.
fn by_columns(x: &Plain, f: impl Fn(&mut dyn Iterator<Item = f64>, usize) -> f64) -> Plain {
    let data = (0..x.columns).map(|c| f(&mut (0..x.rows).map(|i| x.get(i, c)), c)).collect();
    Plain { rows: 1, columns: x.columns, data }
}

pub fn sum_columns(x: &Any<Cpu>, sums: AnyMut<'_, Cpu>) {
    by_columns(&Plain::of(x), |column, _| column.sum()).store(sums);
}

pub fn dot_columns(x: &Any<Cpu>, other: &Any<Cpu>, sums: AnyMut<'_, Cpu>) {
    let other = Plain::of(other);
    by_columns(&Plain::of(x), |column, c| column.enumerate().map(|(i, x)| x * other.get(i, c)).sum()).store(sums);
}

pub fn moments(x: &Any<Cpu>, mean: AnyMut<'_, Cpu>, variance: AnyMut<'_, Cpu>) {
    let x = Plain::of(x);
    let n = x.rows.max(1) as f64;
    let means = by_columns(&x, |column, _| column.sum::<f64>() / n);
    by_columns(&x, |column, c| column.map(|v| (v - means.get(0, c)).powi(2)).sum::<f64>() / n).store(variance);
    means.store(mean);
}

pub fn batch_norm_backward(op: &BatchNormOp<Cpu>, gradients: BatchNormGradients<'_, Cpu>) {
    let (x, dy) = (Plain::of(&op.x), Plain::of(&op.dy));
    let (mean, variance) = (Plain::of_reals(&op.mean), Plain::of_reals(&op.variance));
    let gamma = op.gamma.as_ref().map(Plain::of_reals);
    let n = x.rows.max(1) as f64;
    let root = |c: usize| (variance.get(0, c) + op.epsilon).sqrt();
    let normal = |i: usize, c: usize| (x.get(i, c) - mean.get(0, c)) / root(c);
    let dbeta = by_columns(&dy, |column, _| column.sum());
    let dgamma = by_columns(&dy, |column, c| column.enumerate().map(|(i, dy)| dy * normal(i, c)).sum());
    let mut dx = Plain::zeros(x.rows, x.columns);
    for i in 0..x.rows {
        for c in 0..x.columns {
            let centred = dy.get(i, c) - dbeta.get(0, c) / n - normal(i, c) * dgamma.get(0, c) / n;
            *dx.at(i, c) = gamma.as_ref().map_or(1.0, |g| g.get(0, c)) / root(c) * centred;
        }
    }
    dx.store(gradients.dx);
    dgamma.store(gradients.dgamma);
    dbeta.store(gradients.dbeta);
}

pub fn adam(op: &AdamOp<Cpu>, out: AdamOut<'_, Cpu>) {
    let (mut p, g) = (Plain::of_reals(&op.parameters), Plain::of_reals(&op.gradients));
    let (mut m, mut v) = (Plain::of_reals(&op.first), Plain::of_reals(&op.second));
    let (decay, s) = (op.decay.as_ref().map(Plain::of_reals), op.settings);
    for e in 0..p.data.len() {
        let decay = decay.as_ref().map_or(0.0, |d| d.data[e]);
        let gradient = g.data[e] * s.gradient_factor + if s.decoupled { 0.0 } else { decay * p.data[e] };
        let kept = if s.decoupled { 1.0 - s.rate * decay } else { 1.0 };
        m.data[e] = s.beta1 * m.data[e] + (1.0 - s.beta1) * gradient;
        v.data[e] = s.beta2 * v.data[e] + (1.0 - s.beta2) * gradient.powi(2);
        let (mean, square) = (m.data[e] / op.corrections.0, v.data[e] / op.corrections.1);
        p.data[e] = kept * p.data[e] - s.rate * mean / (square.sqrt() + s.epsilon);
    }
    p.store(out.parameters);
    m.store(out.first);
    v.store(out.second);
}

pub fn sgd(op: &SgdOp<Cpu>, out: SgdOut<'_, Cpu>) {
    let (mut p, mut v) = (Plain::of_reals(&op.parameters), Plain::of_reals(&op.velocity));
    let (g, decay, s) = (Plain::of_reals(&op.gradients), op.decay.as_ref().map(Plain::of_reals), op.settings);
    for e in 0..p.data.len() {
        let decay = decay.as_ref().map_or(0.0, |d| d.data[e]);
        v.data[e] = s.momentum * v.data[e] + g.data[e] * s.gradient_factor + decay * p.data[e];
        p.data[e] -= s.rate * v.data[e];
    }
    p.store(out.parameters);
    v.store(out.velocity);
}

fn log_softmax_of(x: &Plain) -> Plain {
    let mut y = Plain::zeros(x.rows, x.columns);
    for i in 0..x.rows {
        let max = x.row(i).iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        let sum: f64 = x.row(i).iter().map(|v| (v - max).exp()).sum();
        (0..x.columns).for_each(|c| *y.at(i, c) = x.get(i, c) - max - sum.ln());
    }
    y
}

pub fn log_softmax(x: &Any<Cpu>, y: AnyMut<'_, Cpu>) {
    log_softmax_of(&Plain::of(x)).store(y);
}

pub fn log_softmax_backward(y: &Any<Cpu>, dy: &Any<Cpu>, dx: AnyMut<'_, Cpu>) {
    let (y, dy) = (Plain::of(y), Plain::of(dy));
    let mut gradient = Plain::zeros(y.rows, y.columns);
    for i in 0..y.rows {
        let sum: f64 = dy.row(i).iter().sum();
        (0..y.columns).for_each(|c| *gradient.at(i, c) = dy.get(i, c) - y.get(i, c).exp() * sum);
    }
    gradient.store(dx);
}

/// The classes of the rows that take part, the others' absent.
pub fn classes(op: &CrossEntropyOp<Cpu>) -> Result<Vec<Option<usize>>, Error> {
    let classes = op.logits.shape().1;
    let (all, window) = (op.labels.raw().as_slice(), op.labels.window());
    let class = |row: usize| match all[window.row(row)][0] {
        label if label < 0 => Ok(None),
        label if (label as usize) < classes => Ok(Some(label as usize)),
        label => {
            let classes = u32::try_from(classes).unwrap_or(u32::MAX);
            Err(TensorError::Label { operation: "cross_entropy", row: row as u64, label: label.into(), classes }.into())
        }
    };
    (0..window.rows()).map(class).collect()
}

pub fn cross_entropy(op: &CrossEntropyOp<Cpu>, loss: AnyMut<'_, Cpu>, dx: Option<AnyMut<'_, Cpu>>) -> Result<(), Error> {
    let (labels, y) = (classes(op)?, log_softmax_of(&Plain::of(&op.logits)));
    let n = labels.iter().flatten().count().max(1) as f64;
    let sum: f64 = labels.iter().enumerate().filter_map(|(i, label)| label.map(|c| -y.get(i, c))).sum();
    Plain { rows: 1, columns: 1, data: vec![sum / n] }.store(loss);
    if let Some(dx) = dx {
        let mut gradient = Plain::zeros(y.rows, y.columns);
        for (i, label) in labels.iter().enumerate() {
            let Some(label) = *label else { continue };
            for c in 0..y.columns {
                let hit = if c == label { 1.0 } else { 0.0 };
                *gradient.at(i, c) = op.gradient_scale * (y.get(i, c).exp() - hit) / n;
            }
        }
        gradient.store(dx);
    }
    Ok(())
}

pub fn argmax_rows(x: &Any<Cpu>, out: Out<'_, Cpu, i32>) {
    let (x, all) = (Plain::of(x), out.array.as_mut_slice());
    for i in 0..x.rows {
        let row = x.row(i);
        let better = |a: usize, b: usize| row[b] > row[a] || (row[a].is_nan() && !row[b].is_nan());
        let best = (0..x.columns).reduce(|a, b| if better(a, b) { b } else { a });
        all[out.window.row(i)][0] = best.map_or(-1, |c| c as i32);
    }
}
