//! Readers and writers of graphs: Matrix Market, edge lists, METIS, scipy's npz, npy vectors, and the container .bgr.
//!
//! Text is parsed in parallel from a mapped file, and every line of it is checked; a fault names file, line and value. Nothing is
//! allocated by a number that a header merely claims. Writers write to a temporary name beside the target and rename it.

mod bgr;
mod edges;
mod error;
mod lines;
mod map;
mod metis;
mod mtx;
mod numpy;
mod options;
mod read;
mod source;
mod text;
mod vector;
mod write;

pub use bgr::Container;
pub use error::{Error, Problem, Result};
pub use options::{Control, ReadMode, ReadOptions};
pub use read::{Loaded, StoredFormat, check_ending, holds_ids, read, read_edge_list_from, read_matrix_market_from};
pub use vector::{Naming, VectorData, check_vector_ending, read_vector, write_vector};
pub use write::{WriteSource, write, write_bytes};
