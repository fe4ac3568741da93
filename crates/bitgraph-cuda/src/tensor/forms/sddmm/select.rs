//! Which form of sampled dot products runs: by the element type, the width of a head, and the number of heads.
//!
//! Halves go through tensor cores, which multiply 16 entries with a window of rows in the time that a lane takes for one entry; what is left
//! is the gathering of rows. `f32` has no such product without loss, and needs none: four multiplications for 16 bytes.

use crate::tensor::forms::{Feature, is_half};

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Form {
    /// Tensor cores, so many columns held at once.
    Tiles(Width),
    /// Rows of 16-byte vectors, so many columns of a head held at once.
    Rows(Width),
    /// Element by element: any type and width.
    Plain,
}

/// Columns held in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Width {
    /// 32 at most.
    W32,
    /// 64 at most.
    W64,
    /// 128 at most.
    W128,
    /// Part by part.
    Any,
}

impl Width {
    fn of(columns: usize) -> Self {
        match columns {
            0..=32 => Self::W32,
            33..=64 => Self::W64,
            65..=128 => Self::W128,
            _ => Self::Any,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Self::W32 => "32",
            Self::W64 => "64",
            Self::W128 => "128",
            Self::Any => "any",
        }
    }
}

/// Heads that a step of tensor cores has columns for.
const MOST_HEADS: usize = 8;

impl Form {
    /// The form for features of so many columns in heads of `head_columns`.
    pub(in crate::tensor) fn of<T: Feature>(columns: usize, heads: usize, head_columns: usize) -> Self {
        match is_half::<T>() {
            true if head_columns.is_multiple_of(8) && heads <= MOST_HEADS => Self::Tiles(match Width::of(columns) {
                Width::W32 => Width::W64,
                width => width,
            }),
            false if head_columns.is_multiple_of(4) => Self::Rows(Width::of(head_columns)),
            _ => Self::Plain,
        }
    }
    /// Rows of a window, at most.
    pub(super) fn window(self, heads: usize) -> u32 {
        match self {
            Self::Tiles(_) => (MOST_HEADS / heads).max(1) as u32,
            // Each row is a round of its own: a window only saves the start of a warp.
            Self::Rows(_) | Self::Plain => 2,
        }
    }
    /// The module and the kernel.
    pub(super) fn kernel<T: Feature>(self) -> (&'static str, String) {
        match self {
            Self::Tiles(width) => ("tensor/sddmm_tiles", format!("sddmm_tiles_{}_{}", T::NAME, width.name())),
            Self::Rows(width) => ("tensor/sddmm_rows", format!("sddmm_rows_{}_{}", T::NAME, width.name())),
            Self::Plain => ("tensor/sddmm_rows", format!("sddmm_plain_{}", T::NAME)),
        }
    }
}
