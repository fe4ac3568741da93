//! The matrix operations over types of every kind and every format.

use super::{RING, cases, compare_matrix, compare_vector, format_of, mask_of};
use crate::{Outcome, Report};
use bitgraph::backend::ops::{
    apply_matrix, assign_matrix, ewise_add_matrix, ewise_mult_matrix, extract_matrix, kronecker, reduce_matrix, reduce_rows, select_matrix,
    transpose,
};
use bitgraph::backend::{Accum, Accumulate, MatrixMask, MatrixOps, NoAccum, VectorMask};
use bitgraph::semiring::{AdditiveInverse, Any, Lor, Max, Min, Minus, Plus, Times, Tril};
use bitgraph::sparse::{Descriptor, Stored};
use bitgraph_testkit::mimic::{self, accumulate};
use bitgraph_testkit::{MimicMatrix, cases as operands};
use half::f16;

const OPERATIONS: [&str; 10] =
    ["ewise_add", "ewise_mult", "apply", "select", "reduce", "reduce_rows", "extract", "assign", "transpose", "kronecker"];
const SHAPES: [(usize, usize); 6] = [(0, 3), (1, 1), (9, 14), (33, 33), (40, 20), (5, 65)];

pub(super) fn run<B: MatrixOps>(report: &mut Report, backend: &B, form: &str, full: bool) {
    // Operation, format, mask, replace, transpose, pattern, shape, accumulator.
    let list = cases(&[OPERATIONS.len(), 6, 5, 2, 2, 2, SHAPES.len(), 2], full);
    macro_rules! each {
        ($($t:ty)*) => { $( one::<_, $t>(report, backend, form, &list); )* };
    }
    each!(bool u8 i32 u64 f16 f32 f64);
}

fn one<B: MatrixOps, T: Stored>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    for (seed, case) in list.iter().enumerate() {
        let what = format!("{} of matrices ({form})", OPERATIONS[case[0]]);
        let outcome = if case[7] == 1 {
            check::<B, T, _>(backend, case, seed as u64, Accum(Minus), Some(&accumulate(Minus)))
        } else {
            check::<B, T, _>(backend, case, seed as u64, NoAccum, None)
        };
        let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(RING, &what, || format!("{} case {case:?}, shape {:?}", T::DTYPE, SHAPES[case[6]]), outcome);
    }
}

