//! Errors of this crate: one sentence each, with the text or number that is wrong.

use bitgraph_sparse::Cancelled;

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong when a generator is read or run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that names no generator.
    #[error("'{text}' is no generator; there are kron, urand, grid, mesh, mycielskian, debruijn, skew and planted")]
    Unknown {
        /// The text.
        text: String,
    },
    /// A generator with too few or too many parameters.
    #[error("generator '{text}' does not have the form {form}")]
    Form {
        /// The text.
        text: String,
        /// The form that it should have.
        form: &'static str,
    },
    /// A parameter that is not a whole number.
    #[error("generator '{text}': {parameter} is '{found}', which is not a whole number of at most 64 bits")]
    Number {
        /// The text.
        text: String,
        /// Which parameter.
        parameter: &'static str,
        /// What was found in its place.
        found: String,
    },
    /// A parameter outside its range.
    #[error("generator {generator}: {parameter} is {found}; it must be {smallest} to {largest}")]
    Parameter {
        /// The generator's name.
        generator: &'static str,
        /// Which parameter.
        parameter: &'static str,
        /// The value found.
        found: u64,
        /// The smallest value.
        smallest: u64,
        /// The largest value.
        largest: u64,
    },
    /// More vertices than 32-bit ids can name, or more edges than 64 bits can count.
    #[error("generator {generator} asks for {found} {what}; at most {largest} are possible")]
    TooLarge {
        /// The generator's name.
        generator: &'static str,
        /// Vertices or edges.
        what: &'static str,
        /// How many are asked for.
        found: u128,
        /// How many can be had.
        largest: u64,
    },
    /// Memory that could not be had.
    #[error("generating {generator} needs {wanted} bytes of memory, {free} are free")]
    OutOfMemory {
        /// The generator.
        generator: String,
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free.
        free: u64,
    },
    /// The work was stopped through its [`Control`](bitgraph_sparse::Control).
    #[error("cancelled")]
    Cancelled,
    /// From the storage layer.
    #[error(transparent)]
    Sparse(#[from] bitgraph_sparse::Error),
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
