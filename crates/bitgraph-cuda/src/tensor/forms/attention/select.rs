//! Which form of attention runs: by the element type, the width of a head, and the number of heads.

use super::layout::shortened;
use crate::Result;
use crate::tensor::forms::{Feature, is_half};
use bitgraph_backend::Error as Base;
use bitgraph_kernels::constant;

/// A form of additive attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Form {
    /// Rows of 16-byte vectors, so many lanes for a row.
    Rows(u32),
    /// The same of one head, where no row is long: lanes go on from row to row.
    Brief(u32),
    /// Element by element: any type and width.
    Plain,
}

/// Pairs of a row and a head that a step of tensor cores has columns for.
pub(super) const SLOTS: usize = 8;
/// Bytes of features that all entries read, for each of which the pieces of rows are a step longer.
const PIECE_BYTES: u64 = constant("tuning/attention.cuh", "PIECE_BYTES");
const BACKWARD_STEPS: u32 = constant("tuning/attention.cuh", "BACKWARD_STEPS") as u32;
pub(in crate::tensor::forms) const SHORTEST_PIECE: u64 = constant("tuning/attention.cuh", "SHORTEST_PIECE");
const PIECES_ENOUGH: u64 = constant("tuning/attention.cuh", "PIECES_ENOUGH");
const LONGEST_PIECE: u64 = constant("tuning/attention.cuh", "LONGEST_PIECE");
pub(in crate::tensor::forms) const BRIEF_TURNS_HALVES: u64 = constant("tuning/attention.cuh", "BRIEF_TURNS_HALVES");

impl Form {
    /// The form for values of so many columns in heads of `head_columns`.
    pub(in crate::tensor) fn of<T: Feature>(columns: usize, head_columns: usize) -> Self {
        let vector = 16 / size_of::<T>();
        if !head_columns.is_multiple_of(vector) {
            return Self::Plain;
        }
        Self::Rows((columns / vector).clamp(8, 32).next_power_of_two() as u32)
    }
    /// The form where no row is long, if there is one for values of so many columns.
    pub(super) fn brief<T: Feature>(self, columns: usize, heads: usize) -> Option<Self> {
        match self {
            Self::Rows(lanes) if heads == 1 && columns <= lanes as usize * (16 / size_of::<T>()) => Some(Self::Brief(lanes)),
            _ => None,
        }
    }
    /// Lanes of a row.
    pub(super) fn lanes(self) -> u32 {
        match self {
            Self::Rows(lanes) | Self::Brief(lanes) => lanes,
            Self::Plain => 32,
        }
    }
    /// Entries of a piece of a row that lanes take: a long row's pieces are to end before the others, and are few.
    pub(super) fn piece<T: Feature>(self, entries: usize, columns: usize) -> u32 {
        let bytes = (entries as u64).saturating_mul((columns * size_of::<T>()) as u64);
        let steps = if self == Self::Rows(8) { 1 } else { bytes.div_ceil(PIECE_BYTES).clamp(1, LONGEST_PIECE / SHORTEST_PIECE) };
        let piece = (SHORTEST_PIECE * steps.next_power_of_two()) as u32;
        shortened(piece, entries, PIECES_ENOUGH * 16 / u64::from(self.lanes().max(16)))
    }
    /// The module and the kernel; of one head, the lanes of a row share the work of its scores.
    pub(super) fn kernel<T: Feature>(self, heads: usize) -> (&'static str, String) {
        let rows = "tensor/attention_gat_rows";
        match self {
            Self::Rows(lanes) if heads == 1 => (rows, format!("attention_gat_shared_{}_{lanes}", T::NAME)),
            Self::Rows(lanes) => (rows, format!("attention_gat_rows_{}_{lanes}", T::NAME)),
            Self::Brief(lanes) => ("tensor/attention_gat_brief", format!("attention_gat_brief_{}_{lanes}", T::NAME)),
            Self::Plain => (rows, format!("attention_gat_plain_{}", T::NAME)),
        }
    }
    /// Blocks of a launch for each that a device holds at once, where lanes go on from row to row.
    pub(super) fn turns<T: Feature>(self) -> Option<u64> {
        matches!(self, Self::Brief(_)).then_some(if is_half::<T>() { BRIEF_TURNS_HALVES } else { 1 })
    }
}

