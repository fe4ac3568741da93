//! The CPU backend: a plain reference, and a fast form with rayon and SIMD chosen at run time.
//!
//! [`Cpu`] implements the contracts of `bitgraph-backend`. The typed kernels it dispatches to stay public for direct users.

mod cpu;
pub mod fused;
mod matrix;
mod ops;
mod place;
mod rates;
mod simd;
pub mod spmv;
mod sync;
mod team;
mod threads;
pub mod tile;
mod trace;

pub use cpu::Cpu;
pub use matrix::{CpuMatrix, Layout};
pub use simd::Isa;
