//! Operations of the CUDA backend.
#![allow(unused_variables)]

use crate::{Cuda, Error};
use bitgraph_backend::{Accumulate, Error as Base, MatrixMask, MatrixOps, Mxm, Mxv, Ring, VectorMask, VectorOps};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Descriptor, Stored};

fn unsupported() -> Error {
    Base::Unsupported { operation: "this operation", what: "the CUDA backend".into(), available: "fused algorithms" }.into()
}

impl<S: Ring> Mxv<S> for Cuda {    fn mxv_checked<C: Accumulate<S::Out>>(
        &self,
        w: &mut Self::Vector<S::Out>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        u: &Self::Vector<S::X>,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
}

impl<S: Ring> Mxm<S> for Cuda {    fn mxm_checked<C: Accumulate<S::Out>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &Self::Matrix,
        b: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn mxm_reduce_checked(
        &self,
        mask: Option<MatrixMask<'_, Self>>,
        a: &Self::Matrix,
        b: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<Self::Value<S::Out>, Error> { Err(unsupported()) }
}

impl VectorOps for Cuda {
    fn ewise_add_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        v: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn ewise_mult_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        v: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn apply_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut Self::Vector<Op::Out>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn select_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        op: Op,
        u: &Self::Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn reduce_checked<T: Stored, M: Monoid<T>>(&self, monoid: M, u: &Self::Vector<T>) -> Result<Self::Value<T>, Error> { Err(unsupported()) }
    fn extract_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        u: &Self::Vector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn assign_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        u: &Self::Vector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn assign_value_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        value: T,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
}

impl MatrixOps for Cuda {
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
    ) -> Result<(), Error> { Err(unsupported()) }
    fn apply_matrix_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut Self::Matrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn select_matrix_checked<T: Stored, Op: SelectOp<T>>(
        &self,
        op: Op,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<Self::Matrix, Error> { Err(unsupported()) }
    fn reduce_matrix_checked<T: Stored, M: Monoid<T>>(&self, monoid: M, a: &Self::Matrix) -> Result<Self::Value<T>, Error> { Err(unsupported()) }
    fn reduce_rows_checked<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        monoid: M,
        a: &Self::Matrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> { Err(unsupported()) }
    fn extract_matrix_checked(
        &self,
        a: &Self::Matrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<Self::Matrix, Error> { Err(unsupported()) }
    fn assign_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        accum: C,
        a: &Self::Matrix,
        rows: &[u32],
        columns: &[u32],
    ) -> Result<(), Error> { Err(unsupported()) }
    fn transpose_checked(&self, a: &Self::Matrix) -> Result<Self::Matrix, Error> { Err(unsupported()) }
    fn kronecker_checked<T: Stored, Op: BinaryOp<T>>(
        &self,
        op: Op,
        a: &Self::Matrix,
        b: &Self::Matrix,
    ) -> Result<Self::Matrix, Error> { Err(unsupported()) }
}
