//! The generated suite: operation x format x semiring x type x mask x accumulator x shape, each against the dense mimic.

mod large;
mod matrices;
mod mxm;
mod mxv;
mod vectors;

use crate::{Outcome, Report, pairwise};
use bitgraph::sparse::{FormatKind, MaskMode, Stored, Vector};
use bitgraph_testkit::{MimicMatrix, MimicVector, Tolerance};

/// The name of this ring.
pub(crate) const RING: &str = "operations";

/// The masks: none, or one of the four modes.
pub(crate) fn mask_of(choice: usize) -> Option<MaskMode> {
    choice.checked_sub(1).map(|m| MaskMode::ALL[m])
}

/// The shapes of test matrices: rows, columns, density.
pub(crate) const SHAPES: [(usize, usize, f64); 12] = [
    (0, 5, 0.5),
    (5, 0, 0.5),
    (1, 1, 1.0),
    (1, 70, 0.9),
    (70, 1, 0.9),
    (7, 9, 0.4),
    (31, 64, 0.1),
    (64, 31, 0.1),
    (65, 33, 0.02),
    (33, 33, 0.2),
    (40, 40, 0.0),
    (100, 17, 0.7),
];

/// The formats' names, by choice.
pub(crate) fn format_of(choice: usize) -> FormatKind {
    FormatKind::ALL[choice]
}

/// The cases of a suite.
pub(crate) fn cases(sizes: &[usize], full: bool) -> Vec<Vec<usize>> {
    if full { pairwise::full(sizes) } else { pairwise::covering(sizes) }
}

/// Compares exactly: the operands are small whole numbers, whose sums every type holds.
pub(crate) fn compare_vector<T: Stored>(expected: &MimicVector<T>, found: &Vector<T>) -> Outcome {
    match Tolerance::EXACT.compare(&expected.0, &MimicVector::from_vector(found).0) {
        Ok(()) => Outcome::Passed,
        Err(m) => Outcome::Failed(m.to_string()),
    }
}

/// As [`compare_vector`], for matrices.
pub(crate) fn compare_matrix<T: Stored>(expected: &MimicMatrix<T>, found: &MimicMatrix<T>) -> Outcome {
    if (expected.rows, expected.columns) != (found.rows, found.columns) {
        return Outcome::Failed(format!("shape {} x {}", found.rows, found.columns));
    }
    match Tolerance::EXACT.compare(&expected.entries, &found.entries) {
        Ok(()) => Outcome::Passed,
        Err(m) => Outcome::Failed(m.to_string()),
    }
}

/// A host vector, without presence bits where every position holds an entry, since kernels treat these apart.
pub(crate) fn full_if_possible<T: Stored>(v: &MimicVector<T>) -> Vector<T> {
    match v.0.iter().copied().collect::<Option<Vec<T>>>() {
        Some(values) => Vector::from_vec(values),
        None => v.to_vector(),
    }
}

pub use large::Large;
pub use mxm::MatrixProducts;
pub use mxv::Products;

/// Runs the suite on one form of a backend.
pub fn run<B: Large + Products + MatrixProducts>(report: &mut Report, backend: &B, form: &str, full: bool) {
    vectors::run(report, backend, form, full);
    backend.verify_mxv(report, form, full);
    backend.verify_mxm(report, form, full);
    matrices::run(report, backend, form, full);
    large::run(report, backend, form);
}

/// Calls a generic function for the semirings: three over every type, the others over an integer, an unsigned integer, a half and
/// a float type each (an instance of a kernel differs by its types, and compiling all of them takes longer than it tells).
macro_rules! for_semirings {
    ($call:ident!($($argument:tt)*)) => {
        for_semirings!(@each $call [$($argument)*] [i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64] PlusTimes MinPlus MaxMin);
        for_semirings!(@each $call [$($argument)*] [i32 u64 f16 f32] PlusFirst PlusSecond PlusPair MaxPlus MinTimes MaxTimes MinFirst
            MinSecond AnySecond AnyPair);
        for_semirings!(@each $call [$($argument)*] [f64] PlusSecond);
        for_semirings!(@each $call [$($argument)*] [bool] LorLand AnySecond AnyPair);
    };
    (@each $call:ident $arguments:tt $types:tt $($semiring:ident)*) => { $(
        for_semirings!(@one $call $arguments $semiring $types);
    )* };
    (@one $call:ident $arguments:tt $semiring:ident [$($t:ty)*]) => { $( for_semirings!(@call $call $arguments $semiring $t); )* };
    (@call $call:ident [$($argument:tt)*] $semiring:ident $t:ty) => { $call::<_, $semiring<$t>>($($argument)*); };
}
pub(crate) use for_semirings;
