//! Attention over the entries of a sparse matrix in one pass: no score and no message is stored.
//!
//! `gat` is additive attention. [`select`] chooses the form, `layout` cuts rows into tasks of a warp each.

mod gat;
pub(crate) mod layout;
mod select;
#[cfg(test)]
mod tests;

pub use gat::{GatInput, GatLayout};
