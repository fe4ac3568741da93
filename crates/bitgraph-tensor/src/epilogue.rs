//! What is done to the elements of a result before they are stored: steps, in the order in which they were asked for.
//!
//! Invariant: steps are plain data; their operands are of the result's real type, or of its shape.

use crate::any::{Any, Reals};
use crate::error::same_shape;
use crate::{Error, Philox, Tensor};

/// An activation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// `max(x, 0)`; a NaN stays one.
    Relu,
    /// `x` above zero, `slope * x` elsewhere.
    LeakyRelu {
        /// The slope below zero, 0 or more.
        slope: f64,
    },
    /// `x` above zero, `alpha * (exp(x) - 1)` elsewhere.
    Elu {
        /// What the activation tends to below zero, negated; above 0.
        alpha: f64,
    },
}

impl Activation {
    /// The value, in double precision.
    #[must_use]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Relu => {
                if x > 0.0 || x.is_nan() {
                    x
                } else {
                    0.0
                }
            }
            Self::LeakyRelu { slope } => {
                if x > 0.0 {
                    x
                } else {
                    slope * x
                }
            }
            Self::Elu { alpha } => {
                if x > 0.0 {
                    x
                } else {
                    alpha * x.exp_m1()
                }
            }
        }
    }
    /// The derivative, from the activation's *value*: 1 above zero; elsewhere 0, `slope`, and `value + alpha`.
    #[must_use]
    pub fn derivative(self, value: f64) -> f64 {
        match self {
            _ if value > 0.0 => 1.0,
            Self::Relu => 0.0,
            Self::LeakyRelu { slope } => slope,
            Self::Elu { alpha } => value + alpha,
        }
    }
    pub(crate) fn check(self, operation: &'static str) -> Result<(), Error> {
        match self {
            Self::LeakyRelu { slope } => at_least_zero(operation, "the slope of LeakyReLU", slope),
            Self::Elu { alpha } if !(alpha > 0.0 && alpha.is_finite()) => {
                Err(Error::Parameter { operation, parameter: "alpha of ELU", found: alpha, allowed: "above 0 and finite" })
            }
            Self::Relu | Self::Elu { .. } => Ok(()),
        }
    }
}

fn at_least_zero(operation: &'static str, parameter: &'static str, found: f64) -> Result<(), Error> {
    if found >= 0.0 && found.is_finite() {
        return Ok(());
    }
    Err(Error::Parameter { operation, parameter, found, allowed: "0 or more and finite" })
}

/// Elements that are set to zero at random. The same seed and draw drop the same elements: the backward pass is the same step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability that an element is dropped, from 0 to below 1.
    pub probability: f64,
    /// The generator's seed.
    pub seed: u64,
    /// What tells this draw from others of the seed: a layer or a step.
    pub draw: u32,
    /// Whether the elements that are kept are multiplied by `1 / (1 - probability)`.
    pub rescale: bool,
}

impl Dropout {
    /// Dropout that keeps the expected value.
    #[must_use]
    pub const fn new(probability: f64, seed: u64, draw: u32) -> Self {
        Self { probability, seed, draw, rescale: true }
    }
    /// Its generator.
    #[must_use]
    pub const fn generator(&self) -> Philox {
        Philox::new(self.seed, self.draw)
    }
    /// An element is kept if its word is at least this: `probability * 2^32`, rounded.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        (self.probability * 4_294_967_296.0).round() as u32
    }
    /// What the elements that are kept are multiplied by.
    #[must_use]
    pub fn factor(&self) -> f64 {
        if self.rescale { 1.0 / (1.0 - self.probability) } else { 1.0 }
    }
    /// The factor of an element: 0 if it is dropped.
    #[must_use]
    pub fn at(&self, row: u64, column: u32) -> f64 {
        if self.generator().word(row, column) >= self.threshold() { self.factor() } else { 0.0 }
    }
    pub(crate) fn check(&self, operation: &'static str) -> Result<(), Error> {
        if (0.0..1.0).contains(&self.probability) {
            return Ok(());
        }
        let (parameter, found) = ("the probability of dropout", self.probability);
        Err(Error::Parameter { operation, parameter, found, allowed: "from 0 to below 1" })
    }
}

