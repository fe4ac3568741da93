//! Every form against sums of `f64`, on the host shim (or a GPU, where there is one).

use super::{Floats, SpmmForm, SpmmInput, SpmmLayout, SpmmPlan};
use crate::DeviceCsr;
use crate::device::testing::device;
use crate::device::{Buffer, Device};
use crate::tensor::forms::Feature;
use crate::tensor::forms::sddmm::Product;
use crate::tensor::forms::testing::{Draw, Tested, features, graphs, lists, rubbish};
use bitgraph_sparse::{Coo, Csr, Duplicates};
use half::{bf16, f16};

const WIDTHS: [usize; 7] = [8, 16, 64, 128, 72, 7, 300];

/// Those of all forms of tensors, and a square one with hubs among short rows.
fn matrices() -> Vec<(&'static str, Csr)> {
    let mut draw = Draw::new(11);
    let mut entries: Vec<(u32, u32)> = (0..390).map(|j| (77, j)).chain((0..200).map(|i| (2 * i, 77))).collect();
    entries.extend((0..300).map(|_| (draw.below(400), draw.below(400))));
    let (r, c) = entries.into_iter().unzip();
    let hub = Coo::pattern(400, 400, r, c).into_csr(Duplicates::First).unwrap().0;
    // Rows of blocks share columns, one block is not full, and vertices without entries lie between.
    let band = (0..330u32)
        .filter(|i| i % 50 != 7)
        .flat_map(|i| [1, 3, 18].into_iter().flat_map(move |d| [(i, i.saturating_sub(d)), (i, (i + d).min(329))]));
    let (r, c) = band.chain([(5, 5)]).unzip();
    let mesh = Coo::pattern(330, 330, r, c).into_csr(Duplicates::First).unwrap().0;
    graphs().into_iter().chain([("mesh", mesh), ("square hub", hub)]).collect()
}

fn plans() -> Vec<SpmmPlan> {
    let plan = |form, lanes, deep| SpmmPlan { form, lanes, deep };
    let tasks = |piece| SpmmForm::Tasks { piece };
    vec![
        plan(SpmmForm::Rows, 4, false),
        plan(SpmmForm::Staged { buffers: 1 }, 8, false),
        plan(SpmmForm::Staged { buffers: 2 }, 16, true),
        plan(SpmmForm::Records, 2, false),
        plan(SpmmForm::Records, 8, false),
        plan(SpmmForm::Records, 32, false),
        plan(tasks(64), 2, false),
        plan(tasks(96), 4, false),
        plan(tasks(128), 8, false),
        plan(tasks(8), 16, true),
        plan(tasks(160), 16, false),
        plan(tasks(256), 32, false),
    ]
}

/// The matrix by every plan, tasks both as the lengths of rows were sorted and as the rows lie.
fn layouts<T: Feature>(device: &Device, matrix: &DeviceCsr, width: usize, valued: bool) -> Vec<SpmmLayout<T>> {
    let built = plans().into_iter().map(|plan| SpmmLayout::with_plan(device, matrix, width, valued, plan));
    let tasks = plans().into_iter().filter(|plan| matches!(plan.form, SpmmForm::Tasks { .. }));
    let in_order = tasks.map(|plan| SpmmLayout::in_order(device, matrix, width, valued, plan));
    let own = [None, Some(3)].map(|longest| SpmmLayout::short_lived(device, matrix, width, valued, longest));
    built.chain(in_order).chain(own).map(|made| made.unwrap().unwrap()).collect()
}

/// What beside the features goes into a product.
struct Beside {
    values: Option<Vec<f64>>,
    scale_columns: Option<Vec<f64>>,
    scale_rows: Option<Vec<f64>>,
    addend: Option<Vec<f64>>,
    bias: Option<Vec<f64>>,
    mean: bool,
    relu: bool,
}

const NOTHING: Beside = Beside { values: None, scale_columns: None, scale_rows: None, addend: None, bias: None, mean: false, relu: false };

/// The result, and the size of what is added up.
fn expected(csr: &Csr, width: usize, x: &[f64], beside: &Beside) -> Vec<(f64, f64)> {
    let mut y = vec![(0.0, 0.0); csr.nrows() * width];
    for i in 0..csr.nrows() {
        let count = csr.row(i).len();
        let factor = beside.scale_rows.as_ref().map_or(1.0, |r| r[i]) / if beside.mean { count.max(1) as f64 } else { 1.0 };
        for f in 0..width {
            let (mut sum, mut size) = (0.0, 0.0);
            for (&j, k) in csr.row(i).iter().zip(csr.row_range(i)) {
                let j = j as usize;
                let weight = beside.values.as_ref().map_or(1.0, |e| e[k]) * beside.scale_columns.as_ref().map_or(1.0, |c| c[j]);
                sum += weight * x[j * width + f];
                size += (weight * x[j * width + f]).abs();
            }
            let bias = beside.bias.as_ref().map_or(0.0, |b| b[f]);
            let z = beside.addend.as_ref().map_or(0.0, |z| z[i * width + f]);
            let (sum, size) = (sum * factor + z + bias, size * factor.abs() + z.abs() + bias.abs());
            y[i * width + f] = (if beside.relu { sum.max(0.0) } else { sum }, size);
        }
    }
    y
}

