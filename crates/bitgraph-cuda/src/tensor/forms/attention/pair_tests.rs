//! Attention by dot products, cosines and sums against sums of `f64`.

use super::layout::Products;
use super::select::Turns;
use super::tests::{PRODUCTS, SLOPE};
use super::{PairInput, PairLayout, PairScore};
use crate::device::testing::device;
use crate::device::{Buffer, Device};
use crate::tensor::forms::testing::{Tested, features, graphs, lists, rubbish};
use bitgraph_sparse::{Coo, Csr, Duplicates};
use bitgraph_tensor::Dropout;
use half::{bf16, f16};

const DROPOUT: Dropout = Dropout::new(0.3, 0x0123_4567_89AB_CDEF, 5);

/// A kind of score, with what it needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Dot,
    Cosine,
    Sum,
}

pub(super) fn score(kind: Kind, query: &[f64], key: &[f64], parameter: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match kind {
        Kind::Dot => 0.7 * dot(query, key),
        Kind::Cosine => parameter[0] * dot(query, key) / (dot(query, query).sqrt().max(1e-12) * dot(key, key).sqrt().max(1e-12)),
        Kind::Sum => {
            let term = |((q, k), a): ((&f64, &f64), &f64)| a * if q + k > 0.0 { q + k } else { SLOPE * (q + k) };
            query.iter().zip(key).zip(parameter).map(term).sum()
        }
    }
}