/// A form of the backward pass of additive attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) enum Backward {
    /// Tensor cores, so many columns at most.
    Tiles(u32),
    /// Rows of 16-byte vectors, so many columns at most.
    Rows(u32),
    /// The same of one head, where no row is long: lanes go on from row to row.
    Brief(u32),
    /// Element by element: any type, up to [`MOST_COLUMNS`] columns.
    Plain,
}

const WARP: u32 = 32;
/// Entries of a side that attention by two rows has in flight.
const PAIRS_AHEAD: u32 = constant("tuning/attention.cuh", "PAIRS_AHEAD") as u32;
/// Blocks of a multiprocessor that attention by two rows has at once, and how many times they fill the device where groups of lanes take one row, two, or
/// four.
const PAIR_BLOCKS: u32 = constant("tuning/attention.cuh", "PAIR_BLOCKS") as u32;
const FEW_WAVES: u32 = constant("tuning/attention.cuh", "FEW_WAVES") as u32;
const MANY_WAVES: u32 = constant("tuning/attention.cuh", "MANY_WAVES") as u32;
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
    /// The form where no row of the transposed matrix is long, if there is one.
    pub(super) fn brief(self, heads: usize) -> Option<Self> {
        match self {
            Self::Rows(width) if heads == 1 && width <= 128 => Some(Self::Brief(width)),
            _ => None,
        }
    }
    /// Lanes of a task.
    pub(super) fn lanes(self) -> u32 {
        if let Self::Brief(width) = self { width / 4 } else { 32 }
    }
    /// As of [`Form::turns`].
    pub(super) fn turns(self) -> Option<u64> {
        matches!(self, Self::Brief(_)).then_some(1)
    }
    /// Rows of a window of the transposed matrix, at most.
    pub(super) fn window(self, heads: usize) -> u32 {
        match self {
            Self::Tiles(_) => (SLOTS / heads).max(1) as u32,
            Self::Rows(_) | Self::Plain => 2,
            Self::Brief(_) => 1,
        }
    }
    /// Bytes of shared memory of a warp in the pass over the transposed matrix: gradients and scalars of 16 entries for each step.
    pub(super) fn shared(self, heads: usize) -> u32 {
        match self {
            Self::Tiles(width) => BACKWARD_STEPS * 16 * (2 * width + 16 * heads as u32),
            Self::Rows(_) | Self::Brief(_) | Self::Plain => 0,
        }
    }
    /// The module and the kernel of the pass over the transposed matrix; of one head, the lanes of a warp share the work of its scores.
    pub(super) fn kernel<T: Feature>(self, heads: usize) -> (&'static str, String) {
        let rows = "tensor/attention_gat_backward_rows";
        let kind = if heads == 1 { "tiles" } else { "heads" };
        match self {
            Self::Tiles(width) => ("tensor/attention_gat_backward_tiles", format!("attention_gat_backward_{kind}_{}_{width}", T::NAME)),
            Self::Rows(width) => {
                let kind = if heads == 1 { "shared" } else { "rows" };
                (rows, format!("attention_gat_backward_{kind}_{}_{width}", T::NAME))
            }
            Self::Brief(width) => ("tensor/attention_gat_backward_brief", format!("attention_gat_backward_brief_{}_{width}", T::NAME)),
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
    /// Rows that a warp takes side by side: more than one where all rows are short, and a quarter of the warps that are `enough` is left. On an H200,
    /// f16, 64 / 128 columns, dot products: a grid of a million vertices .975 / 1.013 ms one by one and .372 / .639 side by side, `delaunay_n16`
    /// .072 and .039 of 64 columns. Where a few rows are longer, other rows wait for them: `p2p-Gnutella31` .060 and .074 (cosines).
    pub(super) fn side_by_side<T: Feature>(self, rows: usize, entries: usize, longest: u32, enough: u64) -> u32 {
        let Self::Rows(width) = self else { return 1 };
        let sides = (WARP / (width / (16 / size_of::<T>() as u32))).max(1);
        let ahead = PAIRS_AHEAD * sides;
        let short = longest <= 2 * ahead && entries as u64 <= rows as u64 * u64::from(ahead / 2);
        if short && 4 * rows as u64 >= enough * u64::from(sides) { sides } else { 1 }
    }
    /// Lanes of a row, where groups of them take rows in the order of their lengths: those that hold its columns, where each of several heads'
    /// fill a power of two. None where that leaves too few warps: Cora takes .0123 ms by warps and .0167 by lanes (f16, 64 columns), a Kronecker graph
    /// of 8 thousand rows .028 and .023, PubMed .036 and .019 (128 columns).
    pub(super) fn groups<T: Feature>(self, rows: usize, entries: usize, (columns, heads): (usize, usize), enough: u64) -> Option<u32> {
        let Self::Rows(width) = self else { return None };
        let vector = 16 / size_of::<T>();
        let lanes = width / vector as u32;
        if lanes > WARP || (heads > 1 && !(columns / heads / vector).is_power_of_two()) {
            return None;
        }
        let tasks = rows as u64 + entries as u64 / u64::from(WARP);
        (tasks * u64::from(lanes) / u64::from(WARP) >= enough / 8).then_some(lanes)
    }
    /// Entries of a piece of a row that so many lanes take: of a small graph few, since a piece takes as long as its entries.
    pub(super) fn piece(lanes: u32) -> u32 {
        (WARP * lanes).min(LONGEST_PIECE as u32)
    }
    /// The module and the kernel for a kind of score.
    pub(super) fn kernel<T: Feature>(self, score: &str, order: Order, heads: usize) -> (&'static str, String) {
        let windows = "tensor/attention_pair";
        match (self, order) {
            (Self::Rows(width), Order::ByLength(_)) if heads == 1 => {
                ("tensor/attention_pair_rows", format!("attention_{score}_rows_{}_{width}", T::NAME))
            }
            (Self::Rows(width), Order::ByLength(_)) => {
                ("tensor/attention_pair_heads", format!("attention_{score}_heads_{}_{width}", T::NAME))
            }
            (Self::Rows(width), Order::SideBySide) => (windows, format!("attention_{score}_short_{}_{width}", T::NAME)),
            (Self::Rows(width), Order::Windows) => (windows, format!("attention_{score}_{}_{width}", T::NAME)),
            (Self::Plain, _) => (windows, format!("attention_{score}_plain_{}", T::NAME)),
        }
    }
}

/// In which order attention by two rows takes the rows of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// A window of rows for each warp, one after the other.
    Windows,
    /// The same, rows of a window side by side.
    SideBySide,
    /// By length, a group of lanes for each.
    ByLength(Turns),
}

