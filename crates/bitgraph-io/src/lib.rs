#![doc = include_str!("../README.md")]

mod bgr;
mod detect;
mod edges;
mod error;
mod gr;
mod lines;
mod metis;
mod mtx;
mod numpy;
mod options;
mod read;
mod sg;
mod source;
mod system;
mod text;
mod vector;
mod write;

pub use bgr::Container;
pub use detect::FileFormat;
pub use error::{Error, Problem, Result};
pub use options::{Listener, ReadMode, ReadOptions, Remark, Temporary, WriteOptions};
pub use read::{Loaded, StoredFormat, file_format, read, read_from};
pub use vector::{Naming, VectorData, check_vector_ending, read_vector, write_vector};
pub use write::{WriteSource, check_ending, write, write_as, write_bytes, write_to};

pub use bitgraph_sparse::{Cancelled, Control, Progress};
