//! Several runs of one training, from seeds that follow each other: what each came to, their mean and deviation, the best of them.
//!
//! Invariant: how many runs are on their way at once changes no number but their times.

use crate::train::{check, is_better, train_whole};
use crate::{Abreast, Course, Epoch, Error, Float, Model, NodeTask, Parameters, Run, State, Taught, Training, refused};
use bitgraph_tensor::TensorBackend;
use bitgraph_tensor::ops::Whole;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Instant;

/// Epochs that a run goes on by itself.
const SLICE: usize = 8;

/// What a run came to. Accuracies are shares of 1, those of the state that was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// The accuracy on test nodes.
    pub test_accuracy: f64,
    /// That on validation nodes.
    pub val_accuracy: f64,
    /// The epoch that the state is of, from 1.
    pub best_epoch: u32,
    /// Epochs that were run.
    pub epochs: u32,
    /// Seconds of its epochs, with those of a teacher that is trained for it.
    pub train_s: f64,
    /// The epoch in which the loss was no number any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<u32>,
}

/// A mean and how far values are from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean; 0 of no values.
    pub mean: f64,
    /// The deviation of the sample: the root of the sum of squares over one less than the values; 0 of a single one.
    pub deviation: f64,
}

impl Spread {
    /// Of some values. O(values).
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (values.len() - 1) as f64).sqrt() } else { 0.0 };
        Self { mean, deviation }
    }
}

/// Where several runs are, on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<R> {
    /// Runs that are over.
    pub outcomes: Vec<Outcome>,
    /// The best epoch of them all, and its flat buffer of parameters.
    pub best: Option<(Epoch, Vec<R>)>,
    /// The first run on its way, and the seconds that it took so far. Others beside it begin anew, and give the same numbers again.
    pub running: Option<(State<R>, f64)>,
}

/// What the teacher of a seed's run says.
pub type Teach<'a, B, T> = Box<dyn Fn(u64) -> Result<Taught<B, T>, <B as bitgraph_backend::Backend>::Error> + Sync + 'a>;

/// A run on its way, and the seconds that it took so far.
type Timed<'a, B, T> = (Run<'a, B, T>, f64);

/// Runs of one training on their way, an epoch at a time.
pub struct Runs<'a, B: TensorBackend, T: Float> {
    model: &'a Model<B, T>,
    task: &'a NodeTask<B, T>,
    training: &'a Training,
    seeds: Vec<u64>,
    teach: Option<Teach<'a, B, T>>,
    outcomes: Vec<Outcome>,
    best: Option<(Epoch, Vec<T::Real>)>,
    /// Runs on their way, in the order of their seeds: of those that follow the runs that are over, and the last one of all.
    running: VecDeque<Timed<'a, B, T>>,
    abreast: Abreast,
    /// Epochs that were run and not told of, with their seeds.
    told_later: VecDeque<(u64, Epoch)>,
    /// How the epochs of the last run were done.
    course: Option<Course>,
}

