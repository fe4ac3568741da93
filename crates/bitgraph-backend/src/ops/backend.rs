//! What a backend implements: a method for each family of operations. Operands are checked; meaning and determinism are those of the
//! functions of [`crate::ops`].

use crate::matrix::View;
use crate::{Accumulate, Backend, StorableSemiring, Vector};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{MaskMode, Stored};

/// How a result is written: `C<mask, replace> = C accum t`.
#[derive(Clone, Copy)]
pub struct Write<M, C> {
    /// Which places may be written; all without one.
    pub mask: Option<M>,
    /// How a result meets what is there.
    pub accum: C,
    /// Whether places that the mask does not select lose their entries.
    pub replace: bool,
}
/// How a vector is written.
pub type VectorWrite<'a, B, C> = Write<VectorMask<'a, B>, C>;
/// How a matrix is written.
pub type MatrixWrite<'a, B, C> = Write<MatrixMask<'a, B>, C>;

/// A mask over a vector, as bits. A vector of another type becomes some by [`Backend::vector_truth`].
pub struct VectorMask<'a, B: Backend> {
    /// The vector.
    pub vector: &'a B::Vector<bool>,
    /// How it selects.
    pub mode: MaskMode,
}

/// A mask over a matrix. A pattern's entries all count as true.
pub struct MatrixMask<'a, B: Backend> {
    /// The matrix.
    pub matrix: &'a B::Matrix,
    /// How it selects.
    pub mode: MaskMode,
}

impl<'a, B: Backend> VectorMask<'a, B> {
    /// Selects the positions that hold true.
    pub fn value(vector: &'a B::Vector<bool>) -> Self {
        Self { vector, mode: MaskMode::VALUE }
    }
    /// The opposite selection.
    #[must_use]
    pub fn complement(mut self) -> Self {
        self.mode.complement = !self.mode.complement;
        self
    }
}

// Derived impls would ask for `B: Copy`.
impl<B: Backend> Clone for VectorMask<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for VectorMask<'_, B> {}
impl<B: Backend> Clone for MatrixMask<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<B: Backend> Copy for MatrixMask<'_, B> {}

/// Positions of a vector: a list on the host, which is checked, or a vector on the device, which never crosses. Of the latter, indices
/// that are absent or out of range name no position.
pub enum Indices<'a, B: Backend> {
    /// On the host.
    Host(&'a [u32]),
    /// On the device.
    Device(Vector<B, u32>),
}
impl<B: Backend> Indices<'_, B> {
    /// The number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Host(list) => list.len(),
            Self::Device(vector) => vector.len(),
        }
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The operand that a list on the device is.
    pub(super) fn made_on(&self) -> Option<super::On<'_, B>> {
        match self {
            Self::Host(_) => None,
            Self::Device(vector) => Some(("index list", vector.backend())),
        }
    }
}
impl<B: Backend> Clone for Indices<'_, B> {
    fn clone(&self) -> Self {
        match self {
            Self::Host(list) => Self::Host(list),
            Self::Device(vector) => Self::Device(vector.clone()),
        }
    }
}
impl<'a, B: Backend> From<&'a [u32]> for Indices<'a, B> {
    fn from(list: &'a [u32]) -> Self {
        Self::Host(list)
    }
}
impl<'a, B: Backend> From<&'a Vec<u32>> for Indices<'a, B> {
    fn from(list: &'a Vec<u32>) -> Self {
        Self::Host(list)
    }
}
impl<'a, B: Backend, const N: usize> From<&'a [u32; N]> for Indices<'a, B> {
    fn from(list: &'a [u32; N]) -> Self {
        Self::Host(list)
    }
}
impl<B: Backend> From<&Vector<B, u32>> for Indices<'_, B> {
    fn from(vector: &Vector<B, u32>) -> Self {
        Self::Device(vector.clone())
    }
}

/// Some rows and some columns of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    /// The rows.
    pub rows: &'a [u32],
    /// The columns.
    pub columns: &'a [u32],
}
impl<'a, R: AsRef<[u32]> + ?Sized, C: AsRef<[u32]> + ?Sized> From<(&'a R, &'a C)> for Region<'a> {
    fn from((rows, columns): (&'a R, &'a C)) -> Self {
        Self { rows: rows.as_ref(), columns: columns.as_ref() }
    }
}

/// What is assigned to a vector.
pub enum Source<'a, B: Backend, T: Stored> {
    /// One value, at every position.
    Value(T),
    /// One value that is on the device, at every position.
    Device(&'a B::Value<T>),
    /// The entries of a vector at the positions of a list, one for each of its own.
    At(&'a B::Vector<T>, Indices<'a, B>),
}

