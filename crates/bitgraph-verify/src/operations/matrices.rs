//! The matrix operations over types of every kind and every format.

use super::{Accumulator, MATRICES, Manner, cases, compare_matrix, compare_vector, format_of, mask_of, matrix_of, mimic_of};
use crate::{Outcome, Report};
use bitgraph::backend::{Error, MatrixOps, VectorOps};
use bitgraph::prelude::{
    Lor, Matrix, Max, Min, Plus, Times, Values, Vector, apply, assign_at, ewise_add, ewise_mult, extract, kronecker, reduce, reduce_rows,
    select, transpose,
};
use bitgraph::semiring::{AdditiveInverse, Any, Minus, Tril};
use bitgraph::sparse::{FormatKind, Stored};
use bitgraph_testkit::mimic::{self, accumulate};
use bitgraph_testkit::{MimicMatrix, MimicVector, cases as operands};
use half::f16;

const OPERATIONS: [&str; 13] = [
    "ewise_add",
    "ewise_mult",
    "apply",
    "select",
    "reduce",
    "reduce_rows",
    "extract",
    "assign_at",
    "transpose",
    "kronecker times",
    "kronecker minus",
    "diagonal",
    "cast",
];
const SHAPES: [(usize, usize); 6] = [(0, 3), (1, 1), (9, 14), (33, 33), (40, 20), (5, 65)];

pub(super) fn run<B: MatrixOps + VectorOps>(report: &mut Report, backend: &B, form: &str, full: bool) {
    // Operation, format, write-back, transpose, pattern (operands, output), shape.
    let list = cases(&[OPERATIONS.len(), 6, WRITES, 2, 4, SHAPES.len()], full);
    macro_rules! each {
        ($($t:ty)*) => { $( one::<_, $t>(report, backend, form, &list); )* };
    }
    each!(bool u8 i32 u64 f16 f32 f64);
}

/// The ways of writing a result: mask, replace and accumulator in one choice, so that every operation meets every combination.
const WRITES: usize = 5 * 2 * 2;

fn manner_of(choice: usize) -> Manner {
    let accumulator = if choice / 10 == 1 { Accumulator::Minus } else { Accumulator::None };
    Manner { mode: mask_of(choice % 5), replace: choice / 5 % 2 == 1, accumulator }
}

fn one<B: MatrixOps + VectorOps, T: Stored>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    for (seed, case) in list.iter().enumerate() {
        let what = format!("{} of matrices ({form})", OPERATIONS[case[0]]);
        let outcome = check::<B, T>(backend, case, seed as u64).unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(MATRICES, &what, || format!("{} case {case:?}, shape {:?}", T::DTYPE, SHAPES[case[5]]), outcome);
    }
}

fn ones<T: Stored>(mut a: MimicMatrix<T>) -> MimicMatrix<T> {
    a.entries.iter_mut().flatten().for_each(|v| *v = T::ONE);
    a
}

