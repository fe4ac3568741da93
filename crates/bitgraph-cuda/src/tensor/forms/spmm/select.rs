//! Which form of a product runs: by how even the rows are, how many there are, and how wide a row of features is.
//!
//! On a GPU the product is bound by the rows that it gathers from the second-level cache, 8 to 9 TB/s on an H200, so what counts is that every
//! multiprocessor has enough loads in flight until the end: rows of equal length side by side, no row longer than the rest of the run.

use super::Terms;
use crate::device::{Buffer, Device};
use crate::forced::{SpmmForm, SpmmPlan};
use crate::tensor::forms::{Feature, is_half};
use crate::{DeviceCsr, Result, primitives, skew};
use std::fmt;

/// What is known of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stats {
    pub rows: usize,
    pub columns: usize,
    pub entries: usize,
    /// Entries of the longest row.
    pub longest: u32,
}

impl Stats {
    /// Two launches; waits.
    pub(super) fn of(device: &Device, csr: &DeviceCsr) -> Result<Self> {
        let lengths: Buffer<u32> = primitives::degrees(device, csr)?;
        let longest = primitives::reduce(device, &lengths)?.max;
        Ok(Self { rows: csr.rows, columns: csr.columns, entries: csr.nnz, longest })
    }
    /// The distinct columns over the entries of stretches of rows, as they are numbered: a mesh .4, a grid .75, shuffled ones almost 1. Where it
    /// is below [`MOST_SHARE`], the first-level cache holds what rows of f32 share, and blocks of them gain nothing: on an H200, F = 128,
    /// `mesh:50x50x80` takes .151 ms in blocks and .147 in rows, `mesh:40x40x40` .056 and .050; `mesh:31x40x60` shuffled .058 and .099.
    pub(super) fn share_in_order(&self, csr: &DeviceCsr) -> Result<f64> {
        let (stretch, mut distinct, mut all) = (STRETCH_ROWS * self.entries.div_ceil(self.rows.max(1)), 0, 0);
        for k in 0..STRETCHES {
            let start = (self.entries / STRETCHES * k).min(self.entries.saturating_sub(stretch));
            let mut columns = csr.indices.range_to_vec(start..(start + stretch).min(self.entries))?;
            all += columns.len();
            columns.sort_unstable();
            columns.dedup();
            distinct += columns.len();
        }
        Ok(distinct as f64 / (all as f64).max(1.0))
    }
}

