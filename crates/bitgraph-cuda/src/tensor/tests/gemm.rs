//! Dense products.

use super::plain::{Plain, near};
use super::{dense, device, spread};
use bitgraph_semiring::DType;
use bitgraph_tensor::ops::gemm;
use bitgraph_tensor::{Dense, Dropout, Element};
use half::{bf16, f16};

/// Sizes around those of tiles, with sums that are long enough to be cut.
const SIZES: [(usize, usize, usize); 9] =
    [(1, 1, 1), (3, 7, 5), (64, 64, 64), (65, 33, 17), (31, 130, 200), (7, 3, 400), (5, 4, 0), (0, 4, 3), (4, 0, 3)];

fn products<T: Element, U: Element>() {
    let Some(cuda) = device() else { return };
    for (k, (rows, columns, length)) in SIZES.into_iter().enumerate() {
        for (transpose_a, transpose_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let what = format!("{} to {}: {rows} x {length} x {columns}, {transpose_a}, {transpose_b}", T::DTYPE, U::DTYPE);
            let sides = |transposed: bool, rows: usize, columns: usize| if transposed { (columns, rows) } else { (rows, columns) };
            let (a, b) = (sides(transpose_a, rows, length), sides(transpose_b, length, columns));
            let (a, b) = (dense::<T>(&cuda, a.0, a.1, 3), dense::<T>(&cuda, b.0, b.1, 4));
            let (a, b) = if k % 2 == 0 { (spread(&a), b) } else { (a, spread(&b)) };
            let mut op = gemm(&a, &b);
            if transpose_a {
                op = op.transpose_a();
            }
            if transpose_b {
                op = op.transpose_b();
            }
            let (pa, pb) = (Plain::of(&a), Plain::of(&b));
            let term = |i: usize, k: usize, c: usize| {
                (if transpose_a { pa.at(k, i) } else { pa.at(i, k) }) * if transpose_b { pb.at(c, k) } else { pb.at(k, c) }
            };
            let wanted = Plain::zeros(rows, columns).map(|_, i, c| (0..length).map(|k| term(i, k, c)).sum());
            let magnitude = wanted.map(|_, i, c| (0..length).map(|k| term(i, k, c).abs()).sum());
            let sums = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
            near(&what, &op.eval_as::<U>().unwrap(), &wanted, &magnitude, length as f64 + 2.0, sums);
        }
    }
}

#[test]
fn floats() {
    products::<f32, f32>();
    products::<f16, f16>();
    products::<bf16, f32>();
    products::<f64, f64>();
    products::<f32, f16>();
}
#[test]
fn integers() {
    products::<i8, i32>();
    products::<i32, f32>();
}

#[test]
fn epilogues() {
    let Some(cuda) = device() else { return };
    for (rows, columns, length) in SIZES {
        let (a, b) = (dense::<f32>(&cuda, rows, length, 3), dense::<f32>(&cuda, length, columns, 4));
        let (bias, z) = (dense::<f32>(&cuda, 1, columns, 5), dense::<f16>(&cuda, rows, columns, 6));
        let dropout = Dropout::new(0.25, 5, 6);
        let found = gemm(&a, &b).bias(&bias).add(&z).relu().dropout(dropout).eval_as::<f64>().unwrap();
        let (pa, pb, bias, z) = (Plain::of(&a), Plain::of(&b), Plain::of(&bias), Plain::of(&z));
        let wanted = Plain::zeros(rows, columns).map(|_, i, c| {
            let x = (0..length).map(|k| pa.at(i, k) * pb.at(k, c)).sum::<f64>() + bias.at(0, c) + z.at(i, c);
            x.max(0.0) * dropout.at(i as u64, c as u32)
        });
        let what = format!("{rows} x {length} x {columns}");
        near(&what, &found, &wanted, &wanted.map(|_, _, _| 8.0 * (length as f64 + 1.0)), length as f64 + 4.0, DType::F32);
    }
}

/// A product and a matrix beside it, which the vendor's library adds itself where it has the result's type: rounded once.
#[test]
fn addends() {
    fn of<T: Element<Output = T>, Z: Element>() {
        let Some(cuda) = device() else { return };
        for (rows, columns, length) in SIZES {
            let (a, b) = (dense::<T>(&cuda, rows, length, 3), dense::<T>(&cuda, length, columns, 4));
            let z = dense::<Z>(&cuda, rows, columns, 6);
            let (pa, pb, pz) = (Plain::of(&a), Plain::of(&b), Plain::of(&z));
            let wanted =
                Plain::zeros(rows, columns).map(|_, i, c| (0..length).map(|k| pa.at(i, k) * pb.at(k, c)).sum::<f64>() + pz.at(i, c));
            let size = wanted.map(|_, _, _| 8.0 * (length as f64 + 1.0));
            let what = format!("{rows} x {length} x {columns}, {} and {}", T::DTYPE, Z::DTYPE);
            near(&what, &gemm(&a, &b).add(&z).eval().unwrap(), &wanted, &size, length as f64 + 4.0, DType::F32);
            // Factors of its columns are no part of what the library adds.
            let d = dense::<T::Real>(&cuda, 1, columns, 7);
            let factors = Plain::of(&d);
            let wanted = wanted.map(|x, i, c| x + (factors.at(0, c) - 1.0) * pz.at(i, c));
            let found = gemm(&a, &b).add_times_columns(&z, &d).eval().unwrap();
            near(&format!("{what}, with factors"), &found, &wanted, &size.map(|x, _, _| 8.0 * x), length as f64 + 4.0, DType::F32);
        }
    }
    of::<f32, f32>();
    of::<f16, f16>();
    of::<bf16, bf16>();
    of::<f16, f32>();
    of::<f64, f64>();
}

/// A result that is some columns of a matrix.
#[test]
fn outputs_are_windows() {
    let Some(cuda) = device() else { return };
    let (a, b) = (dense::<f32>(&cuda, 9, 5, 3), dense::<f32>(&cuda, 5, 4, 4));
    let wanted = gemm(&a, &b).eval().unwrap().to_host().unwrap();
    let mut y = Dense::<_, f32>::filled(&cuda, 9, 7, -1.0).unwrap();
    gemm(&a, &b).into(y.columns_mut(2..6).unwrap()).unwrap();
    for (i, row) in y.to_host().unwrap().chunks(7).enumerate() {
        assert_eq!(row[..2], [-1.0; 2]);
        assert_eq!((&row[2..6], row[6]), (&wanted[4 * i..4 * i + 4], -1.0));
    }
}
