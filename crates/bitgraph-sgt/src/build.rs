//! Compressed rows to windows with condensed columns, in parallel.
//!
//! Invariant: the result is the same whatever the number of threads.
//!
//! Method (TC-GNN, Algorithm 1): the entries of a window are sorted by column, and each new column gets the next condensed number. A key
//! holds column and row within the window, so that sorted keys meet the entries of every row in their order, and a position in each row is
//! all that writing `edge_to_col` needs. Tasks take blocks of windows of about equal numbers of entries; each collects the distinct columns
//! of its windows, which are joined in the end, and writes the condensed columns in place.

use crate::error::zeros;
use crate::order::{Greedy, greedy};
use crate::{Error, MOST_ROWS, Result, Sgt};
use bitgraph_sparse::Meter;
use bitgraph_sparse::parallel::{DisjointSlice, balanced_rows};
use bitgraph_sparse::{Control, Csr, Offsets, Permutation};
use rayon::prelude::*;
use std::ops::Range;

/// Which rows share a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowOrder {
    /// Neighbouring ones, as the pattern numbers them.
    #[default]
    Natural,
    /// Rows that share columns, chosen greedily where that pays: see [`greedy`].
    Greedy(Greedy),
    /// As this order has them: the row at place `p` is `old_of_new()[p]`.
    Given(Permutation),
}

/// How to translate.
#[derive(Clone, Debug, PartialEq)]
pub struct SgtConfig {
    /// Rows of a window, 1 to 256: those of the blocks that are wanted.
    pub height: u32,
    /// Which rows share a window.
    pub order: RowOrder,
}

impl Default for SgtConfig {
    fn default() -> Self {
        Self { height: 16, order: RowOrder::Natural }
    }
}

/// Windows of a task: their distinct columns, how many each has.
#[derive(Default)]
struct Part {
    columns: Vec<u32>,
    counts: Vec<u32>,
}

impl Sgt {
    /// Translates a pattern. O(nnz log(entries of a window)), parallel; peak memory the result and the distinct columns once more, and 8
    /// bytes for each entry of the largest window and task.
    ///
    /// # Errors
    /// [`Error::Height`], [`Error::Order`] for an order of another length, [`Error::OutOfMemory`] or [`Error::Cancelled`].
    pub fn from_csr(csr: &Csr, config: &SgtConfig, control: &Control) -> Result<Self> {
        if !(1..=MOST_ROWS).contains(&config.height) {
            return Err(Error::Height { height: config.height });
        }
        let order = match &config.order {
            RowOrder::Natural => None,
            RowOrder::Given(order) => Some(order.clone()),
            RowOrder::Greedy(how) => greedy(csr, config.height, how, control)?,
        };
        if let Some(order) = order.as_ref().filter(|order| order.len() != csr.nrows()) {
            return Err(Error::Order { expected: csr.nrows() as u64, found: order.len() as u64 });
        }
        translate(csr, config.height as usize, order.as_ref().map(Permutation::old_of_new), control)
    }
}

fn translate(csr: &Csr, height: usize, order: Option<&[u32]>, control: &Control) -> Result<Sgt> {
    let windows = csr.nrows().div_ceil(height);
    let blocks = blocks_of_windows(csr, height, order);
    let mut edge_to_col = zeros::<u32>(csr.nnz(), "condensed columns")?;
    let meter = Meter::new(control, csr.nnz() as u64);
    let parts: Vec<Part> = {
        let out = DisjointSlice::new(&mut edge_to_col);
        let work = |block: &Range<usize>| {
            meter.check()?;
            let mut task = Task { csr, height, order, out, keys: Vec::new(), part: Part::default(), entries: 0 };
            block.clone().for_each(|w| task.window(w));
            meter.advance(task.entries)?;
            Ok(task.part)
        };
        blocks.par_iter().with_max_len(1).map(work).collect::<Result<_>>()?
    };
    let mut starts = zeros::<usize>(windows + 1, "offsets of windows")?;
    for (w, &count) in parts.iter().flat_map(|part| &part.counts).enumerate() {
        starts[w + 1] = starts[w] + count as usize;
    }
    let mut columns = zeros::<u32>(starts[windows], "distinct columns")?;
    let mut rest = &mut columns[..];
    let pieces: Vec<&mut [u32]> = parts
        .iter()
        .map(|part| {
            let (piece, tail) = std::mem::take(&mut rest).split_at_mut(part.columns.len());
            rest = tail;
            piece
        })
        .collect();
    pieces.into_par_iter().zip(parts).for_each(|(piece, part)| piece.copy_from_slice(&part.columns));
    let (rows, ncols) = Csr::ids(csr.nrows() as u64, csr.ncols() as u64)?;
    let sgt = Sgt {
        rows,
        ncols,
        height: height as u32,
        offsets: csr.offsets().clone(),
        order: order.map(|order| order.to_vec().into()),
        column_offsets: Offsets::from_usizes(&starts),
        columns: columns.into(),
        edge_to_col: edge_to_col.into(),
    };
    debug_assert_eq!(sgt.check(), Ok(()));
    Ok(sgt)
}

/// Ranges of windows with about equal numbers of entries, which cover all.
fn blocks_of_windows(csr: &Csr, height: usize, order: Option<&[u32]>) -> Vec<Range<usize>> {
    let parts = rayon::current_num_threads() * 8;
    let ends: Vec<u64> = std::iter::once(0)
        .chain((0..csr.nrows().div_ceil(height)).scan(0, |sum, w| {
            let places = w * height..((w + 1) * height).min(csr.nrows());
            *sum += places.map(|p| csr.degree(order.map_or(p, |order| order[p] as usize)) as u64).sum::<u64>();
            Some(*sum)
        }))
        .collect();
    balanced_rows(&ends, parts)
}

struct Task<'a> {
    csr: &'a Csr,
    height: usize,
    order: Option<&'a [u32]>,
    out: DisjointSlice<'a, u32>,
    keys: Vec<u64>,
    part: Part,
    entries: u64,
}

impl Task<'_> {
    #[allow(unsafe_code)]
    fn window(&mut self, w: usize) {
        let places = w * self.height..((w + 1) * self.height).min(self.csr.nrows());
        let row_at = |place: usize| self.order.map_or(place, |order| order[place] as usize);
        self.keys.clear();
        for (r, place) in places.clone().enumerate() {
            self.keys.extend(self.csr.row(row_at(place)).iter().map(|&c| u64::from(c) << 8 | r as u64));
        }
        self.keys.sort_unstable();
        // Where the next entry of each row is.
        let mut next = [0usize; MOST_ROWS as usize];
        for (next, place) in next.iter_mut().zip(places) {
            *next = self.csr.row_range(row_at(place)).start;
        }
        let first = self.part.columns.len();
        let mut last = None;
        for &key in &self.keys {
            let (column, row) = ((key >> 8) as u32, (key & 0xff) as usize);
            if last != Some(column) {
                last = Some(column);
                self.part.columns.push(column);
            }
            // SAFETY: each key is one entry of its row, so that `next` stays within the row's range; each row is at one place, and each
            // place in one window of one task.
            unsafe { self.out.write(next[row], (self.part.columns.len() - first - 1) as u32) };
            next[row] += 1;
        }
        self.part.counts.push((self.part.columns.len() - first) as u32);
        self.entries += self.keys.len() as u64;
    }
}
