//! Element by element, and reductions: over vectors, and over matrices of a stated type.

use super::backend::{MatrixOps, VectorOps};
use super::operation::{
    Computation, Evaluates, FirstMatrix, How, Operand, Operation, SecondMatrix, VectorSelector, Writes, new_matrix, new_vector, to_matrix,
    to_vector,
};
use super::{OPERAND, same, same_shape};
use crate::{Accumulate, Backend, Matrix, NoAccum, Typed, Value, Vector};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::Stored;

/// [`ewise_add`] and [`ewise_mult`].
pub struct Ewise<X, Op> {
    op: Op,
    union: bool,
    a: X,
    b: X,
}

/// `u op v` over the union of the entries: where only one operand has an entry, it is taken as it is.
pub fn ewise_add<X: Operand, Op>(op: Op, u: X, v: X) -> Operation<Ewise<X::Held, Op>>
where
    Ewise<X::Held, Op>: Computation,
{
    Operation::new(Ewise { op, union: true, a: u.held(), b: v.held() })
}

/// `u op v` over the intersection of the entries.
pub fn ewise_mult<X: Operand, Op>(op: Op, u: X, v: X) -> Operation<Ewise<X::Held, Op>>
where
    Ewise<X::Held, Op>: Computation,
{
    Operation::new(Ewise { op, union: false, a: u.held(), b: v.held() })
}

impl<X, Op> Ewise<X, Op> {
    fn name(&self) -> &'static str {
        if self.union { "ewise_add" } else { "ewise_mult" }
    }
}
impl<B: VectorOps, T: Stored, Op: BinaryOp<T>> Computation for Ewise<Vector<B, T>, Op> {
    type Backend = B;
    type Mask = VectorSelector<B>;
}
impl<B: VectorOps, T: Stored, Op: BinaryOp<T>> Writes for Ewise<Vector<B, T>, Op> {
    type Output = Vector<B, T>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, w: &mut Vector<B, T>, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
        let (name, len) = (self.name(), self.a.len());
        same(name, "second vector", len, self.b.len())?;
        let operands = [("first vector", self.a.backend()), ("second vector", self.b.backend())];
        to_vector(name, &operands, len, w, how, |b, w, write| b.ewise(w, write, self.op, self.union, (self.a.raw(), self.b.raw())))
    }
}
impl<B: VectorOps, T: Stored, Op: BinaryOp<T>> Evaluates for Ewise<Vector<B, T>, Op> {
    type Result = Vector<B, T>;
    fn evaluate(self, how: How<VectorSelector<B>, NoAccum>) -> Result<Vector<B, T>, B::Error> {
        let (backend, len) = (self.a.backend().clone(), self.a.len());
        new_vector(self, &backend, len, how)
    }
}
impl<B: MatrixOps, T: Stored, Op: BinaryOp<T>> Computation for Ewise<Typed<B, T>, Op> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: MatrixOps, T: Stored, Op: BinaryOp<T>> Writes for Ewise<Typed<B, T>, Op> {
    type Output = Matrix<B>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
        let (name, shape) = (self.name(), self.a.shape());
        same_shape(name, OPERAND, shape, self.b.shape())?;
        self.a.check(name)?;
        self.b.check(name)?;
        let views = (self.a.view(), self.b.view());
        let operands = [("first matrix", self.a.backend()), ("second matrix", self.b.backend())];
        to_matrix::<B, T, C>(name, &operands, shape, c, how, |b, c, write| b.ewise_matrix::<T, _, _>(c, write, self.op, self.union, views))
    }
}
impl<B: MatrixOps, T: Stored, Op: BinaryOp<T>> Evaluates for Ewise<Typed<B, T>, Op> {
    type Result = Matrix<B>;
    fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Matrix<B>, B::Error> {
        let (backend, shape, format) = (self.a.backend().clone(), self.a.shape(), self.a.format());
        new_matrix(self, &backend, shape, format, how)
    }
}
impl<B: Backend, T: Stored, Op> FirstMatrix for Ewise<Typed<B, T>, Op> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}
impl<B: Backend, T: Stored, Op> SecondMatrix for Ewise<Typed<B, T>, Op> {
    fn flip_second(&mut self) {
        self.b.flip();
    }
}

