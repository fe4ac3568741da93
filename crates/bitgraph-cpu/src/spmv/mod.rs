//! Sums over the rows of a pattern, `y[i] = sum of x[j] over the entries (i, j)`: the float mxv of iterative algorithms, on
//! layouts that are built once and run many times.
//!
//! | kind | what it is | where it wins |
//! |---|---|---|
//! | [`SpmvKind::Plain`] | the lists as they are | few passes: nothing is built |
//! | [`SpmvKind::Wide`] | slices of 16 rows of like length, 32-bit columns | many short rows, any numbering |
//! | [`SpmvKind::Blocks`] | the same with 16-bit columns in blocks of columns that the L2 cache holds | long rows |
//! | [`SpmvKind::Cells`] | strips of rows and windows of columns that the L1 cache holds | neighbours anywhere, hubs |
//! | [`SpmvKind::Bands`] | bands of 8 rows that share spans of 8 columns, permuted in registers | meshes, any local numbering |
//!
//! Invariant: a row's sum is formed in the type of `x`, in an order that depends on the layout only: neither on the number of
//! threads nor on what runs beside. The instruction sets may differ by rounding.
//!
//! Rows are cut into parts, each with its own arrays: parts are built and run in parallel, and a caller can work on a part's
//! sums while they are in the cache (as `PageRank` does).

mod auto;
mod band_kernel;
mod bands;
mod caches;
mod cell_kernel;
mod cells;
mod kernel;
mod plain;
mod real;
mod slices;
#[cfg(test)]
mod tests;

pub use auto::SpmvPlan;
pub(crate) use kernel::per_level;
pub use real::Real;

use crate::Isa;
use crate::team;
use bands::Bands;
use bitgraph_sparse::parallel::DisjointSlice;
use bitgraph_sparse::{Csr, with_offsets};
use cells::Cells;
use slices::Slices;
use std::any::Any;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Work of a part (rows and entries) at most, about: long enough that blocks of columns pay, short enough to share among many threads.
const PART_WORK: usize = 1 << 18;
/// Work of a small part, about.
const SMALL_WORK: usize = 1 << 14;
/// Parts of a matrix that is neither small nor large, about.
const PARTS: usize = 64;
/// Rows of a part at most: their sums stay in the cache, and row numbers inside a part fit 16 bits.
const PART_ROWS: usize = 1 << 15;
/// The share of the second cache, beside a block's elements, that the sums of a run of parts may take: with 2 MiB and 65 536 rows one thread
/// took .50 to .69 of the time of parts by themselves (2^20 and 2^21 vertices, 2^25 arcs), and with 512 KiB twice as long.
const RUN_SHARE: usize = 7;
/// Boundaries of parts are multiples of this: whole bands, whole vectors.
const PART_STEP: usize = 16;
/// Elements of `x` on a line of a cache, in `f32`.
pub(crate) const LINE: f64 = 16.0;
/// Zeros between two blocks of columns of a padded operand; filler entries point there.
pub(crate) const GAP: usize = 16;

/// `y = A x` for a pattern `A`, in some layout.
pub trait PatternSum<T>: Send + Sync {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// The number of columns.
    fn columns(&self) -> usize;
    /// Bytes of the layout.
    fn bytes(&self) -> u64;
    /// Sets `y[i]` to the sum of `x` over the columns of row `i`, with the current pool's threads.
    ///
    /// # Panics
    /// If `x` or `y` is not as long as the matrix is wide or high.
    fn sum(&self, x: &[T], y: &mut [T]);
}

/// The layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpmvKind {
    /// Lists as they are.
    Plain,
    /// Slices of 16 rows with 32-bit columns.
    Wide,
    /// Slices of 16 rows with 16-bit columns, in blocks of columns.
    Blocks,
    /// Strips of rows and windows of columns, 16-bit rows and columns.
    Cells,
    /// Bands of 8 rows, spans of 8 columns.
    Bands,
}

