//! Sparse times dense.

use super::plain::{Entry, Plain, entries, near, shape};
use super::{WIDTHS, dense, device, elements, pattern, patterns, spread};
use crate::Cuda;
use bitgraph_backend::Matrix;
use bitgraph_semiring::{DType, Scalar};
use bitgraph_sparse::{Csr, FormatKind, Values};
use bitgraph_tensor::ops::{Accumulation, Reduce, spmm};
use bitgraph_tensor::{Activation, Dense, Dropout, Element, Quantise};
use half::{bf16, f16};

/// The factors of a product.
pub struct Factors {
    /// Of a position and head.
    pub edges: Option<Plain>,
    pub rows: Option<Plain>,
    pub columns: Option<Plain>,
    pub own: Option<f64>,
    pub heads: usize,
}

pub const PLAIN: Factors = Factors { edges: None, rows: None, columns: None, own: None, heads: 1 };

/// The result, the sums of absolute values, and the columns that were chosen.
pub struct Found {
    pub y: Plain,
    pub magnitude: Plain,
    pub chosen: Vec<i32>,
    pub longest: usize,
}

pub fn product(csr: &Csr, transposed: bool, x: &Plain, f: &Factors, reduce: Reduce) -> Found {
    let (rows, _) = shape(csr, transposed);
    let width = x.columns / f.heads.max(1);
    let column = |j: usize| f.columns.as_ref().map_or(1.0, |d| d.at(j, 0));
    let weight = |e: Entry, c: usize| column(e.j) * f.edges.as_ref().map_or(1.0, |v| v.at(e.k, if v.columns == 1 { 0 } else { c / width }));
    let mut messages: Vec<Vec<(usize, Entry, bool)>> = vec![Vec::new(); rows];
    entries(csr, transposed).into_iter().for_each(|e| messages[e.i].push((e.j, e, false)));
    if f.own.is_some() {
        (0..rows).for_each(|i| messages[i].push((i, Entry { i, j: i, k: 0 }, true)));
    }
    let (mut y, mut magnitude, mut chosen) = (Plain::zeros(rows, x.columns), Plain::zeros(rows, x.columns), vec![-1; rows * x.columns]);
    for i in 0..rows {
        for c in 0..x.columns {
            let terms: Vec<(usize, f64)> = messages[i]
                .iter()
                .map(|&(j, e, own)| (j, x.at(j, c) * if own { f.own.unwrap_or(0.0) * column(j) } else { weight(e, c) }))
                .collect();
            let better = |a: f64, b: f64| (if reduce == Reduce::Max { b > a } else { b < a }) || (a.is_nan() && !b.is_nan());
            let sum: f64 = terms.iter().map(|t| t.1).sum();
            let value = match reduce {
                Reduce::Sum => sum,
                Reduce::Mean => sum / terms.len().max(1) as f64,
                _ => match terms.iter().copied().reduce(|a, b| if better(a.1, b.1) { b } else { a }) {
                    Some((j, value)) => {
                        chosen[i * x.columns + c] = j as i32;
                        value
                    }
                    None => 0.0,
                },
            };
            let scale = f.rows.as_ref().map_or(1.0, |d| d.at(i, 0));
            y.set(i, c, value * scale);
            magnitude.set(i, c, terms.iter().map(|t| t.1.abs()).sum::<f64>() * scale.abs());
        }
    }
    let longest = messages.iter().map(Vec::len).max().unwrap_or(0);
    Found { y, magnitude, chosen, longest }
}

/// A pattern, or a matrix of values.
pub fn matrix<T: Element>(cuda: &Cuda, csr: &Csr, weighted: bool, format: FormatKind) -> Matrix<Cuda> {
    let values = weighted.then(|| Values::from_vec(elements::<T>(csr.nnz(), 21)));
    Matrix::new(cuda, csr, values.as_ref(), format).unwrap()
}

pub fn weights<T: Element>(csr: &Csr) -> Plain {
    Plain { rows: csr.nnz(), columns: 1, data: elements::<T>(csr.nnz(), 21).into_iter().map(Scalar::to_f64).collect() }
}

