//! Every backward pass against central differences in double precision.

use super::check as count;
use super::operands::{pattern, patterns};
use crate::{Outcome, Report};
use bitgraph::generate::Stream;
use bitgraph::prelude::{
    Activation, Csr, Dense, Dropout, FormatKind, Matrix, attention, cross_entropy, edge_softmax, gat, gat_v2, gemm, log_softmax, map,
    sddmm, spmm,
};
use bitgraph::tensor::ops::{
    Pairing, Reduce, Score, batch_norm, batch_norm_backward, cross_entropy_with_gradient, edge_reduce, edge_softmax_backward,
    log_softmax_backward,
};
use bitgraph::tensor::{Any, Reals, Tensor, TensorBackend};

type Matrix64<B> = Dense<B, f64>;
/// What went wrong, if anything did.
type Checked<B> = Result<Option<String>, <B as bitgraph::backend::Backend>::Error>;

/// Elements whose derivative is found by differences.
const SAMPLED: usize = 24;
/// The step of the differences, and what they may be off by: the step's square, and rounding over the step.
const STEP: f64 = 1e-6;
const NEAR: f64 = 1e-6;

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str) {
    let some = ["one vertex with a loop", "one dense row", "directed random", "31 x 64 random", "no edges", "star"];
    for (name, csr) in patterns().iter().filter(|(name, _)| some.contains(&name.as_str())) {
        let mut one = |what: &str, run: &dyn Fn(&B, &Csr) -> Checked<B>| {
            let found = |checked: Option<String>| checked.map_or(Outcome::Passed, Outcome::Failed);
            count(report, &format!("gradients of {what} ({form})"), || name.clone(), || run(backend, csr).map(found));
        };
        one("spmm", &sums);
        one("spmm", &choices);
        one("sddmm", &products);
        one("edge_softmax", &softmax);
        one("GAT", &of_gat);
        one("GATv2", &of_gat_v2);
        one("dot products", &|b, csr| of_products(b, csr, false));
        one("cosines", &|b, csr| of_products(b, csr, true));
        one("scores of entries", &of_scores);
    }
    let found = |checked: Option<String>| checked.map_or(Outcome::Passed, Outcome::Failed);
    count(report, &format!("gradients of dense operations ({form})"), || "9 x 6".into(), || dense(backend).map(found));
}

/// Numbers between -1 and 1, none near zero, where activations have no derivative.
fn random<B: Tensor>(backend: &B, rows: usize, columns: usize, seed: u64) -> Result<Matrix64<B>, B::Error> {
    let s = Stream::new(seed, 31);
    let number = |k: u64| {
        let v = 2.0 * s.unit(k) - 1.0;
        v + 0.05f64.copysign(v)
    };
    Dense::from_vec(backend, rows, columns, (0..(rows * columns) as u64).map(number).collect())
}

/// The gradient of the result that is tested: the loss is the sum of the result's elements, each times one of these.
fn dy<B: Tensor>(y: &Matrix64<B>) -> Result<Matrix64<B>, B::Error> {
    random(y.backend(), y.nrows(), y.ncols(), 77)
}

/// Compares the gradient of a loss with differences at some elements of `x`; says where it is wrong.
fn wrong<B: Tensor>(
    what: &str,
    x: &Matrix64<B>,
    gradient: &Matrix64<B>,
    f: &dyn Fn(&Matrix64<B>) -> Result<Matrix64<B>, B::Error>,
) -> Checked<B> {
    if x.shape() != gradient.shape() {
        return Ok(Some(format!("{what}: a gradient of {:?} for an operand of {:?}", gradient.shape(), x.shape())));
    }
    let (values, found) = (x.to_host()?, gradient.to_host()?);
    let loss = |k: usize, by: f64| {
        let mut moved = values.clone();
        moved[k] += by;
        let y = f(&Dense::from_vec(x.backend(), x.nrows(), x.ncols(), moved)?)?;
        let w = dy(&y)?.to_host()?;
        Ok::<f64, B::Error>(y.to_host()?.iter().zip(w).map(|(y, w)| y * w).sum())
    };
    for k in (0..values.len()).step_by(values.len() / SAMPLED + 1) {
        let slope = (loss(k, STEP)? - loss(k, -STEP)?) / (2.0 * STEP);
        if (slope - found[k]).abs() > NEAR * slope.abs().max(1.0) {
            return Ok(Some(format!("{what}: element {k} is {:e}, by differences {slope:e}", found[k])));
        }
    }
    Ok(None)
}

