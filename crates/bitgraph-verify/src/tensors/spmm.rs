//! Sparse times dense: types of features, edges, reductions, transposes, scales, and what is stored.

use super::operands::{Kind, WIDTHS, dense, elements, pattern, patterns, powers, spread, weighted};
use super::{check, outcome};
use crate::operations::cases;
use crate::{Outcome, Report};
use bitgraph::prelude::{Csr, Dense, FormatKind, spmm};
use bitgraph::semiring::{DType, Scalar};
use bitgraph::tensor::ops::{Accumulation, FeaturePrecision, Operation, Reduce, SparseDense};
use bitgraph::tensor::{Element, TensorBackend};
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::{Grid, Messages, Reduction, Sums};
use half::{bf16, f16};

/// How an edge weighs features.
const EDGES: [&str; 5] = ["ones", "own values", "edge values", "edge values of 2 heads", "edge values of all heads"];
const REDUCTIONS: [(Reduce, Reduction); 4] =
    [(Reduce::Sum, Reduction::Sum), (Reduce::Mean, Reduction::Mean), (Reduce::Max, Reduction::Max), (Reduce::Min, Reduction::Min)];
const FORMATS: [FormatKind; 3] = [FormatKind::Csr, FormatKind::B2sr8, FormatKind::Hybrid];

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, full: bool) {
    let patterns = patterns();
    // Edge, reduction, transposed, scales (rows, columns), own, width, pattern, operands, spread, format.
    let sizes = [EDGES.len(), 4, 2, 4, 2, WIDTHS.len(), patterns.len(), 2, 2, FORMATS.len()];
    let list = cases(&sizes, false);
    macro_rules! each {
        ($($t:ty)*) => { $(
            for (seed, case) in list.iter().enumerate() {
                let (name, csr) = &patterns[case[6]];
                let what = format!("spmm of {} ({form})", <$t>::DTYPE);
                let says = || format!("{} by {:?}, case {case:?}, {} columns over {name}", EDGES[case[0]], REDUCTIONS[case[1]].0, WIDTHS[case[5]]);
                check(report, &what, says, || one::<B, $t>(backend, csr, case, seed as u64));
            }
        )* };
    }
    each!(f16 bf16 f32 f64 i8 u8 i16 i32);
    stores(report, backend, form, &patterns);
    epilogues(report, backend, form, &patterns, full);
    chosen(report, backend, form, &patterns);
    discretised(report, backend, form, &patterns);
    at_tf32(report, backend, form);
}

fn one<B: TensorBackend, T: Element>(backend: &B, csr: &Csr, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let kind = if case[7] == 1 && T::DTYPE.is_float() { Kind::Fraction } else { Kind::Whole };
    let ((reduce, reduction), transposed, width) = (REDUCTIONS[case[1]], case[2] == 1, WIDTHS[case[5]]);
    let (rows, columns) = if transposed { (csr.ncols(), csr.nrows()) } else { (csr.nrows(), csr.ncols()) };
    let (x, grid) = dense(backend, columns, width, elements::<T>(kind, columns * width, seed))?;
    let x = if case[8] == 1 { spread(&x)? } else { x };
    let heads = match case[0] {
        3 if width % 2 == 0 => 2,
        4 if width > 0 => width.min(8) - (0..8).find(|d| width % (width.min(8) - d) == 0).unwrap_or(0),
        _ => 1,
    };
    let values = elements::<T>(kind, csr.nnz() * heads, seed + 1);
    let a = if case[0] == 1 { weighted(backend, csr, &values, FORMATS[case[9]])? } else { pattern(backend, csr, FORMATS[case[9]])? };
    let mut op: Operation<SparseDense<B, T>> = spmm(&a, &x).reduce(reduce);
    if case[0] >= 2 {
        let e = Dense::from_slice(backend, csr.nnz(), heads, &values)?;
        op = op.edge_values(&if case[8] == 1 { spread(&e)? } else { e });
    }
    if transposed {
        op = op.transpose();
    }
    let (r, c) = (powers::<T::Real>(rows, seed + 2), powers::<T::Real>(columns, seed + 3));
    // Whole sums of integers stay whole without a scale of columns.
    let (scale_rows, scale_columns) = (case[3] % 2 == 1, case[3] / 2 == 1);
    if scale_rows {
        op = op.scale_rows(&Dense::column_vector(backend, r.clone())?);
    }
    if scale_columns {
        op = op.scale_columns(&Dense::column_vector(backend, c.clone())?);
    }
    let own = (case[4] == 1 && rows == columns && !reduce.chooses()).then_some(3.0);
    if let Some(own) = own {
        op = op.own(own);
    }
    let expected = oracle::spmm(
        csr,
        &grid,
        &Messages {
            transposed,
            weight: &|k, h| if case[0] == 0 { 1.0 } else { values[k * heads + h].to_f64() },
            heads,
            rows: &|i| if scale_rows { r[i].to_f64() } else { 1.0 },
            columns: &|j| if scale_columns { c[j].to_f64() } else { 1.0 },
            own,
            reduce: reduction,
        },
    );
    Ok(compared::<T>(&expected, &op.eval()?.to_host()?, kind == Kind::Whole && reduce != Reduce::Mean))
}

