//! Attention: forward against plain loops, backward against differences of them.

use super::plain::{Plain, entries, near};
use super::spmm::matrix;
use super::{dense, device, patterns, spread};
use crate::Cuda;
use crate::tensor::TensorKernels;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind};
use bitgraph_tensor::ops::{AttentionGradient, NORM_FLOOR, Operation, Score, attention};
use bitgraph_tensor::{Any, Dense, Dropout, Element, Reals, with_dense};
use half::{bf16, f16};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Additive,
    Leaky,
    Dot,
    Cosine,
    Edge,
}
const KINDS: [Kind; 5] = [Kind::Additive, Kind::Leaky, Kind::Dot, Kind::Cosine, Kind::Edge];
const SLOPE: f64 = 0.2;
const FACTOR: f64 = 0.6;

/// The operands in double precision: of rows, of columns, the vector or beta, the values.
#[derive(Clone)]
struct Operands {
    first: Plain,
    second: Plain,
    vector: Plain,
    values: Plain,
}

struct Setting<'a> {
    csr: &'a Csr,
    kind: Kind,
    heads: usize,
    dropout: Option<Dropout>,
}

impl Setting<'_> {
    fn score(&self, o: &Operands, i: usize, j: usize, k: usize, h: usize) -> f64 {
        let leaky = |z: f64| if z > 0.0 { z } else { SLOPE * z };
        let width = o.first.columns / self.heads;
        let block = || h * width..(h + 1) * width;
        let norm = |x: &Plain, i: usize| block().map(|c| x.at(i, c).powi(2)).sum::<f64>().sqrt().max(NORM_FLOOR);
        match self.kind {
            Kind::Additive => leaky(o.first.at(i, h) + o.second.at(j, h)),
            Kind::Leaky => block().map(|c| o.vector.at(0, c) * leaky(o.first.at(i, c) + o.second.at(j, c))).sum(),
            Kind::Dot => FACTOR * block().map(|c| o.first.at(i, c) * o.second.at(j, c)).sum::<f64>(),
            Kind::Cosine => {
                let dot: f64 = block().map(|c| o.first.at(i, c) * o.second.at(j, c)).sum();
                o.vector.at(0, 0) * dot / norm(&o.first, i) / norm(&o.second, j)
            }
            Kind::Edge => o.first.at(k, h),
        }
    }
    /// The result, and the logarithms of the sums.
    fn forward(&self, o: &Operands) -> (Plain, Plain) {
        let (rows, columns) = (self.csr.nrows(), o.values.columns);
        let (mut y, mut lse) = (Plain::zeros(rows, columns), Plain::zeros(rows, self.heads));
        lse.data.fill(f64::NEG_INFINITY);
        let width = columns / self.heads;
        for row in entries(self.csr, false).chunk_by(|a, b| a.i == b.i) {
            for h in 0..self.heads {
                let scores: Vec<f64> = row.iter().map(|e| self.score(o, e.i, e.j, e.k, h)).collect();
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
                lse.set(row[0].i, h, max + sum.ln());
                for (e, score) in row.iter().zip(scores) {
                    let kept = self.dropout.map_or(1.0, |d| d.at(e.k as u64, h as u32));
                    let weight = (score - max).exp() / sum * kept;
                    (h * width..(h + 1) * width).for_each(|c| y.add(e.i, c, weight * o.values.at(e.j, c)));
                }
            }
        }
        (y, lse)
    }
}

