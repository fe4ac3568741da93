//! An operation as a value: what is computed, and where it goes.

use super::backend::{MatrixMask, VectorMask, Write};
use super::{MASK, OUTPUT, On, same, same_backend, same_shape};
use crate::{Accum, Accumulate, Backend, Matrix, NoAccum, Typed, Vector};
use bitgraph_sparse::{FormatKind, MaskMode, Stored};
use std::sync::Arc;

/// Nothing runs until it is written somewhere: by [`Operation::into`] to what is there already, or by [`Operation::eval`].
#[must_use = "an operation runs when it is written somewhere: `.into(&mut output)` or `.eval()`"]
pub struct Operation<F: Computation, C = NoAccum> {
    computation: F,
    how: How<F::Mask, C>,
}

/// What an operation computes, and over what. Implemented by the structs that the functions of [`crate::ops`] make.
pub trait Computation: Sized {
    /// The backend that computes it.
    type Backend: Backend;
    /// What a mask over its result is made of.
    type Mask;
}
/// The error of a computation's backend.
type ErrorOf<F> = <<F as Computation>::Backend as Backend>::Error;

/// A computation whose result is written to a vector or a matrix.
pub trait Writes: Computation {
    /// The vector or matrix.
    type Output;
    /// The type of its elements.
    type Element: Stored;
    /// Checks operands and output, and has the backend compute and write.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape), [`Type`](crate::Error::Type), [`OtherBackend`](crate::Error::OtherBackend), or the backend's.
    fn write<C: Accumulate<Self::Element>>(self, output: &mut Self::Output, how: How<Self::Mask, C>) -> Result<(), ErrorOf<Self>>;
}
/// A computation whose result can be new.
pub trait Evaluates: Computation {
    /// The result.
    type Result;
    /// Computes it where the mask selects.
    ///
    /// # Errors
    /// As [`Writes::write`].
    fn evaluate(self, how: How<Self::Mask, NoAccum>) -> Result<Self::Result, ErrorOf<Self>>;
}
/// A computation whose first matrix may be seen transposed.
pub trait FirstMatrix {
    /// Turns it over.
    fn flip_first(&mut self);
}
/// A computation whose second matrix may be seen transposed.
pub trait SecondMatrix {
    /// Turns it over.
    fn flip_second(&mut self);
}

/// Mask, accumulator and replace of an operation.
pub struct How<M, C> {
    pub(super) mask: Option<(M, MaskMode)>,
    pub(super) accum: C,
    pub(super) replace: bool,
}

impl<F: Computation> Operation<F> {
    pub(super) fn new(computation: F) -> Self {
        Self { computation, how: How { mask: None, accum: NoAccum, replace: false } }
    }
    /// The result as a new vector, matrix or value, with entries where the mask selects.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape), [`Type`](crate::Error::Type), [`OtherBackend`](crate::Error::OtherBackend),
    /// [`IndexOutOfRange`](crate::Error::IndexOutOfRange), or the backend's.
    pub fn eval(self) -> Result<F::Result, ErrorOf<F>>
    where
        F: Evaluates,
    {
        self.computation.evaluate(self.how)
    }
}

