//! Epochs over a whole graph as replays: where a backend writes operations down, an epoch with its scores is one call of the device, and some
//! of them go by without a round trip.
//!
//! # Invariants
//! An epoch is two recordings, for an optimiser's two sets of buffers change places: each reads what the other one wrote. Its numbers are those
//! of the operations one by one.

use super::{Epoch, Run, is_better};
use crate::layer::draws_of_a_step;
use crate::{Float, Method, Mode, Model, NodeTask, Parameters, Training};
use bitgraph_tensor::ops::{Moment, Recorder, map};
use bitgraph_tensor::{Dense, TensorBackend};

/// Epochs between two round trips at most, and bytes of their states.
const MOST_EPOCHS: u32 = 16;
const STATE_BYTES: u64 = 16 << 20;
/// The largest intermediate result, in bytes: a device works on a larger one for longer than it takes to tell it what to do.
const LARGEST: u64 = 8 << 20;
/// Epochs that are done one by one first, the second one in memory of the recorder, so that what is set up at first use is there; and fewest that
/// are left for replays.
const FIRST: u32 = 2;
const FEWEST: u32 = 8;

/// How far a run is with it.
pub(super) enum Replays<B: TensorBackend, T: Float> {
    /// Not wanted, or not possible.
    Off,
    /// Wanted.
    Wanted,
    /// Epochs are done in memory of the recorder.
    Begun(Box<dyn Recorder<B::Error>>),
    /// Written down.
    Written(Box<Written<B, T>>),
}

/// The epochs that are written down.
pub(super) struct Written<B: TensorBackend, T: Float> {
    recorder: Box<dyn Recorder<B::Error>>,
    /// The first of the two, which is as that of this epoch.
    first: u32,
    numbers: [usize; 2],
    /// Loss and scores after a replay of each.
    rows: [Dense<B, T::Real>; 2],
    /// Those of the epochs since the last round trip, and the parameters after each.
    seen: Dense<B, T::Real>,
    states: Vec<Dense<B, T::Real>>,
}

/// Whether replays pay and are possible.
pub(super) fn serve<B: TensorBackend, T: Float>(model: &Model<B, T>, task: &NodeTask<B, T>, training: &Training) -> bool {
    // SGD has its rate in operations of any kind.
    let adam = !matches!(training.optimiser.method, Method::Sgd { .. });
    suit(model, task.graph.nodes() as u64) && adam && training.batches.is_none() && training.epochs >= FIRST + FEWEST
}

/// Whether the backend records and results are small.
fn suit<B: TensorBackend, T: Float>(model: &Model<B, T>, nodes: u64) -> bool {
    let widest = model.extents().map(|layer| layer.outputs).max().unwrap_or_default();
    // The loss scale of f16 goes by gradients on the host.
    B::RECORDS && !T::NEEDS_LOSS_SCALE && nodes.saturating_mul((widest * size_of::<T>()) as u64) <= LARGEST
}

/// States of epochs that are kept for the next round trip, of so many bytes each.
fn states(bytes: u64) -> u64 {
    (STATE_BYTES / bytes.max(1)).clamp(1, MOST_EPOCHS.into())
}

/// Bytes that replays take besides what the operations take, for predictions of memory.
pub(crate) fn extra_bytes<B: TensorBackend, T: Float>(model: &Model<B, T>, nodes: u64) -> u64 {
    let flat = model.layout().flat_len() as u64 * size_of::<T::Real>() as u64;
    if suit(model, nodes) { states(flat) * flat } else { 0 }
}

