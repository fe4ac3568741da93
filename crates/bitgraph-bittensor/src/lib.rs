#![doc = include_str!("../README.md")]

pub mod dot;
mod error;
mod extremes;
mod layout;
mod matrix;
mod memory;
mod meter;
mod pack;
mod packing;
mod planes;
pub mod product;
mod quantize;
mod repack;
mod scales;
mod tiles;
mod unpack;
mod view;

pub use error::{Error, Result};
pub use extremes::Per;
pub use layout::BitLayout;
pub use matrix::{Binarize, BitMatrix, Levels, Threshold};
pub use packing::{Packing, TileShape};
pub use planes::BitPlanes;
pub use quantize::{Fit, MOST_BITS, Quantization, Range, Rounding, Scheme, Step, Steps};
pub use scales::{Scales, Scaling};
pub use tiles::TileMap;
pub use view::View;
