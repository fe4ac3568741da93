//! The operations, as values: a function says what is computed, and where it goes is said once, the same way for all of them.
//!
//! `mxv(MinPlus, &a, &d).accum(Min).into(&mut d)` writes to what is there, `mxv(LorLand, &a, &frontier).unless(&seen).eval()` makes a new
//! vector. (The facade's prelude shows a whole program.)
//!
//! The functions here are the front end: they check shapes and types once and then call the backend. The traits are what a backend
//! implements, a method for each family of operations. Every operation computes a result `t` and writes it back as
//! `C<M, replace> = C accum t`:
//!
//! * positions that the mask does not select keep their entry, or lose it with [`replace`](Operation::replace);
//! * selected positions hold `C accum t` where an accumulator is given (an entry of only one of both stays), `t` otherwise.
//!
//! An operation holds its operands, so that its output may be one of them.
//!
//! Operands, mask and output are of one handle of a backend or its clones, or of handles that share their memory and the order of their
//! work ([`Backend::shares_with`]): an operation refuses others with [`Error::OtherBackend`] before anything runs.
//!
//! # Patterns
//! A pattern matrix has the value 1 of the operation's type at every entry. An output that is a pattern stays one where the result is
//! a pattern too and nothing is accumulated: what is selected, extracted, assigned or transposed from a pattern is one, and so is the
//! Kronecker product of two by an operator that makes 1 of ones. In every other case it has values from then on. An output keeps its
//! format; a new one has that of its (first) operand.
//!
//! # Determinism
//! Every operation gives the same bits on every run with the same operands in the same formats, whatever the number of threads. Sums of
//! floats are formed in an order that the backend, the format and the matrix decide, so that another of these may differ by rounding;
//! everything else is the same on all of them (where [`assign_at`] merges several values at one index, for accumulators that commute).

mod backend;
mod elementwise;
mod handles;
mod movement;
mod operation;
mod product;

pub use crate::matrix::View;
pub use backend::{Indices, MatrixMask, MatrixOps, MatrixWrite, Mxm, Mxv, Region, Source, VectorMask, VectorOps, VectorWrite, Write};
pub use elementwise::{Apply, Ewise, Reduce, ReduceRows, Select, apply, ewise_add, ewise_mult, reduce, reduce_rows, select};
pub use movement::{AssignAt, Extract, Fill, Scalar, Transpose, assign, assign_at, extract, transpose};
pub use operation::{Computation, Evaluates, FirstMatrix, How, MaskOf, Operand, Operation, SecondMatrix, Selector, VectorSelector, Writes};
pub use product::{Kronecker, MatrixMatrix, MatrixVector, ReducedProduct, kronecker, mxm, mxm_reduce, mxv, vxm};

use crate::{Backend, Error};

fn same(operation: &'static str, operand: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { operation, operand, expected: expected as u64, found: found as u64 }) }
}

/// Refuses an operand whose backend does not share with that of the work.
fn same_backend<B: Backend>(operation: &'static str, operand: &'static str, expected: &B, found: &B) -> Result<(), Error> {
    if expected.shares_with(found) {
        return Ok(());
    }
    Err(Error::OtherBackend { operation, operand, expected: expected.label(), found: found.label() })
}

/// An operand other than the output and the mask: its name for errors, and its backend.
type On<'a, B> = (&'static str, &'a B);

/// The names of a matrix's sides, for errors.
type Sides = [&'static str; 2];
const OPERAND: Sides = ["rows of a matrix", "columns of a matrix"];
const OUTPUT: Sides = ["rows of the output", "columns of the output"];
const MASK: Sides = ["rows of the mask", "columns of the mask"];

fn same_shape(operation: &'static str, sides: Sides, expected: (usize, usize), found: (usize, usize)) -> Result<(), Error> {
    same(operation, sides[0], expected.0, found.0)?;
    same(operation, sides[1], expected.1, found.1)
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
