//! Signs and planes: packing, products and aggregation, each against plain loops over the host's values. All of it is whole numbers or
//! products with powers of two, so that every result is exact.

use super::operands::{Kind, WIDTHS, dense, elements, pattern, patterns, powers, spread};
use super::{check, outcome};
use crate::operations::cases;
use crate::{Outcome, Report};
use bitgraph::prelude::{Csr, Dense, FormatKind};
use bitgraph::semiring::Scalar;
use bitgraph::tensor::bittensor::{Packing, Quantization, Rounding, Step, Steps};
use bitgraph::tensor::ops::{Reconcile, bit_gemm, bit_spmm};
use bitgraph::tensor::{BitOperand, Bits, Element, Planes, Quantise, Signs};
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::Grid;

/// What an operand is stored as.
const STORED: [&str; 5] = ["signs", "signs with scales", "1 plane", "3 planes with steps", "dense"];
/// What a result is stored as.
const RESULTS: [&str; 5] = ["f32", "i32", "signs", "planes", "signs after scale and bias"];
const FORMATS: [FormatKind; 2] = [FormatKind::Csr, FormatKind::B2sr8];

pub(super) fn run<B: Bits>(report: &mut Report, backend: &B, form: &str) {
    // First operand, second operand, result, rows, length, columns, spread.
    let sizes = [STORED.len(), STORED.len(), RESULTS.len(), WIDTHS.len(), WIDTHS.len(), WIDTHS.len(), 2];
    for (seed, case) in cases(&sizes, false).iter().enumerate() {
        if case[0] == 4 && case[1] == 4 {
            continue;
        }
        let shape = (WIDTHS[case[3]], WIDTHS[case[4]], WIDTHS[case[5]]);
        // The oracle is cubic.
        let shape = if shape.0 * shape.1 * shape.2 > 4_000_000 { (shape.0.min(33), shape.1, shape.2.min(64)) } else { shape };
        let says = || format!("{} x {} to {}, {shape:?}", STORED[case[0]], STORED[case[1]], RESULTS[case[2]]);
        check(report, &format!("bit_gemm ({form})"), says, || product(backend, case, shape, seed as u64));
    }
    let patterns = patterns();
    // Features, result, reconciliation, transposed, own, scales, width, pattern, format.
    let sizes = [STORED.len(), RESULTS.len(), 3, 2, 2, 3, WIDTHS.len(), patterns.len(), FORMATS.len()];
    for (seed, case) in cases(&sizes, false).iter().enumerate() {
        let (name, csr) = &patterns[case[7]];
        let says = || format!("{} to {}, case {case:?}, {} columns over {name}", STORED[case[0]], RESULTS[case[1]], WIDTHS[case[6]]);
        check(report, &format!("bit_spmm ({form})"), says, || aggregation(backend, csr, case, seed as u64));
    }
    for (name, csr) in &patterns {
        for width in [1, 33, 64, 512, 602] {
            let says = || format!("{width} columns over {name}");
            check(report, &format!("counts as planes ({form})"), says, || counts(backend, csr, width));
        }
    }
}

/// An operand, and its values.
fn operand<B: Bits>(
    backend: &B,
    stored: usize,
    (rows, columns): (usize, usize),
    packing: Packing,
    spreads: bool,
    seed: u64,
) -> Result<(BitOperand<B>, Grid), B::Error> {
    let (x, grid) = dense(backend, rows, columns, elements::<f32>(Kind::Whole, rows * columns, seed))?;
    let x = if spreads { spread(&x)? } else { x };
    let sign = |v: f64| if v >= 0.0 { 1.0 } else { -1.0 };
    Ok(match stored {
        0 => (BitOperand::Signs(x.sign(packing)?), grid.map(|v, _, _| sign(v))),
        1 => {
            let outer = if packing == Packing::Rows { rows } else { columns };
            let d = powers::<f32>(outer, seed + 1);
            let signs = x.sign(packing)?;
            let signs = match packing {
                Packing::Rows => signs.with_row_scales(&Dense::column_vector(backend, d.clone())?)?,
                Packing::Columns => signs.with_column_scales(&Dense::row_vector(backend, d.clone())?)?,
            };
            let values = grid.map(|v, i, c| sign(v) * f64::from(d[if packing == Packing::Rows { i } else { c }]));
            (BitOperand::Signs(signs), values)
        }
        2 => {
            let (planes, values) = codes(&x, &grid, 1, Step::UNIT, packing)?;
            (BitOperand::Planes(planes), values)
        }
        3 => {
            let (planes, values) = codes(&x, &grid, 3, Step { scale: 0.5, zero: 2.0 }, packing)?;
            (BitOperand::Planes(planes), values)
        }
        _ => (BitOperand::from(&x), grid),
    })
}

fn codes<B: Bits>(x: &Dense<B, f32>, grid: &Grid, bits: u32, step: Step, packing: Packing) -> Result<(Planes<B>, Grid), B::Error> {
    let q = Quantization::new(bits, Rounding::Nearest, Steps::Tensor(step)).expect("a width and a step that are possible");
    let top = f64::from((1u32 << bits) - 1);
    let (scale, zero) = (f64::from(step.scale), f64::from(step.zero));
    let value = |v: f64| ((v / scale + zero).clamp(0.0, top) + 0.5).floor().min(top);
    Ok((x.quantize(&q, packing)?, grid.map(|v, _, _| scale * (value(v) - zero))))
}

