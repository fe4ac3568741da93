//! Bands of 8 rows and spans of 8 columns: a span gives every row of its band one element of `x` at most, which a permutation in
//! registers picks from the eight that were loaded.
//!
//! Neighbouring rows of a mesh have neighbouring columns, so that a span serves several rows: one load, one shift, one permutation
//! and one addition for them all, and the sums of a band need no adding up across a register. Spans begin at any column:
//! every span of a band begins at the smallest column that is left.
//!
//! The bands of a stretch are taken in order of how many spans they have: the inner loop's trip count changes seldom, which a
//! branch predictor likes, and a stretch is short enough for what its rows have in common to stay in the first cache.
//!
//! # Invariants
//! `order` is a permutation of the part's bands; `groups` and `spans` follow it. A span begins 8 columns before the end of `x` or
//! earlier, unless that is shorter.
//!
//! # Bytes
//! 8 bytes a span, 2 a band, 8 a group.

use super::slices::Run;
use super::{Real, band_kernel};
use crate::Isa;
use bitgraph_sparse::{Csr, OffsetInt, parallel, with_offsets};
use std::ops::Range;

/// Rows of a band, and columns of a span.
pub(super) const SIDE: usize = 8;
/// Bands of a stretch: 1024 rows.
const STRETCH: usize = 128;

/// Columns from `column` on: nibble `r` of `picks` says which one row `r` of the band takes, 8 + its distance, or 0 for none.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Span {
    pub(super) column: u32,
    pub(super) picks: u32,
}

/// The bands of a part.
#[derive(Debug, Default)]
pub struct Bands {
    /// Spans per band (`length`), and how many such bands follow (`slices`).
    pub(super) groups: Vec<Run>,
    pub(super) order: Vec<u16>,
    pub(super) spans: Vec<Span>,
}

/// Lays out every part, whose boundaries are those of bands.
pub(super) fn build(csr: &Csr, parts: &[Range<usize>]) -> Vec<Bands> {
    with_offsets!(csr.offsets(), o => {
        parallel::collect(parts.len(), |p| build_part(&o[parts[p].start..=parts[p].end], csr.indices(), csr.ncols()))
    })
}

fn build_part<O: OffsetInt>(offsets: &[O], columns: &[u32], ncols: usize) -> Bands {
    let rows = offsets.len() - 1;
    let bands = rows.div_ceil(SIDE);
    let mut out = Bands { order: Vec::with_capacity(bands), ..Bands::default() };
    let mut spans = Vec::new();
    let latest = ncols.saturating_sub(SIDE) as u32;
    for first in (0..bands).step_by(STRETCH) {
        let stretch = first..bands.min(first + STRETCH);
        spans.clear();
        let mut ends = [0usize; STRETCH + 1];
        for (k, band) in stretch.clone().enumerate() {
            let last = rows.min(SIDE * (band + 1));
            let mut cursors = Cursors::new(&offsets[SIDE * band..=last], columns, 0);
            spans.extend(std::iter::from_fn(|| cursors.span(latest)));
            ends[k + 1] = spans.len();
        }
        let mut order: Vec<usize> = (0..stretch.len()).collect();
        order.sort_by_key(|&k| ends[k + 1] - ends[k]);
        let groups = out.groups.len();
        for k in order {
            let own = &spans[ends[k]..ends[k + 1]];
            out.order.push((first + k) as u16);
            out.spans.extend_from_slice(own);
            // A group does not reach across stretches.
            match out.groups[groups..].last_mut() {
                Some(group) if group.length as usize == own.len() => group.slices += 1,
                _ => out.groups.push(Run { length: own.len() as u32, slices: 1 }),
            }
        }
    }
    out.spans.shrink_to_fit();
    out
}

/// Where the rows of a band are at in their lists.
struct Cursors<'a> {
    columns: &'a [u32],
    at: [usize; SIDE],
    ends: [usize; SIDE],
    /// The next column of every row; the largest number if there is none.
    next: [u32; SIDE],
}

impl<'a> Cursors<'a> {
    /// At the first columns from `column` on.
    fn new<O: OffsetInt>(offsets: &[O], columns: &'a [u32], column: u32) -> Self {
        let (mut at, mut ends) = ([0; SIDE], [0; SIDE]);
        for (r, bounds) in offsets.windows(2).enumerate() {
            (at[r], ends[r]) = (bounds[0].index(), bounds[1].index());
            if column > 0 {
                at[r] += columns[at[r]..ends[r]].partition_point(|&c| c < column);
            }
        }
        let mut cursors = Self { columns, at, ends, next: [0; SIDE] };
        cursors.next = std::array::from_fn(|r| cursors.read(r));
        cursors
    }
    #[inline(always)]
    fn read(&self, r: usize) -> u32 {
        if self.at[r] < self.ends[r] { self.columns[self.at[r]] } else { u32::MAX }
    }
    /// The span that begins at the smallest column, or at `latest` if that is less; moves on.
    #[inline(always)]
    fn span(&mut self, latest: u32) -> Option<Span> {
        let smallest = self.next.iter().fold(u32::MAX, |a, &b| a.min(b));
        if smallest == u32::MAX {
            return None;
        }
        let (column, mut picks) = (smallest.min(latest), 0);
        for r in 0..SIDE {
            // Which rows take part is anyone's guess, so nothing branches on it.
            let distance = self.next[r] - column;
            let taken = u32::from(distance < SIDE as u32);
            picks |= (taken * (SIDE as u32 + distance % SIDE as u32)) << (4 * r);
            self.at[r] += taken as usize;
            self.next[r] = self.read(r);
        }
        Some(Span { column, picks })
    }
}

/// Spans per entry among the first `spans` ones of a band from a column on.
pub(super) fn sample<O: OffsetInt>(offsets: &[O], columns: &[u32], column: u32, spans: usize) -> f64 {
    let mut cursors = Cursors::new(offsets, columns, column);
    let (mut made, mut entries) = (0, 0);
    while let Some(span) = cursors.span(u32::MAX).filter(|_| made < spans) {
        made += 1;
        entries += (span.picks & 0x8888_8888).count_ones();
    }
    f64::from(made as u32) / f64::from(entries.max(1))
}

impl Bands {
    /// Bytes of the arrays.
    pub(super) fn bytes(&self) -> u64 {
        (self.spans.len() * 8 + self.order.len() * 2 + self.groups.len() * 8) as u64
    }
    /// Sets `y` to the sums of the part's rows; `x` has an element for every column, and 8 at least.
    pub(super) fn sum<T: Real>(&self, isa: Isa, x: &[T], y: &mut [T]) {
        if !T::sum_bands(isa, self, x, y) {
            band_kernel::plain(self, x, y);
        }
    }
}
