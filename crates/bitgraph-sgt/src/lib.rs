#![doc = include_str!("../README.md")]

mod blocks;
mod build;
mod error;
mod limits;
mod order;
mod sgt;
mod shape;
mod stats;

pub use blocks::{Blocks, MaskOrder};
pub use build::{RowOrder, SgtConfig};
pub use error::{Error, Result};
pub use limits::MOST_ROWS;
pub use order::{Greedy, greedy};
pub use sgt::Sgt;
pub use shape::BlockShape;
pub use stats::Statistics;
