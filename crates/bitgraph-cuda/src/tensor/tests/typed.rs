//! Operations of the front by typed forms: against plain loops, and against the general kernels.

use super::plain::{Plain, near, roundoff, shape};
use super::spmm::{Factors, PLAIN, product, weights};
use super::{dense, device, elements, pattern, patterns, spread};
use crate::Cuda;
use crate::tensor::forms::spmm::{SpmmForm, SpmmPlan};
use crate::tensor::{TensorKernels, explain, explain_gradient};
use bitgraph_backend::Matrix;
use bitgraph_semiring::DType;
use bitgraph_sparse::{Csr, FormatKind, Values};
use bitgraph_tensor::ops::{FeaturePrecision, Reduce, Score, agnn, dot_attention, gat, gat_v2, sddmm, spmm};
use bitgraph_tensor::{Activation, Any, Dense, Dropout, Element, with_dense};
use half::{bf16, f16};

const GENERAL: &str = "general kernels";

fn plans() -> Vec<TensorKernels> {
    let plan = |form, lanes, deep| TensorKernels::Spmm(SpmmPlan { form, lanes, deep });
    vec![
        TensorKernels::Typed,
        plan(SpmmForm::Rows, 8, false),
        plan(SpmmForm::Staged { buffers: 1 }, 8, false),
        plan(SpmmForm::Staged { buffers: 2 }, 16, false),
        plan(SpmmForm::Tasks { piece: 8 }, 8, true),
    ]
}

/// Rows share columns, so that blocks of them are kept.
fn mesh() -> Csr {
    let near = |i: u32| [1, 3, 18].into_iter().flat_map(move |d| [(i, i.saturating_sub(d)), (i, (i + d).min(329))]);
    pattern(330, 330, (0..330).filter(|i| i % 50 != 7).flat_map(near))
}
fn graphs() -> Vec<(&'static str, Csr)> {
    patterns().into_iter().filter(|(_, csr)| csr.nrows() > 0 && csr.ncols() > 0).chain([("mesh", mesh())]).collect()
}
fn matrix<T: Element>(cuda: &Cuda, csr: &Csr, weighted: bool) -> Matrix<Cuda> {
    let values = weighted.then(|| Values::from_vec(elements::<T>(csr.nnz(), 21)));
    Matrix::new(cuda, csr, values.as_ref(), FormatKind::Csr).unwrap()
}

