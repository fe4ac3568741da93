//! Cells of a strip of rows and a window of columns: the sums of a strip and the elements of `x` that a window has stay in a
//! core's first cache together, or where that saves more, the sums in its second.
//!
//! A strip's windows come one after the other, so that `x` is read along, once a strip, where lists would fetch a line of the
//! second cache for an entry. What an entry then costs is reading, changing and writing its row's sum; four entries of a row in a
//! cell share that. Entries that are not in fours are taken in order of their columns, which keeps entries of one row apart: an
//! addition to a sum that is still being written has to wait.
//!
//! # Invariants
//! A strip has at most [`MOST_ROWS`] rows. The words of its cells follow each other: in a cell a word for each of its fours, the four
//! columns, the first one lowest; a word for every four rows of those; a word for each of its pairs, two entries, the first one
//! lowest, with the column below the row. Rows are below the strip's number of rows, or that number in the filler of an odd
//! pair; columns are distances from the cell's first one, which together are below the number of columns.
//!
//! # Bytes
//! 10 bytes four entries of a row, 8 bytes two others, 12 a cell, 8 a strip.

use super::cell_kernel;
use super::{LINE, PART_STEP, Real, caches};
use bitgraph_sparse::{Csr, OffsetInt, parallel, with_offsets};
use std::ops::Range;

/// Rows of a strip, for a first cache of [`FIRST_CACHE`] bytes: their sums take a third of it in `f32`, and two thirds in `f64`.
const ROWS: usize = 3072;
const FIRST_CACHE: usize = 32 << 10;
/// How many times as long strips are where that saves lines of `x`. With 512 KiB of second cache a uniform graph of 700 thousand vertices and
/// degree 12 took .6 of the time so, a De Bruijn graph and a dual mesh of 260 thousand and degree 4 .6 to .7; such of a million vertices, whose
/// lines have an entry in few strips of either length, 1.2 times as long.
const LONGER: usize = 4;
/// Nanoseconds an entry more where the sums of a strip are not in the first cache.
pub(super) const LONG_SUM: f64 = 0.3;
/// Rows of a strip at most, however large the first cache is.
pub(super) const MOST_ROWS: usize = 2 * LONGER * ROWS;

/// Rows of strips, for a matrix of so many entries, rows and columns on this machine, and whether those are long ones: elements of `x` are fetched
/// once a strip, so that longer strips fetch fewer.
pub(super) fn strip(entries: usize, rows: usize, columns: usize) -> (usize, bool) {
    let short = (ROWS * caches::first() / FIRST_CACHE / PART_STEP * PART_STEP).clamp(ROWS, MOST_ROWS / LONGER);
    // Entries that a strip has on a line, if they lie anywhere, and for each entry the lines read.
    let on_line = entries as f64 / rows as f64 * short.min(rows) as f64 * LINE / columns as f64;
    let lines = |on_line: f64| (1.0 - (-on_line).exp()) / on_line;
    let saved = lines(on_line) - lines(LONGER as f64 * on_line);
    let long = saved * caches::line_cost(columns * size_of::<f32>()) > LONG_SUM;
    (if long { LONGER * short } else { short }, long)
}

/// Columns of the narrowest window, as a power of two: half of such a cache in `f32`.
const NARROW: u32 = 12;
/// Columns of the widest window, as a power of two: 16-bit distances.
const WIDE: u32 = 16;
/// Entries of a cell on average, if windows can be as wide: a cell costs some mispredicted branches.
const CELL: f64 = 1024.0;
/// Stretches of a window that entries are sorted into, as a power of two.
const STRETCHES: u32 = 8;

/// The entries of a strip in a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The window's first column.
    pub(super) column: u32,
    /// Fours of entries.
    pub(super) fours: u32,
    /// Pairs of entries.
    pub(super) pairs: u32,
}

/// A run of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    pub(super) rows: u32,
    /// Its cells.
    pub(super) cells: u32,
}

/// The cells of a part.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) strips: Vec<Strip>,
    pub(super) cells: Vec<Cell>,
    pub(super) words: Vec<u64>,
}

/// Columns of a window, as a power of two, for a matrix of so many entries, rows and columns.
pub(super) fn window(entries: usize, rows: usize, columns: usize) -> u32 {
    let dense = entries as f64 / (rows as f64 * columns as f64).max(1.0) * strip(entries, rows, columns).0.min(rows) as f64;
    (NARROW..WIDE).find(|&w| dense * f64::from(1u32 << w) >= CELL).unwrap_or(WIDE)
}

/// Lays out every part.
pub(super) fn build(csr: &Csr, parts: &[Range<usize>]) -> Vec<Cells> {
    let (entries, rows, columns) = (csr.nnz(), csr.nrows(), csr.ncols());
    let (window, strip) = (window(entries, rows, columns), strip(entries, rows, columns).0);
    with_offsets!(csr.offsets(), o => {
        parallel::collect(parts.len(), |p| Builder::new(columns, window, strip).part(&o[parts[p].start..=parts[p].end], csr.indices()))
    })
}

