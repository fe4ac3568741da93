//! An epoch of steps over batches, drawn on the backend where it can, or else in host memory.

use super::Run;
use crate::batch::{Batches, Drawing, Uploaded, each};
use crate::{Float, Mode};
use bitgraph_tensor::ops::{Whole, map};
use bitgraph_tensor::{Dense, Real, TensorBackend};
use std::sync::Arc;

/// Where the batches of a run come from.
#[derive(Default)]
pub(super) enum Source<B: TensorBackend, T: Float> {
    /// No batch was taken yet.
    #[default]
    Unknown,
    /// The backend, as long as it has memory for it.
    Backend(Arc<Drawing<B, T>>),
    /// Host memory.
    Host,
}

impl<B: TensorBackend, T: Float> Run<'_, B, T> {
    /// A step for each batch of an epoch; the mean of their losses, of 1 x 1.
    pub(super) fn batches(&mut self, batches: &Batches, epoch: u32) -> Result<Dense<B, T::Real>, B::Error> {
        let backend = self.task.graph.backend();
        let (count, seed) = (batches.count(), self.seed);
        let mut sum = Dense::filled(backend, 1, 1, <T::Real as Real>::of(0.0))?;
        let mut first = 0;
        if let Some(drawing) = self.drawing(batches)? {
            drawing.begin(batches, seed, epoch)?;
            while first < count {
                let Whole::Done(batch) = drawing.batch(batches, seed, (epoch, first))? else {
                    // Batches do not depend on where they are made: the rest of the run takes those of host memory.
                    self.source = Source::Host;
                    break;
                };
                sum = self.step_over(&sum, &batch, (epoch, first, count))?;
                first += 1;
            }
        }
        each::<B::Error>(batches, (seed, epoch), first, |index, batch| {
            let Some(batch) = batch else { return Ok(()) };
            sum = self.step_over(&sum, &batch.upload(backend)?, (epoch, index, count))?;
            Ok(())
        })?;
        map(&sum).times(1.0 / count as f64).eval()
    }
    /// What draws the batches on the backend, if anything does.
    fn drawing(&mut self, batches: &Batches) -> Result<Option<Arc<Drawing<B, T>>>, B::Error> {
        if let Source::Unknown = self.source {
            self.source = match Drawing::new(self.task, batches)? {
                Whole::Done(drawing) => Source::Backend(Arc::new(drawing)),
                Whole::Declined(_) => Source::Host,
            };
        }
        Ok(match &self.source {
            Source::Backend(drawing) => Some(Arc::clone(drawing)),
            _ => None,
        })
    }
    /// A step over a batch; the losses until then and its own.
    fn step_over(
        &mut self,
        sum: &Dense<B, T::Real>,
        (graph, features, entropy): &Uploaded<B, T>,
        (epoch, index, count): (u32, usize, usize),
    ) -> Result<Dense<B, T::Real>, B::Error> {
        // What dropout drops differs from step to step; two to the 32 steps are more than are run.
        let step = (u64::from(epoch - 1) * count as u64 + index as u64 + 1) as u32;
        let mode = Mode::Train { seed: self.seed, step };
        let loss = self.update(graph, features, (mode, epoch), |logits, scale| {
            entropy.of(logits, scale).map(|(loss, gradient)| (loss, gradient.into()))
        })?;
        map(sum).add(&loss).eval()
    }
}