/// Operands on the device of the types that go with values of type T.
fn operands<T: Element>(cuda: &Cuda, s: &Setting<'_>, width: usize, score_width: usize) -> (Operands, Score<Cuda>, Dense<Cuda, T>) {
    let (rows, columns, heads) = (s.csr.nrows(), s.csr.ncols(), s.heads);
    // Rows of every other width are aligned for nothing.
    let apart = |x: Dense<Cuda, T>| if width.is_multiple_of(3) { spread(&x) } else { x };
    let values = apart(dense::<T>(cuda, columns, width, 30));
    let features = |n: usize, seed: u64| dense::<T>(cuda, n, score_width, seed);
    let none = || Plain::zeros(0, 0);
    let score = match s.kind {
        Kind::Additive => {
            let (left, right) = (dense::<T::Real>(cuda, rows, heads, 31), spread(&dense::<T::Real>(cuda, columns, heads, 32)));
            (Plain::of(&left), Plain::of(&right), none(), Score::Additive { left: reals(&left), right: reals(&right), slope: SLOPE })
        }
        Kind::Leaky => {
            let (left, right, vector) = (features(rows, 31), features(columns, 32), dense::<T::Real>(cuda, 1, score_width, 33));
            let parts = (Plain::of(&left), Plain::of(&right), Plain::of(&vector));
            (parts.0, parts.1, parts.2, Score::AdditiveV2 { left: left.any(), right: right.any(), vector: reals(&vector), slope: SLOPE })
        }
        Kind::Dot => {
            let (query, key) = (features(rows, 31), apart(features(columns, 32)));
            (Plain::of(&query), Plain::of(&key), none(), Score::Dot { query: query.any(), key: key.any(), factor: FACTOR })
        }
        Kind::Cosine => {
            let (query, key, beta) = (features(rows, 31), features(columns, 32), dense::<T::Real>(cuda, 1, 1, 34));
            let parts = (Plain::of(&query), Plain::of(&key), Plain::of(&beta));
            (parts.0, parts.1, parts.2, Score::Cosine { query: query.any(), key: key.any(), beta: reals(&beta) })
        }
        Kind::Edge => {
            let scores = dense::<T>(cuda, s.csr.nnz(), heads, 31);
            (Plain::of(&scores), none(), none(), Score::Edge(scores.any()))
        }
    };
    let (first, second, vector, score) = score;
    (Operands { first, second, vector, values: Plain::of(&values) }, score, values)
}

fn reals<R: bitgraph_tensor::Real>(dense: &Dense<Cuda, R>) -> Reals<Cuda> {
    match dense.any() {
        Any::F32(d) => Reals::F32(d),
        Any::F64(d) => Reals::F64(d),
        _ => unreachable!("a real type"),
    }
}

type Op<T> = Operation<bitgraph_tensor::ops::Attention<Cuda, T>>;

fn operation<T: Element>(cuda: &Cuda, s: &Setting<'_>, score: Score<Cuda>, values: &Dense<Cuda, T>) -> Op<T> {
    let op = attention(&matrix::<f32>(cuda, s.csr, false, FormatKind::Csr), score, s.heads, values);
    match s.dropout {
        Some(dropout) => op.attention_dropout(dropout),
        None => op,
    }
}

fn forward<T: Element>(turn: usize) {
    let Some(cuda) = device() else { return };
    for (p, (name, csr)) in patterns().iter().enumerate() {
        for (w, (heads, width, score_width)) in
            [(1, 1, 1), (1, 33, 7), (4, 64, 32), (3, 21, 33), (2, 16, 64), (1, 300, 8)].into_iter().enumerate()
        {
            let kind = KINDS[(p + w + turn) % 5];
            let dropout = ((p + w) % 3 == 0).then_some(Dropout::new(0.5, 77, 2));
            let s = Setting { csr, kind, heads, dropout };
            let (plain, score, values) = operands::<T>(&cuda, &s, width, score_width);
            let (y, lse) = operation(&cuda, &s, score, &values).eval_for_training().unwrap();
            let (wanted, sums) = s.forward(&plain);
            let what = format!("{kind:?} of {} over {name}, {heads} heads of {width}, {score_width}", T::DTYPE);
            let real = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
            // A score errs by its sum's terms; so does its exponential, relatively, and there are up to a hundred entries.
            let magnitude = wanted.map(|_, _, _| 8.0);
            near(&what, &y, &wanted, &magnitude, 300.0 + 8.0 * score_width as f64, real);
            near(&what, &lse, &sums, &sums.map(|s, _, _| if s.is_finite() { 8.0 } else { 0.0 }), 300.0 + 8.0 * score_width as f64, real);
        }
    }
}

