//! Matrix times matrix, with a sparse result or reduced to one value.

use super::{MatrixMask, same, typed};
use crate::{Accumulate, Backend, Error, Ring};
use bitgraph_sparse::Descriptor;

/// A backend that multiplies matrices over a semiring.
pub trait Mxm<S: Ring>: Backend {
    /// `C<mask> = C accum A B`; operands are checked. Called through [`mxm`].
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn mxm_checked<C: Accumulate<S::Out>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        b: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;

    /// The sum, by the semiring's addition, of all entries of `A B` that the mask selects; operands are checked.
    /// No product is stored. Called through [`mxm_reduce`].
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn mxm_reduce_checked(
        &self,
        mask: Option<MatrixMask<'_, Self>>,
        a: &Self::Matrix,
        b: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<Self::Value<S::Out>, Self::Error>;
}

fn shapes<B: Backend, S: Ring>(
    backend: &B,
    operation: &'static str,
    mask: Option<MatrixMask<'_, B>>,
    a: &B::Matrix,
    b: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(usize, usize), Error> {
    let flip = |(r, c): (usize, usize), t: bool| if t { (c, r) } else { (r, c) };
    let (rows, inner) = flip(backend.matrix_shape(a), descriptor.transpose_a);
    let (inner_b, columns) = flip(backend.matrix_shape(b), descriptor.transpose_b);
    same(operation, "rows of the second matrix", inner, inner_b)?;
    if let Some(m) = mask {
        let (r, c) = backend.matrix_shape(m.matrix);
        same(operation, "rows of the mask", rows, r)?;
        same(operation, "columns of the mask", columns, c)?;
    }
    typed::<B, S::A>(backend, operation, a)?;
    typed::<B, S::X>(backend, operation, b)?;
    Ok((rows, columns))
}

/// `C<mask> = C accum (A B)`: a sparse result, with an entry wherever a row of `A` meets a column of `B`.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn mxm<B: Mxm<S>, S: Ring, C: Accumulate<S::Out>>(
    backend: &B,
    c: &mut B::Matrix,
    mask: Option<MatrixMask<'_, B>>,
    accum: C,
    _semiring: S,
    a: &B::Matrix,
    b: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let (rows, columns) = shapes::<B, S>(backend, "mxm", mask, a, b, descriptor)?;
    let (r, k) = backend.matrix_shape(c);
    same("mxm", "rows of the output", rows, r)?;
    same("mxm", "columns of the output", columns, k)?;
    typed::<B, S::Out>(backend, "mxm", c)?;
    backend.mxm_checked(c, mask, accum, a, b, descriptor)
}

/// The sum of all entries of `A B` that the mask selects, without storing the product: triangle counting. It takes time by the
/// multiplications, or, under a mask that is not complemented, by the rows and columns that meet at its entries.
///
/// # Errors
/// [`Error::Shape`], [`Error::Type`], or the backend's.
pub fn mxm_reduce<B: Mxm<S>, S: Ring>(
    backend: &B,
    mask: Option<MatrixMask<'_, B>>,
    _semiring: S,
    a: &B::Matrix,
    b: &B::Matrix,
    descriptor: Descriptor,
) -> Result<B::Value<S::Out>, B::Error> {
    shapes::<B, S>(backend, "mxm_reduce", mask, a, b, descriptor)?;
    backend.mxm_reduce_checked(mask, a, b, descriptor)
}
