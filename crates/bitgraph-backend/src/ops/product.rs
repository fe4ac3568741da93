//! Products: matrix with vector, vector with matrix, matrix with matrix (sparse or reduced to one value), Kronecker.

use super::backend::{MatrixOps, Mxm, Mxv};
use super::operation::{
    Computation, Evaluates, FirstMatrix, How, Operation, SecondMatrix, Selector, VectorSelector, Writes, checked, new_matrix, new_vector,
    to_matrix, to_vector,
};
use super::{On, same};
use crate::{Accumulate, Backend, Error, Matrix, NoAccum, StorableSemiring, Typed, Value, Vector};
use bitgraph_semiring::{BinaryOp, Over};
use bitgraph_sparse::Stored;
use std::marker::PhantomData;

/// [`mxv`] and [`vxm`].
pub struct MatrixVector<B: Backend, S: StorableSemiring> {
    name: &'static str,
    a: Typed<B, S::A>,
    u: Vector<B, S::X>,
}

/// `A u`: position `i` holds the sum over `j` of `A(i, j) times u(j)`, where at least one such pair exists. The semiring may be a built-in
/// one's bare name, whose type is that of the vector then. O(nnz), or O(entries of the rows that `u` selects).
pub fn mxv<B, X, K>(_semiring: K, a: &Matrix<B>, u: &Vector<B, X>) -> Operation<MatrixVector<B, K::Semiring>>
where
    B: Mxv<K::Semiring>,
    X: Stored,
    K: Over<X, Semiring: StorableSemiring<X = X>>,
{
    Operation::new(MatrixVector { name: "mxv", a: a.typed(), u: u.clone() })
}

/// `u A`: [`mxv`] with the transpose of `A`. The semiring's product takes the matrix value first.
pub fn vxm<B, X, K>(u: &Vector<B, X>, _semiring: K, a: &Matrix<B>) -> Operation<MatrixVector<B, K::Semiring>>
where
    B: Mxv<K::Semiring>,
    X: Stored,
    K: Over<X, Semiring: StorableSemiring<X = X>>,
{
    let mut a = a.typed();
    a.flip();
    Operation::new(MatrixVector { name: "vxm", a, u: u.clone() })
}

impl<B: Mxv<S>, S: StorableSemiring> Computation for MatrixVector<B, S> {
    type Backend = B;
    type Mask = VectorSelector<B>;
}
impl<B: Mxv<S>, S: StorableSemiring> Writes for MatrixVector<B, S> {
    type Output = Vector<B, S::Out>;
    type Element = S::Out;
    fn write<C: Accumulate<S::Out>>(self, w: &mut Vector<B, S::Out>, how: How<VectorSelector<B>, C>) -> Result<(), B::Error> {
        let (rows, columns) = self.a.shape();
        same(self.name, "input vector", columns, self.u.len())?;
        self.a.check(self.name)?;
        let operands = [("matrix", self.a.backend()), ("input vector", self.u.backend())];
        to_vector(self.name, &operands, rows, w, how, |b, w, write| <B as Mxv<S>>::mxv(b, w, write, self.a.view(), self.u.raw()))
    }
}
impl<B: Mxv<S>, S: StorableSemiring> Evaluates for MatrixVector<B, S> {
    type Result = Vector<B, S::Out>;
    fn evaluate(self, how: How<VectorSelector<B>, NoAccum>) -> Result<Vector<B, S::Out>, B::Error> {
        let (backend, len) = (self.a.backend().clone(), self.a.shape().0);
        new_vector(self, &backend, len, how)
    }
}
impl<B: Backend, S: StorableSemiring> FirstMatrix for MatrixVector<B, S> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}

/// [`mxm`].
pub struct MatrixMatrix<B: Backend, S: StorableSemiring>(Product<B, S>);
/// [`mxm_reduce`].
pub struct ReducedProduct<B: Backend, S: StorableSemiring>(Product<B, S>);

struct Product<B: Backend, S: StorableSemiring> {
    a: Typed<B, S::A>,
    b: Typed<B, S::X>,
    semiring: PhantomData<S>,
}
impl<B: Backend, S: StorableSemiring> Product<B, S> {
    fn new(a: &Matrix<B>, b: &Matrix<B>) -> Self {
        Self { a: a.typed(), b: b.typed(), semiring: PhantomData }
    }
    fn shape(&self) -> (usize, usize) {
        (self.a.shape().0, self.b.shape().1)
    }
    fn made_on(&self) -> [On<'_, B>; 2] {
        [("first matrix", self.a.backend()), ("second matrix", self.b.backend())]
    }
    fn check(&self, operation: &'static str) -> Result<(), Error> {
        same(operation, "rows of the second matrix", self.a.shape().1, self.b.shape().0)?;
        self.a.check(operation)?;
        self.b.check(operation)
    }
}

/// `A B`: a sparse result, with an entry wherever a row of `A` meets a column of `B`.
pub fn mxm<B: Mxm<S>, S: StorableSemiring>(_semiring: S, a: &Matrix<B>, b: &Matrix<B>) -> Operation<MatrixMatrix<B, S>> {
    Operation::new(MatrixMatrix(Product::new(a, b)))
}

