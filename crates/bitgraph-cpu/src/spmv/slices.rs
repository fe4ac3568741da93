//! Slices of 16 rows of like length (SELL-16), with 32-bit columns or with 16-bit columns in blocks.
//!
//! In every block of columns the rows of a part are cut into pieces of at most [`PIECE`] entries and sorted by falling length;
//! 16 pieces make a slice, entry `j` of all of them together, so that 16 independent sums run at once. Slices of one length
//! make a run: a constant trip count, which a branch predictor likes. Shorter pieces of a slice are filled up with entries that
//! point at the zeros behind the block.
//!
//! # Invariants
//! A run's slices follow each other in `rows` (16 per slice) and `indices` (16 `length` per slice); rows are below the part's
//! number of rows, indices at most the block's width.
//!
//! # Bytes
//! `W` bytes an entry or filler, with `W` = 2 or 4, 2 bytes a piece, 8 a run.
//!
//! Source: SELL-C-sigma (Kreutzer et al., SIAM J. Sci. Comput. 2014), sorted over a part.

use super::{GAP, Real, kernel};
use crate::Isa;
use bitgraph_sparse::{Csr, OffsetInt, parallel, with_offsets};
use std::ops::Range;

/// Entries of a piece at most: a longer row is several pieces, so that hubs need no filler.
const PIECE: usize = 64;
/// Pieces of a slice.
pub(super) const LANES: usize = 16;
/// Columns of a block at most: 16-bit indices with one left for the zeros.
pub(super) const WIDEST: usize = 65_520;

/// A stored column: its distance from the start of the block.
pub(super) trait Index: Copy + Default + Send + Sync + std::fmt::Debug + 'static {
    /// From a distance that fits.
    fn from_distance(distance: usize) -> Self;
    /// The distance.
    fn distance(self) -> usize;
}
impl Index for u16 {
    fn from_distance(distance: usize) -> Self {
        distance as u16
    }
    #[inline(always)]
    fn distance(self) -> usize {
        self as usize
    }
}
impl Index for u32 {
    fn from_distance(distance: usize) -> Self {
        distance as u32
    }
    #[inline(always)]
    fn distance(self) -> usize {
        self as usize
    }
}

/// Slices of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) length: u32,
    pub(super) slices: u32,
}

/// A block of columns: where it starts in the padded operand, its runs, and its first index and row.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) runs: Range<usize>,
    pub(super) index: usize,
    pub(super) row: usize,
}

/// The slices of a part.
#[derive(Debug)]
pub(super) struct Slices<I> {
    pub(super) blocks: Vec<Block>,
    pub(super) runs: Vec<Run>,
    pub(super) rows: Vec<u16>,
    pub(super) indices: Vec<I>,
}

/// The width of blocks of 16-bit columns: equal ones, as few as can be.
pub(super) fn block_width(columns: usize) -> usize {
    columns.div_ceil(columns.div_ceil(WIDEST).max(1)).max(1)
}

/// Lays out every part.
pub(super) fn build<I: Index>(csr: &Csr, parts: &[Range<usize>], width: usize) -> Vec<Slices<I>> {
    let columns = csr.ncols();
    with_offsets!(csr.offsets(), o => {
        parallel::collect(parts.len(), |p| build_part(&o[parts[p].start..=parts[p].end], csr.indices(), columns, width))
    })
}

/// A piece of a row: the row inside the part, and its first entry.
type Piece = (u16, usize);

