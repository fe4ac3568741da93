//! Matrices of few bits on the front: the general kernels and the forms, each against the host's types and against plain loops. Values are
//! whole numbers times powers of two, so that every result is exact.

use super::plain::{Plain, entries, shape, stored};
use super::{device, elements, pattern, patterns, spread};
use crate::tensor::{TensorKernels, explain};
use crate::{Cuda, Error};
use bitgraph_backend::Matrix;
use bitgraph_bittensor::{
    Binarize, BitMatrix, BitPlanes, Packing, Quantization, Rounding, Scaling, Step, Steps, Threshold, TileShape, View,
};
use bitgraph_sparse::{Control, Csr, FormatKind};
use bitgraph_tensor::ops::{BitComputation, Operation, Reconcile, bit_gemm, bit_spmm};
use bitgraph_tensor::{Activation, BitOperand, Dense, Element, Planes, Quantise, Signs};
use half::{bf16, f16};

const KERNELS: [TensorKernels; 2] = [TensorKernels::General, TensorKernels::Typed];
const PACKINGS: [Packing; 2] = [Packing::Rows, Packing::Columns];
const GENERAL: &str = "general kernels";

fn whole(n: usize, seed: u64) -> Vec<f32> {
    elements::<i32>(n, seed).into_iter().map(|v| v as f32).collect()
}
/// Factors among 1/2, 1, 2 and their negatives.
fn powers(n: usize, seed: u64) -> Vec<f32> {
    let all = [0.5, 1.0, 2.0, -1.0, -0.5];
    whole(n, seed).into_iter().map(|v| all[(v + 2.0) as usize]).collect()
}
fn sign(v: f64) -> f64 {
    if v >= 0.0 { 1.0 } else { -1.0 }
}

fn packing_of<T: Element + Into<f32>>() {
    let Some(cuda) = device() else { return };
    let control = Control::default();
    for (k, (rows, columns)) in [(0, 5), (5, 0), (1, 1), (3, 31), (33, 7), (70, 33), (65, 130)].into_iter().enumerate() {
        let values = elements::<T>(rows * columns, 3);
        let view = View::new(&values, rows, columns).unwrap();
        let thresholds = powers(columns, 5);
        let steps = |n: usize| (0..n).map(|i| Step { scale: [0.5, 0.25, 1.0][i % 3], zero: (i % 4) as f32 }).collect::<Vec<_>>();
        for kernels in KERNELS {
            let cuda = cuda.with_tensor_kernels(kernels);
            let x = Dense::from_slice(&cuda, rows, columns, &values).unwrap();
            for x in [x.clone(), spread(&x)] {
                for packing in PACKINGS {
                    let says = format!("{} of {rows} x {columns}, {kernels:?}, along {packing}", T::DTYPE);
                    let how = Binarize { packing, ..Binarize::default() };
                    for scaling in [Scaling::None, Scaling::RowMeans, Scaling::ColumnMeans] {
                        let host = BitMatrix::binarize(&view, &Binarize { scaling, ..how }, &control).unwrap();
                        let there = x.sign_scaled(packing, scaling).unwrap();
                        assert_eq!(there.to_host().unwrap(), host, "{says}");
                        assert_eq!(there.to_dense().unwrap().to_host().unwrap(), host.to_dense(&control).unwrap(), "{says}");
                        let halves: Vec<f32> = Signs::from_host(&cuda, &host).unwrap().to_dense().unwrap().to_host().unwrap();
                        assert_eq!(halves, host.to_dense(&control).unwrap(), "{says}");
                    }
                    let from = Binarize { threshold: Threshold::From(&thresholds), ..how };
                    let host = BitMatrix::binarize(&view, &from, &control).unwrap();
                    let t = Dense::row_vector(&cuda, thresholds.clone()).unwrap();
                    assert_eq!(x.sign_from(&t, packing).unwrap().to_host().unwrap(), host, "{says}");
                    let bits = [1, 3, 8, 16][k % 4];
                    let some = [
                        Steps::Tensor(Step { scale: 0.25, zero: 3.0 }),
                        Steps::Rows(steps(rows).into()),
                        Steps::Columns(steps(columns).into()),
                    ];
                    for (steps, rounding) in some.into_iter().zip([Rounding::Nearest, Rounding::Floor, Rounding::Nearest]) {
                        let q = Quantization::new(bits, rounding, steps).unwrap();
                        let host = BitPlanes::quantize(&view, &q, packing, TileShape::WORD, &control).unwrap();
                        let there = x.quantize(&q, packing).unwrap();
                        assert_eq!(there.to_host().unwrap(), host, "{says}, {bits} bits");
                        assert_eq!(there.to_dense().unwrap().to_host().unwrap(), host.dequantize(&control).unwrap(), "{says}, {bits} bits");
                    }
                }
            }
        }
    }
}