impl<'a, B: TensorBackend, T: Float> Runs<'a, B, T> {
    /// Runs from these seeds, one after the other.
    #[must_use]
    pub fn new(model: &'a Model<B, T>, task: &'a NodeTask<B, T>, training: &'a Training, seeds: Vec<u64>) -> Self {
        let (outcomes, running, told_later) = (Vec::new(), VecDeque::new(), VecDeque::new());
        let abreast = Abreast::new(1);
        Self { model, task, training, seeds, teach: None, outcomes, best: None, running, abreast, told_later, course: None }
    }
    /// The same with so many runs at once, which share the caller's threads; each has memory of its own.
    #[must_use]
    pub fn abreast(mut self, abreast: Abreast) -> Self {
        let alone = abreast.width() == 1;
        self.running = self.running.into_iter().map(|(run, seconds)| (run.replayed(alone), seconds)).collect();
        self.abreast = abreast;
        self
    }
    /// The same runs, each with a teacher from now on; that of a run on its way is asked at once.
    ///
    /// # Errors
    /// Those of the teacher; [`Error::Combination`] for training on batches, or nodes of several classes.
    pub fn with_teacher(mut self, teach: Teach<'a, B, T>) -> Result<Self, B::Error> {
        let what = "a teacher";
        if self.training.batches.is_some() {
            let why = "its probabilities are those of the whole graph, not of batches";
            return Err(refused::<B>(Error::Combination { what, why }));
        }
        if self.task.is_of_several() {
            let why = "its softmax says which one class a node is of, and a node may be of several";
            return Err(refused::<B>(Error::Combination { what, why }));
        }
        for (mut run, seconds) in std::mem::take(&mut self.running) {
            if !run.is_over() {
                let taught = teach(run.seed())?;
                run = run.taught_by(taught);
            }
            self.running.push_back((run, seconds));
        }
        self.teach = Some(teach);
        Ok(self)
    }
    /// Goes on from where runs of the same seeds were. A single run that was over goes on where the training has more epochs now.
    ///
    /// # Errors
    /// [`Error::Size`] for a state of another model or of other seeds; the backend's.
    pub fn resume(
        model: &'a Model<B, T>,
        task: &'a NodeTask<B, T>,
        training: &'a Training,
        seeds: Vec<u64>,
        progress: Progress<T::Real>,
    ) -> Result<Self, B::Error> {
        let Progress { outcomes, best, running } = progress;
        let over = outcomes.iter().map(|o| o.seed).eq(seeds.iter().copied().take(outcomes.len()));
        let current = seeds.get(outcomes.len()).or(seeds.last());
        if !over || running.as_ref().is_some_and(|(state, _)| Some(&state.seed) != current) {
            let (expected, found) = (seeds.len() as u64, outcomes.len() as u64);
            return Err(refused::<B>(Error::Size { what: "seeds of the runs", expected, found }));
        }
        let running = running.map(|(state, seconds)| Run::resume(model, task, training, state).map(|run| (run.replayed(true), seconds)));
        let running = running.transpose()?.into_iter().collect();
        let mut runs = Self { outcomes, best, running, ..Self::new(model, task, training, seeds) };
        if runs.seeds.len() == 1 && runs.running.front().is_some_and(|(run, _)| !run.is_over()) {
            runs.outcomes.clear();
        }
        Ok(runs)
    }
    /// One more epoch with its seed; none when all runs are over.
    ///
    /// # Errors
    /// [`Error::Diverged`] for a run without any good state; those of [`Run::step`].
    pub fn step(&mut self) -> Result<Option<(u64, Epoch)>, B::Error> {
        if self.told_later.is_empty() {
            self.close()?;
            self.begin()?;
            self.go_on()?;
        }
        Ok(self.told_later.pop_front())
    }
    /// Begins runs of the seeds that come next, as many as run at once. One that is trained as one operation is over then.
    fn begin(&mut self) -> Result<(), B::Error> {
        let open = self.running.iter().filter(|(run, _)| !run.is_over()).count();
        let next = self.outcomes.len() + self.running.len();
        if open >= self.abreast.width() || (open == 0 && !self.running.is_empty()) || !self.told_later.is_empty() {
            return Ok(());
        }
        let seeds: Vec<u64> = self.seeds.iter().copied().skip(next).take(self.abreast.width() - open).collect();
        let Some(&first) = seeds.first() else { return Ok(()) };
        let (model, task, training) = (self.model, self.task, self.training);
        check(model, task, training).map_err(refused::<B>)?;
        if self.teach.is_some() {
            self.course = Some(Course::Operations("a teacher is asked in every step".into()));
        } else if open == 0 {
            let start = Instant::now();
            match train_whole(model, task, training, first)? {
                Whole::Done((trained, epochs)) => {
                    let (best, epochs_run, diverged) = (trained.best, trained.epochs, trained.diverged);
                    self.record((first, start.elapsed().as_secs_f64()), (&best, &trained.parameters), (epochs_run, diverged))?;
                    self.told_later = epochs.into_iter().map(|epoch| (first, epoch)).collect();
                    self.course = Some(Course::Whole);
                    return Ok(());
                }
                Whole::Declined(reason) => self.course = Some(Course::Operations(reason)),
            }
        }
        let (teach, alone) = (&self.teach, self.abreast.width() == 1);
        let begun = self.abreast.run(seeds, |seed| {
            let start = Instant::now();
            let run = Run::new(model, task, training, seed)?.replayed(alone);
            Ok::<_, B::Error>(match teach {
                Some(teach) => (run.taught_by(teach(seed)?), start.elapsed().as_secs_f64()),
                None => (run, 0.0),
            })
        })?;
        self.running.extend(begun);
        Ok(())
    }
    /// Goes on with the runs on their way: with a single one by an epoch, or by those that the device does without a round trip; with several
    /// by some epochs each.
    fn go_on(&mut self) -> Result<(), B::Error> {
        let open: Vec<&mut Timed<'a, B, T>> = self.running.iter_mut().filter(|(run, _)| !run.is_over()).collect();
        let slice = if self.abreast.width() == 1 { 1 } else { SLICE };
        let told = self.abreast.run(open, |(run, seconds)| {
            let (start, mut epochs) = (Instant::now(), Vec::with_capacity(slice));
            while epochs.len() < slice && !run.is_over() {
                epochs.append(&mut run.go_on(u32::MAX)?);
            }
            *seconds += start.elapsed().as_secs_f64();
            Ok::<_, B::Error>((run.seed(), epochs))
        })?;
        self.told_later.extend(told.into_iter().flat_map(|(seed, epochs)| epochs.into_iter().map(move |epoch| (seed, epoch))));
        // A run that goes on from a state was not begun here.
        let course = self.course.take().unwrap_or_else(|| Course::Operations("the run goes on from a state".into()));
        let replayed = self.running.iter().any(|(run, _)| run.is_replayed());
        self.course = Some(if replayed { course.replayed() } else { course });
        Ok(())
    }
    /// Takes up what the runs came to that are over, as far as those before them are.
    fn close(&mut self) -> Result<(), B::Error> {
        while let Some((run, train_s)) = self.running.front().filter(|(run, _)| run.is_over() && self.outcomes.len() < self.seeds.len()) {
            let Some((best, parameters)) = run.best_state() else {
                return Err(refused::<B>(Error::Diverged { epoch: run.epoch() }));
            };
            let (best, parameters, seed, train_s) = (*best, parameters.clone(), run.seed(), *train_s);
            let (epochs, diverged) = (run.epoch(), run.diverged());
            self.record((seed, train_s), (&best, &parameters), (epochs, diverged))?;
            // The last one of all may yet go on for more epochs.
            if self.outcomes.len() < self.seeds.len() {
                self.running.pop_front();
            }
        }
        Ok(())
    }
    fn record(
        &mut self,
        (seed, train_s): (u64, f64),
        (best, parameters): (&Epoch, &Parameters<B, T>),
        (epochs, diverged): (u32, Option<u32>),
    ) -> Result<(), B::Error> {
        let scores = &best.scores;
        let (test_accuracy, val_accuracy, best_epoch) = (scores.test_accuracy, scores.validation_accuracy, best.epoch);
        if self.is_new_best(best) {
            self.best = Some((*best, parameters.flat().to_host()?));
        }
        self.outcomes.push(Outcome { seed, test_accuracy, val_accuracy, best_epoch, epochs, train_s, diverged });
        Ok(())
    }
    fn is_new_best(&self, epoch: &Epoch) -> bool {
        self.best.as_ref().is_none_or(|(best, _)| is_better(self.training.selection, &epoch.scores, &best.scores))
    }
    /// How the epochs that were told of last were done; none before the first.
    pub fn course(&self) -> Option<&Course> {
        self.course.as_ref()
    }
    /// Runs that are over.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }
    /// The best epoch of all runs, that on its way too, and its flat buffer of parameters.
    ///
    /// # Errors
    /// The backend's.
    #[allow(clippy::type_complexity)] // a pair
    pub fn best(&self) -> Result<Option<(Epoch, Vec<T::Real>)>, B::Error> {
        let mut found = None;
        for state in self.running.iter().filter_map(|(run, _)| run.best_state()).filter(|(epoch, _)| self.is_new_best(epoch)) {
            let better = |(old, _): &(&Epoch, _)| is_better(self.training.selection, &state.0.scores, &old.scores);
            if found.as_ref().is_none_or(better) {
                found = Some(state);
            }
        }
        match found {
            Some((epoch, parameters)) => Ok(Some((*epoch, parameters.flat().to_host()?))),
            None => Ok(self.best.clone()),
        }
    }
    /// Where the runs are. A run that diverged has no state to go on from.
    ///
    /// # Errors
    /// The backend's.
    pub fn progress(&self) -> Result<Progress<T::Real>, B::Error> {
        let running = self.running.front().filter(|(run, _)| run.diverged().is_none());
        let running = running.map(|(run, seconds)| run.state().map(|state| (state, *seconds)));
        Ok(Progress { outcomes: self.outcomes.clone(), best: self.best.clone(), running: running.transpose()? })
    }
}

/// Whether a seed gives the same numbers twice: runs some epochs again and compares losses, scores and every parameter.
///
/// # Errors
/// As [`Run::step`].
pub fn repeats_itself<B: TensorBackend, T: Float>(
    model: &Model<B, T>,
    task: &NodeTask<B, T>,
    training: &Training,
    (seed, epochs): (u64, u32),
) -> Result<bool, B::Error> {
    #[allow(clippy::type_complexity)] // a pair
    let once = || -> Result<(Vec<Epoch>, State<T::Real>), B::Error> {
        let mut run = Run::new(model, task, training, seed)?;
        let mut seen = Vec::new();
        while run.epoch() < epochs && !run.is_over() {
            seen.push(run.step()?);
        }
        Ok((seen, run.state()?))
    };
    Ok(once()? == once()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_those_of_samples() {
        let at = |values: &[f64]| (Spread::of(values).mean, Spread::of(values).deviation);
        assert_eq!((at(&[]), at(&[0.5]), at(&[1.0, 3.0])), ((0.0, 0.0), (0.5, 0.0), (2.0, 2f64.sqrt())));
    }
}
