//! An operation as a value: what is computed, what is done to its elements before they are stored, and where they go.

use crate::any::{Any, AnyMut, Reals};
use crate::dense::Output;
use crate::epilogue::{Activation, BatchNorm, Dropout, Epilogue, Quantise, Step};
use crate::error::refused;
use crate::{Dense, Element, Error, Tensor};
use bitgraph_backend::Backend;

/// Nothing runs until it is written somewhere: by [`Operation::into`] to what is there already, or by [`Operation::eval`].
#[must_use = "an operation runs when it is written somewhere: `.into(&mut output)` or `.eval()`"]
pub struct Operation<F>(pub(crate) F);

/// What an operation computes. Implemented by the structs that the functions of [`crate::ops`] make.
pub trait Computation: Sized {
    /// The backend that computes it.
    type Backend: Tensor;
    /// The type of its scales and biases, which its epilogue is computed in.
    type Real: crate::Real;
    /// What a new result is stored as.
    type Output: Element;
    /// The name, for errors.
    const NAME: &'static str;

    /// The backend.
    fn backend(&self) -> &Self::Backend;
    /// Checks the operands; the shape of the result.
    ///
    /// # Errors
    /// Whatever is wrong with them.
    fn check(&self) -> Result<(usize, usize), Error>;
    /// Calls `f` with every dense operand and its name, those of the epilogue included.
    fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<Self::Backend>));
    /// Computes.
    ///
    /// # Errors
    /// The backend's.
    fn run(&self, y: AnyMut<'_, Self::Backend>) -> Result<(), <Self::Backend as Backend>::Error>;
}

/// A computation with an epilogue.
pub trait Fusing: Computation {
    /// Its steps.
    fn epilogue(&mut self) -> &mut Epilogue<Self::Backend>;
}

/// The error of a computation's backend.
type ErrorOf<F> = <<F as Computation>::Backend as Backend>::Error;
/// A matrix of a computation's real type.
type RealOf<F> = Dense<<F as Computation>::Backend, <F as Computation>::Real>;

impl<F: Computation> Operation<F> {
    /// Computes, and writes the result to what is there: a matrix, or some of its rows or columns. The result is rounded to the output's
    /// type, ties to even; integers saturate, and a NaN becomes 0 there.
    ///
    /// # Errors
    /// What is wrong with the operands or the output ([`Error`]), or the backend's.
    pub fn into<'a>(self, y: impl Output<'a, F::Backend>) -> Result<(), ErrorOf<F>>
    where
        F::Backend: 'a,
    {
        self.check_output(&y)?;
        self.0.run(y.open()?)
    }
    /// Checks the operands, and that an output fits them and shares no element with one.
    pub(super) fn check_output<'a>(&self, y: &impl Output<'a, F::Backend>) -> Result<(), ErrorOf<F>>
    where
        F::Backend: 'a,
    {
        let shape = self.0.check().map_err(refused::<F::Backend>)?;
        crate::error::same_shape(F::NAME, "the output", shape, y.shape()).map_err(refused::<F::Backend>)?;
        let mut shared = None;
        self.0.operands(&mut |name, operand| {
            if y.overlaps(operand) {
                shared = Some(name);
            }
        });
        match shared {
            Some(operand) => Err(refused::<F::Backend>(Error::Overlap { operation: F::NAME, operand })),
            None => Ok(()),
        }
    }
    /// Computes into a new matrix of another element type.
    ///
    /// # Errors
    /// As [`Operation::into`].
    pub fn eval_as<U: Element>(self) -> Result<Dense<F::Backend, U>, ErrorOf<F>> {
        let (rows, columns) = self.0.check().map_err(refused::<F::Backend>)?;
        let mut y = Dense::<F::Backend, U>::unwritten(self.0.backend(), rows, columns)?;
        self.0.run(U::erase_mut(y.as_mut().open()?))?;
        Ok(y)
    }
    /// Computes into a new matrix: of the features' element type for floats, of `i32` for integers.
    ///
    /// # Errors
    /// As [`Operation::into`].
    pub fn eval(self) -> Result<Dense<F::Backend, F::Output>, ErrorOf<F>> {
        self.eval_as()
    }
}

