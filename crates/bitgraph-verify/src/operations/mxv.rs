//! mxv and vxm over every semiring and type.

use super::{Accumulator, Manner, PRODUCTS, SHAPES, cases, for_semirings, format_of, full_if_possible, mask_of, matrix_of};
use crate::{Outcome, Report};
use bitgraph::backend::{Mxv, StorableSemiring};
use bitgraph::prelude::{Cpu, Cuda, Vector, mxv, vxm};
use bitgraph::semiring::{
    AnyPair, AnySecond, LorLand, MaxMin, MaxPlus, MaxTimes, MinFirst, MinPlus, MinSecond, MinTimes, PlusFirst, PlusPair, PlusSecond,
    PlusTimes, Scalar,
};
use bitgraph_testkit::cases as operands;
use bitgraph_testkit::{MimicMatrix, MimicVector, mimic};
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
                let list = cases(&[6, 5, 2, 2, 2, 3, SHAPES.len(), 2, 2], full);
                for_semirings!(one!(report, self, form, &list));
            }
        }
    )* };
}
products!(Cpu Cuda);

/// One semiring over one type.
fn one<B: Mxv<S>, S: StorableSemiring>(report: &mut Report, backend: &B, form: &str, list: &[Vec<usize>]) {
    let what = format!("mxv {} {} ({form})", S::NAME, S::Out::DTYPE);
    for (seed, case) in list.iter().enumerate() {
        let outcome = check::<B, S>(backend, case, seed as u64).unwrap_or_else(|e| Outcome::Failed(e.to_string()));
        report.check(PRODUCTS, &what, || describe(case), outcome);
    }
}

fn check<B: Mxv<S>, S: StorableSemiring>(backend: &B, case: &[usize], seed: u64) -> Result<Outcome, B::Error> {
    let Operands { a, u, w, mask, manner } = Operands::<S::A, S::X, S::Out>::of(case, seed);
    let (row_vector, flipped) = (case[8] == 1, case[3] == 1);
    let selection = manner.mode.map(|m| mask.mask(m));
    let t = mimic::mxv(S::default(), &if flipped == row_vector { a.clone() } else { a.transposed() }, &u);
    let matrix = matrix_of(backend, &a, case[4] == 1, format_of(case[0]))?;
    let input = Vector::from_host(backend, full_if_possible(&u))?;
    let mask = Vector::from_host(backend, mask.to_vector())?;
    let output = Vector::from_host(backend, w.to_vector())?;
    let make = || {
        let product = if row_vector { vxm(&input, S::default(), &matrix) } else { mxv(S::default(), &matrix, &input) };
        if flipped { product.transpose_a() } else { product }
    };
    manner.compare(make, (&mask, selection.as_ref()), output, (&w, &t))
}

/// The operands of a case; the same for all semirings over the same types.
struct Operands<A, X, O> {
    a: MimicMatrix<A>,
    u: MimicVector<X>,
    w: MimicVector<O>,
    mask: MimicVector<bool>,
    manner: Manner,
}
impl<A: Scalar, X: Scalar, O: Scalar> Operands<A, X, O> {
    fn of(case: &[usize], seed: u64) -> Self {
        let (rows, columns, density) = SHAPES[case[6]];
        let mut a = operands::matrix::<A>(rows, columns, density, seed);
        if case[4] == 1 {
            a.entries.iter_mut().flatten().for_each(|v| *v = A::ONE);
        }
        let (out, inner) = if case[3] == case[8] { (rows, columns) } else { (columns, rows) };
        let u = operands::vector(inner, [1.1, 0.5, 0.03][case[5]], seed + 1);
        let w = operands::vector(out, 0.5, seed + 2);
        let mask = operands::vector(out, 0.6, seed + 3);
        let accumulator = [Accumulator::None, Accumulator::Minus][case[7]];
        Self { a, u, w, mask, manner: Manner { mode: mask_of(case[1]), replace: case[2] == 1, accumulator } }
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
        ["none", "minus"][case[7]],
    )
}
