//! The operations of graph neural networks on the CPU: the fast form against the reference.

mod attention;
mod bits;
mod dense;
mod operands;
mod sddmm;
mod spmm;