/// The sum of all entries of `A B` that the mask selects, as a value, without storing the product: triangle counting. It takes time by the
/// multiplications, or, under a mask that is not complemented, by the rows and columns that meet at its entries.
pub fn mxm_reduce<B: Mxm<S>, S: StorableSemiring>(_semiring: S, a: &Matrix<B>, b: &Matrix<B>) -> Operation<ReducedProduct<B, S>> {
    Operation::new(ReducedProduct(Product::new(a, b)))
}

impl<B: Mxm<S>, S: StorableSemiring> Computation for MatrixMatrix<B, S> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: Mxm<S>, S: StorableSemiring> Writes for MatrixMatrix<B, S> {
    type Output = Matrix<B>;
    type Element = S::Out;
    fn write<C: Accumulate<S::Out>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
        let Self(product) = self;
        product.check("mxm")?;
        let (a, b) = (product.a.view(), product.b.view());
        to_matrix::<B, S::Out, C>("mxm", &product.made_on(), product.shape(), c, how, |on, c, write| <B as Mxm<S>>::mxm(on, c, write, a, b))
    }
}
impl<B: Mxm<S>, S: StorableSemiring> Evaluates for MatrixMatrix<B, S> {
    type Result = Matrix<B>;
    fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Matrix<B>, B::Error> {
        let (backend, shape, format) = (self.0.a.backend().clone(), self.0.shape(), self.0.a.format());
        new_matrix(self, &backend, shape, format, how)
    }
}
impl<B: Mxm<S>, S: StorableSemiring> Computation for ReducedProduct<B, S> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: Mxm<S>, S: StorableSemiring> Evaluates for ReducedProduct<B, S> {
    type Result = Value<B, S::Out>;
    fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Value<B, S::Out>, B::Error> {
        let Self(product) = self;
        product.check("mxm_reduce")?;
        let backend = product.a.backend();
        let operands = [("second matrix", product.b.backend())];
        let mask = checked("mxm_reduce", backend, &operands, product.shape(), how.mask)?;
        let mask = mask.as_ref().map(<Matrix<B> as Selector<B>>::mask);
        Ok(Value::from_raw(backend, <B as Mxm<S>>::mxm_reduce(backend, mask, product.a.view(), product.b.view())?))
    }
}
macro_rules! both {
    ($($name:ident)*) => { $(
        impl<B: Backend, S: StorableSemiring> FirstMatrix for $name<B, S> {
            fn flip_first(&mut self) {
                self.0.a.flip();
            }
        }
        impl<B: Backend, S: StorableSemiring> SecondMatrix for $name<B, S> {
            fn flip_second(&mut self) {
                self.0.b.flip();
            }
        }
    )* };
}
both!(MatrixMatrix ReducedProduct);

/// [`kronecker`].
pub struct Kronecker<B: Backend, T, Op> {
    op: Op,
    a: Typed<B, T>,
    b: Typed<B, T>,
}

/// The Kronecker product: entry (i p + k, j q + l) is `A(i, j) op B(k, l)`, with `B` of p x q.
pub fn kronecker<B: MatrixOps, T: Stored, Op: BinaryOp<T>>(op: Op, a: Typed<B, T>, b: Typed<B, T>) -> Operation<Kronecker<B, T, Op>> {
    Operation::new(Kronecker { op, a, b })
}
impl<B: Backend, T: Stored, Op> Kronecker<B, T, Op> {
    /// A product that ids do not reach is no output's shape.
    fn shape(&self) -> (usize, usize) {
        let ((r, k), (p, q)) = (self.a.shape(), self.b.shape());
        (r.saturating_mul(p), k.saturating_mul(q))
    }
}
impl<B: MatrixOps, T: Stored, Op: BinaryOp<T>> Computation for Kronecker<B, T, Op> {
    type Backend = B;
    type Mask = Matrix<B>;
}
impl<B: MatrixOps, T: Stored, Op: BinaryOp<T>> Writes for Kronecker<B, T, Op> {
    type Output = Matrix<B>;
    type Element = T;
    fn write<C: Accumulate<T>>(self, c: &mut Matrix<B>, how: How<Matrix<B>, C>) -> Result<(), B::Error> {
        self.a.check("kronecker")?;
        self.b.check("kronecker")?;
        let views = (self.a.view(), self.b.view());
        let operands = [("first matrix", self.a.backend()), ("second matrix", self.b.backend())];
        to_matrix::<B, T, C>("kronecker", &operands, self.shape(), c, how, |b, c, write| b.kronecker::<T, _, _>(c, write, self.op, views))
    }
}
impl<B: MatrixOps, T: Stored, Op: BinaryOp<T>> Evaluates for Kronecker<B, T, Op> {
    type Result = Matrix<B>;
    fn evaluate(self, how: How<Matrix<B>, NoAccum>) -> Result<Matrix<B>, B::Error> {
        let (backend, shape, format) = (self.a.backend().clone(), self.shape(), self.a.format());
        new_matrix(self, &backend, shape, format, how)
    }
}
impl<B: Backend, T: Stored, Op> FirstMatrix for Kronecker<B, T, Op> {
    fn flip_first(&mut self) {
        self.a.flip();
    }
}
impl<B: Backend, T: Stored, Op> SecondMatrix for Kronecker<B, T, Op> {
    fn flip_second(&mut self) {
        self.b.flip();
    }
}
