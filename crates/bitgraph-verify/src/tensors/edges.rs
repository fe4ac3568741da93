//! Values for entries: products, softmax, reductions back to rows.

use super::operands::{Kind, WIDTHS, dense, elements, pattern, patterns, powers, spread};
use super::{check, outcome};
use crate::operations::cases;
use crate::{Outcome, Report};
use bitgraph::prelude::{Csr, Dense, FormatKind, edge_softmax, sddmm};
use bitgraph::semiring::{DType, Scalar};
use bitgraph::tensor::ops::{Pairing, Reduce, edge_reduce, edge_softmax_backward};
use bitgraph::tensor::{Activation, Element, TensorBackend};
use bitgraph_testkit::tensor as oracle;
use bitgraph_testkit::tensor::{Grid, entries};
use half::{bf16, f16};

pub(super) fn run<B: TensorBackend>(report: &mut Report, backend: &B, form: &str, _full: bool) {
    let patterns = patterns();
    // Pairing, heads, scales, values of entries, activation, width, pattern, operands, spread.
    let list = cases(&[3, 4, 4, 3, 2, WIDTHS.len(), patterns.len(), 2, 2], false);
    macro_rules! each {
        ($($t:ty)*) => { $(
            for (seed, case) in list.iter().enumerate() {
                let (name, csr) = &patterns[case[6]];
                let says = || format!("case {case:?}, {} columns over {name}", WIDTHS[case[5]]);
                check(report, &format!("sddmm of {} ({form})", <$t>::DTYPE), says, || one::<B, $t>(backend, csr, case, seed as u64));
            }
        )* };
    }
    each!(f16 bf16 f32 f64 i8 u8 i16 i32);
    for (k, (name, csr)) in patterns.iter().enumerate() {
        for heads in [1, 3, 8] {
            let says = || format!("{heads} heads over {name}");
            check(report, &format!("edge_softmax ({form})"), says, || softmax::<B, f32>(backend, csr, heads, k as u64));
            check(report, &format!("edge_softmax ({form})"), says, || softmax::<B, f64>(backend, csr, heads, k as u64));
            check(report, &format!("edge_softmax ({form})"), says, || softmax::<B, f16>(backend, csr, heads, k as u64));
            check(report, &format!("edge_reduce ({form})"), says, || reduced(backend, csr, heads, k as u64));
        }
    }
}

fn one<B: TensorBackend, T: Element>(backend: &B, csr: &Csr, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let kind = if case[7] == 1 && T::DTYPE.is_float() { Kind::Fraction } else { Kind::Whole };
    let (width, pairing) = (WIDTHS[case[5]], [Pairing::Dot, Pairing::Add, Pairing::Multiply][case[0]]);
    let heads = match (pairing, [1, 2, 4, 8][case[1]]) {
        (Pairing::Dot, heads) if width % heads == 0 => heads,
        (Pairing::Dot, _) => 1,
        _ => width,
    };
    let (x, left) = dense(backend, csr.nrows(), width, elements::<T>(kind, csr.nrows() * width, seed))?;
    let (y, right) = dense(backend, csr.ncols(), width, elements::<T>(kind, csr.ncols() * width, seed + 1))?;
    let y = if case[8] == 1 { spread(&y)? } else { y };
    let (r, c) = (powers::<T::Real>(csr.nrows(), seed + 2), powers::<T::Real>(csr.ncols(), seed + 3));
    let values = elements::<T>(Kind::Whole, csr.nnz() * heads.max(1), seed + 4);
    let of_entries = if case[3] == 2 { heads } else { 1 };
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let mut op = sddmm(&a, &x, &y).heads(heads).pairing(pairing).factor(0.5);
    if case[2] % 2 == 1 {
        op = op.scale_rows(&Dense::column_vector(backend, r.clone())?);
    }
    if case[2] / 2 == 1 {
        op = op.scale_columns(&Dense::column_vector(backend, c.clone())?);
    }
    if case[3] > 0 && of_entries > 0 {
        op = op.edge_values(&Dense::from_slice(backend, csr.nnz(), of_entries, &values[..csr.nnz() * of_entries])?);
    }
    if case[4] == 1 {
        op = op.activation(Activation::LeakyRelu { slope: 0.25 });
    }
    let mut expected = match pairing {
        Pairing::Dot => oracle::sddmm(csr, &left, &right, heads),
        _ => {
            let mut sums = oracle::Sums::zeros(csr.nnz(), heads);
            for (i, j, k) in entries(csr, false) {
                for h in 0..heads {
                    let (u, v) = (left.get(i, h), right.get(j, h));
                    *sums.values.at(k, h) = if pairing == Pairing::Add { u + v } else { u * v };
                    *sums.magnitudes.at(k, h) = if pairing == Pairing::Add { u.abs() + v.abs() } else { (u * v).abs() };
                }
            }
            sums.lengths.fill(2);
            sums
        }
    };
    for (i, j, k) in entries(csr, false) {
        for h in 0..heads {
            let rows = if case[2] % 2 == 1 { r[i].to_f64() } else { 1.0 };
            let columns = if case[2] / 2 == 1 { c[j].to_f64() } else { 1.0 };
            let weight = if case[3] == 0 { 1.0 } else { values[k * of_entries + if of_entries == 1 { 0 } else { h }].to_f64() };
            let factor = 0.5 * rows * columns * weight;
            let v = factor * expected.values.get(k, h);
            *expected.values.at(k, h) = if case[4] == 1 && v <= 0.0 { 0.25 * v } else { v };
            *expected.magnitudes.at(k, h) *= factor.abs();
        }
    }
    let found = op.eval()?.to_host()?;
    if kind == Kind::Whole {
        let float = T::Output::DTYPE.is_float();
        let rounded = expected.values.map(|v, _, _| if float { T::Output::from_f64(v).to_f64() } else { v.round_ties_even() });
        return Ok(outcome(oracle::compare(&rounded, &found, |_| (0.0, 0.0))));
    }
    let sums = if T::DTYPE == DType::F64 { DType::F64 } else { DType::F32 };
    Ok(outcome(expected.compare(&found, sums, 2.0)))
}

