//! The operations, with the GraphBLAS signature: output, mask, accumulator, operator, inputs, descriptor.
//!
//! The functions here are the front end: they check shapes and types once and then call the backend. The traits are what a
//! backend implements. Every operation computes a result `t` and writes it back as `C<M, replace> = C accum t`:
//!
//! * positions that the mask does not select keep their entry, or lose it with `replace`;
//! * selected positions hold `C accum t` where an accumulator is given (an entry of only one of both stays), `t` otherwise.
//!
//! # Determinism
//! Every operation gives the same bits on every run with the same operands in the same formats, whatever the number of threads. Sums of
//! floats are formed in an order that the backend, the format and the matrix decide, so that another of these may differ by rounding;
//! everything else is the same on all of them (where [`assign`] merges several values at one index, for accumulators that commute).

mod elementwise;
mod mask;
mod matrix;
mod mxm;
mod mxv;

pub use elementwise::{VectorOps, apply, assign, assign_value, ewise_add, ewise_mult, extract, reduce, select};
pub use mask::{MatrixMask, VectorMask};
pub use matrix::{
    MatrixOps, apply_matrix, assign_matrix, ewise_add_matrix, ewise_mult_matrix, extract_matrix, kronecker, reduce_matrix, reduce_rows,
    select_matrix, transpose,
};
pub use mxm::{Mxm, mxm, mxm_reduce};
pub use mxv::{Mxv, mxv, vxm};

use crate::{Backend, Error};
use bitgraph_semiring::Scalar;

fn same(operation: &'static str, operand: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { operation, operand, expected: expected as u64, found: found as u64 }) }
}

/// Refuses a matrix of values of another type than `T`; a pattern fits every type.
fn typed<B: Backend, T: Scalar>(backend: &B, operation: &'static str, matrix: &B::Matrix) -> Result<(), Error> {
    match backend.matrix_dtype(matrix) {
        Some(found) if found != T::DTYPE => Err(Error::Type { operation, expected: T::DTYPE, found }),
        _ => Ok(()),
    }
}

fn in_range(operation: &'static str, operand: &'static str, indices: &[u32], len: usize) -> Result<(), Error> {
    match indices.iter().position(|&i| i as usize >= len) {
        Some(position) => {
            let (position, index) = (position as u64, indices[position].into());
            Err(Error::IndexOutOfRange { operation, operand, position, index, len: len as u64 })
        }
        None => Ok(()),
    }
}