/// Lanes of a slice of columns: 128 bytes, a line of the cache. Narrow slices keep the features of a pass in the near half of the second-level
/// cache: on an H200, 128 columns of f32, `urand:100000:16` takes .1753 ms in slices and .1990 in whole rows.
const SLICE_LANES: u32 = 8;
/// The same where rows are few or short, so that reading their columns again for every slice costs more than it saves: `ct2010` at 128 columns
/// of f16 takes .0197 ms and in narrow slices .0283.
const WIDE_LANES: u32 = 16;
/// Entries of a row in the mean from which even rows are long enough for narrow slices, and entries from which uneven ones are.
const SLICED_MEAN: f64 = 12.0;
const SLICED_ENTRIES: usize = 2_000_000;
/// Entries of a piece at most, by the entries of the matrix: the run is as long as its longest piece where it is short, and cutting a row costs
/// two passes over its partial sums where it is long. On an H200, F = 64, f16, best beside others: `ca_Astroph`, 400 thousand entries, 64 (12.3
/// us; 128: 15.1), kron:17 160 (48; 64: 57, 256: 55), kron:18 256, kron:20 512 (416; 128: 508).
const PIECES: [(usize, u32); 5] = [(1_000_000, 64), (2_000_000, 96), (3_000_000, 128), (5_000_000, 160), (12_000_000, 256)];
const LONG_PIECE: u32 = 512;
/// Pieces that a row of a matrix of few products may be as long as before rows are cut.
const UNCUT_PIECES: u32 = 2;
/// Gathers of 16 bytes from which so many pieces are at work that none needs more loads in flight: kron:16, F = 64, f16, 26.4 us if deep, 28; and
/// F = 128 52, 47.
const MANY_GATHERS: u64 = 16_000_000;
/// Rows of less than a slice have few bytes in flight: they are always deep, and pieces have this part of the entries. kron:17, F = 32, f16:
/// .0369 ms by pieces of 128, .0487 by 256, .0794 if not deep.
const NARROW_PART: u32 = 2;
/// Entries of a piece where rows are even, which cuts the few that are longer than the others.
const EVEN_PIECE: u32 = 128;
/// Lanes of rows for each multiprocessor up to which deep rows pay though the rows are even: what it holds at once, so that the run is as long
/// as one row. `urand:30000:8`, F = 64, f16: .0128 of .0144 ms; and `delaunay_n16`, which has twice as many, .0132 of .0122.
const HELD_LANES: u64 = 2048;
/// The same in matrices of few products, whose rows may be uneven: the run is as long as its longest piece.
const UNEVEN_LANES: u64 = 7680;
/// Entries of a row in the mean from which uneven rows have work for that many loads. `NotreDame_www` has 4.7: 41.5 us, deep 51; `cit-HepPh` 24: 17.2,
/// deep 16.1.
const DEEP_MEAN: f64 = 8.0;
/// Entries of a row in the mean from which even rows are cut where there are few, and of a piece of them at least. 4096 rows of 512 entries,
/// F = 16, f32: 28 us by pieces of 32, 36 in whole rows; `urand:1000:300`, F = 128: 17 by pieces of 128, 25 by 64.
const CUT_MEAN: f64 = 64.0;
const SHORTEST_PIECE: u32 = 32;
/// Rows are alike if the longest has at most this much more than the mean, and two.
const ALIKE: f64 = 1.25;
/// Columns that a block of rows owns, over its entries: above, a gather of each entry costs no more. A grid has .42, a mesh .2.
pub(super) const MOST_SHARE: f64 = 0.6;
/// Slices of blocks are so full, three quarters, that they pay.
pub(in crate::tensor::forms) const FULL_SLICES: (usize, usize) = (3, 4);
/// Slices of rows of f32 from which blocks were measured, on an H200, ms in blocks and in rows: a grid of a million vertices F = 64 .158 and .193,
/// F = 128 .309 and .384; `mesh:50x50x80` .077 and .081, .142 and .147; `mesh:31x40x60` shuffled .036 and .057, .066 and .112.
const FEWEST_SLICES: usize = 2;
/// Stretches of rows whose columns are looked at, and rows of one: those that a multiprocessor has at work side by side.
const STRETCHES: usize = 8;
const STRETCH_ROWS: usize = 32;
/// Rows from which it pays to look for shared columns.
const SHARING_ROWS: usize = 20_000;
/// Entries of a row in the mean up to which blocks are small enough to be copied ahead.
pub(in crate::tensor::forms) const SHORT_ROWS: f64 = 8.0;
/// Entries of a row in the mean from which copies of halves pay: a copy moves 6 bytes of an element through device memory, and saves 2 of each
/// that is gathered from the second-level cache, which is twice as fast. On an H100, F=128 / 64, ms by copies and by the features:
/// `urand:100000:16` .156 and .218 / .084 and .110, kron:17 .166 and .211 / .090 and .107, kron:21 3.04 and 4.53, `urand:300000:8` .402 and .504
/// / .208 and .256; `mesh:50x50x80`, whose rows share lines of the first-level cache, .151 and .154 / .085 and .083, and shuffled
/// `mesh:31x40x60`, where the features have blocks, .065 and .060 / .040 and .034.
const ROUNDED_MEAN: f64 = 12.0;
/// Elements that are gathered, from which half of their bytes takes longer to read than the launch of the copies: 3 us.
const ROUNDED_READS: usize = 25_000_000;
/// Lanes of records for each multiprocessor: what it holds at once, and a third more.
const RECORD_LANES: u64 = 1024;

/// Whether no row has many more entries than the mean.
pub(in crate::tensor::forms) fn is_alike(longest: u32, mean: f64) -> bool {
    f64::from(longest) <= ALIKE * mean + 2.0
}

