//! Training over the whole graph, or over batches of it: epochs, the choice of a state, divergence.

mod batched;
mod replays;
mod whole;

pub(crate) use replays::extra_bytes as replay_bytes;
pub(crate) use whole::train as train_whole;
pub use whole::why_not_whole;

use crate::batch::Batches;
use crate::optimiser::{Memory, Optimising};
use crate::{
    Error, Features, Float, Gradients, Graph, LogitsGradient, Mode, Model, NodeTask, Optimiser, Parameters, Scores, Taught, refused,
};
use batched::Source;
use bitgraph_sparse::Control;
use bitgraph_tensor::ops::{Whole, sum_columns};
use bitgraph_tensor::{Dense, TensorBackend};
use replays::Replays;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which state of a run is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Epochs, each one step over all training nodes, or one for each batch.
    pub epochs: u32,
    /// Which state is kept.
    pub selection: Selection,
    /// Stops after so many epochs without a better state; never without.
    pub stale_epochs: Option<u32>,
    /// What the loss is multiplied by in f16 at first; it halves when a gradient overflows, and doubles after 200 steps without.
    pub loss_scale: f64,
    /// The batches that an epoch steps over; the whole graph is one step without. They are of the task's graph and features: a backend that
    /// draws batches itself takes both from the task.
    pub batches: Option<Arc<Batches>>,
    /// Progress in epochs, and cancellation.
    pub control: Control,
}

/// An epoch as a report gets it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The epoch, from 1.
    pub epoch: u32,
    /// The training loss, of the step with its dropout; the mean of several steps.
    pub loss: f64,
    /// What the state after the step is worth; of batches that are not scored every epoch, what the last one was that is.
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

/// A loss, of 1 x 1, and the gradient of logits.
type Loss<B, T> = (Dense<B, <T as bitgraph_tensor::Element>::Real>, LogitsGradient<B, T>);

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
    check::<B, T>(model, task, training).map_err(refused::<B>)?;
    if let Whole::Done((run, epochs)) = whole::train(model, task, training, seed)? {
        epochs.iter().for_each(&mut report);
        training.control.report(u64::from(run.epochs), Some(u64::from(training.epochs)));
        return Ok(run);
    }
    let mut run = Run::new(model, task, training, seed)?.replayed(true);
    let mut cancelled = false;
    while !run.is_over() {
        if let Err(stop) = training.control.step(u64::from(run.epoch), Some(u64::from(training.epochs))) {
            if run.best.is_none() {
                return Err(stop.into());
            }
            cancelled = true;
            break;
        }
        run.go_on(u32::MAX)?.iter().for_each(&mut report);
    }
    training.control.report(u64::from(run.epoch), Some(u64::from(training.epochs)));
    Ok(Trained { cancelled, ..run.finish()? })
}

/// Refuses a model that does not fit the task, and settings outside their ranges.
pub(crate) fn check<B: TensorBackend, T: Float>(model: &Model<B, T>, task: &NodeTask<B, T>, training: &Training) -> Result<(), Error> {
    if model.columns() != task.classes() {
        let (expected, found) = (task.classes() as u64, model.columns() as u64);
        return Err(Error::Size { what: "columns of the model's result, for the classes,", expected, found });
    }
    if training.epochs == 0 {
        return Err(Error::Setting { what: "the number of epochs", found: 0.0, allowed: "1 or more" });
    }
    if let Some(batches) = &training.batches {
        let what = "training on batches";
        if batches.shape() != (task.graph.nodes(), task.features.shape().1) {
            return Err(Error::Combination { what, why: "they are of another graph: nodes or features differ in number" });
        }
        if task.is_of_several() {
            return Err(Error::Combination { what, why: "a node may be of several classes, which a whole graph alone is trained on" });
        }
    }
    training.optimiser.validate()
}

