//! Dense products with a long side by tensor cores: that they are formed so, and their bounds.

use super::plain::{Plain, near};
use super::{dense, device};
use crate::Cuda;
use crate::tensor::gemm_long;
use bitgraph_generate::Stream;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{DenseDense, Operation, gemm};
use bitgraph_tensor::{Dense, Dropout, Element, Output};
use half::{bf16, f16};

/// Numbers from -2 to 2 of 24 bits.
pub(super) fn numbers(cuda: &Cuda, rows: usize, columns: usize, seed: u64) -> Dense<Cuda, f32> {
    let s = Stream::new(seed, 5);
    let data: Vec<f32> = (0..(rows * columns) as u64).map(|k| s.below(k, 1 << 24) as f32 / (1 << 22) as f32 - 2.0).collect();
    Dense::from_vec(cuda, rows, columns, data).unwrap()
}
/// Rows of the long side: more than a block's on the shim, enough of them on a GPU.
fn long(cuda: &Cuda) -> usize {
    if cuda.device().properties().emulated { 300 } else { 16_500 }
}
/// The result of the form for long sides, which must be there.
fn by_form<T: Element>(op: &Operation<DenseDense<Cuda, T>>) -> Dense<Cuda, f32> {
    let (rows, columns, _) = op.descriptor().sizes();
    let cuda = op.descriptor().a.backend();
    let mut y = Dense::<_, f32>::filled(cuda, rows, columns, -1.0).unwrap();
    assert!(gemm_long::gemm(cuda, op.descriptor(), &(&mut y).open().unwrap()).unwrap(), "{rows} x {columns}");
    y
}

#[test]
fn tall_times_small() {
    let Some(cuda) = device() else { return };
    let rows = long(&cuda);
    for (columns, length) in [(16, 32), (20, 36), (64, 128), (68, 132), (128, 128), (132, 300)] {
        for transposed in [false, true] {
            let a = numbers(&cuda, rows, length, 3);
            let b = if transposed { numbers(&cuda, columns, length, 4) } else { numbers(&cuda, length, columns, 4) };
            let (pa, pb) = (Plain::of(&a), Plain::of(&b));
            let term = |i: usize, k: usize, c: usize| pa.at(i, k) * if transposed { pb.at(c, k) } else { pb.at(k, c) };
            let sum = |i: usize, c: usize| (0..length).map(|k| term(i, k, c)).sum::<f64>();
            let size = Plain::zeros(rows, columns).map(|_, i, c| (0..length).map(|k| term(i, k, c).abs()).sum::<f64>() + 4.0);
            let of = || if transposed { gemm(&a, &b).transpose_b() } else { gemm(&a, &b) };
            let what = format!("{rows} x {length} x {columns}, {transposed}");
            near(&what, &by_form(&of()), &Plain::zeros(rows, columns).map(|_, i, c| sum(i, c)), &size, length as f64 + 2.0, DType::F32);

            let (bias, scale, z) = (numbers(&cuda, 1, columns, 5), numbers(&cuda, rows, 1, 6), numbers(&cuda, rows, columns, 7));
            let dropout = Dropout::new(0.25, 5, 6);
            let found = by_form(&of().times_rows(&scale).add_times_columns(&z, &bias).bias(&bias).relu().dropout(dropout));
            let (bias, scale, z) = (Plain::of(&bias), Plain::of(&scale), Plain::of(&z));
            let wanted = size.map(|_, i, c| {
                let x = sum(i, c) * scale.at(i, 0) + z.at(i, c) * bias.at(0, c) + bias.at(0, c);
                x.max(0.0) * dropout.at(i as u64, c as u32)
            });
            near(&format!("{what}, steps"), &found, &wanted, &size.map(|x, _, _| 4.0 * x), length as f64 + 8.0, DType::F32);
        }
    }
}

