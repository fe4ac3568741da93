//! Extraction, assignment, transposition.

use super::backend::{Indices, MatrixOps, MatrixWrite, Region, Source, VectorOps};
use super::operation::{
    Computation, Evaluates, FirstMatrix, How, Operand, Operation, VectorSelector, Writes, new_matrix, new_vector, to_matrix, to_vector,
};
use super::{OPERAND, in_range, same, same_shape};
use crate::{Accumulate, Backend, Error, Matrix, NoAccum, Typed, Value, Vector};
use bitgraph_sparse::Stored;

/// [`extract`].
pub struct Extract<X, L> {
    a: X,
    lists: L,
}

/// `u(indices)`: position `k` of the result is position `indices[k]` of `u`. Of a matrix, `A(rows, columns)`: entry (i, j) of the result
/// is entry (`rows[i]`, `columns[j]`) of `A`. An index may occur several times.
pub fn extract<'a, X: Operand>(u: X, lists: impl Into<X::Lists<'a>>) -> Operation<Extract<X::Held, X::Lists<'a>>>
where
    Extract<X::Held, X::Lists<'a>>: Computation,
{
    Operation::new(Extract { a: u.held(), lists: lists.into() })
}

/// Refuses indices out of range; those on the device name no position then.
fn inside<B: Backend>(operation: &'static str, indices: &Indices<'_, B>, len: usize) -> Result<(), Error> {
    match indices {
        Indices::Host(list) => in_range(operation, "index list", list, len),
        Indices::Device(_) => Ok(()),
    }
}
fn inside_region(operation: &'static str, region: Region<'_>, shape: (usize, usize)) -> Result<(), Error> {
    in_range(operation, "row list", region.rows, shape.0)?;
    in_range(operation, "column list", region.columns, shape.1)
}

impl<B: VectorOps, T: Stored> Computation for Extract<Vector<B, T>, Indices<'_, B>> {
    type Backend = B;
    type Mask = VectorSelector<B>;
}
impl<B: VectorOps, T: Stored> Writes for Extract<Vector<B, T>, Indices<'_, B>> {
    type Output = Vector<B, T>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, w: &mut Vector<B, T>, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
        inside("extract", &self.lists, self.a.len())?;
        let mut operands = vec![("input vector", self.a.backend())];
        operands.extend(self.lists.made_on());
        to_vector("extract", &operands, self.lists.len(), w, how, |b, w, write| b.extract(w, write, self.a.raw(), self.lists.clone()))
    }
}
impl<B: VectorOps, T: Stored> Evaluates for Extract<Vector<B, T>, Indices<'_, B>> {
    type Result = Vector<B, T>;
    fn evaluate(self, how: How<VectorSelector<B>, NoAccum>) -> Result<Vector<B, T>, B::Error> {
        let (backend, len) = (self.a.backend().clone(), self.lists.len());
        new_vector(self, &backend, len, how)
    }
}
impl<B: MatrixOps, T: Stored> Computation for Extract<Typed<B, T>, Region<'_>> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: MatrixOps, T: Stored> Writes for Extract<Typed<B, T>, Region<'_>> {
    type Output = Matrix<B>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
        inside_region("extract", self.lists, self.a.shape())?;
        self.a.check("extract")?;
        let shape = (self.lists.rows.len(), self.lists.columns.len());
        let run = |b: &B, c: &mut B::Matrix, write: MatrixWrite<'_, B, C>| b.extract_matrix::<T, _>(c, write, self.a.view(), self.lists);
        to_matrix::<B, T, C>("extract", &[("matrix", self.a.backend())], shape, c, how, run)
    }
}
impl<B: MatrixOps, T: Stored> Evaluates for Extract<Typed<B, T>, Region<'_>> {
    type Result = Matrix<B>;
    fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Matrix<B>, B::Error> {
        let (backend, format) = (self.a.backend().clone(), self.a.format());
        let shape = (self.lists.rows.len(), self.lists.columns.len());
        new_matrix(self, &backend, shape, format, how)
    }
}
impl<B: Backend, T: Stored, L> FirstMatrix for Extract<Typed<B, T>, L> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}

/// A single value, on the host or on the device.
pub enum Scalar<B: Backend, T: Stored> {
    /// On the host.
    Host(T),
    /// On the device; it does not cross.
    Device(Value<B, T>),
}
impl<B: Backend, T: Stored> From<T> for Scalar<B, T> {
    fn from(value: T) -> Self {
        Self::Host(value)
    }
}
impl<B: Backend, T: Stored> From<&Value<B, T>> for Scalar<B, T> {
    fn from(value: &Value<B, T>) -> Self {
        Self::Device(value.clone())
    }
}

/// [`assign`].
pub struct Fill<B: Backend, T: Stored> {
    value: Scalar<B, T>,
}

