#![doc = include_str!("../README.md")]
//!
//! # Invariants
//! The bindings to the driver are seen in this crate alone. Work is ordered by streams: every backend handle, graph, vector and array belongs to
//! one, and clones to the same. Nothing here takes its own time, but tells an observer that asks.

mod backend;
mod bytes;
pub mod convert;
mod cuda;
pub mod device;
mod error;
mod forced;
pub mod fused;
mod layout;
mod matrix;
pub mod ops;
pub mod primitives;
mod resident;
mod skew;
pub mod spmv;
pub mod tensor;
mod vector;

pub use cuda::Cuda;
pub use error::{Error, Result};
pub use layout::{DeviceB2sr, DeviceCsr, DeviceHybrid, DeviceValues, Layout, Offsets};
pub use matrix::CudaMatrix;
pub use resident::{DeviceFormat, SectionElement};
pub use vector::{CudaValue, CudaVector};
