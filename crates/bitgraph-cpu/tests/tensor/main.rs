//! The operations of graph neural networks on the CPU: the fast form against the reference.

mod operands;
mod spmm;
