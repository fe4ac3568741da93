//! The gradients of attention by two rows: formulas in `f64` against differences of the forward pass in `f64`, and every form against the formulas.

use super::layout::Products;
use super::pair_tests::{Kind, score};
use super::tests::{PRODUCTS, SLOPE};
use super::{AttentionGiven, PairBackwardLayout, PairGradients, PairInput, PairScore};
use crate::device::testing::device;
use crate::device::{Buffer, Device};
use crate::primitives::transpose_with_positions;
use crate::tensor::forms::testing::{Draw, Tested, features, graphs, lists, rubbish};
use bitgraph_sparse::Csr;
use bitgraph_tensor::Dropout;
use half::{bf16, f16};

const FACTOR: f64 = 0.7;
const DROPOUT: Dropout = Dropout::new(0.3, 0x0123_4567_89AB_CDEF, 5);

/// Operands in `f64`.
#[derive(Clone)]
struct Operands {
    query: Vec<f64>,
    key: Vec<f64>,
    values: Vec<f64>,
    parameter: Vec<f64>,
    /// The gradient of the result.
    gradient: Vec<f64>,
}

/// A case.
struct Case<'a> {
    csr: &'a Csr,
    kind: Kind,
    columns: usize,
    heads: usize,
    dropout: Option<Dropout>,
}

/// Gradients with the sizes that their errors are held against.
struct Gradients {
    query: Vec<[f64; 2]>,
    key: Vec<[f64; 2]>,
    values: Vec<[f64; 2]>,
    parameter: Vec<[f64; 2]>,
}

fn add(to: &mut [f64; 2], value: f64, size: f64) {
    *to = [to[0] + value, to[1] + size];
}

impl Case<'_> {
    fn width(&self) -> usize {
        self.columns / self.heads
    }
    fn block<'x>(&self, x: &'x [f64], row: usize, head: usize) -> &'x [f64] {
        let width = self.width();
        &x[row * self.columns + head * width..row * self.columns + (head + 1) * width]
    }
    fn own<'x>(&self, x: &'x Operands, head: usize) -> &'x [f64] {
        let width = self.width();
        if matches!(self.kind, Kind::Sum) { &x.parameter[head * width..(head + 1) * width] } else { &x.parameter }
    }
    fn kept(&self, position: usize, head: usize) -> f64 {
        self.dropout.map_or(1.0, |d| d.at(position as u64, head as u32))
    }
    /// Results, the weighted sizes of values, logarithms of sums.
    fn forward(&self, x: &Operands) -> [Vec<f64>; 3] {
        let (n, width) = (self.csr.nrows(), self.width());
        let (mut y, mut sizes, mut lse) =
            (vec![0.0; n * self.columns], vec![0.0; n * self.columns], vec![f64::NEG_INFINITY; n * self.heads]);
        for (i, h) in (0..n).flat_map(|i| (0..self.heads).map(move |h| (i, h))).filter(|&(i, _)| !self.csr.row(i).is_empty()) {
            let of = |&j: &u32| score(self.kind, self.block(&x.query, i, h), self.block(&x.key, j as usize, h), self.own(x, h));
            let scores: Vec<f64> = self.csr.row(i).iter().map(of).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            lse[i * self.heads + h] = most + scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln();
            for ((&j, s), k) in self.csr.row(i).iter().zip(&scores).zip(self.csr.row_range(i)) {
                let p = (s - lse[i * self.heads + h]).exp() * self.kept(k, h);
                for c in h * width..(h + 1) * width {
                    let term = p * x.values[j as usize * self.columns + c];
                    y[i * self.columns + c] += term;
                    sizes[i * self.columns + c] += term.abs();
                }
            }
        }
        [y, sizes, lse]
    }
    fn gradients(&self, x: &Operands) -> Gradients {
        let width = self.width();
        let [y, sizes, lse] = self.forward(x);
        let zeros = |n: usize| vec![[0.0; 2]; n];
        let mut found = Gradients {
            query: zeros(x.query.len()),
            key: zeros(x.key.len()),
            values: zeros(x.values.len()),
            parameter: zeros(x.parameter.len()),
        };
        for i in 0..self.csr.nrows() {
            for (&j, position) in self.csr.row(i).iter().zip(self.csr.row_range(i)) {
                for h in 0..self.heads {
                    let j = j as usize;
                    let (q, k, own) = (self.block(&x.query, i, h), self.block(&x.key, j, h), self.own(x, h));
                    let p = (score(self.kind, q, k, own) - lse[i * self.heads + h]).exp();
                    let kept = self.kept(position, h);
                    let (mut ds, mut size) = (0.0, 0.0);
                    for c in h * width..(h + 1) * width {
                        let (dy, v) = (x.gradient[i * self.columns + c], x.values[j * self.columns + c]);
                        ds += p * dy * (kept * v - y[i * self.columns + c]);
                        size += p * dy.abs() * (kept * v.abs() + sizes[i * self.columns + c]);
                        add(&mut found.values[j * self.columns + c], p * kept * dy, p * kept * dy.abs());
                    }
                    let norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
                    let (nq, nk) = (norm(q), norm(k));
                    let cosine = q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() / nq / nk;
                    if matches!(self.kind, Kind::Cosine) {
                        add(&mut found.parameter[0], ds * cosine, size);
                    }
                    for c in 0..width {
                        let (at_q, at_k) = (i * self.columns + h * width + c, j * self.columns + h * width + c);
                        let (dq, dk) = match self.kind {
                            Kind::Dot => (FACTOR * k[c], FACTOR * q[c]),
                            Kind::Sum => {
                                let z = q[c] + k[c];
                                let slope = if z > 0.0 { 1.0 } else { SLOPE };
                                add(&mut found.parameter[h * width + c], ds * slope * z, size * slope * z.abs());
                                (own[c] * slope, own[c] * slope)
                            }
                            Kind::Cosine => {
                                // Below the floor the norm is a constant.
                                let along = |x: f64, n: f64| if n > 1e-12 { cosine * x / n } else { 0.0 };
                                let of = |other: f64, own: f64, n: f64| x.parameter[0] / n * (other - along(own, n));
                                (of(k[c] / nk, q[c], nq), of(q[c] / nq, k[c], nk))
                            }
                        };
                        let spread =
                            |d: f64, n: f64| if matches!(self.kind, Kind::Cosine) { 2.0 * x.parameter[0].abs() / n } else { d.abs() };
                        add(&mut found.query[at_q], ds * dq, size * spread(dq, nq));
                        add(&mut found.key[at_k], ds * dk, size * spread(dk, nk));
                    }
                }
            }
        }
        found
    }
}

