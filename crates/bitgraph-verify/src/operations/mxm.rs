//! mxm and its reduced form over the semirings, each over an integer and a float type.

use super::{Accumulator, Manner, PRODUCTS, cases, format_of, mask_of, matrix_of};
use crate::{Outcome, Report};
use bitgraph::backend::{Mxm, StorableSemiring};
use bitgraph::prelude::{Cpu, Cuda, mxm, mxm_reduce};
use bitgraph::semiring::{
    AnyPair, AnySecond, LorLand, MaxMin, MaxPlus, MaxTimes, MinFirst, MinPlus, MinSecond, MinTimes, PlusFirst, PlusPair, PlusSecond,
    PlusTimes, Scalar,
};
use bitgraph_testkit::mimic;
use bitgraph_testkit::{MimicMatrix, cases as operands};

/// Rows, inner dimension, columns, density.
const SHAPES: [(usize, usize, usize, f64); 6] =
    [(0, 3, 2, 0.5), (1, 1, 1, 1.0), (9, 7, 11, 0.4), (33, 20, 16, 0.15), (17, 40, 33, 0.3), (8, 32, 8, 0.0)];

/// The products of matrices of a backend over every semiring; a trait for the reason of [`Products`](super::mxv::Products).
pub trait MatrixProducts {
    /// Runs the suite of matrix products.
    fn verify_mxm(&self, report: &mut Report, form: &str, full: bool);
}

macro_rules! each {
    ($report:ident, $backend:ident, $form:ident, $list:ident, $($s:ident)*) => { $(
        one::<_, $s<i32>>($report, $backend, $form, &$list);
        one::<_, $s<f32>>($report, $backend, $form, &$list);
    )* };
}
macro_rules! products {
    ($($backend:ty)*) => { $(
        impl MatrixProducts for $backend {
            fn verify_mxm(&self, report: &mut Report, form: &str, full: bool) {
                // Format, mask, replace, transposes, patterns, shape, accumulator.
                let list = cases(&[6, 5, 2, 2, 2, 4, SHAPES.len(), 2], full);
                each!(report, self, form, list, PlusTimes PlusFirst PlusSecond PlusPair MinPlus MaxPlus MinTimes MaxTimes MinFirst
                    MinSecond MaxMin AnySecond AnyPair);
                one::<_, PlusPair<u64>>(report, self, form, &list);
                one::<_, LorLand<bool>>(report, self, form, &list);
                one::<_, AnyPair<bool>>(report, self, form, &list);
            }
        }
    )* };
}
products!(Cpu Cuda);

fn one<B: Mxm<S>, S: StorableSemiring>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    let what = format!("mxm {} {} ({form})", S::NAME, S::Out::DTYPE);
    for (seed, case) in list.iter().enumerate() {
        let outcome = check::<B, S>(backend, case, seed as u64).unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(PRODUCTS, &what, || format!("case {case:?}, shape {:?}", SHAPES[case[6]]), outcome);
    }
}

fn operand<T: Scalar>(rows: usize, columns: usize, density: f64, seed: u64, pattern: bool) -> MimicMatrix<T> {
    let mut a = operands::matrix::<T>(rows, columns, density, seed);
    if pattern {
        a.entries.iter_mut().flatten().for_each(|v| *v = T::ONE);
    }
    a
}

fn check<B: Mxm<S>, S: StorableSemiring>(backend: &B, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let (rows, inner, columns, density) = SHAPES[case[6]];
    let (transpose_a, transpose_b) = (case[3] == 1, case[4] == 1);
    let (pattern_a, pattern_b) = (case[5] & 1 == 1, case[5] & 2 == 2);
    let flip = |(r, c): (usize, usize), t: bool| if t { (c, r) } else { (r, c) };
    let (ar, ac) = flip((rows, inner), transpose_a);
    let (br, bc) = flip((inner, columns), transpose_b);
    let a = operand::<S::A>(ar, ac, density, seed, pattern_a);
    let b = operand::<S::X>(br, bc, density, seed + 1, pattern_b);
    let c = operands::matrix::<S::Out>(rows, columns, 0.4, seed + 2);
    let mask = operands::matrix::<bool>(rows, columns, 0.4, seed + 3);
    let accumulator = if case[7] == 1 { Accumulator::Minus } else { Accumulator::None };
    let manner = Manner { mode: mask_of(case[1]), replace: case[2] == 1, accumulator };
    let selection = manner.mode.map(|m| mask.mask(m));
    let (seen_a, seen_b) = (if transpose_a { a.transposed() } else { a.clone() }, if transpose_b { b.transposed() } else { b.clone() });
    let t = mimic::mxm(S::default(), &seen_a, &seen_b);
    let reduced = mimic::mxm_reduce(selection.as_ref(), S::default(), &seen_a, &seen_b);

    let format = format_of(case[0]);
    let (left, right) = (matrix_of(backend, &a, pattern_a, format)?, matrix_of(backend, &b, pattern_b, format)?);
    let mask = matrix_of(backend, &mask, false, format)?;
    let mut output = matrix_of(backend, &c, false, format)?;
    let make = || {
        let product = mxm(S::default(), &left, &right);
        let product = if transpose_a { product.transpose_a() } else { product };
        if transpose_b { product.transpose_b() } else { product }
    };
    let outcome = manner.compare_matrices(make, (&mask, selection.as_ref()), &mut output, (&c, &t))?;
    let sum = manner.masked(mxm_reduce(S::default(), &left, &right), &mask);
    let sum = if transpose_a { sum.transpose_a() } else { sum };
    let sum = if transpose_b { sum.transpose_b() } else { sum }.eval()?.read()?;
    if outcome == Outcome::Passed && sum != reduced {
        return Ok(Outcome::Failed(format!("reduced to {sum:?}, expected {reduced:?}")));
    }
    Ok(outcome)
}
