//! An epoch of steps over batches.

use super::Run;
use crate::batch::{Batches, each};
use crate::{Float, Mode};
use bitgraph_tensor::ops::map;
use bitgraph_tensor::{Dense, Real, TensorBackend};

impl<B: TensorBackend, T: Float> Run<'_, B, T> {
    /// A step for each batch of an epoch; the mean of their losses, of 1 x 1.
    pub(super) fn batches(&mut self, batches: &Batches, epoch: u32) -> Result<Dense<B, T::Real>, B::Error> {
        let backend = self.task.graph.backend();
        let (count, seed) = (batches.count(), self.seed);
        let mut sum = Dense::filled(backend, 1, 1, <T::Real as Real>::of(0.0))?;
        each::<B::Error>(batches, (seed, epoch), |index, batch| {
            let Some(batch) = batch else { return Ok(()) };
            let (graph, features, entropy) = batch.upload::<B, T>(backend)?;
            // What dropout drops differs from step to step; two to the 32 steps are more than are run.
            let step = (u64::from(epoch - 1) * count as u64 + index as u64 + 1) as u32;
            let mode = Mode::Train { seed, step };
            let loss = self.update(&graph, &features, (mode, epoch), |logits, scale| entropy.of(logits, scale))?;
            sum = map(&sum).add(&loss).eval()?;
            Ok(())
        })?;
        map(&sum).times(1.0 / count as f64).eval()
    }
}