/// How tasks in the order of their lengths are dealt out among blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Lanes of a task.
    pub lanes: u32,
    /// Blocks at first whose groups of lanes have one task each.
    pub single: u32,
    /// Tasks of a group of the others.
    pub turns: u32,
}

impl Turns {
    /// For tasks, the first of them pieces of rows, over blocks of so many threads. Where lengths are `skewed`, a group that goes on from one of the
    /// longest to the next would end last: the first quarter has one task each.
    pub(super) fn of(tasks: u32, pieces: u32, (lanes, skewed): (u32, bool), (threads, sms): (u32, u32)) -> Self {
        let groups = threads / lanes;
        let blocks = tasks.div_ceil(groups);
        let single = if skewed { (blocks / 4).max(pieces.div_ceil(groups)) } else { pieces.div_ceil(groups) };
        // How many times the blocks fill the device.
        let waves = blocks / (PAIR_BLOCKS * sms);
        let turns = if waves < FEW_WAVES {
            1
        } else if waves < MANY_WAVES {
            2
        } else {
            4
        };
        Self { lanes, single, turns }
    }
    /// Blocks of so many threads for all tasks.
    pub(super) fn blocks(self, tasks: u32, threads: u32) -> u32 {
        let blocks = tasks.div_ceil(threads / self.lanes);
        let single = blocks.min(self.single);
        single + (blocks - single).div_ceil(self.turns)
    }
}