#[test]
fn packing_is_the_hosts() {
    packing_of::<f32>();
    packing_of::<f16>();
    packing_of::<bf16>();
    packing_of::<i8>();
    packing_of::<i16>();
}

#[test]
fn what_is_no_number_has_no_sign_and_no_code() {
    let Some(cuda) = device() else { return };
    let values = vec![f32::NAN, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1e-40, 300.0];
    for kernels in KERNELS {
        let cuda = cuda.with_tensor_kernels(kernels);
        let x = Dense::from_slice(&cuda, 1, 7, &values).unwrap();
        let signs = x.sign(Packing::Rows).unwrap().to_dense().unwrap().to_host().unwrap();
        assert_eq!(signs, [-1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0], "{kernels:?}");
        let q = Quantization::new(4, Rounding::Nearest, Steps::Tensor(Step { scale: 1.0, zero: 2.0 })).unwrap();
        let codes = x.quantize(&q, Packing::Columns).unwrap().to_dense().unwrap().to_host().unwrap();
        assert_eq!(codes, [-2.0, 0.0, 13.0, -2.0, 0.0, 0.0, 13.0], "{kernels:?}");
    }
}

/// What operands are stored as: signs, scaled signs, codes that stand for themselves, codes with a step, codes of 16 bits, halves.
const STORED: usize = 6;

/// An operand, and its values; what varies does so along the lines.
fn operand(cuda: &Cuda, how: usize, (rows, columns): (usize, usize), packing: Packing, seed: u64) -> (BitOperand<Cuda>, Plain) {
    let values = whole(rows * columns, seed);
    let x = Dense::from_slice(cuda, rows, columns, &values).unwrap();
    let lines = if packing == Packing::Rows { rows } else { columns };
    let codes = |bits, steps: Steps| {
        let planes = x.quantize(&Quantization::new(bits, Rounding::Nearest, steps).unwrap(), packing).unwrap();
        (Plain::of(&planes.to_dense().unwrap()), BitOperand::Planes(planes))
    };
    let (plain, operand) = match how {
        0 | 1 => {
            let signs = x.sign(packing).unwrap();
            let d = powers(lines, seed + 1);
            let signs = match (how, packing) {
                (0, _) => signs,
                (_, Packing::Rows) => signs.with_row_scales(&Dense::column_vector(cuda, d).unwrap()).unwrap(),
                (_, Packing::Columns) => signs.with_column_scales(&Dense::row_vector(cuda, d).unwrap()).unwrap(),
            };
            (Plain::of(&signs.to_dense().unwrap()), BitOperand::Signs(signs))
        }
        2 => codes(2, Steps::Tensor(Step::UNIT)),
        3 => {
            let each: Vec<Step> = (0..lines).map(|i| Step { scale: [0.5, 1.0][i % 2], zero: (i % 3) as f32 }).collect();
            codes(3, if packing == Packing::Rows { Steps::Rows(each.into()) } else { Steps::Columns(each.into()) })
        }
        4 => codes(16, Steps::Tensor(Step { scale: 0.5, zero: 7.0 })),
        _ => {
            let halves = Dense::from_slice(cuda, rows, columns, &values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>()).unwrap();
            (Plain::of(&halves), BitOperand::from(&spread(&halves)))
        }
    };
    (operand, plain)
}