impl SpmmPlan {
    /// Measured on 26 graphs, F = 64 and 128, f16 and f32, against all other plans: 4 % slower than the best of them in the mean.
    pub(super) fn choose<T: Feature>(sms: u32, stats: &Stats, width: usize, valued: bool) -> Self {
        let whole = lanes_of::<T>(width, 32);
        let narrow = whole < SLICE_LANES;
        let mean = stats.entries as f64 / stats.rows.max(1) as f64;
        let records = stats.rows as u64 + (stats.entries / super::records::RECORD_ENTRIES) as u64;
        let held = u64::from(sms) * RECORD_LANES;
        if !valued && width <= 32 * per_lane::<T>() && records.saturating_mul(u64::from(whole)) <= held {
            return Self { form: SpmmForm::Records, lanes: whole, deep: false };
        }
        let lanes_in_all = (stats.rows as u64).saturating_mul(u64::from(whole));
        let within = |lanes: u64| lanes_in_all <= u64::from(sms) * lanes;
        let alike = is_alike(stats.longest, mean);
        if alike && within(HELD_LANES / 2) && mean >= CUT_MEAN {
            // Half as many pieces as the device holds at once; wide ones are longer, because their sums cost more to add.
            let filling = 2 * stats.entries as u64 * u64::from(whole) / (u64::from(sms) * HELD_LANES).max(1);
            let piece = (filling.min(1 << 20) as u32).next_power_of_two().max((8 * whole).clamp(SHORTEST_PIECE, EVEN_PIECE));
            let form = if f64::from(piece) > mean { SpmmForm::Rows } else { SpmmForm::Tasks { piece } };
            return Self { form, lanes: whole, deep: true };
        }
        if alike {
            let shares = stats.rows == stats.columns && stats.longest <= super::staged::LONGEST && stats.rows >= SHARING_ROWS;
            let bytes = width * size_of::<T>();
            let full = bytes.next_multiple_of(super::staged::SLICE_BYTES) * FULL_SLICES.0 <= bytes * FULL_SLICES.1;
            let enough = is_half::<T>() || bytes >= FEWEST_SLICES * super::staged::SLICE_BYTES;
            let blocks = shares && full && enough && !valued && width.is_multiple_of(per_lane::<T>());
            let buffers = if mean <= SHORT_ROWS { 2 } else { 1 };
            let form = if blocks { SpmmForm::Staged { buffers } } else { SpmmForm::Rows };
            // Lanes that would idle in every row take slices instead.
            let full = width == whole as usize * per_lane::<T>();
            return Self { form, lanes: if full { whole } else { lanes_of::<T>(width, SLICE_LANES) }, deep: narrow && !blocks };
        }
        let uneven = skew::ratio(stats.longest, stats.rows, stats.entries) >= skew::SKEWED;
        let wide = within(HELD_LANES) || if uneven { stats.entries < SLICED_ENTRIES } else { mean < SLICED_MEAN };
        let few = (stats.entries as u64).saturating_mul(u64::from(whole)) < MANY_GATHERS;
        let deep = narrow || within(HELD_LANES) || (uneven && mean >= DEEP_MEAN && few);
        Self {
            form: SpmmForm::Tasks { piece: if uneven { pieces(stats.entries, narrow) } else { EVEN_PIECE } },
            lanes: lanes_of::<T>(width, if wide { WIDE_LANES } else { SLICE_LANES }),
            deep,
        }
    }
    /// The plan for a matrix of few products, by what is known without asking the device: rows in their order, or pieces of them, cut in one pass,
    /// where one may be as long as several pieces or nothing is known. `longest`: the entries of a row at most.
    pub(super) fn short_lived<T: Feature>(sms: u32, (rows, entries): (usize, usize), width: usize, longest: Option<u32>) -> Self {
        let whole = lanes_of::<T>(width, 32);
        let narrow = whole < SLICE_LANES;
        let piece = pieces(entries, narrow);
        let cut = entries > piece as usize && longest.is_none_or(|longest| longest > UNCUT_PIECES * piece);
        let few = (rows as u64).saturating_mul(u64::from(whole)) <= u64::from(sms) * UNEVEN_LANES;
        Self {
            form: if cut { SpmmForm::Tasks { piece } } else { SpmmForm::Rows },
            lanes: lanes_of::<T>(width, WIDE_LANES),
            deep: narrow || few,
        }
    }
    /// The same without what the width, values or the shape do not allow.
    pub(super) fn allowed<T: Feature>(self, width: usize, valued: bool, square: bool) -> Self {
        let mut plan = self;
        if !width.is_multiple_of(per_lane::<T>()) {
            plan = plan.plain();
        }
        if plan.lanes != 1 {
            plan.lanes = plan.lanes.clamp(2, 32).next_power_of_two();
        }
        let whole = plan.lanes > 1 && width <= plan.lanes as usize * per_lane::<T>();
        plan.form = match plan.form {
            SpmmForm::Records if valued || !whole => SpmmForm::Rows,
            SpmmForm::Staged { .. } if !square || valued || plan.lanes == 1 => SpmmForm::Rows,
            SpmmForm::Staged { buffers } => SpmmForm::Staged { buffers: buffers.clamp(1, 2) },
            SpmmForm::Tasks { piece } => SpmmForm::Tasks { piece: piece.clamp(8, 1 << 20).next_multiple_of(8) },
            form => form,
        };
        plan.deep &= plan.lanes > 1 && plan.form != SpmmForm::Records;
        plan
    }
    /// Element by element, for rows that do not start at multiples of 16 bytes.
    pub(super) fn plain(self) -> Self {
        Self { lanes: 1, deep: false, ..self }
    }
    /// The module and the kernel of tasks; `cut`: some may be pieces of rows.
    pub(super) fn kernel<T: Feature>(self, terms: Terms, cut: bool) -> (String, String) {
        let name = match (self.lanes, terms, self.deep) {
            (lanes, Terms::Rounded, deep) => {
                return ("tensor/spmm_rounded".into(), format!("spmm_rounded_{}{lanes}", if deep { "deep_" } else { "" }));
            }
            (1, _, _) => format!("spmm_plain_{}", T::NAME),
            (lanes, Terms::Weighted, _) => format!("spmm_weighted_{}_{lanes}", T::NAME),
            (lanes, Terms::Plain, true) => format!("spmm_deep_{}_{lanes}", T::NAME),
            (lanes, Terms::Plain, false) if cut => format!("spmm_tasks_{}_{lanes}", T::NAME),
            (lanes, Terms::Plain, false) => format!("spmm_rows_{}_{lanes}", T::NAME),
        };
        (format!("tensor/spmm_tasks_{}", T::NAME), name)
    }
    /// The plan for features of `f32` through copies of halves; None where that takes longer than the features themselves.
    pub(super) fn rounded(sms: u32, stats: &Stats, width: usize) -> Option<Self> {
        let mean = stats.entries as f64 / stats.rows.max(1) as f64;
        if mean < ROUNDED_MEAN || stats.entries.saturating_mul(width) < ROUNDED_READS {
            return None;
        }
        let plan = Self::choose::<half::f16>(sms, stats, width, false);
        let pays = match plan.form {
            SpmmForm::Records => false,
            SpmmForm::Staged { .. } => width * size_of::<half::f16>() >= FEWEST_SLICES * super::staged::SLICE_BYTES,
            SpmmForm::Rows | SpmmForm::Tasks { .. } => true,
        };
        pays.then_some(plan)
    }
    /// Columns that a slice of the lanes holds.
    pub(super) fn slice<T: Feature>(self) -> usize {
        match self.lanes {
            1 => 32,
            lanes => lanes as usize * per_lane::<T>(),
        }
    }
}

