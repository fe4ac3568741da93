//! Epochs over a whole graph as replays: where a backend writes operations down, an epoch with its scores is one call of the device, and some
//! of them go by without a round trip.
//!
//! # Invariants
//! An epoch is two recordings, for an optimiser's two sets of buffers change places: each reads what the other one wrote. Its numbers are those
//! of the operations one by one.
//!
//! A loss scale goes on as if no gradient overflowed, which the host knows ahead. An epoch says in its row of numbers whether one did: then the
//! optimiser goes back to where it was after the last round trip, the epochs before that one are replayed, and it is done by operations, which
//! lower the scale.

use super::{Epoch, LossScale, Run, all_finite, is_better};
use crate::layer::draws_of_a_step;
use crate::{Float, Mode, Model, NodeTask, Parameters, Training};
use bitgraph_tensor::ops::{AdamState, Recorder, concat, map, sum_columns};
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
    /// The first of the two, which is as that of this epoch, and the steps before it.
    first: u32,
    steps: u32,
    /// The optimiser's arrays then.
    arrays: [usize; 6],
    numbers: [usize; 2],
    /// Loss and scores after a replay of each, and with a loss scale the sums of the gradients' columns.
    rows: [Dense<B, T::Real>; 2],
    /// How many of them are loss and scores.
    scores: usize,
    /// Those of the epochs since the last round trip, and the parameters after each.
    seen: Dense<B, T::Real>,
    states: Vec<Dense<B, T::Real>>,
    /// With a loss scale: where the optimiser was after the last round trip.
    kept: Option<AdamState<B, T::Real>>,
    /// Epochs to the next round trip at most: few after a gradient overflowed, for another one may.
    most: u32,
}

impl<B: TensorBackend, T: Float> Written<B, T> {
    /// The optimiser's arrays after so many steps: both sets change places in each.
    fn arrays_after(&self, steps: u32) -> [usize; 6] {
        let [a, b, c, d, e, f] = self.arrays;
        if (steps - self.steps).is_multiple_of(2) { self.arrays } else { [d, e, f, a, b, c] }
    }
}

/// Whether replays pay and are possible.
pub(super) fn serve<B: TensorBackend, T: Float>(model: &Model<B, T>, task: &NodeTask<B, T>, training: &Training) -> bool {
    suit(model, task.graph.nodes() as u64) && training.batches.is_none() && training.epochs >= FIRST + FEWEST
}

/// Whether the backend records and results are small.
fn suit<B: TensorBackend, T: Float>(model: &Model<B, T>, nodes: u64) -> bool {
    let widest = model.extents().map(|layer| layer.outputs).max().unwrap_or_default();
    B::RECORDS && nodes.saturating_mul((widest * size_of::<T>()) as u64) <= LARGEST
}

/// States of epochs that are kept for the next round trip, of so many bytes each.
fn states(bytes: u64) -> u64 {
    (STATE_BYTES / bytes.max(1)).clamp(1, MOST_EPOCHS.into())
}