/// One product of many, by a number that decides what it is made of.
fn one<T: Element, U: Element>(cuda: &Cuda, name: &str, csr: &Csr, width: usize, k: usize) {
    let reduce = [Reduce::Sum, Reduce::Max, Reduce::Mean, Reduce::Sum, Reduce::Min][k % 5];
    let (weighted, transposed, scaled, apart) = (k / 2 % 2 == 1, k / 3 % 2 == 1, k % 7 >= 4, k % 3 == 1);
    let (rows, columns) = shape(csr, transposed);
    let own = (k % 4 == 2 && rows == columns && !reduce.chooses()).then_some(3.0);
    let format = [FormatKind::Csr, FormatKind::B2sr8, FormatKind::Hybrid][k % 3];
    let a = matrix::<T>(cuda, csr, weighted, format);
    let x = dense::<T>(cuda, columns, width, 3);
    let x = if apart { spread(&x) } else { x };
    let (r, c) = (dense::<T::Real>(cuda, rows, 1, 5), dense::<T::Real>(cuda, columns, 1, 6));
    let factors = Factors {
        edges: weighted.then(|| weights::<T>(csr)),
        rows: scaled.then(|| Plain::of(&r)),
        columns: scaled.then(|| Plain::of(&c)),
        own,
        ..PLAIN
    };
    let wanted = product(csr, transposed, &Plain::of(&x), &factors, reduce);
    let mut op = spmm(&a, &x).reduce(reduce);
    if transposed {
        op = op.transpose();
    }
    if scaled {
        op = op.scale_rows(&spread(&r)).scale_columns(&c);
    }
    if let Some(own) = own {
        op = op.own(own);
    }
    let what = format!(
        "{} to {} over {name}, {width} columns, {reduce:?}, weighted {weighted}, transposed {transposed}, scaled {scaled}, {own:?}, {format}",
        T::DTYPE,
        U::DTYPE
    );
    let sums = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
    near(&what, &op.eval_as::<U>().unwrap(), &wanted.y, &wanted.magnitude, wanted.longest as f64 + 6.0, sums);
}

/// Every pattern and width in turns of reductions, formats, factors and directions.
fn family<T: Element, U: Element>(turn: usize) {
    let Some(cuda) = device() else { return };
    for (p, (name, csr)) in patterns().iter().enumerate() {
        for (w, &width) in WIDTHS.iter().enumerate() {
            one::<T, U>(&cuda, name, csr, width, 11 * p + 5 * w + turn);
        }
    }
}

#[test]
fn singles() {
    family::<f32, f32>(0);
    family::<f32, f32>(1);
    family::<f32, f64>(2);
}
#[test]
fn halves() {
    family::<f16, f16>(0);
    family::<f16, f32>(3);
    family::<bf16, bf16>(1);
    family::<bf16, f32>(4);
}
#[test]
fn doubles() {
    family::<f64, f64>(0);
    family::<f64, f16>(3);
}
#[test]
fn bytes() {
    family::<i8, i32>(0);
    family::<i8, i8>(1);
    family::<u8, f32>(2);
    family::<u8, u8>(4);
}
#[test]
fn integers() {
    family::<i16, i32>(0);
    family::<i32, i32>(1);
    family::<i32, i16>(2);
    family::<i32, bf16>(3);
}

#[test]
fn heads_have_values_of_their_own() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        for (heads, width) in [(1, 33), (4, 64), (8, 64), (3, 21), (2, 10)] {
            for transposed in [false, true] {
                let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
                let e = dense::<f32>(&cuda, csr.nnz(), heads, 9);
                let x = dense::<f16>(&cuda, shape(&csr, transposed).1, width, 3);
                let factors = Factors { edges: Some(Plain::of(&e)), heads, ..PLAIN };
                let wanted = product(&csr, transposed, &Plain::of(&x), &factors, Reduce::Sum);
                let op = spmm(&a, &x).edge_values(&if transposed { spread(&e) } else { e });
                let found = if transposed { op.transpose().eval_as::<f32>() } else { op.eval_as::<f32>() }.unwrap();
                let what = format!("{name}, {heads} heads of {width}");
                near(&what, &found, &wanted.y, &wanted.magnitude, wanted.longest as f64 + 2.0, DType::F32);
            }
        }
    }
}