/// Exactly where sums are exact, by their bounds elsewhere.
fn compared<T: Element>(expected: &Sums, found: &[T::Output], exact: bool) -> Outcome {
    if exact && T::Output::DTYPE.is_float() {
        // The sum is exact, and rounded once.
        let rounded = expected.values.map(|v, _, _| T::Output::from_f64(v).to_f64());
        return outcome(oracle::compare(&rounded, found, |_| (0.0, 0.0)));
    }
    // Integers are sums in `i32`, or numbers in single precision that are rounded.
    let real = if <T::Real as Scalar>::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
    outcome(expected.compare(found, real, 2.0))
}

/// Every type of features stored as every other.
fn stores<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, patterns: &[super::operands::Named]) {
    let Some((name, csr)) = patterns.iter().find(|(name, _)| name == "kron 8") else { return };
    fn store<B: TensorBackend, T: Element, U: Element>(backend: &B, csr: &Csr) -> Result<Outcome, B::Error> {
        let (x, grid) = dense(backend, csr.ncols(), 33, elements::<T>(Kind::Whole, csr.ncols() * 33, 5))?;
        let a = pattern(backend, csr, FormatKind::Csr)?;
        // The steps go beyond the range of the small types, which saturate.
        let found = spmm(&a, &x).times(0.5).eval_as::<U>()?.to_host()?;
        let one = |_: usize, _: usize| 1.0;
        let plain =
            Messages { transposed: false, weight: &one, heads: 1, rows: &|_| 1.0, columns: &|_| 1.0, own: None, reduce: Reduction::Sum };
        let sums = oracle::spmm(csr, &grid, &plain).values;
        let expected = sums.map(|v, _, _| {
            let half = 0.5 * v;
            if U::DTYPE.is_float() { U::from_f64(half).to_f64() } else { half.round_ties_even() }
        });
        Ok(outcome(oracle::compare(&expected, &found, |_| (0.0, 0.0))))
    }
    macro_rules! every {
        ($($t:ty)*) => { $( every!(@from $t: f16 bf16 f32 f64 i8 u8 i16 i32); )* };
        (@from $t:ty: $($u:ty)*) => { $(
            check(report, &format!("spmm stored ({form})"), || format!("{} as {} over {name}", <$t>::DTYPE, <$u>::DTYPE), || {
                store::<B, $t, $u>(backend, csr)
            });
        )* };
    }
    every!(f16 bf16 f32 f64 i8 u8 i16 i32);
}