/// One value at every position that the mask selects. It is a part of a vector, so that there is no new one of it: see [`Vector::filled`].
pub fn assign<B: VectorOps, T: Stored>(value: impl Into<Scalar<B, T>>) -> Operation<Fill<B, T>> {
    Operation::new(Fill { value: value.into() })
}
impl<B: VectorOps, T: Stored> Computation for Fill<B, T> {
    type Backend = B;
    type Mask = VectorSelector<B>;
}
impl<B: VectorOps, T: Stored> Writes for Fill<B, T> {
    type Output = Vector<B, T>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, w: &mut Vector<B, T>, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
        let (source, operand) = match &self.value {
            Scalar::Host(value) => (Source::Value(*value), None),
            Scalar::Device(value) => (Source::Device(value.raw()), Some(("value", value.backend()))),
        };
        to_vector("assign", operand.as_slice(), w.len(), w, how, |b, w, write| b.assign(w, write, source))
    }
}

/// [`assign_at`].
pub struct AssignAt<X, L> {
    a: X,
    lists: L,
}

/// `w(indices) = u`: position `indices[k]` of the output meets position `k` of `u`; the mask is over all of the output, and so is
/// `replace`: positions outside `indices` stay, or lose their entry with `replace` where the mask does not select them. Without an
/// accumulator, entries of that part of the output that `u` lacks are deleted. An index of a vector may occur several times: with an
/// accumulator all its values are merged (in an order of the backend's own, so it should be commutative); without one the last one stays.
///
/// Of a matrix, `C(rows, columns) = A`: entry (`rows[i]`, `columns[j]`) of the output meets entry (i, j) of `A`. An index may occur once
/// only.
pub fn assign_at<'a, X: Operand>(u: X, lists: impl Into<X::Lists<'a>>) -> Operation<AssignAt<X::Held, X::Lists<'a>>>
where
    AssignAt<X::Held, X::Lists<'a>>: Computation,
{
    Operation::new(AssignAt { a: u.held(), lists: lists.into() })
}

impl<B: VectorOps, T: Stored> Computation for AssignAt<Vector<B, T>, Indices<'_, B>> {
    type Backend = B;
    type Mask = VectorSelector<B>;
}
impl<B: VectorOps, T: Stored> Writes for AssignAt<Vector<B, T>, Indices<'_, B>> {
    type Output = Vector<B, T>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, w: &mut Vector<B, T>, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
        same("assign_at", "index list", self.a.len(), self.lists.len())?;
        inside("assign_at", &self.lists, w.len())?;
        let mut operands = vec![("input vector", self.a.backend())];
        operands.extend(self.lists.made_on());
        to_vector("assign_at", &operands, w.len(), w, how, |b, w, write| b.assign(w, write, Source::At(self.a.raw(), self.lists.clone())))
    }
}
impl<B: MatrixOps, T: Stored> Computation for AssignAt<Typed<B, T>, Region<'_>> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: MatrixOps, T: Stored> Writes for AssignAt<Typed<B, T>, Region<'_>> {
    type Output = Matrix<B>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
        let region = self.lists;
        same_shape("assign_at", OPERAND, (region.rows.len(), region.columns.len()), self.a.shape())?;
        inside_region("assign_at", region, c.shape())?;
        for (operand, list) in [("row list", region.rows), ("column list", region.columns)] {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
                return Err(Error::RepeatedIndex { operation: "assign_at", operand, index: twice[0].into() }.into());
            }
        }
        self.a.check("assign_at")?;
        let run = |b: &B, c: &mut B::Matrix, write: MatrixWrite<'_, B, C>| b.assign_matrix::<T, _>(c, write, self.a.view(), region);
        to_matrix::<B, T, C>("assign_at", &[("matrix", self.a.backend())], c.shape(), c, how, run)
    }
}
impl<B: Backend, T: Stored, L> FirstMatrix for AssignAt<Typed<B, T>, L> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}

/// [`transpose`].
pub struct Transpose<B: Backend, T> {
    a: Typed<B, T>,
}

/// The transpose of `A`; with [`transpose_a`](Operation::transpose_a) it is `A` itself. (As an operand of other operations a transpose is
/// a view.)
pub fn transpose<B: MatrixOps, T: Stored>(mut a: Typed<B, T>) -> Operation<Transpose<B, T>> {
    a.flip();
    Operation::new(Transpose { a })
}
impl<B: MatrixOps, T: Stored> Computation for Transpose<B, T> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: MatrixOps, T: Stored> Writes for Transpose<B, T> {
    type Output = Matrix<B>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
        self.a.check("transpose")?;
        let run = |b: &B, c: &mut B::Matrix, write: MatrixWrite<'_, B, C>| b.copy_matrix::<T, _>(c, write, self.a.view());
        to_matrix::<B, T, C>("transpose", &[("matrix", self.a.backend())], self.a.shape(), c, how, run)
    }
}
impl<B: MatrixOps, T: Stored> Evaluates for Transpose<B, T> {
    type Result = Matrix<B>;
    fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Matrix<B>, B::Error> {
        let (backend, shape, format) = (self.a.backend().clone(), self.a.shape(), self.a.format());
        new_matrix(self, &backend, shape, format, how)
    }
}
impl<B: MatrixOps, T: Stored> FirstMatrix for Transpose<B, T> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}