/// Every step of an epilogue by itself, and all of them one after the other, which are more than a launch takes.
#[test]
fn epilogues() {
    let Some(cuda) = device() else { return };
    let csr = pattern(40, 40, (0..40).flat_map(|i| [(i, i), (i, (i + 1) % 40), (i, (i * 7) % 40)]));
    for width in [1, 3, 7, 33, 64] {
        let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
        let x = dense::<f32>(&cuda, 40, width, 3);
        let y = product(&csr, false, &Plain::of(&x), &PLAIN, Reduce::Sum).y;
        let column = dense::<f32>(&cuda, 40, 1, 4);
        let rows: Vec<Dense<Cuda, f32>> = (5..9).map(|seed| dense(&cuda, 1, width, seed)).collect();
        let positive = Dense::from_vec(&cuda, 1, width, elements::<f32>(width, 9).iter().map(|v| v.abs()).collect()).unwrap();
        let (half, byte) = (spread(&dense::<bf16>(&cuda, 40, width, 10)), dense::<i8>(&cuda, 40, width, 11));
        let (c, [r0, r1, r2, r3]) = (Plain::of(&column), [0, 1, 2, 3].map(|k| Plain::of(&rows[k])));
        let (v, h, b) = (Plain::of(&positive), Plain::of(&half), Plain::of(&byte));
        let dropout = Dropout::new(0.4, 0x1234_5678_9abc, 3);
        let elu = Activation::Elu { alpha: 1.5 };
        let op = || spmm(&a, &x);
        let check = |what: &str, found: Dense<Cuda, f32>, wanted: &Plain| {
            near(&format!("{what}, {width} columns"), &found, wanted, &wanted.map(|x, _, _| x.abs() + 20.0), 8.0, DType::F32);
        };
        check("rows", op().times_rows(&column).eval().unwrap(), &y.map(|x, i, _| x * c.at(i, 0)));
        check("columns", op().times_columns(&rows[0]).eval().unwrap(), &y.map(|x, _, k| x * r0.at(0, k)));
        check("a factor", op().times(-0.75).eval().unwrap(), &y.map(|x, _, _| x * -0.75));
        check("bias", op().bias(&rows[0]).eval().unwrap(), &y.map(|x, _, k| x + r0.at(0, k)));
        check("a summand", op().add_scaled(&half, 0.5).eval().unwrap(), &y.map(|x, i, k| x + 0.5 * h.at(i, k)));
        let scaled = op().add_times_columns(&half, &rows[1]).eval().unwrap();
        check("a summand times a row", scaled, &y.map(|x, i, k| x + r1.at(0, k) * h.at(i, k)));
        check("a factor of each", op().multiply(&byte).eval().unwrap(), &y.map(|x, i, k| x * b.at(i, k)));
        let norm = |x: f64, k: usize| (x - r0.at(0, k)) / (v.at(0, k) + 0.25).sqrt();
        check("normal", op().batch_norm((&rows[0], &positive), None, 0.25).eval().unwrap(), &y.map(|x, _, k| norm(x, k)));
        let affine = op().batch_norm((&rows[0], &positive), Some((&rows[1], &rows[2])), 0.25).eval().unwrap();
        check("normal, affine", affine, &y.map(|x, _, k| norm(x, k) * r1.at(0, k) + r2.at(0, k)));
        for f in [Activation::Relu, Activation::LeakyRelu { slope: 0.2 }, elu] {
            check("an activation", op().activation(f).eval().unwrap(), &y.map(|x, _, _| f.apply(x)));
            let gradient = op().activation_gradient(f, &byte).eval().unwrap();
            check("its gradient", gradient, &y.map(|x, i, k| x * f.derivative(b.at(i, k))));
        }
        let dropped = y.map(|x, i, k| x * dropout.at(i as u64, k as u32));
        check("dropout", op().dropout(dropout).eval().unwrap(), &dropped);
        check("signs", op().sign().eval().unwrap(), &y.map(|x, _, _| if x >= 0.0 { 1.0 } else { -1.0 }));
        check("thresholds", op().threshold(&rows[3]).eval().unwrap(), &y.map(|x, _, k| if x >= r3.at(0, k) { 1.0 } else { -1.0 }));
        let q = Quantise { scale: 0.5, zero_point: 3, bits: 3 };
        check("levels", op().quantise(q).eval().unwrap(), &y.map(|x, _, _| q.level(x)));
        assert_eq!(Plain::of(&op().quantise(q).eval_as::<u8>().unwrap()).data, y.map(|x, _, _| q.level(x)).data);
        let all = op()
            .times_rows(&column)
            .bias(&rows[0])
            .add(&half)
            .batch_norm((&rows[1], &positive), Some((&rows[2], &rows[3])), 0.25)
            .leaky_relu(0.25)
            .times_columns(&rows[1])
            .multiply(&byte)
            .dropout(dropout)
            .add_scaled(&half, -0.5)
            .elu(1.5)
            .times(2.0)
            .eval()
            .unwrap();
        let wanted = y.map(|x, i, k| {
            let x = x * c.at(i, 0) + r0.at(0, k) + h.at(i, k);
            let x = (x - r1.at(0, k)) / (v.at(0, k) + 0.25).sqrt() * r2.at(0, k) + r3.at(0, k);
            let x = Activation::LeakyRelu { slope: 0.25 }.apply(x) * r1.at(0, k) * b.at(i, k) * dropout.at(i as u64, k as u32);
            elu.apply(x - 0.5 * h.at(i, k)) * 2.0
        });
        check("all steps", all, &wanted);
    }
}

