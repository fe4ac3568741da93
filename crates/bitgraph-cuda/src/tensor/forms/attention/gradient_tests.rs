//! The gradients of additive attention: formulas in `f64` against differences of the forward pass in `f64`, and every form against the formulas.

use super::layout::Products;
use super::select::{Backward, Form};
use super::tests::{PRODUCTS, SLOPE, expected, scores};
use super::{AttentionGiven, GatBackwardLayout, GatGradients, GatInput, GatLayout};
use crate::device::Device;
use crate::device::testing::device;
use crate::tensor::forms::testing::{Draw, Tested, features, graphs, lists, rubbish, shared_columns, short_rows};
use bitgraph_sparse::Csr;
use bitgraph_tensor::Dropout;
use half::{bf16, f16};

/// Operands in `f64`.
struct Operands {
    left: Vec<f64>,
    right: Vec<f64>,
    values: Vec<f64>,
    /// The gradient of the result.
    gradient: Vec<f64>,
}

/// Gradients with the sizes that their errors are held against.
struct Gradients {
    left: Vec<[f64; 2]>,
    right: Vec<[f64; 2]>,
    values: Vec<[f64; 2]>,
}

fn gradients(csr: &Csr, columns: usize, heads: usize, x: &Operands) -> Gradients {
    let width = columns / heads;
    let [y, sizes, lse] = expected(csr, columns, heads, &x.left, &x.right, &x.values);
    let mut found =
        Gradients { left: vec![[0.0; 2]; x.left.len()], right: vec![[0.0; 2]; x.right.len()], values: vec![[0.0; 2]; x.values.len()] };
    for i in 0..csr.nrows() {
        for &j in csr.row(i) {
            for h in 0..heads {
                let (l, r, range) = (i * heads + h, j as usize * heads + h, h * width..(h + 1) * width);
                let z = x.left[l] + x.right[r];
                let p = (if z > 0.0 { z } else { SLOPE * z } - lse[l]).exp();
                let (mut dp, mut size) = (0.0, 0.0);
                for c in range {
                    let (dy, v) = (x.gradient[i * columns + c], x.values[j as usize * columns + c]);
                    dp += dy * (v - y[i * columns + c]);
                    size += dy.abs() * (v.abs() + sizes[i * columns + c]);
                    let d = &mut found.values[j as usize * columns + c];
                    *d = [d[0] + p * dy, d[1] + p * dy.abs()];
                }
                let dz = p * dp * if z > 0.0 { 1.0 } else { SLOPE };
                for d in [&mut found.left[l], &mut found.right[r]] {
                    *d = [d[0] + dz, d[1] + p * size];
                }
            }
        }
    }
    found
}

#[test]
fn formulas_are_the_derivatives() {
    let (_, csr) = graphs().remove(5);
    let (columns, heads) = (6, 2);
    let mut draw = Draw::new(11);
    let mut numbers = |n: usize| (0..n).map(|_| draw.number()).collect::<Vec<f64>>();
    let (n, m) = (csr.nrows(), csr.ncols());
    let x = Operands { left: numbers(n * heads), right: numbers(m * heads), values: numbers(m * columns), gradient: numbers(n * columns) };
    let found = gradients(&csr, columns, heads, &x);
    let loss = |left: &[f64], right: &[f64], values: &[f64]| -> f64 {
        let [y, ..] = expected(&csr, columns, heads, left, right, values);
        y.iter().zip(&x.gradient).map(|(y, d)| y * d).sum()
    };
    let step = 1e-6;
    for k in (0..x.values.len()).step_by(7) {
        let moved = |d: f64| {
            let (mut l, mut r, mut v) = (x.left.clone(), x.right.clone(), x.values.clone());
            let (at_left, at_right) = (k % l.len(), k % r.len());
            (l[at_left], r[at_right], v[k]) = (l[at_left] + d, r[at_right] + d, v[k] + d);
            [loss(&x.left, &x.right, &v), loss(&l, &x.right, &x.values), loss(&x.left, &r, &x.values)]
        };
        let (up, down) = (moved(step), moved(-step));
        let derivative = |i: usize| (up[i] - down[i]) / (2.0 * step);
        let wanted = [found.values[k][0], found.left[k % x.left.len()][0], found.right[k % x.right.len()][0]];
        for (i, w) in wanted.into_iter().enumerate() {
            assert!((derivative(i) - w).abs() <= 1e-6, "operand {i}, {k}: {} by differences, {w} by the formula", derivative(i));
        }
    }
}

