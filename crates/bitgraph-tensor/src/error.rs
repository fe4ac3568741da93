//! What the operations on dense matrices refuse, with the numbers.

use bitgraph_backend::{Backend, FamilyError};
use bitgraph_semiring::DType;

/// Everything that is refused before a backend is called.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Operands or outputs whose shapes do not fit together.
    #[error("{operation}: {operand} is {} x {} where {} x {} is needed", .found.0, .found.1, .expected.0, .expected.1)]
    Shape {
        /// The operation.
        operation: &'static str,
        /// Which operand.
        operand: &'static str,
        /// Rows and columns needed.
        expected: (u64, u64),
        /// Rows and columns found.
        found: (u64, u64),
    },
    /// An operand of a type that does not go with another one's.
    #[error("{operation}: {operand} holds {found}, which does not go with {other}; it may hold {allowed}")]
    Type {
        /// The operation.
        operation: &'static str,
        /// Which operand.
        operand: &'static str,
        /// The type of the other operand.
        other: DType,
        /// The type found.
        found: DType,
        /// The types that go.
        allowed: String,
    },
    /// Columns that do not divide into equal heads.
    #[error("{operation}: {columns} columns do not divide into {heads} heads")]
    Heads {
        /// The operation.
        operation: &'static str,
        /// Columns found.
        columns: u64,
        /// Heads asked for.
        heads: u64,
    },
    /// Rows that would overlap in memory.
    #[error("rows of {columns} columns cannot be {stride} elements apart")]
    Stride {
        /// Elements from row to row.
        stride: u64,
        /// Columns.
        columns: u64,
    },
    /// An array that is not as long as its shape says.
    #[error("{what}: {found} elements where {expected} are needed")]
    Length {
        /// Which array.
        what: &'static str,
        /// Elements needed.
        expected: u64,
        /// Elements found.
        found: u64,
    },
    /// More elements than memory can have.
    #[error("{rows} rows of {columns} columns, {stride} elements apart, are more elements than memory can have")]
    Overflow {
        /// Rows.
        rows: u64,
        /// Columns.
        columns: u64,
        /// Elements from row to row.
        stride: u64,
    },
    /// Rows or columns that a matrix does not have.
    #[error("{what} {start}..{end} of a matrix that has {len}")]
    Slice {
        /// Rows or columns.
        what: &'static str,
        /// The first.
        start: u64,
        /// One past the last.
        end: u64,
        /// How many there are.
        len: u64,
    },
    /// An operand that shares elements with the output.
    #[error("{operation}: {operand} and the output share elements; write to another matrix")]
    Overlap {
        /// The operation.
        operation: &'static str,
        /// Which operand.
        operand: &'static str,
    },
    /// A number outside its range.
    #[error("{operation}: {parameter} is {found}; it must be {allowed}")]
    Parameter {
        /// The operation.
        operation: &'static str,
        /// Which number.
        parameter: &'static str,
        /// The number found.
        found: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// A label that is not a class.
    #[error("{operation}: the label of row {row} is {label}; classes are 0 to {}, and a negative label takes a row out", i64::from(*.classes) - 1)]
    Label {
        /// The operation.
        operation: &'static str,
        /// The row.
        row: u64,
        /// The label.
        label: i64,
        /// The number of classes.
        classes: u32,
    },
    /// A combination of settings that has no meaning, or that no backend has.
    #[error("{operation} does not take {what}: {why}")]
    Combination {
        /// The operation.
        operation: &'static str,
        /// What was asked for.
        what: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// From the packing of bits.
    #[error(transparent)]
    Bits(#[from] bitgraph_bittensor::Error),
}

impl From<Error> for bitgraph_backend::Error {
    fn from(error: Error) -> Self {
        Self::Family(FamilyError::new(error))
    }
}

/// An error of this crate as one of a backend.
pub(crate) fn refused<B: Backend>(error: Error) -> B::Error {
    B::Error::from(bitgraph_backend::Error::from(error))
}

/// Refuses a shape that is not the expected one.
pub(crate) fn same_shape(
    operation: &'static str,
    operand: &'static str,
    expected: (usize, usize),
    found: (usize, usize),
) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    let wide = |(r, c): (usize, usize)| (r as u64, c as u64);
    Err(Error::Shape { operation, operand, expected: wide(expected), found: wide(found) })
}
