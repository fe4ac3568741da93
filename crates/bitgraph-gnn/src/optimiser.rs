//! Optimisers over the flat buffer of parameters, on the backend.

use crate::{Error, Float, Gradients, Parameters};
use bitgraph_tensor::ops::{AdamSettings, AdamState, adam, map};
use bitgraph_tensor::{Dense, TensorBackend};

/// How parameters follow gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Adam with decay added to gradients. Source: Kingma, Ba, 2015.
    Adam,
    /// Adam with decay taken from the parameters. Source: Loshchilov, Hutter, 2019.
    AdamW,
    /// `v = momentum v + g + decay p`, `p = p - rate v`.
    Sgd {
        /// How much of the last step is kept, from 0 to below 1.
        momentum: f64,
    },
}

/// An optimiser's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimiser {
    /// The method.
    pub method: Method,
    /// The learning rate.
    pub rate: f64,
    /// Weight decay by group: a parameter has that of the last pair whose text its name begins with, and none without.
    pub decay: Vec<(String, f64)>,
}

impl Optimiser {
    /// Refuses numbers outside their ranges.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn validate(&self) -> Result<(), Error> {
        let allowed = "0 or more and finite";
        let at_least_zero = |what, found: f64| match found >= 0.0 && found.is_finite() {
            true => Ok(()),
            false => Err(Error::Setting { what, found, allowed }),
        };
        at_least_zero("the learning rate", self.rate)?;
        self.decay.iter().try_for_each(|(_, decay)| at_least_zero("weight decay", *decay))?;
        match self.method {
            Method::Sgd { momentum } if !(0.0..1.0).contains(&momentum) => {
                Err(Error::Setting { what: "momentum", found: momentum, allowed: "from 0 to below 1" })
            }
            _ => Ok(()),
        }
    }
}

/// An optimiser on its way: what it remembers of steps before. Two sets of buffers change places from step to step.
pub(crate) struct Optimising<B: TensorBackend, T: Float> {
    settings: Optimiser,
    decay: Dense<B, T::Real>,
    state: AdamState<B, T::Real>,
    next: AdamState<B, T::Real>,
    step: u32,
}

impl<B: TensorBackend, T: Float> Optimising<B, T> {
    pub fn new(settings: &Optimiser, parameters: &Parameters<B, T>) -> Result<Self, B::Error> {
        settings.validate().map_err(crate::refused::<B>)?;
        let (flat, layout) = (parameters.flat(), parameters.layout());
        let decay = layout.flat(flat.backend(), layout.decay(&settings.decay))?;
        let state = AdamState::new(flat.clone())?;
        Ok(Self { settings: settings.clone(), decay, next: state.clone(), state, step: 0 })
    }
    /// Parameters after one more step, from gradients that are `1 / factor` times too large.
    pub fn step(
        &mut self,
        parameters: &Parameters<B, T>,
        gradients: &Gradients<B, T::Real>,
        factor: f64,
    ) -> Result<Parameters<B, T>, B::Error> {
        self.step += 1;
        let (rate, method) = (self.settings.rate, self.settings.method);
        if let Method::Sgd { momentum } = method {
            let gradient = map(gradients.flat()).times(factor);
            let decayed = map(&self.state.parameters).multiply(&self.decay).eval()?;
            gradient.add(&decayed).add_scaled(&self.state.first, momentum).into(&mut self.next.first)?;
            map(&self.state.parameters).add_scaled(&self.next.first, -rate).into(&mut self.next.parameters)?;
        } else {
            let settings =
                AdamSettings { rate, decoupled: method == Method::AdamW, gradient_factor: factor, ..AdamSettings::default() };
            adam(&self.state, gradients.flat(), Some(&self.decay), (settings, self.step), &mut self.next)?;
        }
        std::mem::swap(&mut self.state, &mut self.next);
        Parameters::from_flat(parameters.layout(), self.state.parameters.clone())
    }
}
