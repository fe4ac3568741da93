//! Every form against plain loops, on the host shim (or a GPU, where there is one).

use super::{SpmvForm, SpmvLayout};
use crate::DeviceCsr;
use crate::device::testing::device;
use bitgraph_sparse::{Coo, Csr, Duplicates};

fn csr(rows: usize, columns: usize, entries: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    let (r, c) = entries.into_iter().unzip();
    Coo::pattern(rows, columns, r, c).into_csr(Duplicates::First).unwrap().0
}

fn matrices() -> Vec<(&'static str, Csr)> {
    let mut state = 3u64;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % n) as u32
    };
    let band = |n: u32, deltas: &'static [i64]| {
        (0..n).flat_map(move |i| {
            deltas
                .iter()
                .map(move |d| (i, i64::from(i) + d))
                .filter(move |&(_, j)| (0..i64::from(n)).contains(&j))
                .map(|(i, j)| (i, j as u32))
        })
    };
    let random: Vec<_> = (0..3000).map(|_| (next(300), next(400))).collect();
    let skewed: Vec<_> = (0..4000).map(|k| if k < 1900 { (5, k) } else { (next(600) * next(600) / 600, next(2000)) }).collect();
    vec![
        ("empty", csr(0, 0, [])),
        ("without entries", csr(40, 3, [])),
        ("one", csr(1, 1, [(0, 0)])),
        ("one dense row", csr(9, 200, (0..200).map(|c| (4, c)))),
        ("diagonal", csr(77, 77, (0..77).map(|i| (i, i)))),
        ("few diagonals", csr(1000, 1000, band(1000, &[-37, -1, 0, 1, 37]))),
        ("many diagonals", csr(333, 333, band(333, &[-60, -50, -40, -7, -2, -1, 0, 1, 2, 3, 9, 44, 45]))),
        ("blocks", csr(256, 256, (0..256).flat_map(|i| (0..16).map(move |k| (i, i / 16 * 16 + k))))),
        ("random", csr(300, 400, random)),
        ("skewed", csr(610, 2000, skewed)),
    ]
}

#[test]
fn products_agree_with_plain_loops() {
    let Some(device) = device() else { return };
    for (name, matrix) in matrices() {
        let x: Vec<f32> = (0..matrix.ncols()).map(|i| (i * 7 % 23) as f32 - 4.0).collect();
        let values: Vec<f32> = (0..matrix.nnz()).map(|i| (i % 9) as f32 + 0.5).collect();
        let on_device = DeviceCsr::upload(&device, &matrix).unwrap();
        let (dx, dv) = (device.upload(&x).unwrap(), device.upload(&values).unwrap());
        for with_values in [false, true] {
            let mut wanted = vec![0.0f32; matrix.nrows()];
            for (i, y) in wanted.iter_mut().enumerate() {
                for (c, k) in matrix.row(i).iter().zip(matrix.row_range(i)) {
                    *y += x[*c as usize] * if with_values { values[k] } else { 1.0 };
                }
            }
            for form in [SpmvForm::Rows, SpmvForm::Classes, SpmvForm::Columns, SpmvForm::Diagonals] {
                let layout = SpmvLayout::build(&device, &on_device, with_values.then_some(&dv), form).unwrap().unwrap();
                let y = device.upload(&vec![f32::NAN; matrix.nrows()]).unwrap();
                for _ in 0..2 {
                    layout.run(&dx, &y).unwrap();
                }
                // Sums of halves, exact in f32.
                assert_eq!(y.to_vec().unwrap(), wanted, "{name}, {form:?}, {layout:?}");
            }
        }
    }
    let matrix = DeviceCsr::upload(&device, &csr(3, 4, [(0, 0)])).unwrap();
    let layout = SpmvLayout::build(&device, &matrix, None, SpmvForm::Rows).unwrap().unwrap();
    assert!(layout.run(&device.zeroed(3).unwrap(), &device.zeroed(3).unwrap()).is_err());
}
