//! Windows of rows that share columns, chosen greedily in near linear time.
//!
//! Invariant: the order is a permutation, and the same whatever the number of threads.
//!
//! Method: rows are dealt into chunks of neighbours, which tasks order independently. A window begins with the first row that has no place
//! yet. It grows by rows of the column that most of its rows share: a few of the column's rows are weighed by how many entries of
//! the window they share columns with, and the best one is taken. So a row costs its own entries and those of a few others, where weighing
//! every row that shares any column would cost the sum of squared column lengths. Rows and columns far longer than the mean are not weighed
//! or followed: a hub shares a column with everything, which says nothing, and would be read again and again. Such rows stay where they
//! are found.
//!
//! Neighbouring numbers are taken for near: a pattern whose numbering is not local is to be reordered before.

use crate::error::zeros;
use crate::{Error, MOST_ROWS, Result};
use bitgraph_sparse::Meter;
use bitgraph_sparse::{Control, Csr, Permutation};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are ordered together. Fewer cut off what lies across a border (on a grid of 1000 x 1000, half as many leave 2 % more distinct
/// columns), more leave fewer tasks.
const CHUNK: usize = 1 << 14;
/// Rows of a column that are weighed: more change the distinct columns by a part in a hundred at most.
const CANDIDATES: usize = 4;
/// Columns without a row to give that a window meets before it goes on with rows as they come. In a pattern without locality nearly every
/// column is such a one, and finding that out for each would cost the square of the window's columns.
const EXHAUSTED: usize = 64;
/// Rows and columns this many times the mean length, and this long at least, are not weighed or followed.
const HUB: usize = 4;
const HUB_LENGTH: usize = 32;
/// Chunks and windows of each that the gain is estimated from.
const SAMPLED_CHUNKS: usize = 8;
const SAMPLED_WINDOWS: usize = 64;

/// How rows are chosen greedily.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Greedy {
    /// The part of the distinct columns that must go; else the natural order is kept. A sample of windows is looked at first, so that
    /// where nothing is to be had little is spent.
    pub min_gain: f64,
    /// Whether the pattern is known to be symmetric, and so its own transpose. Where that is wrong, the order is a worse one.
    pub symmetric: bool,
}

impl Default for Greedy {
    fn default() -> Self {
        Self { min_gain: 0.1, symmetric: false }
    }
}

/// The rows of a pattern in an order in which windows of `height` share columns; `None` where the gain is below `how.min_gain`.
/// O(nnz) where lengths are even, parallel; memory 12 bytes a row, for each thread 4 bytes a column, and the transpose of a pattern that is
/// not symmetric.
///
/// # Errors
/// [`Error::Height`], [`Error::OutOfMemory`] or [`Error::Cancelled`].
pub fn greedy(csr: &Csr, height: u32, how: &Greedy, control: &Control) -> Result<Option<Permutation>> {
    if !(1..=MOST_ROWS).contains(&height) {
        return Err(Error::Height { height });
    }
    let (rows, height) = (csr.nrows(), height as usize);
    if rows == 0 || csr.nnz() == 0 || height == 1 {
        return Ok(None);
    }
    let transposed = (!(how.symmetric && csr.is_square())).then(|| csr.transpose());
    let columns = transposed.as_ref().unwrap_or(csr);
    let mean = |of: &Csr| (csr.nnz() / of.nrows().max(1) * HUB).max(HUB_LENGTH);
    let (row_limit, column_limit) = (mean(csr), mean(columns));
    let search = Search { csr, columns, height, row_limit, column_limit, window_limit: row_limit * height };
    // Whole windows, so that none lies in two chunks.
    let size = CHUNK.next_multiple_of(height);
    let chunk = |k: usize| k * size..((k + 1) * size).min(rows);
    let chunks = rows.div_ceil(size);

    let sampled = chunks.min(SAMPLED_CHUNKS);
    let samples = each(sampled, csr.ncols(), |k, slots| {
        control.check()?;
        Ok(search.both(chunk(k * chunks / sampled), SAMPLED_WINDOWS, slots))
    })?;
    if !pays(&samples, how.min_gain) {
        return Ok(None);
    }

    let meter = Meter::new(control, rows as u64);
    let orders = each(chunks, csr.ncols(), |k, slots| {
        meter.check()?;
        let both = search.both(chunk(k), usize::MAX, slots);
        meter.advance(both.chosen.order.len() as u64)?;
        Ok(both)
    })?;
    if !pays(&orders, how.min_gain) {
        return Ok(None);
    }
    let mut order = Vec::new();
    order.try_reserve_exact(rows).map_err(|_| Error::OutOfMemory { wanted: 4 * rows as u64, what: "an order of rows" })?;
    orders.iter().for_each(|both| order.extend_from_slice(&both.chosen.order));
    Ok(Some(Permutation::from_old_of_new(order)?))
}

