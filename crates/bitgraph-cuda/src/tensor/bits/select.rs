//! Which form of a sum of signs runs: by how long the rows are and how they differ.
//!
//! A line of signs is short, 8 bytes for 64 columns, so that a row of lanes, as products with floats have it, would leave most of a warp idle:
//! several lanes share a row's entries instead, and their counters meet at the end, at a cost that a short row does not pay back.

use crate::DeviceCsr;
use crate::device::{Device, Properties};
use crate::{Result, primitives, skew};
use bitgraph_kernels::constant;
use std::fmt;

/// How rows become work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateForm {
    /// Rows in their order, by a kernel that has signs of short rows alone, so that more of its blocks are resident; numbers, and signs of lines
    /// for which there is none, as the matrix has it. Of matrices whose rows have at most 128 entries; else [`AggregateForm::Classes`].
    Rows {
        /// Lanes, or groups of lanes that hold a line, that share a row's entries: 1, 2, 4 or 8, if there is such a kernel for the line.
        lanes: u32,
    },
    /// Rows by descending length in classes of 1, 2, 8 and 32 lanes; those of more than 1024 entries in pieces.
    Classes {
        /// Whether signs of lines of 4 words and multiples come by kernels of fewer registers, of which more blocks are resident.
        many: bool,
    },
    /// Signs from strips of 16 columns, each in a multiprocessor's shared memory, of all lines that a row names: some 113 thousand on an H200, else
    /// as [`AggregateForm::Rows`] or [`AggregateForm::Classes`]. Numbers by those.
    Strips,
    /// Signs from a window of lines that slides through a multiprocessor's shared memory, over diagonals of 32 rows each. Of matrices whose rows
    /// have at most 31 entries, near each other as meshes have them, and lines of 2 words or a multiple of 4; else as
    /// [`AggregateForm::Rows`] or [`AggregateForm::Classes`]. Numbers by those.
    Window,
}

/// The form of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregatePlan {
    /// The form.
    pub form: AggregateForm,
}

/// What is known of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stats {
    pub rows: usize,
    pub entries: usize,
    /// Entries of the longest row.
    pub longest: u32,
}

impl Stats {
    /// Two launches; waits.
    pub(super) fn of(device: &Device, csr: &DeviceCsr) -> Result<Self> {
        let longest = primitives::reduce(device, &primitives::degrees(device, csr)?)?.max;
        Ok(Self { rows: csr.rows, entries: csr.nnz, longest })
    }
}

pub(super) const PIECE: u32 = constant("tuning/bits.cuh", "PIECE") as u32;
/// The most entries of a row that eight lanes, two and one can take.
pub(super) const SHARED_ROW: u32 = constant("tuning/bits.cuh", "SHARED_ROW") as u32;
pub(super) const PAIR_ROW: u32 = constant("tuning/bits.cuh", "PAIR_ROW") as u32;
pub(super) const LANE_ROW: u32 = constant("tuning/bits.cuh", "LANE_ROW") as u32;
/// The most that one lane takes where rows differ.
pub(super) const SHORT_ROW: u32 = constant("tuning/bits.cuh", "SHORT_ROW") as u32;

/// Entries from which on a strip's copy pays, and words of a line up to which it does. On an H200 and 2 words, single launches and ones in a
/// graph, in us: 100 thousand rows of 32 random entries take 21 and 16 for 32 and 27 in classes; `kron:17` (3.7 million) 26 and 20 for 30 and 25;
/// 3.2 million of preferential attachment 22 and 16 for 31 and 25; 3.0 million between ends of which one in a hundred has a tenth 23 and 17 for 30
/// and 25; urand:100000:8 (1.6 million) 15 and 13 for 17 and 15 in rows; kron:16 (1.8 million) as long as in classes; but 0.9 million between skewed
/// ends 20 and 14.5 for 19 and 14. Of 4 words, 100 thousand rows of 32 took 32 of 31 in rows.
const STRIP_ENTRIES: usize = 1_000_000;
const STRIP_WORDS: usize = 2;
/// Entries from which on signs of rows in classes do better by kernels of fewer registers, whose pieces spill some: on an H200, 97 us for 123 on
/// `kron:17` (3.7 million) with 32 words a line, but 55 for 51 on `kron:16` (1.8 million).
const MANY_ENTRIES: usize = 2_500_000;
/// Words of a line from which on rows that eight lanes share do better in classes where they become numbers.
const CLASS_WORDS: usize = 8;
/// Mean entries of a row up to which one lane, or as many as hold a line, takes it alone, up to which two do, and four. For 2 words a line, an
/// H200 takes for `delaunay_n16` (6 entries) 3.8, 4.2, 5.2 and more us with 1, 2, 4 and 8; for cage11 (14) 5.5, 4.8, 5.5, 8.5; for a shuffled mesh
/// (25) 16.3, 15.7, 14.7, 15.7; for `urand:100000:16` (32) 27.5, 27.0, 26.4, 24.5.
const ALONE: usize = 10;
const PAIRED: usize = 20;
const FOURFOLD: usize = 28;
/// Rows from which on a window pays, and entries of a diagonal: those that were measured had more.
const SLIDING_ROWS: usize = 50_000;
const DIAGONAL_FILL: usize = 16;

