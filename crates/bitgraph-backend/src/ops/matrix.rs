//! Operations on matrices alone. The output keeps its format.
//!
//! A pattern matrix has the value 1 of the operation's type at every entry. An output that is a pattern stays one where the result is
//! a pattern too and nothing is accumulated: what is selected, extracted, assigned or transposed from a pattern is one, and so is the
//! Kronecker product of two by an operator that makes 1 of ones. In every other case it has values from then on.

use super::{MatrixMask, VectorMask, in_range, same, typed};
use crate::{Accumulate, Backend, Error};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Descriptor, Stored};

/// The matrix operations of a backend; operands are checked. Called through the functions of [`crate::ops`], whose meaning, errors and
/// determinism are theirs.
pub trait MatrixOps: Backend {
    /// [`ewise_add_matrix`] with `union`, [`ewise_mult_matrix`] without.
    fn ewise_matrix_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        union: bool,
        a: &Self::Matrix,
        b: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`apply_matrix`].
    fn apply_matrix_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`select_matrix`].
    fn select_matrix_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`reduce_matrix`].
    fn reduce_matrix_checked<T: Stored, M: Monoid<T>>(&self, monoid: M, a: &Self::Matrix) -> Result<Self::Value<T>, Self::Error>;
    /// [`reduce_rows`].
    fn reduce_rows_checked<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        monoid: M,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`extract_matrix`].
    fn extract_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`assign_matrix`].
    fn assign_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`transpose`].
    fn transpose_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`kronecker`].
    fn kronecker_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &Self::Matrix,
        b: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
}

fn shape<B: Backend>(backend: &B, a: &B::Matrix, transpose: bool) -> (usize, usize) {
    let (r, c) = backend.matrix_shape(a);
    if transpose { (c, r) } else { (r, c) }
}

/// The names of a matrix's sides, for errors.
type Sides = [&'static str; 2];
const OPERAND: Sides = ["rows of a matrix", "columns of a matrix"];
const OUTPUT: Sides = ["rows of the output", "columns of the output"];
const MASK: Sides = ["rows of the mask", "columns of the mask"];

fn same_shape(operation: &'static str, sides: Sides, expected: (usize, usize), found: (usize, usize)) -> Result<(), Error> {
    same(operation, sides[0], expected.0, found.0)?;
    same(operation, sides[1], expected.1, found.1)
}

/// What an output and its mask have to be: of the result's shape, and of its type.
fn output<B: Backend, T: Stored>(
    backend: &B,
    operation: &'static str,
    result: (usize, usize),
    c: &B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
) -> Result<(), Error> {
    same_shape(operation, OUTPUT, result, backend.matrix_shape(c))?;
    mask.map_or(Ok(()), |m| same_shape(operation, MASK, result, backend.matrix_shape(m.matrix)))?;
    typed::<B, T>(backend, operation, c)
}

macro_rules! ewise {
    ($(#[$doc:meta])* $name:ident $text:literal $union:literal) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// [`Error::Shape`], [`Error::Type`], or the backend's.
        pub fn $name<B: MatrixOps, T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
            backend: &B,
            c: &mut B::Matrix,
            mask: Option<MatrixMask<'_, B>>,
            accum: C,
            op: Op,
            a: &B::Matrix,
            b: &B::Matrix,
            descriptor: Descriptor,
        ) -> Result<(), B::Error> {
            let result = shape(backend, a, descriptor.transpose_a);
            same_shape($text, OPERAND, result, shape(backend, b, descriptor.transpose_b))?;
            typed::<B, T>(backend, $text, a)?;
            typed::<B, T>(backend, $text, b)?;
            output::<B, T>(backend, $text, result, c, mask)?;
            backend.ewise_matrix_checked(c, mask, accum, op, $union, a, b, descriptor)
        }
    };
}
ewise!(/// `C<mask> = C accum (A op B)` over the union of the entries.
    ewise_add_matrix "ewise_add_matrix" true);
ewise!(/// `C<mask> = C accum (A op B)` over the intersection of the entries.
    ewise_mult_matrix "ewise_mult_matrix" false);

/// `C<mask> = C accum op(A)`, entry by entry.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn apply_matrix<B: MatrixOps, T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    op: Op,
    a: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    typed::<B, T>(backend, "apply_matrix", a)?;
    output::<B, Op::Out>(backend, "apply_matrix", shape(backend, a, descriptor.transpose_a), c, mask)?;
    backend.apply_matrix_checked::<T, Op, C>(c, mask, accum, op, a, descriptor)
}

/// `C<mask> = C accum` the entries of `A` that `op` keeps.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn select_matrix<B: MatrixOps, T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    op: Op,
    a: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    typed::<B, T>(backend, "select_matrix", a)?;
    output::<B, T>(backend, "select_matrix", shape(backend, a, descriptor.transpose_a), c, mask)?;
    backend.select_matrix_checked::<T, Op, C>(c, mask, accum, op, a, descriptor)
}