/// Epilogues whose every step is exact, in several orders.
fn epilogues<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, patterns: &[super::operands::Named], full: bool) {
    use bitgraph::tensor::{Dropout, Quantise};
    let every = if full { 1 } else { 3 };
    for (k, (name, csr)) in patterns.iter().enumerate().filter(|(k, _)| k % every == 0) {
        for (w, &width) in WIDTHS.iter().enumerate().filter(|(w, _)| (w + k) % every == 0) {
            let says = || format!("{width} columns over {name}");
            let seed = (k * 100 + w) as u64;
            let dropout = Dropout::new(0.5, 99, 3);
            let (rows, columns) = (csr.nrows(), csr.ncols());
            let row = |s: u64| elements::<f32>(Kind::Whole, width, seed + s);
            let run = || {
                let (x, grid) = dense(backend, columns, width, elements::<f32>(Kind::Whole, columns * width, seed))?;
                let (z, other) = dense(backend, rows, width, elements::<f16>(Kind::Whole, rows * width, seed + 1))?;
                let a = pattern(backend, csr, FormatKind::Csr)?;
                let one = |v: Vec<f32>| Dense::row_vector(backend, v);
                let (bias, mean, gamma, beta, t) = (row(2), row(3), powers::<f32>(width, seed), row(4), row(5));
                let d = powers::<f32>(rows, seed + 6);
                let sums = {
                    let ones = |_: usize, _: usize| 1.0;
                    let m = Messages {
                        transposed: false,
                        weight: &ones,
                        heads: 1,
                        rows: &|_| 1.0,
                        columns: &|_| 1.0,
                        own: None,
                        reduce: Reduction::Sum,
                    };
                    oracle::spmm(csr, &grid, &m).values
                };
                let base = || spmm(&a, &x);
                let mut found: Vec<(Grid, Vec<f32>)> = Vec::new();
                let y = base().times_rows(&Dense::column_vector(backend, d.clone())?).bias(&one(bias.clone())?).add(&z).relu();
                let y = y.dropout(dropout).times(2.0).eval()?.to_host()?;
                let expected = sums.map(|v, i, c| {
                    let v = (v * f64::from(d[i]) + f64::from(bias[c]) + other.get(i, c)).max(0.0);
                    2.0 * v * dropout.at(i as u64, c as u32)
                });
                found.push((expected, y));
                let affine = (one(gamma.clone())?, one(beta.clone())?);
                let y = base().batch_norm((&one(mean.clone())?, &one(vec![3.0; width])?), Some((&affine.0, &affine.1)), 1.0);
                let y = y.leaky_relu(0.25).multiply(&z).add_scaled(&z, -0.5).times_columns(&affine.0).eval()?.to_host()?;
                let expected = sums.map(|v, i, c| {
                    let v = (v - f64::from(mean[c])) / 2.0 * f64::from(gamma[c]) + f64::from(beta[c]);
                    let v = if v > 0.0 { v } else { 0.25 * v };
                    (v * other.get(i, c) - 0.5 * other.get(i, c)) * f64::from(gamma[c])
                });
                found.push((expected, y));
                let y = base().add_times_columns(&z, &affine.0).eval()?.to_host()?;
                found.push((sums.map(|v, i, c| v + f64::from(gamma[c]) * other.get(i, c)), y));
                let y = base().threshold(&one(t.clone())?).eval()?.to_host()?;
                found.push((sums.map(|v, _, c| if v >= f64::from(t[c]) { 1.0 } else { -1.0 }), y));
                let y = base().quantise(Quantise { scale: 4.0, zero_point: 8, bits: 4 }).eval()?.to_host()?;
                found.push((sums.map(|v, _, _| ((v / 4.0).round_ties_even() + 8.0).clamp(0.0, 15.0)), y));
                let all = found.iter().map(|(expected, y)| outcome(oracle::compare(expected, y, |_| (0.0, 0.0))));
                Ok::<_, B::Error>(all.into_iter().find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
            };
            check(report, &format!("spmm epilogues ({form})"), says, run);
        }
    }
}

/// The columns that maxima come from: the first of the largest messages.
fn chosen<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, patterns: &[super::operands::Named]) {
    for (k, (name, csr)) in patterns.iter().enumerate() {
        let width = WIDTHS[k % 8];
        let run = || {
            let (x, grid) = dense(backend, csr.ncols(), width, elements::<f32>(Kind::Whole, csr.ncols() * width, k as u64))?;
            let a = pattern(backend, csr, FormatKind::Csr)?;
            let (y, from) = spmm(&a, &x).reduce(Reduce::Max).eval_chosen()?;
            let best = Grid::from_fn(csr.nrows(), width, |i, c| {
                let mut best: Option<u32> = None;
                for &j in csr.row(i) {
                    if best.is_none_or(|b| grid.get(j as usize, c) > grid.get(b as usize, c)) {
                        best = Some(j);
                    }
                }
                best.map_or(-1.0, f64::from)
            });
            let values = best.map(|j, _, c| if j < 0.0 { 0.0 } else { grid.get(j as usize, c) });
            let columns = outcome(oracle::compare(&best, &from.to_host()?, |_| (0.0, 0.0)));
            let values = outcome(oracle::compare(&values, &y.to_host()?, |_| (0.0, 0.0)));
            Ok::<_, B::Error>(if columns == Outcome::Passed { values } else { columns })
        };
        check(report, &format!("spmm chosen ({form})"), || format!("{width} columns over {name}"), run);
    }
}

/// Half sums in batches: within the errors of as many roundings as a batch and the batches have, and finite where the scaled sum is.
fn discretised<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, patterns: &[super::operands::Named]) {
    for (name, csr) in patterns {
        for width in [1, 33, 64] {
            let batch = 32;
            let run = || {
                // Sums of hundreds of these overflow a half; their means do not.
                let wide: Vec<f16> = elements::<f16>(Kind::Fraction, csr.ncols() * width, 3);
                let wide = wide.into_iter().map(|v| f16::from_f32(1000.0 + 500.0 * v.to_f32())).collect();
                let (x, grid) = dense(backend, csr.ncols(), width, wide)?;
                let a = pattern(backend, csr, FormatKind::Csr)?;
                let found = spmm(&a, &x).reduce(Reduce::Mean).accumulation(Accumulation::Discretised { batch }).eval()?.to_host()?;
                let ones = |_: usize, _: usize| 1.0;
                let m = Messages {
                    transposed: false,
                    weight: &ones,
                    heads: 1,
                    rows: &|_| 1.0,
                    columns: &|_| 1.0,
                    own: None,
                    reduce: Reduction::Mean,
                };
                let sums = oracle::spmm(csr, &grid, &m);
                let bound = |k: usize| {
                    let length = sums.lengths[k / width] as f64;
                    let roundings = length.min(f64::from(batch)) + (length / f64::from(batch)).ceil() + 4.0;
                    (roundings * 2f64.powi(-11) * sums.magnitudes.data[k], 2f64.powi(-10))
                };
                Ok::<_, B::Error>(outcome(oracle::compare(&sums.values, &found, bound)))
            };
            check(report, &format!("spmm discretised ({form})"), || format!("{width} columns over {name}"), run);
        }
    }
}

