//! Dense products, and operations over dense matrices alone.

use super::operands::{Kind, dense, elements, spread};
use super::{check, outcome};
use crate::operations::cases;
use crate::{Outcome, Report};
use bitgraph::prelude::{Activation, Dense, Dropout, cross_entropy, gemm, log_softmax, map};
use bitgraph::semiring::{DType, Scalar};
use bitgraph::tensor::ops::{argmax_rows, batch_norm, concat, cross_entropy_with_gradient, dot_columns, moments, sum_columns};
use bitgraph::tensor::{Element, TensorBackend};
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::Grid;
use half::{bf16, f16};

/// Rows, columns, length of the sums.
const SIZES: [(usize, usize, usize); 14] = [
    (0, 3, 4),
    (3, 0, 4),
    (3, 4, 0),
    (1, 1, 1),
    (7, 9, 5),
    (33, 64, 31),
    (127, 17, 129),
    (64, 7, 602),
    (1, 100, 40),
    (100, 1, 40),
    (65, 128, 64),
    (5, 6, 20_000),
    (700, 16, 16),
    (16, 64, 5000),
];

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, full: bool) {
    // Size, transposes, operands, epilogue, spread.
    let list = cases(&[SIZES.len(), 4, 2, 2, 2], full);
    macro_rules! each {
        ($($t:ty)*) => { $(
            for (seed, case) in list.iter().enumerate() {
                let says = || format!("{:?}, case {case:?}", SIZES[case[0]]);
                check(report, &format!("gemm of {} ({form})", <$t>::DTYPE), says, || product::<B, $t>(backend, case, seed as u64));
            }
        )* };
    }
    each!(f16 bf16 f32 f64 i8 i32);
    for (rows, columns) in [(0, 5), (5, 0), (1, 1), (300, 33), (1000, 64), (3, 602), (700, 7)] {
        let says = || format!("{rows} x {columns}");
        check(report, &format!("maps ({form})"), says, || maps(backend, rows, columns));
        check(report, &format!("statistics ({form})"), says, || statistics::<B, f32>(backend, rows, columns));
        check(report, &format!("statistics ({form})"), says, || statistics::<B, f64>(backend, rows, columns));
        check(report, &format!("statistics ({form})"), says, || statistics::<B, f16>(backend, rows, columns));
        check(report, &format!("losses ({form})"), says, || losses(backend, rows, columns));
    }
}

fn product<B: TensorBackend, T: Element>(backend: &B, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let ((rows, columns, length), ta, tb) = (SIZES[case[0]], case[1] % 2 == 1, case[1] / 2 == 1);
    let kind = if case[2] == 1 && T::DTYPE.is_float() { Kind::Fraction } else { Kind::Whole };
    let shape = |transposed, r, c| if transposed { (c, r) } else { (r, c) };
    let ((ar, ac), (br, bc)) = (shape(ta, rows, length), shape(tb, length, columns));
    let (a, first) = dense(backend, ar, ac, elements::<T>(kind, ar * ac, seed))?;
    let (b, second) = dense(backend, br, bc, elements::<T>(kind, br * bc, seed + 1))?;
    let mut op = gemm(&if case[4] == 1 { spread(&a)? } else { a }, &b);
    op = if ta { op.transpose_a() } else { op };
    op = if tb { op.transpose_b() } else { op };
    let mut expected = oracle::gemm(&first, ta, &second, tb);
    if case[3] == 1 {
        let bias = elements::<T::Real>(Kind::Whole, columns, seed + 2);
        op = op.bias(&Dense::row_vector(backend, bias.clone())?).relu();
        expected.values = expected.values.map(|v, _, c| (v + bias[c].to_f64()).max(0.0));
        expected.magnitudes = expected.magnitudes.map(|v, _, c| v + bias[c].to_f64().abs());
    }
    let found = op.eval()?.to_host()?;
    if kind == Kind::Whole {
        let rounded = expected.values.map(|v, _, _| T::Output::from_f64(v).to_f64());
        return Ok(outcome(oracle::compare(&rounded, &found, |_| (0.0, 0.0))));
    }
    Ok(outcome(expected.compare(&found, if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 }, 2.0)))
}

