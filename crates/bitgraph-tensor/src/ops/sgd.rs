//! A step of gradient descent with momentum over parameters, element by element.

use crate::any::{AnyMut, Reals};
use crate::backend::DenseOps;
use crate::error::{refused, same_shape};
use crate::{Dense, Error, Real, Tensor};

const NAME: &str = "sgd";

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdSettings {
    /// The learning rate.
    pub rate: f64,
    /// How much of the velocity is kept, from 0 to below 1.
    pub momentum: f64,
    /// What gradients are multiplied by first: one over a loss scale; 1 otherwise.
    pub gradient_factor: f64,
}

impl SgdSettings {
    fn check(&self) -> Result<(), Error> {
        let refuse = |parameter, found, allowed| Err(Error::Parameter { operation: NAME, parameter, found, allowed });
        if !(self.rate >= 0.0 && self.rate.is_finite()) {
            return refuse("the learning rate", self.rate, "0 or more and finite");
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return refuse("momentum", self.momentum, "from 0 to below 1");
        }
        Ok(())
    }
}

/// The operands of a step, all of one shape and type.
pub struct SgdOp<B: Tensor> {
    /// The parameters.
    pub parameters: Reals<B>,
    /// Their gradients.
    pub gradients: Reals<B>,
    /// What the step before took from the parameters, before the learning rate.
    pub velocity: Reals<B>,
    /// The weight decay of each parameter; 0 without.
    pub decay: Option<Reals<B>>,
    /// The numbers of the step.
    pub settings: SgdSettings,
}

/// Where the results of a step go.
pub struct SgdOut<'a, B: Tensor> {
    /// The parameters.
    pub parameters: AnyMut<'a, B>,
    /// The velocity.
    pub velocity: AnyMut<'a, B>,
}

/// A step over parameters and their velocity, into `next`, whose matrices are others: with `g = factor gradient + decay p`,
/// `v = momentum v + g` and `p = p - rate v`. O(elements), in one pass. Source: Polyak, 1964, in the form of Sutskever et al., 2013, with the
/// rate outside of the velocity.
///
/// # Errors
/// [`Error::Shape`], [`Error::Parameter`], [`Error::Overlap`], or out of memory.
pub fn sgd<B: DenseOps, R: Real>(
    (parameters, velocity): (&Dense<B, R>, &Dense<B, R>),
    gradients: &Dense<B, R>,
    decay: Option<&Dense<B, R>>,
    settings: SgdSettings,
    next: (&mut Dense<B, R>, &mut Dense<B, R>),
) -> Result<(), B::Error> {
    let check = || {
        settings.check()?;
        let shape = parameters.shape();
        same_shape(NAME, "the gradients", shape, gradients.shape())?;
        same_shape(NAME, "the velocity", shape, velocity.shape())?;
        decay.map_or(Ok(()), |decay| same_shape(NAME, "the decay", shape, decay.shape()))?;
        for out in [&*next.0, &*next.1] {
            same_shape(NAME, "an output", shape, out.shape())?;
            if [parameters, velocity, gradients].into_iter().chain(decay).any(|x| x.any().overlaps(out.array_id(), &out.window())) {
                return Err(Error::Overlap { operation: NAME, operand: "an operand" });
            }
        }
        Ok(())
    };
    check().map_err(refused::<B>)?;
    let op = SgdOp {
        parameters: Reals::new(parameters),
        gradients: Reals::new(gradients),
        velocity: Reals::new(velocity),
        decay: decay.map(Reals::new),
        settings,
    };
    let out = SgdOut { parameters: R::erase_mut(next.0.as_mut().open()?), velocity: R::erase_mut(next.1.as_mut().open()?) };
    parameters.backend().sgd(&op, out)
}