/// Layers of graph convolution, and what else a form or a form and a pass compute.
fn products<T: Element<Real = f32>, U: Element>() {
    let Some(cuda) = device() else { return };
    for (name, csr) in graphs() {
        for (k, (kernels, width)) in plans().into_iter().flat_map(|p| [(p, 8), (p, 64), (p, 136)]).enumerate() {
            let cuda = cuda.with_tensor_kernels(kernels);
            let (weighted, transposed) = (k % 4 == 3, k / 2 % 2 == 1);
            let (rows, columns) = shape(&csr, transposed);
            let a = matrix::<T>(&cuda, &csr, weighted);
            let x = dense::<T>(&cuda, columns, width, 3);
            let (r, c, b) = (dense::<f32>(&cuda, rows, 1, 5), dense::<f32>(&cuda, columns, 1, 6), dense::<f32>(&cuda, 1, width, 7));
            let reduce = if k % 5 == 2 { Reduce::Mean } else { Reduce::Sum };
            let scaled = k % 3 != 0;
            let factors = Factors {
                edges: weighted.then(|| weights::<T>(&csr)),
                rows: scaled.then(|| Plain::of(&r)),
                columns: scaled.then(|| Plain::of(&c)),
                ..PLAIN
            };
            let found = product(&csr, transposed, &Plain::of(&x), &factors, reduce);
            let op = || {
                let op = spmm(&a, &x).reduce(reduce);
                let op = if transposed { op.transpose() } else { op };
                if scaled { op.scale_rows(&r).scale_columns(&c) } else { op }
            };
            let what = format!("{} to {} over {name}, {width} columns, {kernels:?}, {k}", T::DTYPE, U::DTYPE);
            let steps = found.longest as f64 + 6.0;
            let check = |part: &str, y: Dense<Cuda, U>, wanted: &Plain| {
                let magnitude = found.magnitude.map(|x, _, _| x + 4.0);
                near(&format!("{what}, {part}"), &y, wanted, &magnitude, steps, DType::F32);
            };
            assert_ne!(explain(op().descriptor()).unwrap(), GENERAL, "{what}");
            check("plain", op().eval_as().unwrap(), &found.y);
            let biased = Plain::of(&b);
            let layer = found.y.map(|x, _, c| x + biased.at(0, c));
            check("layer", op().bias(&b).relu().eval_as().unwrap(), &layer.map(|x, _, _| x.max(0.0)));
            let elu = Activation::Elu { alpha: 1.5 };
            check("and a pass", op().bias(&b).activation(elu).times(0.5).eval_as().unwrap(), &layer.map(|x, _, _| 0.5 * elu.apply(x)));
            // What was there before, and rows that are further apart.
            let mut wide = Dense::<Cuda, U>::zeros(&cuda, rows, width + 3).unwrap();
            op().add(&b_rows(&cuda, rows, width)).into(wide.columns_mut(1..width + 1).unwrap()).unwrap();
            let added = Plain::of(&b_rows(&cuda, rows, width));
            check("added", wide.columns(1..width + 1).unwrap(), &found.y.map(|x, i, c| x + added.at(i, c)));
            assert!(wide.columns(0..1).unwrap().to_host().unwrap().iter().all(|v| v.to_f64() == 0.0), "{what}");
        }
    }
}
fn b_rows(cuda: &Cuda, rows: usize, width: usize) -> Dense<Cuda, f32> {
    dense(cuda, rows, width, 8)
}

#[test]
fn products_of_halves() {
    products::<f16, f16>();
    products::<bf16, f32>();
}
#[test]
fn products_of_singles() {
    products::<f32, f32>();
}

/// Values that are given with the operation, as seen and transposed.
#[test]
fn products_with_values_of_entries() {
    let Some(cuda) = device() else { return };
    let cuda = cuda.with_tensor_kernels(TensorKernels::Typed);
    for (name, csr) in graphs() {
        for transposed in [false, true] {
            let a = matrix::<f16>(&cuda, &csr, true);
            let x = dense::<f16>(&cuda, shape(&csr, transposed).1, 24, 3);
            let (single, narrow) = (dense::<f32>(&cuda, csr.nnz(), 1, 9), dense::<f16>(&cuda, csr.nnz(), 1, 10));
            let ops = || [spmm(&a, &x).edge_values(&single), spmm(&a, &x).edge_values(&narrow)];
            for (op, e) in ops().into_iter().zip([Plain::of(&single), Plain::of(&narrow)]) {
                let op = if transposed { op.transpose() } else { op };
                assert_ne!(explain(op.descriptor()).unwrap(), GENERAL);
                let wanted = product(&csr, transposed, &Plain::of(&x), &Factors { edges: Some(e), ..PLAIN }, Reduce::Sum);
                let what = format!("{name}, transposed {transposed}");
                near(&what, &op.eval_as::<f32>().unwrap(), &wanted.y, &wanted.magnitude, wanted.longest as f64 + 6.0, DType::F32);
            }
        }
    }
}

/// Gradients of graph convolution are products of the transposed matrix, by a form as well.
#[test]
fn gradients_of_products() {
    let Some(cuda) = device() else { return };
    let cuda = cuda.with_tensor_kernels(TensorKernels::Typed);
    for (name, csr) in graphs() {
        for reduce in [Reduce::Sum, Reduce::Mean] {
            let a = matrix::<f32>(&cuda, &csr, false);
            let (rows, columns) = shape(&csr, false);
            let (x, dy) = (dense::<f32>(&cuda, columns, 16, 3), dense::<f32>(&cuda, rows, 16, 4));
            let (r, c) = (dense::<f32>(&cuda, rows, 1, 5), dense::<f32>(&cuda, columns, 1, 6));
            let forward = spmm(&a, &x).reduce(reduce).scale_rows(&r).scale_columns(&c);
            let gradient = forward.gradient(&dy).unwrap();
            assert_ne!(explain(gradient.descriptor()).unwrap(), GENERAL, "{name}");
            let dot = |a: &Plain, b: &Plain| a.data.iter().zip(&b.data).map(|(a, b)| a * b).sum::<f64>();
            let (left, dx) = (dot(&Plain::of(&dy), &Plain::of(&forward.eval().unwrap())), Plain::of(&gradient.eval().unwrap()));
            let right = dot(&dx, &Plain::of(&x));
            assert!((left - right).abs() <= 1e-4 * (100.0 + left.abs()), "{name}, {reduce:?}: {left} and {right}");
        }
    }
}