/// Every kind of result of an operation.
fn results<F>(says: &str, cuda: &Cuda, op: impl Fn() -> Operation<F>, wanted: &Plain)
where
    F: BitComputation<Backend = Cuda, Real = f32, Output = f32>,
{
    fn exact<T: Element>(says: &str, part: &str, found: &Dense<Cuda, T>, wanted: &Plain) {
        assert_eq!(found.shape(), (wanted.rows, wanted.columns), "{says}, {part}");
        for (k, v) in found.to_host().unwrap().into_iter().enumerate() {
            assert_eq!(v.to_f64(), stored::<T>(wanted.data[k]), "{says}, {part}: element {k} of {} x {}", wanted.rows, wanted.columns);
        }
    }
    let values = |y: Signs<Cuda>| {
        // Bits beyond the matrix would be refused.
        y.to_host().unwrap();
        y.to_dense().unwrap()
    };
    exact(says, "f32", &op().eval().unwrap(), wanted);
    exact(says, "i32", &op().eval_as::<i32>().unwrap(), wanted);
    exact(says, "f64", &op().eval_as::<f64>().unwrap(), wanted);
    exact(says, "signs", &values(op().eval_signs().unwrap()), &wanted.map(|v, _, _| sign(v)));
    let q = Quantise { scale: 2.0, zero_point: 5, bits: 4 };
    let planes = op().eval_planes(q).unwrap();
    planes.to_host().unwrap();
    exact(says, "planes", &planes.to_dense().unwrap(), &wanted.map(|v, _, _| 2.0 * (q.level(v) - 5.0)));
    // A row's scale, as no threshold can take it, and into what is there.
    let (rows, columns) = (wanted.rows, wanted.columns);
    let (d, b, t) = (powers(rows, 51), powers(columns, 52), powers(columns, 53));
    let row = Dense::column_vector(cuda, d.clone()).unwrap();
    let (scale, threshold) = (Dense::row_vector(cuda, b.clone()).unwrap(), Dense::row_vector(cuda, t.clone()).unwrap());
    let turned = wanted.map(|v, i, c| if v * f64::from(d[i]) >= f64::from(t[c]) { 1.0 } else { -1.0 });
    exact(says, "signs of scaled rows", &values(op().times_rows(&row).threshold(&threshold).eval_signs().unwrap()), &turned);
    let mut y = op().eval_signs().unwrap();
    let leaky = Activation::LeakyRelu { slope: 0.5 };
    let activated = wanted.map(|v, _, c| {
        let x = v * f64::from(b[c]) + f64::from(t[c]);
        let x = if x > 0.0 { x } else { 0.5 * x };
        if x >= f64::from(b[c]) { 1.0 } else { -1.0 }
    });
    op().times_columns(&scale).bias(&threshold).activation(leaky).threshold(&scale).into_signs(&mut y).unwrap();
    exact(says, "signs after a layer", &values(y), &activated);
    // More steps than a launch takes.
    let many = || (0..9).fold(op(), |op, _| op.times(0.5).times(2.0));
    exact(says, "many steps", &values(many().eval_signs().unwrap()), &wanted.map(|v, _, _| sign(v)));
    exact(says, "many steps to f16", &many().eval_as::<f16>().unwrap(), wanted);
}

#[test]
fn products() {
    let Some(cuda) = device() else { return };
    let shapes = [(1, 1, 1), (3, 31, 33), (33, 70, 7), (65, 130, 40), (5, 0, 9), (7, 300, 64)];
    for (k, (a, b)) in (0..STORED).flat_map(|a| (0..STORED).map(move |b| (a, b))).enumerate() {
        if (a, b) == (5, 5) {
            continue;
        }
        let (rows, length, columns) = shapes[k % shapes.len()];
        for kernels in KERNELS {
            let cuda = cuda.with_tensor_kernels(kernels);
            let (left, x) = operand(&cuda, a, (rows, length), Packing::Rows, 3);
            let (right, w) = operand(&cuda, b, (length, columns), Packing::Columns, 7);
            let mut wanted = Plain::zeros(rows, columns);
            for i in 0..rows {
                for c in 0..columns {
                    wanted.set(i, c, (0..length).map(|k| x.at(i, k) * w.at(k, c)).sum());
                }
            }
            let says = format!("{a} x {b}, {rows} x {length} x {columns}, {kernels:?}");
            results(&says, &cuda, || bit_gemm(left.clone(), right.clone()), &wanted);
            let said = explain(bit_gemm(left.clone(), right.clone()).descriptor()).unwrap();
            // A length of nothing, dense operands, and numbers that 32 bits might not hold are for the general kernels.
            let typed = kernels == TensorKernels::Typed && length > 0 && a < 5 && b < 5 && a.max(b) < 4;
            if a.max(b) != 4 {
                assert_eq!(said != GENERAL, typed, "{says}: {said}");
            }
        }
    }
}