impl<B: TensorBackend, T: Float> Run<'_, B, T> {
    /// Some epochs, at least one and at most `most`, with as few round trips as the backend can.
    ///
    /// # Errors
    /// As [`Run::step`].
    pub(crate) fn go_on(&mut self, most: u32) -> Result<Vec<Epoch>, B::Error> {
        match std::mem::replace(&mut self.replays, Replays::Off) {
            Replays::Off => Ok(vec![self.by_operations()?]),
            // What a graph keeps from its first epoch on is not the recorder's.
            Replays::Wanted if self.epoch == self.begun => {
                self.replays = Replays::Wanted;
                Ok(vec![self.by_operations()?])
            }
            Replays::Wanted => {
                self.replays = match self.task.graph.backend().recorder()? {
                    Some(recorder) => Replays::Begun(recorder),
                    None => Replays::Off,
                };
                self.first_epoch().map(|epoch| vec![epoch])
            }
            Replays::Begun(recorder) => {
                if self.training.epochs - self.epoch >= FEWEST
                    && let Some(written) = self.write_down(recorder)?
                {
                    self.replays = Replays::Written(Box::new(written));
                }
                self.go_on(most)
            }
            Replays::Written(mut written) => {
                let epochs = self.replay(&mut written, most)?;
                self.replays = Replays::Written(written);
                Ok(epochs)
            }
        }
    }
    /// An epoch in memory of the recorder.
    fn first_epoch(&mut self) -> Result<Epoch, B::Error> {
        let Replays::Begun(recorder) = std::mem::replace(&mut self.replays, Replays::Off) else { return self.by_operations() };
        let mut epoch = None;
        let done = recorder.run(&mut || {
            epoch = Some(self.by_operations()?);
            Ok(())
        });
        self.replays = Replays::Begun(recorder);
        done?;
        match epoch {
            Some(epoch) => Ok(epoch),
            None => self.by_operations(),
        }
    }
    /// Two epochs, or none where they hold something that cannot be written down.
    fn write_down(&mut self, mut recorder: Box<dyn Recorder<B::Error>>) -> Result<Option<Written<B, T>>, B::Error> {
        // What goes on from replay to replay is in arrays that no other handle holds.
        self.optimising.separate()?;
        self.parameters = self.current()?;
        let (first, arrays, before) = (self.epoch + 1, self.optimising.arrays(), self.optimising.copy()?);
        let mut rows = Vec::with_capacity(2);
        let mut numbers = Vec::with_capacity(2);
        for epoch in [first, first + 1] {
            let number = recorder.write(&mut || {
                // Not what an epoch before it made: that is done again only here.
                self.parameters = self.current()?;
                let loss = self.update_whole((Mode::Train { seed: self.seed, step: epoch }, epoch))?;
                let logits = self.model.infer(&self.task.graph, &self.parameters, &self.task.features)?;
                rows.push(self.task.scored(&loss, &logits)?);
                Ok(())
            })?;
            let Some(number) = number else { break };
            numbers.push(number);
        }
        let written = match (&*numbers, &*rows) {
            ([a, b], [x, y]) if self.optimising.arrays() == arrays => Some(([*a, *b], [x.clone(), y.clone()])),
            _ => None,
        };
        let Some((numbers, rows)) = written else {
            // What was not written down was begun all the same.
            self.optimising.restore(before)?;
            self.parameters = self.current()?;
            return Ok(None);
        };
        self.optimising.set_steps(before.0);
        self.parameters = self.current()?;
        let flat = self.parameters.flat();
        let states = states(flat.bytes()) as usize;
        let zeros = |rows, columns| Dense::zeros(flat.backend(), rows, columns);
        Ok(Some(Written {
            first,
            numbers,
            seen: zeros(states, rows[0].ncols())?,
            rows,
            states: (0..states).map(|_| zeros(flat.nrows(), flat.ncols())).collect::<Result<_, _>>()?,
            recorder,
        }))
    }
    fn replay(&mut self, written: &mut Written<B, T>, most: u32) -> Result<Vec<Epoch>, B::Error> {
        // No further than a run without a better state goes.
        let stale = self.best.as_ref().map_or(0, |(best, _)| self.epoch - best.epoch);
        let still = self.training.stale_epochs.map_or(u32::MAX, |most| most.saturating_sub(stale));
        let left = (self.training.epochs - self.epoch).min(still).min(most).min(written.states.len() as u32).max(1);
        for i in 0..left {
            let epoch = self.epoch + 1 + i;
            let k = (epoch - written.first) % 2;
            let share = self.training.optimiser.schedule.factor(epoch, self.training.epochs);
            let draws = (epoch - written.first - k).wrapping_mul(draws_of_a_step(self.model.blocks().len() as u32));
            let moment = Moment { draws, adam: self.optimising.adam((1.0 / self.scale.used, share)), step: self.optimising.steps() + 1 };
            written.recorder.replay(written.numbers[k as usize], &moment)?;
            self.optimising.replayed();
            map(&written.rows[k as usize]).into(written.seen.rows_mut(i as usize..i as usize + 1)?)?;
            map(self.optimising.parameters()).into(&mut written.states[i as usize])?;
        }
        let seen = written.seen.rows(0..left as usize)?.to_host()?;
        let (mut epochs, mut best) = (Vec::with_capacity(left as usize), None);
        for (i, row) in seen.chunks_exact(written.seen.ncols()).enumerate() {
            let (loss, scores) = self.task.read(row);
            let this = Epoch { epoch: self.epoch + 1, loss, scores };
            (self.epoch, self.last) = (this.epoch, Some(scores));
            epochs.push(this);
            if !loss.is_finite() || !scores.validation_loss.is_finite() {
                self.diverged = Some(this.epoch);
                break;
            }
            let old = best.map(|(best, _): (Epoch, usize)| best).or(self.best.as_ref().map(|(best, _)| *best));
            if old.is_none_or(|old| is_better(self.training.selection, &scores, &old.scores)) {
                best = Some((this, i));
            }
        }
        if let Some((best, i)) = best {
            let copy = map(&written.states[i]).eval()?;
            self.best = Some((best, Parameters::from_flat(self.model.layout(), copy)?));
        }
        self.parameters = self.current()?;
        Ok(epochs)
    }
    /// The parameters that the optimiser is at.
    fn current(&self) -> Result<Parameters<B, T>, B::Error> {
        Parameters::from_flat(self.model.layout(), self.optimising.parameters().clone())
    }
}