impl<F: Computation, C> Operation<F, C> {
    /// Writes only where the mask selects, by a mode that is known when the program runs; the four that follow name theirs.
    pub fn masked(mut self, mask: &(impl MaskOf<F::Mask> + ?Sized), mode: MaskMode) -> Self {
        self.how.mask = Some((mask.selector(), mode));
        self
    }
    /// Writes only where the mask holds an entry, whatever its value. A vector's mask is a vector of any type, a matrix's a matrix.
    pub fn mask(self, mask: &(impl MaskOf<F::Mask> + ?Sized)) -> Self {
        self.masked(mask, MaskMode::STRUCTURE)
    }
    /// Writes only where the mask holds an entry that is not zero.
    pub fn mask_values(self, mask: &(impl MaskOf<F::Mask> + ?Sized)) -> Self {
        self.masked(mask, MaskMode::VALUE)
    }
    /// Writes only where the mask holds no entry.
    pub fn unless(self, mask: &(impl MaskOf<F::Mask> + ?Sized)) -> Self {
        self.masked(mask, MaskMode::STRUCTURE_COMPLEMENT)
    }
    /// Writes only where the mask holds no entry, or a zero.
    pub fn unless_values(self, mask: &(impl MaskOf<F::Mask> + ?Sized)) -> Self {
        self.masked(mask, MaskMode::VALUE_COMPLEMENT)
    }
    /// Merges the result with what is there: `old op new` where both exist.
    pub fn accum<Op>(self, op: Op) -> Operation<F, Accum<Op>> {
        let How { mask, replace, .. } = self.how;
        Operation { computation: self.computation, how: How { mask, accum: Accum(op), replace } }
    }
    /// Deletes what is where the mask does not select.
    pub fn replace(mut self) -> Self {
        self.how.replace = true;
        self
    }
    /// Sees the first matrix transposed: a view, nothing is copied.
    pub fn transpose_a(mut self) -> Self
    where
        F: FirstMatrix,
    {
        self.computation.flip_first();
        self
    }
    /// Sees the second matrix transposed: a view, nothing is copied.
    pub fn transpose_b(mut self) -> Self
    where
        F: SecondMatrix,
    {
        self.computation.flip_second();
        self
    }
    /// Writes the result to what is there already: `output<mask, replace> = output accum t`.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape), [`Type`](crate::Error::Type), [`OtherBackend`](crate::Error::OtherBackend),
    /// [`IndexOutOfRange`](crate::Error::IndexOutOfRange), [`RepeatedIndex`](crate::Error::RepeatedIndex), or the backend's.
    pub fn into(self, output: &mut F::Output) -> Result<(), ErrorOf<F>>
    where
        F: Writes,
        C: Accumulate<F::Element>,
    {
        self.computation.write(output, self.how)
    }
}

/// What can be a mask: a vector of any type over vectors, a matrix over matrices.
pub trait MaskOf<M> {
    /// The mask, held by an operation.
    fn selector(&self) -> M;
}
/// Bits of a vector, and whether presence is what counts.
pub(crate) type Truth<B> = (Arc<<B as Backend>::Vector<bool>>, bool);
/// Finds them, asked whether presence alone is to count.
type FindTruth<B> = dyn Fn(bool) -> Result<Truth<B>, <B as Backend>::Error> + Send + Sync;
/// A vector that is a mask, whatever its type.
pub struct VectorSelector<B: Backend> {
    backend: B,
    len: usize,
    truth: Box<FindTruth<B>>,
}
impl<B: Backend, T: Stored> MaskOf<VectorSelector<B>> for Vector<B, T> {
    fn selector(&self) -> VectorSelector<B> {
        let vector = self.clone();
        VectorSelector { backend: self.backend().clone(), len: self.len(), truth: Box::new(move |structural| vector.truth(structural)) }
    }
}
impl<B: Backend> MaskOf<Matrix<B>> for Matrix<B> {
    fn selector(&self) -> Matrix<B> {
        self.clone()
    }
}

/// What the masks of an output are checked for, and given to a backend as.
pub trait Selector<B: Backend>: Sized {
    /// A vector's length, or a matrix's shape.
    type Shape: Copy;
    /// What the mask of a backend refers to.
    type Found;
    /// The mask of a backend.
    type Mask<'a>;
    /// The backend that made it.
    fn made_on(&self) -> &B;
    /// Finds it.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape), or the backend's.
    fn find(self, mode: MaskMode, operation: &'static str, shape: Self::Shape) -> Result<Self::Found, B::Error>;
    /// As a backend is told.
    fn mask(found: &Self::Found) -> Self::Mask<'_>;
}
impl<B: Backend> Selector<B> for VectorSelector<B> {
    type Shape = usize;
    type Found = (Arc<B::Vector<bool>>, MaskMode);
    type Mask<'a> = VectorMask<'a, B>;
    fn made_on(&self) -> &B {
        &self.backend
    }
    fn find(self, mode: MaskMode, operation: &'static str, len: usize) -> Result<Self::Found, B::Error> {
        same(operation, "mask", len, self.len)?;
        let (vector, structural) = (self.truth)(mode.structural)?;
        Ok((vector, MaskMode { structural, ..mode }))
    }
    fn mask((vector, mode): &Self::Found) -> VectorMask<'_, B> {
        VectorMask { vector, mode: *mode }
    }
}
impl<B: Backend> Selector<B> for Matrix<B> {
    type Shape = (usize, usize);
    type Found = (Self, MaskMode);
    type Mask<'a> = MatrixMask<'a, B>;
    fn made_on(&self) -> &B {
        self.backend()
    }
    fn find(self, mode: MaskMode, operation: &'static str, shape: (usize, usize)) -> Result<Self::Found, B::Error> {
        same_shape(operation, MASK, shape, self.shape())?;
        Ok((self, mode))
    }
    fn mask((matrix, mode): &Self::Found) -> MatrixMask<'_, B> {
        MatrixMask { matrix: matrix.raw(), mode: *mode }
    }
}

