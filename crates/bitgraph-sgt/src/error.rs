//! Errors of this crate: what was asked, what was found, what to do.

use bitgraph_sparse::Cancelled;

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong when a graph is translated or its blocks are laid out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of rows that no window can have.
    #[error("windows of {height} rows; 1 to {largest} are possible", largest = crate::MOST_ROWS)]
    Height {
        /// Rows asked for.
        height: u32,
    },
    /// A block that is not made of whole words, or empty.
    #[error(
        "a block of {height} x {width} is none: 1 to {} rows, at least one column, and a multiple of 32 places are needed",
        crate::MOST_ROWS
    )]
    Block {
        /// Rows asked for.
        height: u32,
        /// Columns asked for.
        width: u32,
    },
    /// Blocks of another height than the windows have.
    #[error("blocks of {found} rows do not fit windows of {expected}: translate with that height")]
    BlockHeight {
        /// Rows of a window.
        expected: u32,
        /// Rows of a block.
        found: u32,
    },
    /// An order of rows that is not one of these rows.
    #[error("an order of {found} rows does not fit a pattern of {expected}")]
    Order {
        /// Rows of the pattern.
        expected: u64,
        /// Rows of the order.
        found: u64,
    },
    /// Blocks whose columns and masks would not fit an address space.
    #[error("{blocks} blocks of {height} x {width} are too many for an address space")]
    TooLarge {
        /// Blocks.
        blocks: u64,
        /// Rows of a block.
        height: u32,
        /// Columns of a block.
        width: u32,
    },
    /// Memory that could not be had.
    #[error("out of memory: {wanted} bytes wanted for {what}")]
    OutOfMemory {
        /// Bytes wanted.
        wanted: u64,
        /// What for.
        what: &'static str,
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

/// `len` default elements.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn zeros<T: Clone + Default>(len: usize, what: &'static str) -> Result<Vec<T>> {
    let mut data = Vec::new();
    let wanted = (len as u64).saturating_mul(size_of::<T>() as u64);
    data.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { wanted, what })?;
    data.resize(len, T::default());
    Ok(data)
}