/// Softmax and its gradient: an exponential errs by a few units for each unit of its argument, a sum by one for each term.
fn softmax<B: TensorBackend, T: Element>(backend: &B, csr: &Csr, heads: usize, seed: u64) -> Result<Outcome, B::Error> {
    let (s, scores) = dense(backend, csr.nnz(), heads, elements::<T>(Kind::Whole, csr.nnz() * heads, seed))?;
    let (d, dp) = dense(backend, csr.nnz(), heads, elements::<T>(Kind::Whole, csr.nnz() * heads, seed + 1))?;
    let a = pattern(backend, csr, FormatKind::Csr)?;
    let found = edge_softmax(&a, &spread(&s)?)?;
    let expected = oracle::softmax(csr, &scores);
    let (unit, stored) = match T::DTYPE {
        DType::F64 => (2f64.powi(-53), 2f64.powi(-53)),
        DType::F16 => (2f64.powi(-24), 2f64.powi(-11)),
        _ => (2f64.powi(-24), 2f64.powi(-24)),
    };
    let step = if T::DTYPE == DType::F16 { 2f64.powi(-24) } else { 0.0 };
    let longest = (0..csr.nrows()).map(|i| csr.degree(i)).max().unwrap_or(0) as f64;
    let relative = (longest + 40.0) * unit + 2.0 * stored;
    let forward = outcome(oracle::compare(&expected, &found.to_host()?, |_| (step, relative)));
    if forward != Outcome::Passed {
        return Ok(forward);
    }
    // From what was found, so that its rounding does not count twice.
    let kept = found.to_host()?;
    let p = Grid::of(csr.nnz(), heads, &kept);
    let mut ds = Grid::zeros(csr.nnz(), heads);
    let mut magnitudes = ds.clone();
    for i in 0..csr.nrows() {
        for h in 0..heads {
            let sum = |f: &dyn Fn(usize) -> f64| csr.row_range(i).map(f).sum::<f64>();
            let (mean, size) = (sum(&|k| p.get(k, h) * dp.get(k, h)), sum(&|k| (p.get(k, h) * dp.get(k, h)).abs()));
            for k in csr.row_range(i) {
                *ds.at(k, h) = p.get(k, h) * (dp.get(k, h) - mean);
                *magnitudes.at(k, h) = p.get(k, h) * (dp.get(k, h).abs() + size);
            }
        }
    }
    let typed: Dense<B, T::Output> = Dense::from_vec(backend, csr.nnz(), heads, d.to_host()?.iter().map(|v| v.cast()).collect())?;
    let found = edge_softmax_backward(&a, &found, &typed)?.to_host()?;
    let bound = |k: usize| (step + (longest + 8.0) * 2.0 * unit * magnitudes.data[k], 2.0 * stored);
    Ok(outcome(oracle::compare(&ds, &found, bound)))
}

fn reduced<B: TensorBackend>(backend: &B, csr: &Csr, columns: usize, seed: u64) -> Result<Outcome, B::Error> {
    let (e, values) = dense(backend, csr.nnz(), columns, elements::<f32>(Kind::Whole, csr.nnz() * columns, seed))?;
    let a = pattern(backend, csr, FormatKind::Csr)?;
    for (reduce, transposed) in [(Reduce::Sum, false), (Reduce::Mean, true), (Reduce::Max, false), (Reduce::Min, true), (Reduce::Sum, true)]
    {
        let rows = if transposed { csr.ncols() } else { csr.nrows() };
        let mut all: Vec<Vec<usize>> = vec![Vec::new(); rows];
        entries(csr, transposed).into_iter().for_each(|(i, _, k)| all[i].push(k));
        let expected = Grid::from_fn(rows, columns, |i, c| {
            let of = || all[i].iter().map(|&k| values.get(k, c));
            match reduce {
                Reduce::Sum => of().sum(),
                Reduce::Mean => of().sum::<f64>() / all[i].len().max(1) as f64,
                Reduce::Max => of().reduce(f64::max).unwrap_or(0.0),
                Reduce::Min => of().reduce(f64::min).unwrap_or(0.0),
            }
        });
        let found = edge_reduce(&a, transposed, &spread(&e)?, reduce)?.to_host()?;
        let compared = outcome(oracle::compare(&expected, &found, |_| (0.0, if reduce == Reduce::Mean { 1e-6 } else { 0.0 })));
        if compared != Outcome::Passed {
            return Ok(compared);
        }
    }
    Ok(Outcome::Passed)
}
