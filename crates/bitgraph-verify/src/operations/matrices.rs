//! The matrix operations over types of every kind and every format.

use super::{RING, cases, compare_matrix, compare_vector, format_of, mask_of};
use crate::{Outcome, Report};
use bitgraph::backend::ops::{
    apply_matrix, assign_matrix, ewise_add_matrix, ewise_mult_matrix, extract_matrix, kronecker, reduce_matrix, reduce_rows, select_matrix,
    transpose,
};
use bitgraph::backend::{Accum, Accumulate, MatrixMask, MatrixOps, NoAccum, VectorMask};
use bitgraph::semiring::{AdditiveInverse, Any, Lor, Max, Min, Minus, Plus, Times, Tril};
use bitgraph::sparse::{Descriptor, FormatKind, MaskMode, Stored, Vector};
use bitgraph_testkit::mimic::{self, accumulate};
use bitgraph_testkit::{MimicMatrix, MimicVector, cases as operands};
use half::f16;

const OPERATIONS: [&str; 11] = [
    "ewise_add",
    "ewise_mult",
    "apply",
    "select",
    "reduce",
    "reduce_rows",
    "extract",
    "assign",
    "transpose",
    "kronecker times",
    "kronecker minus",
];
const SHAPES: [(usize, usize); 6] = [(0, 3), (1, 1), (9, 14), (33, 33), (40, 20), (5, 65)];

pub(super) fn run<B: MatrixOps>(report: &mut Report, backend: &B, form: &str, full: bool) {
    // Operation, format, write-back, transpose, pattern (operands, output), shape.
    let list = cases(&[OPERATIONS.len(), 6, WRITES, 2, 4, SHAPES.len()], full);
    macro_rules! each {
        ($($t:ty)*) => { $( one::<_, $t>(report, backend, form, &list); )* };
    }
    each!(bool u8 i32 u64 f16 f32 f64);
}

/// The ways of writing a result: mask, replace and accumulator in one choice, so that every operation meets every combination.
const WRITES: usize = 5 * 2 * 2;

struct Write {
    mode: Option<MaskMode>,
    replace: bool,
    accumulates: bool,
}
fn write_of(choice: usize) -> Write {
    Write { mode: mask_of(choice % 5), replace: choice / 5 % 2 == 1, accumulates: choice / 10 == 1 }
}

fn one<B: MatrixOps, T: Stored>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    for (seed, case) in list.iter().enumerate() {
        let what = format!("{} of matrices ({form})", OPERATIONS[case[0]]);
        let outcome = if write_of(case[2]).accumulates {
            check::<B, T, _>(backend, case, seed as u64, Accum(Minus), Some(&accumulate(Minus)))
        } else {
            check::<B, T, _>(backend, case, seed as u64, NoAccum, None)
        };
        let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(RING, &what, || format!("{} case {case:?}, shape {:?}", T::DTYPE, SHAPES[case[5]]), outcome);
    }
}

fn ones<T: Stored>(mut a: MimicMatrix<T>) -> MimicMatrix<T> {
    a.entries.iter_mut().flatten().for_each(|v| *v = T::ONE);
    a
}

