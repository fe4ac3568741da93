//! The vector operations over types of every kind.

use super::{RING, cases, compare_vector, full_if_possible, mask_of};
use crate::{Outcome, Report};
use bitgraph::backend::ops::{apply, assign, assign_value, ewise_add, ewise_mult, extract, reduce, select};
use bitgraph::backend::{Accum, Accumulate, NoAccum, VectorMask, VectorOps};
use bitgraph::semiring::{AdditiveInverse, Any, IfNonZero, Lor, Max, Min, Minus, Plus, ValueNonZero};
use bitgraph::sparse::{Descriptor, Stored};
use bitgraph_testkit::mimic::{self, accumulate};
use bitgraph_testkit::{MimicVector, cases as operands};
use half::{bf16, f16};

const OPERATIONS: [&str; 8] = ["ewise_add", "ewise_mult", "apply", "select", "extract", "assign", "assign_value", "reduce"];
const LENGTHS: [usize; 8] = [0, 1, 31, 32, 63, 64, 65, 3000];

pub(super) fn run<B: VectorOps>(report: &mut Report, backend: &B, form: &str, full: bool) {
    // Operation, mask, replace, accumulator, length, density of the inputs.
    let list = cases(&[OPERATIONS.len(), 5, 2, 2, LENGTHS.len(), 3], full);
    macro_rules! each {
        ($($t:ty)*) => { $( one::<_, $t>(report, backend, form, &list); )* };
    }
    each!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
}

fn one<B: VectorOps, T: Stored>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    for (seed, case) in list.iter().enumerate() {
        let what = format!("{} ({form})", OPERATIONS[case[0]]);
        let outcome = if case[3] == 1 {
            check::<B, T, _>(backend, case, seed as u64, Accum(Minus), Some(&accumulate(Minus)))
        } else {
            check::<B, T, _>(backend, case, seed as u64, NoAccum, None)
        };
        let outcome = outcome.unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(RING, &what, || format!("{} case {case:?}, length {}", T::DTYPE, LENGTHS[case[4]]), outcome);
    }
}

fn check<B: VectorOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    case: &[usize],
    seed: u64,
    accum: C,
    merge: mimic::Accumulate<'_, T>,
) -> Result<Outcome, B::Error> {
    let n = LENGTHS[case[4]];
    let density = [1.1, 0.5, 0.02][case[5]];
    let (u, v) = (operands::vector::<T>(n, density, seed), operands::vector::<T>(n, density, seed + 1));
    let w = operands::vector::<T>(n, 0.5, seed + 2);
    let mask = operands::vector::<bool>(n, 0.6, seed + 3);
    let mode = mask_of(case[1]);
    let chosen = mode.map(|m| mask.mask(m));
    let chosen = chosen.as_ref();
    let descriptor = Descriptor { replace: case[2] == 1, ..Descriptor::DEFAULT };
    let device_mask = backend.vector(mask.to_vector())?;
    let device_mask = mode.map(|mode| VectorMask::<B> { vector: &device_mask, mode });
    let (x, y) = (backend.vector(full_if_possible(&u))?, backend.vector(full_if_possible(&v))?);
    let mut out = backend.vector(w.to_vector())?;
    let mut expected = w.clone();
    match OPERATIONS[case[0]] {
        "ewise_add" => {
            mimic::ewise_add(&mut expected, chosen, merge, Minus, &u, &v, descriptor);
            ewise_add(backend, &mut out, device_mask, accum, Minus, &x, &y, descriptor)?;
        }
        "ewise_mult" => {
            mimic::ewise_mult(&mut expected, chosen, merge, Minus, &u, &v, descriptor);
            ewise_mult(backend, &mut out, device_mask, accum, Minus, &x, &y, descriptor)?;
        }
        "apply" => {
            mimic::apply(&mut expected, chosen, merge, AdditiveInverse, &u, descriptor);
            apply(backend, &mut out, device_mask, accum, AdditiveInverse, &x, descriptor)?;
            // And an operator that changes the type.
            let mut truth = MimicVector::<bool>::empty(n);
            mimic::apply(&mut truth, chosen, None, IfNonZero, &u, descriptor);
            let mut found = backend.vector(MimicVector::<bool>::empty(n).to_vector())?;
            apply(backend, &mut found, device_mask, NoAccum, IfNonZero, &x, descriptor)?;
            let outcome = compare_vector(&truth, &backend.vector_to_host(&found)?);
            if outcome != Outcome::Passed {
                return Ok(outcome);
            }
        }
        "select" => {
            mimic::select(&mut expected, chosen, merge, ValueNonZero, &u, descriptor);
            select(backend, &mut out, device_mask, accum, ValueNonZero, &x, descriptor)?;
        }
        "extract" => {
            let indices = operands::indices(n, n, seed + 4);
            mimic::extract(&mut expected, chosen, merge, &u, &indices, descriptor);
            extract(backend, &mut out, device_mask, accum, &x, &indices, descriptor)?;
        }
        "assign" => {
            let indices = operands::distinct_indices(n / 2, n, seed + 4);
            let part = MimicVector(u.0[..indices.len()].to_vec());
            mimic::assign(&mut expected, chosen, merge, &part, &indices, descriptor);
            let part = backend.vector(part.to_vector())?;
            assign(backend, &mut out, device_mask, accum, &part, &indices, descriptor)?;
        }
        "assign_value" => {
            mimic::assign_value(&mut expected, chosen, merge, T::ONE, descriptor);
            assign_value(backend, &mut out, device_mask, accum, T::ONE, descriptor)?;
        }
        _ => return reductions(backend, &u, &x),
    }
    Ok(compare_vector(&expected, &backend.vector_to_host(&out)?))
}

/// Reduction by every kind of monoid.
fn reductions<B: VectorOps, T: Stored>(backend: &B, u: &MimicVector<T>, x: &B::Vector<T>) -> Result<Outcome, B::Error> {
    macro_rules! each {
        ($($m:ident)*) => { $(
            let (expected, found) = (mimic::reduce($m, u), backend.read(&reduce(backend, $m, x)?)?);
            if expected != found {
                return Ok(Outcome::Failed(format!("{}: expected {expected:?}, found {found:?}", stringify!($m))));
            }
        )* };
    }
    each!(Plus Min Max Lor Any);
    // More ones than halves can count one by one.
    let ones = MimicVector::full(&[T::ONE; 4096]);
    let (expected, found) = (mimic::reduce(Plus, &ones), backend.read(&reduce(backend, Plus, &backend.vector(ones.to_vector())?)?)?);
    if expected != found {
        return Ok(Outcome::Failed(format!("4096 ones: expected {expected:?}, found {found:?}")));
    }
    Ok(Outcome::Passed)
}
