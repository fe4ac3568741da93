//! Operands longer than every block that a backend cuts its work into, on several threads; masks that hold values where they have no
//! entry, and entries that are zero.
//!
//! Invariant: every case has something that tells one block from the next: an entry that is missing in one only, or the only value that a
//! reduction is decided by.

use super::{Accumulator, MATRICES, Manner, compare_vector, matrix_of};
use crate::{Outcome, Report};
use bitgraph::backend::{MatrixOps, Mxm, Mxv, VectorOps};
use bitgraph::prelude::{Max, Min, Plus, Vector, apply, ewise_add, mxm, mxm_reduce, mxv, reduce, reduce_rows, select, transpose};
use bitgraph::semiring::{AdditiveInverse, LorLand, Minus, PlusPair, PlusTimes, Tril};
use bitgraph::sparse::{BitVector, FormatKind, MaskMode, Vector as HostVector};
use bitgraph_testkit::mimic;
use bitgraph_testkit::{MimicMatrix, MimicVector, cases as operands};

/// Three blocks of 4096 positions and a part of one.
const LENGTH: usize = 3 * 4096 + 37;
/// Positions on both sides of the ends of blocks.
const EDGES: [usize; 7] = [0, 1023, 4095, 4096, 8192, 3 * 4096, LENGTH - 1];
/// Threads, where the backend has any.
const THREADS: usize = 3;

/// Writes to all of an output, as the result is.
const PLAIN: Manner = Manner { mode: None, replace: false, accumulator: Accumulator::None };

/// What the cases need of a backend.
pub trait Large: VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxm<PlusPair<u64>> + Mxm<PlusTimes<i32>> {}
impl<B: VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxm<PlusPair<u64>> + Mxm<PlusTimes<i32>>> Large for B {}

pub(super) fn run<B: Large>(report: &mut Report, backend: &B, form: &str) {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build() else { return };
    pool.install(|| {
        let mut check = |what: &str, case: String, outcome: Result<Outcome, B::Error>| {
            let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
            report.check(MATRICES, &format!("{what}, large ({form})"), || case, outcome);
        };
        for gap in EDGES {
            check("apply", format!("all but position {gap}"), applied(backend, &gaps(|i| i != gap)));
            check("reduce", format!("all but position {gap}"), reduced(backend, &gaps(|i| i != gap)));
            check("reduce", format!("position {gap} alone"), reduced(backend, &gaps(|i| i == gap)));
            check("reduce", format!("the smallest and largest at {gap}"), extremes(backend, gap));
        }
        check("apply", "every position".into(), applied(backend, &gaps(|_| true)));
        check("apply", "the first half".into(), applied(backend, &gaps(|i| i < LENGTH / 2)));
        check("reduce", "every position".into(), reduced(backend, &gaps(|_| true)));
        for mode in MaskMode::ALL {
            check("ewise_add", format!("{mode:?}"), stale_mask(backend, mode));
            for format in FormatKind::ALL {
                check("mxv", format!("{mode:?} over {format}"), stale_mask_of_product(backend, mode, format));
            }
        }
        for format in FormatKind::ALL {
            check("matrices", format!("{format}"), matrices(backend, format));
            check("mxm", format!("{format}"), products(backend, format));
            for mode in MaskMode::ALL {
                check("mxm_reduce", format!("{mode:?} over {format}"), counted(backend, mode, format));
            }
        }
    });
}

/// Position `i` holds a number of its own, if it is to hold one.
fn gaps(there: impl Fn(usize) -> bool) -> MimicVector<i64> {
    MimicVector((0..LENGTH).map(|i| there(i).then_some(i as i64 % 1000 - 300)).collect())
}

fn applied<B: Large>(backend: &B, u: &MimicVector<i64>) -> Result<Outcome, B::Error> {
    let expected = mimic::apply(AdditiveInverse, u);
    let (input, mut output) = (Vector::from_host(backend, u.to_vector())?, Vector::<B, i64>::empty(backend, LENGTH)?);
    apply(AdditiveInverse, &input).into(&mut output)?;
    let found = output.to_host()?;
    if found.nvals() != u.nvals() {
        return Ok(Outcome::Failed(format!("{} entries, expected {}", found.nvals(), u.nvals())));
    }
    Ok(compare_vector(&expected, &found))
}

