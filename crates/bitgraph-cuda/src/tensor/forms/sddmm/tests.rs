//! Every form against sums of `f64`, on the host shim (or a GPU, where there is one).

use super::select::Form;
use super::{Product, SddmmLayout};
use crate::device::Device;
use crate::device::testing::device;
use crate::tensor::forms::attention::layout::Products;
use crate::tensor::forms::attention::tests::PRODUCTS;
use crate::tensor::forms::testing::{Tested, entries, features, graphs, lists, rubbish, shared_columns, short_rows};
use bitgraph_sparse::Csr;
use half::{bf16, f16};

fn agrees<T: Tested, O: Tested + Product<T>>(device: &Device, name: &str, csr: &Csr, columns: usize, heads: usize, enough: u64) {
    for products in PRODUCTS {
        agree::<T, O>(device, name, csr, (columns, heads), (enough, products));
    }
}
fn agree<T: Tested, O: Tested + Product<T>>(
    device: &Device,
    name: &str,
    csr: &Csr,
    (columns, heads): (usize, usize),
    enough: (u64, Products),
) {
    let case = format!("{name}, {} to {}, {columns} columns, {heads} heads, {enough:?} tasks", T::NAME, O::NAME);
    let form = Form::of::<T>(columns, heads, columns / heads);
    let mut layout = SddmmLayout::<T>::with_form(device, &lists(device, csr), columns, heads, form, enough).unwrap().unwrap();
    let (left, x) = features::<T>(device, csr.nrows(), columns, 1);
    let (right, y) = features::<T>(device, csr.ncols(), columns, 2);
    let output = rubbish::<O>(device, csr.nnz() * heads);
    layout.run(&left, &right, 0.5, &output).unwrap();
    let (found, width) = (output.to_vec().unwrap(), columns / heads);
    if layout.most_blocks != u32::MAX {
        // The same where lanes go on from row to row.
        layout.most_blocks = 1;
        let again = rubbish::<O>(device, csr.nnz() * heads);
        layout.run(&left, &right, 0.5, &again).unwrap();
        assert!(found.iter().zip(again.to_vec().unwrap()).all(|(a, b)| a.number() == b.number()), "{case}");
    }
    for (k, (i, j)) in entries(csr).enumerate() {
        for h in 0..heads {
            let terms = (h * width..(h + 1) * width).map(|c| 0.5 * x[i * columns + c] * y[j * columns + c]);
            let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
            let bound = size * (width as f64 + 4.0) * f32::UNIT + O::UNIT * sum.abs() + 1e-7;
            let value = found[k * heads + h].number();
            assert!((value - sum).abs() <= bound, "{case}, {}: entry {k} ({i}, {j}), head {h}: {value}, not {sum}", layout.explain());
        }
    }
}

fn all<T: Tested + Product<T>>(shapes: &[(usize, usize)])
where
    f32: Product<T>,
{
    let Some(device) = device() else { return };
    for (name, csr) in graphs().into_iter().chain([short_rows()]).chain(shared_columns()) {
        for &(columns, heads) in shapes {
            for enough in [0, 4096] {
                agrees::<T, T>(&device, name, &csr, columns, heads, enough);
            }
            agrees::<T, f32>(&device, name, &csr, columns, heads, 0);
        }
    }
}

#[test]
fn dot_products_of_f16() {
    all::<f16>(&[
        (8, 1),
        (16, 2),
        (56, 1),
        (64, 1),
        (104, 1),
        (64, 8),
        (128, 1),
        (128, 3 + 1),
        (24, 3),
        (200, 1),
        (144, 2),
        (7, 1),
        (6, 2),
    ]);
}

#[test]
fn dot_products_of_bf16() {
    all::<bf16>(&[(8, 1), (64, 1), (64, 2), (128, 1), (128, 8), (136, 1), (144, 2), (7, 7), (90, 9)]);
}

#[test]
fn rows_that_share_columns_are_taken_by_windows() {
    let Some(device) = device() else { return };
    for (columns, few) in [(64, false), (128, false), (104, false), (72, true), (200, true)] {
        let [_, (_, csr)] = shared_columns();
        let form = Form::of::<f16>(columns, 1, columns);
        let layout = SddmmLayout::<f16>::with_form(&device, &lists(&device, &csr), columns, 1, form, (0, Products::Many)).unwrap().unwrap();
        assert_eq!(layout.explain().contains("sddmm_windows"), !few, "{columns} columns: {}", layout.explain());
    }
}

#[test]
fn dot_products_of_f32() {
    all::<f32>(&[(8, 1), (16, 4), (64, 1), (128, 1), (128, 2), (200, 1), (7, 1), (48, 3), (70, 1)]);
}

#[test]
fn no_entry_sees_an_infinity_of_another() {
    let Some(device) = device() else { return };
    let (_, csr) = graphs().remove(5);
    let columns = 64;
    let (left, _) = features::<f16>(&device, csr.nrows(), columns, 1);
    let (right, _) = features::<f16>(&device, csr.ncols(), columns, 2);
    let mut values = right.to_vec().unwrap();
    values[7 * columns] = f16::INFINITY;
    let right = device.upload(&values).unwrap();
    let output = device.zeroed::<f32>(csr.nnz()).unwrap();
    SddmmLayout::<f16>::build(&device, &lists(&device, &csr), columns, 1).unwrap().unwrap().run(&left, &right, 1.0, &output).unwrap();
    for (value, (i, j)) in output.to_vec().unwrap().iter().zip(entries(&csr)) {
        assert_eq!(value.is_finite(), j != 7, "({i}, {j}): {value}");
    }
}

#[test]
fn shapes_are_checked() {
    let Some(device) = device() else { return };
    let (_, csr) = graphs().remove(4);
    let matrix = lists(&device, &csr);
    assert!(SddmmLayout::<f32>::build(&device, &matrix, 8, 3).is_err() && SddmmLayout::<f32>::build(&device, &matrix, 0, 1).is_err());
    assert!(SddmmLayout::<f32>::build(&device, &matrix, 8, 0).is_err());
    let layout = SddmmLayout::<f32>::build(&device, &matrix, 8, 2).unwrap().unwrap();
    let (x, y) = (device.zeroed::<f32>(160).unwrap(), device.zeroed::<f32>(2 * csr.nnz()).unwrap());
    assert!(
        layout.run(&x, &x, 1.0, &y).is_ok() && layout.run(&x, &x.prefix(152), 1.0, &y).is_err() && layout.run(&x, &x, 1.0, &x).is_err()
    );
}