/// Features of `f32` through copies of halves: within the error that the front allows, whatever the range of a row.
#[test]
fn products_of_rounded_singles() {
    let Some(cuda) = device() else { return };
    let plan = |form, lanes, deep| TensorKernels::Spmm(SpmmPlan { form, lanes, deep });
    let mut plans = plans();
    plans.extend([16, 32].map(|lanes| plan(SpmmForm::Tasks { piece: 8 }, lanes, false)));
    plans.extend([16, 32].map(|lanes| plan(SpmmForm::Rows, lanes, true)));
    plans.push(plan(SpmmForm::Tasks { piece: 16 }, 8, false));
    for (name, csr) in graphs() {
        for (k, (kernels, width)) in plans.iter().flat_map(|&p| [(p, 8), (p, 64), (p, 328)]).enumerate() {
            let (transposed, scaled) = (k % 2 == 1, k % 3 != 0);
            let cuda = cuda.with_tensor_kernels(kernels);
            let (rows, columns) = shape(&csr, transposed);
            let a = matrix::<f32>(&cuda, &csr, false);
            // Fractions that no half holds, in rows of sizes that no half holds, and in every matrix some that are subnormal, zero or special.
            let mut x = elements::<f32>(columns * width, 3);
            for (i, row) in x.chunks_mut(width).enumerate() {
                let size = match k % 4 {
                    0 => 2f32.powi(-100),
                    1 => 2f32.powi(90),
                    _ => 1.0,
                };
                let size = match i % 23 {
                    5 => 2f32.powi(-140),
                    7 => size * 2f32.powi(25),
                    8 => size * 2f32.powi(-19),
                    9 => 0.0,
                    i => size * (1.0 + i as f32 / 37.0),
                };
                row.iter_mut().for_each(|v| *v *= size * 1.000_371);
                match i {
                    11 => row.fill(f32::INFINITY),
                    12 => row[0] = f32::NAN,
                    13 => row[1] = f32::NEG_INFINITY,
                    _ => {}
                }
            }
            let x = Dense::from_vec(&cuda, columns, width, x).unwrap();
            let (r, c, b) = (dense::<f32>(&cuda, rows, 1, 5), dense::<f32>(&cuda, columns, 1, 6), dense::<f32>(&cuda, 1, width, 7));
            let factors = Factors { rows: scaled.then(|| Plain::of(&r)), columns: scaled.then(|| Plain::of(&c)), ..PLAIN };
            let plain = Plain::of(&x);
            let found = product(&csr, transposed, &plain, &factors, Reduce::Sum);
            let largest = |i: usize| (0..width).map(|c| plain.at(i, c).abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
            let sizes: Vec<f64> = (0..columns).map(largest).collect();
            let off = plain.map(|v, i, _| if v.is_finite() { (v.abs() * 2f64.powi(-11)).max(sizes[i] * 2f64.powi(-17)) } else { 0.0 });
            let errors = product(&csr, transposed, &off, &factors, Reduce::Sum).magnitude;
            let op = || {
                let op = spmm(&a, &x).feature_precision(FeaturePrecision::Tf32);
                let op = if transposed { op.transpose() } else { op };
                if scaled { op.scale_rows(&r).scale_columns(&c) } else { op }
            };
            let what = format!("{name}, {width} columns, {kernels:?}, {k}");
            assert!(explain(op().descriptor()).unwrap().starts_with("copies as halves"), "{what}");
            let biased = Plain::of(&b);
            let layer = found.y.map(|v, _, c| Activation::Relu.apply(v + biased.at(0, c)));
            let outcomes = [(op().eval().unwrap(), &found.y), (op().bias(&b).relu().eval().unwrap(), &layer)];
            for (y, wanted) in outcomes {
                for (e, v) in Plain::of(&y).data.into_iter().enumerate() {
                    let (w, steps) = (wanted.data[e], found.longest as f64 + 8.0);
                    // Sums beyond `f32` are infinite in both.
                    let w = f64::from(w as f32);
                    let bound = errors.data[e] + steps * 2f64.powi(-23) * (found.magnitude.data[e] + 4.0) + 2f64.powi(-145);
                    let same = v == w || (v.is_nan() && w.is_nan());
                    assert!(same || (v - w).abs() <= bound, "{what}: element {e}: {v}, not {w}, up to {bound}");
                }
            }
        }
    }
}

/// A NaN or an infinity reaches the rows that have an entry for it and no other, blocks on tensor cores included.
#[test]
fn special_values_stay_in_their_rows() {
    let Some(cuda) = device() else { return };
    let (csr, width) = (mesh(), 72);
    for kernels in plans() {
        for transposed in [false, true] {
            let a = matrix::<f16>(&cuda.with_tensor_kernels(kernels), &csr, false);
            let mut x = elements::<f16>(330 * width, 3);
            x[5 * width..6 * width].fill(f16::NAN);
            x[8 * width..9 * width].fill(f16::INFINITY);
            x[9 * width..10 * width].fill(f16::NEG_INFINITY);
            let x = Dense::from_vec(&cuda, 330, width, x).unwrap();
            let (r, b) = (dense::<f32>(&cuda, 330, 1, 5), dense::<f32>(&cuda, 1, width, 7));
            let factors = Factors { rows: Some(Plain::of(&r)), ..PLAIN };
            let mut wanted = product(&csr, transposed, &Plain::of(&x), &factors, Reduce::Sum).y;
            let bias = Plain::of(&b);
            wanted = wanted.map(|x, _, c| Activation::Relu.apply(x + bias.at(0, c)));
            let op = spmm(&a, &x).scale_rows(&r).bias(&b).relu();
            let op = if transposed { op.transpose() } else { op };
            near(&format!("{kernels:?}"), &op.eval_as::<f32>().unwrap(), &wanted, &wanted.map(|_, _, _| 100.0), 16.0, DType::F32);
        }
    }
}

fn sampled<T: Element, U: Element>(heads: usize, width: usize) {
    let Some(cuda) = device() else { return };
    for (name, csr) in graphs() {
        let run = |kernels: TensorKernels| {
            let a = matrix::<f32>(&cuda.with_tensor_kernels(kernels), &csr, false);
            let (x, y) = (dense::<T>(&cuda, csr.nrows(), width, 3), dense::<T>(&cuda, csr.ncols(), width, 4));
            let op = sddmm(&a, &x, &y).heads(heads).factor(0.25);
            (explain(op.descriptor()).unwrap(), op.eval_as::<U>().unwrap())
        };
        let ((general, wanted), (form, found)) = (run(TensorKernels::General), run(TensorKernels::Chosen));
        assert_eq!((general.as_str(), form == GENERAL), (GENERAL, csr.nnz() == 0), "{name}: {form}");
        let wanted = Plain::of(&wanted);
        near(&format!("{name}, {form}"), &found, &wanted, &wanted.map(|x, _, _| x.abs() + width as f64), width as f64 + 8.0, DType::F32);
    }
}
#[test]
fn sampled_products() {
    sampled::<f16, f16>(1, 64);
    sampled::<f16, f32>(4, 32);
    sampled::<bf16, bf16>(2, 128);
    sampled::<f32, f32>(2, 24);
}

fn close<U: Element>(what: &str, found: &Dense<Cuda, U>, wanted: &Dense<Cuda, U>, bound: f64) {
    let (found, wanted) = (Plain::of(found), Plain::of(wanted));
    for (k, (a, b)) in found.data.iter().zip(&wanted.data).enumerate() {
        assert!(a == b || (a - b).abs() <= bound * (1.0 + b.abs()), "{what}: element {k}: {a}, and {b} by the general kernels");
    }
}
fn same(any: &Any<Cuda>, other: &Any<Cuda>, what: &str, bound: f64) {
    with_dense!(any, a => {
        let b = other.clone().get().unwrap();
        close(what, a, &b, bound);
    });
}

const DROPOUT: Dropout = Dropout::new(0.4, 0xFEED_5EED_0123_4567, 3);

/// Every kind of attention by the form and by the general kernels, forward and backward, with an epilogue and without.
fn attention<T: Element<Real = f32, Output = T>>(heads: usize, width: usize) {
    let Some(cuda) = device() else { return };
    // Weights are rounded to halves on tensor cores; scores are sums of up to 128 products, and what they err by, weights err by.
    let bound = 16.0 * roundoff(T::DTYPE).max(1e-6);
    for (name, csr) in graphs() {
        let (rows, columns) = shape(&csr, false);
        let (k, x, q, dy) = (
            dense::<T>(&cuda, columns, width, 13),
            dense::<T>(&cuda, columns, width, 3),
            dense::<T>(&cuda, rows, width, 4),
            dense::<T>(&cuda, rows, width, 5),
        );
        let (left, right) = (dense::<f32>(&cuda, rows, heads, 6), dense::<f32>(&cuda, columns, heads, 7));
        let (vector, beta, b) = (dense::<f32>(&cuda, 1, width, 8), dense::<f32>(&cuda, 1, 1, 9), dense::<f32>(&cuda, 1, width, 10));
        let of = |kernels: TensorKernels| {
            let a = matrix::<f32>(&cuda.with_tensor_kernels(kernels), &csr, false);
            let mut ops = vec![
                ("gat", gat(&a, &left, &right, &x, 0.2)),
                ("gat with a layer's end", gat(&a, &left, &right, &x, 0.2).bias(&b).elu(1.5)),
                ("gat with a threshold", gat(&a, &left, &right, &x, 0.2).relu()),
                ("gat with dropout", gat(&a, &left, &right, &x, 0.2).attention_dropout(DROPOUT)),
                ("dot", dot_attention(&a, &q, &x, &x, heads)),
                ("dot with dropout", dot_attention(&a, &q, &x, &x, heads).attention_dropout(DROPOUT)),
                ("dot with keys of their own", dot_attention(&a, &q, &k, &x, heads)),
                ("dot with a layer's end", dot_attention(&a, &q, &x, &x, heads).bias(&b).leaky_relu(0.25)),
                ("gat v2", gat_v2(&a, &q, &x, &vector, heads, 0.2)),
                ("gat v2 with dropout", gat_v2(&a, &q, &x, &vector, heads, 0.2).attention_dropout(DROPOUT)),
            ];
            if rows == columns && heads == 1 {
                ops.push(("agnn", agnn(&a, &x, &beta)));
                ops.push(("agnn with dropout", agnn(&a, &x, &beta).attention_dropout(DROPOUT)));
            }
            ops
        };
        for ((kind, typed), (_, general)) in of(TensorKernels::Typed).into_iter().zip(of(TensorKernels::General)) {
            let form = explain(typed.descriptor()).unwrap();
            let what = format!("{kind} of {} over {name}, {heads} heads of {width} columns, {form}", T::DTYPE);
            assert!(form != GENERAL && explain(general.descriptor()).unwrap() == GENERAL, "{what}");
            let ((y, lse), (wanted, sums)) = (typed.eval_for_training().unwrap(), general.eval_for_training().unwrap());
            close(&what, &y, &wanted, bound);
            close(&what, &lse, &sums, 1e-4);
            let form = explain_gradient(typed.descriptor()).unwrap();
            assert_ne!(form, GENERAL, "{what}");
            if !kind.ends_with("end") && !kind.ends_with("threshold") {
                let (found, wanted) = (typed.gradient_of(&sums, &dy).unwrap(), general.gradient_of(&sums, &dy).unwrap());
                let longest = (0..rows).map(|i| csr.row(i).len()).max().unwrap_or(0).max(columns) as f64;
                // Dropout multiplies the weights that it keeps, and what they err by.
                let kept = if kind.ends_with("dropout") { DROPOUT.factor() } else { 1.0 };
                let bound = kept * bound * longest.sqrt().max(4.0);
                close(&format!("{what}: values"), &found.values, &wanted.values, bound);
                same(&found.first, &wanted.first, &format!("{what}: first"), bound);
                same(&found.second.unwrap(), wanted.second.as_ref().unwrap(), &format!("{what}: second"), bound);
                if let (Some(found), Some(wanted)) = (&found.parameter, &wanted.parameter) {
                    close(&format!("{what}: parameter"), found, wanted, bound * (csr.nnz() as f64).sqrt());
                }
                let found = typed.gradient_from(&y, &sums, &dy).unwrap();
                close(&format!("{what}: values from the result"), &found.values, &wanted.values, bound);
                same(&found.first, &wanted.first, &format!("{what}: first from the result"), bound);
            }
        }
    }
}
#[test]
fn attention_of_halves() {
    attention::<f16>(1, 64);
    attention::<f16>(4, 64);
    attention::<bf16>(2, 128);
}
#[test]
fn attention_of_singles() {
    attention::<f32>(1, 64);
    attention::<f32>(8, 128);
}

/// Combinations that no form has are left to the general kernels, and say so.
#[test]
fn what_no_form_has() {
    let Some(cuda) = device() else { return };
    let (csr, cuda) = (mesh(), cuda.with_tensor_kernels(TensorKernels::Typed));
    let (a, x) = (matrix::<f32>(&cuda, &csr, false), dense::<f32>(&cuda, 330, 64, 3));
    let general = |op: &dyn Fn() -> String| assert_eq!(op(), GENERAL);
    general(&|| explain(spmm(&a, &spread(&x)).descriptor()).unwrap());
    general(&|| explain(spmm(&a, &x.columns(0..32).unwrap()).descriptor()).unwrap());
    general(&|| explain(spmm(&a, &dense::<f32>(&cuda, 330, 7, 3)).descriptor()).unwrap());
    general(&|| explain(spmm(&a, &dense::<f64>(&cuda, 330, 64, 3)).descriptor()).unwrap());
    general(&|| explain(spmm(&a, &x).reduce(Reduce::Max).descriptor()).unwrap());
    let e = dense::<f32>(&cuda, csr.nnz(), 4, 3);
    general(&|| explain(spmm(&a, &x).edge_values(&e).descriptor()).unwrap());
    general(&|| explain(sddmm(&a, &x, &x).activation(Activation::Relu).descriptor()).unwrap());
    let (left, right) = (dense::<f32>(&cuda, 330, 1, 6), dense::<f32>(&cuda, 330, 1, 7));
    // Halves would be rounded twice.
    let h = dense::<f16>(&cuda, 330, 64, 3);
    general(&|| explain(gat(&a, &left, &right, &h, 0.2).relu().times(2.0).descriptor()).unwrap());
    let singles = explain(gat(&a, &left, &right, &x, 0.2).relu().times(2.0).descriptor());
    assert!(singles.unwrap().ends_with("; then 1 step of the epilogue"));
    let scores = dense::<f32>(&cuda, csr.nnz(), 1, 3);
    general(&|| explain_gradient(bitgraph_tensor::ops::attention(&a, Score::Edge(scores.any()), 1, &x).descriptor()).unwrap());
    general(&|| explain(gat(&a, &left, &right, &dense::<f32>(&cuda, 330, 7, 3), 0.2).descriptor()).unwrap());
}

/// Layouts are kept with the matrix, counted, made once, and are of one matrix for threads that share it.
#[test]
fn layouts_are_kept() {
    let Some(cuda) = device() else { return };
    let csr = mesh();
    let cuda = cuda.with_tensor_kernels(plans()[3]);
    let (a, x) = (matrix::<f16>(&cuda, &csr, false), dense::<f16>(&cuda, 330, 64, 3));
    let before = a.raw().bytes();
    let first = spmm(&a, &x).eval().unwrap().to_host().unwrap();
    let after = a.raw().bytes();
    assert!(after > before, "{after} bytes, {before} before");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..4 {
                    assert_eq!(spmm(&a, &x).eval().unwrap().to_host().unwrap(), first);
                }
            });
        }
    });
    assert_eq!(a.raw().bytes(), after);
    // Many others, of which the oldest go.
    for width in 1..40 {
        spmm(&a, &dense::<f16>(&cuda, 330, 8 * width, 3)).eval().unwrap();
    }
    assert_eq!(spmm(&a, &x).eval().unwrap().to_host().unwrap(), first);
}

