//! Which form of attention runs: by the element type, the width of a head, and the number of heads.
//!
//! Halves go through tensor cores: with one row a step would be a sixteenth used and still take a third of the instructions of sums by lanes,
//! which convert every element first. `f32` is gathered by 16 bytes and summed by lanes.

use crate::Result;
use crate::tensor::forms::{Feature, is_half};
use bitgraph_backend::Error as Base;

/// A form of additive attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Form {
    /// Tensor cores, so many columns at a time.
    Tiles(u32),
    /// Rows of 16-byte vectors, so many columns at a time.
    Rows(u32),
    /// Element by element: any type and width.
    Plain,
}

/// Pairs of a row and a head that a step of tensor cores has columns for.
pub(super) const SLOTS: usize = 8;

impl Form {
    /// The form for values of so many columns in heads of `head_columns`.
    pub(in crate::tensor) fn of<T: Feature>(columns: usize, heads: usize, head_columns: usize) -> Self {
        match is_half::<T>() {
            true if head_columns.is_multiple_of(8) && heads <= SLOTS => Self::Tiles(if columns <= 64 { 64 } else { 128 }),
            false if head_columns.is_multiple_of(4) => Self::Rows(match columns {
                0..=32 => 32,
                33..=64 => 64,
                _ => 128,
            }),
            _ => Self::Plain,
        }
    }
    /// Rows of a window, at most.
    pub(super) fn window(self, heads: usize) -> u32 {
        match self {
            Self::Tiles(_) => (SLOTS / heads).max(1) as u32,
            Self::Rows(_) | Self::Plain => 4,
        }
    }
    /// The module and the kernel; `end` says whether a layer's end follows.
    pub(super) fn kernel<T: Feature>(self, end: bool) -> (&'static str, String) {
        let kind = if end { "layer" } else { "tiles" };
        match self {
            Self::Tiles(width) => ("tensor/attention_gat_tiles", format!("attention_gat_{kind}_{}_{width}", T::NAME)),
            Self::Rows(width) => ("tensor/attention_gat_rows", format!("attention_gat_rows_{}_{width}", T::NAME)),
            Self::Plain => ("tensor/attention_gat_rows", format!("attention_gat_plain_{}", T::NAME)),
        }
    }
}

/// A form of the backward pass of additive attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Backward {
    /// Tensor cores, so many columns at most.
    Tiles(u32),
    /// Rows of 16-byte vectors, so many columns at most.
    Rows(u32),
    /// Element by element: any type, up to [`MOST_COLUMNS`] columns.
    Plain,
}

/// Columns that a warp holds, with the sums of their gradients.
const MOST_COLUMNS: usize = 256;

impl Backward {
    /// The form for values of so many columns in heads of `head_columns`.
    ///
    /// # Errors
    /// More columns than a warp holds.
    pub(in crate::tensor) fn of<T: Feature>(columns: usize, heads: usize, head_columns: usize) -> Result<Self> {
        if columns > MOST_COLUMNS {
            let what = format!("values of {columns} columns");
            return Err(
                Base::Unsupported { operation: "the gradient of attention in one pass", what, available: "up to 256 columns" }.into()
            );
        }
        Ok(match is_half::<T>() {
            true if head_columns.is_multiple_of(8) && heads <= SLOTS && columns <= 128 => Self::Tiles(if columns <= 64 { 64 } else { 128 }),
            false if head_columns.is_multiple_of(4) => Self::Rows((columns.next_power_of_two() as u32).max(32)),
            _ => Self::Plain,
        })
    }
    /// Rows of a window of the transposed matrix, at most.
    pub(super) fn window(self, heads: usize) -> u32 {
        match self {
            Self::Tiles(_) => (SLOTS / heads).max(1) as u32,
            Self::Rows(_) | Self::Plain => 2,
        }
    }
    /// The module and the kernel of the pass over the transposed matrix.
    pub(super) fn kernel<T: Feature>(self) -> (&'static str, String) {
        let rows = "tensor/attention_gat_backward_rows";
        match self {
            Self::Tiles(width) => ("tensor/attention_gat_backward_tiles", format!("attention_gat_backward_tiles_{}_{width}", T::NAME)),
            Self::Rows(width) => (rows, format!("attention_gat_backward_rows_{}_{width}", T::NAME)),
            Self::Plain => (rows, format!("attention_gat_backward_plain_{}", T::NAME)),
        }
    }
}

/// A form of attention whose scores are formed of two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Pair {
    /// Rows of 16-byte vectors, so many columns at most.
    Rows(u32),
    /// Element by element: any type, up to [`MOST_COLUMNS`] columns.
    Plain,
}

impl Pair {
    /// The form for features of so many columns in heads of `head_columns`.
    ///
    /// # Errors
    /// More columns than a warp holds.
    pub(in crate::tensor) fn of<T: Feature>(columns: usize, head_columns: usize) -> Result<Self> {
        if columns > MOST_COLUMNS {
            let what = format!("features of {columns} columns");
            return Err(Base::Unsupported { operation: "attention in one pass", what, available: "up to 256 columns" }.into());
        }
        let vector = 16 / size_of::<T>();
        let whole = head_columns.is_multiple_of(vector);
        Ok(if whole { Self::Rows((columns.next_power_of_two() as u32).max(64)) } else { Self::Plain })
    }
    /// Rows of a window, at most.
    pub(super) fn window(self) -> u32 {
        4
    }
    /// The kernel for a kind of score.
    pub(super) fn kernel<T: Feature>(self, score: &str) -> String {
        match self {
            Self::Rows(width) => format!("attention_{score}_{}_{width}", T::NAME),
            Self::Plain => format!("attention_{score}_plain_{}", T::NAME),
        }
    }
}
