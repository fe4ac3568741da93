//! Attention over the entries of a sparse matrix in one pass: no score and no message is stored.
//!
//! `gat` is additive attention, `gat_backward` its gradients; `pair` is attention by dot
//! products, cosines, and GATv2's sums, `pair_backward` its gradients. `select` chooses the form, `layout` cuts rows into tasks of a warp each,
//! and `staged` takes rows that share columns by blocks.

mod gat;
mod gat_backward;
#[cfg(test)]
mod gradient_tests;
pub(crate) mod layout;
mod pair;
mod pair_backward;
#[cfg(test)]
mod pair_gradient_tests;
#[cfg(test)]
mod pair_tests;
mod select;
pub(in crate::tensor::forms) mod staged;
#[cfg(test)]
pub(in crate::tensor::forms) mod tests;

pub use gat::{AttentionEnd, EndActivation, GatInput, GatLayout};
pub use gat_backward::{AttentionGiven, GatBackwardLayout, GatGradients};
pub use pair::{PairInput, PairLayout, PairScore};
pub use pair_backward::{PairBackwardLayout, PairGradients};
pub(in crate::tensor::forms) use select::{BRIEF_TURNS_HALVES, SHORTEST_PIECE};
pub(in crate::tensor) use select::{Backward, Form, Pair};
