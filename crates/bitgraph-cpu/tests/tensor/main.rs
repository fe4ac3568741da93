//! The operations of graph neural networks on the CPU: the fast form against the reference, and gradients against differences.

mod attention;
mod dense;
mod gradients;
mod operands;
mod sddmm;
mod spmm;