#[test]
fn singles() {
    (0..5).for_each(forward::<f32>);
}
#[test]
fn halves() {
    (0..3).for_each(forward::<f16>);
    (2..5).for_each(forward::<bf16>);
}
#[test]
fn doubles_and_bytes() {
    forward::<f64>(0);
    forward::<f64>(2);
    forward::<i8>(3);
}

/// Steps after attention, of which there are more than a launch takes.
#[test]
fn epilogues() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        let s = Setting { csr: &csr, kind: Kind::Dot, heads: 2, dropout: None };
        let (plain, score, values) = operands::<f32>(&cuda, &s, 16, 8);
        let bias = dense::<f32>(&cuda, 1, 16, 5);
        let mut op = operation(&cuda, &s, score, &values).bias(&bias).leaky_relu(0.5);
        for _ in 0..8 {
            op = op.times(0.5).times(2.0);
        }
        let b = Plain::of(&bias);
        let wanted = s.forward(&plain).0.map(|x, _, c| {
            let x = x + b.at(0, c);
            if x > 0.0 { x } else { 0.5 * x }
        });
        near(name, &op.eval().unwrap(), &wanted, &wanted.map(|_, _, _| 8.0), 400.0, DType::F32);
    }
}

/// The gradients of <weights, forward> by central differences, of every operand.
fn differences(s: &Setting<'_>, o: &Operands, weights: &Plain) -> [Plain; 4] {
    let loss = |o: &Operands| s.forward(o).0.data.iter().zip(&weights.data).map(|(a, b)| a * b).sum::<f64>();
    fn part(o: &mut Operands, k: usize) -> &mut Plain {
        [&mut o.first, &mut o.second, &mut o.vector, &mut o.values].into_iter().nth(k).unwrap()
    }
    [0, 1, 2, 3].map(|k| {
        let mut o = o.clone();
        let mut gradient = part(&mut o, k).clone();
        for at in 0..gradient.data.len() {
            let (x, h) = (part(&mut o, k).data[at], 1e-5);
            part(&mut o, k).data[at] = x + h;
            let above = loss(&o);
            part(&mut o, k).data[at] = x - h;
            let below = loss(&o);
            part(&mut o, k).data[at] = x;
            gradient.data[at] = (above - below) / (2.0 * h);
        }
        gradient
    })
}

fn plain_of(any: &Any<Cuda>) -> Plain {
    with_dense!(any, d => Plain::of(d))
}

fn close(what: &str, found: &Plain, wanted: &Plain, share: f64) {
    assert_eq!((found.rows, found.columns), (wanted.rows, wanted.columns), "{what}");
    let largest = wanted.data.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    for (k, (a, b)) in found.data.iter().zip(&wanted.data).enumerate() {
        assert!((a - b).abs() <= share * largest, "{what}: element {k}: {a} where {b} is wanted, up to {}", share * largest);
    }
}

