//! Attention by plain loops: scores of all entries, their softmax, the weighted sums, and the gradients by the chain rule.

use super::graph::{Entry, entries};
use super::plain::Plain;
use super::sddmm::{softmax, softmax_gradient};
use crate::Cpu;
use bitgraph_tensor::ops::{AttentionGradients, AttentionOp, NORM_FLOOR, Score};
use bitgraph_tensor::{Activation, AnyMut, Reals};

/// The operands of the scores in double precision.
enum Operands {
    Additive { left: Plain, right: Plain, f: Activation },
    AdditiveV2 { left: Plain, right: Plain, vector: Plain, f: Activation },
    Dot { query: Plain, key: Plain, factor: f64 },
    Cosine { query: Plain, key: Plain, beta: f64 },
    Edge(Plain),
}

impl Operands {
    fn of(score: &Score<Cpu>) -> Self {
        let leaky = |slope: f64| Activation::LeakyRelu { slope };
        match score {
            Score::Additive { left, right, slope } => {
                Self::Additive { left: Plain::of_reals(left), right: Plain::of_reals(right), f: leaky(*slope) }
            }
            Score::AdditiveV2 { left, right, vector, slope } => {
                Self::AdditiveV2 { left: Plain::of(left), right: Plain::of(right), vector: Plain::of_reals(vector), f: leaky(*slope) }
            }
            Score::Dot { query, key, factor } => Self::Dot { query: Plain::of(query), key: Plain::of(key), factor: *factor },
            Score::Cosine { query, key, beta } => {
                Self::Cosine { query: Plain::of(query), key: Plain::of(key), beta: Plain::of_reals(beta).get(0, 0) }
            }
            Score::Edge(scores) => Self::Edge(Plain::of(scores)),
        }
    }
    fn score(&self, e: Entry, head: usize, heads: usize) -> f64 {
        match self {
            Self::Additive { left, right, f } => f.apply(left.get(e.row, head) + right.get(e.column, head)),
            Self::AdditiveV2 { left, right, vector, f } => {
                block(left, head, heads).map(|c| vector.get(0, c) * f.apply(left.get(e.row, c) + right.get(e.column, c))).sum()
            }
            Self::Dot { query, key, factor } => {
                factor * block(query, head, heads).map(|c| query.get(e.row, c) * key.get(e.column, c)).sum::<f64>()
            }
            Self::Cosine { query, key, beta } => beta * cosine(query, key, e, head, heads).0,
            Self::Edge(scores) => scores.get(e.position, head),
        }
    }
}

/// The columns of a head.
fn block(x: &Plain, head: usize, heads: usize) -> std::ops::Range<usize> {
    let width = x.columns / heads.max(1);
    head * width..(head + 1) * width
}

/// The norm of a head's block of a row.
fn norm(x: &Plain, row: usize, head: usize, heads: usize) -> f64 {
    block(x, head, heads).map(|c| x.get(row, c).powi(2)).sum::<f64>().sqrt()
}

/// The cosine of an entry, and both norms, which are the floor or more.
fn cosine(query: &Plain, key: &Plain, e: Entry, head: usize, heads: usize) -> (f64, f64, f64) {
    let (q, k) = (norm(query, e.row, head, heads).max(NORM_FLOOR), norm(key, e.column, head, heads).max(NORM_FLOOR));
    let dot: f64 = block(query, head, heads).map(|c| query.get(e.row, c) * key.get(e.column, c)).sum();
    (dot / q / k, q, k)
}

/// The scores of all entries, and what dropout makes of each.
fn scores(op: &AttentionOp<Cpu>, operands: &Operands, all: &[Entry]) -> (Plain, Plain) {
    let (mut scores, mut kept) = (Plain::zeros(all.len(), op.heads), Plain::zeros(all.len(), op.heads));
    for e in all {
        for h in 0..op.heads {
            *scores.at(e.position, h) = operands.score(*e, h, op.heads);
            *kept.at(e.position, h) = op.dropout.map_or(1.0, |d| d.at(e.position as u64, h as u32));
        }
    }
    (scores, kept)
}

pub fn attention(op: &AttentionOp<Cpu>, y: AnyMut<'_, Cpu>, lse: Option<AnyMut<'_, Cpu>>) {
    let (all, values) = (entries(&op.matrix, false), Plain::of(&op.values));
    let (scores, kept) = scores(op, &Operands::of(&op.score), &all);
    let (p, sums) = softmax(&op.matrix, &scores);
    let mut result = Plain::zeros(op.matrix.shape().0, values.columns);
    for e in &all {
        for h in 0..op.heads {
            let weight = p.get(e.position, h) * kept.get(e.position, h);
            block(&values, h, op.heads).for_each(|c| *result.at(e.row, c) += weight * values.get(e.column, c));
        }
    }
    result.finish(&op.epilogue);
    result.store(y);
    if let Some(lse) = lse {
        sums.store(lse);
    }
}

