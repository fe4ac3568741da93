//! The element types that models compute in.

use bitgraph_tensor::Element;
use half::{bf16, f16};

/// An element type of features and weights: `f16`, `bf16`, `f32`, and `f64` for tests of gradients. Sums, gradients of parameters and the
/// parameters that are optimised are of `Element::Real`.
pub trait Float: Element<Output = Self> {
    /// Whether small gradients vanish in it, so that the loss is scaled up.
    const NEEDS_LOSS_SCALE: bool;
}
impl Float for f16 {
    const NEEDS_LOSS_SCALE: bool = true;
}
impl Float for bf16 {
    const NEEDS_LOSS_SCALE: bool = false;
}
impl Float for f32 {
    const NEEDS_LOSS_SCALE: bool = false;
}
impl Float for f64 {
    const NEEDS_LOSS_SCALE: bool = false;
}
