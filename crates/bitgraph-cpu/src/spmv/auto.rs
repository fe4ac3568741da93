//! Which layout pays, for so many passes.
//!
//! Costs are estimates in nanoseconds of one thread, from counts in a sample of the rows; they decide between layouts that
//! differ by much more than their error.

use super::bands::{self, SIDE};
use super::cells;
use super::slices::block_width;
use super::{LINE, PART_ROWS, SpmvKind, caches, part_work, run_rows};
use crate::Isa;
use bitgraph_sparse::{Csr, OffsetInt, with_offsets};

/// Entries that are looked at.
const SAMPLES: usize = 256;
/// Lines of `x` that are looked at.
const LINES: usize = 256;
/// Spans that are made around each.
const SPANS: usize = 8;
/// Columns of two rows that are near each other: two lines of a cache.
const NEARBY: u32 = 32;
/// Entries of rows between which the first cache is not overwritten.
const SHORT: usize = 64;
/// Bytes of `x` that stay in a core's first cache.
const FIRST: f64 = 32768.0;
/// Bytes of `x` that stay in a cache of all cores.
const SHARED: usize = 1 << 23;

/// What the costs are reckoned from, for the whole matrix.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    rows: f64,
    columns: f64,
    entries: f64,
    /// Bytes of an element of `x`.
    element: usize,
    /// Blocks of columns.
    blocks: usize,
    /// Spans of bands.
    spans: f64,
    /// Entries of rows in blocks, as pieces.
    pieces: f64,
    /// Fours of cells.
    fours: f64,
    /// Lines of `x` that strips have entries on, each counted for itself.
    touched: f64,
    /// The share of entries beside which a near row has one, too, so that their elements of `x` were just read.
    near: f64,
}

impl Shape {
    /// From a sample of the entries: a mean over entries of a piece's share is the number of pieces an entry, hubs or not.
    fn sampled(csr: &Csr, element: usize) -> Self {
        let (rows, columns, nnz) = (csr.nrows(), csr.ncols(), csr.nnz());
        let (width, window) = (block_width(columns) as u32, cells::window(nnz, rows, columns));
        let samples = nnz.min(SAMPLES);
        let (mut spans, mut pieces, mut fours, mut near) = (0.0, 0.0, 0.0, 0usize);
        with_offsets!(csr.offsets(), o => for k in 0..samples {
            let position = (2 * k + 1) * nnz / (2 * samples);
            let row = o.partition_point(|start| start.index() <= position) - 1;
            let list = &csr.indices()[o[row].index()..o[row + 1].index()];
            let column = csr.indices()[position];
            let between = |first: u32, end: u32| list.partition_point(|&c| c < end) - list.partition_point(|&c| c < first);
            let block = column / width * width;
            pieces += 1.0 / between(block, block.saturating_add(width)) as f64;
            let first = column >> window << window;
            let run = between(first, first.saturating_add(1 << window));
            fours += (run / 4) as f64 / run as f64;
            let other = if row + SIDE < rows { row + SIDE } else { row.saturating_sub(SIDE) };
            let beside = &csr.indices()[o[other].index()..o[other + 1].index()];
            let (from, to) = (column.saturating_sub(NEARBY), column.saturating_add(NEARBY));
            near += usize::from(list.len() <= SHORT && beside.partition_point(|&c| c < from) < beside.partition_point(|&c| c <= to));
            let band = row / SIDE * SIDE;
            spans += bands::sample(&o[band..=rows.min(band + SIDE)], csr.indices(), column, SPANS);
        });
        let scale = nnz as f64 / samples.max(1) as f64;
        let [spans, pieces, fours] = [spans, pieces, fours].map(|share| share * scale);
        let near = near as f64 / samples.max(1) as f64;
        let (blocks, touched) = (columns.div_ceil(width as usize), touched(csr) * (1.0 - near));
        Self { rows: rows as f64, columns: columns as f64, entries: nnz as f64, element, blocks, spans, pieces, fours, touched, near }
    }
    /// Bytes of `x`.
    fn operand(&self) -> usize {
        self.columns as usize * self.element
    }
}

/// Lines of `x` that strips of cells have entries on, each counted for itself, where columns are as many and as full as rows and entries lie
/// anywhere: a line of hubs has entries in every strip, one of vertices with few neighbours in few.
fn touched(csr: &Csr) -> f64 {
    let (rows, columns) = (csr.nrows(), csr.ncols());
    let (strips, lines, line) = (strips(csr.nnz(), rows, columns), (columns as f64 / LINE).max(1.0), LINE as usize);
    if rows != columns || rows < line * LINES {
        return strips * lines * in_strips(csr.nnz() as f64 / lines, strips);
    }
    let share: f64 = with_offsets!(csr.offsets(), o => (0..LINES).map(|k| {
        let first = rows / LINES * k / line * line;
        in_strips((o[first + line].index() - o[first].index()) as f64, strips)
    }).sum());
    strips * lines * share / LINES as f64
}

/// Strips of cells.
fn strips(entries: usize, rows: usize, columns: usize) -> f64 {
    rows.div_ceil(cells::strip(entries, rows, columns).0).max(1) as f64
}

/// Nanoseconds to bring a line of a block into the second cache for a run of parts.
const FETCH: f64 = 3.0;

