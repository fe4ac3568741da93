//! A step of Adam over parameters, element by element.

use crate::any::{AnyMut, Reals};
use crate::backend::DenseOps;
use crate::error::{refused, same_shape};
use crate::{Dense, Error, Real, Tensor};

const NAME: &str = "adam";

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamSettings {
    /// The learning rate.
    pub rate: f64,
    /// How much of the mean of gradients is kept, from 0 to below 1.
    pub beta1: f64,
    /// How much of the mean of their squares is kept, from 0 to below 1.
    pub beta2: f64,
    /// What keeps the divisor away from zero.
    pub epsilon: f64,
    /// Whether decay takes its share of the parameters themselves (AdamW) and is not added to the gradient.
    pub decoupled: bool,
    /// What gradients are multiplied by first: one over a loss scale; 1 otherwise.
    pub gradient_factor: f64,
}

impl Default for AdamSettings {
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decoupled: false, gradient_factor: 1.0 }
    }
}

impl AdamSettings {
    /// `1 - beta1^step` and `1 - beta2^step`: what both means are divided by in a step, from 1.
    #[must_use]
    pub fn corrections(&self, step: u32) -> (f64, f64) {
        let step = f64::from(step.max(1));
        (1.0 - self.beta1.powf(step), 1.0 - self.beta2.powf(step))
    }
    fn check(&self) -> Result<(), Error> {
        let refuse = |parameter, found, allowed| Err(Error::Parameter { operation: NAME, parameter, found, allowed });
        for (name, value) in [("the learning rate", self.rate), ("epsilon of Adam", self.epsilon)] {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(name, value, "0 or more and finite");
            }
        }
        for (name, value) in [("beta 1 of Adam", self.beta1), ("beta 2 of Adam", self.beta2)] {
            if !(0.0..1.0).contains(&value) {
                return refuse(name, value, "from 0 to below 1");
            }
        }
        Ok(())
    }
}

/// The operands of a step, all of one shape and type.
pub struct AdamOp<B: Tensor> {
    /// The parameters.
    pub parameters: Reals<B>,
    /// Their gradients.
    pub gradients: Reals<B>,
    /// The running mean of gradients.
    pub first: Reals<B>,
    /// The running mean of their squares.
    pub second: Reals<B>,
    /// The weight decay of each parameter; 0 without.
    pub decay: Option<Reals<B>>,
    /// The numbers of the step.
    pub settings: AdamSettings,
    /// `1 - beta1^step` and `1 - beta2^step`: what both means are divided by.
    pub corrections: (f64, f64),
}

/// What a step replaces: parameters and both running means.
pub struct AdamState<B: Tensor, R: Real> {
    /// The parameters.
    pub parameters: Dense<B, R>,
    /// The running mean of gradients.
    pub first: Dense<B, R>,
    /// The running mean of their squares.
    pub second: Dense<B, R>,
}
impl<B: Tensor, R: Real> Clone for AdamState<B, R> {
    fn clone(&self) -> Self {
        Self { parameters: self.parameters.clone(), first: self.first.clone(), second: self.second.clone() }
    }
}
impl<B: Tensor, R: Real> AdamState<B, R> {
    /// The state before the first step.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(parameters: Dense<B, R>) -> Result<Self, B::Error> {
        let (rows, columns) = parameters.shape();
        let zeros = || Dense::zeros(parameters.backend(), rows, columns);
        let (first, second) = (zeros()?, zeros()?);
        Ok(Self { parameters, first, second })
    }
}

/// Where the results of a step go.
pub struct AdamOut<'a, B: Tensor> {
    /// The parameters.
    pub parameters: AnyMut<'a, B>,
    /// The running mean of gradients.
    pub first: AnyMut<'a, B>,
    /// The running mean of their squares.
    pub second: AnyMut<'a, B>,
}

/// Step number `step`, from 1, of Adam, into `next`, whose matrices are others than those of `state`: with `g = factor gradient + decay p`,
/// `m = beta1 m + (1 - beta1) g`, `v = beta2 v + (1 - beta2) g^2`,
/// `p = p - rate (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon)`. Decoupled decay is not in `g`; `p` is multiplied by
/// `1 - rate decay` first. O(elements), in one pass. Sources: Kingma, Ba, 2015; Loshchilov, Hutter, 2019.
///
/// # Errors
/// [`Error::Shape`], [`Error::Parameter`], [`Error::Overlap`], or out of memory.
pub fn adam<B: DenseOps, R: Real>(
    state: &AdamState<B, R>,
    gradients: &Dense<B, R>,
    decay: Option<&Dense<B, R>>,
    (settings, step): (AdamSettings, u32),
    next: &mut AdamState<B, R>,
) -> Result<(), B::Error> {
    let check = || {
        settings.check()?;
        let shape = state.parameters.shape();
        same_shape(NAME, "the gradients", shape, gradients.shape())?;
        same_shape(NAME, "the mean of gradients", shape, state.first.shape())?;
        same_shape(NAME, "the mean of squares", shape, state.second.shape())?;
        decay.map_or(Ok(()), |decay| same_shape(NAME, "the decay", shape, decay.shape()))?;
        for out in [&next.parameters, &next.first, &next.second] {
            same_shape(NAME, "an output", shape, out.shape())?;
            let operands = [&state.parameters, &state.first, &state.second, gradients];
            if operands.into_iter().chain(decay).any(|x| x.any().overlaps(out.array_id(), &out.window())) {
                return Err(Error::Overlap { operation: NAME, operand: "an operand" });
            }
        }
        Ok(())
    };
    check().map_err(refused::<B>)?;
    let op = AdamOp {
        parameters: Reals::new(&state.parameters),
        gradients: Reals::new(gradients),
        first: Reals::new(&state.first),
        second: Reals::new(&state.second),
        decay: decay.map(Reals::new),
        settings,
        corrections: settings.corrections(step),
    };
    let out = AdamOut {
        parameters: R::erase_mut(next.parameters.as_mut().open()?),
        first: R::erase_mut(next.first.as_mut().open()?),
        second: R::erase_mut(next.second.as_mut().open()?),
    };
    state.parameters.backend().adam(&op, out)
}
