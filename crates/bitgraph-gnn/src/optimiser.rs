//! Optimisers over the flat buffer of parameters, on the backend.

use crate::{Error, Float, Gradients, Parameters};
use bitgraph_tensor::ops::{AdamSettings, AdamState, Moment, SgdSettings, adam, map, sgd};
use bitgraph_tensor::{Dense, Real, TensorBackend};
use serde::{Deserialize, Serialize};

/// How parameters follow gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// How the learning rate goes on from epoch to epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// It stays.
    #[default]
    Constant,
    /// Half a wave of the cosine from the rate down to zero behind the last epoch. Source: Loshchilov, Hutter, 2017.
    Cosine,
    /// It is multiplied by a factor after every so many epochs.
    Steps {
        /// The epochs of a step, 1 or more.
        every: u32,
        /// The factor, above 0 and at most 1.
        factor: f64,
    },
}

impl Schedule {
    /// What the rate is multiplied by in an epoch, from 1, of so many.
    #[must_use]
    pub fn factor(self, epoch: u32, epochs: u32) -> f64 {
        let done = epoch.saturating_sub(1);
        match self {
            Self::Constant => 1.0,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * f64::from(done) / f64::from(epochs.max(1))).cos()),
            Self::Steps { every, factor } => factor.powf(f64::from(done / every.max(1))),
        }
    }
}

/// An optimiser's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimiser {
    /// The method.
    pub method: Method,
    /// The learning rate of the first epoch.
    pub rate: f64,
    /// How it goes on.
    pub schedule: Schedule,
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
        if let Schedule::Steps { every, factor } = self.schedule
            && (every == 0 || !(factor > 0.0 && factor <= 1.0))
        {
            let (what, allowed) = ("the factor of a step of the learning rate", "above 0 and at most 1, after 1 epoch or more");
            return Err(Error::Setting { what, found: factor, allowed });
        }
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

/// What an optimiser remembers, on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory<R> {
    /// Steps that were taken.
    pub steps: u32,
    /// The running mean of gradients; of SGD the last step.
    pub first: Vec<R>,
    /// The running mean of their squares.
    pub second: Vec<R>,
}