/// Compares a number.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Option<Outcome> {
    (expected != found).then(|| Outcome::Failed(format!("{what}: expected {expected:?}, found {found:?}")))
}

fn reduced<B: Large>(backend: &B, u: &MimicVector<i64>) -> Result<Outcome, B::Error> {
    let x = Vector::from_host(backend, u.to_vector())?;
    let sum = same("plus", mimic::reduce(Plus, u), reduce(Plus, &x).eval()?.read()?);
    let smallest = same("min", mimic::reduce(Min, u), reduce(Min, &x).eval()?.read()?);
    let largest = same("max", mimic::reduce(Max, u), reduce(Max, &x).eval()?.read()?);
    Ok(sum.or(smallest).or(largest).unwrap_or(Outcome::Passed))
}

/// One position decides the smallest and the largest.
fn extremes<B: Large>(backend: &B, at: usize) -> Result<Outcome, B::Error> {
    for value in [-5000, 5000] {
        let mut u = gaps(|_| true);
        u.0[at] = Some(value);
        let outcome = reduced(backend, &u)?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Passed)
}

/// A mask with an entry at two of three positions, of which every other is true; where it has no entry its values are true.
fn stale(len: usize) -> (MimicVector<bool>, HostVector<bool>) {
    let mimic = MimicVector((0..len).map(|i| (i % 3 != 0).then_some(i % 2 == 0)).collect());
    let mut vector = HostVector::from_vec((0..len).map(|i| i % 3 == 0 || i % 2 == 0).collect());
    let mut present = BitVector::zeros(len);
    (0..len).filter(|i| i % 3 != 0).for_each(|i| present.set(i, true));
    vector.set_present(Some(present));
    (mimic, vector)
}

fn stale_mask<B: Large>(backend: &B, mode: MaskMode) -> Result<Outcome, B::Error> {
    let (chosen, mask) = stale(LENGTH);
    let (u, v) = (gaps(|i| i % 5 != 0), gaps(|i| i % 7 != 0));
    let old = gaps(|i| i % 11 == 0);
    let t = mimic::ewise_add(Minus, &u, &v);
    let (mask, output) = (Vector::from_host(backend, mask)?, Vector::from_host(backend, old.to_vector())?);
    let (x, y) = (Vector::from_host(backend, u.to_vector())?, Vector::from_host(backend, v.to_vector())?);
    let manner = Manner { mode: Some(mode), ..PLAIN };
    manner.compare(|| ewise_add(Minus, &x, &y), (&mask, Some(&chosen.mask(mode))), output, (&old, &t))
}

/// A product that is formed only where the mask selects.
fn stale_mask_of_product<B: Large>(backend: &B, mode: MaskMode, format: FormatKind) -> Result<Outcome, B::Error> {
    let (rows, columns) = (700, 650);
    let a = MimicMatrix::from_fn(rows, columns, |i, j| ((i * 7 + j * 13) % 50 == 0).then_some(true));
    let u = MimicVector((0..columns).map(|j| (j % 4 != 1).then_some(true)).collect());
    let (chosen, mask) = stale(rows);
    let (old, t) = (MimicVector::<bool>::empty(rows), mimic::mxv(LorLand::<bool>::new(), &a, &u));
    let matrix = matrix_of(backend, &a, true, format)?;
    let (mask, input, output) =
        (Vector::from_host(backend, mask)?, Vector::from_host(backend, u.to_vector())?, Vector::empty(backend, rows)?);
    let manner = Manner { mode: Some(mode), ..PLAIN };
    manner.compare(|| mxv(LorLand::<bool>::new(), &matrix, &input), (&mask, Some(&chosen.mask(mode))), output, (&old, &t))
}

