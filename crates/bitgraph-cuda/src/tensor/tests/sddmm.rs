//! Values of entries: products sampled there, the softmax over rows, reductions.

use super::plain::{Plain, entries, near, shape};
use super::spmm::matrix;
use super::{WIDTHS, dense, device, patterns, spread};
use bitgraph_semiring::DType;
use bitgraph_sparse::FormatKind;
use bitgraph_tensor::ops::{Pairing, Reduce, edge_reduce, edge_softmax, edge_softmax_backward, sddmm};
use bitgraph_tensor::{Activation, Dense, Element};
use half::{bf16, f16};

fn family<T: Element, U: Element>(turn: usize) {
    let Some(cuda) = device() else { return };
    for (p, (name, csr)) in patterns().iter().enumerate() {
        for (w, &width) in WIDTHS.iter().enumerate() {
            let k = 7 * p + 3 * w + turn;
            let pairing = [Pairing::Dot, Pairing::Add, Pairing::Dot, Pairing::Multiply][k % 4];
            let heads = if pairing == Pairing::Dot { if width % 5 == 0 { 5 } else { 1 } } else { width };
            let (weighted, scaled) = (k % 3 == 1, k % 5 >= 3);
            let activation = [None, Some(Activation::LeakyRelu { slope: 0.25 })][k / 2 % 2];
            let a = matrix::<T>(&cuda, csr, weighted, [FormatKind::Csr, FormatKind::B2sr4][k % 2]);
            let (x, y) = (dense::<T>(&cuda, csr.nrows(), width, 3), dense::<T>(&cuda, csr.ncols(), width, 4));
            let (x, y) = if k % 3 == 2 { (spread(&x), y) } else { (x, y) };
            let (r, c) = (dense::<T::Real>(&cuda, csr.nrows(), 1, 5), dense::<T::Real>(&cuda, csr.ncols(), 1, 6));
            let e = dense::<T>(&cuda, csr.nnz(), if k.is_multiple_of(2) { 1 } else { heads }, 7);
            let mut op = sddmm(&a, &x, &y).factor(0.5);
            op = if pairing == Pairing::Dot { op.heads(heads) } else { op.pairing(pairing) };
            if weighted {
                op = op.edge_values(&e);
            }
            if scaled {
                op = op.scale_rows(&r).scale_columns(&c);
            }
            if let Some(f) = activation {
                op = op.activation(f);
            }
            let (px, py, pe, pr, pc) = (Plain::of(&x), Plain::of(&y), Plain::of(&e), Plain::of(&r), Plain::of(&c));
            let (mut wanted, mut magnitude) = (Plain::zeros(csr.nnz(), heads), Plain::zeros(csr.nnz(), heads));
            for at in entries(csr, false) {
                for h in 0..heads {
                    let terms: Vec<f64> = match pairing {
                        Pairing::Dot => {
                            let block = width / heads;
                            (h * block..(h + 1) * block).map(|c| px.at(at.i, c) * py.at(at.j, c)).collect()
                        }
                        Pairing::Add => vec![px.at(at.i, h), py.at(at.j, h)],
                        Pairing::Multiply => vec![px.at(at.i, h) * py.at(at.j, h)],
                    };
                    let mut factor = 0.5;
                    factor *= if weighted { pe.at(at.k, if pe.columns == 1 { 0 } else { h }) } else { 1.0 };
                    factor *= if scaled { pr.at(at.i, 0) * pc.at(at.j, 0) } else { 1.0 };
                    let value = factor * terms.iter().sum::<f64>();
                    wanted.set(at.k, h, activation.map_or(value, |f| f.apply(value)));
                    magnitude.set(at.k, h, factor.abs() * terms.iter().map(|t| t.abs()).sum::<f64>());
                }
            }
            let what = format!("{} to {} over {name}, {width} columns, {pairing:?}, {weighted}, {scaled}", T::DTYPE, U::DTYPE);
            let sums = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
            near(&what, &op.eval_as::<U>().unwrap(), &wanted, &magnitude, width as f64 + 8.0, sums);
        }
    }
}

#[test]
fn floats() {
    family::<f32, f32>(0);
    family::<f16, f16>(1);
    family::<bf16, f32>(2);
    family::<f64, f64>(3);
}
#[test]
fn integers() {
    family::<i8, i32>(0);
    family::<i32, f32>(1);
    family::<u8, i16>(2);
}

/// Whole numbers that no `f32` holds.
#[test]
fn whole_numbers_are_exact() {
    let Some(cuda) = device() else { return };
    let (_, csr) = patterns().swap_remove(4);
    let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
    let x = Dense::filled(&cuda, 40, 1, 40_001i32).unwrap();
    assert_eq!(sddmm(&a, &x, &x).eval().unwrap().to_host().unwrap(), vec![1_600_080_001; csr.nnz()]);
    let y = Dense::filled(&cuda, 40, 1, (1 << 24) + 1).unwrap();
    assert_eq!(sddmm(&a, &x, &y).u_add_v().eval().unwrap().to_host().unwrap(), vec![(1 << 24) + 40_002; csr.nnz()]);
}