/// Whether the part of the distinct columns that goes is what is asked for. A gain that is not a number is never reached.
fn pays(chunks: &[Both], min_gain: f64) -> bool {
    let (natural, chosen) = chunks.iter().fold((0, 0), |sum, both| (sum.0 + both.natural, sum.1 + both.chosen.distinct));
    natural as f64 - chosen as f64 >= min_gain * natural as f64
}

/// The results of `f(0)`, .., `f(count - 1)` in parallel, each thread with an array of zeros, one for each column, which `f` leaves zero.
fn each<T: Send>(count: usize, columns: usize, f: impl Fn(usize, &mut [u32]) -> Result<T> + Sync) -> Result<Vec<T>> {
    // As few tasks as there are threads, so that there are no more arrays than those.
    let tasks = rayon::current_num_threads().min(count);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut results: Vec<(usize, T)> = (0..tasks)
        .into_par_iter()
        .with_max_len(1)
        .map(|_| {
            let mut slots = zeros::<u32>(columns, "columns of a window")?;
            let mut done = Vec::new();
            loop {
                match next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                    k if k < count => done.push((k, f(k, &mut slots)?)),
                    _ => return Ok(done),
                }
            }
        })
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    results.sort_by_key(|(k, _)| *k);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

struct Search<'a> {
    csr: &'a Csr,
    /// The rows of each column.
    columns: &'a Csr,
    height: usize,
    row_limit: usize,
    column_limit: usize,
    /// A window of more columns has a hub, and takes its other rows as they come: looking for more would read all its columns each time.
    window_limit: usize,
}

/// Rows in their new order, and the distinct columns of their windows.
struct Found {
    order: Vec<u32>,
    distinct: usize,
}

/// The same rows chosen greedily, and the distinct columns of as many as they come.
struct Both {
    chosen: Found,
    natural: usize,
}

/// The columns of the window that is growing. Number 0 stands for none.
#[derive(Default)]
struct Window {
    ids: Vec<u32>,
    /// Rows of the window that have the column: at most [`MOST_ROWS`].
    shared: Vec<i16>,
    /// The same, or 0 where the column has no more rows to give. Signed, since all x86 machines have a maximum of such numbers.
    open: Vec<i16>,
    /// From where on the column's rows are still to be looked at, once that is known.
    next: Vec<Option<usize>>,
    /// Columns that were found to have no more rows to give.
    exhausted: usize,
}

impl Window {
    /// Empties it, and tells how many columns it had.
    fn clear(&mut self, slots: &mut [u32]) -> usize {
        self.ids.iter().skip(1).for_each(|&c| slots[c as usize] = 0);
        let distinct = self.ids.len().saturating_sub(1);
        self.ids.clear();
        self.shared.clear();
        self.open.clear();
        self.next.clear();
        self.exhausted = 0;
        self.push(0, 0);
        distinct
    }
    fn push(&mut self, id: u32, rows: i16) {
        self.ids.push(id);
        self.shared.push(rows);
        self.open.push(rows);
        self.next.push(None);
    }
    /// The open column that most rows share, the earliest among equals.
    fn most_shared(&self) -> Option<usize> {
        let most = self.open.iter().fold(0, |most, &shared| most.max(shared));
        if most == 0 { None } else { self.open.iter().position(|&shared| shared == most) }
    }
}