impl SpmvKind {
    /// Every layout.
    pub const ALL: [Self; 5] = [Self::Plain, Self::Wide, Self::Blocks, Self::Cells, Self::Bands];
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "rows",
            Self::Wide => "slices",
            Self::Blocks => "blocks",
            Self::Cells => "cells",
            Self::Bands => "bands",
        }
    }
    /// What it is, in a few words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Plain => "CSR",
            Self::Wide => "slices of 16 rows",
            Self::Blocks => "16-bit column blocks",
            Self::Cells => "strips and windows",
            Self::Bands => "bands of 8 rows",
        }
    }
}

#[derive(Debug)]
enum Form {
    Plain(Csr),
    Wide(Vec<Slices<u32>>),
    Blocks(Vec<Slices<u16>>),
    Cells(Vec<Cells>),
    Bands(Vec<Bands>),
}

/// A pattern laid out for sums over its rows.
#[derive(Debug)]
pub struct SpmvLayout {
    rows: usize,
    columns: usize,
    /// Columns between two gaps of the padded operand.
    width: usize,
    parts: Vec<Range<usize>>,
    form: Form,
    /// Padded operands of runs that are over, `Vec<T>` of whatever types; never more than ran at once.
    scratch: Mutex<Vec<Box<dyn Any + Send>>>,
}

/// The work of a part, for so much in all.
fn part_work(all: usize) -> usize {
    (all / PARTS).clamp(SMALL_WORK, PART_WORK)
}

/// Cuts rows into parts of about equal work. Those of cells are whole strips, or less of one where rows are long.
fn parts_of(csr: &Csr, kind: SpmvKind) -> Vec<Range<usize>> {
    let n = csr.nrows();
    let strip = cells::strip(csr.nnz(), n, csr.ncols()).0;
    with_offsets!(csr.offsets(), o => {
        let work = |row: usize| bitgraph_sparse::OffsetInt::index(o[row]) + row;
        let (mut parts, mut start) = (Vec::new(), 0);
        let target = part_work(work(n));
        while start < n {
            let (mut low, mut high) = (start + 1, n.min(start + PART_ROWS));
            while low < high {
                let middle = (low + high) / 2;
                if work(middle) - work(start) < target { low = middle + 1 } else { high = middle }
            }
            if kind == SpmvKind::Cells {
                let strips = ((low - start) / strip).max(1) * strip;
                let end = n.min(start + strips);
                if end < low || work(end) - work(start) <= PART_WORK {
                    low = end;
                }
            }
            let end = low.next_multiple_of(PART_STEP).min(n);
            parts.push(start..end);
            start = end;
        }
        parts
    })
}

/// How many times as long the parts of a layout take as all work shared evenly among so many workers, each of whom takes the next part when done with
/// one: long parts are few, and a worker that was held up is a quarter of a part behind at the end. On 16 cores cells of real graphs of 18 to
/// 40 thousand rows, in 3 to 7 parts, took 1.6 to 2.5 times as long as blocks of 64 parts with eight threads, and 1.0 with one.
pub(crate) fn unevenness(csr: &Csr, kind: SpmvKind, workers: usize) -> f64 {
    let all = csr.nnz() + csr.nrows();
    if workers <= 1 || all == 0 {
        return 1.0;
    }
    let (parts, mut busy) = (parts_of(csr, kind), vec![0; workers]);
    for part in &parts {
        let work = csr.offsets().get(part.end) - csr.offsets().get(part.start) + part.len();
        if let Some(first) = busy.iter_mut().min() {
            *first += work;
        }
    }
    let longest = busy.into_iter().max().unwrap_or(0) as f64;
    workers as f64 * (longest / all as f64 + 0.25 / parts.len() as f64)
}