#[test]
fn products_in_every_width() {
    let Some(cuda) = device() else { return };
    for bits in 1..=16 {
        for kernels in KERNELS {
            let cuda = cuda.with_tensor_kernels(kernels);
            let q = Quantization::unit(bits).unwrap();
            let top = f64::from((1u32 << bits) - 1);
            let codes = |n: usize, seed: u64| whole(n, seed).iter().map(|v| ((v + 2.0) / 4.0 * top as f32).floor()).collect::<Vec<_>>();
            let (rows, length, columns) = (5, 37, 35);
            let (x, w) = (codes(rows * length, 3), codes(length * columns, 4));
            let a = Dense::from_slice(&cuda, rows, length, &x).unwrap().quantize(&q, Packing::Rows).unwrap();
            let b = Dense::from_slice(&cuda, length, columns, &w).unwrap().quantize(&q, Packing::Columns).unwrap();
            let found = bit_gemm(&a, &b).eval_as::<i32>().unwrap().to_host().unwrap();
            for i in 0..rows {
                for c in 0..columns {
                    // Beyond 32 bits they wrap.
                    let exact: i64 = (0..length).map(|k| x[i * length + k] as i64 * w[k * columns + c] as i64).sum();
                    assert_eq!(found[i * columns + c], exact as i32, "{bits} bits, {kernels:?}");
                }
            }
        }
    }
}

/// Sums of the rows of `x` over the entries as seen.
fn summed(csr: &Csr, transposed: bool, own: bool, x: &Plain) -> Plain {
    let mut y = Plain::zeros(shape(csr, transposed).0, x.columns);
    for e in entries(csr, transposed) {
        (0..x.columns).for_each(|k| y.add(e.i, k, x.at(e.j, k)));
    }
    if own {
        (0..y.rows).for_each(|i| (0..x.columns).for_each(|k| y.add(i, k, x.at(i, k))));
    }
    y
}

#[test]
fn sums_over_entries() {
    let Some(cuda) = device() else { return };
    for (p, (name, csr)) in patterns().into_iter().enumerate() {
        for how in 0..STORED {
            let (transposed, width) = ((p + how) % 2 == 1, [1, 33, 64, 130][(p + how) % 4]);
            let (rows, columns) = shape(&csr, transposed);
            let own = how % 2 == 0 && rows == columns;
            for kernels in KERNELS {
                let cuda = cuda.with_tensor_kernels(kernels);
                let (features, x) = operand(&cuda, how, (columns, width), Packing::Rows, 3);
                let a = Matrix::new(&cuda, &csr, None, FormatKind::Csr).unwrap();
                let op = || {
                    let op = bit_spmm(&a, features.clone()).reconcile(Reconcile::ALL[how % 3]);
                    let op = if transposed { op.transpose() } else { op };
                    if own { op.own() } else { op }
                };
                let wanted = summed(&csr, transposed, own, &x);
                let says = format!("features {how} over {name}, {width} columns, {kernels:?}");
                results(&says, &cuda, op, &wanted);
                let r = powers(rows, 9);
                let scaled = || op().scale_rows(&Dense::column_vector(&cuda, r.clone()).unwrap());
                results(&format!("{says}, scaled"), &cuda, scaled, &wanted.map(|v, i, _| v * f64::from(r[i])));
                let typed = kernels == TensorKernels::Typed && how == 0 && rows > 0;
                assert_eq!(explain(op().descriptor()).unwrap() != GENERAL, typed, "{says}");
                if how == 0 {
                    let halves = op().eval_as::<i16>().unwrap().to_host().unwrap();
                    assert!(halves.iter().zip(&wanted.data).all(|(&found, &exact)| f64::from(found) == exact), "{says}");
                    let counts = op().eval_counts(12).unwrap();
                    assert_eq!(Plain::of(&counts.to_dense().unwrap()).data, wanted.data, "{says}");
                    let mut again = counts.clone();
                    op().into_counts(&mut again).unwrap();
                    assert_eq!(again.to_host().unwrap(), counts.to_host().unwrap(), "{says}");
                }
            }
        }
    }
}