/// Halves, where there is an epilogue.
#[test]
fn tall_halves_times_small() {
    fn of<T: Element<Real = f32>>() {
        let Some(cuda) = device() else { return };
        let rows = long(&cuda);
        for (columns, length) in [(16, 32), (24, 40), (64, 128), (128, 128), (136, 264)] {
            for transposed in [false, true] {
                let a = dense::<T>(&cuda, rows, length, 3);
                let b = if transposed { dense::<T>(&cuda, columns, length, 4) } else { dense::<T>(&cuda, length, columns, 4) };
                let scale = numbers(&cuda, rows, 1, 6);
                let op = if transposed { gemm(&a, &b).transpose_b() } else { gemm(&a, &b) };
                let found = by_form(&op.times_rows(&scale).relu());
                let (pa, pb, scale) = (Plain::of(&a), Plain::of(&b), Plain::of(&scale));
                let term = |i: usize, k: usize, c: usize| pa.at(i, k) * if transposed { pb.at(c, k) } else { pb.at(k, c) } * scale.at(i, 0);
                let wanted = Plain::zeros(rows, columns).map(|_, i, c| (0..length).map(|k| term(i, k, c)).sum::<f64>().max(0.0));
                let size = wanted.map(|_, i, c| (0..length).map(|k| term(i, k, c).abs()).sum());
                near(
                    &format!("{}: {rows} x {length} x {columns}, {transposed}", T::DTYPE),
                    &found,
                    &wanted,
                    &size,
                    length as f64 + 4.0,
                    DType::F32,
                );
            }
        }
    }
    of::<f16>();
    of::<bf16>();
}

/// What is infinite or no number stays where it belongs, as in sums of `f32`.
#[test]
fn numbers_that_are_not_finite() {
    let Some(cuda) = device() else { return };
    let (rows, width) = (long(&cuda), 64);
    let spoilt = |at: &[(usize, f32)]| {
        let mut data = numbers(&cuda, rows, width, 3).to_host().unwrap();
        for &(k, x) in at {
            data[k] = x;
        }
        Dense::from_vec(&cuda, rows, width, data).unwrap()
    };
    let a = spoilt(&[(5 * width + 3, f32::INFINITY), (40 * width + 60, f32::NAN), (41 * width, f32::MAX)]);
    let b = numbers(&cuda, width, width, 4);
    let (pb, found) = (Plain::of(&b), Plain::of(&by_form(&gemm(&a, &b))));
    for i in 0..rows {
        for c in 0..width {
            let x = found.at(i, c);
            match i {
                5 => assert_eq!(x, f64::INFINITY * pb.at(3, c), "column {c}"),
                40 => assert!(x.is_nan(), "column {c}"),
                // Beyond the largest number or not, by the other terms.
                41 if pb.at(0, c).abs() > 1.01 => assert_eq!(x, f64::INFINITY * pb.at(0, c), "column {c}"),
                41 if pb.at(0, c).abs() > 0.99 => {}
                _ => assert!(x.is_finite(), "row {i}, column {c}"),
            }
        }
    }
}

/// The kernels are for products that fill their blocks, and of halves for those with an epilogue.
#[test]
fn products_that_fill_blocks_are_faster() {
    let Some(cuda) = device() else { return };
    let of = |columns: usize, length: usize| {
        let (a, b) = (numbers(&cuda, 4, length, 1), numbers(&cuda, length, columns, 2));
        gemm_long::is_faster(gemm(&a, &b).descriptor())
    };
    let full = [(64, 64), (128, 128), (128, 64), (48, 128), (128, 300), (256, 96)];
    assert!(full.iter().all(|&(columns, length)| of(columns, length)));
    let sparse = [(40, 128), (128, 36), (132, 128), (128, 132), (16, 64)];
    assert!(!sparse.iter().any(|&(columns, length)| of(columns, length)));
    let (a, b) = (dense::<f16>(&cuda, 4, 64, 1), dense::<f16>(&cuda, 64, 64, 2));
    assert!(!gemm_long::is_faster(gemm(&a, &b).descriptor()) && gemm_long::is_faster(gemm(&a, &b).relu().descriptor()));
}
