//! Every form against sums of `f64`, on the host shim (or a GPU, where there is one).

use super::layout::Products;
use super::select::Form;
use super::{AttentionEnd, EndActivation, GatInput, GatLayout};
use crate::device::testing::device;
use crate::device::{Buffer, Device};
use crate::tensor::forms::testing::{Tested, entries, features, graphs, lists, rubbish, shared_columns, short_rows};
use bitgraph_sparse::Csr;
use bitgraph_tensor::Dropout;
use half::{bf16, f16};

pub(super) const SLOPE: f64 = 0.2;
/// Tasks of the rows that there are, and of those that there may be.
pub(in crate::tensor::forms) const PRODUCTS: [Products; 2] = [Products::Many, Products::Few(None)];

fn leaky(z: f64) -> f64 {
    if z > 0.0 { z } else { SLOPE * z }
}

/// What additive attention gives in `f64`: results, the weighted sizes of values, and logarithms of sums.
pub(super) fn expected(csr: &Csr, columns: usize, heads: usize, left: &[f64], right: &[f64], values: &[f64]) -> [Vec<f64>; 3] {
    let (n, width) = (csr.nrows(), columns / heads);
    let (mut y, mut sizes, mut lse) = (vec![0.0; n * columns], vec![0.0; n * columns], vec![f64::NEG_INFINITY; n * heads]);
    for i in (0..n).filter(|&i| !csr.row(i).is_empty()) {
        for h in 0..heads {
            let scores: Vec<f64> = csr.row(i).iter().map(|&j| leaky(left[i * heads + h] + right[j as usize * heads + h])).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            lse[i * heads + h] = most + scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln();
            for (&j, s) in csr.row(i).iter().zip(&scores) {
                let p = (s - lse[i * heads + h]).exp();
                for c in h * width..(h + 1) * width {
                    let value = values[j as usize * columns + c];
                    y[i * columns + c] += p * value;
                    sizes[i * columns + c] += p * value.abs();
                }
            }
        }
    }
    [y, sizes, lse]
}

/// Scores from -4 to 4.
pub(super) fn scores(device: &Device, n: usize, heads: usize, seed: u64) -> (Buffer<f32>, Vec<f64>) {
    let (_, mut numbers) = features::<f32>(device, n, heads, seed);
    numbers.iter_mut().for_each(|x| *x = f64::from((*x * 4.0) as f32));
    (device.upload(&numbers.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap(), numbers)
}

fn agrees<T: Tested>(device: &Device, name: &str, csr: &Csr, columns: usize, heads: usize, enough: u64) {
    for products in PRODUCTS {
        agree::<T>(device, name, csr, (columns, heads), (enough, products));
    }
}
fn agree<T: Tested>(device: &Device, name: &str, csr: &Csr, (columns, heads): (usize, usize), (enough, products): (u64, Products)) {
    let case = format!("{name}, {}, {columns} columns, {heads} heads, {enough} tasks, {products:?}", T::NAME);
    let form = Form::of::<T>(columns, columns / heads);
    let mut layout = GatLayout::<T>::with_form(device, &lists(device, csr), columns, heads, form, (enough, products)).unwrap().unwrap();
    let scores = |n, seed| scores(device, n, heads, seed);
    let ((left, l), (right, r)) = (scores(csr.nrows(), 1), scores(csr.ncols(), 2));
    let (values, v) = features::<T>(device, csr.ncols(), columns, 3);
    let [y, sizes, lse] = expected(csr, columns, heads, &l, &r, &v);
    let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE as f32, dropout: None };
    // Twice: what a run leaves behind must not touch the next one; and in few blocks, whose lanes go on from row to row.
    for most_blocks in [layout.most_blocks, layout.most_blocks, 1] {
        layout.most_blocks = if layout.most_blocks == u32::MAX { u32::MAX } else { most_blocks };
        let (output, sums) = (rubbish::<T>(device, y.len()), rubbish::<f32>(device, lse.len()));
        layout.forward(input, &output, Some(&sums)).unwrap();
        for (k, value) in output.to_vec().unwrap().into_iter().enumerate() {
            let bound = sizes[k] * (2.0 * T::UNIT + 1e-5) + T::UNIT * y[k].abs() + 1e-7;
            let value = value.number();
            assert!(
                (value - y[k]).abs() <= bound,
                "{case}, {}: row {}, column {}: {value}, not {}",
                layout.explain(),
                k / columns,
                k % columns,
                y[k]
            );
        }
        for (k, value) in sums.to_vec().unwrap().into_iter().enumerate() {
            let value = f64::from(value);
            assert!(value == lse[k] || (value - lse[k]).abs() <= 1e-5, "{case}: sum {k}: {value}, not {}", lse[k]);
        }
    }
    let output = rubbish::<T>(device, y.len());
    layout.forward(input, &output, None).unwrap();
    assert!(output.to_vec().unwrap().iter().all(|v| v.number().is_finite()), "{case}");
}