#[test]
fn factors_of_columns_are_within_the_sum() {
    let Some(cuda) = device() else { return };
    for (name, csr) in patterns() {
        for how in [0, 2, 5] {
            let (rows, columns) = (csr.nrows(), csr.ncols());
            let (features, x) = operand(&cuda, how, (columns, 33), Packing::Rows, 4);
            let c = powers(columns, 8);
            let a = Matrix::new(&cuda, &csr, None, FormatKind::B2sr8).unwrap();
            let wanted = summed(&csr, false, false, &x.map(|v, j, _| v * f64::from(c[j])));
            let scale = Dense::column_vector(&cuda, c).unwrap();
            assert_eq!(wanted.rows, rows);
            results(
                &format!("features {how} over {name}, factors"),
                &cuda,
                || bit_spmm(&a, features.clone()).scale_columns(&scale),
                &wanted,
            );
        }
    }
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let Some(cuda) = device() else { return };
    let csr = pattern(4, 20, (0..15).map(|j| (2, j)).chain([(0, 3)]));
    let a = Matrix::new(&cuda, &csr, None, FormatKind::Csr).unwrap();
    let x = Dense::from_slice(&cuda, 20, 3, &whole(60, 3)).unwrap().sign(Packing::Rows).unwrap();
    assert_eq!(bit_spmm(&a, &x).eval_counts(4).unwrap().bits(), 4);
    let refused = bit_spmm(&a, &x).eval_counts(3).unwrap_err();
    assert!(matches!(refused, Error::Base(_)) && refused.to_string().contains("15"), "{refused}");
    // As seen from the other side a row has two messages.
    let y = Dense::from_slice(&cuda, 4, 3, &whole(12, 3)).unwrap().sign(Packing::Rows).unwrap();
    assert!(bit_spmm(&a, &y).transpose().eval_counts(2).is_ok() && bit_spmm(&a, &y).transpose().eval_counts(1).is_err());
}

/// Batch normalisation before a sign: thresholds found by a form are where the general kernels turn.
#[test]
fn normalised_signs_are_those_of_the_general_kernels() {
    let Some(cuda) = device() else { return };
    let (n, width) = (90, 70);
    let csr = &patterns().into_iter().find(|(name, _)| *name == "a hub").unwrap().1;
    let run = |kernels: TensorKernels| {
        let cuda = cuda.with_tensor_kernels(kernels);
        let row = |seed: u64, f: &dyn Fn(f32) -> f32| {
            Dense::row_vector(&cuda, elements::<f32>(width, seed).into_iter().map(f).collect()).unwrap()
        };
        // Means at and between the sums, factors of both signs and 0.
        let (mean, variance) = (row(1, &|v| (4.0 * v).round()), row(2, &|v| v.abs()));
        let (gamma, beta) = (row(3, &|v| v), row(4, &|v| if v > 1.0 { 0.0 } else { v / 7.0 }));
        let a = Matrix::new(&cuda, csr, None, FormatKind::Csr).unwrap();
        let x = Dense::from_slice(&cuda, n, width, &whole(n * width, 3)).unwrap();
        let w = Dense::from_slice(&cuda, n, width, &whole(n * width, 5)).unwrap().sign(Packing::Columns).unwrap();
        let sums = bit_spmm(&a, &x.sign(Packing::Rows).unwrap()).batch_norm((&mean, &variance), Some((&gamma, &beta)), 1e-5).sign();
        let left = Dense::from_slice(&cuda, 40, n, &whole(40 * n, 6)).unwrap().sign(Packing::Rows).unwrap();
        let products = bit_gemm(&left, &w).batch_norm((&mean, &variance), Some((&gamma, &beta)), 1e-5).sign();
        let said = (explain(sums.descriptor()).unwrap(), explain(products.descriptor()).unwrap());
        (sums.eval_signs().unwrap().to_host().unwrap(), products.eval_signs().unwrap().to_host().unwrap(), said)
    };
    let (general, typed) = (run(TensorKernels::General), run(TensorKernels::Typed));
    assert_eq!((&general.0, &general.1), (&typed.0, &typed.1));
    assert!(typed.2.0.contains("thresholds") && typed.2.1.contains("thresholds"), "{:?}", typed.2);
    assert_eq!(general.2.0, GENERAL);
}