/// Finds the mask of an operation whose output is on a backend: operands and mask must be of that backend, and the mask of the output's shape.
/// Apart from what computes, so that it is compiled once for a backend and not for every operation.
pub(super) fn checked<B: Backend, M: Selector<B>>(
    operation: &'static str,
    backend: &B,
    operands: &[On<'_, B>],
    shape: M::Shape,
    mask: Option<(M, MaskMode)>,
) -> Result<Option<M::Found>, B::Error> {
    operands.iter().try_for_each(|(name, made_on)| same_backend(operation, name, backend, made_on))?;
    let Some((mask, mode)) = mask else { return Ok(None) };
    same_backend(operation, "mask", backend, mask.made_on())?;
    mask.find(mode, operation, shape).map(Some)
}

/// An operand of the operations that vectors and matrices share: a vector, or a matrix whose type is said.
pub trait Operand {
    /// What the operation holds of it.
    type Held;
    /// The lists of positions in it: of a vector's, or of a matrix's rows and columns.
    type Lists<'a>;
    /// Holds it.
    fn held(self) -> Self::Held;
}
impl<B: Backend, T: Stored> Operand for &Vector<B, T> {
    type Held = Vector<B, T>;
    type Lists<'a> = super::Indices<'a, B>;
    fn held(self) -> Vector<B, T> {
        self.clone()
    }
}
impl<B: Backend, T: Stored> Operand for Typed<B, T> {
    type Held = Self;
    type Lists<'a> = super::Region<'a>;
    fn held(self) -> Self {
        self
    }
}

/// Has a backend write a result of `len` positions to a vector; the operands must be of that backend.
pub(super) fn to_vector<B: Backend, T: Stored, C>(
    operation: &'static str,
    operands: &[On<'_, B>],
    len: usize,
    w: &mut Vector<B, T>,
    how: How<VectorSelector<B>, C>,
    run: impl FnOnce(&B, &mut B::Vector<T>, Write<VectorMask<'_, B>, C>) -> Result<(), B::Error>,
) -> Result<(), B::Error> {
    same(operation, "output vector", len, w.len())?;
    let (backend, How { mask, accum, replace }) = (w.backend().clone(), how);
    let mask = checked(operation, &backend, operands, len, mask)?;
    let mask = mask.as_ref().map(VectorSelector::mask);
    run(&backend, w.raw_mut(), Write { mask, accum, replace })
}

/// Has a backend write a result of a shape, with values of type `T`, to a matrix; the operands must be of that backend.
pub(super) fn to_matrix<B: Backend, T: Stored, C>(
    operation: &'static str,
    operands: &[On<'_, B>],
    shape: (usize, usize),
    c: &mut Matrix<B>,
    how: How<Matrix<B>, C>,
    run: impl FnOnce(&B, &mut B::Matrix, Write<MatrixMask<'_, B>, C>) -> Result<(), B::Error>,
) -> Result<(), B::Error> {
    same_shape(operation, OUTPUT, shape, c.shape())?;
    c.typed::<T>().check(operation)?;
    let (backend, How { mask, accum, replace }) = (c.backend().clone(), how);
    let mask = checked(operation, &backend, operands, shape, mask)?;
    let mask = mask.as_ref().map(<Matrix<B> as Selector<B>>::mask);
    run(&backend, c.raw_mut(), Write { mask, accum, replace })
}

/// A new vector for a result of `len` positions.
pub(super) fn new_vector<F, B: Backend, T: Stored>(
    f: F,
    backend: &B,
    len: usize,
    how: How<F::Mask, NoAccum>,
) -> Result<Vector<B, T>, B::Error>
where
    F: Writes<Backend = B, Output = Vector<B, T>, Element = T>,
{
    let mut w = Vector::empty(backend, len)?;
    f.write(&mut w, How { replace: true, ..how })?;
    Ok(w)
}

/// A new matrix for a result of a shape, in the format of an operand.
pub(super) fn new_matrix<F, B: Backend, T: Stored>(
    f: F,
    backend: &B,
    shape: (usize, usize),
    format: FormatKind,
    how: How<F::Mask, NoAccum>,
) -> Result<Matrix<B>, B::Error>
where
    F: Writes<Backend = B, Output = Matrix<B>, Element = T>,
{
    let mut c = Matrix::empty(backend, shape.0, shape.1, format)?;
    f.write(&mut c, How { replace: true, ..how })?;
    Ok(c)
}