/// A matrix keeps a layout for each number of heads: one after the other, each again, forward and backward.
#[test]
fn layouts_are_of_one_number_of_heads() {
    let Some(cuda) = device() else { return };
    let (csr, cuda) = (mesh(), cuda.with_tensor_kernels(TensorKernels::Typed));
    let (x, dy) = (dense::<f32>(&cuda, 330, 64, 3), dense::<f32>(&cuda, 330, 64, 4));
    let run = |a: &Matrix<Cuda>, heads: usize| {
        let (left, right) = (dense::<f32>(&cuda, 330, heads, 6), dense::<f32>(&cuda, 330, heads, 7));
        [gat(a, &left, &right, &x, 0.2), dot_attention(a, &x, &x, &x, heads)].map(|op| {
            assert_ne!(explain(op.descriptor()).unwrap(), GENERAL);
            let (y, lse) = op.eval_for_training().unwrap();
            (y.to_host().unwrap(), op.gradient_of(&lse, &dy).unwrap().values.to_host().unwrap())
        })
    };
    let shared = matrix::<f32>(&cuda, &csr, false);
    for heads in [1, 4, 2, 1, 4, 8, 2] {
        assert!(run(&shared, heads) == run(&matrix::<f32>(&cuda, &csr, false), heads), "{heads} heads");
    }
}

