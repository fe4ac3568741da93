//! Matrix times vector, and vector times matrix.

use super::{VectorMask, same, typed};
use crate::{Accumulate, Backend, Ring};
use bitgraph_sparse::Descriptor;

/// A backend that multiplies a matrix by a vector over a semiring.
pub trait Mxv<S: Ring>: Backend {
    /// `w<mask> = w accum A u`; operands are checked. Called through [`mxv`].
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn mxv_checked<C: Accumulate<S::Out>>(
        &self,
        w: &mut Self::Vector<S::Out>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        u: &Self::Vector<S::X>,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
}

/// `w<mask> = w accum (A u)`: `w(i)` holds the sum over `j` of `A(i, j) times u(j)`, where at least one such pair exists.
/// With `descriptor.transpose_a` it is the transpose of `A`. O(nnz), or O(entries of the rows that `u` selects).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type), or the backend's.
pub fn mxv<B: Mxv<S>, S: Ring, C: Accumulate<S::Out>>(
    backend: &B,
    w: &mut B::Vector<S::Out>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    _semiring: S,
    a: &B::Matrix,
    u: &B::Vector<S::X>,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let (mut rows, mut columns) = backend.matrix_shape(a);
    if descriptor.transpose_a {
        std::mem::swap(&mut rows, &mut columns);
    }
    same("mxv", "input vector", columns, backend.vector_len(u))?;
    same("mxv", "output vector", rows, backend.vector_len(w))?;
    if let Some(m) = &mask {
        same("mxv", "mask", rows, backend.vector_len(m.vector))?;
    }
    typed::<B, S::A>(backend, "mxv", a)?;
    backend.mxv_checked(w, mask, accum, a, u, descriptor)
}

/// `w<mask> = w accum (u A)`: [`mxv`] with the transpose of `A`. The semiring's product takes the matrix value first.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type), or the backend's.
pub fn vxm<B: Mxv<S>, S: Ring, C: Accumulate<S::Out>>(
    backend: &B,
    w: &mut B::Vector<S::Out>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    semiring: S,
    u: &B::Vector<S::X>,
    a: &B::Matrix,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let flipped = Descriptor { transpose_a: !descriptor.transpose_a, ..descriptor };
    mxv(backend, w, mask, accum, semiring, a, u, flipped)
}