/// Whether rows are short enough for a window, and many.
pub(super) fn may_slide(stats: &Stats) -> bool {
    stats.rows >= SLIDING_ROWS && stats.longest <= LANE_ROW
}
/// Whether a window of so many diagonals pays.
pub(super) fn slides(stats: &Stats, diagonals: usize) -> bool {
    stats.entries / DIAGONAL_FILL >= diagonals
}

impl AggregatePlan {
    pub(super) fn choose(properties: &Properties, stats: &Stats, words: usize) -> Self {
        let plan = Self::gathering(stats);
        // A short row's neighbours are likely near, and its slice is mostly filler.
        let gathers_much = stats.entries / stats.rows.max(1) >= SHORT_ROW as usize && stats.longest > LANE_ROW;
        let pays = stats.entries >= STRIP_ENTRIES && gathers_much && words <= STRIP_WORDS;
        // Rows without entries need no room: whether the others do is found when the layout is built.
        if pays && super::strips::holds(properties, stats.rows / 2) { Self { form: AggregateForm::Strips } } else { plan }
    }
    /// The form in which lanes gather lines themselves.
    pub(super) fn gathering(stats: &Stats) -> Self {
        let mean = stats.entries / stats.rows.max(1);
        let lanes = match mean {
            // Of a small mesh, whose neighbours are near, one lane takes a row: `mesh:40x50x100` 12.5, 12.7, 18.0 and 34.8 us with 1, 2, 4 and 8. A large
            // one has a window, or its neighbours are far apart.
            _ if stats.longest <= LANE_ROW && stats.rows < SLIDING_ROWS => 1,
            0..ALONE => 1,
            ALONE..PAIRED => 2,
            PAIRED..FOURFOLD => 4,
            _ => 8,
        };
        Self {
            form: if is_even(stats) {
                AggregateForm::Rows { lanes }
            } else {
                AggregateForm::Classes { many: stats.entries >= MANY_ENTRIES }
            },
        }
    }
    /// The same, or what is possible in its place.
    pub(super) fn allowed(self, stats: &Stats) -> Self {
        let form = match self.form {
            AggregateForm::Rows { .. } if stats.longest > SHARED_ROW => AggregateForm::Classes { many: false },
            form => form,
        };
        Self { form }
    }
}

/// Rows that all can be shared by as many lanes.
fn is_even(stats: &Stats) -> bool {
    stats.longest <= SHARED_ROW && skew::ratio(stats.longest, stats.rows, stats.entries) < skew::SKEWED
}

/// How numbers are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gather {
    /// Rows in their order, each for as many lanes: 1, 2 or 8 (2 where a line has more than 256 columns) beside those that a line fills.
    Rows { lanes: u32 },
    /// As [`AggregateForm::Classes`].
    Classes,
}
pub(super) fn gather(stats: &Stats, words: usize) -> Gather {
    let lanes = if stats.longest <= LANE_ROW {
        1
    } else if stats.longest <= PAIR_ROW {
        2
    } else {
        8
    };
    let shared = lanes == 8 && words >= CLASS_WORDS;
    if is_even(stats) && !shared { Gather::Rows { lanes } } else { Gather::Classes }
}

impl fmt::Display for AggregatePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            AggregateForm::Rows { lanes } => write!(f, "rows, {lanes} lanes"),
            AggregateForm::Classes { many: false } => write!(f, "classes"),
            AggregateForm::Classes { many: true } => write!(f, "classes, fewer registers"),
            AggregateForm::Strips => write!(f, "strips"),
            AggregateForm::Window => write!(f, "window"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_by_length_and_evenness() {
        let stats = |rows, entries, longest| Stats { rows, entries, longest };
        let numbers = |s| gather(&s, 2);
        assert_eq!(numbers(stats(1000, 4000, 4)), Gather::Rows { lanes: 1 });
        assert_eq!(numbers(stats(1000, 30_000, 32)), Gather::Rows { lanes: 2 });
        assert_eq!(numbers(stats(1000, 32_000, 62)), Gather::Rows { lanes: 8 });
        assert_eq!(gather(&stats(1000, 32_000, 62), CLASS_WORDS), Gather::Classes);
        assert_eq!(numbers(stats(1000, 4_000, 100)), Gather::Classes);
        assert_eq!(numbers(stats(1000, 130_000, 131)), Gather::Classes);
        let signs = |s| AggregatePlan::gathering(&s).form;
        assert_eq!(signs(stats(0, 0, 0)), AggregateForm::Rows { lanes: 1 });
        assert_eq!(signs(stats(1000, 25_000, 26)), AggregateForm::Rows { lanes: 1 });
        assert_eq!(signs(stats(74_400, 1_830_000, 26)), AggregateForm::Rows { lanes: 4 });
        assert_eq!(signs(stats(1000, 16_000, 31)), AggregateForm::Rows { lanes: 2 });
        assert_eq!(signs(stats(1000, 32_000, 62)), AggregateForm::Rows { lanes: 8 });
        assert_eq!(signs(stats(1000, 4_000, 100)), AggregateForm::Classes { many: false });
        assert_eq!(signs(stats(100_000, 4_000_000, 9000)), AggregateForm::Classes { many: true });
        let allowed = |longest| AggregatePlan { form: AggregateForm::Rows { lanes: 2 } }.allowed(&stats(10, 10, longest)).form;
        assert_eq!(allowed(128), AggregateForm::Rows { lanes: 2 });
        assert_eq!(allowed(129), AggregateForm::Classes { many: false });
    }
}
