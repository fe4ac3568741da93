//! What a loss says of a model's result.

use crate::Float;
use bitgraph_tensor::{Dense, TensorBackend};

/// The gradient of a model's result, from which a backward pass begins.
pub struct LogitsGradient<B: TensorBackend, T: Float> {
    /// The gradient.
    pub gradient: Dense<B, T>,
    /// The sums of its columns, of one row, where they were formed with it: a bias that is added last has them for its gradient.
    pub column_sums: Option<Dense<B, T::Real>>,
}

impl<B: TensorBackend, T: Float> From<Dense<B, T>> for LogitsGradient<B, T> {
    fn from(gradient: Dense<B, T>) -> Self {
        Self { gradient, column_sums: None }
    }
}