/// One step. `x` is the element at row `i` and column `c`; it is computed in the real type of the operation.
pub enum Step<B: Tensor> {
    /// `x * d(i)`, `d` of one column.
    ScaleRows(Reals<B>),
    /// `x * d(c)`, `d` of one row.
    ScaleColumns(Reals<B>),
    /// `x * factor`.
    Scale(f64),
    /// `x + b(c)`, `b` of one row.
    Bias(Reals<B>),
    /// `x + factor * d(c) * z(i, c)`, `z` of the result's shape and any element type.
    Add {
        /// What is added.
        other: Any<B>,
        /// Times what.
        factor: f64,
        /// `d`, of one row; 1 without.
        columns: Option<Reals<B>>,
    },
    /// `x * z(i, c)`, `z` of the result's shape and any element type.
    Multiply(Any<B>),
    /// `(x - mean(c)) / sqrt(variance(c) + epsilon) * gamma(c) + beta(c)`, each of one row.
    BatchNorm(BatchNorm<B>),
    /// An activation.
    Activation(Activation),
    /// `x * f'`, where `f'` is the derivative of an activation from its value at (i, c): the backward pass of the activation.
    ActivationGradient(Activation, Any<B>),
    /// Dropout, by the counter of row `i` and column `c`.
    Dropout(Dropout),
    /// 1 where `x >= t(c)`, -1 elsewhere and for a NaN; `t` of one row, or 0 without.
    Sign(Option<Reals<B>>),
    /// The level `clamp(round(x / scale) + zero_point, 0, 2^bits - 1)`, ties to even; a NaN gives level 0.
    Quantise(Quantise),
}

/// Batch normalisation by known statistics.
pub struct BatchNorm<B: Tensor> {
    /// The mean of every column.
    pub mean: Reals<B>,
    /// The variance of every column, 0 or more.
    pub variance: Reals<B>,
    /// The factor of every column; 1 without.
    pub gamma: Option<Reals<B>>,
    /// The summand of every column; 0 without.
    pub beta: Option<Reals<B>>,
    /// What keeps the root away from zero.
    pub epsilon: f64,
}
impl<B: Tensor> Clone for BatchNorm<B> {
    fn clone(&self) -> Self {
        let Self { mean, variance, gamma, beta, epsilon } = self;
        Self { mean: mean.clone(), variance: variance.clone(), gamma: gamma.clone(), beta: beta.clone(), epsilon: *epsilon }
    }
}

/// Uniform quantisation to unsigned levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantise {
    /// The distance of two levels, above 0.
    pub scale: f64,
    /// The level of zero.
    pub zero_point: i32,
    /// Bits of a level, 1 to 16.
    pub bits: u32,
}

impl<B: Tensor> Clone for Step<B> {
    fn clone(&self) -> Self {
        match self {
            Self::ScaleRows(d) => Self::ScaleRows(d.clone()),
            Self::ScaleColumns(d) => Self::ScaleColumns(d.clone()),
            Self::Scale(factor) => Self::Scale(*factor),
            Self::Bias(b) => Self::Bias(b.clone()),
            Self::Add { other, factor, columns } => Self::Add { other: other.clone(), factor: *factor, columns: columns.clone() },
            Self::Multiply(z) => Self::Multiply(z.clone()),
            Self::BatchNorm(norm) => Self::BatchNorm(norm.clone()),
            Self::Activation(f) => Self::Activation(*f),
            Self::ActivationGradient(f, value) => Self::ActivationGradient(*f, value.clone()),
            Self::Dropout(dropout) => Self::Dropout(*dropout),
            Self::Sign(t) => Self::Sign(t.clone()),
            Self::Quantise(q) => Self::Quantise(*q),
        }
    }
}

/// The steps of an operation, first to last.
pub struct Epilogue<B: Tensor>(pub Vec<Step<B>>);

