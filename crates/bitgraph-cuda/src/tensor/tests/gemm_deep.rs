//! Dense products of long sums by tensor cores: that they are formed so, their bounds, and what is no finite number.

use super::device;
use super::gemm_long::numbers;
use super::plain::{Plain, near};
use crate::Cuda;
use crate::tensor::gemm_deep;
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::{DenseDense, Operation, gemm};
use bitgraph_tensor::{Dense, Element, Output};
use half::f16;

/// Terms: of several parts, the last of which is not full.
fn long(cuda: &Cuda) -> usize {
    if cuda.device().properties().emulated { 333 } else { 16_555 }
}
/// The result of the form, which must be there.
fn by_form<T: Element>(op: &Operation<DenseDense<Cuda, f32>>) -> Dense<Cuda, T> {
    let (rows, columns, _) = op.descriptor().sizes();
    let mut y = Dense::<_, T>::zeros(op.descriptor().a.backend(), rows, columns).unwrap();
    assert!(gemm_deep::gemm(op.descriptor().a.backend(), op.descriptor(), &(&mut y).open().unwrap()).unwrap(), "{rows} x {columns}");
    y
}

#[test]
fn long_sums() {
    let Some(cuda) = device() else { return };
    let length = long(&cuda);
    for (rows, columns) in [(4, 8), (64, 64), (36, 128), (128, 20), (128, 128), (132, 260)] {
        let (a, b, z) = (numbers(&cuda, length, rows, 3), numbers(&cuda, length, columns, 4), numbers(&cuda, rows, columns, 5));
        let (pa, pb, pz) = (Plain::of(&a), Plain::of(&b), Plain::of(&z));
        let sums = Plain::zeros(rows, columns).map(|_, i, c| (0..length).map(|k| pa.at(k, i) * pb.at(k, c)).sum::<f64>());
        let size = sums.map(|_, i, c| (0..length).map(|k| (pa.at(k, i) * pb.at(k, c)).abs()).sum::<f64>() + 4.0);
        let (what, of) = (format!("{rows} x {columns}"), || gemm(&a, &b).transpose_a());
        near(&what, &by_form::<f32>(&of()), &sums, &size, length as f64, DType::F32);
        near(&format!("{what}, halves"), &by_form::<f16>(&of()), &sums, &size, length as f64, DType::F16);
        let steps = by_form::<f32>(&of().add(&z).relu());
        near(&format!("{what}, steps"), &steps, &sums.map(|x, i, c| (x + pz.at(i, c)).max(0.0)), &size, length as f64, DType::F32);
        // The sums of the second matrix's columns come with the product, where that is the way.
        let (mut y, together) = (Dense::<_, f32>::zeros(&cuda, rows, columns).unwrap(), of().sums_columns());
        assert_eq!(together, gemm_deep::is_faster(of().descriptor()), "{what}");
        let found = of().into_with_sums(&mut y).unwrap();
        let columns_of = |f: &dyn Fn(f64) -> f64| Plain::zeros(1, columns).map(|_, _, c| (0..length).map(|k| f(pb.at(k, c))).sum::<f64>());
        near(&format!("{what}, columns"), &found, &columns_of(&|x| x), &columns_of(&|x| x.abs() + 1.0), length as f64, DType::F32);
        if together {
            assert_eq!(y.to_host().unwrap(), by_form::<f32>(&of()).to_host().unwrap(), "{what}");
        }
        // Results are the same every time.
        assert_eq!(by_form::<f32>(&of()).to_host().unwrap(), by_form::<f32>(&of()).to_host().unwrap(), "{what}");
    }
}

/// What is infinite or no number stays in its row or column.
#[test]
fn sums_that_are_not_finite() {
    let Some(cuda) = device() else { return };
    let (length, width) = (long(&cuda), 64);
    let mut data = numbers(&cuda, length, width, 3).to_host().unwrap();
    data[40 * width + 5] = f32::INFINITY;
    data[200 * width + 60] = f32::NAN;
    let (a, b) = (Dense::from_vec(&cuda, length, width, data).unwrap(), numbers(&cuda, length, width, 4));
    let (pb, found) = (Plain::of(&b), Plain::of(&by_form::<f32>(&gemm(&a, &b).transpose_a())));
    for i in 0..width {
        for c in 0..width {
            match i {
                5 => assert_eq!(found.at(i, c), f64::INFINITY * pb.at(40, c), "column {c}"),
                60 => assert!(found.at(i, c).is_nan(), "column {c}"),
                _ => assert!(found.at(i, c).is_finite(), "row {i}, column {c}"),
            }
        }
    }
}

/// The kernels are for products that fill their tiles.
#[test]
fn long_sums_that_fill_tiles_are_faster() {
    let Some(cuda) = device() else { return };
    let of = |rows: usize, columns: usize| {
        let (a, b) = (numbers(&cuda, 4, rows, 1), numbers(&cuda, 4, columns, 2));
        gemm_deep::is_faster(gemm(&a, &b).transpose_a().descriptor())
    };
    let full = [(64, 64), (128, 128), (128, 64), (48, 128), (256, 96), (500, 128)];
    assert!(full.iter().all(|&(rows, columns)| of(rows, columns)));
    let sparse = [(128, 40), (8, 128), (132, 128), (128, 16), (4, 8)];
    assert!(!sparse.iter().any(|&(rows, columns)| of(rows, columns)));
}

/// Short sums, wide sides, other types and orders are not taken.
#[test]
fn other_products_are_left() {
    let Some(cuda) = device() else { return };
    let (length, shape) = (long(&cuda), |rows, columns| numbers(&cuda, rows, columns, 1));
    let takes = |op: &Operation<DenseDense<Cuda, f32>>| {
        let (rows, columns, _) = op.descriptor().sizes();
        let mut y = Dense::<_, f32>::zeros(&cuda, rows, columns).unwrap();
        gemm_deep::gemm(&cuda, op.descriptor(), &(&mut y).open().unwrap()).unwrap()
    };
    assert!(takes(&gemm(&shape(length, 8), &shape(length, 8)).transpose_a()));
    assert!(!takes(&gemm(&shape(length, 516), &shape(length, 8)).transpose_a()));
    assert!(!takes(&gemm(&shape(length, 6), &shape(length, 8)).transpose_a()));
    assert!(!takes(&gemm(&shape(8, 8), &shape(8, 8)).transpose_a()));
    assert!(!takes(&gemm(&shape(8, length), &shape(length, 8))));
    assert!(!takes(&gemm(&shape(length, 8), &shape(8, length)).transpose_a().transpose_b()));
}
