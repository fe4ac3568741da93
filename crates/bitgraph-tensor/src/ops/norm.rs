//! Statistics of columns, and batch normalisation in training with its backward pass.

use super::map::map;
use crate::any::{Any, AnyMut, Reals};
use crate::backend::DenseOps;
use crate::error::{refused, same_shape};
use crate::{Dense, Element, Error, Output, Tensor};

/// The sum of every column, of one row: the gradient of a bias. O(elements).
///
/// # Errors
/// Out of memory.
pub fn sum_columns<B: DenseOps, T: Element>(x: &Dense<B, T>) -> Result<Dense<B, T::Real>, B::Error> {
    let mut sums = Dense::zeros(x.backend(), 1, x.ncols())?;
    x.backend().sum_columns(&x.any(), <T::Real as Element>::erase_mut(sums.as_mut().open()?))?;
    Ok(sums)
}

/// [`sum_columns`] into a matrix of one row that there is.
///
/// # Errors
/// An output of another shape; out of memory.
pub fn sum_columns_into<'a, B: DenseOps + 'a, T: Element>(x: &Dense<B, T>, sums: impl Output<'a, B>) -> Result<(), B::Error> {
    same_shape("sum_columns", "the output", (1, x.ncols()), sums.shape()).map_err(refused::<B>)?;
    if sums.overlaps(&x.any()) {
        return Err(refused::<B>(Error::Overlap { operation: "sum_columns", operand: "the matrix" }));
    }
    x.backend().sum_columns(&x.any(), sums.open()?)
}

/// The dot product of every column of a matrix with that of another of its shape, of one row: [`sum_columns`] of their product element by element.
/// O(elements).
///
/// # Errors
/// [`Error::Shape`], or out of memory.
pub fn dot_columns<B: DenseOps, T: Element, U: Element>(x: &Dense<B, T>, other: &Dense<B, U>) -> Result<Dense<B, T::Real>, B::Error> {
    same_shape("dot_columns", "the second matrix", x.shape(), other.shape()).map_err(refused::<B>)?;
    let mut sums = Dense::zeros(x.backend(), 1, x.ncols())?;
    x.backend().dot_columns(&x.any(), &other.any(), <T::Real as Element>::erase_mut(sums.as_mut().open()?))?;
    Ok(sums)
}

/// The mean and the biased variance (over the number of rows) of every column, each of one row; zeros without rows. The variance is formed
/// from differences to the mean, so that it is never negative. O(elements).
///
/// # Errors
/// Out of memory.
#[allow(clippy::type_complexity)] // a pair of matrices
pub fn moments<B: DenseOps, T: Element>(x: &Dense<B, T>) -> Result<(Dense<B, T::Real>, Dense<B, T::Real>), B::Error> {
    let (mut mean, mut variance) = (Dense::zeros(x.backend(), 1, x.ncols())?, Dense::zeros(x.backend(), 1, x.ncols())?);
    let (m, v) = (mean.as_mut().open()?, variance.as_mut().open()?);
    x.backend().moments(&x.any(), <T::Real as Element>::erase_mut(m), <T::Real as Element>::erase_mut(v))?;
    Ok((mean, variance))
}

/// Batch normalisation in training: what the forward pass leaves for the backward one.
pub struct BatchNormalised<B: Tensor, T: Element> {
    /// `(x - mean) / sqrt(variance + epsilon) * gamma + beta`.
    pub y: Dense<B, T>,
    /// The mean of every column of `x`.
    pub mean: Dense<B, T::Real>,
    /// The biased variance of every column of `x`.
    pub variance: Dense<B, T::Real>,
}