fn agrees<T: Tested>(device: &Device, name: &str, csr: &Csr, columns: usize, heads: usize, enough: u64) {
    for products in PRODUCTS {
        agree::<T>(device, name, csr, (columns, heads), (enough, products));
    }
}
fn agree<T: Tested>(device: &Device, name: &str, csr: &Csr, (columns, heads): (usize, usize), (enough, products): (u64, Products)) {
    let case = format!("{name}, {}, {columns} columns, {heads} heads, {enough} tasks, {products:?}", T::NAME);
    let (n, m, width) = (csr.nrows(), csr.ncols(), columns / heads);
    let forms = (Form::of::<T>(columns, width), Backward::of::<T>(columns, heads, width).unwrap());
    let mut layout =
        GatBackwardLayout::<T>::with_forms(device, &lists(device, csr), columns, heads, forms, (enough, products)).unwrap().unwrap();
    let ((left, l), (right, r)) = (scores(device, n, heads, 1), scores(device, m, heads, 2));
    let ((values, v), (gradient, dy)) = (features::<T>(device, m, columns, 3), features::<T>(device, n, columns, 4));
    let x = Operands { left: l, right: r, values: v, gradient: dy };
    let [y, _, lse] = expected(csr, columns, heads, &x.left, &x.right, &x.values);
    let wanted = gradients(csr, columns, heads, &x);
    let output = device.upload(&y.iter().map(|&y| T::of(y)).collect::<Vec<_>>()).unwrap();
    let lse = device.upload(&lse.iter().map(|&s| s as f32).collect::<Vec<_>>()).unwrap();
    let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE as f32, dropout: None };
    // With the result of the forward pass, and without: it is formed again, and lanes of few blocks go on from row to row.
    for given in [Some(&output), None] {
        if given.is_none() && layout.most_blocks != u32::MAX {
            layout.most_blocks = 1;
        }
        let (dl, dr, dv) = (rubbish::<f32>(device, n * heads), rubbish::<f32>(device, m * heads), rubbish::<T>(device, m * columns));
        let given = AttentionGiven { output: given, lse: &lse, gradient: &gradient };
        layout.backward(input, given, GatGradients { left: &dl, right: &dr, values: &dv }).unwrap();
        let check = |what: &str, found: Vec<f64>, wanted: &[[f64; 2]], unit: f64| {
            for (k, (value, &[w, size])) in found.into_iter().zip(wanted).enumerate() {
                let bound = size * (unit + 2e-5) + unit * w.abs() + 1e-7;
                assert!((value - w).abs() <= bound, "{case}, {}: {what} {k}: {value}, not {w} (+- {bound})", layout.explain());
            }
        };
        let f64s = |found: Vec<f32>| found.into_iter().map(f64::from).collect::<Vec<_>>();
        check("left", f64s(dl.to_vec().unwrap()), &wanted.left, 3.0 * T::UNIT);
        check("right", f64s(dr.to_vec().unwrap()), &wanted.right, 3.0 * T::UNIT);
        check("values", dv.to_vec().unwrap().into_iter().map(Tested::number).collect(), &wanted.values, 2.0 * T::UNIT);
    }
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
fn gradients_over_f16() {
    all::<f16>(&[(8, 1), (16, 2), (64, 1), (64, 8), (128, 1), (128, 4), (24, 3), (56, 1), (104, 1), (200, 1), (7, 1), (12, 2)]);
}

#[test]
fn gradients_over_bf16() {
    all::<bf16>(&[(8, 1), (64, 1), (64, 2), (128, 1), (128, 8), (40, 5), (7, 7)]);
}

#[test]
fn gradients_over_f32() {
    all::<f32>(&[(8, 1), (16, 4), (64, 1), (64, 8), (128, 1), (200, 1), (200, 2), (7, 1), (24, 2), (72, 9)]);
}

/// Rows that share columns are taken by blocks, and not where weights are dropped: then it is as if there were none.
#[test]
fn blocks_and_tasks_agree() {
    let Some(device) = device() else { return };
    let [_, (_, csr)] = shared_columns();
    let (n, columns) = (csr.nrows(), 64);
    let ((left, _), (right, _)) = (scores(&device, n, 1, 1), scores(&device, n, 1, 2));
    let ((values, _), (gradient, _)) = (features::<f16>(&device, n, columns, 3), features::<f16>(&device, n, columns, 4));
    let forms = (Form::of::<f16>(columns, columns), Backward::of::<f16>(columns, 1, columns).unwrap());
    for dropout in [None, Some(Dropout::new(0.4, 91, 2))] {
        let input = GatInput { left: &left, right: &right, values: &values, slope: SLOPE as f32, dropout };
        let (output, lse) = (rubbish::<f16>(&device, n * columns), rubbish::<f32>(&device, n));
        let matrix = lists(&device, &csr);
        GatLayout::<f16>::build(&device, &matrix, columns, 1).unwrap().unwrap().forward(input, &output, Some(&lse)).unwrap();
        let [blocks, tasks] = [0, 4096].map(|enough| {
            let layout = GatBackwardLayout::<f16>::with_forms(&device, &matrix, columns, 1, forms, (enough, Products::Many));
            let layout = layout.unwrap().unwrap();
            assert_eq!(layout.explain().contains("staged"), enough == 0, "{}", layout.explain());
            let (dl, dr, dv) = (rubbish::<f32>(&device, n), rubbish::<f32>(&device, n), rubbish::<f16>(&device, n * columns));
            let given = AttentionGiven { output: Some(&output), lse: &lse, gradient: &gradient };
            layout.backward(input, given, GatGradients { left: &dl, right: &dr, values: &dv }).unwrap();
            let numbers = |found: Vec<f32>| found.into_iter().map(f64::from);
            let values = dv.to_vec().unwrap().into_iter().map(Tested::number);
            numbers(dl.to_vec().unwrap()).chain(numbers(dr.to_vec().unwrap())).chain(values).collect::<Vec<f64>>()
        });
        assert!(blocks.iter().zip(&tasks).all(|(a, b)| (a - b).abs() <= 0.01 * (1.0 + b.abs())), "{dropout:?}");
    }
}

#[test]
fn what_no_warp_holds_is_refused() {
    let Some(device) = device() else { return };
    let (_, csr) = graphs().remove(4);
    let error = GatBackwardLayout::<f32>::build(&device, &lists(&device, &csr), 300, 1).err().unwrap();
    assert!(error.to_string().contains("300 columns"), "{error}");
}