fn check<B: MatrixOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    case: &[usize],
    seed: u64,
    accum: C,
    merge: mimic::Accumulate<'_, T>,
) -> Result<Outcome, B::Error> {
    let (rows, columns) = SHAPES[case[6]];
    let (flipped, pattern, format) = (case[4] == 1, case[5] == 1, format_of(case[1]));
    let (r, c) = if flipped { (columns, rows) } else { (rows, columns) };
    let device = |m: &MimicMatrix<T>, pattern: bool| {
        let (csr, values) = m.to_csr();
        backend.matrix(&csr, (!pattern).then_some(&values), format)
    };
    let host = |m: &B::Matrix| backend.matrix_to_host(m).map(|(csr, values)| MimicMatrix::from_csr(&csr, values.as_ref()));
    let mut a = operands::matrix::<T>(r, c, 0.3, seed);
    let mut b = operands::matrix::<T>(r, c, 0.3, seed + 1);
    if pattern {
        a.entries.iter_mut().chain(&mut b.entries).flatten().for_each(|v| *v = T::ONE);
    }
    let (left, right) = (device(&a, pattern)?, device(&b, pattern)?);
    let old = operands::matrix::<T>(rows, columns, 0.4, seed + 2);
    let mut output = device(&old, false)?;
    let mut expected = old.clone();
    let mask = operands::matrix::<bool>(rows, columns, 0.5, seed + 3);
    let mode = mask_of(case[2]);
    let chosen = mode.map(|m| mask.mask(m));
    let chosen = chosen.as_ref();
    let (csr, values) = mask.to_csr();
    let device_mask = backend.matrix(&csr, Some(&values), format)?;
    let device_mask = mode.map(|mode| MatrixMask::<B> { matrix: &device_mask, mode });
    let both = Descriptor { transpose_a: flipped, transpose_b: flipped, replace: case[3] == 1 };
    match OPERATIONS[case[0]] {
        "ewise_add" => {
            mimic::ewise_add_matrix(&mut expected, chosen, merge, Minus, &a, &b, both);
            ewise_add_matrix::<B, T, _, _>(backend, &mut output, device_mask, accum, Minus, &left, &right, both)?;
        }
        "ewise_mult" => {
            mimic::ewise_mult_matrix(&mut expected, chosen, merge, Minus, &a, &b, both);
            ewise_mult_matrix::<B, T, _, _>(backend, &mut output, device_mask, accum, Minus, &left, &right, both)?;
        }
        "apply" => {
            mimic::apply_matrix(&mut expected, chosen, merge, AdditiveInverse, &a, both);
            apply_matrix::<B, T, _, _>(backend, &mut output, device_mask, accum, AdditiveInverse, &left, both)?;
        }
        "select" => {
            let mut expected = MimicMatrix::empty(rows, columns);
            mimic::select_matrix(&mut expected, None, None, Tril { diagonal: 1 }, &a, both);
            return Ok(compare_matrix(&expected, &host(&select_matrix::<B, T, _>(backend, Tril { diagonal: 1 }, &left, both)?)?));
        }
        "reduce" => return reductions(backend, &a, &left),
        "reduce_rows" => {
            let mask = operands::vector::<bool>(rows, 0.6, seed + 4);
            let chosen = mode.map(|m| mask.mask(m));
            let device_mask = backend.vector(mask.to_vector())?;
            let device_mask = mode.map(|mode| VectorMask::<B> { vector: &device_mask, mode });
            let mut expected = operands::vector::<T>(rows, 0.5, seed + 5);
            let mut output = backend.vector(expected.to_vector())?;
            mimic::reduce_rows(&mut expected, chosen.as_ref(), merge, Max, &a, both);
            reduce_rows(backend, &mut output, device_mask, accum, Max, &left, both)?;
            return Ok(compare_vector(&expected, &backend.vector_to_host(&output)?));
        }
        "extract" => {
            let (i, j) = (operands::indices(7, rows, seed + 4), operands::indices(12, columns, seed + 5));
            let mut expected = MimicMatrix::empty(i.len(), j.len());
            mimic::extract_matrix(&mut expected, None, None, &a, &i, &j, both);
            return Ok(compare_matrix(&expected, &host(&extract_matrix(backend, &left, &i, &j, both)?)?));
        }
        "assign" => {
            let i = operands::distinct_indices(rows / 2, rows, seed + 4);
            let j = operands::distinct_indices(columns / 3, columns, seed + 5);
            let part = operands::matrix::<T>(i.len(), j.len(), 0.5, seed + 6);
            mimic::assign_matrix(&mut expected, None, merge, &part, &i, &j, Descriptor::DEFAULT);
            assign_matrix::<B, T, _>(backend, &mut output, accum, &device(&part, false)?, &i, &j)?;
        }
        "transpose" => {
            let mut expected = MimicMatrix::empty(c, r);
            mimic::transpose(&mut expected, None, None, &a, Descriptor::DEFAULT);
            let found = transpose(backend, &left)?;
            if backend.matrix_format(&found) != format {
                return Ok(Outcome::Failed(format!("format {}", backend.matrix_format(&found))));
            }
            return Ok(compare_matrix(&expected, &host(&found)?));
        }
        _ => {
            let small = operands::matrix::<T>(3, 2, 0.6, seed + 4);
            let mut expected = MimicMatrix::empty(3 * r, 2 * c);
            mimic::kronecker(&mut expected, None, None, Times, &small, &a, Descriptor::DEFAULT);
            let product = kronecker::<B, T, _>(backend, Times, &device(&small, false)?, &left)?;
            return Ok(compare_matrix(&expected, &host(&product)?));
        }
    }
    Ok(compare_matrix(&expected, &host(&output)?))
}

/// Reduction by every kind of monoid.
fn reductions<B: MatrixOps, T: Stored>(backend: &B, a: &MimicMatrix<T>, matrix: &B::Matrix) -> Result<Outcome, B::Error> {
    macro_rules! each {
        ($($m:ident)*) => { $(
            let (expected, found) = (mimic::reduce_matrix($m, a), backend.read(&reduce_matrix::<B, T, _>(backend, $m, matrix)?)?);
            if expected != found {
                return Ok(Outcome::Failed(format!("{}: expected {expected:?}, found {found:?}", stringify!($m))));
            }
        )* };
    }
    each!(Plus Min Max Lor Any);
    Ok(Outcome::Passed)
}
