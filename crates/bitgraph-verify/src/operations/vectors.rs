//! The vector operations over types of every kind, and the constructors.

use super::{Accumulator, Manner, VECTORS, cases, compare_vector, full_if_possible, mask_of};
use crate::{Outcome, Report};
use bitgraph::backend::VectorOps;
use bitgraph::backend::ops::{MaskOf, VectorSelector};
use bitgraph::prelude::{Lor, Max, Min, Plus, Vector, apply, assign, assign_at, ewise_add, ewise_mult, extract, reduce, select};
use bitgraph::semiring::{AdditiveInverse, Any, IfNonZero, Minus, ValueNonZero};
use bitgraph::sparse::{Stored, Vector as HostVector};
use bitgraph_testkit::mimic::{self, accumulate};
use bitgraph_testkit::{MimicVector, cases as operands};
use half::{bf16, f16};

const OPERATIONS: [&str; 12] = [
    "ewise_add",
    "ewise_mult",
    "apply",
    "select",
    "extract",
    "extract by a vector",
    "assign_at",
    "assign_at by a vector",
    "assign",
    "assign a value of the device",
    "reduce",
    "constructors",
];
const LENGTHS: [usize; 8] = [0, 1, 31, 32, 63, 64, 65, 3000];

pub(super) fn run<B: VectorOps>(report: &mut Report, backend: &B, form: &str, full: bool) {
    // Operation, mask, replace, accumulator, length, density of the inputs, type of the mask.
    let list = cases(&[OPERATIONS.len(), 5, 2, 2, LENGTHS.len(), 3, 2], full);
    macro_rules! each {
        ($($t:ty)*) => { $( one::<_, $t>(report, backend, form, &list); )* };
    }
    each!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
}

fn one<B: VectorOps, T: Stored>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    for (seed, case) in list.iter().enumerate() {
        let what = format!("{} ({form})", OPERATIONS[case[0]]);
        let outcome = check::<B, T>(backend, case, seed as u64).unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(VECTORS, &what, || format!("{} case {case:?}, length {}", T::DTYPE, LENGTHS[case[4]]), outcome);
    }
}

fn check<B: VectorOps, T: Stored>(backend: &B, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let n = LENGTHS[case[4]];
    let density = [1.1, 0.5, 0.02][case[5]];
    let (u, v) = (operands::vector::<T>(n, density, seed), operands::vector::<T>(n, density, seed + 1));
    let w = operands::vector::<T>(n, 0.5, seed + 2);
    let accumulator = if case[3] == 1 { Accumulator::Minus } else { Accumulator::None };
    let manner = Manner { mode: mask_of(case[1]), replace: case[2] == 1, accumulator };
    // A mask of bits, or of the operation's own type.
    let (bits, typed) = (operands::vector::<bool>(n, 0.6, seed + 3), operands::vector::<T>(n, 0.6, seed + 3));
    let of_bits = case[6] == 0;
    let chosen = manner.mode.map(|m| if of_bits { bits.mask(m) } else { typed.mask(m) });
    let chosen = chosen.as_ref();
    let (bits, typed) = (Vector::from_host(backend, bits.to_vector())?, Vector::from_host(backend, full_if_possible(&typed))?);
    let mask: &dyn MaskOf<VectorSelector<B>> = if of_bits { &bits } else { &typed };
    let by = (mask, chosen);
    let (x, y) = (Vector::from_host(backend, full_if_possible(&u))?, Vector::from_host(backend, full_if_possible(&v))?);
    let mut out = Vector::from_host(backend, w.to_vector())?;
    let minus = accumulate(Minus);
    let merge = manner.merge(&minus);
    match OPERATIONS[case[0]] {
        "ewise_add" => {
            let t = mimic::ewise_add(Minus, &u, &v);
            manner.compare(|| ewise_add(Minus, &x, &y), by, out, (&w, &t))
        }
        "ewise_mult" => {
            let t = mimic::ewise_mult(Minus, &u, &v);
            manner.compare(|| ewise_mult(Minus, &x, &y), by, out, (&w, &t))
        }
        "apply" => {
            // An operator that changes the type, and one that does not.
            let t = mimic::apply(IfNonZero, &u);
            let old = MimicVector::<bool>::empty(n);
            let outcome = manner.compare(|| apply(IfNonZero, &x), by, Vector::empty(backend, n)?, (&old, &t))?;
            if outcome != Outcome::Passed {
                return Ok(outcome);
            }
            let t = mimic::apply(AdditiveInverse, &u);
            manner.compare(|| apply(AdditiveInverse, &x), by, out, (&w, &t))
        }
        "select" => {
            let t = mimic::select(ValueNonZero, &u);
            manner.compare(|| select(ValueNonZero, &x), by, out, (&w, &t))
        }
        "extract" => {
            let indices = operands::indices(n, n, seed + 4);
            let t = mimic::extract(&u, &indices);
            manner.compare(|| extract(&x, &indices), by, out, (&w, &t))
        }
        "extract by a vector" => {
            let (indices, named) = device_indices(backend, n, n, seed + 4)?;
            let t = MimicVector(named.iter().map(|i| u.0[(*i)? as usize]).collect());
            manner.compare(|| extract(&x, &indices), by, out, (&w, &t))
        }
        "assign_at" => {
            let indices = operands::distinct_indices(n / 2, n, seed + 4);
            let part = MimicVector(u.0[..indices.len()].to_vec());
            let mut expected = w.clone();
            mimic::assign(&mut expected, chosen, merge, &part, &indices, manner.replace);
            manner.write(assign_at(&Vector::from_host(backend, part.to_vector())?, &indices), mask, &mut out)?;
            Ok(compare_vector(&expected, &out.to_host()?))
        }
        "assign_at by a vector" => {
            let (indices, named) = device_indices(backend, n, n, seed + 4)?;
            // What names no position is passed over; the last of several stays, or all are merged in the order of the list.
            let kept: Vec<(u32, Option<T>)> = named.iter().zip(&u.0).filter_map(|(i, value)| Some(((*i)?, *value))).collect();
            let (list, part): (Vec<u32>, Vec<Option<T>>) = kept.into_iter().unzip();
            let mut expected = w.clone();
            mimic::assign(&mut expected, chosen, merge, &MimicVector(part), &list, manner.replace);
            manner.write(assign_at(&x, &indices), mask, &mut out)?;
            Ok(compare_vector(&expected, &out.to_host()?))
        }
        "assign" => {
            let mut expected = w.clone();
            mimic::write(&mut expected.0, chosen, merge, &vec![Some(T::ONE); n], manner.replace);
            manner.write(assign(T::ONE), mask, &mut out)?;
            Ok(compare_vector(&expected, &out.to_host()?))
        }
        "assign a value of the device" => {
            let value = mimic::reduce(Max, &u);
            let mut expected = w.clone();
            mimic::write(&mut expected.0, chosen, merge, &vec![Some(value); n], manner.replace);
            manner.write(assign(&reduce(Max, &x).eval()?), mask, &mut out)?;
            Ok(compare_vector(&expected, &out.to_host()?))
        }
        "reduce" => reductions(backend, &u, &x),
        _ => constructors(backend, &u),
    }
}