fn agrees<T: Tested>(device: &Device, of: (&str, &Csr), kind: Kind, sizes: (usize, usize), shared: bool, enough: u64) {
    for products in PRODUCTS {
        agree::<T>(device, of, kind, sizes, shared, (enough, products), false);
    }
    // What would be taken by length, in windows.
    if enough == 0 {
        agree::<T>(device, of, kind, sizes, shared, (enough, Products::Many), true);
    }
}
fn agree<T: Tested>(
    device: &Device,
    (name, csr): (&str, &Csr),
    kind: Kind,
    (columns, heads): (usize, usize),
    shared: bool,
    enough: (u64, Products),
    windows: bool,
) {
    let case =
        format!("{name}, {kind:?}, {}, {columns} columns, {heads} heads, shared {shared}, {enough:?} tasks, windows {windows}", T::NAME);
    let (n, m, width) = (csr.nrows(), csr.ncols(), columns / heads);
    let (query, mut q) = features::<T>(device, n, columns, 1);
    if n > 2 {
        // A query of norm 0.
        q[..columns].fill(0.0);
        query.copy_from_slice(0, &vec![T::of(0.0); columns]).unwrap();
    }
    let (key, k) = features::<T>(device, m, columns, 2);
    let (values, v) = if shared { (key.clone(), k.clone()) } else { features::<T>(device, m, columns, 3) };
    let (parameter, a): (Buffer<f32>, Vec<f64>) = match kind {
        Kind::Cosine => (device.upload(&[3.0]).unwrap(), vec![3.0]),
        _ => features::<f32>(device, 1, columns, 4),
    };
    let build = if windows { PairLayout::<T>::in_windows } else { PairLayout::<T>::with_enough };
    let layout = build(device, &lists(device, csr), columns, heads, enough).unwrap().unwrap();
    let (output, sums) = (rubbish::<T>(device, n * columns), rubbish::<f32>(device, n * heads));
    let score_of = match kind {
        Kind::Dot => PairScore::Dot { factor: 0.7 },
        Kind::Cosine => PairScore::Cosine { beta: &parameter },
        Kind::Sum => PairScore::Sum { vector: &parameter, slope: SLOPE as f32 },
    };
    // Keys of their own: nothing is dropped; where they are the values, weights are.
    let dropout = shared.then_some(DROPOUT);
    layout.forward(PairInput { score: score_of, query: &query, key: &key, values: &values, dropout }, &output, Some(&sums)).unwrap();
    let (output, sums) = (output.to_vec().unwrap(), sums.to_vec().unwrap());
    for i in 0..n {
        for h in 0..heads {
            let of = |x: &[f64], row: usize| x[row * columns + h * width..row * columns + (h + 1) * width].to_vec();
            let own = if matches!(kind, Kind::Sum) { a[h * width..(h + 1) * width].to_vec() } else { a.clone() };
            let scores: Vec<f64> = csr.row(i).iter().map(|&j| score(kind, &of(&q, i), &of(&k, j as usize), &own)).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lse = if scores.is_empty() { most } else { most + scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln() };
            let found = f64::from(sums[i * heads + h]);
            assert!(found == lse || (found - lse).abs() <= 5e-5, "{case}: sum of row {i}, head {h}: {found}, not {lse}");
            for c in 0..width {
                let kept = |k: usize| dropout.map_or(1.0, |d| d.at((csr.offsets().get(i) + k) as u64, h as u32));
                let entries = csr.row(i).iter().zip(&scores).enumerate();
                let terms = entries.map(|(k, (&j, s))| (s - lse).exp() * kept(k) * of(&v, j as usize)[c]);
                let (y, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                let value = output[i * columns + h * width + c].number();
                let bound = size * 1e-4 + T::UNIT * y.abs() + 1e-7;
                assert!((value - y).abs() <= bound, "{case}: row {i}, head {h}, column {c}: {value}, not {y}");
            }
        }
    }
}

fn all<T: Tested>(shapes: &[(usize, usize)]) {
    let Some(device) = device() else { return };
    for (name, csr) in graphs() {
        for &shape in shapes {
            for kind in [Kind::Dot, Kind::Cosine, Kind::Sum] {
                agrees::<T>(&device, (name, &csr), kind, shape, false, 0);
                agrees::<T>(&device, (name, &csr), kind, shape, true, 0);
                agrees::<T>(&device, (name, &csr), kind, shape, true, 4096);
            }
        }
    }
}

#[test]
fn pairs_of_f16() {
    all::<f16>(&[(8, 1), (64, 8), (128, 1), (128, 4), (24, 3), (7, 1), (200, 1), (256, 2)]);
}

#[test]
fn pairs_of_bf16() {
    all::<bf16>(&[(16, 2), (64, 1), (128, 1), (128, 4), (152, 1), (256, 8), (12, 2)]);
}

#[test]
fn pairs_of_f32() {
    all::<f32>(&[(8, 1), (64, 2), (128, 1), (128, 8), (200, 1), (12, 3), (7, 7)]);
}

#[test]
fn groups_go_on_from_row_to_row() {
    let Some(device) = device() else { return };
    let rows = 20_000u32;
    // Up to three entries a row, or some rows of more than a piece besides.
    for long in [0, 70] {
        let of_row = |i: u32| if long > 0 && i % 5000 == 7 { long } else { i % 4 };
        let (r, c) = (0..rows).flat_map(|i| (0..of_row(i)).map(move |k| (i, (i + 3 * k) % rows))).unzip();
        let csr = Coo::pattern(rows as usize, rows as usize, r, c).into_csr(Duplicates::First).unwrap().0;
        for kind in [Kind::Dot, Kind::Sum] {
            agree::<f16>(&device, ("many short rows", &csr), kind, (8, 1), false, (0, Products::Many), false);
        }
    }
}

#[test]
fn every_task_has_a_group_of_lanes() {
    for (tasks, pieces) in [(0, 0), (1, 0), (1, 1), (40, 7), (5_000, 33), (40_001, 0), (40_001, 40_001), (300_000, 1_000)] {
        for (lanes, skewed) in [(8, false), (16, true), (32, true), (32, false)] {
            let (threads, groups) = (128, 128 / lanes);
            let turns = Turns::of(tasks, pieces, (lanes, skewed), (threads, 3));
            // As the kernels reckon it.
            let mut next = 0;
            for block in 0..turns.blocks(tasks, threads) {
                let each = if block < turns.single { 1 } else { turns.turns };
                assert_eq!((block * each - turns.single * (each - 1)) * groups, next);
                assert!(next < tasks && (each == 1 || next >= pieces));
                next += groups * each;
            }
            assert!(next >= tasks);
        }
    }
}

#[test]
fn shapes_are_checked() {
    let Some(device) = device() else { return };
    let (_, csr) = graphs().remove(4);
    let matrix = lists(&device, &csr);
    assert!(PairLayout::<f32>::build(&device, &matrix, 300, 1).is_err() && PairLayout::<f32>::build(&device, &matrix, 8, 3).is_err());
    let layout = PairLayout::<f32>::build(&device, &matrix, 8, 2).unwrap().unwrap();
    let (x, y) = (device.zeroed::<f32>(160).unwrap(), device.zeroed::<f32>(160).unwrap());
    let (beta, vector) = (x.prefix(1), x.prefix(8));
    let run = |score, key: &Buffer<f32>| layout.forward(PairInput { score, query: &x, key, values: &x, dropout: None }, &y, None);
    assert!(run(PairScore::Dot { factor: 1.0 }, &x).is_ok() && run(PairScore::Dot { factor: 1.0 }, &x.prefix(8)).is_err());
    assert!(run(PairScore::Cosine { beta: &x }, &x).is_err() && run(PairScore::Cosine { beta: &beta }, &x).is_ok());
    assert!(run(PairScore::Sum { vector: &vector, slope: -1.0 }, &x).is_err());
}