/// Sums of features that may be rounded as tensor cores round `f32`: within the error that is allowed, in rows of every size, and with special
/// values where the features have them.
pub(super) fn at_tf32<B: TensorBackend>(report: &mut Report, backend: &B, form: &str) {
    for (name, csr) in &patterns() {
        for (k, width) in [1, 8, 33, 64, 128, 256, 16, 600].into_iter().enumerate() {
            let run = || tf32::<B>(backend, csr, width, k);
            check(report, &format!("spmm at tf32's error ({form})"), || format!("{width} columns over {name}"), run);
        }
    }
}

fn tf32<B: TensorBackend>(backend: &B, csr: &Csr, width: usize, k: usize) -> Result<Outcome, B::Error> {
    let (transposed, scaled, mean) = (k % 2 == 1, k % 4 > 1, k % 3 == 2);
    let (rows, columns) = if transposed { (csr.ncols(), csr.nrows()) } else { (csr.nrows(), csr.ncols()) };
    let mut x = elements::<f32>(Kind::Fraction, columns * width, k as u64);
    if width > 0 {
        for (i, row) in x.chunks_mut(width).enumerate() {
            // Sizes that halves do not hold, others than most rows', and none.
            let size = [2f32.powi(-120), 2f32.powi(80), 1.0][k % 3] * if i % 5 == 0 { 0.01 } else { 3.0 };
            let size = [1.0, 2f32.powi(-30), 2f32.powi(21), 0.0][if i % 17 < 4 { i % 17 } else { 0 }] * size;
            row.iter_mut().for_each(|v| *v *= size);
            match i % 29 {
                4 => row.fill(2f32.powi(-141)),
                9 => row[0] = f32::INFINITY,
                13 => row[width - 1] = f32::NAN,
                19 => row[width / 2] = f32::NEG_INFINITY,
                _ => {}
            }
        }
    }
    let (x, grid) = dense(backend, columns, width, x)?;
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let (r, c) = (powers::<f32>(rows, 1), elements::<f32>(Kind::Fraction, columns, 2));
    let op = spmm(&a, &x).feature_precision(FeaturePrecision::Tf32).reduce(if mean { Reduce::Mean } else { Reduce::Sum });
    let op = if transposed { op.transpose() } else { op };
    let (row, column) = (Dense::column_vector(backend, r.clone())?, Dense::column_vector(backend, c.clone())?);
    let op = if scaled { op.scale_rows(&row).scale_columns(&column) } else { op };
    let ones = |_: usize, _: usize| 1.0;
    let messages = Messages {
        transposed,
        weight: &ones,
        heads: 1,
        rows: &|i| if scaled { r[i].to_f64() } else { 1.0 },
        columns: &|j| if scaled { c[j].to_f64() } else { 1.0 },
        own: None,
        reduce: if mean { Reduction::Mean } else { Reduction::Sum },
    };
    let expected = oracle::spmm(csr, &grid, &messages);
    let finite = |v: f64| if v.is_finite() { v.abs() } else { 0.0 };
    let sizes: Vec<f64> = (0..columns).map(|j| (0..width).map(|c| finite(grid.get(j, c))).fold(0.0, f64::max)).collect();
    let off = grid.map(|v, j, _| if v.is_finite() { (v.abs() * 2f64.powi(-11)).max(sizes[j] * 2f64.powi(-17)) } else { 0.0 });
    let off = oracle::spmm(csr, &off, &messages);
    let bound = |k: usize| {
        let length = expected.lengths[k / width.max(1)] as f64;
        (off.magnitudes.data[k] + (length + 8.0) * 2f64.powi(-23) * expected.magnitudes.data[k] + 2f64.powi(-140), 2f64.powi(-23))
    };
    // Sums beyond `f32` are infinite.
    let values = expected.values.map(|v, _, _| f64::from(v as f32));
    Ok(outcome(oracle::compare(&values, &op.eval()?.to_host()?, bound)))
}