/// The first of several checks that found something.
macro_rules! first {
    ($($check:expr;)*) => {{
        $( if let Some(wrong) = $check? {
            return Ok(Some(wrong));
        } )*
        Ok(None)
    }};
}

fn of<B: TensorBackend>(backend: &B, csr: &Csr) -> Result<Matrix<B>, B::Error> {
    pattern(backend, csr, FormatKind::Csr)
}

fn sums<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let (a, n, m) = (of(b, csr)?, csr.nrows(), csr.ncols());
    for (reduce, transposed) in [(Reduce::Sum, false), (Reduce::Sum, true), (Reduce::Mean, false), (Reduce::Mean, true)] {
        let (rows, columns) = if transposed { (m, n) } else { (n, m) };
        let (e, x) = (random(b, csr.nnz(), 2, 1)?, random(b, columns, 6, 2)?);
        let (r, c) = (random(b, rows, 1, 3)?, random(b, columns, 1, 4)?);
        let op = |x: &Matrix64<B>, e: &Matrix64<B>| {
            let op = spmm(&a, x).edge_values(e).scale_rows(&r).scale_columns(&c).reduce(reduce);
            let op = if n == m { op.own(1.5) } else { op };
            if transposed { op.transpose() } else { op }
        };
        let g = dy(&op(&x, &e).eval()?)?;
        let what = format!("{reduce:?}, transposed {transposed}");
        if let Some(wrong) = wrong(&what, &x, &op(&x, &e).gradient(&g)?.eval()?, &|x| op(x, &e).eval())? {
            return Ok(Some(wrong));
        }
        if reduce == Reduce::Sum {
            // Edge values are in the order of the matrix, whose rows are the result's columns where it is transposed.
            let de = if transposed {
                sddmm(&a, &x, &g).scale_rows(&c).scale_columns(&r)
            } else {
                sddmm(&a, &g, &x).scale_rows(&r).scale_columns(&c)
            };
            if let Some(wrong) = wrong(&format!("{what}, edge values"), &e, &de.heads(2).eval()?, &|e| op(&x, e).eval())? {
                return Ok(Some(wrong));
            }
        }
    }
    Ok(None)
}

fn choices<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let a = of(b, csr)?;
    for reduce in [Reduce::Max, Reduce::Min] {
        let (e, x, r) = (random(b, csr.nnz(), 1, 1)?, random(b, csr.ncols(), 5, 2)?, random(b, csr.nrows(), 1, 3)?);
        let op = |x: &Matrix64<B>| spmm(&a, x).edge_values(&e).scale_rows(&r).reduce(reduce);
        let (y, chosen) = op(&x).eval_chosen()?;
        if let Some(wrong) = wrong(&format!("{reduce:?}"), &x, &op(&x).gradient_chosen(&chosen, &dy(&y)?)?, &|x| op(x).eval())? {
            return Ok(Some(wrong));
        }
    }
    Ok(None)
}

fn products<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let (a, x, y) = (of(b, csr)?, random(b, csr.nrows(), 6, 1)?, random(b, csr.ncols(), 6, 2)?);
    let dot = |x: &Matrix64<B>, y: &Matrix64<B>| sddmm(&a, x, y).heads(3).eval();
    let add = |x: &Matrix64<B>, y: &Matrix64<B>| sddmm(&a, x, y).pairing(Pairing::Add).eval();
    let (de, ds) = (dy(&dot(&x, &y)?)?, dy(&add(&x, &y)?)?);
    first! {
        wrong("dot, left", &x, &spmm(&a, &y).edge_values(&de).eval()?, &|x| dot(x, &y));
        wrong("dot, right", &y, &spmm(&a, &x).edge_values(&de).transpose().eval()?, &|y| dot(&x, y));
        wrong("sum, left", &x, &edge_reduce(&a, false, &ds, Reduce::Sum)?, &|x| add(x, &y));
        wrong("sum, right", &y, &edge_reduce(&a, true, &ds, Reduce::Sum)?, &|y| add(&x, y));
    }
}