fn all<T: Tested>(shapes: &[(usize, usize)]) {
    let Some(device) = device() else { return };
    for (name, csr) in graphs().into_iter().chain([short_rows()]).chain(shared_columns()) {
        for &(columns, heads) in shapes {
            for enough in [0, 4096] {
                agrees::<T>(&device, name, &csr, columns, heads, enough);
            }
        }
    }
}

#[test]
fn attention_over_f16() {
    all::<f16>(&[(8, 1), (16, 2), (64, 1), (64, 8), (128, 1), (128, 4), (24, 3), (56, 1), (104, 1), (200, 1), (256, 4), (7, 1), (12, 2)]);
}

#[test]
fn attention_over_bf16() {
    all::<bf16>(&[(8, 1), (64, 1), (64, 2), (128, 1), (128, 8), (40, 5), (200, 1), (256, 4), (7, 7)]);
}

#[test]
fn attention_over_f32() {
    all::<f32>(&[(8, 1), (16, 4), (64, 1), (64, 8), (128, 1), (128, 2), (200, 1), (7, 1), (70, 2)]);
}

/// What is dropped where lanes go on from row to row is what an entry's position says.
#[test]
fn weights_of_short_rows_are_dropped() {
    fn check<T: Tested>(device: &Device, (name, csr): (&str, &Csr), columns: usize) {
        let ((left, l), (right, r)) = (scores(device, csr.nrows(), 1, 1), scores(device, csr.ncols(), 1, 2));
        let (values, v) = features::<T>(device, csr.ncols(), columns, 3);
        let [_, _, lse] = expected(csr, columns, 1, &l, &r, &v);
        let dropout = Dropout::new(0.5, 77, 2);
        let form = Form::of::<T>(columns, columns);
        let mut layout = GatLayout::<T>::with_form(device, &lists(device, csr), columns, 1, form, (0, Products::Many)).unwrap().unwrap();
        assert!(layout.explain().contains("brief"), "{}", layout.explain());
        layout.most_blocks = 1;
        let output = rubbish::<T>(device, csr.nrows() * columns);
        let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE as f32, dropout: Some(dropout) };
        layout.forward(input, &output, None).unwrap();
        let mut wanted = vec![0.0; csr.nrows() * columns];
        for (k, (i, j)) in entries(csr).enumerate() {
            let weight = (leaky(l[i] + r[j]) - lse[i]).exp() * dropout.at(k as u64, 0);
            (0..columns).for_each(|c| wanted[i * columns + c] += weight * v[j * columns + c]);
        }
        for (k, (found, wanted)) in output.to_vec().unwrap().into_iter().zip(wanted).enumerate() {
            let near = (found.number() - wanted).abs() <= 8.0 * T::UNIT + 1e-5;
            assert!(near, "{name}, {}, {columns} columns: {k} is {found:?}, not {wanted}", T::NAME);
        }
    }
    let Some(device) = device() else { return };
    for columns in [64, 128] {
        for (name, csr) in [short_rows()].into_iter().chain(shared_columns()) {
            check::<f16>(&device, (name, &csr), columns);
            check::<bf16>(&device, (name, &csr), columns);
            check::<f32>(&device, (name, &csr), columns);
        }
    }
}

