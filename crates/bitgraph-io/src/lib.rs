#![doc = include_str!("../README.md")]

mod bgr;
mod detect;
mod edges;
mod error;
mod gr;
mod lines;
mod loaded;
mod metis;
mod mtx;
mod numpy;
mod options;
mod read;
mod sg;
mod sink;
mod source;
mod system;
mod table;
mod text;
mod vector;
mod write;
mod write_source;

pub use bgr::Container;
pub use detect::FileFormat;
pub use error::{Error, Problem, Result};
pub use loaded::{Loaded, StoredFormat};
pub use numpy::array::{Archive, Array, read_array};
pub use options::{Listener, ReadMode, ReadOptions, Remark, Temporary, WriteOptions};
pub use read::{file_format, read, read_from};
pub use sink::write_bytes;
pub use table::{Field, Table, read_table};
pub use vector::{Item, Naming, VectorData, check_vector_ending, read_vector, write_vector};
pub use write::{check_ending, write, write_as, write_to};
pub use write_source::WriteSource;

pub use bitgraph_sparse::{Cancelled, Control, Progress};