#[test]
fn chosen_columns_and_their_gradient() {
    chosen::<f32>();
    chosen::<f16>();
    chosen::<bf16>();
}

fn chosen<T: Element<Real = f32, Output = T>>() {
    let Some(cuda) = device() else { return };
    for (k, (name, csr)) in patterns().iter().enumerate() {
        for (reduce, transposed, width) in [(Reduce::Max, false, 9), (Reduce::Min, true, 33), (Reduce::Max, true, 64)] {
            let what = format!("{reduce:?} of {} over {name}, transposed {transposed}", T::DTYPE);
            let (rows, columns) = shape(csr, transposed);
            let a = matrix::<T>(&cuda, csr, k % 2 == 0, FormatKind::Csr);
            let (x, r, c) = (dense::<T>(&cuda, columns, width, 3), dense(&cuda, rows, 1, 4), dense(&cuda, columns, 1, 5));
            let op = || {
                let op = spmm(&a, &x).reduce(reduce).scale_rows(&r).scale_columns(&c);
                if transposed { op.transpose() } else { op }
            };
            let edges = (k % 2 == 0).then(|| weights::<T>(csr));
            let factors = Factors { edges, rows: Some(Plain::of(&r)), columns: Some(Plain::of(&c)), ..PLAIN };
            let wanted = product(csr, transposed, &Plain::of(&x), &factors, reduce);
            let (y, chosen) = op().eval_chosen().unwrap();
            near(&what, &y, &wanted.y, &wanted.magnitude, 4.0, DType::F32);
            assert_eq!(chosen.to_host().unwrap(), wanted.chosen, "{what}");
            let dy = dense::<T>(&cuda, rows, width, 8);
            let dx = op().gradient_chosen(&chosen, &dy).unwrap();
            let (dy, mut gradient) = (Plain::of(&dy), Plain::zeros(columns, width));
            let mut magnitude = gradient.clone();
            for e in entries(csr, transposed) {
                for c in (0..width).filter(|&c| wanted.chosen[e.i * width + c] == e.j as i32) {
                    let edge = factors.edges.as_ref().map_or(1.0, |v| v.at(e.k, 0));
                    let factor = edge * factors.rows.as_ref().unwrap().at(e.i, 0) * factors.columns.as_ref().unwrap().at(e.j, 0);
                    gradient.add(e.j, c, factor * dy.at(e.i, c));
                    magnitude.add(e.j, c, (factor * dy.at(e.i, c)).abs());
                }
            }
            near(&format!("{what}, gradient"), &dx, &gradient, &magnitude, rows as f64 + 4.0, DType::F32);
        }
    }
}