/// Batch normalisation by the statistics of `x` itself. `affine` is gamma and beta, each of one row; 1 and 0 without. At inference it is the
/// epilogue's step [`batch_norm`](super::Operation::batch_norm) with running statistics. O(elements).
///
/// # Errors
/// [`Error::Shape`], [`Error::Parameter`], or out of memory.
#[allow(clippy::type_complexity)] // a pair of matrices
pub fn batch_norm<B: DenseOps, T: Element>(
    x: &Dense<B, T>,
    affine: Option<(&Dense<B, T::Real>, &Dense<B, T::Real>)>,
    epsilon: f64,
) -> Result<BatchNormalised<B, T>, B::Error> {
    let (mean, variance) = moments(x)?;
    let y = map(x).batch_norm((&mean, &variance), affine, epsilon).eval()?;
    Ok(BatchNormalised { y, mean, variance })
}

/// The operands of the backward pass of batch normalisation.
pub struct BatchNormOp<B: Tensor> {
    /// What was normalised.
    pub x: Any<B>,
    /// The mean of its columns.
    pub mean: Reals<B>,
    /// The variance of its columns.
    pub variance: Reals<B>,
    /// The factor of every column; 1 without.
    pub gamma: Option<Reals<B>>,
    /// What keeps the root away from zero.
    pub epsilon: f64,
    /// The gradient of the result.
    pub dy: Any<B>,
}

/// Where the gradients of batch normalisation go.
pub struct BatchNormGradients<'a, B: Tensor> {
    /// Of `x`.
    pub dx: AnyMut<'a, B>,
    /// Of gamma, of one row.
    pub dgamma: AnyMut<'a, B>,
    /// Of beta, of one row.
    pub dbeta: AnyMut<'a, B>,
}

/// The gradients of `x`, gamma and beta from that of the result. With `h = (x - mean) / s`, `s = sqrt(variance + epsilon)`, and `n` rows:
/// `dbeta = sum dy`, `dgamma = sum dy h`, `dx = gamma / s (dy - dbeta / n - h dgamma / n)`. O(elements).
///
/// # Errors
/// [`Error::Shape`], [`Error::Parameter`], or out of memory.
#[allow(clippy::type_complexity)]
pub fn batch_norm_backward<B: DenseOps, T: Element>(
    x: &Dense<B, T>,
    forward: &BatchNormalised<B, T>,
    gamma: Option<&Dense<B, T::Real>>,
    epsilon: f64,
    dy: &Dense<B, T>,
) -> Result<(Dense<B, T>, Dense<B, T::Real>, Dense<B, T::Real>), B::Error> {
    let operation = "batch_norm_backward";
    let check = || {
        let row = (1, x.ncols());
        same_shape(operation, "the gradient of the result", x.shape(), dy.shape())?;
        same_shape(operation, "the mean", row, forward.mean.shape())?;
        same_shape(operation, "the variance", row, forward.variance.shape())?;
        gamma.map_or(Ok(()), |gamma| same_shape(operation, "gamma", row, gamma.shape()))?;
        if epsilon >= 0.0 && epsilon.is_finite() {
            return Ok(());
        }
        Err(Error::Parameter { operation, parameter: "epsilon of batch norm", found: epsilon, allowed: "0 or more and finite" })
    };
    check().map_err(refused::<B>)?;
    let op = BatchNormOp {
        x: x.any(),
        mean: Reals::new(&forward.mean),
        variance: Reals::new(&forward.variance),
        gamma: gamma.map(Reals::new),
        epsilon,
        dy: dy.any(),
    };
    let mut dx = Dense::<B, T>::zeros(x.backend(), x.nrows(), x.ncols())?;
    let (mut dgamma, mut dbeta) = (Dense::<B, T::Real>::zeros(x.backend(), 1, x.ncols())?, Dense::zeros(x.backend(), 1, x.ncols())?);
    let gradients = BatchNormGradients {
        dx: T::erase_mut(dx.as_mut().open()?),
        dgamma: <T::Real as Element>::erase_mut(dgamma.as_mut().open()?),
        dbeta: <T::Real as Element>::erase_mut(dbeta.as_mut().open()?),
    };
    x.backend().batch_norm_backward(&op, gradients)?;
    Ok((dx, dgamma, dbeta))
}