/// Entries of a piece of uneven rows.
fn pieces(entries: usize, narrow: bool) -> u32 {
    let by_entries = PIECES.iter().find(|&&(most, _)| entries < most).map_or(LONG_PIECE, |&(_, piece)| piece);
    by_entries / if narrow { NARROW_PART } else { 1 }
}

/// Elements of 16 bytes.
pub(super) fn per_lane<T: Feature>() -> usize {
    16 / size_of::<T>()
}

/// Lanes of slices of wide rows.
const SLICES: [u32; 3] = [8, 16, 32];

/// As many lanes as a row of features has 16 bytes, rounded up to a power of two; of wider rows `most`, unless other slices leave fewer of
/// them idle.
fn lanes_of<T: Feature>(width: usize, most: u32) -> u32 {
    let vectors = width.div_ceil(per_lane::<T>()) as u64;
    if vectors <= u64::from(most) {
        return (vectors as u32).next_power_of_two().max(2);
    }
    let in_all = |lanes: u32| vectors.next_multiple_of(u64::from(lanes));
    // Exactly full slices of the asked width are best; among others with as few lanes, the widest reads columns the fewest times.
    if in_all(most) == vectors {
        return most;
    }
    let fewest = SLICES.map(in_all).into_iter().min();
    SLICES.into_iter().filter(|&l| Some(in_all(l)) == fewest).max().unwrap_or(most)
}

