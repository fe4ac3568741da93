#![doc = include_str!("../README.md")]

mod blocks;
mod build;
mod check;
mod error;
mod order;
mod sgt;
mod shape;
mod stats;

pub use blocks::{Blocks, MaskOrder};
pub use build::{RowOrder, SgtConfig};
pub use error::{Error, Result};
pub use order::{Greedy, greedy};
pub use sgt::{MOST_ROWS, Sgt};
pub use shape::BlockShape;
pub use stats::Statistics;