impl<B: TensorBackend, T: Float> Optimising<B, T> {
    pub fn new(settings: &Optimiser, parameters: &Parameters<B, T>) -> Result<Self, B::Error> {
        settings.validate().map_err(crate::refused::<B>)?;
        let (flat, layout) = (parameters.flat(), parameters.layout());
        let decay = layout.flat(flat.backend(), layout.decay(&settings.decay))?;
        // Results go to other arrays than operands come from.
        let next = AdamState::new(Dense::zeros(flat.backend(), flat.nrows(), flat.ncols())?)?;
        Ok(Self { settings: settings.clone(), decay, next, state: AdamState::new(flat.clone())?, step: 0 })
    }
    /// Goes on with what was remembered.
    pub fn remember(&mut self, parameters: &Parameters<B, T>, memory: Memory<T::Real>) -> Result<(), B::Error> {
        let (layout, backend) = (parameters.layout(), parameters.flat().backend());
        self.state.first = layout.flat(backend, memory.first)?;
        self.state.second = layout.flat(backend, memory.second)?;
        self.step = memory.steps;
        Ok(())
    }
    /// What is remembered now.
    pub fn memory(&self) -> Result<Memory<T::Real>, B::Error> {
        Ok(Memory { steps: self.step, first: self.state.first.to_host()?, second: self.state.second.to_host()? })
    }
    /// Steps that were taken.
    pub fn steps(&self) -> u32 {
        self.step
    }
    /// The parameters after them.
    pub fn parameters(&self) -> &Dense<B, T::Real> {
        &self.state.parameters
    }
    /// The numbers of a step of Adam.
    fn adam(&self, (factor, share): (f64, f64)) -> AdamSettings {
        let decoupled = self.settings.method == Method::AdamW;
        AdamSettings { rate: self.settings.rate * share, decoupled, gradient_factor: factor, ..AdamSettings::default() }
    }
    /// What a replay of the next step has to be told: how far draws have moved on, what gradients are multiplied by, and the share of the
    /// learning rate.
    pub fn moment(&self, draws: u32, loss_scale: f64, share: f64) -> Moment {
        let AdamSettings { rate, gradient_factor, .. } = self.adam((1.0 / loss_scale, share));
        let corrections = AdamSettings::default().corrections(self.step + 1);
        Moment { draws, rate, gradient_factor, corrections, loss_scale }
    }
    /// Moves everything to arrays that no other handle holds.
    pub fn separate(&mut self) -> Result<(), B::Error> {
        for of in [&mut self.state, &mut self.next] {
            for array in [&mut of.parameters, &mut of.first, &mut of.second] {
                *array = map(array).eval()?;
            }
        }
        Ok(())
    }
    /// Which arrays they are, those of the next step after those of the last one.
    pub fn arrays(&self) -> [usize; 6] {
        let of =
            |state: &AdamState<B, T::Real>| [&state.parameters, &state.first, &state.second].map(|x| std::ptr::from_ref(x.raw()).addr());
        let ([a, b, c], [d, e, f]) = (of(&self.state), of(&self.next));
        [a, b, c, d, e, f]
    }
    /// Follows a step that the device was told to do again: both sets of buffers change places.
    pub fn replayed(&mut self) {
        self.step += 1;
        std::mem::swap(&mut self.state, &mut self.next);
    }
    /// A copy of where it is, for [`Optimising::restore`].
    #[allow(clippy::type_complexity)] // a pair
    pub fn copy(&self) -> Result<(u32, AdamState<B, T::Real>), B::Error> {
        let state = &self.state;
        let (first, second) = (map(&state.first).eval()?, map(&state.second).eval()?);
        Ok((self.step, AdamState { parameters: map(&state.parameters).eval()?, first, second }))
    }
    /// Goes back to a copy, in other arrays than before.
    pub fn restore(&mut self, (step, state): (u32, AdamState<B, T::Real>)) -> Result<(), B::Error> {
        (self.step, self.state) = (step, state);
        self.separate()
    }
    /// Where it is, into arrays of the same shapes, for [`Optimising::go_back`].
    pub fn copy_into(&self, to: &mut AdamState<B, T::Real>) -> Result<(), B::Error> {
        copy(&self.state, to)
    }
    /// Goes back by so many steps that the device was told to do again, to a copy, in the same arrays; no other handle holds them.
    pub fn go_back(&mut self, steps: u32, to: &AdamState<B, T::Real>) -> Result<(), B::Error> {
        self.step -= steps;
        if steps % 2 == 1 {
            std::mem::swap(&mut self.state, &mut self.next);
        }
        copy(to, &mut self.state)
    }
    /// Forgets steps after these that were written down and not done, as many with each set of buffers.
    pub fn set_steps(&mut self, steps: u32) {
        self.step = steps;
    }
    /// Parameters after one more step, from gradients that are `1 / factor` times too large, at a share of the learning rate.
    pub fn step(
        &mut self,
        parameters: &Parameters<B, T>,
        gradients: &Gradients<B, T::Real>,
        (factor, share): (f64, f64),
    ) -> Result<Parameters<B, T>, B::Error> {
        self.step += 1;
        let (rate, method) = (self.settings.rate * share, self.settings.method);
        if let Method::Sgd { momentum } = method {
            let settings = SgdSettings { rate, momentum, gradient_factor: factor };
            let next = (&mut self.next.parameters, &mut self.next.first);
            sgd((&self.state.parameters, &self.state.first), gradients.flat(), Some(&self.decay), settings, next)?;
        } else {
            let settings = self.adam((factor, share));
            adam(&self.state, gradients.flat(), Some(&self.decay), (settings, self.step), &mut self.next)?;
        }
        std::mem::swap(&mut self.state, &mut self.next);
        Parameters::from_flat(parameters.layout(), self.state.parameters.clone())
    }
}

/// Copies a state to other arrays.
fn copy<B: TensorBackend, R: Real>(from: &AdamState<B, R>, to: &mut AdamState<B, R>) -> Result<(), B::Error> {
    map(&from.parameters).into(&mut to.parameters)?;
    map(&from.first).into(&mut to.first)?;
    map(&from.second).into(&mut to.second)
}
