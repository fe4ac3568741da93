#![doc = include_str!("../README.md")]

pub mod dot;
mod error;
mod extremes;
mod layout;
mod matrix;
mod memory;
mod meter;
mod pack;
mod planes;
pub mod product;
mod quantize;
mod repack;
mod scales;
mod tiles;
mod unpack;
mod view;

pub use error::{Error, Result};
pub use layout::{BitLayout, Packing, TileShape};
pub use matrix::{Binarize, BitMatrix, Levels, Threshold};
pub use planes::BitPlanes;
pub use quantize::{Fit, MOST_BITS, Per, Quantization, Range, Rounding, Scheme, Step, Steps};
pub use scales::{Scales, Scaling};
pub use tiles::TileMap;
pub use view::View;
