//! Which form of sampled dot products runs: by the element type, the width of a head, and the number of heads.
//!
//! Of one head, lanes take a row, a vector of 16 bytes each: what limits is the gathering of rows. Halves of several heads go through tensor
//! cores, which need no sums across the lanes of each head.

use crate::tensor::forms::attention::layout::{Cut, TASKS_ENOUGH, WARPS_ENOUGH};
use crate::tensor::forms::attention::{BRIEF_TURNS_HALVES, SHORTEST_PIECE};
use crate::tensor::forms::{Feature, is_half};

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Form {
    /// Tensor cores, so many columns held at once.
    Tiles(Width),
    /// Rows of 16-byte vectors, so many columns of a head held at once.
    Rows(Width),
    /// The same of one head of halves, where no row is long: lanes go on from row to row.
    Brief,
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
            true if head_columns.is_multiple_of(8) && heads > 1 && heads <= MOST_HEADS => Self::Tiles(match Width::of(columns) {
                Width::W32 => Width::W64,
                width => width,
            }),
            true if head_columns.is_multiple_of(8) => Self::Rows(match Width::of(head_columns) {
                Width::W32 => Width::W64,
                width => width,
            }),
            false if head_columns.is_multiple_of(4) => Self::Rows(Width::of(head_columns)),
            _ => Self::Plain,
        }
    }
    /// The form where no row is long, if there is one. Of 128 columns it was slower on shuffled meshes, of f32 on meshes in their order.
    pub(super) fn brief<T: Feature>(self, heads: usize) -> Option<Self> {
        (is_half::<T>() && heads == 1 && self == Self::Rows(Width::W64)).then_some(Self::Brief)
    }
    /// Blocks of a launch for each that a device holds at once, where lanes go on from row to row.
    pub(super) fn turns(self) -> Option<u64> {
        (self == Self::Brief).then_some(BRIEF_TURNS_HALVES)
    }
    /// How rows are cut for it.
    pub(super) fn cut(self, heads: usize, enough: u64) -> Cut {
        match self {
            Self::Tiles(_) => Cut::Windows { widest: (MOST_HEADS / heads).max(1) as u32, narrowest: 1, enough },
            Self::Rows(_) | Self::Brief | Self::Plain => Cut::ByLength { piece: SHORTEST_PIECE as u32 },
        }
    }
    /// Windows, or warps of lanes, that are enough for a device.
    pub(super) fn enough(self) -> u64 {
        match self {
            Self::Tiles(_) => TASKS_ENOUGH,
            Self::Rows(_) | Self::Brief | Self::Plain => WARPS_ENOUGH,
        }
    }
    /// Lanes of a task.
    pub(super) fn lanes(self) -> u32 {
        match self {
            Self::Tiles(_) | Self::Plain => 32,
            Self::Rows(_) | Self::Brief => 8,
        }
    }
    /// The module and the kernel.
    pub(super) fn kernel<T: Feature>(self) -> (&'static str, String) {
        match self {
            Self::Tiles(width) => ("tensor/sddmm_tiles", format!("sddmm_tiles_{}_{}", T::NAME, width.name())),
            Self::Rows(width) => ("tensor/sddmm_rows", format!("sddmm_rows_{}_{}", T::NAME, width.name())),
            Self::Brief => ("tensor/sddmm_brief", format!("sddmm_brief_{}_64", T::NAME)),
            Self::Plain => ("tensor/sddmm_rows", format!("sddmm_plain_{}", T::NAME)),
        }
    }
}
