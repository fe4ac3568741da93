//! Errors of this crate: what was asked, what was found, what to do.

use crate::{Packing, TileShape};
use bitgraph_sparse::Cancelled;

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong when a bit tensor is packed, quantised, unpacked or multiplied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More rows, columns or words than can be addressed.
    #[error(
        "a bit tensor of {rows} x {columns} in {planes} planes is too large: ids have 32 bits, and its bytes must fit an address space"
    )]
    TooLarge {
        /// Rows asked for.
        rows: u64,
        /// Columns asked for.
        columns: u64,
        /// Planes asked for.
        planes: u64,
    },
    /// A tile that is not made of whole words.
    #[error("a tile of {lines} lines x {bits} bits is none: at least one line, and a positive multiple of 32 bits, are needed")]
    Tile {
        /// Lines asked for.
        lines: u32,
        /// Bits asked for.
        bits: u32,
    },
    /// A number of bits that no code can have.
    #[error("{bits} bits an element; {smallest} to 16 are possible here")]
    Width {
        /// Bits asked for.
        bits: u32,
        /// The smallest number that is possible here.
        smallest: u32,
    },
    /// Whole numbers that begin where a zero point of `f32` cannot be exact.
    #[error("codes cannot begin at {lowest}; {smallest} to {largest} are possible")]
    Lowest {
        /// The number asked for.
        lowest: i64,
        /// The smallest possible.
        smallest: i64,
        /// The largest possible.
        largest: i64,
    },
    /// A quantisation range that is empty, inverted, or not finite.
    #[error("the range {low} to {high} cannot be quantised: both ends must be finite, and the first below the second")]
    Range {
        /// The lower end.
        low: f32,
        /// The upper end.
        high: f32,
    },
    /// A range whose step would be infinite.
    #[error("the range {low} to {high} is too wide for {bits} bits: its step is not finite in f32")]
    TooWide {
        /// The lower end.
        low: f32,
        /// The upper end.
        high: f32,
        /// Bits of a code.
        bits: u32,
    },
    /// A step whose scale is not positive and finite, or whose zero point is not finite.
    #[error("step {position} has scale {scale} and zero point {zero}: the scale must be positive, and both finite")]
    Step {
        /// Which row's or column's step.
        position: u64,
        /// Its scale.
        scale: f32,
        /// Its zero point.
        zero: f32,
    },
    /// An element that is not a number.
    #[error("element ({row}, {column}) is not a number")]
    NotANumber {
        /// Its row.
        row: u64,
        /// Its column.
        column: u64,
    },
    /// An infinite element where a range or a mean is to be found.
    #[error("element ({row}, {column}) is infinite: the range or mean of its values has no finite value; give a range")]
    Infinite {
        /// Its row.
        row: u64,
        /// Its column.
        column: u64,
    },
    /// A whole number that does not fit the bits.
    #[error("element ({row}, {column}) is {value}; {bits} bits hold {smallest} to {largest}")]
    Code {
        /// Its row.
        row: u64,
        /// Its column.
        column: u64,
        /// The number.
        value: i64,
        /// Bits of a code.
        bits: u32,
        /// The smallest number that fits.
        smallest: i64,
        /// The largest number that fits.
        largest: i64,
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
    /// Shapes that do not fit together.
    #[error("shapes {left_rows} x {left_columns} and {right_rows} x {right_columns} do not fit for {operation}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// Rows of the first operand.
        left_rows: u64,
        /// Columns of the first operand.
        left_columns: u64,
        /// Rows of the second operand.
        right_rows: u64,
        /// Columns of the second operand.
        right_columns: u64,
    },
    /// An operand that is packed the other way.
    #[error("the {operand} operand is packed along {found}; {expected} is needed: repack it")]
    Packed {
        /// Which operand.
        operand: &'static str,
        /// The packing needed.
        expected: Packing,
        /// The packing found.
        found: Packing,
    },
    /// Planes that are padded differently.
    #[error("a plane is padded to tiles of {found:?}, the first one to tiles of {expected:?}: repack it")]
    Padded {
        /// The first plane's tile.
        expected: TileShape,
        /// The other plane's tile.
        found: TileShape,
    },
    /// Scales that vary along the dimension that a product sums over, and so cannot be taken out of the sum.
    #[error(
        "the {operand} operand has a scale for each of its {along}, along which the product sums; it can have one for each of the others"
    )]
    InnerScales {
        /// Which operand.
        operand: &'static str,
        /// Its rows or columns.
        along: Packing,
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