/// Everything that a run goes on from, on the host: after [`Run::resume`] it gives the numbers that it would have given.
#[derive(Clone, Debug, PartialEq)]
pub struct State<R> {
    /// The seed.
    pub seed: u64,
    /// Epochs that are done.
    pub epoch: u32,
    /// The flat buffer of parameters.
    pub parameters: Vec<R>,
    /// What the optimiser remembers.
    pub memory: Memory<R>,
    /// The loss scale, and steps since it changed.
    pub loss_scale: (f64, u32),
    /// The best epoch and its flat buffer.
    pub best: Option<(Epoch, Vec<R>)>,
}

/// A run on its way, an epoch at a time: what [`train`] does, for callers that save states in between.
pub struct Run<'a, B: TensorBackend, T: Float> {
    model: &'a Model<B, T>,
    task: &'a NodeTask<B, T>,
    training: &'a Training,
    seed: u64,
    parameters: Parameters<B, T>,
    gradients: Gradients<B, T::Real>,
    optimising: Optimising<B, T>,
    taught: Option<Taught<B, T>>,
    scale: LossScale,
    best: Option<(Epoch, Parameters<B, T>)>,
    last: Option<Scores>,
    epoch: u32,
    diverged: Option<u32>,
    replays: Replays<B, T>,
    /// Where batches come from.
    source: Source<B, T>,
    /// The epoch that the run began after.
    begun: u32,
}

