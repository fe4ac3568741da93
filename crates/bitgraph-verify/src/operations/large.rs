//! Operands longer than every block that a backend cuts its work into, on several threads; masks that hold values where they have no
//! entry, and entries that are zero.
//!
//! Invariant: every case has something that tells one block from the next: an entry that is missing in one only, or the only value that a
//! reduction is decided by.

use super::{RING, compare_matrix, compare_vector};
use crate::{Outcome, Report};
use bitgraph::backend::ops::{
    apply, apply_matrix, ewise_add, ewise_add_matrix, mxm, mxm_reduce, mxv, reduce, reduce_matrix, reduce_rows, select_matrix, transpose,
};
use bitgraph::backend::{MatrixMask, MatrixOps, Mxm, Mxv, NoAccum, VectorMask, VectorOps};
use bitgraph::semiring::{AdditiveInverse, LorLand, Max, Min, Minus, Plus, PlusPair, PlusTimes, Tril};
use bitgraph::sparse::{BitVector, Descriptor, FormatKind, MaskMode, Vector};
use bitgraph_testkit::mimic;
use bitgraph_testkit::{MimicMatrix, MimicVector, cases as operands};

/// Three blocks of 4096 positions and a part of one.
const LENGTH: usize = 3 * 4096 + 37;
/// Positions on both sides of the ends of blocks.
const EDGES: [usize; 7] = [0, 1023, 4095, 4096, 8192, 3 * 4096, LENGTH - 1];
/// Threads, where the backend has any.
const THREADS: usize = 3;

/// What the cases need of a backend.
pub trait Large: VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxm<PlusPair<u64>> + Mxm<PlusTimes<i32>> {}
impl<B: VectorOps + MatrixOps + Mxv<LorLand<bool>> + Mxm<PlusPair<u64>> + Mxm<PlusTimes<i32>>> Large for B {}