/// All entries combined by a monoid, as by [`reduce`](super::reduce); its identity if there are none.
///
/// # Errors
/// [`Error::Type`], or the backend's.
pub fn reduce_matrix<B: MatrixOps, T: Stored, M: Monoid<T>>(backend: &B, monoid: M, a: &B::Matrix) -> Result<B::Value<T>, B::Error> {
    typed::<B, T>(backend, "reduce_matrix", a)?;
    backend.reduce_matrix_checked(monoid, a)
}

/// `w<mask> = w accum` the entries of each row combined by a monoid, as by [`reduce`](super::reduce); a row without entries has no
/// result. With `descriptor.transpose_a` it is each column.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn reduce_rows<B: MatrixOps, T: Stored, M: Monoid<T>, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    monoid: M,
    a: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let (rows, _) = shape(backend, a, descriptor.transpose_a);
    same("reduce_rows", "output vector", rows, backend.vector_len(w))?;
    if let Some(m) = &mask {
        same("reduce_rows", "mask", rows, backend.vector_len(m.vector))?;
    }
    typed::<B, T>(backend, "reduce_rows", a)?;
    backend.reduce_rows_checked(w, mask, accum, monoid, a, descriptor)
}

/// `C<mask> = C accum A(rows, columns)`: entry (i, j) of `C` meets entry (`rows[i]`, `columns[j]`) of `A`. An index may occur several
/// times.
///
/// # Errors
/// [`Error::Shape`], [`Error::IndexOutOfRange`], [`Error::Type`], or the backend's.
pub fn extract_matrix<B: MatrixOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    a: &B::Matrix,
    rows: &[u32],
    columns: &[u32],
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let (r, k) = shape(backend, a, descriptor.transpose_a);
    in_range("extract_matrix", "row list", rows, r)?;
    in_range("extract_matrix", "column list", columns, k)?;
    typed::<B, T>(backend, "extract_matrix", a)?;
    output::<B, T>(backend, "extract_matrix", (rows.len(), columns.len()), c, mask)?;
    backend.extract_matrix_checked::<T, C>(c, mask, accum, a, rows, columns, descriptor)
}

/// `C<mask>(rows, columns) = C(rows, columns) accum A`: entry (`rows[i]`, `columns[j]`) of `C` meets entry (i, j) of `A`. Without
/// an accumulator, entries of that part of `C` that `A` lacks are deleted. The mask is over all of `C`, and so is `replace`. An index
/// may occur once only.
///
/// # Errors
/// [`Error::Shape`] for lists that do not fit `A`, [`Error::IndexOutOfRange`], [`Error::RepeatedIndex`], [`Error::Type`], or the backend's.
pub fn assign_matrix<B: MatrixOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    a: &B::Matrix,
    rows: &[u32],
    columns: &[u32],
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    same_shape("assign_matrix", OPERAND, (rows.len(), columns.len()), shape(backend, a, descriptor.transpose_a))?;
    let (r, k) = backend.matrix_shape(c);
    in_range("assign_matrix", "row list", rows, r)?;
    in_range("assign_matrix", "column list", columns, k)?;
    for (operand, list) in [("row list", rows), ("column list", columns)] {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return Err(Error::RepeatedIndex { operation: "assign_matrix", operand, index: twice[0].into() }.into());
        }
    }
    typed::<B, T>(backend, "assign_matrix", a)?;
    output::<B, T>(backend, "assign_matrix", (r, k), c, mask)?;
    backend.assign_matrix_checked::<T, C>(c, mask, accum, a, rows, columns, descriptor)
}

/// `C<mask> = C accum` the transpose of `A`; with `descriptor.transpose_a` it is `A` itself. (As an operand of other operations a
/// transpose is a view: that flag alone.)
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn transpose<B: MatrixOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    a: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    typed::<B, T>(backend, "transpose", a)?;
    output::<B, T>(backend, "transpose", shape(backend, a, !descriptor.transpose_a), c, mask)?;
    backend.transpose_checked::<T, C>(c, mask, accum, a, descriptor)
}

/// `C<mask> = C accum` the Kronecker product: entry (i p + k, j q + l) is `A(i, j) op B(k, l)`, with `B` of p x q.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn kronecker<B: MatrixOps, T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    op: Op,
    a: &B::Matrix,
    b: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let ((r, k), (p, q)) = (shape(backend, a, descriptor.transpose_a), shape(backend, b, descriptor.transpose_b));
    typed::<B, T>(backend, "kronecker", a)?;
    typed::<B, T>(backend, "kronecker", b)?;
    // A product that ids do not reach is no output's shape.
    output::<B, T>(backend, "kronecker", (r.saturating_mul(p), k.saturating_mul(q)), c, mask)?;
    backend.kronecker_checked::<T, Op, C>(c, mask, accum, op, a, b, descriptor)
}