fn build_part<O: OffsetInt, I: Index>(offsets: &[O], columns: &[u32], ncols: usize, width: usize) -> Slices<I> {
    let rows = offsets.len() - 1;
    let entries = offsets[rows].index() - offsets[0].index();
    let indices = Vec::with_capacity(entries + entries / 16);
    let mut out = Slices { blocks: Vec::new(), runs: Vec::new(), rows: Vec::new(), indices };
    // Where the next block begins in every row that has entries left.
    let mut open: Vec<(u16, usize)> = (0..rows).filter(|&r| offsets[r] < offsets[r + 1]).map(|r| (r as u16, offsets[r].index())).collect();
    let (mut pieces, mut sorted): (Vec<(u8, Piece)>, Vec<Piece>) = (Vec::new(), Vec::new());
    for block in 0..ncols.div_ceil(width) {
        let first = block * width;
        let end = (first + width).min(ncols);
        let mut counts = [0usize; PIECE + 1];
        pieces.clear();
        let mut cut = |row: u16, start: usize, stop: usize| {
            let mut at = start;
            while at < stop {
                let length = (stop - at).min(PIECE);
                pieces.push((length as u8, (row, at)));
                counts[length] += 1;
                at += length;
            }
        };
        open.retain_mut(|(row, start)| {
            let row_end = offsets[*row as usize + 1].index();
            let list = &columns[*start..row_end];
            let inside = if end == ncols { list.len() } else { list.iter().position(|&c| c as usize >= end).unwrap_or(list.len()) };
            cut(*row, *start, *start + inside);
            *start += inside;
            inside < list.len()
        });
        // Counting sort by falling length; pieces of one length keep the order of their rows.
        let mut places = [0usize; PIECE + 1];
        (1..PIECE).rev().for_each(|l| places[l] = places[l + 1] + counts[l + 1]);
        sorted.clear();
        sorted.resize(pieces.len(), (0, 0));
        let lengths = counts;
        for &(length, piece) in &pieces {
            let place = &mut places[length as usize];
            sorted[*place] = piece;
            *place += 1;
        }
        let (index, row, runs) = (out.indices.len(), out.rows.len(), out.runs.len());
        fill(&mut out, &sorted, &lengths, columns, first, end - first);
        out.blocks.push(Block { start: first + block * GAP, runs: runs..out.runs.len(), index, row });
    }
    out.indices.shrink_to_fit();
    out
}

/// Appends the slices of sorted pieces, `counts` of each length.
fn fill<I: Index>(out: &mut Slices<I>, pieces: &[Piece], counts: &[usize; PIECE + 1], columns: &[u32], first: usize, zero: usize) {
    let (mut length, block_runs) = (PIECE, out.runs.len());
    // Pieces up to here are at least as long as `length`.
    let mut reach = counts[PIECE];
    let length_at = |piece: usize, length: &mut usize, reach: &mut usize| {
        while piece >= *reach {
            *length -= 1;
            *reach += counts[*length];
        }
        *length
    };
    for slice in pieces.chunks(LANES).enumerate() {
        let (at, slice) = (slice.0 * LANES, slice.1);
        let longest = length_at(at, &mut length, &mut reach);
        let base = out.indices.len();
        out.indices.resize(base + longest * LANES, I::from_distance(zero));
        let block = &mut out.indices[base..];
        for (lane, &(row, start)) in slice.iter().enumerate() {
            let own = length_at(at + lane, &mut length, &mut reach);
            for (slot, &c) in block[lane..].iter_mut().step_by(LANES).zip(&columns[start..start + own]) {
                *slot = I::from_distance(c as usize - first);
            }
            out.rows.push(row);
        }
        out.rows.resize(out.rows.len().next_multiple_of(LANES), 0);
        // A run does not reach across blocks.
        match out.runs[block_runs..].last_mut() {
            Some(run) if run.length as usize == longest => run.slices += 1,
            _ => out.runs.push(Run { length: longest as u32, slices: 1 }),
        }
    }
}

impl<I: Index> Slices<I> {
    /// Bytes of the arrays.
    pub(super) fn bytes(&self) -> u64 {
        let own = size_of::<I>() * self.indices.len() + 2 * self.rows.len();
        (own + size_of::<Run>() * self.runs.len() + size_of::<Block>() * self.blocks.len()) as u64
    }
    /// Adds a block's sums of the part's rows over the padded `x` to `y`.
    pub(super) fn add<T: Real>(&self, isa: Isa, block: usize, x: &[T], y: &mut [T]) {
        kernel::slices(isa, self, block, x, y);
    }
}