/// Compares a result with what it should be, stored as `result` says.
fn stored<B: Bits, F>(
    backend: &B,
    op: bitgraph::tensor::ops::Operation<F>,
    result: usize,
    expected: &Grid,
    seed: u64,
) -> Result<Outcome, B::Error>
where
    F: bitgraph::tensor::ops::BitComputation<Backend = B, Real = f32, Output = f32>,
{
    fn exact<T: Element>(expected: &Grid, found: &[T]) -> Outcome {
        outcome(oracle::compare(expected, found, |_| (0.0, 0.0)))
    }
    let sign = |v: f64| if v >= 0.0 { 1.0 } else { -1.0 };
    let values = |y: Signs<B>| y.to_dense()?.to_host();
    Ok(match result {
        0 => exact(expected, &op.eval()?.to_host()?),
        1 => exact(&expected.map(|v, _, _| v.round_ties_even()), &op.eval_as::<i32>()?.to_host()?),
        2 => exact(&expected.map(|v, _, _| sign(v)), &values(op.eval_signs()?)?),
        3 => {
            let q = Quantise { scale: 2.0, zero_point: 5, bits: 4 };
            let wanted = expected.map(|v, _, _| 2.0 * (q.level(v) - 5.0));
            exact(&wanted, &op.eval_planes(q)?.to_dense()?.to_host()?)
        }
        _ => {
            let (d, b) = (powers::<f32>(expected.rows, seed + 5), elements::<f32>(Kind::Whole, expected.columns, seed + 6));
            let (scale, bias) = (Dense::column_vector(backend, d.clone())?, Dense::row_vector(backend, b.clone())?);
            let wanted = expected.map(|v, i, c| sign(v * f64::from(d[i]) + f64::from(b[c])));
            exact(&wanted, &values(op.times_rows(&scale).bias(&bias).eval_signs()?)?)
        }
    })
}

fn product<B: Bits>(backend: &B, case: &[usize], (rows, length, columns): (usize, usize, usize), seed: u64) -> Result<Outcome, B::Error> {
    let (a, x) = operand(backend, case[0], (rows, length), Packing::Rows, case[6] == 1, 3 * seed)?;
    let (b, w) = operand(backend, case[1], (length, columns), Packing::Columns, case[6] == 1, 3 * seed + 1)?;
    let expected = Grid::from_fn(rows, columns, |i, c| (0..length).map(|k| x.get(i, k) * w.get(k, c)).sum());
    stored(backend, bit_gemm(a, b), case[2], &expected, seed)
}

fn aggregation<B: Bits>(backend: &B, csr: &Csr, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let (transposed, width) = (case[3] == 1, WIDTHS[case[6]]);
    let (rows, inner) = if transposed { (csr.ncols(), csr.nrows()) } else { (csr.nrows(), csr.ncols()) };
    let own = case[4] == 1 && rows == inner;
    let (features, x) = operand(backend, case[0], (inner, width), Packing::Rows, case[4] == 1, 5 * seed)?;
    let a = pattern(backend, csr, FORMATS[case[8]])?;
    let mut op = bit_spmm(&a, features).reconcile(Reconcile::ALL[case[2]]);
    op = if transposed { op.transpose() } else { op };
    op = if own { op.own() } else { op };
    let (r, c) = (powers::<f32>(rows, seed + 2), powers::<f32>(inner, seed + 3));
    if case[5] >= 1 {
        op = op.scale_rows(&Dense::column_vector(backend, r.clone())?);
    }
    if case[5] == 2 {
        op = op.scale_columns(&Dense::column_vector(backend, c.clone())?);
    }
    let message = |j: usize, k: usize| x.get(j, k) * if case[5] == 2 { c[j].to_f64() } else { 1.0 };
    let mut sums = vec![0.0; rows * width];
    for i in 0..csr.nrows() {
        for &j in csr.row(i) {
            let (i, j) = if transposed { (j as usize, i) } else { (i, j as usize) };
            (0..width).for_each(|k| sums[i * width + k] += message(j, k));
        }
    }
    let expected = Grid::from_fn(rows, width, |i, k| {
        let sum = sums[i * width + k] + if own { message(i, k) } else { 0.0 };
        sum * if case[5] >= 1 { r[i].to_f64() } else { 1.0 }
    });
    stored(backend, op, case[1], &expected, seed)
}

/// Counts are the sums of signs, as codes around half of each row's entries; a row of more is refused.
fn counts<B: Bits>(backend: &B, csr: &Csr, width: usize) -> Result<Outcome, B::Error> {
    let (x, grid) = operand(backend, 0, (csr.ncols(), width), Packing::Rows, false, 9)?;
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let found = bit_spmm(&a, x.clone()).eval_counts(12)?.to_dense()?.to_host()?;
    let expected = Grid::from_fn(csr.nrows(), width, |i, k| csr.row(i).iter().map(|&j| grid.get(j as usize, k)).sum());
    let most = (0..csr.nrows()).map(|i| csr.degree(i)).max().unwrap_or(0);
    if most >= 2 && bit_spmm(&a, x).eval_counts(1).is_ok() {
        return Ok(Outcome::Failed(format!("{most} messages were counted in one bit")));
    }
    Ok(outcome(oracle::compare(&expected, &found, |_| (0.0, 0.0))))
}