impl<'a, B: TensorBackend, T: Float> Run<'a, B, T> {
    /// A run before its first epoch.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::Size`]; out of memory.
    pub fn new(model: &'a Model<B, T>, task: &'a NodeTask<B, T>, training: &'a Training, seed: u64) -> Result<Self, B::Error> {
        check::<B, T>(model, task, training).map_err(refused::<B>)?;
        let backend = task.graph.backend();
        let parameters = model.start(backend, seed)?;
        Ok(Self {
            model,
            task,
            training,
            seed,
            gradients: Gradients::new(backend, model.layout())?,
            optimising: Optimising::new(&training.optimiser, &parameters)?,
            parameters,
            taught: None,
            scale: LossScale::new::<T>(training.loss_scale),
            best: None,
            last: None,
            epoch: 0,
            diverged: None,
            replays: Replays::Off,
            source: Source::default(),
            begun: 0,
        })
    }
    /// The same run, whose epochs may be written down where that is `wanted` and pays: for a run that has its stream to itself.
    #[must_use]
    pub(crate) fn replayed(mut self, wanted: bool) -> Self {
        let serve = wanted && replays::serve(self.model, self.task, self.training);
        self.replays = if serve { Replays::Wanted } else { Replays::Off };
        self
    }
    /// Whether epochs are written down and played again.
    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self.replays, Replays::Written(_))
    }
    /// The same run with a teacher's part in the loss, from the next epoch on.
    #[must_use]
    pub fn taught_by(mut self, taught: Taught<B, T>) -> Self {
        self.taught = Some(taught);
        self
    }
    /// A run after the epochs of a state.
    ///
    /// # Errors
    /// As [`Run::new`]; [`Error::Size`] for a state of another model.
    pub fn resume(
        model: &'a Model<B, T>,
        task: &'a NodeTask<B, T>,
        training: &'a Training,
        state: State<T::Real>,
    ) -> Result<Self, B::Error> {
        let (layout, backend) = (model.layout(), task.graph.backend());
        let restored = |flat| Parameters::from_flat(layout, layout.flat(backend, flat)?);
        let mut run = Self::new(model, task, training, state.seed)?;
        run.parameters = restored(state.parameters)?;
        run.optimising = Optimising::new(&training.optimiser, &run.parameters)?;
        run.optimising.remember(&run.parameters, state.memory)?;
        (run.scale.value, run.scale.calm) = state.loss_scale;
        run.best = state.best.map(|(epoch, flat)| Ok::<_, B::Error>((epoch, restored(flat)?))).transpose()?;
        (run.epoch, run.begun) = (state.epoch, state.epoch);
        Ok(run)
    }
    /// The state now.
    ///
    /// # Errors
    /// The backend's.
    pub fn state(&self) -> Result<State<T::Real>, B::Error> {
        let best = self.best.as_ref().map(|(epoch, at)| Ok::<_, B::Error>((*epoch, at.flat().to_host()?))).transpose()?;
        Ok(State {
            seed: self.seed,
            epoch: self.epoch,
            parameters: self.parameters.flat().to_host()?,
            memory: self.optimising.memory()?,
            loss_scale: (self.scale.value, self.scale.calm),
            best,
        })
    }
    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// The epoch in which a loss was no finite number any more.
    pub fn diverged(&self) -> Option<u32> {
        self.diverged
    }
    /// Epochs that are done.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }
    /// The best epoch until now.
    pub fn best(&self) -> Option<&Epoch> {
        self.best.as_ref().map(|(epoch, _)| epoch)
    }
    /// The same with its parameters.
    pub(crate) fn best_state(&self) -> Option<(&Epoch, &Parameters<B, T>)> {
        self.best.as_ref().map(|(epoch, parameters)| (epoch, parameters))
    }
    /// Whether there is no epoch left: all are done, none was better for long, or it diverged.
    pub fn is_over(&self) -> bool {
        let stale = self.best.as_ref().map_or(0, |(best, _)| self.epoch - best.epoch);
        self.diverged.is_some() || self.epoch >= self.training.epochs || self.training.stale_epochs.is_some_and(|most| stale >= most)
    }
    /// One epoch: a step over the training nodes, or one for each batch, and the scores of the state after it.
    ///
    /// # Errors
    /// The backend's.
    pub fn step(&mut self) -> Result<Epoch, B::Error> {
        match self.go_on(1)?.pop() {
            Some(epoch) => Ok(epoch),
            None => self.by_operations(),
        }
    }
    /// The same, operation by operation.
    fn by_operations(&mut self) -> Result<Epoch, B::Error> {
        let (task, epoch, batches) = (self.task, self.epoch + 1, self.training.batches.as_deref());
        let loss = match batches {
            Some(batches) => self.batches(batches, epoch)?,
            None => self.update_whole((Mode::Train { seed: self.seed, step: epoch }, epoch))?,
        };
        let scored = batches.is_none_or(|batches| batches.is_scored(epoch, self.training.epochs));
        let (loss, scores) = match self.last.filter(|_| !scored) {
            Some(scores) => (loss.to_host()?.first().map_or(f64::NAN, |loss| bitgraph_semiring::Scalar::to_f64(*loss)), scores),
            None => task.scores(&loss, &self.model.infer(&task.graph, &self.parameters, &task.features)?)?,
        };
        let this = Epoch { epoch, loss, scores };
        (self.epoch, self.last) = (epoch, Some(scores));
        if !loss.is_finite() || !scores.validation_loss.is_finite() {
            self.diverged = Some(epoch);
        } else if scored && self.best.as_ref().is_none_or(|(best, _)| is_better(self.training.selection, &scores, &best.scores)) {
            self.best = Some((this, self.parameters.clone()));
        }
        Ok(this)
    }
    /// A step of the optimiser over the whole graph; the loss before it, of 1 x 1.
    fn update_whole(&mut self, at: (Mode, u32)) -> Result<Dense<B, T::Real>, B::Error> {
        let (task, taught) = (self.task, self.taught.clone());
        self.update(&task.graph, &task.features, at, |logits, scale| loss_of(task, taught.as_ref(), logits, scale))
    }
    /// Forms the gradients over the whole graph; the loss, of 1 x 1.
    fn differentiate_whole(&mut self, mode: Mode) -> Result<Dense<B, T::Real>, B::Error> {
        let (task, taught) = (self.task, self.taught.clone());
        self.differentiate(&task.graph, &task.features, mode, |logits, scale| loss_of(task, taught.as_ref(), logits, scale))
    }
    /// A step of the optimiser over a graph; the loss before it, of 1 x 1.
    fn update(
        &mut self,
        graph: &Graph<B, T::Real>,
        features: &Features<B, T>,
        (mode, epoch): (Mode, u32),
        loss: impl FnOnce(&Dense<B, T>, f64) -> Result<Loss<B, T>, B::Error>,
    ) -> Result<Dense<B, T::Real>, B::Error> {
        let loss = self.differentiate(graph, features, mode, loss)?;
        if !self.scale.dynamic || self.scale.after(finite(&self.gradients)?) {
            self.follow_gradients(epoch)?;
        }
        Ok(loss)
    }
    /// Forms the gradients over a graph; the loss.
    fn differentiate(
        &mut self,
        graph: &Graph<B, T::Real>,
        features: &Features<B, T>,
        mode: Mode,
        loss: impl FnOnce(&Dense<B, T>, f64) -> Result<Loss<B, T>, B::Error>,
    ) -> Result<Dense<B, T::Real>, B::Error> {
        let (logits, tape) = self.model.forward(graph, &self.parameters, features, mode)?;
        let (loss, dlogits) = loss(&logits, self.scale.value)?;
        // The backward pass, which takes most, has no use for them.
        drop(logits);
        self.model.backward(graph, &self.parameters, mode, tape, dlogits, &mut self.gradients)?;
        Ok(loss)
    }
    /// The optimiser's step by the gradients that are there.
    fn follow_gradients(&mut self, epoch: u32) -> Result<(), B::Error> {
        let share = self.training.optimiser.schedule.factor(epoch, self.training.epochs);
        self.parameters = self.optimising.step(&self.parameters, &self.gradients, (1.0 / self.scale.used, share))?;
        Ok(())
    }
    /// The state that was best.
    ///
    /// # Errors
    /// [`Error::Diverged`] where none was good.
    pub fn finish(self) -> Result<Trained<B, T>, B::Error> {
        let Some((best, parameters)) = self.best else {
            return Err(refused::<B>(Error::Diverged { epoch: self.epoch }));
        };
        Ok(Trained { parameters, best, epochs: self.epoch, diverged: self.diverged, cancelled: false })
    }
}