/// [`apply`].
pub struct Apply<X, Op> {
    op: Op,
    a: X,
}

/// `op(u)`, entry by entry.
pub fn apply<X: Operand, Op>(op: Op, u: X) -> Operation<Apply<X::Held, Op>>
where
    Apply<X::Held, Op>: Computation,
{
    Operation::new(Apply { op, a: u.held() })
}

/// [`select`].
pub struct Select<X, Op> {
    op: Op,
    a: X,
}

/// The entries of `u` that `op` keeps.
pub fn select<X: Operand, Op>(op: Op, u: X) -> Operation<Select<X::Held, Op>>
where
    Select<X::Held, Op>: Computation,
{
    Operation::new(Select { op, a: u.held() })
}

macro_rules! unary {
    ($name:ident $text:literal $op:ident ($($out:tt)*) $element:ty, $vector:ident $matrix:ident) => {
        impl<B: VectorOps, T: Stored, Op: $op<T $($out)*>> Computation for $name<Vector<B, T>, Op> {
            type Backend = B;
            type Mask = VectorSelector<B>;
        }
        impl<B: VectorOps, T: Stored, Op: $op<T $($out)*>> Writes for $name<Vector<B, T>, Op> {
            type Output = Vector<B, $element>;
            type Element = $element;
            fn write<C: Accumulate<$element>>(self, w: &mut Self::Output, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
                let operands = [("input vector", self.a.backend())];
                to_vector($text, &operands, self.a.len(), w, how, |b, w, write| b.$vector(w, write, self.op, self.a.raw()))
            }
        }
        impl<B: VectorOps, T: Stored, Op: $op<T $($out)*>> Evaluates for $name<Vector<B, T>, Op> {
            type Result = Vector<B, $element>;
            fn evaluate(self, how: How<VectorSelector<B>, NoAccum>) -> Result<Self::Result, B::Error> {
                let (backend, len) = (self.a.backend().clone(), self.a.len());
                new_vector(self, &backend, len, how)
            }
        }
        impl<B: MatrixOps, T: Stored, Op: $op<T $($out)*>> Computation for $name<Typed<B, T>, Op> {
            type Backend = B;
            type Mask = Matrix<B>;
        }
        impl<B: MatrixOps, T: Stored, Op: $op<T $($out)*>> Writes for $name<Typed<B, T>, Op> {
            type Output = Matrix<B>;
            type Element = $element;
            fn write<C: Accumulate<$element>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
                self.a.check($text)?;
                let run = |b: &B, c: &mut B::Matrix, write: super::MatrixWrite<'_, B, C>| b.$matrix::<T, _, _>(c, write, self.op, self.a.view());
                to_matrix::<B, $element, C>($text, &[("matrix", self.a.backend())], self.a.shape(), c, how, run)
            }
        }
        impl<B: MatrixOps, T: Stored, Op: $op<T $($out)*>> Evaluates for $name<Typed<B, T>, Op> {
            type Result = Matrix<B>;
            fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Matrix<B>, B::Error> {
                let (backend, shape, format) = (self.a.backend().clone(), self.a.shape(), self.a.format());
                new_matrix(self, &backend, shape, format, how)
            }
        }
        impl<B: Backend, T: Stored, Op> FirstMatrix for $name<Typed<B, T>, Op> {
            fn flip_first(&mut self) {
                self.a.flip();
            }
        }
    };
}
unary!(Apply "apply" UnaryOp (, Out: Stored) Op::Out, apply apply_matrix);
unary!(Select "select" SelectOp () T, select select_matrix);