fn maps<B: TensorBackend>(backend: &B, rows: usize, columns: usize) -> Result<Outcome, B::Error> {
    let (x, grid) = dense(backend, rows, columns, elements::<f32>(Kind::Whole, rows * columns, 1))?;
    let (z, other) = dense(backend, rows, columns, elements::<f32>(Kind::Whole, rows * columns, 2))?;
    let x = spread(&x)?;
    let (dropout, near) = (Dropout::new(0.3, 11, 5), 4.0 * 2f64.powi(-24));
    let mut all = Vec::new();
    let kept = map(&x).dropout(dropout).eval()?.to_host()?;
    all.push(oracle::compare(&grid.map(|v, i, c| v * dropout.at(i as u64, c as u32)), &kept, |_| (0.0, near)));
    let elu = Activation::Elu { alpha: 1.5 };
    all.push(oracle::compare(&grid.map(|v, _, _| elu.apply(v)), &map(&x).elu(1.5).eval()?.to_host()?, |_| (near, near)));
    let found = map(&x).activation_gradient(elu, &z).eval()?.to_host()?;
    all.push(oracle::compare(&grid.map(|v, i, c| v * elu.derivative(other.get(i, c))), &found, |_| (near, near)));
    all.push(oracle::compare(&grid, &map(&x).eval_as::<i8>()?.to_host()?, |_| (0.0, 0.0)));
    all.push(oracle::compare(
        &grid.map(|v, _, _| (100.0 * v).clamp(-128.0, 127.0)),
        &map(&x).times(100.0).eval_as::<i8>()?.to_host()?,
        |_| (0.0, 0.0),
    ));
    let both = concat(&[&x, &z])?.to_host()?;
    let side = Grid::from_fn(rows, 2 * columns, |i, c| if c < columns { grid.get(i, c) } else { other.get(i, c - columns) });
    all.push(oracle::compare(&side, &both, |_| (0.0, 0.0)));
    let best = Grid::from_fn(rows, 1, |i, _| {
        (0..columns).reduce(|a, b| if grid.get(i, b) > grid.get(i, a) { b } else { a }).map_or(-1.0, |c| c as f64)
    });
    all.push(oracle::compare(&best, &argmax_rows(&x)?.to_host()?, |_| (0.0, 0.0)));
    Ok(all.into_iter().map(outcome).find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}

/// Sums of columns, moments, batch norm.
fn statistics<B: TensorBackend, T: Element>(backend: &B, rows: usize, columns: usize) -> Result<Outcome, B::Error> {
    let (x, grid) = dense(backend, rows, columns, elements::<T>(Kind::Fraction, rows * columns, 3))?;
    let (unit, stored) = match T::DTYPE {
        DType::F64 => (2f64.powi(-53), 2f64.powi(-53)),
        DType::F16 => (2f64.powi(-24), 2f64.powi(-11)),
        _ => (2f64.powi(-24), 2f64.powi(-24)),
    };
    let n = rows.max(1) as f64;
    let column = |c: usize, f: &dyn Fn(f64) -> f64| (0..rows).map(|i| f(grid.get(i, c))).sum::<f64>();
    let sums = Grid::from_fn(1, columns, |_, c| column(c, &|v| v));
    let squares = Grid::from_fn(1, columns, |_, c| column(c, &|v| v * v));
    let mean = sums.map(|v, _, _| v / n);
    let variance = Grid::from_fn(1, columns, |_, c| column(c, &|v| (v - mean.get(0, c)).powi(2)) / n);
    let (m, v) = moments(&spread(&x)?)?;
    let error = 4.0 * (n + 2.0) * unit;
    let mut all = vec![
        oracle::compare(&sums, &sum_columns(&x)?.to_host()?, |_| (error * n, 0.0)),
        oracle::compare(&squares, &dot_columns(&spread(&x)?, &x)?.to_host()?, |_| (error * n, 0.0)),
        oracle::compare(&mean, &m.to_host()?, |_| (error, 0.0)),
        oracle::compare(&variance, &v.to_host()?, |_| (error, 8.0 * unit)),
    ];
    let normal = batch_norm(&x, None, 0.1)?.y.to_host()?;
    let expected = grid.map(|v, _, c| (v - mean.get(0, c)) / (variance.get(0, c) + 0.1).sqrt());
    all.push(oracle::compare(&expected, &normal, |_| (16.0 * error, 4.0 * stored + 16.0 * unit)));
    Ok(all.into_iter().map(outcome).find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}

fn losses<B: TensorBackend>(backend: &B, rows: usize, columns: usize) -> Result<Outcome, B::Error> {
    let (x, grid) = dense(backend, rows, columns, elements::<f32>(Kind::Whole, rows * columns, 4))?;
    let near = (columns as f64 + 40.0) * 2f64.powi(-24);
    let log = Grid::from_fn(rows, columns, |i, c| {
        let max = (0..columns).map(|c| grid.get(i, c)).fold(f64::NEG_INFINITY, f64::max);
        grid.get(i, c) - max - (0..columns).map(|c| (grid.get(i, c) - max).exp()).sum::<f64>().ln()
    });
    let mut all = vec![oracle::compare(&log, &log_softmax(&spread(&x)?)?.to_host()?, |_| (8.0 * near, near))];
    let class = |i: usize| if columns == 0 || i % 3 == 1 { -1 } else { (i % columns) as i32 };
    let labels = Dense::column_vector(backend, (0..rows).map(class).collect())?;
    let taking: Vec<(usize, usize)> = (0..rows).filter(|&i| class(i) >= 0).map(|i| (i, class(i) as usize)).collect();
    let n = taking.len().max(1) as f64;
    let loss = -taking.iter().map(|&(i, c)| log.get(i, c)).sum::<f64>() / n;
    let (found, gradient) = cross_entropy_with_gradient(&x, &labels, 2.0)?;
    let expected = Grid { rows: 1, columns: 1, data: vec![loss] };
    let bound = (n + 40.0 + columns as f64) * 2f64.powi(-24) * 20.0;
    all.push(oracle::compare(&expected, &found.to_host()?, |_| (bound, 0.0)));
    all.push(oracle::compare(&expected, &cross_entropy(&x, &labels)?.to_host()?, |_| (bound, 0.0)));
    let dx = Grid::from_fn(rows, columns, |i, c| match class(i) {
        label if label < 0 => 0.0,
        label => 2.0 * (log.get(i, c).exp() - if label as usize == c { 1.0 } else { 0.0 }) / n,
    });
    all.push(oracle::compare(&dx, &gradient.to_host()?, |_| (16.0 * near / n, 16.0 * near)));
    Ok(all.into_iter().map(outcome).find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}
