//! Which form of attention runs: by the element type, the width of a head, and the number of heads.
//!
//! Halves go through tensor cores: with one row a step would be a sixteenth used and still take a third of the instructions of sums by lanes,
//! which convert every element first. `f32` is gathered by 16 bytes and summed by lanes.

use crate::tensor::{Feature, is_half};

/// A form of additive attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
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
    pub(super) fn of<T: Feature>(columns: usize, heads: usize, head_columns: usize) -> Self {
        match is_half::<T>() {
            true if head_columns % 8 == 0 && heads <= SLOTS => Self::Tiles(if columns <= 64 { 64 } else { 128 }),
            false if head_columns % 4 == 0 => Self::Rows(match columns {
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
    /// The module and the kernel.
    pub(super) fn kernel<T: Feature>(self) -> (&'static str, String) {
        match self {
            Self::Tiles(width) => ("tensor/attention_gat_tiles", format!("attention_gat_tiles_{}_{width}", T::NAME)),
            Self::Rows(width) => ("tensor/attention_gat_rows", format!("attention_gat_rows_{}_{width}", T::NAME)),
            Self::Plain => ("tensor/attention_gat_rows", format!("attention_gat_plain_{}", T::NAME)),
        }
    }
}