impl Search<'_> {
    fn both(&self, rows: Range<usize>, windows: usize, slots: &mut [u32]) -> Both {
        let chosen = self.chunk(rows.clone(), windows, slots);
        let natural = self.distinct(rows.start..rows.start + chosen.order.len(), slots);
        Both { chosen, natural }
    }
    /// Orders the rows of a chunk, or as many as the first windows of it hold.
    fn chunk(&self, rows: Range<usize>, windows: usize, slots: &mut [u32]) -> Found {
        let mut placed = vec![false; rows.len()];
        let mut found = Found { order: Vec::new(), distinct: 0 };
        let mut window = Window::default();
        window.clear(slots);
        let mut candidates = Vec::with_capacity(CANDIDATES);
        // Every row before this one has its place.
        let mut first = 0;
        for _ in 0..windows.min(rows.len().div_ceil(self.height)) {
            for _ in 0..self.height.min(rows.len() - found.order.len()) {
                let chosen = self.next_row(&rows, &placed, &mut window, slots, &mut candidates);
                let row = chosen.unwrap_or_else(|| {
                    while placed[first] {
                        first += 1;
                    }
                    first
                });
                placed[row] = true;
                found.order.push((rows.start + row) as u32);
                self.add(rows.start + row, &mut window, slots);
            }
            found.distinct += window.clear(slots);
        }
        found
    }
    /// Takes the columns of a row into the window.
    fn add(&self, row: usize, window: &mut Window, slots: &mut [u32]) {
        for &column in self.csr.row(row) {
            let slot = &mut slots[column as usize];
            if *slot == 0 {
                *slot = window.ids.len() as u32;
                window.push(column, 1);
            } else {
                let slot = *slot as usize;
                window.shared[slot] += 1;
                window.open[slot] += i16::from(window.open[slot] > 0);
            }
        }
    }
    /// The row of the most shared column that shares most, counted within the chunk; `None` if no column has one.
    fn next_row(
        &self,
        rows: &Range<usize>,
        placed: &[bool],
        window: &mut Window,
        slots: &[u32],
        candidates: &mut Vec<usize>,
    ) -> Option<usize> {
        if window.ids.len() > self.window_limit {
            return None;
        }
        while window.exhausted < EXHAUSTED {
            let column = window.most_shared()?;
            candidates.clear();
            let of_column = self.columns.row_range(window.ids[column] as usize);
            let all = if of_column.len() > self.column_limit { &[] } else { &self.columns.indices()[of_column] };
            // Rows below the chunk are skipped at once.
            let from = window.next[column].unwrap_or_else(|| all.partition_point(|&row| (row as usize) < rows.start));
            for (k, &row) in all[from..].iter().enumerate() {
                if row as usize >= rows.end {
                    break;
                }
                let row = row as usize - rows.start;
                if !placed[row] && self.csr.degree(rows.start + row) <= self.row_limit {
                    if candidates.is_empty() {
                        window.next[column] = Some(from + k);
                    }
                    candidates.push(row);
                    if candidates.len() == CANDIDATES {
                        break;
                    }
                }
            }
            if candidates.is_empty() {
                window.open[column] = 0;
                window.exhausted += 1;
                continue;
            }
            let shares = |row: usize| -> i64 {
                self.csr.row(rows.start + row).iter().map(|&c| i64::from(window.shared[slots[c as usize] as usize])).sum()
            };
            // The earliest of those that share most.
            return candidates.iter().copied().map(|row| (shares(row), std::cmp::Reverse(row))).max().map(|(_, row)| row.0);
        }
        None
    }
    /// The distinct columns of windows of consecutive rows.
    fn distinct(&self, rows: Range<usize>, slots: &mut [u32]) -> usize {
        let mut distinct = 0;
        for start in rows.clone().step_by(self.height) {
            let entries = self.csr.offsets().get(start)..self.csr.offsets().get((start + self.height).min(rows.end));
            let entries = &self.csr.indices()[entries];
            for &column in entries {
                distinct += usize::from(slots[column as usize] == 0);
                slots[column as usize] = 1;
            }
            entries.iter().for_each(|&column| slots[column as usize] = 0);
        }
        distinct
    }
}
