//! Training over the whole graph: epochs, the choice of a state, divergence.

mod whole;

pub use whole::why_not_whole;

use crate::optimiser::Optimising;
use crate::{Error, Float, Gradients, Mode, Model, NodeTask, Optimiser, Parameters, Scores, refused};
use bitgraph_sparse::Control;
use bitgraph_tensor::TensorBackend;
use bitgraph_tensor::ops::{Whole, cross_entropy_with_gradient, sum_columns};

/// Which state of a run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// That of the lowest validation loss, the earliest among equals.
    #[default]
    LowestValidationLoss,
    /// That of the best validation accuracy, among equals that of the lower loss.
    BestValidationAccuracy,
    /// The last one.
    Last,
}

/// The settings of training.
#[derive(Clone, Debug)]
pub struct Training {
    /// The optimiser.
    pub optimiser: Optimiser,
    /// Epochs, each one step over all training nodes.
    pub epochs: u32,
    /// Which state is kept.
    pub selection: Selection,
    /// Stops after so many epochs without a better state; never without.
    pub stale_epochs: Option<u32>,
    /// What the loss is multiplied by in f16 at first; it halves when a gradient overflows, and doubles after 200 steps without.
    pub loss_scale: f64,
    /// Progress in epochs, and cancellation.
    pub control: Control,
}

/// An epoch as a report gets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// The epoch, from 1.
    pub epoch: u32,
    /// The training loss, of the step with its dropout.
    pub loss: f64,
    /// What the state after the step is worth.
    pub scores: Scores,
}

/// A run: the state that was kept, and its scores.
pub struct Trained<B: TensorBackend, T: Float> {
    /// The parameters of the state.
    pub parameters: Parameters<B, T>,
    /// The epoch that the state is of.
    pub best: Epoch,
    /// Epochs that were run.
    pub epochs: u32,
    /// The epoch in which a loss was no number any more: the state is of an earlier one.
    pub diverged: Option<u32>,
    /// Whether it was stopped through [`Training::control`].
    pub cancelled: bool,
}

/// Steps without an overflow after which the loss scale doubles, and where it stops.
const CALM: u32 = 200;
const LARGEST_SCALE: f64 = 65536.0;

/// Trains a model from the start of a seed. Deterministic: the same seed gives the same numbers on the same backend. `report` gets every
/// epoch. A cancelled run gives the best state until then.
///
/// # Errors
/// [`Error::Setting`], [`Error::Size`]; [`Error::Diverged`] where no state was good; a cancellation before the first epoch; the backend's.
pub fn train<B: TensorBackend, T: Float>(
    model: &Model<B, T>,
    task: &NodeTask<B, T>,
    training: &Training,
    seed: u64,
    mut report: impl FnMut(&Epoch),
) -> Result<Trained<B, T>, B::Error> {
    if model.columns() != task.classes() {
        let (expected, found) = (task.classes() as u64, model.columns() as u64);
        return Err(refused::<B>(Error::Size { what: "columns of the model's result, for the classes,", expected, found }));
    }
    if training.epochs == 0 {
        return Err(refused::<B>(Error::Setting { what: "the number of epochs", found: 0.0, allowed: "1 or more" }));
    }
    training.optimiser.validate().map_err(refused::<B>)?;
    if let Whole::Done((run, epochs)) = whole::train(model, task, training, seed)? {
        epochs.iter().for_each(&mut report);
        training.control.report(u64::from(run.epochs), Some(u64::from(training.epochs)));
        return Ok(run);
    }
    let backend = task.graph.backend();
    let mut parameters = model.start(backend, seed)?;
    let mut gradients = Gradients::new(backend, model.layout())?;
    let mut optimising = Optimising::new(&training.optimiser, &parameters)?;
    let mut scale = LossScale::new::<T>(training.loss_scale);
    let mut best: Option<(Epoch, Parameters<B, T>)> = None;
    let (mut epochs, mut diverged, mut cancelled) = (0, None, false);
    for epoch in 1..=training.epochs {
        if let Err(stop) = training.control.step(u64::from(epoch - 1), Some(u64::from(training.epochs))) {
            if best.is_none() {
                return Err(stop.into());
            }
            cancelled = true;
            break;
        }
        let mode = Mode::Train { seed, step: epoch };
        let (logits, tape) = model.forward(&task.graph, &parameters, &task.features, mode)?;
        let (loss, dlogits) = cross_entropy_with_gradient(&logits, task.train_labels(), scale.value)?;
        model.backward(&task.graph, &parameters, mode, tape, dlogits, &mut gradients)?;
        if !scale.dynamic || scale.after(finite(&gradients)?) {
            parameters = optimising.step(&parameters, &gradients, 1.0 / scale.used)?;
        }
        let logits = model.infer(&task.graph, &parameters, &task.features)?;
        let (loss, scores) = task.scores(&loss, &logits)?;
        let this = Epoch { epoch, loss, scores };
        epochs = epoch;
        report(&this);
        if !loss.is_finite() || !scores.validation_loss.is_finite() {
            diverged = Some(epoch);
            break;
        }
        if best.as_ref().is_none_or(|(best, _)| is_better(training.selection, &this.scores, &best.scores)) {
            best = Some((this, parameters.clone()));
        }
        let stale = best.as_ref().map_or(0, |(best, _)| epoch - best.epoch);
        if training.stale_epochs.is_some_and(|most| stale >= most) {
            break;
        }
    }
    training.control.report(u64::from(epochs), Some(u64::from(training.epochs)));
    let Some((best, parameters)) = best else {
        return Err(refused::<B>(Error::Diverged { epoch: epochs }));
    };
    Ok(Trained { parameters, best, epochs, diverged, cancelled })
}

fn is_better(selection: Selection, new: &Scores, old: &Scores) -> bool {
    let lower = new.validation_loss < old.validation_loss;
    match selection {
        Selection::LowestValidationLoss => lower,
        Selection::BestValidationAccuracy => {
            new.validation_accuracy > old.validation_accuracy || (new.validation_accuracy == old.validation_accuracy && lower)
        }
        Selection::Last => true,
    }
}

/// Whether every gradient is a finite number: sums of columns are, if and only if their elements are and no sum overflows.
fn finite<B: TensorBackend, R: bitgraph_tensor::Real>(gradients: &Gradients<B, R>) -> Result<bool, B::Error> {
    let sums = sum_columns(gradients.flat())?.to_host()?;
    Ok(sums.into_iter().all(|sum| bitgraph_semiring::Scalar::to_f64(sum).is_finite()))
}

/// The loss scale of f16; 1 for other types.
struct LossScale {
    value: f64,
    used: f64,
    calm: u32,
    dynamic: bool,
}
impl LossScale {
    fn new<T: Float>(start: f64) -> Self {
        let value = if T::NEEDS_LOSS_SCALE { start.clamp(1.0, LARGEST_SCALE) } else { 1.0 };
        Self { value, used: value, calm: 0, dynamic: T::NEEDS_LOSS_SCALE }
    }
    /// Follows a step; whether its gradients are of use.
    fn after(&mut self, finite: bool) -> bool {
        self.used = self.value;
        if !finite {
            // At the smallest scale it is not the scale that overflows: the step shows what diverged.
            let helps = self.value > 1.0;
            (self.value, self.calm) = ((self.value / 2.0).max(1.0), 0);
            return !helps;
        }
        self.calm += 1;
        if self.calm == CALM {
            (self.value, self.calm) = ((self.value * 2.0).min(LARGEST_SCALE), 0);
        }
        true
    }
}
