//! The errors of the contracts, which every backend's own error can be made from.

use bitgraph_semiring::DType;
use bitgraph_sparse::{Cancelled, FormatKind};
use std::fmt;
use std::sync::Arc;

/// The result of operations that no backend took part in.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong before or around a backend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Operands whose shapes do not fit together.
    #[error("{operation}: {operand} has {found} elements where {expected} are needed")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// Which operand.
        operand: &'static str,
        /// Elements, rows or columns needed.
        expected: u64,
        /// Elements, rows or columns found.
        found: u64,
    },
    /// An index past the end of what it points into.
    #[error("{operation}: element {position} of the {operand} is {index}; it must be below {len}")]
    IndexOutOfRange {
        /// The operation.
        operation: &'static str,
        /// Which list of indices.
        operand: &'static str,
        /// Where in the list, from 0.
        position: u64,
        /// The index.
        index: u64,
        /// The number of positions, rows or columns that there are.
        len: u64,
    },
    /// An index that is given twice where it may be given once.
    #[error("{operation}: index {index} occurs more than once in the {operand}")]
    RepeatedIndex {
        /// The operation.
        operation: &'static str,
        /// Which list of indices.
        operand: &'static str,
        /// The index.
        index: u64,
    },
    /// An operand that another handle of the backend made, one whose work is not ordered with this one's.
    #[error("{operation}: the {operand} was made on {found}, and the work is done on {expected}; bring it there through the host first")]
    OtherBackend {
        /// The operation.
        operation: &'static str,
        /// Which operand.
        operand: &'static str,
        /// Where the work is done: on the handle of the output, or of the first operand where there is no output.
        expected: String,
        /// Where the operand was made.
        found: String,
    },
    /// A matrix, operand or output, whose values are of another type than the operator's or semiring's.
    #[error("{operation}: a matrix holds {found} values where {expected} ones are needed")]
    Type {
        /// The operation.
        operation: &'static str,
        /// The type needed.
        expected: DType,
        /// The matrix's type.
        found: DType,
    },
    /// An algorithm that needs a square matrix.
    #[error("{algorithm} needs a square matrix, this one is {rows} x {columns}")]
    NotSquare {
        /// The algorithm.
        algorithm: &'static str,
        /// Rows found.
        rows: u64,
        /// Columns found.
        columns: u64,
    },
    /// A vertex that the graph does not have.
    #[error("vertex {vertex} is out of range: the graph has {nodes} vertices, numbered from 0")]
    VertexOutOfRange {
        /// The vertex asked for.
        vertex: u64,
        /// The number of vertices.
        nodes: u64,
    },
    /// A weight that shortest paths cannot take.
    #[error("edge {row} -> {column} has weight {weight}: {what}")]
    Weight {
        /// Tail of the edge.
        row: u64,
        /// Head of the edge.
        column: u64,
        /// The weight.
        weight: f64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A parameter outside its range.
    #[error("{parameter} is {found}; it must be {allowed}")]
    Parameter {
        /// Which parameter.
        parameter: &'static str,
        /// The value found.
        found: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// An algorithm for undirected graphs was given a directed one.
    #[error("{algorithm} needs an undirected graph; symmetrize this directed one first")]
    Directed {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A graph that was said to be undirected.
    #[error("the graph was said to be undirected, but edge {row} -> {column} has no opposite")]
    NotSymmetric {
        /// Tail of the edge.
        row: u64,
        /// Head of the edge.
        column: u64,
    },
    /// A forced variant that a backend does not have for this graph, found before anything ran.
    #[error("{algorithm} has no variant {variant} for this graph; available: {available}")]
    NoVariant {
        /// The algorithm.
        algorithm: &'static str,
        /// The variant asked for.
        variant: &'static str,
        /// The variants there are.
        available: String,
    },
    /// A combination that a backend does not have, found before anything ran.
    #[error("{operation} is not available for {what}; available: {available}")]
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// What was asked for.
        what: String,
        /// What there is.
        available: &'static str,
    },
    /// A format that cannot hold this matrix.
    #[error("format {format} cannot hold this matrix: {what}")]
    Format {
        /// The format.
        format: FormatKind,
        /// Why not.
        what: &'static str,
    },
    /// A result that does not fit its type.
    #[error("{what} overflows {dtype}")]
    Overflow {
        /// What overflows.
        what: &'static str,
        /// The type it does not fit.
        dtype: DType,
    },
    /// Memory that could not be had.
    #[error("out of memory: {wanted} bytes wanted for {what}, {free} free")]
    OutOfMemory {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free, 0 if unknown.
        free: u64,
        /// What for.
        what: &'static str,
    },
    /// The work was stopped through its [`Control`](bitgraph_sparse::Control).
    #[error("cancelled")]
    Cancelled,
    /// From a family of operations in a crate of its own.
    #[error(transparent)]
    Family(FamilyError),
    /// From the storage layer.
    #[error(transparent)]
    Sparse(#[from] bitgraph_sparse::Error),
}

/// The error of a family of operations that lives in a crate above this one, so that the contracts do not grow with it. Equal if the
/// messages are.
#[derive(Clone)]
pub struct FamilyError(Arc<dyn std::error::Error + Send + Sync>);

impl FamilyError {
    /// Wraps an error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
    /// The error, if it is of that type.
    #[must_use]
    pub fn get<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}
impl PartialEq for FamilyError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
impl fmt::Debug for FamilyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
impl fmt::Display for FamilyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl std::error::Error for FamilyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
