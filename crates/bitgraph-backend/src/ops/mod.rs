//! The operations, with the GraphBLAS signature: output, mask, accumulator, operator, inputs, descriptor.
//!
//! The functions here are the front end: they check shapes and types once and then call the backend. The traits are what a
//! backend implements. Every operation computes a result `t` and writes it back as `C<M, replace> = C accum t`:
//!
//! * positions that the mask does not select keep their entry, or lose it with `replace`;
//! * selected positions hold `C accum t` where an accumulator is given (an entry of only one of both stays), `t` otherwise.

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

use crate::Error;

fn same(operation: &'static str, operand: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { operation, operand, expected: expected as u64, found: found as u64 }) }
}
