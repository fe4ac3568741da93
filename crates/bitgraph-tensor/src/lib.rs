#![doc = include_str!("../README.md")]
//!
//! # Where the adjacency comes from
//! The sparse operand is the [`Matrix`](bitgraph_backend::Matrix) of the graph operations, not a `Graph`: sampled blocks are rectangular and
//! belong to no graph, and clones of a matrix share what a backend computes from it at first use (a transpose, row windows, staged blocks),
//! so that a layout is built once for a graph whose matrix is kept. `Graph::arranged` gives the matrix of a graph.
//!
//! # Writing a backend
//! Implement [`Tensor`] (arrays), then the families [`Spmm`](backend::Spmm), [`Sddmm`](backend::Sddmm), [`Attend`](backend::Attend),
//! [`Gemm`](backend::Gemm) and [`DenseOps`](backend::DenseOps), a method for each operation, and [`Bits`] where there are
//! products of few bits. A method gets a descriptor ([`ops::SpmmOp`] and
//! its like) of public fields: enums to match over or to build a kernel's symbol from, numbers, and handles. [`Any`] holds a [`Dense`] of
//! every element type ([`with_dense!`] matches over it), whose [`raw`](Dense::raw) array and [`Window`] say where elements are; an output is
//! an [`AnyMut`] ([`with_out!`]), an array that nothing else shares and a window in it. Everything is checked before: a backend refuses only
//! combinations that it does not have, as `bitgraph_backend::Error::Unsupported`. Sums are formed in [`Element::Sum`], epilogues in
//! [`Element::Real`], results rounded once.

mod any;
pub mod backend;
mod bits;
mod dense;
mod element;
mod epilogue;
mod error;
pub mod ops;
pub mod philox;
mod window;

pub use any::{Any, AnyMut, Out, Reals};
pub use backend::{Bits, Tensor, TensorBackend};
pub use bitgraph_bittensor as bittensor;
pub use bits::{BitOperand, BitOut, CodesOut, PlaneSteps, Planes, SignScales, Signs};
pub use dense::{Dense, DenseMut, Output};
pub use element::{Element, Real};
pub use epilogue::{Activation, BatchNorm, Dropout, Epilogue, Quantise, Step};
pub use error::Error;
pub use philox::Philox;
pub use window::Window;
