//! Signs in a forward pass, and what stands for their derivatives.

use crate::Float;
use bitgraph_tensor::ops::map;
use bitgraph_tensor::{Dense, Real, TensorBackend};

/// The gradient through a sign: that of the result where the magnitude of the argument is at most 1, and 0 elsewhere.
pub(crate) fn through_sign<B: TensorBackend, T: Float>(u: &Dense<B, T>, dy: &Dense<B, T>) -> Result<Dense<B, T>, B::Error> {
    map(&within(u, 1.0)?).multiply(dy).eval()
}

/// 1 where the magnitude is at most a limit, 0 elsewhere.
pub(crate) fn within<B: TensorBackend, T: Float>(u: &Dense<B, T>, limit: f64) -> Result<Dense<B, T>, B::Error> {
    let row = |value: f64| Dense::filled(u.backend(), 1, u.ncols(), <T::Real as Real>::of(value));
    map(u).multiply(u).times(-1.0).threshold(&row(-limit * limit)?).times(0.5).bias(&row(0.5)?).eval()
}