fn check<B: MatrixOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    case: &[usize],
    seed: u64,
    accum: C,
    merge: mimic::Accumulate<'_, T>,
) -> Result<Outcome, B::Error> {
    let (operation, format, Write { mode, replace, .. }) = (OPERATIONS[case[0]], format_of(case[1]), write_of(case[2]));
    let (flipped, patterns, pattern_output) = (case[3] == 1, case[4] & 1 == 1, case[4] & 2 == 2);
    let flip = |(r, c): (usize, usize)| if flipped { (c, r) } else { (r, c) };
    let both = Descriptor { transpose_a: flipped, transpose_b: flipped, replace };
    // The operands as they are seen, transposed perhaps, are of this shape.
    let (rows, columns) = SHAPES[case[5]];
    let operand = |seen: (usize, usize), density: f64, seed: u64| {
        let (r, c) = flip(seen);
        let a = operands::matrix::<T>(r, c, density, seed);
        if patterns { ones(a) } else { a }
    };
    let device = |m: &MimicMatrix<T>, pattern: bool| {
        let (csr, values) = m.to_csr();
        backend.matrix(&csr, (!pattern).then_some(&values), format)
    };
    let (a, b) = (operand((rows, columns), 0.3, seed), operand((rows, columns), 0.3, seed + 1));
    let (left, right) = (device(&a, patterns)?, device(&b, patterns)?);
    match operation {
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
        _ => {}
    }
    // What else the operation takes, and the shape of its result.
    let (i, j) = match operation {
        "extract" => (operands::indices(7, rows, seed + 4), operands::indices(12, columns, seed + 5)),
        _ => (operands::distinct_indices(rows / 2, rows, seed + 4), operands::distinct_indices(columns / 3, columns, seed + 5)),
    };
    let part = operand((i.len(), j.len()), 0.5, seed + 6);
    let small = operand((3, 2), 0.6, seed + 7);
    let (device_part, device_small) = (device(&part, patterns)?, device(&small, patterns)?);
    let (r, c) = match operation {
        "extract" => (i.len(), j.len()),
        "transpose" => (columns, rows),
        _ if operation.starts_with("kronecker") => (3 * rows, 2 * columns),
        _ => (rows, columns),
    };
    let old = operands::matrix::<T>(r, c, 0.4, seed + 2);
    let mut expected = if pattern_output { ones(old) } else { old };
    let mut output = device(&expected, pattern_output)?;
    let mask = operands::matrix::<bool>(r, c, 0.5, seed + 3);
    let chosen = mode.map(|m| mask.mask(m));
    let chosen = chosen.as_ref();
    let (csr, values) = mask.to_csr();
    let device_mask = backend.matrix(&csr, Some(&values), format)?;
    let device_mask = mode.map(|mode| MatrixMask::<B> { matrix: &device_mask, mode });
    let out = &mut output;
    match operation {
        "ewise_add" => {
            mimic::ewise_add_matrix(&mut expected, chosen, merge, Minus, &a, &b, both);
            ewise_add_matrix::<B, T, _, _>(backend, out, device_mask, accum, Minus, &left, &right, both)?;
        }
        "ewise_mult" => {
            mimic::ewise_mult_matrix(&mut expected, chosen, merge, Minus, &a, &b, both);
            ewise_mult_matrix::<B, T, _, _>(backend, out, device_mask, accum, Minus, &left, &right, both)?;
        }
        "apply" => {
            mimic::apply_matrix(&mut expected, chosen, merge, AdditiveInverse, &a, both);
            apply_matrix::<B, T, _, _>(backend, out, device_mask, accum, AdditiveInverse, &left, both)?;
        }
        "select" => {
            mimic::select_matrix(&mut expected, chosen, merge, Tril { diagonal: 1 }, &a, both);
            select_matrix::<B, T, _, _>(backend, out, device_mask, accum, Tril { diagonal: 1 }, &left, both)?;
        }
        "extract" => {
            mimic::extract_matrix(&mut expected, chosen, merge, &a, &i, &j, both);
            extract_matrix::<B, T, _>(backend, out, device_mask, accum, &left, &i, &j, both)?;
        }
        "assign" => {
            mimic::assign_matrix(&mut expected, chosen, merge, &part, &i, &j, both);
            assign_matrix::<B, T, _>(backend, out, device_mask, accum, &device_part, &i, &j, both)?;
        }
        "transpose" => {
            mimic::transpose(&mut expected, chosen, merge, &a, both);
            transpose::<B, T, _>(backend, out, device_mask, accum, &left, both)?;
        }
        "kronecker times" => {
            mimic::kronecker(&mut expected, chosen, merge, Times, &small, &a, both);
            kronecker::<B, T, _, _>(backend, out, device_mask, accum, Times, &device_small, &left, both)?;
        }
        _ => {
            mimic::kronecker(&mut expected, chosen, merge, Minus, &small, &a, both);
            kronecker::<B, T, _, _>(backend, out, device_mask, accum, Minus, &device_small, &left, both)?;
        }
    }
    if backend.matrix_format(&output) != format {
        return Ok(Outcome::Failed(format!("format {}", backend.matrix_format(&output))));
    }
    let keeps = !matches!(operation, "ewise_add" | "ewise_mult" | "apply" | "kronecker minus");
    let dtype = (!(keeps && patterns && pattern_output && !C::ACTIVE)).then_some(T::DTYPE);
    if backend.matrix_dtype(&output) != dtype {
        return Ok(Outcome::Failed(format!("values of {:?}, expected {dtype:?}", backend.matrix_dtype(&output))));
    }
    let (csr, values) = backend.matrix_to_host(&output)?;
    Ok(compare_matrix(&expected, &MimicMatrix::from_csr(&csr, values.as_ref())))
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
    // More ones than halves can count one by one.
    let ones = MimicMatrix::from_fn(1, 4096, |_, _| Some(T::ONE));
    let (csr, values) = ones.to_csr();
    let matrix = backend.matrix(&csr, Some(&values), FormatKind::Csr)?;
    let (expected, found) = (mimic::reduce_matrix(Plus, &ones), backend.read(&reduce_matrix::<B, T, _>(backend, Plus, &matrix)?)?);
    if expected != found {
        return Ok(Outcome::Failed(format!("4096 ones: expected {expected:?}, found {found:?}")));
    }
    let mut row = backend.vector(Vector::empty(1))?;
    reduce_rows::<B, T, _, _>(backend, &mut row, None, NoAccum, Plus, &matrix, Descriptor::DEFAULT)?;
    Ok(compare_vector(&MimicVector(vec![Some(expected)]), &backend.vector_to_host(&row)?))
}
