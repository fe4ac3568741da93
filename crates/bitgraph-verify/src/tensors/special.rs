//! Special values that stay in their rows, windows of outputs, hubs that do not overflow, and the same numbers twice.

use super::operands::{Kind, dense, elements, pattern, patterns};
use super::{check, outcome};
use crate::{Outcome, Report};
use bitgraph::prelude::{Csr, Dense, FormatKind, dot_attention, map, spmm};
use bitgraph::sparse::Offsets;
use bitgraph::tensor::TensorBackend;
use bitgraph::tensor::ops::Reduce;
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::Grid;
use half::{bf16, f16};

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str) {
    for (name, csr) in patterns().iter().filter(|(_, csr)| csr.ncols() > 20) {
        for (width, reduce) in [(33, Reduce::Sum), (64, Reduce::Max), (7, Reduce::Min), (130, Reduce::Mean), (256, Reduce::Sum)] {
            let says = || format!("{width} columns, {reduce:?}, over {name}");
            check(report, &format!("special values ({form})"), says, || special(backend, csr, width, reduce));
        }
        check(report, &format!("windows ({form})"), || name.clone(), || windows(backend, csr));
        check(report, &format!("the same twice ({form})"), || name.clone(), || twice(backend, csr));
    }
    check(report, &format!("hubs ({form})"), || "100000 neighbours".into(), || hubs(backend));
}

/// Rows that have no entry for a special row are finite; the others are what the sums and choices of numbers give.
fn special<B: TensorBackend>(backend: &B, csr: &Csr, width: usize, reduce: Reduce) -> Result<Outcome, B::Error> {
    let columns = csr.ncols();
    let mut x = elements::<f32>(Kind::Whole, columns * width, 3);
    let special = [(5, f32::NAN), (8, f32::INFINITY), (9, f32::NEG_INFINITY)];
    special.iter().for_each(|&(j, v)| x[j * width..(j + 1) * width].fill(v));
    let (x, grid) = dense(backend, columns, width, x)?;
    let found = spmm(&pattern(backend, csr, FormatKind::Csr)?, &x).reduce(reduce).eval()?.to_host()?;
    let expected = Grid::from_fn(csr.nrows(), width, |i, c| {
        let of = || csr.row(i).iter().map(|&j| grid.get(j as usize, c));
        let choose = |better: fn(f64, f64) -> bool| of().reduce(|a, b| if better(b, a) || (a.is_nan() && !b.is_nan()) { b } else { a });
        match reduce {
            Reduce::Sum => of().sum(),
            Reduce::Mean => of().sum::<f64>() / csr.degree(i).max(1) as f64,
            Reduce::Max => choose(|b, a| b > a).unwrap_or(0.0),
            Reduce::Min => choose(|b, a| b < a).unwrap_or(0.0),
        }
    });
    Ok(outcome(oracle::compare(&expected, &found, |_| (0.0, 1e-6))))
}

/// An output that is some rows and columns of a matrix: the others stay.
fn windows<B: TensorBackend>(backend: &B, csr: &Csr) -> Result<Outcome, B::Error> {
    let (rows, width) = (csr.nrows(), 20);
    let (x, _) = dense(backend, csr.ncols(), width, elements::<f16>(Kind::Whole, csr.ncols() * width, 3))?;
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let wanted = spmm(&a, &x).eval()?.to_host()?;
    let mut y = Dense::<B, f16>::filled(backend, rows, 31, f16::from_f32(-7.0))?;
    let before = y.clone();
    spmm(&a, &x).into(y.columns_mut(4..24)?)?;
    let expected = Grid::from_fn(rows, 31, |i, c| if (4..24).contains(&c) { wanted[i * width + c - 4].to_f64() } else { -7.0 });
    let all = outcome(oracle::compare(&expected, &y.to_host()?, |_| (0.0, 0.0)));
    let untouched = outcome(oracle::compare(&Grid::from_fn(rows, 31, |_, _| -7.0), &before.to_host()?, |_| (0.0, 0.0)));
    let left = y.columns(0..8)?;
    let refused = map(&left).relu().into(y.columns_mut(4..12)?).is_err();
    if !refused {
        return Ok(Outcome::Failed("an operand that shares elements with the output was taken".into()));
    }
    Ok(if all == Outcome::Passed { untouched } else { all })
}

/// The same bits from the same operands.
fn twice<B: TensorBackend>(backend: &B, csr: &Csr) -> Result<Outcome, B::Error> {
    let width = 48;
    let fractions = |rows: usize, seed| dense(backend, rows, width, elements::<f32>(Kind::Fraction, rows * width, seed));
    let ((x, _), (q, _)) = (fractions(csr.ncols(), 3)?, fractions(csr.nrows(), 4)?);
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let bits = |y: Dense<B, f32>| Ok::<_, B::Error>(y.to_host()?.into_iter().map(f32::to_bits).collect::<Vec<_>>());
    let run = || Ok::<_, B::Error>((bits(spmm(&a, &x).eval()?)?, bits(dot_attention(&a, &q, &x, &x, 4).eval()?)?));
    Ok(if run()? == run()? { Outcome::Passed } else { Outcome::Failed("another result from the same operands".into()) })
}

/// A row of so many entries that half sums of it overflow: the scaled result is in range, and a long sum of single precision keeps its bound.
fn hubs<B: TensorBackend>(backend: &B) -> Result<Outcome, B::Error> {
    let n = 100_000u32;
    let csr = Csr::new(2, n as usize, Offsets::from_usizes(&[0, n as usize, n as usize]), (0..n).collect::<Vec<_>>().into());
    let csr = csr.map_err(|e| B::Error::from(bitgraph::backend::Error::from(e)))?;
    let a = pattern(backend, &csr, FormatKind::Csr)?;
    let scale = Dense::filled(backend, 2, 1, 1.0 / n as f32)?;
    let halves = Dense::filled(backend, n as usize, 9, f16::from_f32(100.0))?;
    let y = spmm(&a, &halves).scale_rows(&scale).eval()?.to_host()?;
    let expected = Grid::from_fn(2, 9, |i, _| if i == 0 { 100.0 } else { 0.0 });
    let halves = outcome(oracle::compare(&expected, &y, |_| (0.0, 2f64.powi(-9))));
    let brains = Dense::filled(backend, n as usize, 9, bf16::from_f32(100.0))?;
    let y = spmm(&a, &brains).reduce(Reduce::Mean).eval()?.to_host()?;
    let brains = outcome(oracle::compare(&expected, &y, |_| (0.0, 2f64.powi(-7))));
    let (x, grid) = dense(backend, n as usize, 9, elements::<f32>(Kind::Fraction, n as usize * 9, 5))?;
    let one = |_: usize, _: usize| 1.0;
    let m = oracle::Messages {
        transposed: false,
        weight: &one,
        heads: 1,
        rows: &|_| 1.0,
        columns: &|_| 1.0,
        own: None,
        reduce: oracle::Reduction::Sum,
    };
    let sums = oracle::spmm(&csr, &grid, &m);
    let singles = outcome(sums.compare(&spmm(&a, &x).eval()?.to_host()?, bitgraph::semiring::DType::F32, 1.0));
    Ok([halves, brains, singles].into_iter().find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}