const KINDS: [Kind; 3] = [Kind::Dot, Kind::Cosine, Kind::Sum];

#[test]
fn formulas_are_the_derivatives() {
    let (_, csr) = graphs().remove(5);
    let mut draw = Draw::new(11);
    let mut numbers = |n: usize| (0..n).map(|_| draw.number()).collect::<Vec<f64>>();
    let (n, m) = (csr.nrows() * 6, csr.ncols() * 6);
    for kind in KINDS {
        for dropout in [None, Some(DROPOUT)] {
            let case = Case { csr: &csr, kind, columns: 6, heads: 2, dropout };
            let parameter = if matches!(kind, Kind::Cosine) { vec![1.5] } else { numbers(6) };
            let x = Operands { query: numbers(n), key: numbers(m), values: numbers(m), parameter, gradient: numbers(n) };
            let found = case.gradients(&x);
            let loss = |x: &Operands| case.forward(x)[0].iter().zip(&x.gradient).map(|(y, d)| y * d).sum::<f64>();
            type Part = fn(&mut Operands) -> &mut Vec<f64>;
            let parts: [(Part, &[[f64; 2]]); 4] = [
                (|x| &mut x.query, &found.query),
                (|x| &mut x.key, &found.key),
                (|x| &mut x.values, &found.values),
                (|x| &mut x.parameter, &found.parameter),
            ];
            for (which, (part, wanted)) in parts.into_iter().enumerate() {
                for k in (0..wanted.len()).step_by(wanted.len().div_ceil(30)) {
                    let at = |by: f64| {
                        let mut moved = x.clone();
                        part(&mut moved)[k] += by;
                        loss(&moved)
                    };
                    let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                    assert!((slope - wanted[k][0]).abs() <= 1e-6, "{kind:?}, operand {which}, {k}: {slope}, not {}", wanted[k][0]);
                }
            }
        }
    }
}

