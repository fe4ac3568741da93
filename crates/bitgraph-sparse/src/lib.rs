#![doc = include_str!("../README.md")]

pub mod ahead;
mod bits;
mod buffer;
mod cell;
mod control;
mod coo;
mod csc;
mod csr;
mod error;
mod format;
#[cfg(any(feature = "bitvec", feature = "ndarray", feature = "petgraph", feature = "sprs"))]
mod interop;
mod mask;
mod meter;
mod mirror;
mod mirror_sum;
mod offsets;
pub mod ordering;
pub mod parallel;
mod symmetry;
mod valid;
mod values;
mod vector;

pub use bits::BitVector;
pub use buffer::Buffer;
pub use control::{Cancelled, Control, Progress};
pub use coo::{Coo, Duplicates, RowLists};
pub use csc::Csc;
pub use csr::Csr;
pub use error::{Error, Result};
pub use format::{Format, FormatKind, Section, SectionData, Sections};
pub use mask::MaskMode;
pub use meter::Meter;
pub use mirror::mirrored;
pub use mirror_sum::MirrorSum;
pub use offsets::{OffsetInt, Offsets};
pub use ordering::Permutation;
pub use values::Values;
pub use vector::{Store, Stored, Vector};
