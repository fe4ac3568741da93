//! Readers and writers of graphs: Matrix Market, edge lists, METIS, scipy's npz, npy vectors, and the container .bgr.
//!
//! Text is parsed in parallel from a mapped file, and every line of it is checked; a fault names file, line and value. Nothing is
//! allocated by a number that a header merely claims. Writers write to a temporary name beside the target and rename it.

mod error;
mod map;
mod mtx;
mod options;
mod read;
mod source;
mod text;

pub use error::{Error, Problem, Result};
pub use options::{Control, ReadMode, ReadOptions};
pub use read::{Loaded, read, read_matrix_market_from};
