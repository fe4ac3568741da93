//! Vertex orderings: how to renumber a graph so that tiles fill and gathers stay local.
//!
//! Every ordering returns a [`Permutation`]; [`Permutation::apply`] renumbers a pattern with it.

mod kind;
mod permutation;

pub use kind::Ordering;
pub use permutation::Permutation;
