//! The operations. Everything that writes a vector goes through [`build::vector`], which hands out whole words of presence
//! bits, so that parallel writes never share one.

pub(crate) mod build;
mod elementwise;
mod fast;
mod matrix;
mod mxm;
mod mxv;
pub(crate) mod rows;
mod selection;
mod write;