/// What a part's construction needs beside it.
struct Builder {
    window: u32,
    /// Rows of a strip at most.
    strip: usize,
    /// Where the entries of every window end in `entries`.
    ends: Vec<usize>,
    /// A strip's entries window by window: the row above, the distance below.
    entries: Vec<u32>,
    /// A cell's fours with their rows, and its other entries.
    fours: Vec<(u64, u16)>,
    ones: Vec<u32>,
    out: Cells,
}

impl Builder {
    fn new(columns: usize, window: u32, strip: usize) -> Self {
        let (ends, out) = (vec![0; columns.div_ceil(1 << window) + 1], Cells::default());
        Self { window, strip, ends, entries: Vec::new(), fours: Vec::new(), ones: Vec::new(), out }
    }
    fn part<O: OffsetInt>(mut self, offsets: &[O], columns: &[u32]) -> Cells {
        let rows = offsets.len() - 1;
        // Strips of a part are equally long, or nearly.
        let length = rows.div_ceil(rows.div_ceil(self.strip).max(1)).max(1);
        for start in (0..rows).step_by(length) {
            self.strip(&offsets[start..=rows.min(start + length)], columns);
        }
        self.out.words.shrink_to_fit();
        self.out
    }
    fn strip<O: OffsetInt>(&mut self, offsets: &[O], columns: &[u32]) {
        let (rows, first_cell, window) = (offsets.len() - 1, self.out.cells.len(), self.window);
        let all = &columns[offsets[0].index()..offsets[rows].index()];
        // Counting sort by window; a window's entries stay in the order of rows.
        self.ends.fill(0);
        all.iter().for_each(|&c| self.ends[(c >> window) as usize + 1] += 1);
        (1..self.ends.len()).for_each(|w| self.ends[w] += self.ends[w - 1]);
        self.entries.clear();
        self.entries.resize(all.len(), 0);
        for (row, bounds) in offsets.windows(2).enumerate() {
            for &c in &columns[bounds[0].index()..bounds[1].index()] {
                let place = &mut self.ends[(c >> window) as usize];
                self.entries[*place] = (row as u32) << 16 | (c & ((1 << window) - 1));
                *place += 1;
            }
        }
        let mut start = 0;
        for w in 0..self.ends.len() - 1 {
            let end = self.ends[w];
            if end > start {
                self.cell((w as u32) << window, start..end, rows as u32);
            }
            start = end;
        }
        self.out.strips.push(Strip { rows: rows as u32, cells: (self.out.cells.len() - first_cell) as u32 });
    }
    fn cell(&mut self, column: u32, range: Range<usize>, rows: u32) {
        self.fours.clear();
        self.ones.clear();
        let mut rest = &self.entries[range];
        while let Some(&entry) = rest.first() {
            // Rows ascend, so the two between are of the same row.
            if rest.len() > 3 && rest[3] >> 16 == entry >> 16 {
                let four = rest[..4].iter().rev().fold(0, |four, &e| four << 16 | u64::from(e & 0xffff));
                self.fours.push((four, (entry >> 16) as u16));
                rest = &rest[4..];
            } else {
                self.ones.push(entry);
                rest = &rest[1..];
            }
        }
        let stretch = self.window.saturating_sub(STRETCHES);
        if self.ones.len() % 2 == 1 {
            // Adds the window's first element to a sum that no thread reads.
            self.ones.push(rows << 16);
        }
        let cell = Cell { column, fours: self.fours.len() as u32, pairs: (self.ones.len() / 2) as u32 };
        let words = &mut self.out.words;
        let fours = words.len();
        let rows_of = fours + self.fours.len();
        let pairs = rows_of + self.fours.len().div_ceil(4);
        words.resize(pairs + self.ones.len() / 2, 0);
        sorted(
            &self.fours,
            |f| (f.0 as usize & 0xffff) >> stretch,
            |place, &(four, row)| {
                words[fours + place] = four;
                words[rows_of + place / 4] |= u64::from(row) << (16 * (place % 4));
            },
        );
        sorted(
            &self.ones,
            |e| (e & 0xffff) as usize >> stretch,
            |place, &entry| {
                words[pairs + place / 2] |= u64::from(entry) << (32 * (place % 2));
            },
        );
        self.out.cells.push(cell);
    }
}

/// Calls `put(place, item)` for every item, places being in the order of `key`, which is below 256; stable.
fn sorted<V>(items: &[V], key: impl Fn(&V) -> usize, mut put: impl FnMut(usize, &V)) {
    let mut places = [0usize; 1 << STRETCHES];
    items.iter().for_each(|item| places[key(item)] += 1);
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for item in items {
        let place = &mut places[key(item)];
        put(*place, item);
        *place += 1;
    }
}

impl Cells {
    /// Bytes of the arrays.
    pub(super) fn bytes(&self) -> u64 {
        (self.words.len() * 8 + self.cells.len() * 12 + self.strips.len() * 8) as u64
    }
    /// Sets `y` to the sums of the part's rows.
    pub(super) fn sum<T: Real>(&self, x: &[T], y: &mut [T]) {
        cell_kernel::sum(self, x, y);
    }
}
