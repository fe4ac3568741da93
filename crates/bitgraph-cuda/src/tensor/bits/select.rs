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
    /// Rows in their order, each for as many lanes: 1, 2 or 8 (2 where a line has more than 256 columns) beside those that a line fills. Of
    /// matrices whose rows have at most 30, 32 or 128 entries; else [`AggregateForm::Classes`].
    Rows {
        /// Lanes that share a row's entries.
        lanes: u32,
    },
    /// Rows by descending length in classes of 1, 2, 8 and 32 lanes; those of more than 1024 entries in pieces.
    Classes,
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

/// Rows from which on a strip's copy pays, and words of a line up to which it pays, where rows are alike: on an H200, 100 thousand rows of 32
/// random entries take .022 ms of .027 for 2 words, and .059 of .052 for 8. Where rows differ it never did: .028 of .027 ms for 2 words of
/// `kron:17`, .077 of .051 for 8.
const STRIP_ROWS: usize = 20_000;
const STRIP_WORDS: usize = 4;
/// Words of a line from which on rows that eight lanes share do better in classes: on the same matrix .052 ms of .071 for 8 words, .101 of .103
/// for 32, but .029 of .027 for 2.
const CLASS_WORDS: usize = 8;

/// Rows from which on a window pays, and entries of a diagonal.
const WINDOW_ROWS: usize = 20_000;
const DIAGONAL_FILL: f64 = 8.0;

/// Whether rows are short enough for a window.
pub(super) fn may_slide(stats: &Stats) -> bool {
    stats.rows >= WINDOW_ROWS && stats.longest <= LANE_ROW
}
/// Whether a window of so many diagonals pays.
pub(super) fn slides(stats: &Stats, diagonals: usize) -> bool {
    stats.entries as f64 >= DIAGONAL_FILL * diagonals as f64
}

impl AggregatePlan {
    pub(super) fn choose(properties: &Properties, stats: &Stats, words: usize) -> Self {
        let plan = Self::gathering(stats, words);
        let even = Self::gathering(stats, 1).form != AggregateForm::Classes;
        // A short row's neighbours are likely near, and its slice is mostly filler.
        let gathers_much = stats.entries / stats.rows.max(1) >= SHORT_ROW as usize && stats.longest > LANE_ROW;
        let pays = stats.rows >= STRIP_ROWS && gathers_much && even && words <= STRIP_WORDS;
        // Rows without entries need no room: whether the others do is found when the layout is built.
        if pays && super::strips::holds(properties, stats.rows / 2) { Self { form: AggregateForm::Strips } } else { plan }
    }
    /// The form in which lanes gather lines themselves.
    pub(super) fn gathering(stats: &Stats, words: usize) -> Self {
        let lanes = if stats.longest <= LANE_ROW {
            1
        } else if stats.longest <= PAIR_ROW {
            2
        } else {
            8
        };
        let even = stats.longest <= SHARED_ROW && skew::ratio(stats.longest, stats.rows, stats.entries) < skew::SKEWED;
        let shared = lanes == 8 && words >= CLASS_WORDS;
        Self { form: if even && !shared { AggregateForm::Rows { lanes } } else { AggregateForm::Classes } }
    }
    /// The same, or what is possible in its place.
    pub(super) fn allowed(self, stats: &Stats) -> Self {
        let form = match self.form {
            AggregateForm::Rows { lanes: 0 | 1 } if stats.longest <= LANE_ROW => AggregateForm::Rows { lanes: 1 },
            AggregateForm::Rows { lanes: 0..=2 } if stats.longest <= PAIR_ROW => AggregateForm::Rows { lanes: 2 },
            AggregateForm::Rows { .. } if stats.longest <= SHARED_ROW => AggregateForm::Rows { lanes: 8 },
            AggregateForm::Rows { .. } | AggregateForm::Classes => AggregateForm::Classes,
            form @ (AggregateForm::Strips | AggregateForm::Window) => form,
        };
        Self { form }
    }
}

impl fmt::Display for AggregatePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            AggregateForm::Rows { lanes } => write!(f, "rows, {lanes} lanes"),
            AggregateForm::Classes => write!(f, "classes"),
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
        let form = |s| AggregatePlan::gathering(&s, 2).form;
        assert_eq!(form(stats(1000, 4000, 4)), AggregateForm::Rows { lanes: 1 });
        assert_eq!(form(stats(1000, 30_000, 32)), AggregateForm::Rows { lanes: 2 });
        assert_eq!(form(stats(1000, 32_000, 62)), AggregateForm::Rows { lanes: 8 });
        assert_eq!(AggregatePlan::gathering(&stats(1000, 32_000, 62), CLASS_WORDS).form, AggregateForm::Classes);
        assert_eq!(form(stats(1000, 4_000, 100)), AggregateForm::Classes);
        assert_eq!(form(stats(1000, 130_000, 131)), AggregateForm::Classes);
        assert_eq!(form(stats(0, 0, 0)), AggregateForm::Rows { lanes: 1 });
        let allowed = |lanes, longest| AggregatePlan { form: AggregateForm::Rows { lanes } }.allowed(&stats(10, 10, longest)).form;
        assert_eq!(allowed(1, 31), AggregateForm::Rows { lanes: 2 });
        assert_eq!(allowed(2, 33), AggregateForm::Rows { lanes: 8 });
        assert_eq!(allowed(8, 129), AggregateForm::Classes);
    }
}