/// The vector operations of a backend.
pub trait VectorOps: Backend {
    /// [`ewise_add`](super::ewise_add) with `union`, [`ewise_mult`](super::ewise_mult) without.
    fn ewise<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        union: bool,
        operands: (&Self::Vector<T>, &Self::Vector<T>),
    ) -> Result<(), Self::Error>;
    /// [`apply`](super::apply).
    fn apply<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut Self::Vector<Op::Out>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        u: &Self::Vector<T>,
    ) -> Result<(), Self::Error>;
    /// [`select`](super::select).
    fn select<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        u: &Self::Vector<T>,
    ) -> Result<(), Self::Error>;
    /// [`reduce`](super::reduce).
    fn reduce<T: Stored, M: Monoid<T>>(&self, monoid: M, u: &Self::Vector<T>) -> Result<Self::Value<T>, Self::Error>;
    /// [`extract`](super::extract).
    fn extract<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        write: VectorWrite<'_, Self, C>,
        u: &Self::Vector<T>,
        indices: Indices<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// [`assign`](super::assign) and [`assign_at`](super::assign_at).
    fn assign<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        write: VectorWrite<'_, Self, C>,
        source: Source<'_, Self, T>,
    ) -> Result<(), Self::Error>;
}

/// A backend that multiplies a matrix by a vector over a semiring.
pub trait Mxv<S: StorableSemiring>: Backend {
    /// [`mxv`](super::mxv).
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn mxv<C: Accumulate<S::Out>>(
        &self,
        w: &mut Self::Vector<S::Out>,
        write: VectorWrite<'_, Self, C>,
        a: View<'_, Self>,
        u: &Self::Vector<S::X>,
    ) -> Result<(), Self::Error>;
}

/// A backend that multiplies matrices over a semiring.
pub trait Mxm<S: StorableSemiring>: Backend {
    /// [`mxm`](super::mxm).
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn mxm<C: Accumulate<S::Out>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        b: View<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// [`mxm_reduce`](super::mxm_reduce): no product is stored.
    ///
    /// # Errors
    /// Out of memory, or a combination that is not there.
    fn mxm_reduce(
        &self,
        mask: Option<MatrixMask<'_, Self>>,
        a: View<'_, Self>,
        b: View<'_, Self>,
    ) -> Result<Self::Value<S::Out>, Self::Error>;
}

/// The matrix operations of a backend other than products.
pub trait MatrixOps: Backend {
    /// [`ewise_add`](super::ewise_add) with `union`, [`ewise_mult`](super::ewise_mult) without.
    fn ewise_matrix<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        union: bool,
        operands: (View<'_, Self>, View<'_, Self>),
    ) -> Result<(), Self::Error>;
    /// [`apply`](super::apply).
    fn apply_matrix<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        a: View<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// [`select`](super::select).
    fn select_matrix<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        a: View<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// [`reduce`](super::reduce).
    fn reduce_matrix<T: Stored, M: Monoid<T>>(&self, monoid: M, a: View<'_, Self>) -> Result<Self::Value<T>, Self::Error>;
    /// [`reduce_rows`](super::reduce_rows).
    fn reduce_rows<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut Self::Vector<T>,
        write: VectorWrite<'_, Self, C>,
        monoid: M,
        a: View<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// [`extract`](super::extract).
    fn extract_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        region: Region<'_>,
    ) -> Result<(), Self::Error>;
    /// [`assign_at`](super::assign_at).
    fn assign_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        region: Region<'_>,
    ) -> Result<(), Self::Error>;
    /// [`transpose`](super::transpose), where the view says whether that is what is written.
    fn copy_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
    ) -> Result<(), Self::Error>;
    /// [`kronecker`](super::kronecker).
    fn kronecker<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut Self::Matrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        operands: (View<'_, Self>, View<'_, Self>),
    ) -> Result<(), Self::Error>;
    /// [`Matrix::diagonal`](crate::Matrix::diagonal).
    ///
    /// # Errors
    /// Out of memory, or more rows than ids reach.
    fn matrix_diagonal<T: Stored>(&self, vector: &Self::Vector<T>) -> Result<Self::Matrix, Self::Error>;
    /// [`Matrix::cast`](crate::Matrix::cast).
    ///
    /// # Errors
    /// Out of memory.
    fn matrix_cast<T: Stored>(&self, matrix: &Self::Matrix) -> Result<Self::Matrix, Self::Error>;
}