/// The gradient of a sum or a mean is a product with the transpose.
#[test]
fn gradients_of_sums_and_means() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns().into_iter().filter(|(_, csr)| csr.is_square()) {
        for reduce in [Reduce::Sum, Reduce::Mean] {
            let n = csr.nrows();
            let a = matrix::<f64>(&cuda, &csr, true, FormatKind::Csr);
            let (x, dy) = (dense::<f64>(&cuda, n, 5, 3), dense::<f64>(&cuda, n, 5, 4));
            let (r, c) = (dense::<f64>(&cuda, n, 1, 5), dense::<f64>(&cuda, n, 1, 6));
            let op = || spmm(&a, &x).reduce(reduce).scale_rows(&r).scale_columns(&c).own(0.5);
            let dx = op().gradient(&dy).unwrap().eval().unwrap();
            // <dy, A x> = <A^T dy, x>.
            let dot = |a: &Dense<Cuda, f64>, b: &Dense<Cuda, f64>| {
                let (a, b) = (a.to_host().unwrap(), b.to_host().unwrap());
                a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()
            };
            let (left, right) = (dot(&dy, &op().eval().unwrap()), dot(&dx, &x));
            assert!((left - right).abs() <= 1e-9 * (1.0 + left.abs()), "{name}, {reduce:?}: {left} and {right}");
        }
    }
}

/// A symmetric pattern that is known for one is its own transpose: the same bits, over the layout that there is.
#[test]
fn symmetric_patterns_are_their_transposes() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns().into_iter().filter(|(_, csr)| csr.is_square()) {
        let (csr, n) = (csr.symmetrized().unwrap(), csr.nrows());
        let unknown = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
        let known = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr).with_symmetric_pattern();
        let (x, dy) = (dense::<f32>(&cuda, n, 8, 3), dense::<f16>(&cuda, n, 8, 4));
        spmm(&known, &x).eval().unwrap();
        spmm(&known, &dy).eval().unwrap();
        let before = known.bytes();
        let of = |a: &Matrix<Cuda>| {
            let half = spmm(a, &dy).transpose().eval_as::<f32>().unwrap();
            let gradient = spmm(a, &x).reduce(Reduce::Mean).gradient(&dy).unwrap().eval_as::<f32>().unwrap();
            [half, gradient, spmm(a, &x).transpose().eval().unwrap()].map(|y| y.to_host().unwrap())
        };
        assert_eq!(of(&known), of(&unknown), "{name}");
        assert_eq!(known.bytes(), before, "{name}");
        let e = dense::<f32>(&cuda, csr.nnz(), 1, 5);
        let weighted = |a: &Matrix<Cuda>| spmm(a, &x).transpose().edge_values(&e).eval().unwrap().to_host().unwrap();
        assert_eq!(weighted(&known), weighted(&unknown), "{name}, with values");
    }
}

/// A NaN or an infinity reaches the rows that have an entry for it, and no other; a maximum prefers numbers.
#[test]
fn special_values_stay_in_their_rows() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns().into_iter().filter(|(_, csr)| csr.is_square() && csr.nrows() > 30) {
        let n = csr.nrows();
        for (width, reduce) in [(33, Reduce::Sum), (64, Reduce::Max), (7, Reduce::Min), (130, Reduce::Mean)] {
            let mut x = elements::<f32>(n * width, 3);
            x[5 * width..6 * width].fill(f32::NAN);
            x[8 * width..9 * width].fill(f32::INFINITY);
            x[9 * width..10 * width].fill(f32::NEG_INFINITY);
            let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
            let x = Dense::from_vec(&cuda, n, width, x).unwrap();
            let wanted = product(&csr, false, &Plain::of(&x), &PLAIN, reduce);
            let magnitude = wanted.y.map(|_, _, _| 1e3);
            near(&format!("{reduce:?} over {name}"), &spmm(&a, &x).reduce(reduce).eval().unwrap(), &wanted.y, &magnitude, 8.0, DType::F32);
        }
    }
}