/// The epilogue: steps in the order of the calls.
impl<F: Fusing> Operation<F> {
    fn step(mut self, step: Step<F::Backend>) -> Self {
        self.0.epilogue().0.push(step);
        self
    }
    /// Multiplies every row by its element of a matrix of one column.
    pub fn times_rows(self, d: &RealOf<F>) -> Self {
        self.step(Step::ScaleRows(Reals::new(d)))
    }
    /// Multiplies every column by its element of a matrix of one row.
    pub fn times_columns(self, d: &RealOf<F>) -> Self {
        self.step(Step::ScaleColumns(Reals::new(d)))
    }
    /// Multiplies every element by a number.
    pub fn times(self, factor: f64) -> Self {
        self.step(Step::Scale(factor))
    }
    /// Adds a matrix of one row to every row.
    pub fn bias(self, b: &RealOf<F>) -> Self {
        self.step(Step::Bias(Reals::new(b)))
    }
    /// Adds a matrix of the result's shape.
    #[allow(clippy::should_implement_trait)] // an operation on the way, not a sum
    pub fn add<U: Element>(self, other: &Dense<F::Backend, U>) -> Self {
        self.add_scaled(other, 1.0)
    }
    /// Adds a number of times a matrix of the result's shape.
    pub fn add_scaled<U: Element>(self, other: &Dense<F::Backend, U>, factor: f64) -> Self {
        self.step(Step::Add { other: other.any(), factor, columns: None })
    }
    /// Adds a matrix of the result's shape, each of whose columns is multiplied by its element of a matrix of one row.
    pub fn add_times_columns<U: Element>(self, other: &Dense<F::Backend, U>, d: &RealOf<F>) -> Self {
        self.step(Step::Add { other: other.any(), factor: 1.0, columns: Some(Reals::new(d)) })
    }
    /// Multiplies by a matrix of the result's shape, element by element.
    pub fn multiply<U: Element>(self, other: &Dense<F::Backend, U>) -> Self {
        self.step(Step::Multiply(other.any()))
    }
    /// Batch normalisation by known statistics, each of one row: `(x - mean) / sqrt(variance + epsilon) * gamma + beta`.
    pub fn batch_norm(self, statistics: (&RealOf<F>, &RealOf<F>), affine: Option<(&RealOf<F>, &RealOf<F>)>, epsilon: f64) -> Self {
        let (mean, variance) = (Reals::new(statistics.0), Reals::new(statistics.1));
        let (gamma, beta) = (affine.map(|a| Reals::new(a.0)), affine.map(|a| Reals::new(a.1)));
        self.step(Step::BatchNorm(BatchNorm { mean, variance, gamma, beta, epsilon }))
    }
    /// An activation.
    pub fn activation(self, f: Activation) -> Self {
        self.step(Step::Activation(f))
    }
    /// `max(x, 0)`.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }
    /// `x` above zero, `slope * x` elsewhere.
    pub fn leaky_relu(self, slope: f64) -> Self {
        self.activation(Activation::LeakyRelu { slope })
    }
    /// `x` above zero, `alpha * (exp(x) - 1)` elsewhere.
    pub fn elu(self, alpha: f64) -> Self {
        self.activation(Activation::Elu { alpha })
    }
    /// Multiplies by the derivative of an activation, given its *value* at every element: its backward pass.
    pub fn activation_gradient<U: Element>(self, f: Activation, value: &Dense<F::Backend, U>) -> Self {
        self.step(Step::ActivationGradient(f, value.any()))
    }
    /// Sets elements to zero at random; its own backward pass.
    pub fn dropout(self, dropout: Dropout) -> Self {
        self.step(Step::Dropout(dropout))
    }
    /// 1 where an element is 0 or more, -1 elsewhere.
    pub fn sign(self) -> Self {
        self.step(Step::Sign(None))
    }
    /// 1 where an element is its column's threshold or more, -1 elsewhere: batch norm and sign in one.
    pub fn threshold(self, t: &RealOf<F>) -> Self {
        self.step(Step::Sign(Some(Reals::new(t))))
    }
    /// Levels of a uniform quantiser.
    pub fn quantise(self, quantise: Quantise) -> Self {
        self.step(Step::Quantise(quantise))
    }
    /// The steps of another epilogue, after those that are there.
    pub fn epilogue(mut self, steps: &Epilogue<F::Backend>) -> Self {
        self.0.epilogue().0.extend(steps.0.iter().cloned());
        self
    }
}