/// A list on the device, and what it names.
type Listed<B> = (Vector<B, u32>, Vec<Option<u32>>);

/// Indices on the device, some absent and some out of range, and the positions they name.
fn device_indices<B: VectorOps>(backend: &B, n: usize, len: usize, seed: u64) -> Result<Listed<B>, B::Error> {
    let (indices, there) = (operands::indices(n, len + 3, seed), operands::vector::<bool>(n, 0.8, seed + 1));
    let list = MimicVector(indices.iter().zip(&there.0).map(|(&i, there)| there.map(|_| i)).collect());
    let named = list.0.iter().map(|i| i.filter(|&i| (i as usize) < len)).collect();
    Ok((Vector::from_host(backend, list.to_vector())?, named))
}

/// Reduction by every kind of monoid.
fn reductions<B: VectorOps, T: Stored>(backend: &B, u: &MimicVector<T>, x: &Vector<B, T>) -> Result<Outcome, B::Error> {
    macro_rules! each {
        ($($m:ident)*) => { $(
            let (expected, found) = (mimic::reduce($m, u), reduce($m, x).eval()?.read()?);
            if expected != found {
                return Ok(Outcome::Failed(format!("{}: expected {expected:?}, found {found:?}", stringify!($m))));
            }
        )* };
    }
    each!(Plus Min Max Lor Any);
    // More ones than halves can count one by one.
    let ones = MimicVector::full(&[T::ONE; 4096]);
    let (expected, found) = (mimic::reduce(Plus, &ones), reduce(Plus, &Vector::filled(backend, 4096, T::ONE)?).eval()?.read()?);
    if expected != found {
        return Ok(Outcome::Failed(format!("4096 ones: expected {expected:?}, found {found:?}")));
    }
    Ok(Outcome::Passed)
}

/// Vectors made on the device against those made on the host, and their counts.
fn constructors<B: VectorOps, T: Stored>(backend: &B, u: &MimicVector<T>) -> Result<Outcome, B::Error> {
    let n = u.len();
    let entries = || u.0.iter().enumerate().filter_map(|(i, v)| Some((i as u32, (*v)?)));
    let indices: Vec<u32> = entries().map(|(i, _)| i).collect();
    let same = |value: T| MimicVector(u.0.iter().map(|v| v.map(|_| value)).collect::<Vec<_>>());
    let made: [(&str, Vector<B, T>, HostVector<T>); 4] = [
        ("empty", Vector::empty(backend, n)?, HostVector::empty(n)),
        ("filled", Vector::filled(backend, n, T::largest())?, HostVector::filled(n, T::largest())),
        ("from_entries", Vector::from_entries(backend, n, entries())?, u.to_vector()),
        ("from_indices", Vector::from_indices(backend, n, &indices, T::ONE)?, same(T::ONE).to_vector()),
    ];
    for (name, found, expected) in made {
        let counts = (found.len(), found.nvals()?, found.is_empty()?);
        if found.to_host()? != expected || counts != (n, expected.nvals(), expected.nvals() == 0) {
            return Ok(Outcome::Failed(format!("{name}: {counts:?} of {n}")));
        }
    }
    let counted = Vector::iota(backend, n)?.to_host()?;
    Ok(compare_vector(&MimicVector::full(&(0..n as u32).collect::<Vec<_>>()), &counted))
}
