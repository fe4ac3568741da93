//! The generated suite: operation x format x semiring x type x mask x accumulator x shape, each against the dense mimic.

mod large;
mod matrices;
mod mxm;
mod mxv;
mod vectors;

use crate::{Options, Outcome, Report};
use bitgraph::backend::Backend;
use bitgraph::backend::ops::{Computation, Evaluates, MaskOf, Operation, VectorSelector, Writes};
use bitgraph::prelude::{Matrix, Vector};
use bitgraph::semiring::Minus;
use bitgraph::sparse::{FormatKind, MaskMode, Stored, Vector as HostVector};
use bitgraph_testkit::mimic::{self, Accumulate, MimicMask, accumulate};
use bitgraph_testkit::pairwise;
use bitgraph_testkit::{MimicMatrix, MimicVector, Tolerance};

/// The names of these rings.
pub(crate) const VECTORS: &str = "vectors";
pub(crate) const PRODUCTS: &str = "products";
pub(crate) const MATRICES: &str = "matrices";

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
pub(crate) fn compare_vector<T: Stored>(expected: &MimicVector<T>, found: &HostVector<T>) -> Outcome {
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
pub(crate) fn full_if_possible<T: Stored>(v: &MimicVector<T>) -> HostVector<T> {
    match v.0.iter().copied().collect::<Option<Vec<T>>>() {
        Some(values) => HostVector::from_vec(values),
        None => v.to_vector(),
    }
}

pub use large::Large;

/// The accumulators: none, or one that tells what was there from what is new. (Every other one would be compiled for each operation and type.)
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accumulator {
    None,
    Minus,
}

/// How a case writes its result.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub mode: Option<MaskMode>,
    pub replace: bool,
    pub accumulator: Accumulator,
}

impl Manner {
    /// What the mimic merges by.
    pub(crate) fn merge<'a, T>(&self, minus: &'a dyn Fn(T, T) -> T) -> Accumulate<'a, T> {
        match self.accumulator {
            Accumulator::None => None,
            Accumulator::Minus => Some(minus),
        }
    }
    /// An operation with this case's mask.
    pub(crate) fn masked<F: Computation, C>(&self, operation: Operation<F, C>, by: &(impl MaskOf<F::Mask> + ?Sized)) -> Operation<F, C> {
        let operation = match self.mode {
            None => operation,
            Some(mode) => operation.masked(by, mode),
        };
        if self.replace { operation.replace() } else { operation }
    }
    /// Writes an operation's result.
    pub(crate) fn write<F: Writes>(
        &self,
        operation: Operation<F>,
        by: &(impl MaskOf<F::Mask> + ?Sized),
        output: &mut F::Output,
    ) -> Result<(), <F::Backend as Backend>::Error> {
        match self.accumulator {
            Accumulator::None => self.masked(operation, by).into(output),
            Accumulator::Minus => self.masked(operation.accum(Minus), by).into(output),
        }
    }
    /// Writes an operation's result to what is there and to a new vector, and compares both with the mimic's result `t`.
    pub(crate) fn compare<B: Backend, T: Stored, F>(
        &self,
        make: impl Fn() -> Operation<F>,
        by: (&dyn MaskOf<VectorSelector<B>>, Option<&MimicMask>),
        mut output: Vector<B, T>,
        (old, t): (&MimicVector<T>, &MimicVector<T>),
    ) -> Result<Outcome, B::Error>
    where
        F: Writes<Backend = B, Output = Vector<B, T>> + Evaluates<Result = Vector<B, T>> + Computation<Mask = VectorSelector<B>>,
    {
        self.write(make(), by.0, &mut output)?;
        let new = self.masked(make(), by.0).eval()?;
        let [expected, expected_new] = self.expected(&old.0, &t.0, by.1);
        Ok(match compare_vector(&MimicVector(expected), &output.to_host()?) {
            Outcome::Passed => compare_vector(&MimicVector(expected_new), &new.to_host()?),
            failed => failed,
        })
    }
    /// What is to be written over `old`, and what is to be new.
    fn expected<T: Stored>(&self, old: &[Option<T>], t: &[Option<T>], by: Option<&MimicMask>) -> [Vec<Option<T>>; 2] {
        let (mut written, mut new) = (old.to_vec(), vec![None; t.len()]);
        mimic::write(&mut written, by, self.merge(&accumulate(Minus)), t, self.replace);
        mimic::write(&mut new, by, None, t, true);
        [written, new]
    }
    /// As [`Manner::compare`], for matrices; the output is left for further checks.
    pub(crate) fn compare_matrices<B: Backend, T: Stored, F>(
        &self,
        make: impl Fn() -> Operation<F>,
        by: (&Matrix<B>, Option<&MimicMask>),
        output: &mut Matrix<B>,
        (old, t): (&MimicMatrix<T>, &MimicMatrix<T>),
    ) -> Result<Outcome, B::Error>
    where
        F: Writes<Backend = B, Output = Matrix<B>> + Evaluates<Result = Matrix<B>> + Computation<Mask = Matrix<B>>,
    {
        self.write(make(), by.0, output)?;
        let new = self.masked(make(), by.0).eval()?;
        let shaped = |entries| MimicMatrix { entries, ..MimicMatrix::empty(t.rows, t.columns) };
        let [expected, expected_new] = self.expected(&old.entries, &t.entries, by.1).map(shaped);
        Ok(match compare_matrix(&expected, &mimic_of(output)?) {
            Outcome::Passed => compare_matrix(&expected_new, &mimic_of(&new)?),
            failed => failed,
        })
    }
}

/// A matrix on a backend.
pub(crate) fn matrix_of<B: Backend, T: Stored>(
    backend: &B,
    m: &MimicMatrix<T>,
    pattern: bool,
    format: FormatKind,
) -> Result<Matrix<B>, B::Error> {
    let (csr, values) = m.to_csr();
    Matrix::new(backend, &csr, (!pattern).then_some(&values), format)
}
/// And back.
pub(crate) fn mimic_of<B: Backend, T: Stored>(matrix: &Matrix<B>) -> Result<MimicMatrix<T>, B::Error> {
    let (csr, values) = matrix.to_host()?;
    Ok(MimicMatrix::from_csr(&csr, values.as_ref()))
}

pub use mxm::MatrixProducts;
pub use mxv::Products;

/// Runs the wanted rings on one form of a backend.
pub fn run<B: Large + Products + MatrixProducts>(report: &mut Report, backend: &B, form: &str, options: &Options) {
    if options.wants(VECTORS) {
        vectors::run(report, backend, form, options.full);
    }
    if options.wants(PRODUCTS) {
        backend.verify_mxv(report, form, options.full);
        backend.verify_mxm(report, form, options.full);
    }
    if options.wants(MATRICES) {
        matrices::run(report, backend, form, options.full);
        large::run(report, backend, form);
    }
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