pub fn backward(op: &AttentionOp<Cpu>, _lse: &Reals<Cpu>, dy: &bitgraph_tensor::Any<Cpu>, gradients: AttentionGradients<'_, Cpu>) {
    let (all, values, dy) = (entries(&op.matrix, false), Plain::of(&op.values), Plain::of(dy));
    let (operands, heads) = (Operands::of(&op.score), op.heads);
    let (scores, kept) = scores(op, &operands, &all);
    let (p, _) = softmax(&op.matrix, &scores);
    let (mut dvalues, mut dp) = (Plain::zeros(values.rows, values.columns), Plain::zeros(p.rows, heads));
    for e in &all {
        for h in 0..heads {
            let (weight, keep) = (p.get(e.position, h) * kept.get(e.position, h), kept.get(e.position, h));
            for c in block(&values, h, heads) {
                *dvalues.at(e.column, c) += weight * dy.get(e.row, c);
                *dp.at(e.position, h) += keep * dy.get(e.row, c) * values.get(e.column, c);
            }
        }
    }
    let ds = softmax_gradient(&op.matrix, &p, &dp);
    let (first, second, parameter) = chain(&operands, &all, &ds, heads);
    let store = |plain: Option<Plain>, out: Option<AnyMut<'_, Cpu>>| {
        if let (Some(plain), Some(out)) = (plain, out) {
            plain.store(out);
        }
    };
    store(Some(dvalues), gradients.values);
    store(Some(first), gradients.first);
    store(second, gradients.second);
    store(parameter, gradients.parameter);
}

/// From the gradient of the scores to those of their operands.
fn chain(operands: &Operands, all: &[Entry], ds: &Plain, heads: usize) -> (Plain, Option<Plain>, Option<Plain>) {
    let like = |x: &Plain| Plain::zeros(x.rows, x.columns);
    let each = |f: &mut dyn FnMut(Entry, usize, f64)| {
        all.iter().for_each(|&e| (0..heads).for_each(|h| f(e, h, ds.get(e.position, h))));
    };
    match operands {
        Operands::Edge(_) => (ds.clone(), None, None),
        Operands::Additive { left, right, f } => {
            let (mut dl, mut dr) = (like(left), like(right));
            each(&mut |e, h, ds| {
                let dz = ds * f.derivative(f.apply(left.get(e.row, h) + right.get(e.column, h)));
                *dl.at(e.row, h) += dz;
                *dr.at(e.column, h) += dz;
            });
            (dl, Some(dr), None)
        }
        Operands::AdditiveV2 { left, right, vector, f } => {
            let (mut dl, mut dr, mut dv) = (like(left), like(right), like(vector));
            each(&mut |e, h, ds| {
                for c in block(left, h, heads) {
                    let z = f.apply(left.get(e.row, c) + right.get(e.column, c));
                    let dz = ds * vector.get(0, c) * f.derivative(z);
                    *dl.at(e.row, c) += dz;
                    *dr.at(e.column, c) += dz;
                    *dv.at(0, c) += ds * z;
                }
            });
            (dl, Some(dr), Some(dv))
        }
        Operands::Dot { query, key, factor } => {
            let (mut dq, mut dk) = (like(query), like(key));
            each(&mut |e, h, ds| {
                for c in block(query, h, heads) {
                    *dq.at(e.row, c) += factor * ds * key.get(e.column, c);
                    *dk.at(e.column, c) += factor * ds * query.get(e.row, c);
                }
            });
            (dq, Some(dk), None)
        }
        Operands::Cosine { query, key, beta } => {
            let (mut dq, mut dk, mut db) = (like(query), like(key), Plain::zeros(1, 1));
            each(&mut |e, h, ds| {
                let (cos, q, k) = cosine(query, key, e, h, heads);
                // Below the floor the norm is a constant.
                let (through_q, through_k) = (if q > NORM_FLOOR { cos } else { 0.0 }, if k > NORM_FLOOR { cos } else { 0.0 });
                *db.at(0, 0) += ds * cos;
                for c in block(query, h, heads) {
                    let (u, v) = (query.get(e.row, c) / q, key.get(e.column, c) / k);
                    *dq.at(e.row, c) += beta * ds * (v - through_q * u) / q;
                    *dk.at(e.column, c) += beta * ds * (u - through_k * v) / k;
                }
            });
            (dq, Some(dk), Some(db))
        }
    }
}
