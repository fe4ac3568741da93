#![doc = include_str!("../README.md")]

mod backend;
mod cpu;
mod fresh;
pub mod fused;
mod matrix;
mod ops;
mod place;
mod rates;
mod simd;
pub mod spmv;
mod sync;
mod team;
mod tensor;
mod threads;
pub mod tile;
mod trace;

pub use cpu::Cpu;
pub use matrix::{CpuMatrix, Layout};
pub use simd::Isa;
pub use tensor::CpuArray;
