//! Errors of this crate: what was asked, what was found, what to do.

use bitgraph_semiring::DType;

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong when a matrix or vector is built or converted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More rows or columns than a `u32` id can name.
    #[error("a matrix of {rows} x {columns} has more rows or columns than 32-bit ids can name (at most {max})", max = u32::MAX)]
    TooLarge {
        /// Rows asked for.
        rows: u64,
        /// Columns asked for.
        columns: u64,
    },
    /// An entry outside the matrix.
    #[error("entry ({row}, {column}) lies outside the {rows} x {columns} matrix")]
    OutOfRange {
        /// Row of the entry.
        row: u64,
        /// Column of the entry.
        column: u64,
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
    },
    /// Two entries at one place where none may be.
    #[error("entry ({row}, {column}) is given more than once")]
    Duplicate {
        /// Row of the entry.
        row: u64,
        /// Column of the entry.
        column: u64,
    },
    /// Opposite entries with two values where there may be one only.
    #[error("entry ({row}, {column}) and its opposite are given with two values")]
    Opposite {
        /// Row of the entry.
        row: u64,
        /// Column of the entry.
        column: u64,
    },
    /// A value that its type cannot hold once it is combined with others, or negated.
    #[error("the value of entry ({row}, {column}), a sum or a negated mirror image, does not fit {dtype}")]
    Overflow {
        /// Row of the entry.
        row: u64,
        /// Column of the entry.
        column: u64,
        /// The type.
        dtype: DType,
    },
    /// An array of the wrong length.
    #[error("array '{array}' has {found} elements where {expected} are needed")]
    Length {
        /// Which array.
        array: &'static str,
        /// Elements needed.
        expected: u64,
        /// Elements found.
        found: u64,
    },
    /// An invariant that does not hold.
    #[error("array '{array}' is invalid at position {position}: {what}")]
    Invalid {
        /// Which array.
        array: &'static str,
        /// Where.
        position: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// Values of another type than asked for.
    #[error("values are of type {found} where {expected} is needed")]
    Type {
        /// Type needed.
        expected: DType,
        /// Type found.
        found: DType,
    },
    /// Shapes that do not fit together.
    #[error("shape {found_rows} x {found_columns} does not fit: {expected_rows} x {expected_columns} is needed")]
    Shape {
        /// Rows needed.
        expected_rows: u64,
        /// Columns needed.
        expected_columns: u64,
        /// Rows found.
        found_rows: u64,
        /// Columns found.
        found_columns: u64,
    },
    /// A section that a format needs and a container lacks, or one of the wrong type.
    #[error("section '{name}' is missing or of another type")]
    Section {
        /// The section's name.
        name: String,
    },
    /// Memory that could not be had.
    #[error("out of memory: {wanted} bytes wanted for {what}")]
    OutOfMemory {
        /// Bytes wanted.
        wanted: u64,
        /// What for.
        what: &'static str,
    },
}

impl Error {
    /// The same of an array that goes by another name in the format that it is a part of: `names` are pairs of both.
    #[must_use]
    pub fn renamed(mut self, names: &[(&str, &'static str)]) -> Self {
        if let Self::Length { array, .. } | Self::Invalid { array, .. } = &mut self
            && let Some((_, name)) = names.iter().find(|(own, _)| own == array)
        {
            *array = name;
        }
        self
    }
}