/// [`reduce`].
pub struct Reduce<X, M> {
    monoid: M,
    a: X,
}

/// The entries combined by a monoid into a value; its identity if there are none. Halves are combined in single precision, by
/// [`Monoid::combine_wide`], as in products; the result is rounded once. On a CPU values are combined in pairs of pairs, so that a
/// sum of `n` floats errs by at most `32 + log2 n` units of roundoff of the sum of magnitudes ([`Monoid::fold_wide`]); on a device a
/// reduction of `f32` by a built-in monoid is formed in `f64`.
pub fn reduce<X: Operand, M>(monoid: M, u: X) -> Operation<Reduce<X::Held, M>>
where
    Reduce<X::Held, M>: Computation,
{
    Operation::new(Reduce { monoid, a: u.held() })
}

/// What cannot be a mask.
pub enum NoMask {}
impl<B: VectorOps, T: Stored, M: Monoid<T>> Computation for Reduce<Vector<B, T>, M> {
    type Backend = B;
    type Mask = NoMask;
}
impl<B: VectorOps, T: Stored, M: Monoid<T>> Evaluates for Reduce<Vector<B, T>, M> {
    type Result = Value<B, T>;
    fn evaluate(self, _: How<NoMask, NoAccum>) -> Result<Value<B, T>, B::Error> {
        Ok(Value::from_raw(self.a.backend(), self.a.backend().reduce(self.monoid, self.a.raw())?))
    }
}
impl<B: MatrixOps, T: Stored, M: Monoid<T>> Computation for Reduce<Typed<B, T>, M> {
    type Backend = B;
    type Mask = NoMask;
}
impl<B: MatrixOps, T: Stored, M: Monoid<T>> Evaluates for Reduce<Typed<B, T>, M> {
    type Result = Value<B, T>;
    fn evaluate(self, _: How<NoMask, NoAccum>) -> Result<Value<B, T>, B::Error> {
        self.a.check("reduce")?;
        Ok(Value::from_raw(self.a.backend(), self.a.backend().reduce_matrix(self.monoid, self.a.view())?))
    }
}

/// [`reduce_rows`].
pub struct ReduceRows<B: Backend, T, M> {
    monoid: M,
    a: Typed<B, T>,
}

/// The entries of each row combined by a monoid, as by [`reduce`]; a row without entries has no result. With
/// [`transpose_a`](Operation::transpose_a) it is each column.
pub fn reduce_rows<B: MatrixOps, T: Stored, M: Monoid<T>>(monoid: M, a: Typed<B, T>) -> Operation<ReduceRows<B, T, M>> {
    Operation::new(ReduceRows { monoid, a })
}

impl<B: MatrixOps, T: Stored, M: Monoid<T>> Computation for ReduceRows<B, T, M> {
    type Backend = B;
    type Mask = VectorSelector<B>;
}
impl<B: MatrixOps, T: Stored, M: Monoid<T>> Writes for ReduceRows<B, T, M> {
    type Output = Vector<B, T>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, w: &mut Vector<B, T>, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
        self.a.check("reduce_rows")?;
        let (rows, operands) = (self.a.shape().0, [("matrix", self.a.backend())]);
        to_vector("reduce_rows", &operands, rows, w, how, |b, w, write| b.reduce_rows(w, write, self.monoid, self.a.view()))
    }
}
impl<B: MatrixOps, T: Stored, M: Monoid<T>> Evaluates for ReduceRows<B, T, M> {
    type Result = Vector<B, T>;
    fn evaluate(self, how: How<VectorSelector<B>, NoAccum>) -> Result<Vector<B, T>, B::Error> {
        let (backend, len) = (self.a.backend().clone(), self.a.shape().0);
        new_vector(self, &backend, len, how)
    }
}
impl<B: Backend, T: Stored, M> FirstMatrix for ReduceRows<B, T, M> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}