fn softmax_of(csr: &bitgraph_sparse::Csr, scores: &Plain) -> Plain {
    let mut p = Plain::zeros(scores.rows, scores.columns);
    for row in entries(csr, false).chunk_by(|a, b| a.i == b.i) {
        for h in 0..scores.columns {
            let max = row.iter().fold(f64::NEG_INFINITY, |m, e| m.max(scores.at(e.k, h)));
            let sum: f64 = row.iter().map(|e| (scores.at(e.k, h) - max).exp()).sum();
            row.iter().for_each(|e| p.set(e.k, h, (scores.at(e.k, h) - max).exp() / sum));
        }
    }
    p
}

fn softmaxes<T: Element<Output = T>>() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        for heads in [1, 3, 8, 33] {
            let what = format!("{} over {name}, {heads} heads", T::DTYPE);
            let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
            // Far above what an exponential holds.
            let scores = dense::<T>(&cuda, csr.nnz(), heads, 3);
            let scores = bitgraph_tensor::ops::map(&scores).times(100.0).eval().unwrap();
            let p = edge_softmax(&a, &spread(&scores)).unwrap();
            let real = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
            let wanted = softmax_of(&csr, &Plain::of(&scores));
            near(&what, &p, &wanted, &wanted.map(|p, _, _| p + 1e-30), 100.0, real);
            let dp = dense::<T>(&cuda, csr.nnz(), heads, 4);
            let ds = edge_softmax_backward(&a, &p, &dp).unwrap();
            let (p, dp) = (Plain::of(&p), Plain::of(&dp));
            let (mut wanted, mut magnitude) = (Plain::zeros(p.rows, heads), Plain::zeros(p.rows, heads));
            for row in entries(&csr, false).chunk_by(|a, b| a.i == b.i) {
                for h in 0..heads {
                    let mean: f64 = row.iter().map(|e| p.at(e.k, h) * dp.at(e.k, h)).sum();
                    row.iter().for_each(|e| wanted.set(e.k, h, p.at(e.k, h) * (dp.at(e.k, h) - mean)));
                    row.iter().for_each(|e| magnitude.set(e.k, h, p.at(e.k, h) * 4.0));
                }
            }
            near(&format!("{what}, backward"), &ds, &wanted, &magnitude, 100.0, real);
        }
    }
}

#[test]
fn softmaxes_of_all_types() {
    softmaxes::<f32>();
    softmaxes::<f64>();
    softmaxes::<f16>();
}

/// A score of negative infinity gets nothing; a row of one that is no number gives no numbers, and leaves the others alone.
#[test]
fn softmaxes_of_special_scores() {
    let Some(cuda) = device() else { return };
    let (_, csr) = patterns().swap_remove(5);
    let a = matrix::<f32>(&cuda, &csr, false, FormatKind::Csr);
    let all = entries(&csr, false);
    let mut scores = super::elements::<f32>(csr.nnz(), 3);
    let first = |row: usize| all.iter().find(|e| e.i == row).unwrap().k;
    scores[first(5)] = f32::NEG_INFINITY;
    scores[first(5) + 60] = f32::NEG_INFINITY;
    scores[first(6)] = f32::NAN;
    let scores = Dense::from_vec(&cuda, csr.nnz(), 1, scores).unwrap();
    let (found, wanted) = (edge_softmax(&a, &scores).unwrap(), softmax_of(&csr, &Plain::of(&scores)));
    assert!(wanted.data.iter().any(|p| p.is_nan()) && wanted.data[first(5)] == 0.0);
    near("special scores", &found, &wanted, &wanted.map(|p, _, _| if p.is_nan() { 0.0 } else { p }), 20.0, DType::F32);
}

fn reductions<T: Element>() {
    let Some(cuda) = device() else { return };
    for (k, (name, csr)) in patterns().iter().enumerate() {
        for (w, width) in [1, 3, 8, 33].into_iter().enumerate() {
            let (reduce, transposed) = ([Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min][(k + w) % 4], w % 2 == 1);
            let a = matrix::<f32>(&cuda, csr, false, FormatKind::Csr);
            let e = dense::<T>(&cuda, csr.nnz(), width, 3);
            let found = edge_reduce(&a, transposed, &e, reduce).unwrap();
            let (e, n) = (Plain::of(&e), shape(csr, transposed).0);
            let (mut wanted, mut magnitude) = (Plain::zeros(n, width), Plain::zeros(n, width));
            for row in entries(csr, transposed).chunk_by(|a, b| a.i == b.i) {
                for c in 0..width {
                    let values = row.iter().map(|at| e.at(at.k, c));
                    let value = match reduce {
                        Reduce::Sum => values.clone().sum(),
                        Reduce::Mean => values.clone().sum::<f64>() / row.len() as f64,
                        Reduce::Max => values.clone().fold(f64::NEG_INFINITY, f64::max),
                        Reduce::Min => values.clone().fold(f64::INFINITY, f64::min),
                    };
                    wanted.set(row[0].i, c, value);
                    magnitude.set(row[0].i, c, values.map(f64::abs).sum());
                }
            }
            near(&format!("{reduce:?} of {} over {name}, {width}", T::DTYPE), &found, &wanted, &magnitude, 100.0, DType::F32);
        }
    }
}

#[test]
fn reductions_of_all_types() {
    reductions::<f32>();
    reductions::<f16>();
    reductions::<f64>();
    reductions::<i32>();
}
