#![doc = include_str!("../README.md")]

mod frdc;
mod scales;
mod stitch;

pub use frdc::Frdc;
pub use scales::Normalization;
pub use stitch::{Stitched, Word};
