//! Attention of every kind against scores, softmax and sums one after the other in double precision.

use super::operands::{Kind, dense, elements, pattern, patterns};
use super::{check, outcome};
use crate::{Outcome, Report};
use bitgraph::prelude::{Csr, Dense, Dropout, FormatKind, attention};
use bitgraph::semiring::DType;
use bitgraph::tensor::ops::{Score, agnn, dot_attention, gat, gat_v2};
use bitgraph::tensor::{Element, Real, TensorBackend};
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::{Grid, entries};
use half::{bf16, f16};

const KINDS: [&str; 5] = ["GAT", "GATv2", "dot product", "AGNN", "edge scores"];
/// Heads and columns of a head.
const HEADS: [(usize, usize); 9] = [(1, 1), (1, 7), (1, 64), (2, 33), (8, 8), (4, 32), (3, 1), (1, 128), (2, 301)];

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, full: bool) {
    let every = if full { 1 } else { 4 };
    for (k, (name, csr)) in patterns().iter().enumerate() {
        for (s, &(heads, width)) in HEADS.iter().enumerate() {
            for (kind, what) in KINDS.iter().enumerate() {
                if (k + s + kind) % every != 0 || (kind == 3 && (heads > 1 || !csr.is_square())) {
                    continue;
                }
                let drop = (k + s) % 3 == 1;
                let says = || format!("{heads} heads of {width} over {name}, dropout {drop}");
                macro_rules! each {
                    ($($t:ty)*) => { $(
                        check(report, &format!("attention: {what} ({form})"), says, || {
                            one::<B, $t>(backend, csr, (heads, width), kind, drop)
                        });
                    )* };
                }
                each!(f32 f64 f16 bf16);
            }
        }
    }
}

