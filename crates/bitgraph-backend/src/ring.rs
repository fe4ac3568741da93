//! Semirings whose types can be stored in vectors: all of them, said once.

use bitgraph_semiring::{BinaryOp, DeviceOperator, Semiring};
use bitgraph_sparse::Stored;

/// A semiring over storable types. Implemented for every [`Semiring`] whose types are storable; never by hand.
pub trait StorableSemiring: Semiring<A: Stored, X: Stored, Out: Stored> {}
impl<S: Semiring<A: Stored, X: Stored, Out: Stored>> StorableSemiring for S {}

/// How a result meets what the output already holds.
pub trait Accumulate<T: Stored>: Copy + Send + Sync + 'static {
    /// Whether old entries are kept and merged; otherwise the result replaces them.
    const ACTIVE: bool;
    /// The merged value of an old and a new entry.
    fn merge(&self, old: T, new: T) -> T;
    /// The operator as a device sees it; `None` without one.
    fn device(&self) -> Option<DeviceOperator> {
        None
    }
}

/// No accumulation: the result replaces the output, within the mask.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAccum;
impl<T: Stored> Accumulate<T> for NoAccum {
    const ACTIVE: bool = false;
    #[inline(always)]
    fn merge(&self, _: T, new: T) -> T {
        new
    }
}

/// Accumulation by a binary operator: `old op new` where both exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accum<Op>(pub Op);
impl<T: Stored, Op: BinaryOp<T>> Accumulate<T> for Accum<Op> {
    const ACTIVE: bool = true;
    #[inline(always)]
    fn merge(&self, old: T, new: T) -> T {
        self.0.apply(old, new)
    }
    fn device(&self) -> Option<DeviceOperator> {
        Some(self.0.device())
    }
}