/// A hub whose sum is beyond the half type: the scaled result is in range, and batches keep half sums in it.
#[test]
fn hubs_do_not_overflow() {
    let Some(cuda) = device() else { return };
    let n = 3000u32;
    let csr = pattern(1, n, (0..n).map(|j| (0, j)));
    let a = matrix::<f16>(&cuda, &csr, false, FormatKind::Csr);
    let x = Dense::filled(&cuda, n as usize, 9, f16::from_f32(100.0)).unwrap();
    let scale = Dense::filled(&cuda, 1, 1, 1.0 / n as f32).unwrap();
    let near = |y: Dense<Cuda, f16>, by: f32| y.to_host().unwrap().iter().all(|v| (v.to_f32() - 100.0).abs() <= by);
    assert!(near(spmm(&a, &x).scale_rows(&scale).eval().unwrap(), 0.1));
    assert!(near(spmm(&a, &x).reduce(Reduce::Mean).eval().unwrap(), 0.1));
    assert!(near(spmm(&a, &x).scale_rows(&scale).accumulation(Accumulation::Discretised { batch: 32 }).eval().unwrap(), 8.0));
    let whole = spmm(&a, &x).scale_rows(&scale).accumulation(Accumulation::Discretised { batch: n }).eval().unwrap();
    assert!(whole.to_host().unwrap().iter().all(|v| v.is_infinite()), "one batch of half sums overflows");
}

/// Discretised sums round after every product and every sum, in the order of the entries.
#[test]
fn discretised_sums() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        for (batch, width) in [(1, 7), (4, 33), (100, 3)] {
            let a = matrix::<bf16>(&cuda, &csr, true, FormatKind::Csr);
            let (x, r) = (dense::<bf16>(&cuda, csr.ncols(), width, 3), dense::<f32>(&cuda, csr.nrows(), 1, 4));
            let found = spmm(&a, &x).scale_rows(&r).reduce(Reduce::Mean).accumulation(Accumulation::Discretised { batch }).eval().unwrap();
            let (x, r, w) = (Plain::of(&x), Plain::of(&r), weights::<bf16>(&csr));
            let round = |v: f32| bf16::from_f32(v).to_f32();
            let mut wanted = Plain::zeros(csr.nrows(), width);
            for i in 0..csr.nrows() {
                let row: Vec<_> = entries(&csr, false).into_iter().filter(|e| e.i == i).collect();
                let factor = 1.0 / row.len().max(1) as f32 * r.at(i, 0) as f32;
                for c in 0..width {
                    let total = row.chunks(batch as usize).fold(0.0, |total, part| {
                        let sum = part.iter().fold(0.0, |sum, e| round(sum + round(w.at(e.k, 0) as f32 * x.at(e.j, c) as f32)));
                        round(total + round(sum * factor))
                    });
                    wanted.set(i, c, total.into());
                }
            }
            assert_eq!(Plain::of(&found).data, wanted.data, "{name}, batches of {batch}");
        }
    }
}

#[test]
fn inverse_counts() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        for (transposed, extra) in [(false, 0), (true, 1)] {
            use bitgraph_tensor::backend::Spmm;
            let a = matrix::<f32>(&cuda, &csr, false, FormatKind::B2sr8);
            let n = shape(&csr, transposed).0;
            let mut out = Dense::<_, f64>::zeros(&cuda, n, 1).unwrap();
            cuda.inverse_counts(&a, transposed, extra, f64::erase_mut(out.as_mut().open().unwrap())).unwrap();
            let mut wanted = vec![f64::from(extra); n];
            entries(&csr, transposed).iter().for_each(|e| wanted[e.i] += 1.0);
            wanted.iter_mut().filter(|n| **n > 0.0).for_each(|n| *n = 1.0 / *n);
            assert_eq!(out.to_host().unwrap(), wanted, "{name}");
        }
    }
}

/// The same bits in every run.
#[test]
fn results_repeat() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        let x = dense::<f32>(&cuda, csr.ncols(), 33, 3);
        let x = bitgraph_tensor::ops::map(&x).times(0.1).eval().unwrap();
        let run = || {
            let a = matrix::<f32>(&cuda, &csr, true, FormatKind::Csr);
            spmm(&a, &x).eval().unwrap().to_host().unwrap()
        };
        let first = run();
        assert!((0..3).all(|_| run() == first), "{name}");
    }
}
