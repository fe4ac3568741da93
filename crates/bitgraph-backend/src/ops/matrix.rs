//! Operations on matrices alone. A result that is written into an output takes the output's format; one that is returned
//! takes the format of its first operand.
//!
//! A pattern matrix has the value 1 of the operation's type at every entry.

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
    /// [`select_matrix`]: keeps a pattern a pattern.
    fn select_matrix_checked<T: Stored, Op: SelectOp<T>>(
        &self,
        op: Op,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<Self::Matrix, Self::Error>;
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
    /// [`extract_matrix`]: keeps a pattern a pattern.
    fn extract_matrix_checked(
        &self,
        a: &Self::Matrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<Self::Matrix, Self::Error>;
    /// [`assign_matrix`].
    fn assign_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        accum: C,
        a: &Self::Matrix,
        rows: &[u32],
        columns: &[u32],
    ) -> Result<(), Self::Error>;
    /// [`transpose`]: keeps the format.
    fn transpose_checked(&self, a: &Self::Matrix) -> Result<Self::Matrix, Self::Error>;
    /// [`kronecker`].
    fn kronecker_checked<T: Stored, Op: BinaryOp<T>>(
        &self,
        op: Op,
        a: &Self::Matrix,
        b: &Self::Matrix,
    ) -> Result<Self::Matrix, Self::Error>;
}

fn shape<B: Backend>(backend: &B, a: &B::Matrix, transpose: bool) -> (usize, usize) {
    let (r, c) = backend.matrix_shape(a);
    if transpose { (c, r) } else { (r, c) }
}

fn same_shape(operation: &'static str, expected: (usize, usize), found: (usize, usize)) -> Result<(), Error> {
    same(operation, "rows of a matrix", expected.0, found.0)?;
    same(operation, "columns of a matrix", expected.1, found.1)
}

fn masked<B: Backend>(
    backend: &B,
    operation: &'static str,
    expected: (usize, usize),
    mask: Option<MatrixMask<'_, B>>,
) -> Result<(), Error> {
    mask.map_or(Ok(()), |m| same_shape(operation, expected, backend.matrix_shape(m.matrix)))
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
            let expected = backend.matrix_shape(c);
            same_shape($text, expected, shape(backend, a, descriptor.transpose_a))?;
            same_shape($text, expected, shape(backend, b, descriptor.transpose_b))?;
            masked(backend, $text, expected, mask)?;
            typed::<B, T>(backend, $text, a)?;
            typed::<B, T>(backend, $text, b)?;
            typed::<B, T>(backend, $text, c)?;
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
    let expected = backend.matrix_shape(c);
    same_shape("apply_matrix", expected, shape(backend, a, descriptor.transpose_a))?;
    masked(backend, "apply_matrix", expected, mask)?;
    typed::<B, T>(backend, "apply_matrix", a)?;
    typed::<B, Op::Out>(backend, "apply_matrix", c)?;
    backend.apply_matrix_checked::<T, Op, C>(c, mask, accum, op, a, descriptor)
}

/// The entries of `A` (of its transpose, with `descriptor.transpose_a`) that `op` keeps, in the format of `A`. A pattern stays
/// a pattern.
///
/// # Errors
/// [`Error::Type`], or the backend's.
pub fn select_matrix<B: MatrixOps, T: Stored, Op: SelectOp<T>>(
    backend: &B,
    op: Op,
    a: &B::Matrix,
    descriptor: Descriptor,
) -> Result<B::Matrix, B::Error> {
    typed::<B, T>(backend, "select_matrix", a)?;
    backend.select_matrix_checked::<T, Op>(op, a, descriptor)
}

/// All entries combined by a monoid; its identity if there are none.
///
/// # Errors
/// [`Error::Type`], or the backend's.
pub fn reduce_matrix<B: MatrixOps, T: Stored, M: Monoid<T>>(backend: &B, monoid: M, a: &B::Matrix) -> Result<B::Value<T>, B::Error> {
    typed::<B, T>(backend, "reduce_matrix", a)?;
    backend.reduce_matrix_checked(monoid, a)
}

/// `w<mask> = w accum` the entries of each row combined by a monoid; a row without entries has no result. With
/// `descriptor.transpose_a` it is each column.
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

/// The submatrix `A(rows, columns)`: entry (i, j) is entry (`rows[i]`, `columns[j]`) of `A`. A pattern stays a pattern.
///
/// # Errors
/// [`Error::IndexOutOfRange`], or the backend's.
pub fn extract_matrix<B: MatrixOps>(
    backend: &B,
    a: &B::Matrix,
    rows: &[u32],
    columns: &[u32],
    descriptor: Descriptor,
) -> Result<B::Matrix, B::Error> {
    let (r, c) = shape(backend, a, descriptor.transpose_a);
    in_range("extract_matrix", "row list", rows, r)?;
    in_range("extract_matrix", "column list", columns, c)?;
    backend.extract_matrix_checked(a, rows, columns, descriptor)
}

/// `C(rows, columns) = C(rows, columns) accum A`: entry (`rows[i]`, `columns[j]`) of `C` meets entry (i, j) of `A`. Without
/// an accumulator, entries of that part of `C` that `A` lacks are deleted. An index may occur once only.
///
/// # Errors
/// [`Error::Shape`] for lists that do not fit `A`, [`Error::IndexOutOfRange`], [`Error::RepeatedIndex`], [`Error::Type`], or the backend's.
pub fn assign_matrix<B: MatrixOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    c: &mut B::Matrix,
    accum: C,
    a: &B::Matrix,
    rows: &[u32],
    columns: &[u32],
) -> Result<(), B::Error> {
    same_shape("assign_matrix", (rows.len(), columns.len()), backend.matrix_shape(a))?;
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
    typed::<B, T>(backend, "assign_matrix", c)?;
    backend.assign_matrix_checked::<T, C>(c, accum, a, rows, columns)
}

/// The transpose as a matrix of its own, in the same format. (In operations it is a view: a descriptor's flag.)
///
/// # Errors
/// The backend's.
pub fn transpose<B: MatrixOps>(backend: &B, a: &B::Matrix) -> Result<B::Matrix, B::Error> {
    backend.transpose_checked(a)
}

/// The Kronecker product: entry (i p + k, j q + l) is `A(i, j) op B(k, l)`, with `B` of p x q. Two patterns make a pattern.
///
/// # Errors
/// [`Error::Type`], a product too large for 32-bit ids, or the backend's.
pub fn kronecker<B: MatrixOps, T: Stored, Op: BinaryOp<T>>(
    backend: &B,
    op: Op,
    a: &B::Matrix,
    b: &B::Matrix,
) -> Result<B::Matrix, B::Error> {
    typed::<B, T>(backend, "kronecker", a)?;
    typed::<B, T>(backend, "kronecker", b)?;
    backend.kronecker_checked(op, a, b)
}
