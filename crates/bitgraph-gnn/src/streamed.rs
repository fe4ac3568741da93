//! Features that stay in host memory or in a mapped file, and go through a backend's memory a block of rows at a time.

use crate::data::{self, Dataset, Preparation};
use crate::{Elsewhere, Error, Features, Float, NodeTask, refused};
use bitgraph_tensor::{Dense, TensorBackend};
use std::sync::Arc;

/// Bytes of a block in f32. Large enough that a product hides what a launch costs, small beside any device's memory.
const BLOCK: usize = 64 << 20;

/// Features in host memory.
pub struct Streamed<B> {
    backend: B,
    host: data::Features,
    preparation: Preparation,
}

impl<B: TensorBackend> Streamed<B> {
    /// Features that are prepared as they are read: divided by the sums of rows, or by nothing, and multiplied.
    ///
    /// # Errors
    /// [`Error::Combination`] for what needs all rows at once.
    pub fn new(backend: &B, host: data::Features, preparation: impl Into<Preparation>) -> Result<Self, Error> {
        let preparation = preparation.into();
        if preparation.normalise().takes_columns() {
            let why = "it takes all rows of a column at once; divide by rows or by nothing";
            return Err(Error::Combination { what: "streamed features divided by the mean of their column", why });
        }
        Ok(Self { backend: backend.clone(), host, preparation })
    }
    /// The task of split `k` of a data set whose features stay in host memory, or in the file that they are mapped from: for training on
    /// batches, and scores of the whole graph.
    ///
    /// # Errors
    /// As [`Streamed::new`] and [`Dataset::task`].
    pub fn task<T: Float>(backend: &B, set: &Dataset, k: usize, preparation: impl Into<Preparation>) -> Result<NodeTask<B, T>, B::Error> {
        let streamed = Self::new(backend, set.features().clone(), preparation).map_err(refused::<B>)?;
        set.task_with(Features::Streamed(Arc::new(streamed)), k)
    }
}

impl<B: TensorBackend, T: Float> Elsewhere<B, T> for Streamed<B> {
    fn shape(&self) -> (usize, usize) {
        self.host.shape()
    }
    fn backend(&self) -> &B {
        &self.backend
    }
    fn times(&self, weight: &Dense<B, T>) -> Result<Dense<B, T>, B::Error> {
        let (rows, columns) = self.host.shape();
        let mut y = Dense::zeros(&self.backend, rows, weight.ncols())?;
        let mut first = 0;
        while first < rows {
            let last = rows.min(first + block_rows(columns));
            let nodes: Vec<u32> = (first as u32..last as u32).collect();
            let block: Features<B, T> = self.host.select(&nodes).prepared(self.preparation).on(&self.backend)?;
            block.times_into(weight, y.rows_mut(first..last)?)?;
            first = last;
        }
        Ok(y)
    }
}

/// Rows of a block of so many columns.
pub(crate) fn block_rows(columns: usize) -> usize {
    (BLOCK / 4 / columns.max(1)).max(1)
}
