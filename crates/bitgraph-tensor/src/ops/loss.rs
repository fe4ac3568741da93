//! Classification: the logarithm of the softmax of rows, the cross entropy with labels, and the column of the maximum.

use crate::any::Any;
use crate::backend::DenseOps;
use crate::error::{refused, same_shape};
use crate::{Dense, Element, Error, Tensor};

/// The logarithm of the softmax of every row: `x - max - ln(sum exp(x - max))`. O(elements).
///
/// # Errors
/// Out of memory.
pub fn log_softmax<B: DenseOps, T: Element>(x: &Dense<B, T>) -> Result<Dense<B, T::Output>, B::Error> {
    let mut y = Dense::<B, T::Output>::zeros(x.backend(), x.nrows(), x.ncols())?;
    x.backend().log_softmax(&x.any(), <T::Output as Element>::erase_mut(y.as_mut().open()?))?;
    Ok(y)
}

/// The gradient of the input of [`log_softmax`] from its result `y` and the gradient of that: `dx = dy - exp(y) sum of the row of dy`.
///
/// # Errors
/// [`Error::Shape`], or out of memory.
pub fn log_softmax_backward<B: DenseOps, T: Element>(y: &Dense<B, T>, dy: &Dense<B, T>) -> Result<Dense<B, T::Output>, B::Error> {
    same_shape("log_softmax_backward", "the gradient of the result", y.shape(), dy.shape()).map_err(refused::<B>)?;
    let mut dx = Dense::<B, T::Output>::zeros(y.backend(), y.nrows(), y.ncols())?;
    y.backend().log_softmax_backward(&y.any(), &dy.any(), <T::Output as Element>::erase_mut(dx.as_mut().open()?))?;
    Ok(dx)
}

/// The operands of the cross entropy.
pub struct CrossEntropyOp<B: Tensor> {
    /// A row of logits for each label.
    pub logits: Any<B>,
    /// Classes, of one column; a row with a negative label takes no part.
    pub labels: Dense<B, i32>,
    /// What the gradient is multiplied by.
    pub gradient_scale: f64,
}

/// The mean negative log-likelihood of the labels under the softmax of the logits, of 1 x 1, over the rows whose label is 0 or more; 0 if
/// there are none. Labels are of one column. O(elements).
///
/// # Errors
/// [`Error::Shape`]; [`Error::Label`] where the backend sees labels (on a device a label that is no class makes the loss a NaN); out of
/// memory.
pub fn cross_entropy<B: DenseOps, T: Element>(logits: &Dense<B, T>, labels: &Dense<B, i32>) -> Result<Dense<B, T::Real>, B::Error> {
    let op = entropy_op(logits, labels, 1.0).map_err(refused::<B>)?;
    let mut loss = Dense::<B, T::Real>::zeros(logits.backend(), 1, 1)?;
    logits.backend().cross_entropy(&op, <T::Real as Element>::erase_mut(loss.as_mut().open()?), None)?;
    Ok(loss)
}

/// [`cross_entropy`], and the gradient of the logits: `(softmax(x) - [column is the label]) / rows that take part`, times `scale` (a loss
/// scale for `f16`; 1 otherwise), and 0 in rows that take no part.
///
/// # Errors
/// As [`cross_entropy`].
#[allow(clippy::type_complexity)]
pub fn cross_entropy_with_gradient<B: DenseOps, T: Element>(
    logits: &Dense<B, T>,
    labels: &Dense<B, i32>,
    scale: f64,
) -> Result<(Dense<B, T::Real>, Dense<B, T::Output>), B::Error> {
    let op = entropy_op(logits, labels, scale).map_err(refused::<B>)?;
    let mut loss = Dense::<B, T::Real>::zeros(logits.backend(), 1, 1)?;
    let mut dx = Dense::<B, T::Output>::unwritten(logits.backend(), logits.nrows(), logits.ncols())?;
    let (l, d) = (loss.as_mut().open()?, dx.as_mut().open()?);
    logits.backend().cross_entropy(&op, <T::Real as Element>::erase_mut(l), Some(<T::Output as Element>::erase_mut(d)))?;
    Ok((loss, dx))
}

/// [`cross_entropy_with_gradient`], and the sum of every column of the gradient, of one row, where the backend forms them with it: they are the
/// gradient of a bias that comes last before the logits. Sums are of the gradient before it is rounded to its type.
///
/// # Errors
/// As [`cross_entropy`].
#[allow(clippy::type_complexity)]
pub fn cross_entropy_with_sums<B: DenseOps, T: Element>(
    logits: &Dense<B, T>,
    labels: &Dense<B, i32>,
    scale: f64,
) -> Result<(Dense<B, T::Real>, Dense<B, T::Output>, Option<Dense<B, T::Real>>), B::Error> {
    let backend = logits.backend();
    if !backend.sums_with_cross_entropy() {
        return cross_entropy_with_gradient(logits, labels, scale).map(|(loss, dx)| (loss, dx, None));
    }
    let op = entropy_op(logits, labels, scale).map_err(refused::<B>)?;
    let mut loss = Dense::<B, T::Real>::unwritten(backend, 1, 1)?;
    let mut dx = Dense::<B, T::Output>::unwritten(backend, logits.nrows(), logits.ncols())?;
    let mut sums = Dense::<B, T::Real>::unwritten(backend, 1, logits.ncols())?;
    let (l, d, s) = (loss.as_mut().open()?, dx.as_mut().open()?, sums.as_mut().open()?);
    let (l, s) = (<T::Real as Element>::erase_mut(l), <T::Real as Element>::erase_mut(s));
    backend.cross_entropy_with_sums(&op, l, <T::Output as Element>::erase_mut(d), s)?;
    Ok((loss, dx, Some(sums)))
}

fn entropy_op<B: Tensor, T: Element>(
    logits: &Dense<B, T>,
    labels: &Dense<B, i32>,
    gradient_scale: f64,
) -> Result<CrossEntropyOp<B>, Error> {
    same_shape("cross_entropy", "the labels", (logits.nrows(), 1), labels.shape())?;
    Ok(CrossEntropyOp { logits: logits.any(), labels: labels.clone(), gradient_scale })
}

/// The column of the maximum of every row, the first among equals, of one column; a NaN loses against a number, and a row without columns
/// has -1. O(elements).
///
/// # Errors
/// [`Error::Parameter`] for more columns than `i32` holds; out of memory.
pub fn argmax_rows<B: DenseOps, T: Element>(x: &Dense<B, T>) -> Result<Dense<B, i32>, B::Error> {
    if x.ncols() > i32::MAX as usize {
        let (parameter, found) = ("the number of columns", x.ncols() as f64);
        return Err(refused::<B>(Error::Parameter { operation: "argmax_rows", parameter, found, allowed: "below 2^31" }));
    }
    let mut columns = Dense::filled(x.backend(), x.nrows(), 1, -1)?;
    x.backend().argmax_rows(&x.any(), columns.as_mut().open()?)?;
    Ok(columns)
}
