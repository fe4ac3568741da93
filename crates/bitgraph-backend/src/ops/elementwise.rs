//! Operations on vectors alone.

use super::{VectorMask, in_range, same};
use crate::{Accumulate, Backend, Error};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Descriptor, Stored};

/// The vector operations of a backend; operands are checked. Called through the functions of [`crate::ops`], whose meaning, errors and
/// determinism are theirs.
pub trait VectorOps: Backend {
    /// [`ewise_add`].
    fn ewise_add_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        v: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`ewise_mult`].
    fn ewise_mult_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        v: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`apply`].
    fn apply_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut Self::Vector<Op::Out>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`select`].
    fn select_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`reduce`].
    fn reduce_checked<T: Stored, M: Monoid<T>>(&self, monoid: M, u: &Self::Vector<T>) -> Result<Self::Value<T>, Self::Error>;
    /// [`extract`].
    fn extract_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        u: &Self::Vector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`assign`].
    fn assign_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        u: &Self::Vector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
    /// [`assign_value`].
    fn assign_value_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        value: T,
        descriptor: Descriptor,
    ) -> Result<(), Self::Error>;
}

fn masked<B: Backend>(backend: &B, operation: &'static str, len: usize, mask: Option<VectorMask<'_, B>>) -> Result<(), Error> {
    mask.map_or(Ok(()), |m| same(operation, "mask", len, backend.vector_len(m.vector)))
}

/// `w<mask> = w accum (u op v)` over the union of the entries: where only one operand has an entry, it is taken as it is.
///
/// # Errors
/// [`Error::Shape`], or the backend's.
pub fn ewise_add<B: VectorOps, T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    op: Op,
    u: &B::Vector<T>,
    v: &B::Vector<T>,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let len = backend.vector_len(w);
    same("ewise_add", "first vector", len, backend.vector_len(u))?;
    same("ewise_add", "second vector", len, backend.vector_len(v))?;
    masked(backend, "ewise_add", len, mask)?;
    backend.ewise_add_checked(w, mask, accum, op, u, v, descriptor)
}

/// `w<mask> = w accum (u op v)` over the intersection of the entries.
///
/// # Errors
/// [`Error::Shape`], or the backend's.
pub fn ewise_mult<B: VectorOps, T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    op: Op,
    u: &B::Vector<T>,
    v: &B::Vector<T>,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let len = backend.vector_len(w);
    same("ewise_mult", "first vector", len, backend.vector_len(u))?;
    same("ewise_mult", "second vector", len, backend.vector_len(v))?;
    masked(backend, "ewise_mult", len, mask)?;
    backend.ewise_mult_checked(w, mask, accum, op, u, v, descriptor)
}

/// `w<mask> = w accum op(u)`, entry by entry.
///
/// # Errors
/// [`Error::Shape`], or the backend's.
pub fn apply<B: VectorOps, T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
    backend: &B,
    w: &mut B::Vector<Op::Out>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    op: Op,
    u: &B::Vector<T>,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let len = backend.vector_len(w);
    same("apply", "input vector", len, backend.vector_len(u))?;
    masked(backend, "apply", len, mask)?;
    backend.apply_checked(w, mask, accum, op, u, descriptor)
}

/// `w<mask> = w accum u`, with only the entries of `u` that `op` keeps.
///
/// # Errors
/// [`Error::Shape`], or the backend's.
pub fn select<B: VectorOps, T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    op: Op,
    u: &B::Vector<T>,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let len = backend.vector_len(w);
    same("select", "input vector", len, backend.vector_len(u))?;
    masked(backend, "select", len, mask)?;
    backend.select_checked(w, mask, accum, op, u, descriptor)
}

/// The entries of `u` combined by a monoid; its identity if there are none. Halves are combined in single precision, by
/// [`Monoid::combine_wide`], as in products; the result is rounded once. On a CPU values are combined in pairs of pairs, so that a
/// sum of `n` floats errs by at most `32 + log2 n` units of roundoff of the sum of magnitudes ([`Monoid::fold_wide`]); on a device a
/// reduction of `f32` is formed in `f64`.
///
/// # Errors
/// The backend's.
pub fn reduce<B: VectorOps, T: Stored, M: Monoid<T>>(backend: &B, monoid: M, u: &B::Vector<T>) -> Result<B::Value<T>, B::Error> {
    backend.reduce_checked(monoid, u)
}

/// `w<mask> = w accum u(indices)`: position `k` of `w` meets position `indices[k]` of `u`.
///
/// # Errors
/// [`Error::Shape`], [`Error::IndexOutOfRange`], or the backend's.
pub fn extract<B: VectorOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    u: &B::Vector<T>,
    indices: &[u32],
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let len = backend.vector_len(w);
    same("extract", "index list", len, indices.len())?;
    in_range("extract", "index list", indices, backend.vector_len(u))?;
    masked(backend, "extract", len, mask)?;
    backend.extract_checked(w, mask, accum, u, indices, descriptor)
}

/// `w<mask>(indices) = w(indices) accum u`: position `indices[k]` of `w` meets position `k` of `u`; the mask is over `w`.
/// Positions outside `indices` stay, or lose their entry with `replace` where the mask does not select them. An index may
/// occur several times: with an accumulator all its values are merged (in an order of the backend's own, so it should be
/// commutative); without one the last one stays.
///
/// # Errors
/// [`Error::Shape`], [`Error::IndexOutOfRange`], or the backend's.
pub fn assign<B: VectorOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    u: &B::Vector<T>,
    indices: &[u32],
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    let len = backend.vector_len(w);
    same("assign", "index list", backend.vector_len(u), indices.len())?;
    in_range("assign", "index list", indices, len)?;
    masked(backend, "assign", len, mask)?;
    backend.assign_checked(w, mask, accum, u, indices, descriptor)
}

/// `w<mask> = w accum value`, at every position that the mask selects.
///
/// # Errors
/// [`Error::Shape`], or the backend's.
pub fn assign_value<B: VectorOps, T: Stored, C: Accumulate<T>>(
    backend: &B,
    w: &mut B::Vector<T>,
    mask: Option<VectorMask<'_, B>>,
    accum: C,
    value: T,
    descriptor: Descriptor,
) -> Result<(), B::Error> {
    masked(backend, "assign_value", backend.vector_len(w), mask)?;
    backend.assign_value_checked(w, mask, accum, value, descriptor)
}