/// By the forms that are chosen, and by the general kernels.
fn backward<T: Element>(share: f64, kinds: &[Kind]) {
    [TensorKernels::Chosen, TensorKernels::General].into_iter().for_each(|kernels| backward_by::<T>(kernels, share, kinds));
}
fn backward_by<T: Element>(kernels: TensorKernels, share: f64, kinds: &[Kind]) {
    let Some(cuda) = device() else { return };
    let cuda = cuda.with_tensor_kernels(kernels);
    for (p, (name, csr)) in patterns().iter().enumerate().filter(|(_, (_, csr))| csr.nnz() < 250) {
        for (k, &kind) in kinds.iter().enumerate() {
            let (heads, width, score_width) = [(1, 3, 4), (2, 16, 16), (1, 8, 6)][(p + k) % 3];
            let dropout = (p % 2 == 0).then_some(Dropout::new(0.4, 78, 3));
            let s = Setting { csr, kind, heads, dropout };
            let (mut plain, score, values) = operands::<T>(&cuda, &s, width, score_width);
            let op = operation(&cuda, &s, score, &values);
            let (_, lse) = op.eval_for_training().unwrap();
            let dy = dense::<T>(&cuda, csr.nrows(), width, 40);
            let found: AttentionGradient<Cuda, T> = op.gradient_of(&lse, &dy).unwrap();
            // LeakyReLU has no derivative at 0, where sums of few bits often are: the side that the device takes.
            if matches!(kind, Kind::Additive | Kind::Leaky) {
                plain.first.data.iter_mut().for_each(|x| *x -= 1e-3);
            }
            let [first, second, vector, of_values] = differences(&s, &plain, &Plain::of(&dy));
            let what = |part: &str| format!("{kind:?} of {} over {name}, {heads} heads: {part}", T::DTYPE);
            let share = if matches!(kind, Kind::Additive | Kind::Leaky) { share.max(0.02) } else { share };
            close(&what("values"), &Plain::of(&found.values), &of_values, share);
            close(&what("first"), &plain_of(&found.first), &first, share);
            if let Some(d) = &found.second {
                close(&what("second"), &plain_of(d), &second, share);
            }
            if let Some(d) = &found.parameter {
                close(&what("parameter"), &Plain::of(d), &vector, share);
            }
        }
    }
}

#[test]
fn gradients_of_doubles() {
    backward::<f64>(1e-7, &KINDS);
}
#[test]
fn gradients_of_singles() {
    backward::<f32>(2e-5, &KINDS);
}
#[test]
fn gradients_of_halves() {
    backward::<f16>(4e-3, &KINDS);
    backward::<bf16>(3e-2, &KINDS);
}

/// Vectors of norm zero: the floor stands in for the norm, and the gradient is that of a constant norm.
#[test]
fn cosines_of_nothing_are_zero() {
    let Some(cuda) = device() else { return };
    let (_, csr) = patterns().swap_remove(4);
    let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
    let (x, beta) = (Dense::<_, f32>::zeros(&cuda, 40, 4).unwrap(), Dense::filled(&cuda, 1, 1, 2f32).unwrap());
    let values = dense::<f32>(&cuda, 40, 4, 3);
    let score = Score::Cosine { query: x.any(), key: x.any(), beta: reals(&beta) };
    let (y, _) = attention(&a, score, 1, &values).eval_for_training().unwrap();
    let plain = Plain::of(&values);
    let wanted = Plain::zeros(40, 4).map(|_, i, c| (plain.at(i, c) + plain.at((i + 1) % 40, c)) / 2.0);
    near("nothing", &y, &wanted, &wanted.abs(), 8.0, DType::F32);
}

/// Rows whose scores are far apart, and too large for an exponential.
#[test]
fn large_scores() {
    let Some(cuda) = device() else { return };
    let (_, csr) = patterns().swap_remove(5);
    let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
    let scores: Vec<f32> = (0..csr.nnz()).map(|k| (k as f32 * 37.0) % 1000.0 - 300.0).collect();
    let (plain, scores) = (scores.clone(), Dense::column_vector(&cuda, scores).unwrap());
    let values = dense::<f32>(&cuda, csr.ncols(), 5, 3);
    let first = Plain { rows: csr.nnz(), columns: 1, data: plain.into_iter().map(f64::from).collect() };
    let o = Operands { first, second: Plain::zeros(0, 0), vector: Plain::zeros(0, 0), values: Plain::of(&values) };
    let s = Setting { csr: &csr, kind: Kind::Edge, heads: 1, dropout: None };
    let (y, lse) = attention(&a, Score::Edge(scores.any()), 1, &values).eval_for_training().unwrap();
    let (wanted, sums) = s.forward(&o);
    near("large scores", &y, &wanted, &wanted.map(|_, _, _| 4.0), 20.0, DType::F32);
    near("their sums", &lse, &sums, &sums.map(|s, _, _| if s.is_finite() { s.abs() } else { 0.0 }), 4.0, DType::F32);
}
