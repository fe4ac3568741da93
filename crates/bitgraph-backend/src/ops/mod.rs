//! The operations, as values: a function says what is computed, and where it goes is said once, the same way for all of them.
//!
//! ```
//! use bitgraph_backend::ops::{assign, mxv, vxm};
//! # use bitgraph_backend::{Matrix, Vector};
//! # use bitgraph_cpu::Cpu;
//! # use bitgraph_semiring::{LorLand, Min, MinPlus};
//! # use bitgraph_sparse::{Csr, FormatKind, Values};
//! # let csr = Csr::new(4, 4, vec![0u32, 1, 2, 4, 4].into(), vec![1, 2, 3, 0].into())?;
//! # let cpu = Cpu::new();
//! # let (a, weighted) = (Matrix::new(&cpu, &csr, None, FormatKind::Csr)?, Values::from_vec(vec![2f32, 1.0, 4.0, 1.0]));
//! # let a = &a;
//! # let (seen, reach) = (Vector::from_indices(&cpu, 4, &[0], true)?, Vector::from_indices(&cpu, 4, &[2], true)?);
//! # {
//! # let frontier = reach;
//! // A new vector, or into an old one.
//! let reached = mxv(LorLand, &a, &frontier).unless(&seen).eval()?;
//! # assert_eq!(reached.to_host()?.iter().collect::<Vec<_>>(), [(1, true)]);
//! # let a = Matrix::new(&cpu, &csr, Some(&weighted), FormatKind::Csr)?;
//! # let mut distances = Vector::from_entries(&cpu, 4, [(3, 0f32)])?;
//! mxv(MinPlus, &a, &distances).accum(Min).into(&mut distances)?;
//! # assert_eq!(distances.to_host()?.iter().collect::<Vec<_>>(), [(2, 4.0), (3, 0.0)]);
//! # }
//! # let (mut frontier, mut levels) = (seen, Vector::<Cpu, i32>::empty(&cpu, 4)?);
//!
//! // Breadth-first search; any semiring, any backend, nothing crosses to the host but one number a level.
//! for level in 0.. {
//!     assign(level).mask(&frontier).into(&mut levels)?;
//!     vxm(&frontier, LorLand, &a).unless(&levels).replace().into(&mut frontier)?;
//!     if frontier.is_empty()? {
//!         break;
//!     }
//! }
//! # assert_eq!(levels.to_host()?.to_vec_or(-1), [0, 1, 2, 3]);
//! # Ok::<(), bitgraph_backend::Error>(())
//! ```
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
mod movement;
mod operation;
mod product;

pub use backend::{
    Indices, MatrixMask, MatrixOps, MatrixWrite, Mxm, Mxv, Region, Source, VectorMask, VectorOps, VectorWrite, View, Write,
};
pub use elementwise::{Apply, Ewise, Reduce, ReduceRows, Select, apply, ewise_add, ewise_mult, reduce, reduce_rows, select};
pub use movement::{AssignAt, Extract, Fill, Scalar, Transpose, assign, assign_at, extract, transpose};
pub use operation::{Computation, Evaluates, FirstMatrix, How, MaskOf, Operand, Operation, SecondMatrix, Selector, VectorSelector, Writes};
pub use product::{Kronecker, MatrixMatrix, MatrixVector, ReducedProduct, kronecker, mxm, mxm_reduce, mxv, vxm};

use crate::Error;

fn same(operation: &'static str, operand: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { operation, operand, expected: expected as u64, found: found as u64 }) }
}

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