/// Scores far apart, in an order that raises the maximum again and again.
#[test]
fn large_scores_do_not_overflow() {
    let Some(device) = device() else { return };
    let (_, csr) = graphs().remove(6);
    let (n, m) = (csr.nrows(), csr.ncols());
    let l = vec![0.0; n];
    let r: Vec<f64> = (0..m).map(|j| f64::from((j as f32 - 600.0) * 0.5)).collect();
    let (left, right) = (device.zeroed::<f32>(n).unwrap(), device.upload(&r.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap());
    fn check<T: Tested>(device: &Device, csr: &Csr, l: &[f64], r: &[f64], left: &Buffer<f32>, right: &Buffer<f32>) {
        let columns = 16;
        let (values, v) = features::<T>(device, csr.ncols(), columns, 3);
        let [y, _, lse] = expected(csr, columns, 1, l, r, &v);
        let layout = GatLayout::<T>::build(device, &lists(device, csr), columns, 1).unwrap().unwrap();
        let (output, sums) = (rubbish::<T>(device, y.len()), rubbish::<f32>(device, lse.len()));
        layout.forward(GatInput { left, right, values: &values, slope: SLOPE as f32, dropout: None }, &output, Some(&sums)).unwrap();
        for (k, value) in output.to_vec().unwrap().into_iter().enumerate() {
            assert!((value.number() - y[k]).abs() <= 4.0 * T::UNIT + 1e-4, "{}: {} is {value:?}, not {}", T::NAME, k, y[k]);
        }
        for (k, value) in sums.to_vec().unwrap().into_iter().enumerate() {
            assert!((f64::from(value) - lse[k]).abs() <= 1e-4, "{}: {k}: {value}, not {}", T::NAME, lse[k]);
        }
    }
    check::<f16>(&device, &csr, &l, &r, &left, &right);
    check::<bf16>(&device, &csr, &l, &r, &left, &right);
    check::<f32>(&device, &csr, &l, &r, &left, &right);
}

#[test]
fn an_infinity_stays_in_the_rows_that_name_it() {
    let Some(device) = device() else { return };
    let cases = [(64, 1), (64, 4), (128, 1), (104, 1)]
        .into_iter()
        .flat_map(|shape| [graphs().remove(5)].into_iter().chain(shared_columns()).map(move |(_, csr)| (csr, shape)));
    for (csr, (columns, heads)) in cases {
        let (values, _) = features::<f16>(&device, csr.ncols(), columns, 3);
        let mut host = values.to_vec().unwrap();
        host[7 * columns + 3] = f16::INFINITY;
        let values = device.upload(&host).unwrap();
        let (left, right) = (device.zeroed::<f32>(csr.nrows() * heads).unwrap(), device.zeroed::<f32>(csr.ncols() * heads).unwrap());
        let form = Form::of::<f16>(columns, columns / heads);
        let layout =
            GatLayout::<f16>::with_form(&device, &lists(&device, &csr), columns, heads, form, (0, Products::Many)).unwrap().unwrap();
        let staged = heads == 1 && csr.nrows() == csr.ncols();
        assert_eq!(layout.explain().contains("staged"), staged, "{}", layout.explain());
        let output = device.zeroed::<f16>(csr.nrows() * columns).unwrap();
        layout.forward(GatInput { left: &left, right: &right, values: &values, slope: 0.2, dropout: None }, &output, None).unwrap();
        for (k, value) in output.to_vec().unwrap().into_iter().enumerate() {
            let named = csr.row(k / columns).contains(&7) && k % columns == 3;
            assert_eq!(value.is_finite(), !named, "row {}, column {}: {value}", k / columns, k % columns);
        }
    }
}

#[test]
fn shapes_are_checked() {
    let Some(device) = device() else { return };
    let (_, csr) = graphs().remove(4);
    let matrix = lists(&device, &csr);
    assert!(GatLayout::<f32>::build(&device, &matrix, 8, 3).is_err());
    let layout = GatLayout::<f32>::build(&device, &matrix, 8, 2).unwrap().unwrap();
    let (s, x) = (device.zeroed::<f32>(40).unwrap(), device.zeroed::<f32>(160).unwrap());
    let input = GatInput { left: &s, right: &s, values: &x, slope: 0.2, dropout: None };
    assert!(layout.forward(input, &device.zeroed(160).unwrap(), None).is_ok());
    assert!(layout.forward(input, &device.zeroed(159).unwrap(), None).is_err());
    assert!(layout.forward(input, &device.zeroed(160).unwrap(), Some(&x)).is_err());
    assert!(layout.forward(GatInput { left: &x, ..input }, &device.zeroed(160).unwrap(), None).is_err());
    assert!(layout.forward(GatInput { slope: -1.0, ..input }, &device.zeroed(160).unwrap(), None).is_err());
}

/// Biases and activations after the sums, in every kernel that has them, also where a row's pieces are joined.
#[test]
fn ends_of_layers() {
    fn check<T: Tested>(device: &Device) {
        for (name, csr) in graphs().into_iter().chain(shared_columns()) {
            let matrix = lists(device, &csr);
            for columns in [64, 128, 7] {
                let (left, l) = scores(device, csr.nrows(), 1, 1);
                let (right, r) = scores(device, csr.ncols(), 1, 2);
                let (values, v) = features::<T>(device, csr.ncols(), columns, 3);
                let (bias, b) = features::<f32>(device, 1, columns, 4);
                let [y, sizes, _] = expected(&csr, columns, 1, &l, &r, &v);
                let form = Form::of::<T>(columns, columns);
                let layout = GatLayout::<T>::with_form(device, &matrix, columns, 1, form, (0, Products::Many)).unwrap().unwrap();
                let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE as f32, dropout: None };
                for (activation, apply) in [
                    (None, (|x| x) as fn(f64) -> f64),
                    (Some(EndActivation::Leaky(0.0)), |x| x.max(0.0)),
                    (Some(EndActivation::Elu(1.5)), |x| if x < 0.0 { 1.5 * x.exp_m1() } else { x }),
                ] {
                    let output = rubbish::<T>(device, y.len());
                    layout.layer(input, &AttentionEnd { bias: Some(&bias), activation }, &output, None).unwrap();
                    for (k, value) in output.to_vec().unwrap().into_iter().enumerate() {
                        let wanted = apply(y[k] + b[k % columns]);
                        // The steepest end multiplies an error by 1.5.
                        let bound = 1.5 * sizes[k] * (2.0 * T::UNIT + 1e-5) + T::UNIT * wanted.abs() + 1e-6;
                        let near = (value.number() - wanted).abs() <= bound;
                        assert!(near, "{name}, {}, {columns} columns, {activation:?}: {k} is {value:?}, not {wanted}", T::NAME);
                    }
                }
            }
        }
    }
    let Some(device) = device() else { return };
    check::<f16>(&device);
    check::<bf16>(&device);
    check::<f32>(&device);
}
