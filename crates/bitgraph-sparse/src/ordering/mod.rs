//! Vertex orderings: how to renumber a graph so that tiles fill and gathers stay local.
//!
//! Every ordering returns a [`Permutation`]; [`Permutation::apply`] renumbers a pattern with it.

mod community;
mod degree;
mod kind;
mod permutation;
mod rcm;
#[cfg(test)]
mod tests;

pub use community::community;
pub use degree::degree;
pub use kind::Ordering;
pub use permutation::Permutation;
pub use rcm::rcm;