/// Bytes that replays take besides what the operations take, for predictions of memory.
pub(crate) fn extra_bytes<B: TensorBackend, T: Float>(model: &Model<B, T>, nodes: u64) -> u64 {
    let flat = model.layout().flat_len() as u64 * size_of::<T::Real>() as u64;
    let kept = if T::NEEDS_LOSS_SCALE { 3 } else { 0 };
    if suit(model, nodes) { (states(flat) + kept) * flat } else { 0 }
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
            // A teacher's part of the loss has the scale in operations of any kind.
            Replays::Wanted if T::NEEDS_LOSS_SCALE && self.taught.is_some() => Ok(vec![self.by_operations()?]),
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
            // What an operation moved to other arrays is not where the recordings look for it.
            Replays::Written(written) if self.optimising.arrays() != written.arrays_after(self.optimising.steps()) => {
                Ok(vec![self.by_operations()?])
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
        let (mut rows, mut scores) = (Vec::with_capacity(2), 0);
        let mut numbers = Vec::with_capacity(2);
        for epoch in [first, first + 1] {
            let number = recorder.write(&mut || {
                // Not what an epoch before it made: that is done again only here.
                self.parameters = self.current()?;
                let loss = self.differentiate_whole(Mode::Train { seed: self.seed, step: epoch })?;
                let sums = if self.scale.dynamic { Some(sum_columns(self.gradients.flat())?) } else { None };
                self.follow_gradients(epoch)?;
                let logits = self.model.infer(&self.task.graph, &self.parameters, &self.task.features)?;
                let row = self.task.scored(&loss, &logits)?;
                scores = row.ncols();
                rows.push(match sums {
                    Some(sums) => concat(&[&row, &sums])?,
                    None => row,
                });
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
            steps: before.0,
            arrays,
            numbers,
            scores,
            kept: if self.scale.dynamic { Some(self.optimising.copy()?.1) } else { None },
            most: states as u32,
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
        let left = (self.training.epochs - self.epoch).min(still).min(most).min(written.most).max(1);
        if let Some(kept) = &mut written.kept {
            self.optimising.copy_into(kept)?;
        }
        let (begun, mut scale) = (self.scale, self.scale);
        for i in 0..left {
            let k = self.replay_one(written, self.epoch + 1 + i, &mut scale)?;
            map(&written.rows[k]).into(written.seen.rows_mut(i as usize..i as usize + 1)?)?;
            map(self.optimising.parameters()).into(&mut written.states[i as usize])?;
        }
        let seen = written.seen.rows(0..left as usize)?.to_host()?;
        let (mut epochs, mut best) = (Vec::with_capacity(left as usize), None);
        let mut overflowed = false;
        for (i, row) in seen.chunks_exact(written.seen.ncols()).enumerate() {
            let (row, sums) = row.split_at(written.scores);
            overflowed = !all_finite(sums);
            if overflowed {
                break;
            }
            if self.scale.dynamic {
                self.scale.after(true);
            }
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
        written.most = written.most.saturating_mul(2).min(written.states.len() as u32);
        if overflowed {
            written.most = 1;
            epochs.push(self.overflow(written, (left, epochs.len() as u32), begun)?);
        }
        self.parameters = self.current()?;
        Ok(epochs)
    }
    /// Tells the device to do an epoch, at a loss scale that goes on as after one without an overflow; which of the recordings it was.
    fn replay_one(&mut self, written: &Written<B, T>, epoch: u32, scale: &mut LossScale) -> Result<usize, B::Error> {
        let k = (self.optimising.steps() - written.steps) % 2;
        let share = self.training.optimiser.schedule.factor(epoch, self.training.epochs);
        let moved = epoch.wrapping_sub(written.first + k);
        let draws = moved.wrapping_mul(draws_of_a_step(self.model.blocks().len() as u32));
        written.recorder.replay(written.numbers[k as usize], &self.optimising.moment(draws, scale.value, share))?;
        self.optimising.replayed();
        if scale.dynamic {
            scale.after(true);
        }
        Ok(k as usize)
    }
    /// The epoch after the `good` ones of those that were `done`, of which a gradient overflowed; the loss scale was `scale` before all of them.
    fn overflow(&mut self, written: &Written<B, T>, (done, good): (u32, u32), mut scale: LossScale) -> Result<Epoch, B::Error> {
        let Some(kept) = &written.kept else { return self.by_operations() };
        // No handle but the optimiser's holds its arrays then, so that it goes on in those that the recordings name.
        self.parameters = Parameters::from_flat(self.model.layout(), kept.parameters.clone())?;
        self.optimising.go_back(done, kept)?;
        for epoch in self.epoch + 1 - good..=self.epoch {
            self.replay_one(written, epoch, &mut scale)?;
        }
        self.parameters = self.current()?;
        let epoch = self.by_operations()?;
        // A state that was kept is not the optimiser's, which replays write to.
        if let Some((_, parameters)) = self.best.as_mut().filter(|(best, _)| best.epoch == epoch.epoch) {
            *parameters = Parameters::from_flat(self.model.layout(), map(parameters.flat()).eval()?)?;
        }
        Ok(epoch)
    }
    /// The parameters that the optimiser is at.
    fn current(&self) -> Result<Parameters<B, T>, B::Error> {
        Parameters::from_flat(self.model.layout(), self.optimising.parameters().clone())
    }
}