/// Lines of blocks that runs of parts bring into the second cache, where that does not hold all of them.
fn fetched(s: &Shape) -> f64 {
    let cache = caches::second();
    if s.operand() <= cache / 2 {
        return 0.0;
    }
    let work = (s.rows + s.entries).max(1.0);
    let part = (part_work(work as usize) as f64 * s.rows / work).min(PART_ROWS as f64);
    s.rows / part.max(run_rows(cache) as f64).max(1.0) * s.columns / LINE
}

/// A layout, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpmvPlan {
    /// The layout chosen.
    pub kind: SpmvKind,
    /// Passes that were counted on.
    pub passes: u32,
    /// For every layout: the predicted time to build and of one pass, in ms of one thread.
    pub costs: [(SpmvKind, f64, f64); 5],
    lines: Lines,
}

/// What strips of cells read of `x`.
#[derive(Clone, Copy, Debug)]
struct Lines {
    strips: f64,
    /// Lines that strips have entries on, each counted for itself, those apart that near rows have just read.
    touched: f64,
    /// Nanoseconds for one of these.
    cost: f64,
}

/// The share of the strips that have an entry on a line, of which there are so many, anywhere.
fn in_strips(entries: f64, strips: f64) -> f64 {
    1.0 - (-entries / strips).exp()
}

impl SpmvPlan {
    /// Chooses for so many passes over elements of so many bytes. O(log entries), for a sample of them.
    #[must_use]
    pub fn new(csr: &Csr, passes: u32, element: usize) -> Self {
        let shape = Shape::sampled(csr, element);
        let costs = costs(&shape).map(|(kind, build, pass)| (kind, build * 1e-6, pass * 1e-6));
        let total = |&(_, build, pass): &(SpmvKind, f64, f64)| build + pass * f64::from(passes.max(1));
        let kind = costs.iter().min_by(|a, b| total(a).total_cmp(&total(b))).map_or(SpmvKind::Plain, |c| c.0);
        let lines =
            Lines { strips: strips(csr.nnz(), csr.nrows(), csr.ncols()), touched: shape.touched, cost: caches::line_cost(shape.operand()) };
        Self { kind, passes, costs, lines }
    }
    /// Milliseconds a pass that cells take less where so many lines of `x` have so many entries each, anywhere, than as they are.
    pub(crate) fn saved_on_lines(&self, all: impl Iterator<Item = (f64, f64)>) -> f64 {
        let Lines { strips, touched, cost } = self.lines;
        let then: f64 = all.map(|(lines, entries)| lines * strips * in_strips(entries, strips)).sum();
        (touched - then) * cost * 1e-6
    }
}

/// Nanoseconds to build every layout, and of a pass.
fn costs(s: &Shape) -> [(SpmvKind, f64, f64); 5] {
    let columns = s.columns as usize;
    // How far away an element of `x` is that no near row has just read: 0 in the first cache, 1 in the second, filled one.
    let (bytes, cached) = (s.operand(), caches::kept());
    let distance = match () {
        () if bytes <= cached => (bytes as f64 / FIRST).max(1.0).log2() / (cached as f64 / FIRST).max(2.0).log2(),
        () if bytes <= SHARED => 2.0,
        () => 4.5,
    };
    let far = distance * (1.0 - s.near);
    let (entries, rows) = (s.entries as usize, s.rows as usize);
    let cells = strips(entries, rows, columns) * (s.columns / f64::from(1u32 << cells::window(entries, rows, columns))).ceil();
    let ones = s.entries - 4.0 * s.fours;
    let sums = if cells::strip(entries, rows, columns).1 { cells::LONG_SUM * s.entries } else { 0.0 };
    // A span of elements in the first cache, and what it takes more from the second. With AVX2 and half the cache the latter is .3 to .7 on seven
    // graphs of 18 to 60 thousand vertices without an order, and nothing on meshes, grids and De Bruijn graphs.
    let (span, reach) = match Isa::current() {
        Isa::Avx512 => (0.45, 0.35),
        Isa::Avx2 if s.element <= 4 => (0.9, 1.0),
        Isa::Avx2 => (2.7, 1.0),
        Isa::Portable => (5.0, 1.0),
    };
    // Sums that several blocks add to are read and written again.
    let piece = if s.blocks > 1 { 1.0 } else { 0.5 };
    [
        (SpmvKind::Plain, 0.0, s.entries * (0.3 + 0.7 * far) + s.rows * 3.0),
        (SpmvKind::Wide, s.entries * 2.0 + s.rows * 10.0, s.entries * (0.24 + 0.8 * far) + s.rows * 0.5),
        (
            SpmvKind::Blocks,
            s.entries * 2.5 + s.pieces * 8.0,
            s.entries * (0.22 + 0.35 * far.min(1.0)) + s.pieces * piece + fetched(s) * FETCH,
        ),
        (SpmvKind::Cells, s.entries * 8.0, s.fours + ones * 0.42 + sums + s.touched * caches::line_cost(bytes) + cells * 12.0),
        (
            SpmvKind::Bands,
            s.entries * 3.0 + s.spans * 12.0,
            s.spans * (span + reach * far.min(1.0) + 1.6 * (far - 1.0).max(0.0)) + s.rows * 0.15,
        ),
    ]
}

impl std::fmt::Display for SpmvPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {} passes;", self.kind.name(), self.passes)?;
        for (kind, build, pass) in self.costs {
            write!(f, " {}: {build:.1} ms + {pass:.2} ms a pass;", kind.name())?;
        }
        write!(f, " one thread, predicted")
    }
}