fn compare<O: Tested>(case: &str, width: usize, longest: usize, found: &Buffer<O>, wanted: &[(f64, f64)]) {
    let sum_unit = (longest as f64 + 8.0) * f32::EPSILON as f64;
    for (k, (value, &(y, size))) in found.to_vec().unwrap().into_iter().zip(wanted).enumerate() {
        let value = value.number();
        // The smallest f16 is 2^-24.
        let bound = O::UNIT * y.abs() + sum_unit * size + 6e-8;
        assert!((value - y).abs() <= bound, "{case}: row {}, column {}: {value}, not {y}", k / width, k % width);
    }
}

fn longest(csr: &Csr) -> usize {
    (0..csr.nrows()).map(|i| csr.row(i).len()).max().unwrap_or(0)
}

fn plain_sums<T: Tested + Product<T>>(device: &Device) {
    for (name, csr) in matrices() {
        let matrix = lists(device, &csr);
        for width in WIDTHS {
            let (x, host) = features::<T>(device, csr.ncols(), width, 1);
            let wanted = expected(&csr, width, &host, &NOTHING);
            for layout in layouts::<T>(device, &matrix, width, false) {
                let case = format!("{name}, {}, {width} columns, {}", T::NAME, layout.explain());
                let mut before: Option<Vec<u8>> = None;
                // Twice: what a run leaves behind must not touch the next one, and the bits are the same.
                for _ in 0..2 {
                    let y = rubbish::<T>(device, wanted.len());
                    layout.run(&SpmmInput::of(&x), &y).unwrap();
                    compare(&case, width, longest(&csr), &y, &wanted);
                    let bits = y.cast::<u8>().to_vec().unwrap();
                    assert!(before.is_none_or(|b| b == bits), "{case}: other bits");
                    before = Some(bits);
                }
            }
        }
    }
}

#[test]
fn sums_of_f16() {
    let Some(device) = device() else { return };
    plain_sums::<f16>(&device);
}

#[test]
fn sums_of_bf16() {
    let Some(device) = device() else { return };
    plain_sums::<bf16>(&device);
}

#[test]
fn sums_of_f32() {
    let Some(device) = device() else { return };
    plain_sums::<f32>(&device);
}

fn singles(device: &Device, n: usize, seed: u64) -> (Buffer<f32>, Vec<f64>) {
    features::<f32>(device, n, 1, seed)
}