/// Lines that are padded, words that are shared, and views of words.
#[test]
fn padded_operands() {
    let Some(cuda) = device() else { return };
    let csr = &patterns().into_iter().find(|(name, _)| *name == "kron 6").unwrap().1;
    for kernels in KERNELS {
        let cuda = cuda.with_tensor_kernels(kernels);
        let n = csr.nrows();
        let (BitOperand::Signs(x), plain) = operand(&cuda, 0, (n, 45), Packing::Rows, 3) else { panic!("signs") };
        let x = x.repacked(Packing::Rows, TileShape::TILE_8X128).unwrap();
        let a = Matrix::new(&cuda, csr, None, FormatKind::Csr).unwrap();
        results(&format!("padded, {kernels:?}"), &cuda, || bit_spmm(&a, &x), &summed(csr, false, false, &plain));
        let (BitOperand::Planes(w), right) = operand(&cuda, 3, (45, 20), Packing::Columns, 4) else { panic!("planes") };
        let w: Planes<Cuda> = w.repacked(Packing::Columns, TileShape::TILE_16X256).unwrap();
        let mut wanted = Plain::zeros(n, 20);
        for i in 0..n {
            for c in 0..20 {
                wanted.set(i, c, (0..45).map(|k| plain.at(i, k) * right.at(k, c)).sum());
            }
        }
        results(&format!("padded product, {kernels:?}"), &cuda, || bit_gemm(&x, &w), &wanted);
    }
}

/// Where memory is too short for a layout, or for numbers on the way, the general kernels run.
#[test]
fn without_memory_for_a_form() {
    let Some(device) = crate::device::testing::small_device(1 << 22) else { return };
    let cuda = Cuda::on(device.clone()).with_tensor_kernels(TensorKernels::Typed);
    // The lengths of so many rows take more than is left.
    let csr = &pattern(330, 330, (0..330).flat_map(|i| [(i, i), (i, (i + 1) % 330)]));
    let (n, width) = (csr.nrows(), 70);
    let (BitOperand::Signs(x), plain) = operand(&cuda, 0, (n, width), Packing::Rows, 3) else { panic!("signs") };
    let (w, right) = operand(&cuda, 2, (width, n), Packing::Columns, 4);
    let (v, left) = operand(&cuda, 2, (n, width), Packing::Rows, 5);
    let d = powers(n, 9);
    let scale = Dense::column_vector(&cuda, d.clone()).unwrap();
    let products = || bit_gemm(v.clone(), w.clone()).bias(&scale.reshaped(1, n).unwrap());
    let mut y = Dense::<Cuda, f32>::zeros(&cuda, n, width).unwrap().sign(Packing::Rows).unwrap();
    let mut z = Dense::<Cuda, f32>::zeros(&cuda, n, n).unwrap().sign(Packing::Rows).unwrap();
    let summed = summed(csr, false, false, &plain).map(|v, i, _| sign(v * f64::from(d[i])));
    let mut multiplied = Plain::zeros(n, n);
    for i in 0..n {
        for c in 0..n {
            let product: f64 = (0..width).map(|k| left.at(i, k) * right.at(k, c)).sum();
            multiplied.set(i, c, sign(product + f64::from(d[c])));
        }
    }
    // First without a layout; then with one, and without an array for the numbers.
    for laid in [false, true] {
        let a = Matrix::new(&cuda, csr, None, FormatKind::Csr).unwrap();
        let sums = || bit_spmm(&a, &x).scale_rows(&scale);
        if laid {
            assert_ne!(explain(sums().descriptor()).unwrap(), GENERAL);
        }
        let biased = products();
        let held = crate::device::testing::hold(&device, 600);
        sums().into_signs(&mut y).unwrap();
        biased.into_signs(&mut z).unwrap();
        assert_eq!(explain(sums().descriptor()).unwrap() != GENERAL, laid);
        drop(held);
        assert_eq!(Plain::of(&y.to_dense().unwrap()).data, summed.data, "laid out {laid}");
        assert_eq!(Plain::of(&z.to_dense().unwrap()).data, multiplied.data, "laid out {laid}");
    }
}