pub(super) fn run<B: Large>(report: &mut Report, backend: &B, form: &str) {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build() else { return };
    pool.install(|| {
        let mut check = |what: &str, case: String, outcome: Result<Outcome, B::Error>| {
            let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
            report.check(RING, &format!("{what}, large ({form})"), || case, outcome);
        };
        for gap in EDGES {
            check("apply", format!("all but position {gap}"), applied(backend, &gaps(|i| i != gap)));
            check("reduce", format!("all but position {gap}"), reduced(backend, &gaps(|i| i != gap)));
            check("reduce", format!("position {gap} alone"), reduced(backend, &gaps(|i| i == gap)));
            check("reduce", format!("the least and greatest at {gap}"), extremes(backend, gap));
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
    let mut expected = MimicVector::<i64>::empty(LENGTH);
    mimic::apply(&mut expected, None, None, AdditiveInverse, u, Descriptor::DEFAULT);
    let (input, mut output) = (backend.vector(u.to_vector())?, backend.vector(Vector::<i64>::empty(LENGTH))?);
    apply(backend, &mut output, None, NoAccum, AdditiveInverse, &input, Descriptor::DEFAULT)?;
    let found = backend.vector_to_host(&output)?;
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
    let x = backend.vector(u.to_vector())?;
    let sum = same("plus", mimic::reduce(Plus, u), backend.read(&reduce(backend, Plus, &x)?)?);
    let least = same("min", mimic::reduce(Min, u), backend.read(&reduce(backend, Min, &x)?)?);
    let greatest = same("max", mimic::reduce(Max, u), backend.read(&reduce(backend, Max, &x)?)?);
    Ok(sum.or(least).or(greatest).unwrap_or(Outcome::Passed))
}

/// One position decides the least and the greatest.
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
fn stale(len: usize) -> (MimicVector<bool>, Vector<bool>) {
    let mimic = MimicVector((0..len).map(|i| (i % 3 != 0).then_some(i % 2 == 0)).collect());
    let mut vector = Vector::from_vec((0..len).map(|i| i % 3 == 0 || i % 2 == 0).collect());
    let mut present = BitVector::zeros(len);
    (0..len).filter(|i| i % 3 != 0).for_each(|i| present.set(i, true));
    vector.set_present(Some(present));
    (mimic, vector)
}

fn stale_mask<B: Large>(backend: &B, mode: MaskMode) -> Result<Outcome, B::Error> {
    let (chosen, mask) = stale(LENGTH);
    let (u, v) = (gaps(|i| i % 5 != 0), gaps(|i| i % 7 != 0));
    let mut expected = gaps(|i| i % 11 == 0);
    let mut output = backend.vector(expected.to_vector())?;
    mimic::ewise_add(&mut expected, Some(&chosen.mask(mode)), None, Minus, &u, &v, Descriptor::DEFAULT);
    let (mask, x, y) = (backend.vector(mask)?, backend.vector(u.to_vector())?, backend.vector(v.to_vector())?);
    let mask = Some(VectorMask::<B> { vector: &mask, mode });
    ewise_add(backend, &mut output, mask, NoAccum, Minus, &x, &y, Descriptor::DEFAULT)?;
    Ok(compare_vector(&expected, &backend.vector_to_host(&output)?))
}

/// A product that is formed only where the mask selects.
fn stale_mask_of_product<B: Large>(backend: &B, mode: MaskMode, format: FormatKind) -> Result<Outcome, B::Error> {
    let (rows, columns) = (700, 650);
    let a = MimicMatrix::from_fn(rows, columns, |i, j| ((i * 7 + j * 13) % 50 == 0).then_some(true));
    let u = MimicVector((0..columns).map(|j| (j % 4 != 1).then_some(true)).collect());
    let (chosen, mask) = stale(rows);
    let mut expected = MimicVector::<bool>::empty(rows);
    mimic::mxv(&mut expected, Some(&chosen.mask(mode)), None, LorLand::<bool>::new(), &a, &u, Descriptor::DEFAULT);
    let matrix = backend.matrix(&a.to_csr().0, None, format)?;
    let (mask, input, mut output) = (backend.vector(mask)?, backend.vector(u.to_vector())?, backend.vector(Vector::<bool>::empty(rows))?);
    let mask = Some(VectorMask::<B> { vector: &mask, mode });
    mxv(backend, &mut output, mask, NoAccum, LorLand::<bool>::new(), &matrix, &input, Descriptor::DEFAULT)?;
    Ok(compare_vector(&expected, &backend.vector_to_host(&output)?))
}

/// The operations on matrices of some 20000 entries.
fn matrices<B: Large>(backend: &B, format: FormatKind) -> Result<Outcome, B::Error> {
    let (rows, columns) = (700, 650);
    let (a, b) = (operands::matrix::<i32>(rows, columns, 0.05, 1), operands::matrix::<i32>(rows, columns, 0.03, 2));
    let device = |m: &MimicMatrix<i32>| {
        let (csr, values) = m.to_csr();
        backend.matrix(&csr, Some(&values), format)
    };
    let (left, right) = (device(&a)?, device(&b)?);
    let plain = Descriptor::DEFAULT;
    // A value in the last block that decides.
    let mut last = a.clone();
    if let Some(entry) = last.entries.iter_mut().rev().flatten().next() {
        *entry = -77;
    }
    let found = backend.read(&reduce_matrix::<B, i32, _>(backend, Min, &device(&last)?)?)?;
    let found_sum = backend.read(&reduce_matrix::<B, i32, _>(backend, Plus, &left)?)?;
    let wrong = same("min", mimic::reduce_matrix(Min, &last), found).or(same("plus", mimic::reduce_matrix(Plus, &a), found_sum));
    if let Some(outcome) = wrong {
        return Ok(outcome);
    }
    let mut expected = MimicVector::<i32>::empty(rows);
    let mut sums = backend.vector(Vector::<i32>::empty(rows))?;
    mimic::reduce_rows(&mut expected, None, None, Plus, &a, plain);
    reduce_rows::<B, i32, _, _>(backend, &mut sums, None, NoAccum, Plus, &left, plain)?;
    let mut outcomes = vec![compare_vector(&expected, &backend.vector_to_host(&sums)?)];
    // What an operation makes of an empty output, by the mimic and by the backend.
    macro_rules! check {
        ($shape:expr, $expected:ident => $mimic:expr, $output:ident => $call:expr) => {{
            let mut $expected = MimicMatrix::<i32>::empty($shape.0, $shape.1);
            let mut $output = device(&$expected)?;
            $mimic;
            $call?;
            let (csr, values) = backend.matrix_to_host(&$output)?;
            outcomes.push(compare_matrix(&$expected, &MimicMatrix::from_csr(&csr, values.as_ref())));
        }};
    }
    check!((rows, columns), c => mimic::ewise_add_matrix(&mut c, None, None, Minus, &a, &b, plain),
        d => ewise_add_matrix::<B, i32, _, _>(backend, &mut d, None, NoAccum, Minus, &left, &right, plain));
    check!((rows, columns), c => mimic::apply_matrix(&mut c, None, None, AdditiveInverse, &a, plain),
        d => apply_matrix::<B, i32, _, _>(backend, &mut d, None, NoAccum, AdditiveInverse, &left, plain));
    check!((rows, columns), c => mimic::select_matrix(&mut c, None, None, Tril { diagonal: -100 }, &a, plain),
        d => select_matrix::<B, i32, _, _>(backend, &mut d, None, NoAccum, Tril { diagonal: -100 }, &left, plain));
    check!((columns, rows), c => mimic::transpose(&mut c, None, None, &a, plain),
        d => transpose::<B, i32, _>(backend, &mut d, None, NoAccum, &left, plain));
    Ok(outcomes.into_iter().find(|o| *o != Outcome::Passed).unwrap_or(Outcome::Passed))
}

/// A product of many blocks of rows, and the sum of one.
fn products<B: Large>(backend: &B, format: FormatKind) -> Result<Outcome, B::Error> {
    let (rows, inner, columns) = (600, 40, 70);
    let (a, b) = (operands::matrix::<i32>(rows, inner, 0.2, 3), operands::matrix::<i32>(inner, columns, 0.2, 4));
    let device = |m: &MimicMatrix<i32>| {
        let (csr, values) = m.to_csr();
        backend.matrix(&csr, Some(&values), format)
    };
    let semiring = PlusTimes::<i32>::new();
    let mut expected = MimicMatrix::<i32>::empty(rows, columns);
    let (left, right, mut output) = (device(&a)?, device(&b)?, device(&expected)?);
    mimic::mxm(&mut expected, None, None, semiring, &a, &b, Descriptor::DEFAULT);
    mxm(backend, &mut output, None, NoAccum, semiring, &left, &right, Descriptor::DEFAULT)?;
    let (csr, values) = backend.matrix_to_host(&output)?;
    let outcome = compare_matrix(&expected, &MimicMatrix::from_csr(&csr, values.as_ref()));
    let found = backend.read(&mxm_reduce(backend, None, semiring, &left, &right, Descriptor::DEFAULT)?)?;
    let sum = same("reduced", mimic::mxm_reduce(None, semiring, &a, &b, Descriptor::DEFAULT), found);
    Ok(sum.unwrap_or(outcome))
}

/// Pairs of equal columns counted under a mask of which every third entry is zero, as a count of triangles has it.
fn counted<B: Large>(backend: &B, mode: MaskMode, format: FormatKind) -> Result<Outcome, B::Error> {
    let n = 600;
    let a = MimicMatrix::from_fn(n, n, |i, j| ((i * 31 + j * 17) % 29 == 0).then_some(1u64));
    let mask = MimicMatrix::from_fn(n, n, |i, j| ((i * 5 + j * 3) % 13 == 0).then_some((i + j) % 3 != 0));
    let descriptor = Descriptor { transpose_b: true, ..Descriptor::DEFAULT };
    let semiring = PlusPair::<u64>::new();
    let expected = mimic::mxm_reduce(Some(&mask.mask(mode)), semiring, &a, &a, descriptor);
    let pattern = backend.matrix(&a.to_csr().0, None, format)?;
    let (csr, values) = mask.to_csr();
    let mask = backend.matrix(&csr, Some(&values), format)?;
    let mask = Some(MatrixMask::<B> { matrix: &mask, mode });
    let found = backend.read(&mxm_reduce(backend, mask, semiring, &pattern, &pattern, descriptor)?)?;
    Ok(same("pairs", expected, found).unwrap_or(Outcome::Passed))
}