/// The loss of a step over the whole graph, with the teacher's part if there is a teacher.
fn loss_of<B: TensorBackend, T: Float>(
    task: &NodeTask<B, T>,
    taught: Option<&Taught<B, T>>,
    logits: &Dense<B, T>,
    scale: f64,
) -> Result<Loss<B, T>, B::Error> {
    match taught {
        Some(taught) => taught.loss(task, logits, scale).map(|(loss, gradient)| (loss, gradient.into())),
        None => task.loss(logits, scale),
    }
}

pub(crate) fn is_better(selection: Selection, new: &Scores, old: &Scores) -> bool {
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
pub(crate) fn finite<B: TensorBackend, R: bitgraph_tensor::Real>(gradients: &Gradients<B, R>) -> Result<bool, B::Error> {
    Ok(all_finite(&sum_columns(gradients.flat())?.to_host()?))
}
fn all_finite<R: bitgraph_tensor::Real>(sums: &[R]) -> bool {
    sums.iter().all(|sum| bitgraph_semiring::Scalar::to_f64(*sum).is_finite())
}

/// The loss scale of f16; 1 for other types.
#[derive(Clone, Copy)]
pub(crate) struct LossScale {
    pub(crate) value: f64,
    pub(crate) used: f64,
    calm: u32,
    pub(crate) dynamic: bool,
}
impl LossScale {
    pub(crate) fn new<T: Float>(start: f64) -> Self {
        let value = if T::NEEDS_LOSS_SCALE { start.clamp(1.0, LARGEST_SCALE) } else { 1.0 };
        Self { value, used: value, calm: 0, dynamic: T::NEEDS_LOSS_SCALE }
    }
    /// Follows a step; whether its gradients are of use.
    pub(crate) fn after(&mut self, finite: bool) -> bool {
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