impl SpmvLayout {
    /// Lays out a pattern. O(nnz), parallel; peak memory the layout and 24 bytes a row of a part and thread.
    #[must_use]
    pub fn build(csr: &Csr, kind: SpmvKind) -> Self {
        let (rows, columns) = (csr.nrows(), csr.ncols());
        let parts = parts_of(csr, kind);
        let width = if kind == SpmvKind::Blocks { slices::block_width(columns) } else { columns.max(1) };
        let form = match kind {
            SpmvKind::Plain => Form::Plain(csr.clone()),
            SpmvKind::Wide => Form::Wide(slices::build(csr, &parts, width)),
            SpmvKind::Blocks => Form::Blocks(slices::build(csr, &parts, width)),
            SpmvKind::Cells => Form::Cells(cells::build(csr, &parts)),
            SpmvKind::Bands => Form::Bands(bands::build(csr, &parts)),
        };
        Self { rows, columns, width, parts, form, scratch: Mutex::default() }
    }
    /// Which layout it is.
    #[must_use]
    pub fn kind(&self) -> SpmvKind {
        match &self.form {
            Form::Plain(_) => SpmvKind::Plain,
            Form::Wide(_) => SpmvKind::Wide,
            Form::Blocks(_) => SpmvKind::Blocks,
            Form::Cells(_) => SpmvKind::Cells,
            Form::Bands(_) => SpmvKind::Bands,
        }
    }
    /// Bytes of the layout beyond the matrix it was built from.
    #[must_use]
    pub fn extra_bytes(&self) -> u64 {
        match &self.form {
            Form::Plain(_) => 0,
            Form::Wide(parts) => parts.iter().map(Slices::bytes).sum(),
            Form::Blocks(parts) => parts.iter().map(Slices::bytes).sum(),
            Form::Cells(parts) => parts.iter().map(Cells::bytes).sum(),
            Form::Bands(parts) => parts.iter().map(Bands::bytes).sum(),
        }
    }
    /// Runs of parts, each for one thread at a time, of so many. Where columns are in blocks, the elements of a block come into the second
    /// cache once for a run; the last runs are short, for all threads to end together.
    pub(crate) fn runs(&self, threads: usize) -> Vec<Range<usize>> {
        let (parts, mut runs, mut at) = (self.parts.len(), Vec::new(), 0);
        let most = if matches!(self.form, Form::Blocks(_)) && self.columns > self.width { run_rows(caches::second()) } else { 0 };
        while at < parts {
            let wanted = 2 * (parts - at) / (3 * threads.max(1));
            let start = self.parts[at].start;
            let mut end = at + 1;
            while end < at + wanted && self.parts[end].end - start <= most {
                end += 1;
            }
            runs.push(at..end);
            at = end;
        }
        runs
    }
    /// The rows of a run of parts.
    pub(crate) fn rows_of(&self, run: &Range<usize>) -> Range<usize> {
        self.parts[run.start].start..self.parts[run.end - 1].end
    }
    /// The parts, ranges of rows.
    pub(crate) fn parts(&self) -> &[Range<usize>] {
        &self.parts
    }
    /// Elements of a padded operand.
    pub(crate) fn padded_len(&self) -> usize {
        self.columns + self.columns.div_ceil(self.width).max(1) * GAP
    }
    /// Elements of an operand that are read: lists and cells read the columns there are, bands a whole span, slices a block's zeros.
    fn operand_len(&self) -> usize {
        match &self.form {
            Form::Plain(_) | Form::Cells(_) => self.columns,
            Form::Bands(_) => self.columns.max(bands::SIDE),
            Form::Wide(_) | Form::Blocks(_) => self.padded_len(),
        }
    }
    /// The stretches of a range of columns in the padded operand: (first column, first element, length).
    pub(crate) fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let width = self.width;
        let mut start = range.start;
        std::iter::from_fn(move || {
            let first = start;
            (first < range.end).then(|| {
                let block = first / width;
                start = range.end.min((block + 1) * width);
                (first, first + block * GAP, start - first)
            })
        })
    }
    /// The sums of a run of parts; `x` is padded, `y` has an element for each of their rows.
    pub(crate) fn sum_run<T: Real>(&self, isa: Isa, run: Range<usize>, x: &[T], y: &mut [T]) {
        let all = self.rows_of(&run);
        assert!(x.len() >= self.operand_len() && y.len() == all.len(), "operands as long as the parts");
        let rows = |part: usize| self.parts[part].start - all.start..self.parts[part].end - all.start;
        match &self.form {
            Form::Plain(csr) => plain::sum(csr, all, x, y),
            Form::Wide(parts) => sum_slices(&parts[run.clone()], isa, x, y, |k| rows(run.start + k)),
            Form::Blocks(parts) => sum_slices(&parts[run.clone()], isa, x, y, |k| rows(run.start + k)),
            Form::Cells(parts) => run.for_each(|part| parts[part].sum(x, &mut y[rows(part)])),
            Form::Bands(parts) => run.for_each(|part| parts[part].sum(isa, x, &mut y[rows(part)])),
        }
    }
    /// Sets `y[i]` to the sum of `x` over the columns of row `i`. See [`PatternSum::sum`].
    ///
    /// # Panics
    /// If `x` or `y` is not as long as the matrix is wide or high.
    pub fn run<T: Real>(&self, x: &[T], y: &mut [T]) {
        self.run_at(Isa::current(), x, y);
    }
    fn run_at<T: Real>(&self, isa: Isa, x: &[T], y: &mut [T]) {
        assert!(x.len() == self.columns && y.len() == self.rows, "operands as long as the matrix is wide and high");
        if self.operand_len() == x.len() {
            return self.sum_parts(isa, x, y);
        }
        let kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut padded: Box<Vec<T>> = kept.and_then(|b| b.downcast().ok()).unwrap_or_default();
        padded.clear();
        for (column, element, length) in self.stretches(0..self.columns) {
            padded.resize(element, T::ZERO);
            padded.extend_from_slice(&x[column..column + length]);
        }
        padded.resize(self.padded_len(), T::ZERO);
        self.sum_parts(isa, &padded, y);
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(padded);
    }
    fn sum_parts<T: Real>(&self, isa: Isa, x: &[T], y: &mut [T]) {
        let out = DisjointSlice::new(y);
        team::with(self.parts.len(), |team| {
            let runs = self.runs(team.workers());
            team.run(runs.len(), |_, run| {
                // SAFETY: runs of parts are disjoint ranges of rows.
                #[allow(unsafe_code)]
                let y = unsafe { out.range(self.rows_of(&runs[run])) };
                self.sum_run(isa, runs[run].clone(), x, y);
            });
        });
    }
}

/// Rows of a run of parts at most, for a second cache of so many bytes and sums in `f32`.
fn run_rows(cache: usize) -> usize {
    cache.saturating_sub(slices::WIDEST * size_of::<f32>()) / RUN_SHARE / size_of::<f32>()
}

/// Sets `y` to the sums of parts in slices, block by block over all of them; `rows` are those of a part in `y`.
fn sum_slices<T: Real, I: slices::Index>(parts: &[Slices<I>], isa: Isa, x: &[T], y: &mut [T], rows: impl Fn(usize) -> Range<usize>) {
    y.fill(T::ZERO);
    for block in 0..parts.first().map_or(0, |part| part.blocks.len()) {
        for (k, part) in parts.iter().enumerate() {
            part.add(isa, block, x, &mut y[rows(k)]);
        }
    }
}

impl<T: Real> PatternSum<T> for SpmvLayout {
    fn rows(&self) -> usize {
        self.rows
    }
    fn columns(&self) -> usize {
        self.columns
    }
    fn bytes(&self) -> u64 {
        match &self.form {
            Form::Plain(csr) => csr.bytes(),
            _ => self.extra_bytes(),
        }
    }
    fn sum(&self, x: &[T], y: &mut [T]) {
        self.run(x, y);
    }
}