fn softmax<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let (a, s) = (of(b, csr)?, random(b, csr.nnz(), 3, 4)?);
    let p = edge_softmax(&a, &s)?;
    wrong("softmax", &s, &edge_softmax_backward(&a, &p, &dy(&p)?)?, &|s| edge_softmax(&a, s))
}

/// The dropout of all that have one.
const DROPOUT: Dropout = Dropout::new(0.3, 9, 2);
const HEADS: usize = 2;
const WIDTH: usize = 3;

fn typed<B: TensorBackend>(any: Any<B>) -> Matrix64<B> {
    match any.get() {
        Some(double) => double,
        None => unreachable!("gradients are of their operands' types"),
    }
}

fn of_gat<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let (a, v) = (of(b, csr)?, random(b, csr.ncols(), HEADS * WIDTH, 1)?);
    let (l, r) = (random(b, csr.nrows(), HEADS, 4)?, random(b, csr.ncols(), HEADS, 5)?);
    let op = |l: &Matrix64<B>, r: &Matrix64<B>, v: &Matrix64<B>| gat(&a, l, r, v, 0.2).attention_dropout(DROPOUT);
    let (y, lse) = op(&l, &r, &v).eval_for_training()?;
    let g = op(&l, &r, &v).gradient_of(&lse, &dy(&y)?)?;
    let Some(second) = g.second else { return Ok(Some("no gradient of the right scores".into())) };
    first! {
        wrong("values", &v, &g.values, &|v| op(&l, &r, v).eval());
        wrong("left", &l, &typed(g.first), &|l| op(l, &r, &v).eval());
        wrong("right", &r, &typed(second), &|r| op(&l, r, &v).eval());
    }
}

fn of_gat_v2<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let (a, all) = (of(b, csr)?, HEADS * WIDTH);
    let (l, r, w) = (random(b, csr.nrows(), all, 2)?, random(b, csr.ncols(), all, 3)?, random(b, 1, all, 6)?);
    let v = random(b, csr.ncols(), all, 1)?;
    let op = |l: &Matrix64<B>, r: &Matrix64<B>, w: &Matrix64<B>| {
        attention(&a, Score::AdditiveV2 { left: l.any(), right: r.any(), vector: Reals::F64(w.clone()), slope: 0.2 }, HEADS, &v)
    };
    let (y, lse) = op(&l, &r, &w).eval_for_training()?;
    let g = op(&l, &r, &w).gradient_of(&lse, &dy(&y)?)?;
    let (Some(second), Some(parameter)) = (g.second, g.parameter) else { return Ok(Some("a gradient is absent".into())) };
    // Where the right features are the values, both gradients belong to them.
    let shared = |r: &Matrix64<B>| gat_v2(&a, &l, r, &w, HEADS, 0.2).attention_dropout(DROPOUT);
    let (y, lse) = shared(&r).eval_for_training()?;
    let both = shared(&r).gradient_of(&lse, &dy(&y)?)?;
    let Some(of_right) = both.second else { return Ok(Some("no gradient of the right features".into())) };
    let both = map(&both.values).add(&typed(of_right)).eval()?;
    first! {
        wrong("left", &l, &typed(g.first), &|l| op(l, &r, &w).eval());
        wrong("right", &r, &typed(second), &|r| op(&l, r, &w).eval());
        wrong("vector", &w, &parameter, &|w| op(&l, &r, w).eval());
        wrong("features", &r, &both, &|r| shared(r).eval());
    }
}