/// Threads that share a matrix run backward passes, whose launches leave arrays for each other.
#[test]
fn backward_passes_of_threads_do_not_mix() {
    let Some(cuda) = device() else { return };
    let csr = mesh();
    let (a, x) = (matrix::<f32>(&cuda, &csr, false), dense::<f32>(&cuda, 330, 16, 3));
    let (left, right) = (dense::<f32>(&cuda, 330, 2, 6), dense::<f32>(&cuda, 330, 2, 7));
    let run = |seed: u64| {
        let op = gat(&a, &left, &right, &x, 0.2);
        let (_, lse) = op.eval_for_training().unwrap();
        let found = op.gradient_of(&lse, &dense::<f32>(&cuda, 330, 16, seed)).unwrap();
        found.values.to_host().unwrap()
    };
    let wanted: Vec<_> = (0..3).map(run).collect();
    std::thread::scope(|scope| {
        for (seed, wanted) in wanted.iter().enumerate() {
            scope.spawn(move || (0..4).for_each(|_| assert_eq!(&run(seed as u64), wanted)));
        }
    });
}

/// Where memory is too short for a layout, the general kernels run.
#[test]
fn without_memory_for_a_layout() {
    let Some(device) = crate::device::testing::small_device(1 << 20) else { return };
    let cuda = Cuda::on(device.clone()).with_tensor_kernels(plans()[3]);
    let csr = mesh();
    let (a, x) = (matrix::<f16>(&cuda, &csr, false), dense::<f16>(&cuda, 330, 64, 3));
    let mut y = Dense::<Cuda, f16>::zeros(&cuda, 330, 64).unwrap();
    let held = crate::device::testing::hold(&device, 600);
    spmm(&a, &x).into(&mut y).unwrap();
    drop(held);
    let wanted = product(&csr, false, &Plain::of(&x), &PLAIN, Reduce::Sum);
    near("short of memory", &y, &wanted.y, &wanted.magnitude, wanted.longest as f64 + 6.0, DType::F32);
}