impl fmt::Display for SpmmPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            SpmmForm::Rows => write!(f, "rows")?,
            SpmmForm::Records => write!(f, "records")?,
            SpmmForm::Staged { buffers } => write!(f, "blocks, buffers: {buffers}")?,
            SpmmForm::Tasks { piece } => write!(f, "tasks of {piece}")?,
        }
        write!(f, ", {} lanes{}", self.lanes, if self.deep { ", deep" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn lanes_hold_a_row_or_full_slices() {
        assert_eq!([1, 8, 16, 24, 64, 72, 128, 256].map(|w| lanes_of::<f16>(w, 32)), [2, 2, 2, 4, 8, 16, 16, 32]);
        assert_eq!([64, 72, 128, 192, 200].map(|w| lanes_of::<f16>(w, 8)), [8, 16, 8, 8, 32]);
        assert_eq!([32, 128, 602].map(|w| lanes_of::<f32>(w, 8)), [8, 8, 8]);
        assert_eq!([64, 96, 100, 128].map(|w| lanes_of::<f32>(w, 16)), [16, 8, 32, 16]);
    }

    /// Of graphs where copies were faster, and of those where they were not.
    #[test]
    fn copies_are_made_where_they_pay() {
        let form = |rows, entries, longest, width| {
            SpmmPlan::rounded(132, &Stats { rows, columns: rows, entries, longest }, width).map(|plan| plan.form)
        };
        assert_eq!(form(100_000, 3_199_470, 60, 128), Some(SpmmForm::Tasks { piece: 128 }));
        assert_eq!(form(131_072, 3_727_410, 30_000, 64), Some(SpmmForm::Tasks { piece: 160 }));
        assert_eq!(form(200_000, 4_648_000, 26, 128), Some(SpmmForm::Staged { buffers: 1 }));
        assert_eq!(form(200_000, 4_648_000, 26, 64), None);
        assert_eq!(form(1_000_000, 3_996_000, 4, 128), None);
        assert_eq!(form(2_708, 10_556, 168, 128), None);
    }

    #[test]
    fn a_plan_is_cut_to_what_is_possible() {
        let plan = SpmmPlan { form: SpmmForm::Records, lanes: 16, deep: true };
        assert_eq!(plan.allowed::<f16>(128, false, true), SpmmPlan { deep: false, ..plan });
        assert_eq!(plan.allowed::<f16>(128, true, true).form, SpmmForm::Rows);
        assert_eq!(plan.allowed::<f16>(136, false, true).form, SpmmForm::Rows);
        assert_eq!(plan.allowed::<f16>(7, false, true).lanes, 1);
        let tasks = SpmmPlan { form: SpmmForm::Tasks { piece: 3 }, lanes: 99, deep: true };
        let found = tasks.allowed::<f32>(128, false, false);
        assert_eq!(found, SpmmPlan { form: SpmmForm::Tasks { piece: 8 }, lanes: 32, deep: true });
    }

    /// As an H200 has it, and graphs by what is known of them: each of these plans was the best or within a tenth of it.
    #[test]
    fn plans_follow_what_was_measured() {
        let sms = 132;
        let chosen = |rows, entries, longest, width, half: bool| {
            let stats = Stats { rows, columns: rows, entries, longest };
            if half { SpmmPlan::choose::<f16>(sms, &stats, width, false) } else { SpmmPlan::choose::<f32>(sms, &stats, width, false) }
        };
        let tasks = |piece, lanes, deep| SpmmPlan { form: SpmmForm::Tasks { piece }, lanes, deep };
        let plain = |form, lanes| SpmmPlan { form, lanes, deep: false };
        // ca_AstroPh, soc-Slashdot0902, ego-Twitter, kron:17, kron:21, NotreDame_www, p2p-Gnutella31.
        assert_eq!(chosen(18_772, 396_100, 504, 64, true), tasks(64, 8, true));
        assert_eq!(chosen(18_772, 396_100, 504, 128, false), tasks(64, 16, true));
        assert_eq!(chosen(82_168, 870_161, 2_548, 128, false), tasks(64, 16, false));
        assert_eq!(chosen(81_306, 2_684_592, 3_383, 128, true), tasks(128, 8, false));
        assert_eq!(chosen(131_072, 3_727_410, 30_000, 64, true), tasks(160, 8, false));
        assert_eq!(chosen(2_097_152, 63_463_300, 210_000, 128, true), tasks(512, 8, false));
        assert_eq!(chosen(325_729, 929_849, 10_721, 128, true), tasks(64, 16, false));
        assert_eq!(chosen(62_586, 147_892, 95, 128, true), tasks(64, 16, false));
        assert_eq!(chosen(131_072, 3_727_410, 30_000, 32, true), tasks(80, 4, true));
        // urand:100000:16, urand:30000:8, delaunay_n16.
        assert_eq!(chosen(100_000, 3_199_470, 60, 128, true), tasks(128, 8, false));
        assert_eq!(chosen(30_000, 479_864, 35, 64, true), tasks(128, 8, true));
        assert_eq!(chosen(65_536, 393_150, 17, 128, true), tasks(128, 16, false));
        // Few long rows: blocks of 16 x 16, half of 4096 x 4096.
        assert_eq!(chosen(4096, 2_097_152, 512, 16, false), tasks(64, 4, true));
        assert_eq!(chosen(1000, 450_000, 520, 128, false), tasks(128, 32, true));
        assert_eq!(chosen(3000, 2_800_000, 1030, 128, false), SpmmPlan { deep: true, ..plain(SpmmForm::Rows, 32) });
        // A mesh and a grid.
        assert_eq!(chosen(200_000, 4_648_000, 26, 64, true), plain(SpmmForm::Staged { buffers: 1 }, 8));
        assert_eq!(chosen(1_000_000, 3_996_000, 4, 128, true), plain(SpmmForm::Staged { buffers: 2 }, 16));
        assert_eq!(chosen(1_000_000, 3_996_000, 4, 128, false), plain(SpmmForm::Staged { buffers: 2 }, 32));
        assert_eq!(chosen(200_000, 4_648_000, 26, 96, false), plain(SpmmForm::Staged { buffers: 1 }, 8));
        assert_eq!(chosen(200_000, 4_648_000, 26, 32, false), plain(SpmmForm::Rows, 8));
        assert_eq!(chosen(200_000, 4_648_000, 26, 32, true), SpmmPlan { deep: true, ..plain(SpmmForm::Rows, 4) });
        assert_eq!(chosen(2_708, 10_556, 168, 64, true), plain(SpmmForm::Records, 8));
    }

    /// Bounds decide, and no row is asked for.
    #[test]
    fn rows_of_matrices_of_few_products_are_cut_where_they_may_be_long() {
        let plan = |entries, longest| SpmmPlan::short_lived::<f32>(132, (7000, entries), 64, longest);
        assert_eq!(plan(40_000, Some(26)), SpmmPlan { form: SpmmForm::Rows, lanes: 16, deep: true });
        assert_eq!(plan(1_600_000, Some(192)).form, SpmmForm::Rows);
        assert_eq!(plan(1_600_000, Some(745)).form, SpmmForm::Tasks { piece: 96 });
        assert_eq!(plan(40_000, None).form, SpmmForm::Tasks { piece: 64 });
        // No row is longer than all of them.
        assert_eq!((plan(64, None).form, plan(0, None).form), (SpmmForm::Rows, SpmmForm::Rows));
    }
}