fn weighted<T: Tested + Product<T>>(device: &Device)
where
    f32: Product<T>,
{
    for (name, csr) in matrices() {
        let matrix = lists(device, &csr);
        let (e, own_values) = singles(device, csr.nnz(), 2);
        let (narrow, narrow_values) = features::<T>(device, csr.nnz(), 1, 3);
        let (c, scale_columns) = singles(device, csr.ncols(), 4);
        let (r, scale_rows) = singles(device, csr.nrows(), 5);
        for width in [16, 64, 72, 5, 256] {
            let (x, host) = features::<T>(device, csr.ncols(), width, 1);
            let (b, bias) = singles(device, width, 6);
            let (z, addend_values) = features::<f32>(device, csr.nrows(), width, 7);
            let (own, own_addend) = features::<T>(device, csr.nrows(), width, 8);
            for (plain, with_values) in layouts(device, &matrix, width, false).iter().zip(&layouts(device, &matrix, width, true)) {
                let check = |what: &str, valued: bool, input: SpmmInput<'_, T>, beside: &Beside| {
                    let layout = if valued { with_values } else { plain };
                    let wanted = expected(&csr, width, &host, beside);
                    let case = format!("{name}, {}, {width} columns, {what}, {}", T::NAME, layout.explain());
                    let y = rubbish::<T>(device, wanted.len());
                    layout.run(&input, &y).unwrap();
                    compare(&case, width, longest(&csr), &y, &wanted);
                    let y = rubbish::<f32>(device, wanted.len());
                    layout.run(&input, &y).unwrap();
                    compare(&format!("{case}, to f32"), width, longest(&csr), &y, &wanted);
                };
                let plain = SpmmInput::of(&x);
                let input = SpmmInput { values: Some(Floats::Single(&e)), bias: Some(&b), ..plain };
                let beside = Beside { values: Some(own_values.clone()), bias: Some(bias.clone()), ..NOTHING };
                check("values", true, input, &beside);
                let input = SpmmInput { values: Some(Floats::Narrow(&narrow)), scale_columns: Some(&c), mean: true, ..plain };
                let values = Some(narrow_values.clone());
                check("narrow values", true, input, &Beside { values, scale_columns: Some(scale_columns.clone()), mean: true, ..NOTHING });
                let input = SpmmInput { scale_columns: Some(&c), scale_rows: Some(&r), bias: Some(&b), relu: true, ..plain };
                let beside = Beside {
                    scale_columns: Some(scale_columns.clone()),
                    scale_rows: Some(scale_rows.clone()),
                    bias: Some(bias.clone()),
                    relu: true,
                    ..NOTHING
                };
                check("scales", false, input, &beside);
                let input = SpmmInput { addend: Some(Floats::Narrow(&own)), bias: Some(&b), relu: true, ..plain };
                let addend = Some(own_addend.clone());
                check("an addend", false, input, &Beside { addend, bias: Some(bias.clone()), relu: true, ..NOTHING });
                let input = SpmmInput { addend: Some(Floats::Single(&z)), mean: true, ..plain };
                check("an addend of f32", false, input, &Beside { addend: Some(addend_values.clone()), mean: true, ..NOTHING });
                let input = SpmmInput { addend: Some(Floats::Narrow(&own)), addend_scale: Some(&b), scale_rows: Some(&r), ..plain };
                let addend = Some(own_addend.iter().enumerate().map(|(k, z)| z * bias[k % width]).collect());
                check("an addend times a row", false, input, &Beside { addend, scale_rows: Some(scale_rows.clone()), ..NOTHING });
            }
        }
    }
}

#[test]
fn weights_and_epilogues_of_f16() {
    let Some(device) = device() else { return };
    weighted::<f16>(&device);
}

#[test]
fn weights_and_epilogues_of_bf16() {
    let Some(device) = device() else { return };
    weighted::<bf16>(&device);
}

#[test]
fn weights_and_epilogues_of_f32() {
    let Some(device) = device() else { return };
    weighted::<f32>(&device);
}

#[test]
fn what_is_no_number_stays_in_the_rows_that_name_it() {
    let Some(device) = device() else { return };
    for (name, csr) in matrices().into_iter().skip(graphs().len()) {
        no_number(&device, name, &csr);
    }
}

fn no_number(device: &Device, name: &str, csr: &Csr) {
    for width in [64, 6, 136] {
        let (x, _) = features::<f16>(device, csr.ncols(), width, 1);
        let mut host = x.to_vec().unwrap();
        host[77 * width + 5] = f16::INFINITY;
        host[12 * width + 1] = f16::NAN;
        let x = device.upload(&host).unwrap();
        for plan in plans() {
            let layout = SpmmLayout::<f16>::with_plan(device, &lists(device, csr), width, false, plan).unwrap().unwrap();
            let y = device.zeroed::<f16>(csr.nrows() * width).unwrap();
            layout.run(&SpmmInput { relu: true, ..SpmmInput::of(&x) }, &y).unwrap();
            for (k, value) in y.to_vec().unwrap().into_iter().enumerate() {
                let names = |j: u32, f: usize| k % width == f && csr.row(k / width).contains(&j);
                let case = format!("{name}, row {}, column {}: {value}, {}", k / width, k % width, layout.explain());
                assert_eq!(value.is_infinite(), names(77, 5), "{case}");
                assert_eq!(value.is_nan(), names(12, 1), "{case}");
            }
        }
    }
}

#[test]
fn blocks_are_kept_where_columns_are_shared() {
    let Some(device) = device() else { return };
    let plan = SpmmPlan { form: SpmmForm::Staged { buffers: 1 }, lanes: 8, deep: false };
    let form = |csr: &Csr, width| {
        let layout = SpmmLayout::<f16>::with_plan(&device, &lists(&device, csr), width, false, plan).unwrap().unwrap();
        layout.plan().form
    };
    let mut matrices = matrices();
    let (_, hub) = matrices.pop().unwrap();
    let (_, mesh) = matrices.pop().unwrap();
    assert_eq!([form(&mesh, 64), form(&mesh, 5), form(&hub, 64)], [plan.form, SpmmForm::Rows, SpmmForm::Rows]);
    // A random matrix shares few.
    let mut draw = Draw::new(3);
    let (r, c) = (0..2000).map(|_| (draw.below(1000), draw.below(1000))).unzip();
    assert_eq!(form(&Coo::pattern(1000, 1000, r, c).into_csr(Duplicates::First).unwrap().0, 64), SpmmForm::Rows);
}