fn agrees<T: Tested>(device: &Device, name: &str, case: &Case<'_>, shared: bool, enough: u64) {
    for products in PRODUCTS {
        agree::<T>(device, name, case, shared, (enough, products));
    }
}
fn agree<T: Tested>(device: &Device, name: &str, case: &Case<'_>, shared: bool, enough: (u64, Products)) {
    let (csr, columns, heads) = (case.csr, case.columns, case.heads);
    let what = format!("{name}, {}, {:?}, {columns} columns, {heads} heads, shared: {shared}, {enough:?} tasks", T::NAME, case.kind);
    let (n, m) = (csr.nrows(), csr.ncols());
    let matrix = lists(device, csr);
    let (transposed, positions) = transpose_with_positions(device, &matrix).unwrap();
    let layout =
        PairBackwardLayout::<T>::with_enough(device, &matrix, (&transposed, &positions), (columns, heads), enough).unwrap().unwrap();
    let (query, mut q) = features::<T>(device, n, columns, 1);
    if n > 2 && T::UNIT < 1e-6 {
        // A query of norm 0, of whose inverse no half is large enough.
        q[..columns].fill(0.0);
        query.copy_from_slice(0, &vec![T::of(0.0); columns]).unwrap();
    }
    let (key, k) = features::<T>(device, m, columns, 2);
    let (values, v) = if shared { (key.clone(), k.clone()) } else { features::<T>(device, m, columns, 3) };
    let (gradient, dy) = features::<T>(device, n, columns, 4);
    let (parameter, a): (Buffer<f32>, Vec<f64>) = match case.kind {
        Kind::Cosine => (device.upload(&[3.0]).unwrap(), vec![3.0]),
        _ => features::<f32>(device, 1, columns, 5),
    };
    let x = Operands { query: q, key: k, values: v, parameter: a, gradient: dy };
    let [y, _, lse] = case.forward(&x);
    let wanted = case.gradients(&x);
    let output = device.upload(&y.iter().map(|&y| T::of(y)).collect::<Vec<_>>()).unwrap();
    let lse = device.upload(&lse.iter().map(|&s| s as f32).collect::<Vec<_>>()).unwrap();
    let score = match case.kind {
        Kind::Dot => PairScore::Dot { factor: FACTOR as f32 },
        Kind::Cosine => PairScore::Cosine { beta: &parameter },
        Kind::Sum => PairScore::Sum { vector: &parameter, slope: SLOPE as f32 },
    };
    let input = PairInput { score, query: &query, key: &key, values: &values, dropout: case.dropout };
    // With the result of the forward pass, and without: it is formed again.
    for given in [Some(&output), None] {
        let (dq, dk, dv) = (rubbish::<T>(device, n * columns), rubbish::<T>(device, m * columns), rubbish::<T>(device, m * columns));
        let given = AttentionGiven { output: given, lse: &lse, gradient: &gradient };
        let gradients = PairGradients { query: Some(&dq), key: Some(&dk), values: Some(&dv) };
        assert!(layout.backward(input, given, gradients).unwrap(), "{what}");
        let check = |part: &str, found: Vec<f64>, wanted: &[[f64; 2]], unit: f64| {
            for (k, (value, &[w, size])) in found.into_iter().zip(wanted).enumerate() {
                let bound = size * (3.0 * T::UNIT + 5e-5) + unit * w.abs() + 1e-6;
                assert!((value - w).abs() <= bound, "{what}, {}: {part} {k}: {value}, not {w} (+- {bound})", layout.explain());
            }
        };
        let numbers = |found: &Buffer<T>| found.to_vec().unwrap().into_iter().map(Tested::number).collect::<Vec<_>>();
        check("query", numbers(&dq), &wanted.query, T::UNIT);
        check("key", numbers(&dk), &wanted.key, T::UNIT);
        check("values", numbers(&dv), &wanted.values, T::UNIT);
        if matches!(case.kind, Kind::Dot) {
            continue;
        }
        let (found, rows) = layout.parameter_sums();
        let found = found.to_vec().unwrap();
        let count = wanted.parameter.len();
        let total = |c: usize| (0..rows).map(|r| f64::from(found[r * count + c])).sum::<f64>();
        check("parameter", (0..count).map(total).collect(), &wanted.parameter, 1e-6);
        // What is not wanted is not written.
        let some = PairGradients { query: None, key: None, values: Some(&dv) };
        assert!(layout.backward(input, given, some).unwrap());
    }
}

fn all<T: Tested>(shapes: &[(usize, usize)]) {
    let Some(device) = device() else { return };
    for (name, csr) in graphs() {
        for &(columns, heads) in shapes {
            for kind in KINDS {
                let case = |dropout| Case { csr: &csr, kind, columns, heads, dropout };
                agrees::<T>(&device, name, &case(None), false, 0);
                agrees::<T>(&device, name, &case(Some(DROPOUT)), true, 4096);
            }
        }
    }
}

#[test]
fn gradients_of_pairs_of_f16() {
    all::<f16>(&[(8, 1), (64, 8), (128, 1), (24, 3), (200, 1)]);
}

#[test]
fn gradients_of_pairs_of_bf16() {
    all::<bf16>(&[(16, 2), (64, 1), (128, 4), (152, 1)]);
}

#[test]
fn gradients_of_pairs_of_f32() {
    all::<f32>(&[(8, 1), (64, 2), (128, 1), (200, 1), (12, 3)]);
}