impl<B: Tensor> Default for Epilogue<B> {
    fn default() -> Self {
        Self(Vec::new())
    }
}
impl<B: Tensor> Clone for Epilogue<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B: Tensor> Epilogue<B> {
    /// Whether results are stored as they are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Checks every step against the shape of the result.
    pub(crate) fn check(&self, operation: &'static str, (rows, columns): (usize, usize)) -> Result<(), Error> {
        let row = |operand, d: &Reals<B>| same_shape(operation, operand, (1, columns), d.shape());
        let full = |operand, z: &Any<B>| same_shape(operation, operand, (rows, columns), z.shape());
        for step in &self.0 {
            match step {
                Step::ScaleRows(d) => same_shape(operation, "the row scale", (rows, 1), d.shape())?,
                Step::ScaleColumns(d) => row("the column scale", d)?,
                Step::Bias(b) => row("the bias", b)?,
                Step::Add { other, columns, .. } => {
                    full("the summand", other)?;
                    columns.as_ref().map_or(Ok(()), |d| row("the summand's column scale", d))?;
                }
                Step::Multiply(z) => full("the factor", z)?,
                Step::BatchNorm(norm) => {
                    row("the mean", &norm.mean)?;
                    row("the variance", &norm.variance)?;
                    norm.gamma.as_ref().map_or(Ok(()), |d| row("gamma", d))?;
                    norm.beta.as_ref().map_or(Ok(()), |d| row("beta", d))?;
                    at_least_zero(operation, "epsilon of batch norm", norm.epsilon)?;
                }
                Step::Activation(f) => f.check(operation)?,
                Step::ActivationGradient(f, value) => {
                    f.check(operation)?;
                    full("the value of the activation", value)?;
                }
                Step::Dropout(dropout) => dropout.check(operation)?,
                Step::Sign(t) => t.as_ref().map_or(Ok(()), |t| row("the threshold", t))?,
                Step::Quantise(q) => q.check(operation)?,
                Step::Scale(_) => {}
            }
        }
        Ok(())
    }
    /// Calls `f` with every operand of every step, and its name.
    pub(crate) fn operands(&self, f: &mut dyn FnMut(&'static str, &Any<B>)) {
        for step in &self.0 {
            match step {
                Step::ScaleRows(d) => f("the row scale", &d.any()),
                Step::ScaleColumns(d) => f("the column scale", &d.any()),
                Step::Bias(b) => f("the bias", &b.any()),
                Step::Add { other, columns, .. } => {
                    f("the summand", other);
                    columns.iter().for_each(|d| f("the summand's column scale", &d.any()));
                }
                Step::Multiply(z) => f("the factor", z),
                Step::BatchNorm(norm) => {
                    f("the mean", &norm.mean.any());
                    f("the variance", &norm.variance.any());
                    norm.gamma.iter().for_each(|d| f("gamma", &d.any()));
                    norm.beta.iter().for_each(|d| f("beta", &d.any()));
                }
                Step::ActivationGradient(_, value) => f("the value of the activation", value),
                Step::Sign(Some(t)) => f("the threshold", &t.any()),
                Step::Scale(_) | Step::Activation(_) | Step::Dropout(_) | Step::Sign(None) | Step::Quantise(_) => {}
            }
        }
    }
}

impl Quantise {
    /// The highest level.
    #[must_use]
    pub const fn highest(&self) -> u32 {
        (1 << self.bits) - 1
    }
    /// The level of a value.
    #[must_use]
    pub fn level(&self, x: f64) -> f64 {
        let level = (x / self.scale).round_ties_even() + f64::from(self.zero_point);
        if level.is_nan() { 0.0 } else { level.clamp(0.0, f64::from(self.highest())) }
    }
    pub(crate) fn check(&self, operation: &'static str) -> Result<(), Error> {
        if !(1..=16).contains(&self.bits) {
            let (parameter, found) = ("the width of levels", f64::from(self.bits));
            return Err(Error::Parameter { operation, parameter, found, allowed: "from 1 to 16 bits" });
        }
        if !(self.scale > 0.0 && self.scale.is_finite()) {
            let (parameter, found) = ("the distance of levels", self.scale);
            return Err(Error::Parameter { operation, parameter, found, allowed: "above 0 and finite" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_values() {
        for f in [Activation::Relu, Activation::LeakyRelu { slope: 0.2 }, Activation::Elu { alpha: 1.5 }] {
            for x in [-3.0, -0.7, -1e-3, 1e-3, 0.4, 2.0] {
                let h = 1e-6;
                let slope = (f.apply(x + h) - f.apply(x - h)) / (2.0 * h);
                assert!((f.derivative(f.apply(x)) - slope).abs() < 1e-6, "{f:?} at {x}");
            }
            assert!(f.apply(f64::NAN).is_nan());
        }
        assert!(Activation::LeakyRelu { slope: -0.1 }.check("x").is_err() && Activation::Elu { alpha: 0.0 }.check("x").is_err());
    }

    #[test]
    fn dropout_drops_its_share_and_keeps_the_mean() {
        let d = Dropout::new(0.3, 42, 1);
        let (mut kept, mut sum) = (0, 0.0);
        for i in 0..100 {
            for c in 0..100 {
                let f = d.at(i, c);
                kept += usize::from(f > 0.0);
                sum += f;
            }
        }
        assert!((6850..7150).contains(&kept), "{kept}");
        assert!((sum / 1e4 - 1.0).abs() < 0.03);
        assert_eq!(Dropout::new(0.0, 1, 1).threshold(), 0);
        assert!(Dropout::new(1.0, 1, 1).check("x").is_err() && Dropout::new(f64::NAN, 1, 1).check("x").is_err());
    }

    #[test]
    fn levels() {
        let q = Quantise { scale: 0.5, zero_point: 2, bits: 3 };
        assert_eq!([-9.0, -0.5, 0.0, 0.25, 0.75, 9.0, f64::INFINITY].map(|x| q.level(x)), [0.0, 1.0, 2.0, 2.0, 4.0, 7.0, 7.0]);
        assert_eq!(q.level(f64::NAN), 0.0);
        for bits in [0, 17] {
            assert!(Quantise { bits, ..q }.check("x").is_err());
        }
        assert!(Quantise { scale: 0.0, ..q }.check("x").is_err());
    }
}
