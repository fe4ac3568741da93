//! mxv and vxm over every semiring and type.

use super::{RING, SHAPES, cases, compare_vector, for_semirings, format_of, full_if_possible, mask_of};
use crate::{Outcome, Report};
use bitgraph::backend::ops::{mxv, vxm};
use bitgraph::backend::{Accum, Mxv, NoAccum, Ring, VectorMask};
use bitgraph::prelude::{Cpu, Cuda};
use bitgraph::semiring::{
    AnyPair, AnySecond, LorLand, Max, MaxMin, MaxPlus, MaxTimes, MinFirst, MinPlus, MinSecond, MinTimes, Minus, PlusFirst, PlusPair,
    PlusSecond, PlusTimes, Scalar,
};
use bitgraph::sparse::Descriptor;
use bitgraph_testkit::cases as operands;
use bitgraph_testkit::mimic::{self, Accumulate, accumulate};
use half::{bf16, f16};

/// The products of a backend over every semiring: a trait of its own, because a generic function would have to name them all.
pub trait Products {
    /// Runs the suite of products with vectors.
    fn verify_mxv(&self, report: &mut Report, form: &str, full: bool);
}

macro_rules! products {
    ($($backend:ty)*) => { $(
        impl Products for $backend {
            fn verify_mxv(&self, report: &mut Report, form: &str, full: bool) {
                // Format, mask, replace, transpose, pattern, sparse input, shape, accumulator, vxm.
                let list = cases(&[6, 5, 2, 2, 2, 3, SHAPES.len(), 3, 2], full);
                for_semirings!(one!(report, self, form, &list));
            }
        }
    )* };
}
products!(Cpu Cuda);

/// One semiring over one type.
fn one<B: Mxv<S>, S: Ring>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    let what = format!("mxv {} {} ({form})", S::NAME, S::Out::DTYPE);
    for (seed, case) in list.iter().enumerate() {
        let outcome = check::<B, S>(backend, case, seed as u64).unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(RING, &what, || describe(case), outcome);
    }
}

fn check<B: Mxv<S>, S: Ring>(backend: &B, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let (rows, columns, density) = SHAPES[case[6]];
    let mut a = operands::matrix::<S::A>(rows, columns, density, seed);
    let pattern = case[4] == 1;
    if pattern {
        a.entries.iter_mut().flatten().for_each(|v| *v = S::A::ONE);
    }
    let row_vector = case[8] == 1;
    let transposed = (case[3] == 1) != row_vector;
    let (out, inner) = if transposed { (columns, rows) } else { (rows, columns) };
    let u = operands::vector::<S::X>(inner, [1.1, 0.5, 0.03][case[5]], seed + 1);
    let w = operands::vector::<S::Out>(out, 0.5, seed + 2);
    let mask = operands::vector::<bool>(out, 0.6, seed + 3);
    let mode = mask_of(case[1]);
    let descriptor = Descriptor { transpose_a: case[3] == 1, transpose_b: false, replace: case[2] == 1 };

    let mut expected = w.clone();
    let selection = mode.map(|m| mask.mask(m));
    let (max, minus) = (accumulate(Max), accumulate(Minus));
    let accum: Accumulate<'_, S::Out> = match case[7] {
        0 => None,
        1 => Some(&max),
        _ => Some(&minus),
    };
    if row_vector {
        mimic::vxm(&mut expected, selection.as_ref(), accum, S::default(), &u, &a, descriptor);
    } else {
        mimic::mxv(&mut expected, selection.as_ref(), accum, S::default(), &a, &u, descriptor);
    }

    let (csr, values) = a.to_csr();
    let matrix = backend.matrix(&csr, (!pattern).then_some(&values), format_of(case[0]))?;
    let input = backend.vector(full_if_possible(&u))?;
    let mask = backend.vector(mask.to_vector())?;
    let mask = mode.map(|mode| VectorMask::<B> { vector: &mask, mode });
    let mut output = backend.vector(w.to_vector())?;
    match case[7] {
        0 => product::<B, S, _>(backend, row_vector, &mut output, mask, NoAccum, &matrix, &input, descriptor)?,
        1 => product::<B, S, _>(backend, row_vector, &mut output, mask, Accum(Max), &matrix, &input, descriptor)?,
        _ => product::<B, S, _>(backend, row_vector, &mut output, mask, Accum(Minus), &matrix, &input, descriptor)?,
    }
    Ok(compare_vector(&expected, &backend.vector_to_host(&output)?))
}

fn product<B: Mxv<S>, S: Ring, C: bitgraph::backend::Accumulate<S::Out>>(
    backend: &B,
    row_vector: bool,
    output: &mut B::Vector<S::Out>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    matrix: &B::Matrix,
    input: &B::Vector<S::X>,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    if row_vector {
        vxm(backend, output, mask, accum, S::default(), input, matrix, descriptor)
    } else {
        mxv(backend, output, mask, accum, S::default(), matrix, input, descriptor)
    }
}

fn describe(case: &[usize]) -> String {
    let (rows, columns, density) = SHAPES[case[6]];
    format!(
        "{} {} mask {:?} replace {} transpose {} pattern {} input {} accumulator {} shape {rows} x {columns} ({density})",
        if case[8] == 1 { "vxm" } else { "mxv" },
        format_of(case[0]),
        mask_of(case[1]),
        case[2] == 1,
        case[3] == 1,
        case[4] == 1,
        ["full", "half", "sparse"][case[5]],
        ["none", "max", "minus"][case[7]],
    )
}