#[test]
fn sharing_in_order_is_told_from_sharing_in_blocks() {
    let Some(device) = device() else { return };
    let share = |number: fn(u32) -> u32| {
        let entries = (0..1000u32).flat_map(|i| (0..12).map(move |d| (number(i), number((i + 5 * d) % 1000))));
        let (r, c) = entries.unzip();
        let csr = lists(&device, &Coo::pattern(1000, 1000, r, c).into_csr(Duplicates::First).unwrap().0);
        super::Stats::of(&device, &csr).unwrap().share_in_order(&csr).unwrap()
    };
    let (band, shuffled) = (share(|i| i), share(|i| i * 367 % 1000));
    assert!(band < super::MOST_SHARE && shuffled > super::MOST_SHARE, "{band}, {shuffled}");
}

#[test]
fn a_plan_is_chosen_and_shapes_are_checked() {
    let Some(device) = device() else { return };
    let (_, csr) = matrices().pop().unwrap();
    let matrix = lists(&device, &csr);
    assert!(SpmmLayout::<f32>::build(&device, &matrix, 0, false).is_err());
    for (width, valued) in [(32, false), (32, true), (400, false), (3, true)] {
        let layout = SpmmLayout::<f32>::build(&device, &matrix, width, valued).unwrap().unwrap();
        let (x, host) = features::<f32>(&device, csr.ncols(), width, 1);
        let y = rubbish::<f32>(&device, csr.nrows() * width);
        layout.run(&SpmmInput::of(&x), &y).unwrap();
        compare(&layout.explain(), width, longest(&csr), &y, &expected(&csr, width, &host, &NOTHING));
        // How many records a device holds at once is its own affair; with values there are none.
        assert!(!valued || layout.plan().form != SpmmForm::Records, "{}", layout.explain());
    }
    let layout = SpmmLayout::<f32>::build(&device, &matrix, 4, false).unwrap().unwrap();
    let (x, y, e) = (device.zeroed::<f32>(1600).unwrap(), device.zeroed::<f32>(1600).unwrap(), device.zeroed::<f32>(csr.nnz()).unwrap());
    let input = SpmmInput::of(&x);
    assert!(layout.run(&input, &y).is_ok());
    assert!(layout.run(&input, &device.zeroed::<f32>(1599).unwrap()).is_err());
    assert!(layout.run(&SpmmInput { scale_rows: Some(&x), ..input }, &y).is_err());
    assert!(layout.run(&SpmmInput { bias: Some(&x), ..input }, &y).is_err());
    // Not made for values.
    assert!(layout.run(&SpmmInput { values: Some(Floats::Single(&e)), ..input }, &y).is_err());
}

/// Rows that so many lanes hold whole, plain and with values of entries: every kernel that is compiled runs.
fn every_number_of_lanes<T: Tested + Product<T>>(device: &Device) {
    let (_, csr) = matrices().into_iter().find(|(name, _)| *name == "square hub").unwrap();
    let matrix = lists(device, &csr);
    let (e, values) = singles(device, csr.nnz(), 2);
    let (c, scales) = singles(device, csr.ncols(), 4);
    for lanes in [2, 4, 8, 16, 32] {
        let width = lanes as usize * 16 / size_of::<T>();
        let (x, host) = features::<T>(device, csr.ncols(), width, 1);
        for (form, deep) in [SpmmForm::Records, SpmmForm::Tasks { piece: 64 }].into_iter().zip([false, true]) {
            for valued in [false, true] {
                let plan = SpmmPlan { form, lanes, deep };
                // Records have factors of columns where tasks have values of entries, too.
                let scaled = valued && form == SpmmForm::Records;
                let own = valued && !scaled;
                let layout = SpmmLayout::<T>::with_plan(device, &matrix, width, own, plan).unwrap().unwrap();
                let input =
                    SpmmInput { values: own.then_some(Floats::Single(&e)), scale_columns: scaled.then_some(&c), ..SpmmInput::of(&x) };
                let beside = Beside { values: own.then(|| values.clone()), scale_columns: scaled.then(|| scales.clone()), ..NOTHING };
                let wanted = expected(&csr, width, &host, &beside);
                let y = rubbish::<T>(device, wanted.len());
                layout.run(&input, &y).unwrap();
                let case = format!("{}, {lanes} lanes, values: {valued}, {}", T::NAME, layout.explain());
                compare(&case, width, longest(&csr), &y, &wanted);
            }
        }
    }
}

#[test]
fn every_number_of_lanes_of_all_types() {
    let Some(device) = device() else { return };
    every_number_of_lanes::<f16>(&device);
    every_number_of_lanes::<bf16>(&device);
    every_number_of_lanes::<f32>(&device);
}