/// The operations on matrices of some 20000 entries.
fn matrices<B: Large>(backend: &B, format: FormatKind) -> Result<Outcome, B::Error> {
    let (rows, columns) = (700, 650);
    let (a, b) = (operands::matrix::<i32>(rows, columns, 0.05, 1), operands::matrix::<i32>(rows, columns, 0.03, 2));
    let device = |m: &MimicMatrix<i32>| matrix_of(backend, m, false, format);
    let (left, right) = (device(&a)?, device(&b)?);
    let (x, y) = (|| left.typed::<i32>(), || right.typed::<i32>());
    // A value in the last block that decides.
    let mut last = a.clone();
    if let Some(entry) = last.entries.iter_mut().rev().flatten().next() {
        *entry = -77;
    }
    let found = reduce(Min, device(&last)?.typed::<i32>()).eval()?.read()?;
    let found_sum = reduce(Plus, x()).eval()?.read()?;
    let wrong = same("min", mimic::reduce_matrix(Min, &last), found).or(same("plus", mimic::reduce_matrix(Plus, &a), found_sum));
    if let Some(outcome) = wrong {
        return Ok(outcome);
    }
    let mut sums = Vector::<B, i32>::empty(backend, rows)?;
    let expected = mimic::reduce_rows(Plus, &a);
    reduce_rows(Plus, x()).into(&mut sums)?;
    let mut outcomes = vec![compare_vector(&expected, &sums.to_host()?)];
    // What an operation makes of an empty output, by the mimic and by the backend; nothing is masked.
    macro_rules! check {
        ($shape:expr, $mimic:expr, $operation:expr) => {{
            let old = MimicMatrix::<i32>::empty($shape.0, $shape.1);
            let mut output = device(&old)?;
            outcomes.push(PLAIN.compare_matrices(|| $operation, (&left, None), &mut output, (&old, &$mimic))?);
        }};
    }
    check!((rows, columns), mimic::ewise_add_matrix(Minus, &a, &b), ewise_add(Minus, x(), y()));
    check!((rows, columns), mimic::apply_matrix(AdditiveInverse, &a), apply(AdditiveInverse, x()));
    check!((rows, columns), mimic::select_matrix(Tril { diagonal: -100 }, &a), select(Tril { diagonal: -100 }, x()));
    check!((columns, rows), a.transposed(), transpose(x()));
    Ok(outcomes.into_iter().find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}

/// A product of many blocks of rows, and the sum of one.
fn products<B: Large>(backend: &B, format: FormatKind) -> Result<Outcome, B::Error> {
    let (rows, inner, columns) = (600, 40, 70);
    let (a, b) = (operands::matrix::<i32>(rows, inner, 0.2, 3), operands::matrix::<i32>(inner, columns, 0.2, 4));
    let semiring = PlusTimes::<i32>::new();
    let old = MimicMatrix::<i32>::empty(rows, columns);
    let (left, right) = (matrix_of(backend, &a, false, format)?, matrix_of(backend, &b, false, format)?);
    let (t, mut output) = (mimic::mxm(semiring, &a, &b), matrix_of(backend, &old, false, format)?);
    let outcome = PLAIN.compare_matrices(|| mxm(semiring, &left, &right), (&left, None), &mut output, (&old, &t))?;
    let found = mxm_reduce(semiring, &left, &right).eval()?.read()?;
    let sum = same("reduced", mimic::mxm_reduce(None, semiring, &a, &b), found);
    Ok(sum.unwrap_or(outcome))
}

/// Pairs of equal columns counted under a mask of which every third entry is zero, as a count of triangles has it.
fn counted<B: Large>(backend: &B, mode: MaskMode, format: FormatKind) -> Result<Outcome, B::Error> {
    let n = 600;
    let a = MimicMatrix::from_fn(n, n, |i, j| ((i * 31 + j * 17) % 29 == 0).then_some(1u64));
    let mask = MimicMatrix::from_fn(n, n, |i, j| ((i * 5 + j * 3) % 13 == 0).then_some((i + j) % 3 != 0));
    let semiring = PlusPair::<u64>::new();
    let expected = mimic::mxm_reduce(Some(&mask.mask(mode)), semiring, &a, &a.transposed());
    let (pattern, mask) = (matrix_of(backend, &a, true, format)?, matrix_of(backend, &mask, false, format)?);
    let manner = Manner { mode: Some(mode), ..PLAIN };
    let found = manner.masked(mxm_reduce(semiring, &pattern, &pattern).transpose_b(), &mask).eval()?.read()?;
    Ok(same("pairs", expected, found).unwrap_or(Outcome::Passed))
}