fn of_products<B: TensorBackend>(b: &B, csr: &Csr, cosine: bool) -> Checked<B> {
    let (a, all) = (of(b, csr)?, HEADS * WIDTH);
    let (q, k, v) = (random(b, csr.nrows(), all, 2)?, random(b, csr.ncols(), all, 3)?, random(b, csr.ncols(), all, 1)?);
    let beta = random(b, 1, 1, 8)?;
    let op = |q: &Matrix64<B>, k: &Matrix64<B>, beta: &Matrix64<B>| {
        let score = match cosine {
            true => Score::Cosine { query: q.any(), key: k.any(), beta: Reals::F64(beta.clone()) },
            false => Score::Dot { query: q.any(), key: k.any(), factor: 0.6 },
        };
        attention(&a, score, HEADS, &v)
    };
    let (y, lse) = op(&q, &k, &beta).eval_for_training()?;
    let g = op(&q, &k, &beta).gradient_of(&lse, &dy(&y)?)?;
    let Some(second) = g.second else { return Ok(Some("no gradient of the keys".into())) };
    if let Some(dbeta) = &g.parameter
        && let Some(wrong) = wrong("beta", &beta, dbeta, &|beta| op(&q, &k, beta).eval())?
    {
        return Ok(Some(wrong));
    }
    first! {
        wrong("query", &q, &typed(g.first), &|q| op(q, &k, &beta).eval());
        wrong("key", &k, &typed(second), &|k| op(&q, k, &beta).eval());
    }
}

fn of_scores<B: TensorBackend>(b: &B, csr: &Csr) -> Checked<B> {
    let (a, v, s) = (of(b, csr)?, random(b, csr.ncols(), HEADS * WIDTH, 1)?, random(b, csr.nnz(), HEADS, 7)?);
    let op = |s: &Matrix64<B>| attention(&a, Score::Edge(s.any()), HEADS, &v).attention_dropout(DROPOUT);
    let (y, lse) = op(&s).eval_for_training()?;
    wrong("scores", &s, &typed(op(&s).gradient_of(&lse, &dy(&y)?)?.first), &|s| op(s).eval())
}

fn dense<B: TensorBackend>(b: &B) -> Checked<B> {
    let (first, second) = (random(b, 7, 5, 1)?, random(b, 5, 4, 2)?);
    let y = gemm(&first, &second).eval()?;
    let x = random(b, 9, 6, 3)?;
    for f in [Activation::Relu, Activation::LeakyRelu { slope: 0.3 }, Activation::Elu { alpha: 1.3 }] {
        let y = map(&x).activation(f).eval()?;
        let gradient = map(&dy(&y)?).activation_gradient(f, &y).eval()?;
        if let Some(wrong) = wrong("activation", &x, &gradient, &|x| map(x).activation(f).eval())? {
            return Ok(Some(wrong));
        }
    }
    let log = log_softmax(&x)?;
    let labels = Dense::column_vector(b, vec![0, 5, -1, 2, 3, -7, 1, 4, 0])?;
    let weight = dy(&random(b, 1, 1, 0)?)?.to_host()?[0];
    let (gamma, beta) = (random(b, 1, 6, 4)?, random(b, 1, 6, 5)?);
    let norm = |x: &Matrix64<B>, gamma: &Matrix64<B>, beta: &Matrix64<B>| Ok(batch_norm(x, Some((gamma, beta)), 0.01)?.y);
    let forward = batch_norm(&x, Some((&gamma, &beta)), 0.01)?;
    let (dx, dgamma, dbeta) = batch_norm_backward(&x, &forward, Some(&gamma), 0.01, &dy(&x)?)?;
    first! {
        wrong("gemm, first", &first, &gemm(&dy(&y)?, &second).transpose_b().eval()?, &|a| gemm(a, &second).eval());
        wrong("gemm, second", &second, &gemm(&first, &dy(&y)?).transpose_a().eval()?, &|b| gemm(&first, b).eval());
        wrong("dropout", &x, &map(&dy(&x)?).dropout(DROPOUT).eval()?, &|x| map(x).dropout(DROPOUT).eval());
        wrong("log_softmax", &x, &log_softmax_backward(&log, &dy(&log)?)?, &|x| log_softmax(x));
        wrong("cross entropy", &x, &cross_entropy_with_gradient(&x, &labels, weight)?.1, &|x| cross_entropy(x, &labels));
        wrong("batch norm", &x, &dx, &|x| norm(x, &gamma, &beta));
        wrong("batch norm, gamma", &gamma, &dgamma, &|gamma| norm(&x, gamma, &beta));
        wrong("batch norm, beta", &beta, &dbeta, &|beta| norm(&x, &gamma, beta));
    }
}