fn check<B: MatrixOps + VectorOps, T: Stored>(backend: &B, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let (operation, format, manner) = (OPERATIONS[case[0]], format_of(case[1]), manner_of(case[2]));
    let (flipped, patterns, pattern_output) = (case[3] == 1, case[4] & 1 == 1, case[4] & 2 == 2);
    let flip = |(r, c): (usize, usize)| if flipped { (c, r) } else { (r, c) };
    let seen = |m: &MimicMatrix<T>| if flipped { m.transposed() } else { m.clone() };
    // The operands as they are seen, transposed perhaps, are of this shape.
    let (rows, columns) = SHAPES[case[5]];
    let operand = |seen: (usize, usize), density: f64, seed: u64| {
        let (r, c) = flip(seen);
        let a = operands::matrix::<T>(r, c, density, seed);
        if patterns { ones(a) } else { a }
    };
    let device = |m: &MimicMatrix<T>, pattern: bool| matrix_of(backend, m, pattern, format);
    let (a, b) = (operand((rows, columns), 0.3, seed), operand((rows, columns), 0.3, seed + 1));
    let (left, right) = (device(&a, patterns)?, device(&b, patterns)?);
    let (x, y) = (|| left.typed::<T>(), || right.typed::<T>());
    // Both operands seen transposed, or the only one.
    macro_rules! flipped {
        ($make:expr) => {
            if flipped { $make.transpose_a() } else { $make }
        };
        (both $make:expr) => {
            if flipped { $make.transpose_a().transpose_b() } else { $make }
        };
    }
    match operation {
        "reduce" => return reductions(backend, &a, &left),
        "reduce_rows" => {
            let mask = operands::vector::<bool>(rows, 0.6, seed + 4);
            let chosen = manner.mode.map(|m| mask.mask(m));
            let mask = Vector::from_host(backend, mask.to_vector())?;
            let (old, t) = (operands::vector::<T>(rows, 0.5, seed + 5), mimic::reduce_rows(Max, &seen(&a)));
            let output = Vector::from_host(backend, old.to_vector())?;
            return manner.compare(|| flipped!(reduce_rows(Max, x())), (&mask, chosen.as_ref()), output, (&old, &t));
        }
        "diagonal" => {
            let v = operands::vector::<T>(rows, [0.5, 1.1][case[3]], seed);
            let found = Matrix::diagonal(&Vector::from_host(backend, super::full_if_possible(&v))?)?;
            let expected = MimicMatrix::from_fn(rows, rows, |i, j| v.0[i].filter(|_| i == j));
            return Ok(compare_matrix(&expected, &mimic_of(&found)?));
        }
        "cast" => return casts(&a, &left),
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
    let z = || device_small.typed::<T>();
    let (r, c) = match operation {
        "extract" => (i.len(), j.len()),
        "transpose" => (columns, rows),
        _ if operation.starts_with("kronecker") => (3 * rows, 2 * columns),
        _ => (rows, columns),
    };
    let old = operands::matrix::<T>(r, c, 0.4, seed + 2);
    let old = if pattern_output { ones(old) } else { old };
    let mut output = device(&old, pattern_output)?;
    let mask = operands::matrix::<bool>(r, c, 0.5, seed + 3);
    let chosen = manner.mode.map(|m| mask.mask(m));
    let mask = matrix_of(backend, &mask, false, format)?;
    let by = (&mask, chosen.as_ref());
    let outcome = match operation {
        "ewise_add" => {
            let t = mimic::ewise_add_matrix(Minus, &seen(&a), &seen(&b));
            manner.compare_matrices(|| flipped!(both ewise_add(Minus, x(), y())), by, &mut output, (&old, &t))?
        }
        "ewise_mult" => {
            let t = mimic::ewise_mult_matrix(Minus, &seen(&a), &seen(&b));
            manner.compare_matrices(|| flipped!(both ewise_mult(Minus, x(), y())), by, &mut output, (&old, &t))?
        }
        "apply" => {
            let t = mimic::apply_matrix(AdditiveInverse, &seen(&a));
            manner.compare_matrices(|| flipped!(apply(AdditiveInverse, x())), by, &mut output, (&old, &t))?
        }
        "select" => {
            let t = mimic::select_matrix(Tril { diagonal: 1 }, &seen(&a));
            manner.compare_matrices(|| flipped!(select(Tril { diagonal: 1 }, x())), by, &mut output, (&old, &t))?
        }
        "extract" => {
            let t = mimic::extract_matrix(&seen(&a), &i, &j);
            manner.compare_matrices(|| flipped!(extract(x(), (&i, &j))), by, &mut output, (&old, &t))?
        }
        "assign_at" => {
            let minus = accumulate(Minus);
            let mut expected = old.clone();
            mimic::assign_matrix(&mut expected, by.1, manner.merge(&minus), &seen(&part), (&i, &j), manner.replace);
            manner.write(flipped!(assign_at(device_part.typed::<T>(), (&i, &j))), by.0, &mut output)?;
            compare_matrix(&expected, &mimic_of(&output)?)
        }
        "transpose" => {
            let t = seen(&a).transposed();
            manner.compare_matrices(|| flipped!(transpose(x())), by, &mut output, (&old, &t))?
        }
        "kronecker times" => {
            let t = mimic::kronecker(Times, &seen(&small), &seen(&a));
            manner.compare_matrices(|| flipped!(both kronecker(Times, z(), x())), by, &mut output, (&old, &t))?
        }
        _ => {
            let t = mimic::kronecker(Minus, &seen(&small), &seen(&a));
            manner.compare_matrices(|| flipped!(both kronecker(Minus, z(), x())), by, &mut output, (&old, &t))?
        }
    };
    if output.format() != format {
        return Ok(Outcome::Failed(format!("format {}", output.format())));
    }
    let keeps = !matches!(operation, "ewise_add" | "ewise_mult" | "apply" | "kronecker minus");
    let dtype = (!(keeps && patterns && pattern_output && manner.accumulator == Accumulator::None)).then_some(T::DTYPE);
    if output.dtype() != dtype {
        return Ok(Outcome::Failed(format!("values of {:?}, expected {dtype:?}", output.dtype())));
    }
    Ok(outcome)
}

/// Reduction by every kind of monoid.
fn reductions<B: MatrixOps, T: Stored>(backend: &B, a: &MimicMatrix<T>, matrix: &Matrix<B>) -> Result<Outcome, B::Error> {
    macro_rules! each {
        ($($m:ident)*) => { $(
            let (expected, found) = (mimic::reduce_matrix($m, a), reduce($m, matrix.typed::<T>()).eval()?.read()?);
            if expected != found {
                return Ok(Outcome::Failed(format!("{}: expected {expected:?}, found {found:?}", stringify!($m))));
            }
        )* };
    }
    each!(Plus Min Max Lor Any);
    // More ones than halves can count one by one.
    let ones = MimicMatrix::from_fn(1, 4096, |_, _| Some(T::ONE));
    let matrix = matrix_of(backend, &ones, false, FormatKind::Csr)?;
    let (expected, found) = (mimic::reduce_matrix(Plus, &ones), reduce(Plus, matrix.typed::<T>()).eval()?.read()?);
    if expected != found {
        return Ok(Outcome::Failed(format!("4096 ones: expected {expected:?}, found {found:?}")));
    }
    let row = reduce_rows(Plus, matrix.typed::<T>()).eval()?;
    Ok(compare_vector(&MimicVector(vec![Some(expected)]), &row.to_host()?))
}

/// Values converted to every type as the host converts them, the largest and the smallest among them.
fn casts<B: MatrixOps, T: Stored>(a: &MimicMatrix<T>, matrix: &Matrix<B>) -> Result<Outcome, B::Error> {
    let extremes = MimicMatrix::from_fn(1, 4, |_, j| Some([T::smallest(), T::largest(), T::ONE, T::from_f64(1234.75)][j]));
    let others = matrix_of(matrix.backend(), &extremes, false, FormatKind::Csr)?;
    macro_rules! each {
        ($($t:ty)*) => { $(
            for (mimic, matrix) in [(a, matrix), (&extremes, &others)] {
                let cast = matrix.cast::<$t>()?;
                let expected = matrix.dtype().map(|_| mimic.to_csr().1.cast::<$t>());
                let found = cast.to_host()?.1;
                let bits = |v: &Option<Values>| v.as_ref().map(|v| v.expect::<$t>().map(|v| v.iter().map(|x| x.to_f64().to_bits()).collect::<Vec<_>>()));
                if bits(&expected).transpose().map_err(Error::from)? != bits(&found).transpose().map_err(Error::from)? {
                    return Ok(Outcome::Failed(format!("to {}: expected {expected:?}, found {found:?}", stringify!($t))));
                }
            }
        )* };
    }
    use bitgraph::semiring::Scalar;
    each!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 half::bf16 f32 f64);
    Ok(Outcome::Passed)
}