#[allow(clippy::type_complexity)] // written once
fn one<B: TensorBackend, T: Element>(
    backend: &B,
    csr: &Csr,
    (heads, width): (usize, usize),
    kind: usize,
    drop: bool,
) -> Result<Outcome, B::Error> {
    let (n, m, all) = (csr.nrows(), csr.ncols(), heads * width);
    let features = |rows: usize, columns: usize, seed| dense(backend, rows, columns, elements::<T>(Kind::Fraction, rows * columns, seed));
    let reals =
        |rows: usize, columns: usize, seed| dense(backend, rows, columns, elements::<T::Real>(Kind::Fraction, rows * columns, seed));
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let (v, values) = features(m, all, 1)?;
    let leaky = |z: f64| if z > 0.0 { z } else { 0.2 * z };
    let block = |h: usize| h * width..(h + 1) * width;
    // The scores, and for each the size of the terms that it is a sum of.
    let (op, score): (_, Box<dyn Fn(usize, usize, usize, usize) -> (f64, f64)>) = match kind {
        0 => {
            let ((l, left), (r, right)) = (reals(n, heads, 2)?, reals(m, heads, 3)?);
            let score = move |i, j, _, h| (leaky(left.get(i, h) + right.get(j, h)), 2.0);
            (gat(&a, &l, &r, &v, 0.2), Box::new(score))
        }
        1 => {
            let ((l, left), (w, vector)) = (features(n, all, 4)?, reals(1, all, 5)?);
            let right = values.clone();
            let score = move |i: usize, j: usize, _, h| {
                let terms = block(h).map(|c| vector.get(0, c) * leaky(left.get(i, c) + right.get(j, c)));
                (terms.clone().sum(), terms.map(f64::abs).sum::<f64>() + 1.0)
            };
            (gat_v2(&a, &l, &v, &w, heads, 0.2), Box::new(score))
        }
        2 => {
            let ((q, query), (k, key)) = (features(n, all, 6)?, features(m, all, 7)?);
            let factor = 1.0 / (width as f64).sqrt();
            let score = move |i: usize, j: usize, _, h| {
                let terms = block(h).map(|c| factor * query.get(i, c) * key.get(j, c));
                (terms.clone().sum(), terms.map(f64::abs).sum())
            };
            (dot_attention(&a, &q, &k, &v, heads), Box::new(score))
        }
        3 => {
            let beta = 1.5;
            let x = values.clone();
            let norm = move |x: &Grid, i: usize| (0..width).map(|c| x.get(i, c).powi(2)).sum::<f64>().sqrt().max(1e-12);
            let score = move |i: usize, j: usize, _, _| {
                let dot: f64 = (0..width).map(|c| x.get(i, c) * x.get(j, c)).sum();
                (beta * dot / norm(&x, i) / norm(&x, j), 2.0 * beta)
            };
            (agnn(&a, &v, &Dense::filled(backend, 1, 1, T::Real::of(beta))?), Box::new(score))
        }
        _ => {
            let (s, scores) = features(csr.nnz(), heads, 8)?;
            let score = move |_, _, k, h| (scores.get(k, h), 0.0);
            (attention(&a, Score::Edge(s.any()), heads, &v), Box::new(score))
        }
    };
    let dropout = Dropout::new(0.25, 77, 2);
    let op = if drop { op.attention_dropout(dropout) } else { op };
    let (mut scores, mut sizes) = (Grid::zeros(csr.nnz(), heads), Grid::zeros(csr.nnz(), heads));
    for (i, j, k) in entries(csr, false) {
        for h in 0..heads {
            (*scores.at(k, h), *sizes.at(k, h)) = score(i, j, k, h);
        }
    }
    let p = oracle::softmax(csr, &scores);
    let (mut expected, mut magnitudes) = (Grid::zeros(n, all), Grid::zeros(n, all));
    let mut largest = Grid::zeros(n, heads);
    for (i, j, k) in entries(csr, false) {
        for h in 0..heads {
            let kept = if drop { dropout.at(k as u64, h as u32) } else { 1.0 };
            *largest.at(i, h) = largest.get(i, h).max(sizes.get(k, h) * (width as f64 + 4.0) + scores.get(k, h).abs());
            for c in block(h) {
                *expected.at(i, c) += p.get(k, h) * kept * values.get(j, c);
                *magnitudes.at(i, c) += p.get(k, h) * kept * values.get(j, c).abs();
            }
        }
    }
    // A score that is off by a share makes its exponential, and the sum of those, off by as much.
    // Halves near zero are multiples of 2^-24: a result there is off by half of that.
    let (unit, stored, step) = match T::DTYPE {
        DType::F64 => (2f64.powi(-53), 2f64.powi(-53), 2f64.powi(-77)),
        DType::F16 => (2f64.powi(-24), 2f64.powi(-11), 2f64.powi(-25)),
        DType::Bf16 => (2f64.powi(-24), 2f64.powi(-8), 2f64.powi(-32)),
        _ => (2f64.powi(-24), 2f64.powi(-24), 2f64.powi(-48)),
    };
    // The weights of GAT over halves may be halves (see `tensor::ops::attention`): each is off by a unit, and so is the sum that divides.
    let weights = if kind == 0 && !drop && T::DTYPE.bytes() == 2 { 2.0 * stored } else { 0.0 };
    let bound = |k: usize| {
        let (i, c) = (k / all.max(1), k % all.max(1));
        let roundings = 2.0 * (csr.degree(i) as f64 + 20.0) + 8.0 * largest.get(i, c / width.max(1));
        ((roundings * unit + weights) * magnitudes.data[k] + step, 2.0 * stored)
    };
    let (y, lse) = op.eval_for_training()?;
    let forward = outcome(oracle::compare(&expected, &y.to_host()?, bound));
    let sums = Grid::from_fn(n, heads, |i, h| {
        let max = csr.row_range(i).map(|k| scores.get(k, h)).fold(f64::NEG_INFINITY, f64::max);
        max + csr.row_range(i).map(|k| (scores.get(k, h) - max).exp()).sum::<f64>().ln()
    });
    let sums = sums.map(|v, i, _| if csr.degree(i) == 0 { f64::NEG_INFINITY } else { v });
    let near = |k: usize| (unit * (2.0 * csr.degree(k / heads) as f64 + 40.0 + 8.0 * largest.data[k]), 8.0 * unit);
    let kept = outcome(oracle::compare(&sums, &lse.to_host()?, near));
    let alone = outcome(oracle::compare(&Grid::of(n, all, &y.to_host()?), &op.eval()?.to_host()?, |_| (0.0, 0.0)));
    Ok([forward, kept, alone].into_iter().find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}
